"""Top and bottom: the highest and the lowest numbers or days are one value in every label."""

import json
import random
from datetime import date

import pyarrow as pa
import pytest
from tests.examples import NIGHTLY
from tests.oracle.label_ends import DAYS, NUMBERS, covered, tells_no_end_apart

import foreknow as fk
from foreknow_judge import levels as judge_levels
from foreknow_judge.kinds import LevelSettings

TIMES, PUBLISHED = (20_000, 200) if NIGHTLY else (400, 5)


def number_label(draw):
    low, high = draw.randint(0, 100), draw.randint(0, 100)
    return draw.choice(
        [
            *(
                f"{low}",
                f"{low} to {high}",
                f"{low} to <{high}",
                f"{low} or more",
                f"{low} or less",
            ),
            *(f"<{low}", "*", "missing", f"{low} or less or missing", f"{low} | {high}", "old"),
            *(f"{low} or later", f"{low} or more | {high} or less", f"0{low}", "**"),
        ]
    )


def day_label(draw):
    first, last = sorted(draw.sample(DAYS[750:-750], 2))
    texts = [draw.choice([f"{day}", f"{day:%Y-%m}", f"{day.year}"]) for day in (first, last)]
    quarter = f"{first.year}-Q{(first.month + 2) // 3}"
    low, high = texts
    return draw.choice(
        [
            *(low, f"{low} to {high}", f"{low} or later", f"{low} or earlier", quarter, "*"),
            *(f"{quarter} or later", f"{low} | {high}", f"{low} or missing", "long ago"),
            *(f"{low} or more", f"{low} or earlier or missing", "missing"),
        ]
    )


def ends_of(draw, values):
    low, high = sorted(draw.sample(values, 2))
    return draw.choice([{"bottom": low}, {"top": high}, {"bottom": low, "top": high}])


def release_of(column, labels):
    rows = {column: labels, "ill": ["x"] * len(labels)}
    return fk.Release.from_generalized(pa.table(rows), quasi_identifiers=[column], sensitive="ill")


@pytest.mark.parametrize("of_days", [False, True])
def test_labels_tell_no_end_apart(of_days):
    draw, n_kept = random.Random(f"ends {of_days}"), 0
    universe = DAYS if of_days else NUMBERS
    for number in range(TIMES):
        label = (day_label if of_days else number_label)(draw)
        ends = ends_of(draw, universe[800:-800] if of_days else NUMBERS[35:-35])
        # A list is refused for each of its parts, though the others may have the rest.
        parts = label.split(" | ")
        kept = all(tells_no_end_apart(part, universe, **ends) for part in parts)
        texts = {key: str(end) if of_days else end for key, end in ends.items()}
        assert fk.Levels({"x": ends}).holds(release_of("x", [label, "*"])) == kept, (label, ends)
        assert judge_levels.shows_more(label, LevelSettings(**texts)) == (not kept), (label, ends)
        if number % 20 == 0:
            policy = fk.Policy([fk.Requirement(fk.Levels({"x": texts}))])
            schema = fk.Schema(quasi_identifiers=["x"], sensitive="ill")
            policy = fk.Policy(policy.requirements, schema)
            assert fk.audit(release_of("x", [label, "*"]), policy).safe == kept, (label, ends)
        n_kept += kept
    assert TIMES // 10 < n_kept < TIMES * 9 // 10


def drawn(draw):
    size = draw.randint(30, 90)
    ages = [draw.choice([None, *range(-5, 100)]) for _ in range(size)]
    if draw.random() < 0.5:
        ages = [draw.randint(20, 40) for _ in range(size)]
    born = [draw.choice([*DAYS[::20], None]) for _ in range(size)]
    ill = draw.choices("abcd", k=size)
    return pa.table({"age": pa.array(ages, pa.int64()), "born": born, "ill": ill})


def test_published_labels_cover_everybody(tmp_path):
    for seed in range(PUBLISHED):
        draw = random.Random(f"published {seed}")
        table = drawn(draw)
        limits = {"age": ends_of(draw, range(90)), "born": ends_of(draw, DAYS[800:-800])}
        if draw.random() < 0.3:
            del limits[draw.choice(["age", "born"])]
        hierarchies = draw.choice([{}, {"age": {"intervals": [5, 10, 20]}}])
        exact = [name for name in ("age", "born") if draw.random() < 0.3 and not hierarchies]
        policy = {
            "schema": {
                "quasi_identifiers": ["age", "born"],
                "sensitive": "ill",
                "hierarchies": hierarchies,
            },
            "require": [{"levels": limits}, {"facts": {}, "below": 0.9}],
            "publish": {"labels": dict.fromkeys(exact, "exact")},
        }
        method = draw.choice([fk.Mondrian(), fk.Mondrian(suppression=0.1), fk.Decoy()])
        made = fk.publish(table, policy, method=method, seed=seed)
        members = pa.concat_tables(made.placed.members()).to_pylist()
        for row, labels in zip(table.to_pylist(), members, strict=True):
            for column, universe in (("age", NUMBERS), ("born", DAYS)):
                label, value = labels[column], row[column]
                if value is None:
                    assert label is None or label[0] == "*" or label.endswith("missing")
                    continue
                assert value in covered(str(label), universe), (row, labels)
                assert tells_no_end_apart(str(label), universe, **limits.get(column, {})), labels
        folder = tmp_path / str(seed)
        made.write(folder)
        assert all(verdict.safe for verdict in fk.verify(folder).findings)
        assert fk.audit(folder, policy).safe
        assert len(fk.read_release(folder)) == len(fk.draw(folder, seed=1)) == len(table)


