"""What is called in a process of its own: commands, as a terminal has them, and a few readings."""

import json
import os
import sys
import tempfile
import time

import pyarrow as pa
import pyarrow.parquet as pq

import foreknow as fk
from foreknow.errors import InternalError

# ---- what Foreknow reads in a file, as plain JSON, through the public names --------------------


def counts(path, sensitive, group=None, quasi_identifiers=None):
    """Groups of a release with their bags: ``[[labels of the group], {value: people}]``."""
    if group is not None:
        release = fk.Release.from_groups(path, group=group, sensitive=sensitive)
    else:
        release = fk.Release.from_generalized(
            path, quasi_identifiers=quasi_identifiers, sensitive=sensitive
        )
    held = release.counts
    labels = [label if isinstance(label, tuple) else (label,) for label in held.groups]
    return as_texts(zip(labels, map(held.bag, range(held.n_groups)), strict=True))


def as_texts(bags):
    """Groups and values as texts; a missing one stays None."""
    return [
        [[text(part) for part in group], [[text(value), many] for value, many in bag.items()]]
        for group, bag in bags
    ]


def text(label):
    return None if label is None else str(label)


def policy(path):
    """Each requirement: its points as (kind, amounts, name of the limit, limit), and its values."""
    results = []
    for required in fk.Policy.load(path).requirements:
        points = []
        for point in required.points:
            ((kind, amounts),) = point.adversary.to_dict().items()
            amounts = {} if kind == "priors" else amounts
            points.append([kind, amounts, point.limit.key, str(point.below)])
        values = None if required.values is None else list(required.values)
        results.append([points, values, list(required.excluded)])
    return results


# ---- Parquet as Arrow reads it plainly, counted with dictionaries ------------------------------


def arrow_counts(path, groups, sensitive="disease", nulls=True):
    """Groups with their bags, without the library; here, since a file may end the process.

    NaN and null are one missing value, minus zero is zero.
    """
    try:
        file = pq.ParquetFile(path)
        names = file.schema_arrow.names
        table = file.read(columns=[*groups, sensitive])
        table.validate(full=True)
    except (pa.ArrowException, OSError, KeyError) as error:
        raise fk.InputError(f"Arrow says {error}") from None
    if len(set(names)) < len(names) or "" in names:
        raise fk.InputError("column names are empty or not distinct")
    if not {*groups, sensitive} <= set(table.column_names) or not len(table):
        raise fk.InputError("there are no such columns, or no rows")
    results = {}
    for *group, value in zip(*(cells(table[name]) for name in (*groups, sensitive)), strict=True):
        if value is None or (not nulls and None in group):
            raise fk.InputError("a null where none may be")
        bag = results.setdefault(tuple(group), {})
        bag[value] = bag.get(value, 0) + 1
    return as_texts(results.items())


def cells(column):
    """The cells of a column as what makes them one value."""
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    kind = column.type
    if pa.types.is_nested(kind) or pa.types.is_duration(kind):
        raise fk.InputError(f"{kind} is no plain type")
    if pa.types.is_temporal(kind):
        return column.cast(pa.int32() if kind.bit_width == 32 else pa.int64()).to_pylist()
    return [None if cell is None or cell != cell else cell for cell in column.to_pylist()]


# ---- calls -------------------------------------------------------------------------------------

READINGS = {own.__name__: own for own in (counts, policy, arrow_counts)}


class Exited(BaseException):
    """What `os._exit` does here: end the command, not the process."""


def end(code):
    raise Exited(code)


def command(folder, argv):
    """Exit code of one call of the command line, what it printed, byte by byte, and its seconds."""
    from foreknow.cli import main

    os.chdir(folder)
    sys.argv = ["foreknow", *argv]
    began, leave = time.process_time(), os._exit
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        before = [(place, os.dup(place)) for place in (1, 2)]
        os.dup2(out.fileno(), 1)
        os.dup2(err.fileno(), 2)
        os._exit, code = end, 0
        try:
            main()
        except SystemExit as ended:
            code = ended.code or 0
        except Exited as ended:
            code = ended.args[0]
        finally:
            os._exit = leave
            for stream in (sys.stdout, sys.stderr):
                stream.flush()
            for place, old in before:
                os.dup2(old, place)
                os.close(old)
        printed = [file.read() for file in (out, err) if not file.seek(0)]
    return code, *printed, time.process_time() - began


def read(folder, name, given):
    """What a reading says as plain JSON, or that it is refused; and its seconds."""
    os.chdir(folder)
    began = time.process_time()
    try:
        results = {"read": json.loads(json.dumps(READINGS[name](**given)))}
    except InternalError:
        raise
    except fk.ForeknowError as error:
        results = {"refused": f"{type(error).__name__}: {error}"}
    return results, time.process_time() - began
