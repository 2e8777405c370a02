"""Several releases of the same people as one: cells, worlds, columns that come later."""

import csv
import random
import shutil
from collections import Counter, defaultdict
from fractions import Fraction
from itertools import permutations, product

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.common import NIGHTLY
from tests.oracle import rules as impossible_worlds
from tests.oracle.many_worlds import (
    posteriors,
)

import foreknow as fk
from foreknow.errors import SchemaError
from foreknow.features.several_releases import crossing_groups
from foreknow.features.several_releases.crossing_groups import CrossedGroups
from foreknow_judge.counts.cohorts import Cohorts
from foreknow_judge.errors import CertificateError, DataError, UnsupportedError
from foreknow_judge.files.written_release import Written
from foreknow_judge.knowledge.impossible_values import Rules

PEOPLE = [f"p{i}" for i in range(9)]
FAMILIES = range(20_000 if NIGHTLY else 60)


def family(rng, semantics="single"):
    """Who is in which group of two or three releases, and everybody's value."""
    people = rng.randint(2, 6)
    values = [rng.choice("abc") for _ in range(people)]
    memberships = []
    for _ in range(rng.randint(2, 3)):
        own = [rng.choice([None, 0, 1, 2]) for _ in range(people)]
        memberships.append(own if any(g is not None for g in own) else [0] * people)
    if rng.random() < 0.5:  # nested: a later release unites earlier groups and adds newcomers
        first = memberships[0]
        memberships = [first, [0 if g in (0, 1) else 1 if g is None else 2 for g in first]]
    return memberships, values


def releases_of(memberships, ill, more=None, **how):
    """Releases of people, each with a value, or a list of them, and with further columns."""
    made = []
    for membership in memberships:
        inside = [p for p, group in enumerate(membership) if group is not None]
        table = {"who": [PEOPLE[p] for p in inside], "group": [membership[p] for p in inside]}
        for name, column in {"ill": ill, **(more or {})}.items():
            kind = pa.list_(pa.string()) if isinstance(ill[0], list) else pa.string()
            table[name] = pa.array([column[p] for p in inside], kind)
        named = {"group": "group", "sensitive": "ill", "person": "who", **how}
        made.append(fk.Release.from_groups(pa.table(table), **named))
    return made


def joint(memberships, values):
    """The release of all, and everybody who is in one of them."""
    inside = [
        p
        for p in range(len(values))
        if any(membership[p] is not None for membership in memberships)
    ]
    kept = [[membership[p] for p in inside] for membership in memberships]
    values = [values[p] for p in inside]
    return kept, values, fk.together(releases_of(kept, values))


def settled(seed, most):
    """A family whose releases are one, of few people."""
    memberships, values, release = joint(*family(random.Random(seed)))
    if release.unsettled is None and len(values) <= most:
        return memberships, values, release
    return None


# ---- cells ---------------------------------------------------------------------------------------


def test_settled_worlds_match_their_cells():
    settled = 0
    for seed in FAMILIES:
        memberships, values, release = joint(*family(random.Random(seed)))
        if release.unsettled is not None:
            with pytest.raises(fk.NotSettled):
                release.counts  # noqa: B018
            continue
        settled += 1
        told = posteriors(memberships, values)
        cells = {}
        for person in range(len(values)):
            cells.setdefault(tuple(membership[person] for membership in memberships), []).append(
                person
            )
        assert sorted(release.counts.sizes.tolist()) == sorted(map(len, cells.values()))
        bags = sorted(
            sorted(release.counts.bag(group).items()) for group in range(release.counts.n_groups)
        )
        shares = sorted(
            sorted((v, int(p * len(people))) for v, p in told[people[0]].items())
            for people in cells.values()
        )
        assert bags == shares, (memberships, values)
    assert settled > len(FAMILIES) // 2


def rows_of(who, ill, **more):
    return pa.table({"who": [*who], "ill": [*ill], **more})