def test_a_certificate_cannot_claim_more(tmp_path):
    draw = random.Random(7)
    limits = {"age": {"bottom": 20}, "born": {"top": date(2002, 1, 1)}}
    policy = {
        "schema": {"quasi_identifiers": ["age", "born"], "sensitive": "ill"},
        "require": [{"levels": limits}, {"group_size": 2}],
    }
    fk.publish(drawn(draw), policy, seed=1).write(tmp_path / "out")
    path = tmp_path / "out" / "certificate.json"
    genuine = json.loads(path.read_text("utf-8"))
    for lie in (
        {"age": {"bottom": 60}},
        {"born": {"top": "2000-01-01"}},
        {"age": {"bottom": "2000-01-01"}},
        {"born": {"bottom": 20, "top": "2002-01-01"}},
    ):
        forged = json.loads(json.dumps(genuine))
        for table in (forged["policy"]["require"][0], forged["findings"][0]["judged"]):
            table["levels"] = lie
        path.write_text(json.dumps(forged), "utf-8")
        with pytest.raises(fk.InputError):
            fk.verify(tmp_path / "out")


@pytest.mark.parametrize(
    ("ends", "message"),
    [
        ({"bottom": 90, "top": 90}, "not below the top"),
        ({"bottom": 20, "top": "2000-01-01"}, "two days, or two numbers"),
        ({"bottom": "2000-02-30"}, "no day"),
        ({"bottom": "31.12.1936"}, "age: bottom = '31.12.1936' is no number and no day"),
        ({"top": True}, "age: top = True is no number"),
        ({"bottom": "2000-01-01"}, "'age' has numbers"),
        ({"bottom": 19.5}, "are whole, and bottom is"),
        ({"bottom": "9999-12-31"}, "years up to 9998"),
        ({"top": "1e400"}, "up to 300 digits"),
    ],
)
def test_wrong_ends_are_refused(ends, message):
    schema = {"quasi_identifiers": ["age"], "sensitive": "ill"}
    policy = {"schema": schema, "require": [{"levels": {"age": ends}}, {"group_size": 2}]}
    with pytest.raises(fk.InputError, match=message):
        fk.publish(drawn(random.Random(1)), policy)


def test_draws_of_open_ends(tmp_path):
    schema = {"quasi_identifiers": ["age", "born"], "sensitive": "ill"}
    limits = {"age": {"bottom": 90, "top": 91}, "born": {"top": date(1990, 1, 1)}}
    policy = {"schema": schema, "require": [{"levels": limits}, {"group_size": 2}]}
    rows = {"age": [*range(40, 80)], "born": [date(1991, 1, 1)] * 40, "ill": ["a", "b"] * 20}
    fk.publish(pa.table(rows), policy, seed=1).write(tmp_path / "out")
    table = fk.draw(tmp_path / "out", seed=1)
    assert {*table["age"]} == {90}
    assert {str(day)[:10] for day in table["born"]} == {"1990-01-01"}


def test_years_of_dates_are_dates():
    policy = {
        "schema": {"quasi_identifiers": ["born"], "sensitive": "ill"},
        "require": [{"levels": {"born": {"bottom": 2001}}}, {"group_size": 2}],
    }
    with pytest.raises(fk.InputError, match='bottom = "1936-12-31"'):
        fk.publish(drawn(random.Random(1)), policy)


@pytest.mark.parametrize(("bottom", "top"), [(50, 40), (50, 50), ("2001-01-01", "2000-01-01")])
def test_two_requirements_leave_something(bottom, top):
    column = "born" if isinstance(top, str) else "age"
    schema = {"quasi_identifiers": [column], "sensitive": "ill"}
    require = [{"levels": {column: {"bottom": bottom}}}, {"levels": {column: {"top": top}}}]
    with pytest.raises(fk.InputError, match="write a bottom below the top"):
        fk.publish(drawn(random.Random(1)), {"schema": schema, "require": require})


def test_ends_are_short_decimals():
    table = pa.table({"age": [i / 4 for i in range(40)], "ill": list("ab" * 20)})
    schema = {"quasi_identifiers": ["age"], "sensitive": "ill"}
    policy = {"schema": schema, "require": [{"levels": {"age": {"bottom": "1/3"}}}]}
    with pytest.raises(fk.InputError, match=r"such as 0\.3333"):
        fk.publish(table, policy)
    policy["require"] = [{"levels": {"age": {"bottom": 0.3333}}}]
    assert fk.publish(table, policy).audit.safe


@pytest.mark.parametrize(
    "label", ["16 (level 1)", "15 or less (level 1)", "16 or missing+", "16 or missing or missing"]
)
def test_node_names_are_no_numbers(label):
    release = release_of("x", [label, "20"])
    assert not fk.Levels({"x": {"bottom": 15}}).holds(release)
    assert judge_levels.shows_more(label, LevelSettings(bottom=15))


@pytest.mark.parametrize("label", ["2024-03-05 07h", "2024-03-06 to 2024-03-05", "2024-03-05 24h"])
def test_hours_and_turned_ranges(label):
    release = release_of("x", [label, "2025"])
    assert not fk.Levels({"x": {"bottom": "2024-03-05"}}).holds(release)
    assert judge_levels.shows_more(label, LevelSettings(bottom="2024-03-05"))


def test_tables_read_before_are_compared():
    table = drawn(random.Random(3))
    schema = fk.Schema(quasi_identifiers=["age"], sensitive="ill")
    policy = fk.Policy.from_dict(
        {
            "schema": schema.to_dict(),
            "require": [{"levels": {"age": {"top": 60}}}, {"facts": {}, "below": 0.9}],
        }
    )
    for source in (table, fk.Microdata(table, schema)):
        compared = fk.compare(source, policy, methods=["mondrian"], processes=0)
        assert {candidate.status for candidate in compared.candidates} == {"safe"}
