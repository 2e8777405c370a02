"""Sights of columns in what is published: by a plain reading of the files, and as they are read."""

import csv
import hashlib
import random
from collections import Counter, defaultdict
from datetime import datetime
from decimal import Decimal
from fractions import Fraction

import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.parquet as pq
import pytest
from tests.audits.folders import forge, written
from tests.examples import NIGHTLY

import foreknow as fk
from foreknow.errors import OutputError

COLUMNS = ("ill", "pay", "job")
DRAWN = {
    "zeros": [0.0, -0.0],
    "floats": [1e5, 0.1, float("nan"), None],
    "truths": [True, False],
    "times": [datetime(2024, 1, 1), datetime(2024, 1, 1, 0, 0, 0, 1)],
    "decimals": [Decimal("1.00"), Decimal("2.50")],
    "empty": ["", "x"],
    "formulas": ["=1", "'=1"],
}


def people(n=40, seed=3, job=("cook", "nurse")):
    draw = random.Random(seed)
    columns = {"age": range(20, 60), "sex": "fm", "ill": ["HIV", "flu", "flu", "cold", "none"]}
    columns |= {"pay": [1000, 2000, 3000, 4000, 5000], "job": job}
    return pa.table({name: [draw.choice(of) for _ in range(n)] for name, of in columns.items()})


def schema(**more):
    own = {"quasi_identifiers": ["age", "sex"], "sensitive": ["ill", "pay"], "other": ["job"]}
    return fk.Schema(**own | more, hierarchies={"age": {"intervals": [5, 10, 20]}})


ONE = {"sensitive": "ill", "quasi_identifiers": ["age"]}


def rows_in(folder, part):
    """The rows of a CSV file; a shuffled column by the name of the raw one."""
    with (folder / f"{part}.csv").open(newline="") as file:
        for row in csv.DictReader(file):
            yield {name.removesuffix("_shuffled"): value for name, value in row.items()}


def tallied(folder, part, columns):
    """How often each combination occurs in a file."""
    found = Counter()
    for row in rows_in(folder, part):
        found[tuple(row[name] for name in columns)] += int(row.get("count", 1))
    return found


def bags_of(folder, form, secret, known, unlinked):
    """Bags of a published release by a plain reading of its files."""
    groups, part = ["age", "sex"], "release"
    if form == "bucketized":
        groups, part = ["group"], "sensitive"
        linked = [[name for name in ("ill", "pay") if name not in unlinked]]
        blocks = [own for own in linked if own] + [[n] for n in ("ill", "pay") if n in unlinked]
        place = next(i for i, names in enumerate(blocks) if secret in names)
        part += str(place + 1) if place else ""
        known = [name for name in known if name in blocks[place]]
    elif secret in unlinked:
        known = []
    known = [name for name in known if name not in unlinked]
    bags = defaultdict(Counter)
    for (*label, value), count in tallied(folder, part, [*groups, *known, secret]).items():
        bags[tuple(label)][value] += count
    return list(bags.values())


def worst_by_hand(bags):
    """Of one fact that rules a value of the target out: the most frequent other one."""
    worst = Fraction(0)
    for bag in bags:
        for value, own in bag.items():
            others = [count for other, count in bag.items() if other != value]
            worst = max(worst, Fraction(own, sum(bag.values()) - max(others, default=0)))
    return worst


