"""Cases, households and impossible values over several releases, beside worlds of all of them."""

import random
import shutil
from fractions import Fraction

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.examples import NIGHTLY
from tests.oracle import rules as impossible_worlds
from tests.oracle.units import limit_of_people, surest, surest_of_person, worlds_of_household

import foreknow as fk
from foreknow.data.engines.table import unshown

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


def few_cases(rng, letter):
    """Cases of a few people, who are in a ward each time: (person, ward, illness)."""
    people = [f"{letter}{i}" for i in range(rng.randint(2, 3))]
    of = [*people, *rng.choices(people, k=4 - len(people))]
    ills = rng.sample("xyzu", 4)
    return [(person, f"w{rng.randint(0, 1)}", ill) for person, ill in zip(of, ills, strict=True)]


@pytest.mark.parametrize("facts", [{}, {"l": 1}, {"k": 1}])
def test_cases_add_up_over_releases(facts, tmp_path):
    """The figure is that of all cases, and never below what somebody really learns of all."""
    compared = 0
    for seed in TABLES:
        rng = random.Random(f"{seed} {facts}")
        first, second = few_cases(rng, "a"), few_cases(rng, "b")
        again = [(rng.choice(first)[0], "w0", rng.choice("xyz"))]  # a later case of somebody
        rules = policy({"facts": facts, "values": ["x"]}, person="pid", unit="row")
        tables = [table_of(first, "ill"), table_of([*again, *first, *second], "ill")]
        found = published(tmp_path / str(seed), tables, rules)
        if found is None or not any(ill == "x" for *_, ill in (*first, *second)):
            continue
        (_, made), folders = found
        groups = [
            (pid, (number, ward))
            for number, folder in enumerate(folders)
            for pid, ward in groups_in(folder)
        ]
        assert [pid for pid, _ in groups] == [pid for pid, *_ in (*first, *second)]
        cases = [
            (pid, group, ill)
            for (pid, group), (*_, ill) in zip(groups, (*first, *second), strict=True)
        ]
        reached = figure(made.together.verdicts[0])
        assert reached == limit_of_people(cases, "x", facts.get("l", 0), facts.get("k", 0))
        if compared < 4:  # which takes long
            assert reached >= surest_of_person(cases, "x", facts.get("l", 0), facts.get("k", 0))
        compared += 1
    assert compared > len(TABLES) / 5


VISITS = [(f"p{i}", f"w{i % 2}", "xyz"[(i + n) % 3]) for i in range(24) for n in range(1 + i % 2)]
COUNTED = {"facts": {"k": 1}, "below": 0.95}


def test_later_cases_stay_out(tmp_path):
    """A person is published once, with all their cases of that table; the rest is counted."""
    rules = policy(COUNTED, person="pid", unit="row")
    new = [(f"q{i}", f"w{i % 2}", "xyz"[i % 3]) for i in range(12)]
    later = [("p0", "w0", "x"), ("p1", "w1", "y"), ("p1", "w1", "y")]
    tables = [table_of(rows, "ill") for rows in (VISITS, [*VISITS[9:], *later, *new])]
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
    nobody = policy(COUNTED, unit="row")
    with pytest.raises(fk.InputError, match='person = "pid"'):
        fk.publish(tables[1], nobody, after=folders[0])


def test_cases_need_published_rows(tmp_path):
    """Without them, or with others, nothing is published; put back, it works."""
    rules = policy(COUNTED, person="pid", unit="row")
    new = [*VISITS, *((f"q{i}", "w0", "xyz"[i % 3]) for i in range(12))]
    tables = [table_of(rows, "ill") for rows in (VISITS, new)]
    _, (folder, _) = published(tmp_path, tables, rules)
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


def town(rng, letter):
    """People in households, which share an income: (person, ward, income, household)."""
    homes = {f"{letter}{i}": rng.choice("xyz") for i in range(rng.randint(2, 3))}
    living = [*homes, *rng.choices([*homes], k=rng.randint(0, 2))]
    return [
        (f"{letter}p{i}", f"w{rng.randint(0, 1)}", homes[home], home)
        for i, home in enumerate(living)
    ]


