"""Random schemas of several columns: publish, write, verify and audit agree with a plain recount.

A recount reads the files as text and knows nothing of how they were made: groups by the published
labels and by what is known, bags by counting rows.
"""

import datetime as dt
import decimal
import random
from collections import Counter, defaultdict
from fractions import Fraction

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from tests.fuzz.rounds import rounds

import foreknow as fk
from foreknow.errors import OutputError

pytestmark = pytest.mark.usefixtures("tiny_tables")

NAMES = (
    *("ill", "Ill", "pay, net", 'so "called"', "größe", "=sum", "-x", "'=y", "a b", "c\nd"),
    *("release", "bag", "@", "ward", "knowing", "\u65e5\u4ed8"),
)
TEXTS = ["flu", "Flu", "flu ", "=1+1", "'=1+1", "-", "+2", "@x", "HIV, B20", 'a "b"', "ü", "NULL"]
DAY = dt.date(2024, 2, 29)
KNOWN = (
    (pa.string(), [*TEXTS, "", None, "*", "\t1"]),
    (pa.int64(), [0, 1, -1, 2**53 + 1, None]),
    (pa.float64(), [0.5, -0.5, 1e300, 2.0, None]),
    (pa.date32(), [DAY, DAY + dt.timedelta(1), None]),
    (pa.bool_(), [True, False, None]),
    (pa.float32(), [0.1, 1e10, float("nan"), None]),
    (pa.time64("us"), [dt.time(1, 2, 3), None]),
    (pa.timestamp("ms"), [dt.datetime(2024, 2, 29), None]),
    (pa.timestamp("us"), [dt.datetime(2024, 2, 29, 10, 0, 0, 1), dt.datetime(1, 1, 1), None]),
    (pa.decimal128(9, 2), [decimal.Decimal("1.10"), decimal.Decimal("-2.00"), None]),
)
SECRET = ((pa.string(), TEXTS), (pa.int64(), [-1, 0, 7, 1000]), (pa.date32(), [DAY, dt.date.max]))


def table_of(chance):
    """A table, and the roles of its columns."""
    size, names = chance.randint(8, 60), chance.sample(NAMES, 8)
    known, secret, other = (names[a:][: chance.randint(least, most)] for a, least, most in ROLES)
    columns = {}
    for name in known:
        kind, pool = chance.choice(((pa.string(), ["a", "b", "=c"]), (pa.int64(), range(9))))
        columns[name] = pa.array(chance.choices(pool, k=size), kind)
    for name in secret:
        kind, pool = chance.choice(SECRET)
        few = chance.sample(pool, min(len(pool), chance.randint(2, 5)))
        columns[name] = pa.array(chance.choices(few, k=size), kind)
    for name in other:
        kind, pool = chance.choice(KNOWN)
        columns[name] = pa.array(
            chance.choices(chance.sample(pool, min(len(pool), chance.randint(1, 3))), k=size), kind
        )
    return pa.table(columns), known, secret, other


ROLES = (0, 1, 2), (2, 1, 3), (5, 0, 3)


def text_of(value):
    """A value as a file of texts has it; what is not a number is missing."""
    return None if value is None or value != value else str(value)


def bare(text):
    """A text as it was before apostrophes were put before what looks like a formula."""
    return (
        text[1:] if text and text.startswith("'") and text.lstrip("'")[:1] in "=+-@\t\r" else text
    )


def rows_of(path, escaped):
    """The rows of a file, by plain readers, as texts or None."""
    if path.suffix == ".parquet":
        rows = pq.read_table(path).to_pylist()
        return [{named(k): text_of(v) for k, v in row.items()} for row in rows]
    header = pa.csv.read_csv(path, parse_options=PARSE).column_names
    options = pa.csv.ConvertOptions(
        column_types=dict.fromkeys(header, pa.string()),
        strings_can_be_null=True,
        null_values=[""],
        quoted_strings_can_be_null=False,
    )
    rows = pa.csv.read_csv(path, parse_options=PARSE, convert_options=options).to_pylist()
    rows = [{bare(k): bare(v) for k, v in r.items()} for r in rows] if escaped else rows
    return [{named(k): v for k, v in row.items()} for row in rows]


def named(column):
    """The name of the raw column, also of one that was shuffled."""
    return column.removesuffix("_shuffled")


PARSE = pa.csv.ParseOptions(newlines_in_values=True)


def bags_of(rows, divide, secret):
    bags = defaultdict(Counter)
    for row in rows:
        bags[tuple(row[name] for name in divide)][row[secret]] += int(row.get("count") or 1)
    return list(bags.values())


def worst_of(bags, ruled):
    """How sure the worst adversary is who rules out so many values, at most one, of one person."""
    return max(
        Fraction(own, bag.total() - max([n for w, n in bag.items() if w != v] * ruled, default=0))
        for bag in bags
        for v, own in bag.items()
    )


