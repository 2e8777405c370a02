"""Several sensitive columns, and columns known beside them: counted, searched and published."""

import csv
import json
import random
import re
from collections import Counter, defaultdict
from fractions import Fraction
from itertools import product

import pyarrow as pa
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from tests.examples import NIGHTLY, examples
from tests.oracle.sights import joint_worlds, worst_over_worlds
from tests.oracle.worlds import worlds

import foreknow as fk
from foreknow.cli.entry import app
from foreknow.result import page_of
from foreknow_judge.errors import CertificateError, PolicyError, UnsupportedError

COLUMNS = ("ill", "pay", "job")
MOST = (1, 1, 1)
rows = st.fixed_dictionaries(
    {"ill": st.sampled_from("ab"), "pay": st.sampled_from("12"), "job": st.sampled_from("xy")}
)
releases = st.lists(st.lists(rows, min_size=1, max_size=4), min_size=1, max_size=3).filter(
    lambda groups: sum(map(len, groups)) <= 5
)
sights = st.tuples(
    st.sampled_from(["ill", "pay"]),
    st.one_of(st.none(), st.sets(st.sampled_from(COLUMNS))),
    st.sets(st.sampled_from(COLUMNS)),
)


def opened(groups, apart):
    """A release as a reader has it: columns that are published apart are shuffled."""
    draw = random.Random(str(groups))
    table = defaultdict(list)
    for number, members in enumerate(groups):
        order = draw.sample(members, len(members))
        for name in COLUMNS:
            own = draw.sample(members, len(members)) if name in apart else order
            table[name] += [row[name] for row in own]
        table["qi"] += [str(number)] * len(members)
    return fk.Release.from_generalized(
        pa.table(dict(table)),
        quasi_identifiers=["qi"],
        sensitive=["ill", "pay"],
        other=["job"],
        unlinked=sorted(apart),
    )


def settled(secret, knowing):
    """The columns that are known, where none were named: all beside."""
    known = [name for name in COLUMNS if name != secret]
    return known if knowing is None else [name for name in known if name in knowing]


@examples(3000, deadline=None)
@given(releases, sights)
def test_worlds_of_rows_are_those_of_the_groups_that_are_counted(groups, sight):
    secret, knowing, apart = sight
    known = settled(secret, knowing)
    truth = joint_worlds(groups, secret, known, apart)
    counts = opened(groups, apart).seen(secret, None if knowing is None else known).counts
    bags = [list(Counter(counts.bag(g)).elements()) for g in range(counts.n_groups)]
    # Everybody by group, then by what is known of them, as the groups that are counted are.
    people = [(str(number), row) for number, members in enumerate(groups) for row in members]
    divide = [] if secret in apart else [name for name in known if name not in apart]
    key = [(qi, *(row[name] for name in divide)) for qi, row in people]
    order = sorted(range(len(key)), key=lambda i: key[i])
    counted = [label if isinstance(label, tuple) else (label,) for label in counts.groups]
    columns = list(
        opened(groups, apart).layout.seen(secret, None if knowing is None else known).known
    )
    place = [0, *(1 + columns.index(name) for name in divide)]
    sizes = {tuple(label[i] for i in place): counts.sizes[g] for g, label in enumerate(counted)}
    assert sizes == Counter(key)
    rank = {tuple(label[i] for i in place): g for g, label in enumerate(counted)}
    order = sorted(range(len(key)), key=lambda i: rank[key[i]])
    found = Counter(tuple(world[i] for i in order) for world in truth)
    assert found == Counter(worlds(bags))
    assert len(set(truth.values())) == 1  # each as likely as any other


@examples(600, deadline=None)
@given(releases, sights)
def test_facts_are_those_of_an_enumeration_of_rows(groups, sight):
    secret, knowing, apart = sight
    known = settled(secret, knowing)
    truth = joint_worlds(groups, secret, known, apart)
    release = opened(groups, apart)
    values = sorted({row[secret] for members in groups for row in members})
    worst = {value: worst_over_worlds(truth, value, MOST) for value in values}
    for amounts in product(*(range(amount + 1) for amount in MOST)):
        named = None if knowing is None else known
        asked = fk.Requirement(fk.Facts(*amounts), below="1/2", sensitive=secret, knowing=named)
        (verdict,) = fk.audit(release, fk.Policy([asked])).verdicts
        expected = max(worst[value][amounts] for value in values)
        assert verdict.disclosure.exact == expected
        assert verdict.safe == (expected < Fraction(1, 2))