def test_contradicting_releases_are_refused():
    how = {"group": "group", "sensitive": "ill", "person": "who"}
    tables = [rows_of("ab", ills, group=[1, 1]) for ills in ("FH", "FF")]
    with pytest.raises(fk.InputError, match="contradict"):
        fk.together([fk.Release.from_groups(table, **how) for table in tables])


def test_counts_tables_are_no_releases():
    known = {"age": ["30 to 39"] * 2 + ["40 to 49"] * 4, "sex": [*"ffffmm"]}
    how = {"quasi_identifiers": ["age", "sex"], "sensitive": "ill", "person": "who"}
    release = fk.Release.from_generalized(rows_of("abcdef", "FHFHFC", **known), **how)

    def tally(counts, column="sex"):
        table = pa.table({column: [*"ffmm"], "ill": [*"FHFC"], "count": counts})
        return fk.Release.from_tally(table, group=[column], sensitive="ill")

    joined = fk.together([release, tally([2, 2, 1, 1])])
    assert sorted(joined.counts.sizes.tolist()) == sorted(release.counts.sizes.tolist())
    for other, said in (
        (tally([3, 1, 1, 1]), "contradict"),
        (tally([1, 1, 1, 1], "zip"), "does not say who is in it"),
    ):
        with pytest.raises(fk.InputError, match=said):
            fk.together([release, other])


def test_earlier_questions_hide_nobody():
    """Two people each are 30 and 41 years old, in groups of four and three."""
    rows = {"group": [1, 1, 1, 1, 2, 2, 2], "age": [30, 41, 52, 52, 30, 41, 52]}
    table = pa.table({**rows, "disease": ["Flu", "AIDS", "Flu", "Flu", "AIDS", "Flu", "Flu"]})
    schema = fk.Schema(quasi_identifiers=["age"], sensitive="disease", group="group")
    for more in ({}, {"any_of": ["Flu"]}):
        release = fk.Release.from_groups(table, group="group", sensitive="disease")
        required = [fk.Requirement(fk.AlphaK(0.9, 3), **more)]
        assert fk.audit(release, fk.Policy(required)).safe  # by groups alone
        audit = fk.audit(release, fk.Policy(required, schema))
        assert not audit.safe
        assert audit.verdicts[0].found.amount == 2 or "2 people" in str(audit.verdicts[0].found)


# ---- chains --------------------------------------------------------------------------------------