def recounted(folder, form, known, secrets, others, apart, of, knowing, escaped):
    """Bags of a published folder for one sight."""
    files = {path.stem: path for path in folder.iterdir() if path.suffix in (".csv", ".parquet")}
    beside = [name for name in (*secrets, *others) if name not in apart]
    if form == "generalized":
        beside, part, groups = beside if of in beside else [], "release", known
    else:
        linked = [name for name in secrets if name not in apart]
        blocks = [linked] * bool(linked) + [[name] for name in secrets if name in apart]
        place = next(i for i, block in enumerate(blocks) if of in block)
        beside, groups = blocks[place], ["group"]
        part = "sensitive" if not place else f"sensitive{place + 1}"
    divide = [name for name in beside if name != of and (knowing is None or name in knowing)]
    return bags_of(rows_of(files[part], escaped), [*groups, *divide], of)


def one_round(chance, folder):
    """Publish one table, and compare all that is said of it; whether it could be published."""
    table, known, secrets, others = table_of(chance)
    form = chance.choice(("generalized", "bucketized"))
    file = chance.choice(("csv", "parquet"))
    escaped = file == "csv" and chance.random() < 0.7
    candidates = [*secrets, *others]
    movable = secrets if form == "bucketized" else candidates
    apart = chance.sample(movable, chance.choice((0, 0, 1, len(movable))))
    required, asked = [], []
    for of in chance.sample(secrets, chance.randint(1, len(secrets))):
        beside = [name for name in candidates if name != of]
        knowing = chance.choice(
            (None, None, [], chance.sample(beside, chance.randint(0, len(beside))))
        )
        ruled, below = chance.choice((0, 1)), chance.choice(("0.7", "0.95", "1"))
        required.append(fk.Requirement(fk.Facts(ruled), below=below, sensitive=of, knowing=knowing))
        asked.append((of, knowing, ruled, Fraction(below)))
    criterion = chance.choice((fk.KAnonymity, fk.GroupSize))(2) if chance.random() < 0.5 else None
    if criterion is not None:
        required.append(fk.Requirement(criterion))
    schema = fk.Schema(quasi_identifiers=known, sensitive=secrets, other=others)
    options = fk.PublishOptions(unlinked=apart, form=form, format=file, escape_formulas=escaped)
    policy = fk.Policy(required, schema, options)
    pq.write_table(table, folder.with_suffix(".parquet"))
    source = folder.with_suffix(".parquet") if chance.random() < 0.5 else table
    microdata = fk.Microdata(source, schema)
    try:
        made = fk.publish(
            microdata, policy, method=chance.choice(("mondrian", "fulldomain")), seed=1
        )
    except OutputError:
        assert file == "csv"
        assert any({"", None} <= {*table[name].to_pylist()} for name in others)
        return False
    except fk.NoSafeRelease:
        rows = [{k: text_of(v) for k, v in row.items()} for row in table.to_pylist()]
        assert any(
            worst_of(bags_of(rows, divided(of, knowing, secrets, others, apart, form), of), ruled)
            >= below
            for of, knowing, ruled, below in asked
        ) or (
            form == "bucketized"
            and isinstance(criterion, fk.KAnonymity)
            and min(Counter(tuple(row[name] for name in known) for row in rows).values()) < 2
        ), "everybody in one group is safe"
        return False
    made.write(folder)
    found = fk.verify(folder)
    by_policy = fk.verify(folder, policy)
    again = fk.audit(folder, policy)
    assert again.safe
    assert made.audit.safe
    assert (
        made.audit.scope.to_dict() | OWN
        == again.scope.to_dict() | OWN
        == found.scope.to_dict() | OWN
    )
    findings = [f for f in found.findings if not f.of_groups]
    assert [f.reached for f in by_policy.findings if not f.of_groups] == [
        f.reached for f in findings
    ]
    for (of, knowing, ruled, below), finding, verdict, other in zip(
        asked,
        findings,
        [v for v in made.audit.verdicts if not v.of_groups],
        [v for v in again.verdicts if not v.of_groups],
        strict=True,
    ):
        bags = recounted(folder, form, known, secrets, others, apart, of, knowing, escaped)
        worst = worst_of(bags, ruled)
        assert worst == finding.reached == verdict.disclosure.exact == other.disclosure.exact
        assert worst < below
    rows = {path: rows_of(path, escaped) for path in folder.iterdir() if path.suffix[1:] == file}
    for name in (*secrets, *others):
        (here,) = [own for own in rows.values() if name in own[0]]
        counted = Counter()
        for row in here:
            counted[row[name]] += int(row.get("count") or 1)
        if file == "parquet" or table[name].type == pa.string():
            assert counted == Counter(map(text_of, table[name].to_pylist()))
        else:
            assert sorted(counted.values()) == sorted(
                Counter(map(text_of, table[name].to_pylist())).values()
            )
    return True


# What is known of the making only.
OWN = {"left_out": None, "method": None, "if_known": None}


def divided(of, knowing, secrets, others, apart, form):
    """The columns that divide one group of everybody."""
    linked = secrets if form == "bucketized" else [*secrets, *others]
    beside = [name for name in linked if name not in apart]
    if of not in beside:
        return []
    return [name for name in beside if name != of and (knowing is None or name in knowing)]


@rounds(600, by_day=8)
def test_random_schemas_are_published_verified_and_audited_alike(tmp_path, count, seed):
    published = 0
    for number in range(count):
        chance = random.Random(f"sights {seed} {number}")
        try:
            published += one_round(chance, tmp_path / str(number))
        except Exception as error:
            raise AssertionError(f"round {number} of {seed!r}: {error}") from error
    assert published > count / 6