def people(n=300, seed=1):
    draw = random.Random(seed)
    ill = draw.choices(["HIV", "flu", "cold", "gout", "none"], [1, 2, 3, 2, 4], k=n)
    return pa.table(
        {
            "age": [draw.randint(20, 59) for _ in range(n)],
            "sex": draw.choices("fm", k=n),
            "job": draw.choices(["cook", "nurse"], k=n),
            "ill": ill,
            "pay": [draw.choice([1000, 2000, 3000, 4000, 5000]) for _ in range(n)],
        }
    )


def schema(**more):
    own = {"sensitive": ["ill", "pay"], "other": ["job"]} | more
    return fk.Schema(
        quasi_identifiers=["age", "sex"], hierarchies={"age": {"intervals": [5, 10, 20]}}, **own
    )


def policy(*, unlinked=(), knowing=None, below="9/10", **more):
    both = [
        fk.Requirement(fk.Facts(1), below=below, sensitive=name, knowing=knowing)
        for name in ("ill", "pay")
    ]
    return fk.Policy(both, schema(**more), fk.PublishOptions(unlinked=unlinked))


def bags_of(folder, form, secret, known, unlinked):
    """Bags of a published release by a plain reading of its files."""
    groups = ["age", "sex"] if form == "generalized" else ["group"]
    part = "release" if form == "generalized" else "sensitive"
    linked = [name for name in ("ill", "pay") if name not in unlinked]
    if form == "bucketized":
        blocks = ([linked] if linked else []) + [[n] for n in ("ill", "pay") if n in unlinked]
        place = next(i for i, names in enumerate(blocks) if secret in names)
        part = "sensitive" if not place else f"sensitive{place + 1}"
        known = [name for name in known if name in blocks[place]]
    elif secret in unlinked:
        known = []
    known = [name for name in known if name not in unlinked]
    bags = defaultdict(Counter)
    with (folder / f"{part}.csv").open(newline="") as file:
        for row in rows_in(file):
            bags[tuple(row[name] for name in (*groups, *known))][row[secret]] += int(
                row.get("count", 1)
            )
    return list(bags.values())


def worst_by_hand(bags):
    """Of one fact that rules a value of the target out: the most frequent other one."""
    worst = Fraction(0)
    for bag in bags:
        for value, own in bag.items():
            others = [count for other, count in bag.items() if other != value]
            worst = max(worst, Fraction(own, sum(bag.values()) - max(others, default=0)))
    return worst


def rows_in(file):
    """The rows of a CSV file; a shuffled column by the name of the raw one."""
    for row in csv.DictReader(file):
        yield {name.removesuffix("_shuffled"): value for name, value in row.items()}


@pytest.mark.thinned(2)
@pytest.mark.parametrize("form", ["generalized", "bucketized"])
@pytest.mark.parametrize("method", ["mondrian", "fulldomain"])
@pytest.mark.parametrize("unlinked", [(), ("pay",), ("job",), ("ill", "pay"), ("pay", "job")])
def test_what_is_published_holds_by_a_plain_reading_of_the_files(form, method, unlinked, tmp_path):
    sights = list(enumerate([None, [], ["job"]]))
    here = (len(unlinked) + len(form + method)) % 3
    for seed, knowing in sights if NIGHTLY else [sights[here]]:
        asked = policy(unlinked=unlinked, knowing=knowing)
        table = people(seed=seed)
        if form == "bucketized" and "job" in unlinked:  # it stands beside exact columns there
            with pytest.raises(fk.InputError, match="'job'"):
                fk.publish(table, asked, method=method, form=form, seed=seed)
            continue
        made = fk.publish(table, asked, method=method, form=form, seed=seed)
        folder = tmp_path / f"{seed}"
        made.write(folder)
        fk.verify(folder)
        fk.verify(folder, asked)
        assert fk.audit(folder, asked).safe
        for verdict, secret in zip(made.audit.verdicts, ("ill", "pay"), strict=True):
            known = settled(secret, knowing)
            found = worst_by_hand(bags_of(folder, form, secret, known, unlinked))
            assert verdict.disclosure.exact == found < Fraction(9, 10)
        published = Counter()
        for part in sorted(folder.glob("*.csv")):
            with part.open(newline="") as file:
                for row in rows_in(file):
                    for name in COLUMNS:
                        if name in row:
                            published[name, row[name]] += int(row.get("count", 1))
        for name in COLUMNS:  # nobody is lost, and nobody is there twice
            for value, count in Counter(table.column(name).to_pylist()).items():
                assert published[name, str(value)] == count