@pytest.mark.thinned(2)
@pytest.mark.parametrize("form", ["generalized", "bucketized"])
@pytest.mark.parametrize("method", ["mondrian", "fulldomain"])
@pytest.mark.parametrize("unlinked", [(), ("pay",), ("job",), ("ill", "pay"), ("pay", "job")])
def test_files_hold_what_is_judged(form, method, unlinked, tmp_path):
    here = (len(unlinked) + len(form + method)) % 3
    sights = [*enumerate([None, [], ["job"]])]
    for seed, knowing in sights if NIGHTLY else [sights[here]]:
        about = {"below": "9/10", "knowing": knowing}
        both = [fk.Requirement(fk.Facts(1), sensitive=name, **about) for name in ("ill", "pay")]
        options = fk.PublishOptions(unlinked=unlinked, form=form)
        table, folder, said = people(300, seed), tmp_path / str(seed), ""
        if knowing == ["job"] and {"pay", "job"} <= {*unlinked}:
            said = "shuffled apart"
        if form == "bucketized" and "job" in unlinked:
            said = "'job'"  # it stands beside exact columns there
        if said:
            with pytest.raises(fk.InputError, match=said):
                fk.publish(table, fk.Policy(both, schema(), options), method=method, seed=seed)
            continue
        asked = fk.Policy(both, schema(), options)
        made = written(table, asked, folder, method=method, seed=seed)
        fk.verify(folder)
        fk.verify(folder, asked)
        assert fk.audit(folder, asked).safe
        for verdict, secret in zip(made.audit.verdicts, ("ill", "pay"), strict=True):
            known = [n for n in COLUMNS if n != secret and (knowing is None or n in knowing)]
            worst = worst_by_hand(bags_of(folder, form, secret, known, unlinked))
            assert verdict.disclosure.exact == worst < Fraction(9, 10)
        published = Counter()
        for path in folder.glob("*.csv"):
            for row in rows_in(folder, path.stem):
                for name in {*COLUMNS} & {*row}:
                    published[name, row[name]] += int(row.get("count", 1))
        for name in COLUMNS:  # nobody is lost, and nobody is there twice
            for value, count in Counter(table.column(name).to_pylist()).items():
                assert published[name, str(value)] == count


@pytest.mark.thinned(3)
@pytest.mark.parametrize("form", ["generalized", "bucketized"])
@pytest.mark.parametrize("apart", [[], ["ill"], ["pay"]])
@pytest.mark.parametrize("known", [["ill"], ["pay"], ["ill", "pay"]])
def test_size_criteria_know_any_column(form, apart, known, tmp_path):
    criterion = fk.KAnonymity(2) if form == "generalized" else fk.GroupSize(2)
    folder = tmp_path / "out"
    options = fk.PublishOptions(form=form, unlinked=apart)
    rules = fk.Policy([fk.Requirement(criterion, knowing=known)], schema(other=[]), options)
    made = written(people(200, 1), rules, folder)
    fk.verify(folder)
    linked = [name for name in ("ill", "pay") if name not in apart]
    if form == "bucketized" and len(linked) == 1:
        linked = ["ill"]  # each column is in a table of its own
    divide = [name for name in known if name in linked]
    groups, part = (["age", "sex"], "release") if form == "generalized" else (["group"], "people")
    if divide and form == "bucketized":
        part = "sensitive2" if apart == ["ill"] else "sensitive"
    (verdict,) = made.audit.criteria
    assert verdict.known == tuple(divide)
    assert verdict.reached == min(tallied(folder, part, [*groups, *divide]).values()) >= 2


@pytest.mark.parametrize(
    ("form", "sensitive"), [("generalized", ["ill", "pay"]), ("bucketized", ["ill"])]
)
def test_groups_divided_by_their_secret(form, sensitive, tmp_path):
    required = [fk.Requirement(fk.Facts(), 1, sensitive=name, knowing=[]) for name in sensitive]
    criterion = fk.KAnonymity(4) if form == "generalized" else fk.GroupSize(4)
    roles = fk.Schema(quasi_identifiers=["age"], sensitive=sensitive)
    rules = fk.Policy([fk.Requirement(criterion, knowing=["ill"]), *required], roles)
    written(people(200), rules, tmp_path / "out", form=form)
    fk.verify(tmp_path / "out")
    part, group = ("release", "age") if form == "generalized" else ("sensitive", "group")
    assert min(tallied(tmp_path / "out", part, [group, "ill"]).values()) >= 4


