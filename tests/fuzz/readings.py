"""What Foreknow reads in a file, as plain JSON: run in the worker, through the public names."""

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