def test_full_domain_takes_the_best_node():
    table = people(200, 3)
    asked = fk.Policy(
        [
            fk.Requirement(fk.Facts(1, 1, 1), below="9/10", sensitive="ill", knowing=["job"]),
            fk.Requirement(fk.LDiversity(2), sensitive="pay", knowing=[]),
            fk.Requirement(fk.KAnonymity(4)),
        ],
        schema(),
    )
    microdata = fk.Microdata(table, asked.schema)
    found = fk.FullDomain().search(microdata, asked, explain=True)
    tops = found.tops

    def safe(node):
        ages = [5, 10, 20]
        age = [
            str(a) if not node[0] else "*" if node[0] == tops[0] else str(a // ages[node[0] - 1])
            for a in table["age"].to_pylist()
        ]
        sex = table["sex"].to_pylist() if not node[1] else ["*"] * len(age)
        own = (
            table.drop_columns(["age", "sex"])
            .append_column("age", pa.array(age))
            .append_column("sex", pa.array(sex))
        )
        release = fk.Release.from_generalized(
            own, quasi_identifiers=["age", "sex"], sensitive=["ill", "pay"], other=["job"]
        )
        return fk.audit(release, fk.Policy(asked.requirements)).safe

    nodes = list(product(*(range(top + 1) for top in tops)))
    of = {node: safe(node) for node in nodes}
    assert set(of.values()) == {True, False}
    assert {node: found.status_of(node) for node in nodes} == {
        node: "safe" if of[node] else "unsafe" for node in nodes
    }
    losses = [found.loss_of(node) for node in nodes if of[node]]
    assert of[found.chosen]
    assert found.loss_of(found.chosen) == min(loss for loss in losses if loss is not None)


def test_other_columns_that_single_people_out_make_a_release_unsafe():
    # Groups of four by age, all values in each, and a column beside that differs for everybody.
    table = pa.table(
        {
            "age": ["20 to 39"] * 4 + ["40 to 59"] * 4,
            "badge": [str(i) for i in range(8)],
            "ill": ["flu", "hiv", "cold", "gout"] * 2,
        }
    )
    release = fk.Release.from_generalized(
        table, quasi_identifiers=["age"], sensitive="ill", other=["badge"]
    )
    asked = fk.Requirement(fk.Facts(), below="1/2")
    found = fk.audit(release, fk.Policy([asked]))
    assert not found.safe
    assert found.verdicts[0].probability == 1
    assert found.verdicts[0].known == ("badge",)
    blind = fk.audit(release, fk.Policy([fk.Requirement(fk.Facts(), below="1/2", knowing=[])]))
    assert blind.safe
    assert "A requirement on ill assumes that nobody knows the badge of anybody." in blind.notes
    undeclared = fk.Release.from_generalized(table, quasi_identifiers=["age"], sensitive="ill")
    assert any("badge" in note for note in fk.audit(undeclared, fk.Policy([asked])).notes)
    named = fk.Requirement(fk.Facts(), below="1/2", knowing=["badge"])
    assert not fk.audit(undeclared, fk.Policy([named])).safe


@pytest.mark.complete
@pytest.mark.parametrize("required", [fk.Facts(), fk.Facts(l=1), fk.LDiversity(3, kind="distinct")])
def test_whom_unknown_columns_reach(required, tmp_path):
    """As many people as the same requirement reaches that takes the column for known."""
    limit = {} if isinstance(required, fk.LDiversity) else {"below": "1/2"}
    table = pa.table(
        {
            "age": [f"{20 + 10 * (i // 30)}" for i in range(300)],
            "ward": [f"w{i * i % 11}" for i in range(300)],
            "ill": [f"i{i % 7}" for i in range(300)],
        }
    )
    schema = fk.Schema(quasi_identifiers=["age"], sensitive="ill", other=["ward"])
    release = fk.Release.from_generalized(
        table, quasi_identifiers=["age"], sensitive="ill", other=["ward"]
    )
    rules, stricter = (
        fk.Policy([fk.Requirement(required, knowing=of, **limit)], schema) for of in ([], None)
    )
    (exposed,) = fk.audit(release, stricter).exposed
    blind = fk.audit(release, rules)
    assert blind.safe
    assert blind.scope.if_known == {"ill": (exposed.over.people, 300)}
    said = f"{exposed.over.people} of 300 people are at or over a limit on ill if somebody knows"
    assert blind.notes[0] == f"{said} the ward of everybody."
    assert said in blind.summary().replace("\n", " ")
    assert json.loads(blind.to_json())["scope"]["if_known"] == {"ill": [exposed.over.people, 300]}
    made = fk.publish(table, rules, seed=1)
    made.write(tmp_path / "out")
    assert "if somebody knows the ward of everybody" in (tmp_path / "out/report.html").read_text()
    assert "if_known" not in made.certificate.scope
    assert fk.verify(tmp_path / "out").people == 300


@pytest.mark.complete
def test_a_policy_file_says_columns_and_sights(tmp_path):
    path = tmp_path / "policy.toml"
    path.write_text(
        """
[schema]
quasi_identifiers = ["age", "sex"]
sensitive = ["ill", "pay"]
other = ["job"]

[[require]]
sensitive = "ill"
facts = { l = 1 }
below = 0.95

[[require]]
sensitive = "pay"
knowing = []
facts = { l = 1 }
below = 0.95

[[require]]
k_anonymity = 3

[publish]
unlinked = ["pay"]
"""
    )
    read = fk.Policy.load(path)
    assert read.schema.sensitives == ("ill", "pay")
    assert fk.Policy.from_dict(read.to_dict()).to_dict() == read.to_dict()
    made = fk.publish(people(), read, seed=1)
    made.write(tmp_path / "out")
    certificate = json.loads((tmp_path / "out" / "certificate.json").read_text())
    require = certificate["policy"]["require"]
    assert [table.get("knowing") for table in require] == [["job"], [], ["job"]]
    assert certificate["version"] == 1
    report = (tmp_path / "out" / "report.html").read_text()
    assert "the job of everybody" in report
    done = CliRunner().invoke(app, ["verify", str(tmp_path / "out")])
    said = " ".join(done.output.split())
    assert "every requirement on ill and pay holds" in said
    assert "ill: against facts l = 1, k = 0, m = 0 and the job of everybody: at most" in said
    assert "pay: against facts l = 1, k = 0, m = 0: at most" in said


def test_what_a_criterion_is_about_and_who_knows_what_is_said():
    asked = fk.Requirement(fk.LDiversity(9), sensitive="ill")
    audit = fk.audit(people(), fk.Policy([asked], schema=fk.Schema(**S, quasi_identifiers=["sex"])))
    said = page_of(audit).html()
    assert re.search(
        "of ill, for someone who knows the (job and pay|pay and job) of everybody: the least", said
    )


def test_a_certificate_that_hides_what_is_known_is_told_or_refused(tmp_path):
    asked = policy(below="99/100")
    fk.publish(people(), asked, seed=1).write(tmp_path / "out")
    path = tmp_path / "out" / "certificate.json"
    whole = json.loads(path.read_text())
    for change in ([], ["age"], ["nothing"], ["ill"]):
        forged = json.loads(json.dumps(whole))
        forged["policy"]["require"][0]["knowing"] = change
        path.write_text(json.dumps(forged))
        with pytest.raises(fk.ForeknowError):
            fk.verify(tmp_path / "out")
    forged = json.loads(json.dumps(whole))
    forged["policy"]["require"][0]["sensitive"] = "job"
    path.write_text(json.dumps(forged))
    with pytest.raises(fk.ForeknowError):
        fk.verify(tmp_path / "out")
    # What is left out reads as every column in a policy, and so is never left out.
    fk.publish(people(), policy(below="99/100", knowing=[]), seed=1).write(tmp_path / "blind")
    path = tmp_path / "blind" / "certificate.json"
    forged = json.loads(path.read_text())
    del forged["policy"]["require"][0]["knowing"]
    path.write_text(json.dumps(forged))
    with pytest.raises(fk.InputError, match="does not say by knowing"):
        fk.verify(tmp_path / "blind")


S = {"sensitive": ["ill", "pay"], "other": ["job"]}


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({}, "say which column it is about: sensitive = 'ill' or 'pay'"),
        ({"sensitive": "il"}, "did you mean 'ill'?"),
        ({"sensitive": "ill", "knowing": ["age"]}, "is a quasi-identifier"),
        ({"sensitive": "ill", "knowing": ["jobs"]}, "did you mean 'job'?"),
        ({"sensitive": "ill", "knowing": ["ill"]}, "cannot be both known and what must stay"),
        ({"sensitive": "ill", "knowing": "job"}, "knowing must be a list, such as ['job']"),
    ],
)
def test_requirements_that_name_no_such_column_are_refused(more, said):
    with pytest.raises(fk.InputError, match="requirement: ") as caught:
        fk.Policy([fk.Requirement(fk.Facts(1), below="1/2", **more)], schema(**S))
    assert said in str(caught.value)