def test_households_of_all_releases(tmp_path):
    """Whoever joins a household that was published stays out; worlds are those of all others."""
    shared = {"shared": {"by": "home", "values": ["ill"]}}
    compared = 0
    for seed in TABLES:
        rng = random.Random(seed)
        first, second, facts = town(rng, "a"), town(rng, "b"), rng.choice([{}, {"l": 1}, {"k": 1}])
        joins = [("joins", "w0", *rng.choice(first)[2:])]
        moved = rng.choice(first)  # into a household of newcomers, who then stay out, too
        host = rng.choice(second)
        everybody = [(*row[:2], *host[2:]) if row is moved else row for row in first]
        tables = [table_of(rows, "ill", "home") for rows in (first, [*joins, *second, *everybody])]
        found = published(tmp_path / str(seed), tables, policy({"facts": facts}, **shared))
        if found is None:
            continue
        (_, made), folders = found
        new = [row for row in second if row[3] != host[3]]
        assert made.counts.n_people == len(new)
        assert made.since.beside_published == 1 + len(second) - len(new)
        shown = {}
        for number, (folder, rows) in enumerate(zip(folders, (first, new), strict=True)):
            for (_, ward), (*_, ill, home) in zip(groups_in(folder), rows, strict=True):
                shown.setdefault(home, (home, (number, ward), ill))
        worlds = worlds_of_household([*shown.values()])
        values = sorted({ill for *_, ill in shown.values()})
        truth = surest(worlds, values, facts.get("l", 0), facts.get("k", 0))
        assert made.together.verdicts[0].reached == truth
        together = fk.verify(folders[1], after=folders[0]).together
        assert together[0].reached == truth
        compared += 1
    assert compared


def test_rows_of_several_tables():
    """Of each table, and not of the first alone, each row of a household has its value."""
    schema = policy({"facts": {}}, shared={"by": "home", "values": ["ill"]}).schema
    first, second = (
        fk.Microdata(table_of([("a", "w", h, "x"), ("b", "w", h, "x")], "home", "ill"), schema)
        for h in "gh"
    )
    both = first.above([second]).source
    once, each = (table.arrow(["ill"]).column("ill") for table in (both, unshown(both)))
    assert (once.to_pylist().count("x"), each.to_pylist()) == (2, [*"xxxx"])


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
        found = published(tmp_path / f"{seed}{shown}", tables, policy({"facts": facts}, **schema))
        if found is None:
            continue
        (_, made), folders = found
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


def test_left_out_people_are_new(tmp_path):
    """Their row of the earlier table is not counted; it would be a second one of one person."""
    rules = {"impossible": [{"values": ["x"], "where": {"sex": ["m"]}}], "missing": "drop"}
    rows = [(f"p{i}", "w0", "xyz"[i % 3], "fmf"[i % 3]) for i in range(12)]
    first = [("p7", "w0", None, "f"), *rows[:6]]
    tables = [table_of(part, "ill", "sex") for part in (first, rows)]
    (_, made), _ = published(tmp_path, tables, policy({"facts": {}}, **rules))
    assert made.counts.n_people == 6
    assert made.together.counts.n_people == 12
    assert made.together.verdicts[0].reached == Fraction(1, 2)


def test_rules_added_later(tmp_path):
    """Everybody knows it of the earlier release, too; one that is taken back is refused."""
    sexes = ["fmm", "fmf"]  # of the first and of those who come later
    rows = [(f"p{i}", "w0", "xyz"[i % 3], sexes[i // 9][i % 3]) for i in range(18)]
    tables = [table_of(part, "ill", "sex") for part in (rows[:9], rows)]
    barred = {"impossible": [{"values": ["x"], "where": {"sex": ["m"]}}], "other": ["sex"]}
    loose, ruled = policy({"facts": {}}, other=["sex"]), policy({"facts": {}}, **barred)
    fk.publish(tables[0], loose, seed=1).write(tmp_path / "january")
    with pytest.raises(fk.NoSafeRelease, match="january, which was published before, does not"):
        fk.publish(tables[1], ruled, after=tmp_path / "january")
    rows = [(f"p{i}", "w0", "xyz"[i % 3], "fmf"[i % 3]) for i in range(18)]
    tables = [table_of(part, "ill", "sex") for part in (rows[:9], rows)]
    for first, second in ((loose, ruled), (ruled, loose)):
        place = tmp_path / ("added" if second is ruled else "taken")
        if second is loose:
            fk.publish(tables[0], first, seed=1).write(place)
            with pytest.raises(fk.InputError, match="differ in impossible"):
                fk.publish(tables[1], second, after=place)
            continue
        place.mkdir()
        fk.publish(tables[0], first, seed=1).write(place / "one")
        made = fk.publish(tables[1], second, seed=1, after=place / "one")
        made.write(place / "two")
        assert made.together.verdicts[0].reached == Fraction(1, 2)
        found = fk.verify(place / "two", after=place / "one").together
        assert found[0].reached == Fraction(1, 2)
