"""What Foreknow reads in a file, as plain JSON: run in the worker, through the public names."""

import pyarrow as pa
from tests.fuzz import arrow

import foreknow as fk


def counts(path, sensitive, group=None, quasi_identifiers=None):
    """Groups of a release with their bags: ``[[labels of the group], {value: people}]``."""
    if group is not None:
        release = fk.Release.from_groups(path, group=group, sensitive=sensitive)
    else:
        release = fk.Release.from_generalized(
            path, quasi_identifiers=quasi_identifiers, sensitive=sensitive
        )
    found = release.counts
    bags = []
    for i in range(found.n_groups):
        label = found.groups[i]
        labels = list(label) if isinstance(label, tuple) else [label]
        bag = [[text(value), many] for value, many in found.bag(i).items()]
        bags.append([[text(part) for part in labels], bag])
    return bags


def text(label):
    """A label as a text; a missing one stays None."""
    return None if label is None else str(label)


def arrow_counts(**given):
    """The same by Arrow alone; here, since a corrupted file may end the process."""
    try:
        return arrow.counts(**given)
    except ValueError as error:
        raise fk.InputError(str(error)) from None


def posterior(rows, statement, person, value):
    """What a statement about a table of name, group and disease gives, as a text."""
    table = pa.Table.from_pylist(rows)
    release = fk.Release.from_groups(table, group="group", sensitive="disease", person="name")
    return str(fk.Statements(statement).posterior(release, person, value).exact)


def policy(path):
    """Each requirement: its points as (kind, amounts, name of the limit, limit), and its values."""
    found = []
    for required in fk.Policy.load(path).requirements:
        points = []
        for point in required.points:
            ((kind, amounts),) = point.adversary.to_dict().items()
            points.append(
                [kind, {} if kind == "priors" else amounts, point.limit.key, str(point.below)]
            )
        values = None if required.values is None else list(required.values)
        found.append([points, values, list(required.excluded)])
    return found


def hierarchy(path, values):
    """The labels above each value, by level, without the top."""
    levels = fk.Tree.read(path).levels(values, "had", lambda i: i + 1)
    found = []
    for place, leaf in enumerate(levels.order):
        pairs = list(zip(levels.ancestors, levels.labels, strict=True))[:-1]
        found.append([values[leaf], [labels[nodes[place]] for nodes, labels in pairs]])
    return found


def priors(path):
    """Each signature and value with its probability."""
    (table,) = fk.Priors(path).tables
    return [
        [list(signature), value, str(said)]
        for signature, row in table.chances.items()
        for value, said in zip(table.values, row, strict=True)
    ]