def test_an_attack_refuses_columns_beside():
    with pytest.raises(UnsupportedError, match="knowing = \\[\\]"):
        fk.attack(fk.Microdata(people(), schema()), fk.Mondrian(), policy())


@pytest.mark.parametrize(("knowing", "known"), [(None, "not judged"), ([], "as required")])
def test_what_is_proved_of_a_method_is_not_claimed_with_columns_beside(knowing, known):
    table = {
        "age": range(40),
        "job": ["cook", "nurse"] * 20,
        "ill": ["flu", "flu", "gout", "gout"] * 10,
    }
    roles = fk.Schema(quasi_identifiers=["age"], sensitive="ill", other=["job"])
    asked = fk.Requirement(fk.Facts(), below="9/10", knowing=knowing)
    made = fk.publish(pa.table(table), fk.Policy([asked], roles), method="safe")
    assert made.audit.scope.method == known


@given(releases, st.sets(st.sampled_from(COLUMNS), min_size=1))
@examples(60)
def test_a_criterion_of_group_sizes_hides_no_value_so_any_column_may_be_known(groups, known):
    release = opened(groups, ())
    sizes = [
        n
        for members in groups
        for n in Counter(tuple(row[name] for name in sorted(known)) for row in members).values()
    ]
    required = fk.Requirement(fk.KAnonymity(2), knowing=sorted(known))
    found = fk.audit(release, fk.Policy([required]))
    assert found.criteria[0].reached == min(sizes)
    assert found.safe == (min(sizes) >= 2)