def chain(people, size, releases=2, values="abc"):
    """Groups of each release that overlap those of the others, like tiles of a roof."""
    shift = size // releases
    groups = [(np.arange(people) + shift * place) // size for place in range(releases)]
    return groups, [random.Random(i).choice(values) for i in range(people)]


def counts_of(groups, values):
    bags = {}
    for group, value in zip(groups.tolist(), values, strict=True):
        bags.setdefault(group, []).append(value)
    return fk.GroupCounts.from_bags([bags[group] for group in sorted(bags)])


@pytest.mark.parametrize(("people", "size", "releases"), [(600, 4, 2), (601, 2, 2), (900, 6, 3)])
def test_chains_settle_from_ends(people, size, releases):
    memberships, values = chain(people, size, releases)
    result = CrossedGroups.of(memberships)
    assert result.settled.all()
    assert len(result.rounds) > crossing_groups._AT_ONCE
    told = result.counts(
        [counts_of(membership, values) for membership in memberships], ["one", "two", "three"]
    )
    for cell in range(len(result.groups)):
        counts = Counter(
            v for v, c in zip(values, result.of_person.tolist(), strict=True) if c == cell
        )
        assert told.bag(cell) == counts


def test_contradicting_chains_are_refused():
    memberships, values = chain(600, 4)
    others = [*values]
    others[301] = "d"
    bags = [counts_of(memberships[0], values), counts_of(memberships[1], others)]
    with pytest.raises(DataError, match="contradict"):
        CrossedGroups.of(memberships).counts(bags, ["one", "two"])
    others[301] = next(v for v in "abc" if v != values[301])
    bags = [counts_of(memberships[0], values), counts_of(memberships[1], others)]
    with pytest.raises(DataError, match="contradict"):
        CrossedGroups.of(memberships).counts(bags, ["one", "two"])


# ---- chosen combinations of columns --------------------------------------------------------------


def register(n, start):
    rows = range(start, start + n)
    names = {"id": [f"p{i}" for i in rows], "age": [20 + i % 30 for i in rows]}
    zips, ills = (
        [["south", "north"][i % 2] for i in rows],
        [["flu", "cold", "gout"][i % 3] for i in rows],
    )
    return pd.DataFrame({**names, "zip": zips, "ill": ills})


def requiring(own, **publish):
    schema = {"identifiers": ["id"], "quasi_identifiers": ["age", "zip"], "sensitive": "ill"}
    schema["hierarchies"] = {"age": {"intervals": [10]}}
    return fk.Policy.from_dict({"schema": schema, "require": [own], "publish": publish})


@pytest.mark.parametrize("form", ["generalized", "bucketized"])
def test_chosen_columns_count_in_each(form, tmp_path):
    """January has many of each zip code, and March, which is no safer beside it, has few."""
    january, march = tmp_path / "january", tmp_path / "march"
    weak = requiring({"group_size": 2}, labels={"zip": "exact", "age": "exact"}, form=form)
    asked = requiring({"k_anonymity": {"k": 5, "of": [["zip"]]}})
    fk.publish(register(40, 0), weak, seed=1).write(january)
    fk.publish(register(6, 40), weak, after=[january], seed=1).write(march)
    assert fk.audit(january, asked).safe
    assert not fk.audit(march, asked).safe
    audit = fk.audit([january, march], asked)
    assert ([verdict.reached for verdict in audit.verdicts], audit.safe) == ([3], False)
    fk.verify(march, after=[january])
    with pytest.raises(fk.ForeknowError, match="has 3"):
        fk.verify(march, asked)
    with pytest.raises(fk.ForeknowError, match=r"together: .* has 3"):
        fk.verify(march, asked, after=[january])


# ---- units ---------------------------------------------------------------------------------------


TABLES = range(400 if NIGHTLY else 8)
LOOSE = Fraction(999_999, 1_000_000)  # few releases reach it
EXACT = {"ward": "exact"}


def policy(required, **schema):
    roles = {"identifiers": ["pid"], "quasi_identifiers": ["ward"], "sensitive": "ill"}
    return fk.Policy.from_dict({
        "schema": {**roles, **schema},
        "require": [{"below": str(LOOSE), "knowing": [], **required}],
        "publish": {"labels": EXACT},
    })  # fmt: skip


def table_of(rows, *columns):
    return pa.table(
        dict(zip(("pid", "ward", *columns), map(list, zip(*rows, strict=True)), strict=True))
    )


def figure(verdict):
    settled = verdict.found.settled
    return verdict.reached if settled is None else settled


def published(folder, tables, rules):
    """Releases of growing tables, one after the other; None where one of them is refused."""
    made, folders = [], []
    folder.mkdir(exist_ok=True)
    for number, table in enumerate(tables):
        try:
            made.append(fk.publish(table, rules, after=folders, seed=1, learned=False))
        except fk.NoSafeRelease:
            return None
        folders.append(folder / f"year{number}")
        made[-1].write(folders[-1])
    return made, folders


def groups_in(folder):
    """The name and group of each row that a release shows, by the owner's list, in order."""
    rows = pq.read_table(folder.with_name(f"{folder.name}.owner") / "members.parquet").to_pylist()
    return [(row["pid"], row["ward"]) for row in rows]


# ---- cases ---------------------------------------------------------------------------------------


VISITS = [(f"p{i}", f"w{i % 2}", "xyz"[(i + n) % 3]) for i in range(24) for n in range(1 + i % 2)]
COUNTED = {"facts": {"k": 1}, "below": 0.95}


def test_later_cases_stay_out(tmp_path):
    """A person is published once, with all their cases of that table; the rest is counted."""
    rules = policy(COUNTED, identifiers=["visit", "pid"], person="pid", unit="row")
    new = [(f"q{i}", f"w{i % 2}", "xyz"[i % 3]) for i in range(12)]
    later = [("p0", "w0", "x"), ("p1", "w1", "y"), ("p1", "w1", "y")]
    tables = []
    for rows in (VISITS, [*VISITS[9:], *later, *new]):
        tables.append(table_of(rows, "ill").append_column("visit", [[*range(len(rows))]]))
    (first, second), folders = published(tmp_path, tables, rules)
    assert (first.counts.n_people, second.counts.n_people) == (len(VISITS), 12)
    since = second.since
    assert (since.new, since.stay, since.later_rows) == (12, 20, len(VISITS) - 9 + 3)
    assert f"Their {since.later_rows} rows stay out: what lasts, such as a chronic" in str(since)
    assert {pid for pid, _ in groups_in(folders[1])} == {pid for pid, *_ in new}
    assert second.together.counts.n_people == len(VISITS) + 12
    assert fk.verify(folders[1], after=folders[0]).people_of_all == len(VISITS) + 12
    with pytest.raises(fk.NoSafeRelease, match="Nobody is new"):
        fk.publish(tables[1], rules, after=folders)
    nobody = policy(COUNTED, identifiers=["visit", "pid"], unit="row")
    with pytest.raises(fk.InputError, match='person = "pid"'):
        fk.publish(tables[1], nobody, after=folders[0])


def test_cases_need_published_rows(tmp_path):
    """Without them, or with others, nothing is published; put back, it works."""
    rules = policy(COUNTED, person="pid", unit="row")
    new = [*VISITS, *((f"q{i}", "w0", "xyz"[i % 3]) for i in range(12))]
    tables = [table_of(rows, "ill") for rows in (VISITS, new)]
    _, (folder, draft) = published(tmp_path, tables, rules)
    shutil.rmtree(draft)
    kept = tmp_path / "year0.owner" / "newcomers.parquet"
    rows = pq.read_table(kept)
    other = [*rows.column("pid").to_pylist()[1:], "p0"]
    for wrong in (rows.slice(1), rows.set_column(0, "pid", [other])):
        pq.write_table(wrong, kept)
        with pytest.raises(fk.InputError, match=r"is not the table|names other people"):
            fk.publish(tables[1], rules, after=folder)
    key = tmp_path / "year0.owner" / "owner.json"
    pq.write_table(rows, kept)
    forgetful = tmp_path / "forgetful"
    for name in ("", ".owner"):
        shutil.copytree(f"{folder}{name}", f"{forgetful}{name}")
    fk.forget(forgetful, "p3")
    with pytest.raises(fk.InputError, match=r"were forgotten.*without after"):
        fk.publish(tables[1], rules, after=forgetful)
    assert fk.publish(tables[1].slice(len(VISITS)), rules, seed=1).audit.safe  # as it says
    key.rename(tmp_path / "owner.json")
    with pytest.raises(fk.InputError, match=r"put back the one that was written"):
        fk.publish(tables[1], rules, after=folder)
    (tmp_path / "owner.json").rename(key)
    kept.unlink()
    with pytest.raises(fk.InputError, match="Put the table that was published there"):
        fk.publish(tables[1], rules, after=folder)
    pq.write_table(tables[0], kept)
    assert fk.publish(tables[1], rules, after=folder).together.safe


# ---- households ----------------------------------------------------------------------------------


def test_edited_households_are_refused(tmp_path):
    """Else somebody of a household that was published shows its value a second time."""
    rules = policy({"facts": {}}, shared={"by": "home", "values": ["ill"]})
    rows = [(f"a{i}", "w0", "xyz"[i // 2], f"{i // 2}") for i in range(6)]
    new = [(f"b{i}", "w0", "xyz"[i], f"{i + 7}") for i in range(3)]
    first, folder = table_of(rows, "ill", "home"), tmp_path / "year0"
    second = table_of([*new, ("joins", "w0", "x", "0")], "ill", "home")
    fk.publish(first, rules, seed=1).write(folder)
    assert fk.publish(second, rules, after=folder).since.beside_published == 1
    kept = tmp_path / "year0.owner" / "newcomers.parquet"
    edited = first.set_column(3, "home", [["5", "5", "1", "1", "2", "2"]])
    pq.write_table(edited, kept)
    with pytest.raises(fk.InputError, match="other values in 'home'"):
        fk.publish(second, rules, after=folder)


# ---- what some cannot have -----------------------------------------------------------------------


@pytest.mark.parametrize("shown", [True, False])
def test_impossible_values_in_any_release(shown, tmp_path):
    """Nobody of a release can have what they cannot; where that is not shown, the owner counts."""
    barred = {"impossible": [{"values": ["x"], "where": {"sex": ["m"]}}]}
    compared = 0
    for seed in TABLES:
        rng = random.Random(seed)
        rows = []
        for number in range(8):
            ill = "xyyz"[number % 4]
            sex = "f" if ill == "x" else "m" if number % 4 == 1 else rng.choice("fm")
            rows.append((f"p{number}", f"w{rng.randint(0, 1)}", ill, sex))
        tables = [table_of(part, "ill", "sex") for part in (rows[:4], rows)]
        facts = rng.choice([{}, {"l": 1}, {"k": 1}])
        schema = barred | ({"other": ["sex"]} if shown else {})
        publication = published(
            tmp_path / f"{seed}{shown}", tables, policy({"facts": facts}, **schema)
        )
        if publication is None:
            continue
        (_, made), folders = publication
        groups = {}
        for number, (folder, part) in enumerate(zip(folders, (rows[:4], rows[4:]), strict=True)):
            for (_, ward), (*_, ill, sex) in zip(groups_in(folder), part, strict=True):
                cannot = frozenset("x") if sex == "m" else frozenset()
                groups.setdefault((number, ward), []).append((ill, cannot))
        amounts = tuple(facts.get(name, 0) for name in "lkm")
        truth = max(
            impossible_worlds.worst_cases([*groups.values()], value, amounts)[amounts]
            for value in sorted({ill for *_, ill, _ in rows})
        )
        reached = figure(made.together.verdicts[0])
        assert reached >= truth
        verified = fk.verify(folders[1], after=folders[0]).together
        if shown:
            assert verified[0].reached == reached
        compared += reached > verified[0].reached if not shown else reached == truth
    assert compared


# ---- columns that come later, judged together with releases that lack them ---------------------

FACTS = 0, 1, 0
LAX = "999999/1000000"
RULES = [{"sensitive": "ill", "values": ["HIV"], "where": {"ward": ["W"]}}]
ROLES = {"identifiers": ["pid"], "quasi_identifiers": ["ward"], "sensitive": "ill"}


def policy_of(*required, publish=None, **schema):
    facts = {"facts": dict(zip("lkm", FACTS, strict=True)), "below": LAX}
    return fk.Policy.from_dict({
        "schema": {**ROLES, **schema},
        "require": [facts, *required],
        "publish": publish or {},
    })  # fmt: skip


def with_job(*required, **more):
    return policy_of(*required, quasi_identifiers=["ward", "job"], **more)


def register_of(draw, size):
    columns = {
        "pid": [f"p{i}" for i in range(size)],
        "ward": [draw.choice("NS") for _ in range(size)],
        "job": [draw.choice(["cook", "clerk"]) for _ in range(size)],
        "ill": [draw.choice(["flu", "cold", "HIV"]) for _ in range(size)],
    }
    return pa.table(columns)


def two_years(folder, table, first, rules, before=None):
    """January of some people without their jobs, and March of all, with them."""
    folder.mkdir(exist_ok=True)
    fk.publish(table.slice(0, first).drop_columns("job"), before or policy_of(), seed=1).write(
        folder / "january"
    )
    publication = fk.publish(table, rules, after=[folder / "january"], seed=1)
    publication.write(folder / "march")
    return publication


def bags_of(folder):
    """The values of people whose published labels are the same."""
    bags = defaultdict(list)
    with (folder / "release.csv").open(encoding="utf-8") as file:
        for row in csv.DictReader(file):
            bags[tuple(text for name, text in row.items() if name != "ill")].append(row["ill"])
    return [*bags.values()]


def surest_of_two(bag):
    """How sure somebody is of a person's value at most, who knows one other of the group."""
    pairs = Counter(permutations(bag, 2))
    counts = Counter(other for _, other in permutations(bag, 2))
    return max(Fraction(times, counts[other]) for (_, other), times in pairs.items())


@pytest.mark.parametrize("seed", range(3))
def test_worst_case_of_all_releases(tmp_path, seed):
    """Whoever knows jobs is no surer of the people of a release without jobs."""
    rules = with_job(publish={"labels": {"ward": "exact", "job": "exact"}})
    table, before = (
        register_of(random.Random(seed), 40),
        policy_of(publish={"labels": {"ward": "exact"}}),
    )
    result = two_years(tmp_path, table, 15, rules, before)
    bags = [*bags_of(tmp_path / "january"), *bags_of(tmp_path / "march")]
    assert len(bags) > 3
    worst = max(map(surest_of_two, bags))
    verified = fk.verify(tmp_path / "march", after=tmp_path / "january")
    audit = fk.audit([tmp_path / "january", tmp_path / "march"], rules)
    for verdict in (result.together.verdicts[0], verified.together[0], audit.verdicts[0]):
        assert verdict.reached == worst


def rows_in(folder):
    """The published rows of each label of wards."""
    rows = defaultdict(list)
    with (folder / "release.csv").open(encoding="utf-8") as file:
        for row in csv.DictReader(file):
            rows[row["ward"]].append((row["ill"], row.get("job")))
    return [*rows.values()]


def surest_in_worlds(rows, secret):
    """How sure somebody is of a person's secret, at most, who knows all else, and one secret more.

    A world gives the rows of a group to its people; one that knows all else is left those in which
    everybody has the other value that is known of them.
    """
    beside = 1 - secret
    known = [row[beside] for row in rows]
    worlds = {world for world in permutations(rows) if [row[beside] for row in world] == known}
    chances = [Fraction(0)]
    for person, other in permutations(range(len(rows)), 2):
        pairs = Counter((world[other][secret], world[person][secret]) for world in worlds)
        times = Counter(world[other][secret] for world in worlds)
        chances += [Fraction(number, times[fact]) for (fact, _), number in pairs.items()]
    return max(chances)


def hiding(*columns, publish=None, **schema):
    facts = {"facts": dict(zip("lkm", FACTS, strict=True)), "below": LAX}
    require = [{**facts, "sensitive": column} for column in columns]
    roles = {**ROLES, "sensitive": [*columns], **schema}
    return fk.Policy.from_dict({"schema": roles, "require": require, "publish": publish or {}})


def by_wards(draw):
    """A register of two wards in the first year, and of two in the second, and its first people.

    Each value of a year stands beside each of the other column twice, or once more.
    """
    columns, first = defaultdict(list), 0
    for year, wards in enumerate(("NS", "NE")):
        for ward in wards:
            pairs = [*product(["flu", "cold"], ["cook", "clerk"])] * 2
            pairs.append((draw.choice(["flu", "cold"]), draw.choice(["cook", "clerk"])))
            for ill, job in pairs[: 9 if year else draw.choice([4, 6, 8])]:
                columns["pid"].append(f"p{len(columns['pid'])}")
                columns["ward"].append(ward)
                columns["job"].append(job)
                columns["ill"].append(ill)
        first = first or len(columns["pid"])
    return pa.table(dict(columns)), first


@pytest.mark.parametrize("seed", range(6 if NIGHTLY else 1))
def test_secret_in_all_worlds(tmp_path, seed):
    """Whoever knows all jobs learns no more from releases without; jobs are secrets of one."""
    table, first = by_wards(random.Random(seed))
    exact = {"labels": {"ward": "exact"}}
    before, rules = hiding("ill", publish=exact), hiding("ill", "job", publish=exact)
    result = two_years(tmp_path, table, first, rules, before)
    january, march = rows_in(tmp_path / "january"), rows_in(tmp_path / "march")
    assert [*map(len, march)] == [9, 9]
    ill = max(surest_in_worlds(rows, 0) for rows in [*january, *march])
    job = max(surest_in_worlds(rows, 1) for rows in march)
    verified = fk.verify(tmp_path / "march", after=tmp_path / "january")
    audit = fk.audit([tmp_path / "january", tmp_path / "march"], rules)
    for verdicts in (result.together.verdicts, verified.together, audit.verdicts):
        assert [verdict.reached for verdict in verdicts] == [ill, job]


def test_people_of_all_releases(tmp_path):
    """A criterion of people counts those, too, whose release lacks the column that it names."""
    table = register_of(random.Random(3), 100)
    rules = hiding("ill", "job")
    rules = fk.Policy(
        [*rules.requirements, fk.Requirement(fk.KAnonymity(2), sensitive="job")], rules.schema
    )
    result = two_years(tmp_path, table, 20, rules, hiding("ill"))
    fewest = min(len(rows) for year in ("january", "march") for rows in rows_in(tmp_path / year))
    verified = fk.verify(tmp_path / "march", after=tmp_path / "january")
    assert result.together.verdicts[2].reached == verified.together[2].reached == fewest
    assert "has job, so that is judged of those that have" in str(result.since)


@pytest.mark.parametrize("first", [True, False])
def test_shuffled_in_one_year(tmp_path, first):
    table = register_of(random.Random(3), 60)
    linked, shuffled = (
        hiding("ill", "job", publish={"unlinked": names}) for names in ([], ["job"])
    )
    before, now = (shuffled, linked) if first else (linked, shuffled)
    fk.publish(table.slice(0, 30), before, seed=1).write(tmp_path / "january")
    with pytest.raises(UnsupportedError, match="differ in the shuffled columns"):
        fk.publish(table, now, after=tmp_path / "january")


def test_added_other_column(tmp_path):
    """A column that is known of everybody divides the groups of the releases that show it."""
    table = register_of(random.Random(5), 80)
    result = two_years(tmp_path, table, 40, hiding("ill", other=["job"]), hiding("ill"))
    bags = [*bags_of(tmp_path / "january"), *bags_of(tmp_path / "march")]
    worst = max(map(surest_of_two, bags))
    verified = fk.verify(tmp_path / "march", after=tmp_path / "january")
    assert result.together.verdicts[0].reached == verified.together[0].reached == worst
    assert len(bags) > len(rows_in(tmp_path / "january")) + len(rows_in(tmp_path / "march"))


def test_secret_of_third_release(tmp_path):
    """Two releases that show it are judged together on it, and the first one on what it shows."""
    table = register_of(random.Random(3), 160)
    two_years(tmp_path, table.slice(0, 100), 50, hiding("ill", "job"), hiding("ill"))
    before = [tmp_path / "january", tmp_path / "march"]
    publication = fk.publish(table, hiding("ill", "job"), after=before, seed=1)
    publication.write(tmp_path / "may")
    verified = fk.verify(tmp_path / "may", after=before)
    reached = [verdict.reached for verdict in publication.together.verdicts]
    assert [verdict.reached for verdict in verified.together] == reached
    later = [fk.audit(folder, hiding("ill", "job")) for folder in (before[1], tmp_path / "may")]
    assert reached[1] == max(audit.verdicts[1].reached for audit in later)
    with pytest.raises(SchemaError, match=r"shows other columns: write sensitive = \["):
        fk.publish(table, hiding("ill"), after=before)


@pytest.mark.parametrize(
    ("more", "before", "as_label"),
    [
        ({"publish": {"unlinked": ["job"]}}, {}, True),
        ({"publish": {"form": "bucketized"}}, {"publish": {"form": "bucketized"}}, False),
        ({"impossible": RULES}, {"impossible": RULES}, False),
        ({"person": "pid", "unit": "row"}, {"person": "pid", "unit": "row"}, False),
    ],
)
def test_refused_secrets(tmp_path, more, before, as_label):
    """Before anything is searched; the ways out that are printed work."""
    table = register_of(random.Random(3), 60)
    if "impossible" in more:
        healthy = ["flu" if value == "HIV" else value for value in table.column("ill").to_pylist()]
        wards = ["NSW"[number % 3] for number in range(60)]
        table = table.set_column(1, "ward", [wards]).set_column(3, "ill", [healthy])
    with pytest.raises(SchemaError, match="has no job, so what is new") as caught:
        two_years(tmp_path, table, 30, hiding("ill", "job", **more), hiding("ill", **before))
    assert 'write sensitive = ["ill"]' in str(caught.value)
    assert ("to quasi_identifiers instead" in str(caught.value)) == as_label
    ways_out = [{}, *[{"quasi_identifiers": ["ward", "job"]}] * as_label]
    for number, way_out in enumerate(ways_out):
        rules = hiding("ill", **before, **way_out)
        result = two_years(tmp_path / str(number), table, 30, rules, hiding("ill", **before))
        assert result.together.safe


def test_order_of_secrets(tmp_path):
    table = register_of(random.Random(3), 60)
    with pytest.raises(SchemaError, match=r'in this order: sensitive = \["ill", "job"\]'):
        two_years(tmp_path, table, 30, hiding("job", "ill"), hiding("ill"))


def test_lost_columns_are_refused(tmp_path):
    table = register_of(random.Random(3), 60)
    fk.publish(table.slice(0, 30), with_job(), seed=1).write(tmp_path / "january")
    with pytest.raises(SchemaError, match="groups by job: add it to quasi_identifiers"):
        fk.publish(table.drop_columns("job"), policy_of(), after=tmp_path / "january")
    jobless = table.set_column(2, "job", [["unknown"] * 60])
    assert fk.publish(jobless, with_job(), after=tmp_path / "january", seed=1).together.safe
    earlier, later = (
        Written("generalized", groups, "ill", {"release": table})
        for groups in (["ward", "job"], ["ward"])
    )
    with pytest.raises(CertificateError, match="other columns"):
        Cohorts.of({"january": earlier, "march": later})


def test_rules_beside_secrets():
    """The judge does not read who cannot have what, where a column came later."""
    rules = Rules.of({"impossible": RULES, "quasi_identifiers": ["ward"]})
    earlier, later = (
        Written("generalized", ["ward"], "ill", {"release": None}, parts=parts, rules=rules)
        for parts in ({"ill": "release"}, {"ill": "release", "job": "release"})
    )
    Cohorts.of({"january": earlier, "march": earlier})
    with pytest.raises(CertificateError, match="impossible"):
        Cohorts.of({"january": earlier, "march": later})


@pytest.mark.parametrize(
    ("schema", "publish"),
    [({}, {"form": "bucketized"}), ({"person": "pid", "unit": "row"}, {})],
)
def test_other_forms_are_refused(tmp_path, schema, publish):
    table = register_of(random.Random(3), 60)
    rules = with_job(publish=publish, **schema)
    before = policy_of(publish=publish, **schema)
    with pytest.raises(SchemaError, match="leave it out of quasi_identifiers"):
        two_years(tmp_path, table, 30, rules, before)
    assert fk.publish(table, before, after=tmp_path / "january", seed=1).together.safe