@pytest.mark.thinned(2)
@pytest.mark.parametrize("name", DRAWN)
@pytest.mark.parametrize("fmt", ["csv", "parquet"])
def test_known_columns_of_any_kind(name, fmt, tmp_path):
    for escape in [False, True] if fmt == "csv" else [False]:
        options = fk.PublishOptions(format=fmt, escape_formulas=escape)
        asked, folder = fk.Requirement(fk.Facts(1), below=1), tmp_path / f"{escape}"
        policy = fk.Policy([asked], fk.Schema(**ONE, other=["job"]), options)
        made = written(people(job=DRAWN[name]), policy, folder)
        fk.verify(folder)
        fk.verify(folder, policy)
        (one,), (two,) = made.audit.verdicts, fk.audit(folder, policy).verdicts
        assert one.disclosure.exact == two.disclosure.exact
        if fmt == "csv":
            bags = defaultdict(Counter)
            for (*label, value), n in tallied(folder, "release", ["age", "job", "ill"]).items():
                bags[tuple(label)][value] += n
            assert worst_by_hand(bags.values()) == one.disclosure.exact


def test_empty_beside_missing_is_refused(tmp_path):
    table, roles = people(job=["", None, "x"]), fk.Schema(**ONE, other=["job"])
    known, blind = (
        fk.Policy([fk.Requirement(fk.Facts(1), below=1, knowing=own)], roles) for own in (None, [])
    )
    with pytest.raises(OutputError, match="'job'"):
        fk.publish(table, known)
    fk.publish(table, blind)
    assert fk.publish(table, known, format="parquet").audit.safe
    # In the bucketized form other columns are in the table of people, and divide nothing there.
    for asked in (
        fk.Requirement(fk.Facts(1), "1/2", knowing=["job"]),
        fk.Requirement(fk.LDiversity(2)),
    ):
        policy = fk.Policy([asked], roles, fk.PublishOptions(form="bucketized"))
        written(people(), policy, folder := tmp_path / str(asked.criterion))
        fk.verify(folder, policy)


@pytest.mark.parametrize(
    ("method", "unlinked"),
    [("mondrian", ["ill"]), ("fulldomain", ["pay"]), ("mondrian", ["job"])],
)
def test_shuffling_keeps_counts_of_people(method, unlinked, tmp_path):
    options = fk.PublishOptions(unlinked=unlinked)
    for sensitive, known in (("pay", "job"), ("pay", "ill"), (None, "job")):
        required = fk.Requirement(fk.KAnonymity(4), sensitive=sensitive, knowing=[known])
        policy = fk.Policy([required], schema(quasi_identifiers=["age"]), options)
        folder = tmp_path / f"{sensitive}{known}"
        made = written(people(60), policy, folder, method=method)
        fk.verify(folder)
        fk.verify(folder, policy)
        told = [] if known in unlinked else [known]
        least = min(tallied(folder, "release", ["age", *told]).values())
        assert least >= 4
        for audited in (made.audit, fk.audit(folder, policy)):
            (verdict,) = audited.criteria
            assert (verdict.reached, verdict.known) == (least, tuple(told))


@pytest.mark.parametrize("form", ["generalized", "bucketized"])
def test_first_column_may_be_apart(form, tmp_path):
    options = fk.PublishOptions(form=form, unlinked=["ill"])
    about_ill = fk.Requirement(fk.Facts(1), "9/10", sensitive="ill", values=["HIV"])
    ills = {"HIV", "flu", "cold", "none"}
    for place, required in enumerate([fk.Requirement(fk.GroupSize(3)), about_ill]):
        policy, folder = fk.Policy([required], schema(), options), tmp_path / str(place)
        made = written(people(), policy, folder)
        fk.verify(folder)
        for audited in (made.audit, fk.audit(folder, policy)):
            assert {*audited.counts.values} == ills
            assert {*audited.unprotected} == ills - ({"HIV"} if place else set())
            told = audited.to_dict()["scope"]["unrequired"]
            assert told == (["pay"] if place else ["ill", "pay"])