@pytest.mark.parametrize("form", ["generalized", "bucketized"])
@pytest.mark.parametrize("sensitive", [["ill"], ["ill", "pay"]])
def test_groups_divided_by_the_sensitive_column_itself_are_searched_and_verified(
    form, sensitive, tmp_path
):
    draw = random.Random(4)
    table = {
        name: [draw.choice(own) for _ in range(200)]
        for name, own in (("ill", "abc"), ("pay", "xy"), ("age", range(20, 50)))
    }
    schema = fk.Schema(quasi_identifiers=["age"], sensitive=sensitive)
    required = [fk.Requirement(fk.Facts(), 1, sensitive=name, knowing=[]) for name in sensitive]
    criterion = fk.KAnonymity(4) if form == "generalized" else fk.GroupSize(4)
    policy = fk.Policy([fk.Requirement(criterion, knowing=["ill"]), *required], schema=schema)
    fk.publish(pa.table(table), policy, form=form).write(tmp_path / "out")
    fk.verify(tmp_path / "out")
    (part,) = [p for p in ("release.csv", "sensitive.csv") if (tmp_path / "out" / p).exists()]
    with (tmp_path / "out" / part).open() as file:
        tally = Counter()
        for row in rows_in(file):
            tally[row.get("group", row.get("age")), row["ill"]] += int(row.get("count", 1))
    assert min(tally.values()) >= 4


def test_bare_counts_are_of_no_other_column():
    counts = fk.GroupCounts.from_bags([["Flu", "AIDS"]])
    schema = fk.Schema(quasi_identifiers=["age"], sensitive=["ill", "pay"])
    for adversary in (fk.KAnonymity(1), fk.LDiversity(1), fk.Facts()):
        limit = {"below": "2/3"} if isinstance(adversary, fk.Facts) else {}
        own, other = (fk.Requirement(adversary, sensitive=c, **limit) for c in ("ill", "pay"))
        with pytest.raises(PolicyError, match=r"'pay'.*'ill'"):
            fk.audit(counts, fk.Policy([own, other], schema=schema))
        assert fk.audit(counts, fk.Policy([own], schema=schema)).safe
        assert fk.audit(counts, fk.Policy([own])).safe


@pytest.mark.parametrize("source", ["arrow", "csv", "parquet", "relation"])
def test_sights_that_are_read_at_once_are_counted_as_if_each_were_read_alone(source, tmp_path):
    import duckdb
    import pyarrow.csv
    import pyarrow.parquet

    draw = random.Random(source)
    connection = duckdb.connect()
    for turn in range(12 if NIGHTLY else 6):
        n = draw.randint(1, 40)
        table = {
            "group": [draw.choice([-1, 0, 2, 10]) for _ in range(n)],
            "job": [draw.choice(["x", "y", None]) for _ in range(n)],
            "rank": [draw.choice([0.5, 2.5, None]) for _ in range(n)],
            "ill": ["c", *(draw.choice(["a", "b", "c", None]) for _ in range(n - 1))],
            "pay": [draw.choice([10, 9, 2]) for _ in range(n)],
        }
        rows = pa.table(table)
        given = tmp_path / f"{turn}.{source}"
        if source == "csv":
            pyarrow.csv.write_csv(rows, given)
        elif source == "parquet":
            pyarrow.parquet.write_table(rows, given)
        elif source == "relation":
            given = connection.from_arrow(rows)
        else:
            given = rows

        def release(given=given):
            return fk.Release.from_groups(
                given,
                group="group",
                sensitive=["ill", "pay"],
                other=["job", "rank"],
                missing="drop",
            )

        requirements = [
            fk.Requirement(fk.Facts(), below=1, sensitive=name, knowing=knowing)
            for name, knowing in (
                ("ill", ["job"]),
                ("ill", ["job", "rank", "pay"]),
                ("pay", ["rank"]),
                ("pay", None),
                ("ill", []),
            )
        ]
        judged, alone = release(), release()
        fk.audit(judged, fk.Policy(requirements))
        for requirement in requirements:
            at_once = counted_by_label(requirement.count(judged).counts.counts)
            assert at_once == counted_by_label(requirement.count(alone).counts.counts)
            known = requirement.sight(judged.layout).known
            held = as_texts(table) if source == "csv" else table
            assert at_once == tallied_by_hand(held, requirement.sensitive, known)


def counted_by_label(counts):
    return {
        (label, value): many
        for place, label in enumerate(counts.groups)
        for value, many in counts.bag(place).items()
    }


def as_texts(table):
    return {
        name: [None if value is None else str(value) for value in own]
        for name, own in table.items()
    }


def tallied_by_hand(table, sensitive, known):
    found = Counter()
    for row in zip(*table.values(), strict=True):
        own = dict(zip(table, row, strict=True))
        if own[sensitive] is None:
            continue
        label = (own["group"], *(own[name] for name in known)) if known else own["group"]
        found[label, own[sensitive]] += 1
    return dict(found)