@pytest.mark.parametrize("holes", [["ill"], ["pay"], ["ill", "pay"]])
def test_people_without_value_are_dropped(holes, tmp_path):
    rows = people(12).to_pylist()
    for place, name in enumerate(holes):
        rows[place][name] = None
    table = pa.Table.from_pylist(rows)
    asked = [fk.Requirement(fk.Facts(1), 1, sensitive=n, knowing=[]) for n in ("ill", "pay")]
    made = written(table, fk.Policy(asked, schema(missing="drop")), tmp_path / "out")
    fk.verify(tmp_path / "out")
    assert made.audit.scope.left_out == len(holes)
    own = made.tables["release"].to_pydict()
    published = Counter(zip(own["ill"], map(int, own["pay"]), strict=True))
    whole = Counter((row["ill"], row["pay"]) for row in rows)
    assert published == Counter({k: n for k, n in whole.items() if None not in k})


# ---- how a shuffled column is called -------------------------------------------------------------


def both(**options):
    asked = [fk.Requirement(fk.Facts(1), below="9/10", sensitive=name) for name in ("ill", "pay")]
    roles = fk.Schema(quasi_identifiers=["age"], sensitive=["ill", "pay"], other=["job"])
    return fk.Policy(asked, roles, fk.PublishOptions(**options))


ORDERED = {"age": [*range(20, 60)], "job": (["cook"] * 4 + ["nurse"] * 4) * 5}
ORDERED = pa.table({**ORDERED, "ill": [*"abcd"] * 10, "pay": [*"sstuuvvt"] * 5})


@pytest.mark.parametrize(
    ("fmt", "apart"), [("csv", ["pay"]), ("parquet", ["ill"]), ("csv", ["pay", "job"])]
)
def test_shuffled_column_is_called_so(fmt, apart, tmp_path):
    policy, folder = both(unlinked=apart, format=fmt), tmp_path / "out"
    made = written(ORDERED, policy, folder)
    names = [f"{n}_shuffled" if n in apart else n for n in ("age", "job", "ill", "pay")]
    at = folder / f"release.{fmt}"
    file = pq.read_table(at) if fmt == "parquet" else pc.read_csv(at)
    for table in (made.to_arrow(), made.tables["release"], file):
        assert table.column_names == names
    assert fk.verify(folder).scope.shuffled == tuple(apart)
    said = [(verdict.disclosure.exact, verdict.value) for verdict in made.audit.verdicts]
    for given in (folder, at, file.cast(made.to_arrow().schema)):
        verdicts = fk.audit(given, policy).verdicts
        assert [(verdict.disclosure.exact, verdict.value) for verdict in verdicts] == said
    # Another's table does not say it, so its columns are taken for linked.
    plain = made.to_arrow().rename_columns(["age", "job", "ill", "pay"])
    assert not fk.audit(plain, policy).scope.shuffled


def test_shuffled_column_keeps_its_name(tmp_path):
    written(ORDERED, both(unlinked=["pay"]), tmp_path / "out")
    path = tmp_path / "out/release.csv"
    path.write_bytes(path.read_bytes().replace(b"pay_shuffled", b"pay", 1))
    digest = {"release.csv": hashlib.sha256(path.read_bytes()).hexdigest()}
    forge(tmp_path / "out", lambda said: said["release"]["files"].update(digest))
    with pytest.raises(fk.InputError, match="'pay_shuffled'"):
        fk.verify(tmp_path / "out")
    taken = schema(quasi_identifiers=["age"], other=["pay_shuffled"])
    with pytest.raises(fk.InputError, match="'pay_shuffled'"):
        fk.Policy(both().requirements, taken, fk.PublishOptions(unlinked=["pay"]))