@pytest.mark.thinned(3)
@pytest.mark.parametrize("form", ["generalized", "bucketized"])
@pytest.mark.parametrize("apart", [[], ["ill"], ["pay"]])
@pytest.mark.parametrize("known", [["ill"], ["pay"], ["ill", "pay"]])
def test_who_counts_people_may_know_any_column(form, apart, known, tmp_path):
    criterion = fk.KAnonymity(2) if form == "generalized" else fk.GroupSize(2)
    rules = fk.Policy(
        [fk.Requirement(criterion, knowing=known)],
        schema(other=[]),
        fk.PublishOptions(form=form, unlinked=apart),
    )
    made = fk.publish(people(200), rules, seed=1)
    made.write(tmp_path / "out")
    fk.verify(tmp_path / "out")
    linked = [name for name in ("ill", "pay") if name not in apart]
    if form == "bucketized" and len(linked) == 1:
        linked = ["ill"]  # each column is in a table of its own
    divide = [name for name in known if name in linked]
    groups, part = (["age", "sex"], "release") if form == "generalized" else (["group"], "people")
    if divide and form == "bucketized":
        part = "sensitive2" if apart == ["ill"] else "sensitive"
    sizes = Counter()
    with (tmp_path / "out" / f"{part}.csv").open(newline="") as file:
        for row in rows_in(file):
            sizes[tuple(row[name] for name in (*groups, *divide))] += int(row.get("count", 1))
    (found,) = made.audit.criteria
    assert found.known == tuple(divide)
    assert found.reached == min(sizes.values()) >= 2


def test_what_makes_a_verdict_empty_is_said_of_each_sensitive_column(tmp_path):
    table = {
        "age": [30] * 40,
        "ill": ["flu", "gout"] * 20,
        "pay": [str(1000 + i) for i in range(40)],
        "job": ["HIV", "hiv"] * 20,
    }
    roles = fk.Schema(quasi_identifiers=["age"], sensitive=["ill", "pay", "job"])
    asked = [
        fk.Requirement(fk.Facts(0), below="9/10", sensitive=name, knowing=[])
        for name in ("ill", "pay", "job")
    ]
    rules = fk.Policy(asked, roles, fk.PublishOptions(unlinked=["pay"]))
    fk.publish(pa.table(table), rules, seed=1).write(tmp_path / "out")
    for said in (fk.audit(pa.table(table), rules), fk.verify(tmp_path / "out")):
        assert {name: tuple(of) for name, of in said.scope.crowded.items()} == {"pay": (40, 40)}
        assert said.scope.alike == (("HIV", "hiv"),)
    shown = " ".join(fk.audit(pa.table(table), rules).notes)
    assert "40 values of pay for 40 people: a requirement about single values says little" in shown
    assert shown.count("ill, pay and job are judged one at a time") == 1
    run = CliRunner().invoke(app, ["verify", str(tmp_path / "out")])
    assert "40 values of pay for 40 people" in " ".join(run.output.split())
    assert "ill, pay and job are judged one at a time" in " ".join(run.output.split())
    place = tmp_path / "out" / "certificate.json"
    lie = json.loads(place.read_text())
    del lie["scope"]["crowded"]
    place.write_text(json.dumps(lie))
    with pytest.raises(CertificateError, match="crowded"):
        fk.verify(tmp_path / "out")


def test_rows_without_any_of_several_values_are_said_to_be_left_out():
    table = {"age": [30] * 6, "ill": ["flu", "gout"] * 3, "pay": ["1", None, "2", None, "1", None]}
    roles = fk.Schema(quasi_identifiers=["age"], sensitive=["ill", "pay"], missing="drop")
    asked = fk.Requirement(fk.Facts(0), below="9/10", sensitive="pay", knowing=[])
    found = fk.audit(pa.table(table), fk.Policy([asked], roles))
    assert found.scope.left_out == 3
    assert "3 rows have no pay: left out where that column is judged" in " ".join(found.notes)


WARDS = {
    "age": ["30"] * 4 + ["40"] * 4,
    "ward": [*"xxyyxxxz"],
    "ill": [*"abababab"],
    "who": [*"aabbcdef"],
}
COUNTED = {
    "k_anonymity": (lambda k: k, [4, 1]),
    "group_size": (lambda k: k, [4, 1]),
    "risk": (lambda k: {"prosecutor": f"1/{k}"}, [4, 1]),
    "of": (lambda k: {"k": k, "of": "who"}, [2, 1]),
}


@pytest.mark.parametrize(
    ("key", "apart"), [(key, []) for key in COUNTED] + [(key, ["ill"]) for key in [*COUNTED][:-1]]
)
@pytest.mark.parametrize("knowing", [None, [], ["ward"]])
def test_other_columns_tell_people_apart(key, apart, knowing):
    setting, (alone, divided) = COUNTED[key]
    least = divided if knowing in (None, ["ward"]) else alone
    table = pa.table({f"{n}_shuffled" if n in apart else n: own for n, own in WARDS.items()})
    roles = {"quasi_identifiers": ["age"], "sensitive": "ill", "other": ["ward"]}
    said = {} if knowing is None else {"knowing": knowing}
    for k, holds in ((least, True), (least + 1, False)):
        required = {"k_anonymity" if key == "of" else key: setting(k), **said}
        policy = {"schema": roles, "require": [required], "publish": {"unlinked": apart}}
        made = fk.audit(table, policy, learned=False)
        assert made.safe == holds
        assert ("ward" in made.scope.beside) == (knowing == [])
        assert ("Not judged: ward, who" in " ".join(made.notes)) == (knowing == [])
        if key != "of" and not apart:
            release = fk.Release.from_generalized(table, **roles | {"other": ["ward"]})
            asked = fk.Policy.from_dict({"require": [required]})
            assert fk.audit(release, asked, learned=False).safe == holds


@pytest.mark.parametrize("knowing", [None, [], ["ward"]])
def test_a_certificate_says_who_is_told_apart(knowing, tmp_path):
    said = {} if knowing is None else {"knowing": knowing}
    roles = {"quasi_identifiers": ["age"], "sensitive": "ill", "other": ["ward"]}
    policy = {"schema": roles, "require": [{"group_size": 1, **said}]}
    made = fk.publish(pa.table(WARDS), policy, labels={"age": "exact"}, seed=1)
    made.write(tmp_path / "out")
    fk.verify(tmp_path / "out", fk.Policy.from_dict(policy))
    place = tmp_path / "out" / "certificate.json"
    lie = json.loads(place.read_text())
    assert lie["policy"]["require"][0].pop("knowing") == (["ward"] if knowing is None else knowing)
    assert lie["scope"].get("beside", []) == (["ward"] if knowing == [] else [])
    place.write_text(json.dumps(lie))
    with pytest.raises(CertificateError, match="does not say by knowing"):
        fk.verify(tmp_path / "out")


def test_people_apart_from_values_are_not_counted():
    roles = {"quasi_identifiers": ["age"], "sensitive": "ill", "other": ["ward"]}
    roles |= {"semantics": "set", "person": "who"}
    rows = {name: own[::2] for name, own in WARDS.items()}
    for knowing in (None, ["ward"], []):
        required = {"k_anonymity": 2} if knowing is None else {"k_anonymity": 2, "knowing": knowing}
        policy = {"schema": roles, "require": [required]}
        if knowing != []:
            with pytest.raises(UnsupportedError, match=r"ward would be .*knowing = \[\]"):
                fk.publish(pa.table(rows), policy, labels={"age": "exact"}, seed=1)
            continue
        assert fk.publish(pa.table(rows), policy, labels={"age": "exact"}, seed=1).audit.safe


@pytest.mark.parametrize("semantics", ["set", "multiset"])
@pytest.mark.parametrize(
    "asked",
    [
        {"facts": {"l": 1}, "below": "1/2"},
        {"k_anonymity": 2},
        {"facts": {}, "below": "1/2", "sensitive": "pay", "knowing": ["job", "ill"]},
    ],
)
def test_several_values_beside_unpublished(semantics, asked):
    ills = [["Flu", "Cold"], ["Flu"], [], ["Gout"]]
    jobs = ["cook", "cook", "nurse", "nurse"]
    rows = {"pid": list("abcd"), "age": [30] * 4, "job": jobs, "ill": ills, "pay": list("1123")}
    schema = {"quasi_identifiers": ["age"], "sensitive": ["ill", "pay"], "person": "pid"}
    schema["semantics"] = {"ill": semantics}
    asked = {"sensitive": "ill", **asked} if "facts" in asked else asked
    given = {"schema": schema, "require": [{"knowing": ["job"], **asked}]}
    with pytest.raises(fk.InputError, match="leave it out of knowing"):
        fk.audit(pa.table(rows), given, learned=False)
    given["require"][0]["knowing"] = []
    assert fk.audit(pa.table(rows), given, learned=False).verdicts
