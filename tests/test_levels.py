"""Levels: no label shows a number from a top on, nor a node below a level; label by label."""

import itertools
import json
import random

import pyarrow as pa
import pyarrow.csv as pc
import pytest
from tests.examples import NIGHTLY
from tests.oracle.label_levels import NUMBERS, codes_of, keeps_top, numbers_of, whole

import foreknow as fk
from foreknow_judge import levels as judge_levels
from foreknow_judge.kinds import LevelSettings

TIMES = 20_000 if NIGHTLY else 300
PUBLISHED = 300 if NIGHTLY else 3
ZIPS = ["".join(code) for code in itertools.product("12", "12", "123")]
MASK = {"zip": {"mask": 3}}
TREE = [
    ["Bern", "Bern", "west", "*"],
    ["Thun", "Bern", "west", "*"],
    ["Biel", "west", "west", "*"],
    ["Chur", "Bünden", "east", "*"],
]


def shows_more(label, settings, whole=True):
    return judge_levels.shows_more(label, LevelSettings(**settings), whole)


def number_label(draw):
    low, high = sorted((draw.randint(60, 120), draw.randint(60, 120)))
    return draw.choice(
        [
            *(str(low), f"{low} to {high}", f"{low} to <{high}", f"{low} or more", "*", "missing"),
            *(f"{low} or missing", f"{low} to {high} or missing", f"{low} or more or missing"),
            *(
                f"{high} to {low}",
                f"{low} | {high}",
                f"{low} | {high} or more",
                "old",
                f"{low}y",
                f"0{low}",
                "**",
            ),
        ]
    )


def release_of(column, labels):
    rows = {column: labels, "ill": ["x"] * len(labels)}
    return fk.Release.from_generalized(pa.table(rows), quasi_identifiers=[column], sensitive="ill")


def judged(column, labels, own, hierarchies=None):
    schema = fk.Schema(quasi_identifiers=[column], sensitive="ill", hierarchies=hierarchies or {})
    policy = fk.Policy([fk.Requirement(fk.Levels({column: own}))], schema)
    (verdict,) = fk.audit(release_of(column, labels), policy).criteria
    return verdict


def test_no_label_reaches_a_top_but_with_all_from_it_on():
    draw, held = random.Random(1), 0
    for number in range(TIMES):
        label, top = number_label(draw), draw.randint(85, 95)
        # Stricter than the numbers: one that stands alone from the top on is refused, whatever
        # stands beside it.
        alone, _, beside = label.partition(" | ")
        holds = keeps_top(label, top) and not (beside and int(alone) >= top)
        asked = fk.Levels({"age": {"top": top}})
        assert asked.holds(release_of("age", [label, "*"])) == holds, (label, top)
        if number % 20 == 0:
            assert judged("age", [label, "*"], {"top": top}).safe == holds, (label, top)
        assert shows_more(label, {"top": top}) == (not holds), (label, top)
        held += holds
    assert TIMES // 5 < held < TIMES


def test_intervals_masks_and_nodes_are_whole():
    draw, held = random.Random(2), 0
    for _ in range(TIMES // 2):
        widths = draw.choice([[5, 10, 20], [2, 10]])
        level = draw.randint(1, len(widths))
        width, label = widths[level - 1], number_label(draw)
        numbers = numbers_of(label)
        # so that a whole number of intervals is there
        node_of = {n: n // width for n in NUMBERS if n < 140}
        ends = None if numbers is None else {n for n in numbers if n < 140}
        first, _, last = label.partition(" to ")
        turned = last.isdigit() and int(first) > int(last)  # never written, so refused
        one = " | " not in label and not turned
        holds = one and ends is not None and whole(ends, node_of)
        own = {"intervals": widths}
        safe = judged("age", [label, "*"], {"at_least": level}, {"age": own}).safe
        assert safe == holds, (label, own, level)
        told = {"at_least": level, "hierarchy": own}
        assert shows_more(label, told) == (not holds), (label, told)
        held += holds
        stars, code = draw.randint(0, 3), draw.choice(ZIPS)
        masked = code[: 3 - stars] + "*" * stars
        level = draw.randint(1, 2)
        holds = whole(codes_of(masked, ZIPS), {c: c[: 3 - level] for c in ZIPS})
        assert judged("zip", [masked, "***"], {"at_least": level}, MASK).safe == holds
        assert shows_more(masked, {"at_least": level, "hierarchy": MASK["zip"]}) == (not holds)
    assert held > TIMES // 20


def test_intervals_begin_at_their_origin():
    own = {"at_least": 1, "hierarchy": {"intervals": [10], "origin": 5}}
    labels = ("20 to <30", "25 to <35", "25 to <36", "25 to <45")
    assert [shows_more(label, own) for label in labels] == [True, False, True, False]


@pytest.mark.parametrize(
    ("label", "level", "holds"),
    [
        ("Thun", 1, False),
        ("Bern", 1, False),  # a town is called so, too
        ("Bern (level 1)", 1, True),
        ("Bern (level 1)", 2, False),
        ("Thun (level 1)", 1, False),
        ("Bünden", 1, True),
        ("west", 1, True),
        ("west", 2, False),  # what Biel lies in at level 1
        ("west (level 2)", 2, True),
        ("east", 2, True),
        ("north", 1, False),
        ("*", 2, True),
    ],
)
def test_a_node_that_is_called_like_a_finer_one_is_none(label, level, holds):
    rows = {"rows": TREE}
    assert judged("town", [label, "*"], {"at_least": level}, {"town": rows}).safe == holds
    assert shows_more(label, {"at_least": level, "hierarchy": rows}) == (not holds)


@pytest.mark.parametrize(
    ("label", "dates", "level", "holds"),
    [
        ("2024-03", ["month", "year"], 1, True),
        ("2024-03", ["month", "year"], 2, False),
        ("2024", ["month", "year"], 2, True),
        ("2024-03-05", ["month", "year"], 1, False),
        ("2020s", ["year", "decade"], 2, True),
        ("2024-Q1", ["quarter"], 1, True),
        ("1900 to 1999", ["century"], 1, True),
        ("1950 to 2049", ["century"], 1, False),
        ("2024-13", ["month"], 1, False),
        ("0005", ["decade"], 1, False),
        ("2024-04", ["quarter"], 1, False),
        ("2024-03-05 07h", ["hour", "day"], 1, True),
        ("2024-03-05 07h", ["hour", "day"], 2, False),
        ("2024-03-05", ["hour", "day"], 2, True),
        ("*", ["century"], 1, True),
    ],
)
def test_a_period_is_whole(label, dates, level, holds):
    own = {"dates": dates}
    assert judged("born", [label, "*"], {"at_least": level}, {"born": own}).safe == holds
    assert shows_more(label, {"at_least": level, "hierarchy": own}) == (not holds)


# ---- what is published --------------------------------------------------------------------------


def drawn(draw):
    size = draw.randint(30, 60)
    ages = [draw.choice([None, *range(60, 110)]) for _ in range(size)]
    if draw.random() < 0.5:
        ages = [draw.randint(70, 99) for _ in range(size)]
    return pa.table(
        {
            "age": pa.array(ages, pa.int64()),
            "zip": draw.choices(ZIPS, k=size),
            "town": draw.choices([row[0] for row in TREE], k=size),
            "ill": draw.choices("abcd", k=size),
        }
    )


METHODS = [
    *(fk.Mondrian(), fk.Mondrian(suppression=0.1), fk.FullDomain(), fk.FullDomain(suppression=0.1)),
    *(fk.Decoy(), fk.Streamliner(l=2)),
]


@pytest.mark.parametrize("method", METHODS, ids=str)
def test_every_method_that_generalizes_keeps_them_label_by_label(method, tmp_path):
    draw = random.Random(str(method))
    for place in range(PUBLISHED):
        top, level = draw.randint(75, 95), draw.randint(1, 2)
        own = {"zip": MASK["zip"], "town": {"rows": TREE}}
        if draw.random() < 0.5:
            own["age"] = {"intervals": [2, 10, 40]}
        exactly = draw.random() < 0.3 and "age" not in own
        table = drawn(draw)
        if exactly:
            table = table.set_column(
                0, "age", pa.array([draw.randint(70, 99) for _ in table["age"]])
            )
        schema = fk.Schema(
            quasi_identifiers=["age", "zip", "town"], sensitive="ill", hierarchies=own
        )
        limits = {"age": {"top": top}, "zip": {"at_least": level}, "town": {"at_least": 1}}
        asked = [
            fk.Requirement(fk.Levels(limits)),
            fk.Requirement(fk.Facts(), 0.95),
        ]
        options = fk.PublishOptions(labels={"age": "exact"} if exactly else {})
        policy = fk.Policy(asked, schema, options)
        given = table if draw.random() < 0.5 else fk.Microdata(table, schema)
        made = fk.publish(given, policy, method=method)
        for rows in made.to_arrow().to_pylist():
            assert rows["age"] is None or keeps_top(str(rows["age"]), top), rows
            assert whole(codes_of(rows["zip"], ZIPS), {c: c[: 3 - level] for c in ZIPS}), rows
            assert rows["town"] in {
                "Bern (level 1)",
                "west",
                "Bünden",
                "west (level 2)",
                "east",
                "*",
            }
        assert made.audit.criteria[0].safe
        made.write(tmp_path / str(place))
        assert all(found.safe for found in fk.verify(tmp_path / str(place)).findings)
        assert fk.audit(tmp_path / str(place), policy).criteria[0].safe
        plain = fk.Policy([fk.Requirement(fk.Levels(limits))], schema)
        assert fk.audit(made.to_arrow(), plain).criteria[0].safe
        assert len(fk.read_release(tmp_path / str(place))) == len(table)
        fk.draw(tmp_path / str(place), seed=1)


def covers(label, value):
    if value is None or label is None:
        return label in (None, "missing", "*") or label.endswith(" or missing")
    return value in numbers_of(label)


def test_everybody_stands_in_a_label_that_holds_them(tmp_path):
    draw = random.Random(3)
    for place in range(PUBLISHED * 2):
        table = drawn(draw)
        table = table.append_column("who", pa.array([f"p{i}" for i in range(len(table))]))
        hierarchies = {**MASK, **({"age": {"intervals": [5, 20]}} if place % 2 else {})}
        schema = fk.Schema(
            identifiers=["who"],
            quasi_identifiers=["age", "zip"],
            sensitive="ill",
            hierarchies=hierarchies,
        )
        limits = {"age": {"top": draw.randint(75, 95)}, "zip": {"at_least": 1}}
        asked = [fk.Requirement(fk.Levels(limits)), fk.Requirement(fk.GroupSize(3))]
        made = fk.publish(table, fk.Policy(asked, schema))
        members = pa.concat_tables(made.placed.members()).to_pylist()
        for row, own in zip(table.to_pylist(), members, strict=True):
            assert covers(own["age"], row["age"]), (own, row)
            assert row["zip"] in codes_of(own["zip"], ZIPS)


# ---- files, and what is refused ------------------------------------------------------------------


def test_files_say_it_and_certificates_cannot_say_less(tmp_path):
    table = drawn(random.Random(4))
    pc.write_csv(table, tmp_path / "table.csv")
    lines = [";".join(row) for row in TREE]
    (tmp_path / "town.csv").write_text("\n".join(lines), "utf-8")
    (tmp_path / "policy.toml").write_text(
        """
        [schema]
        quasi_identifiers = ["age", "zip", "town"]
        sensitive = "ill"
        types = { zip = "text" }
        [schema.hierarchies]
        zip = { mask = 3 }
        town = { file = "town.csv" }
        [[require]]
        levels = { age = { top = 90 }, zip = { at_least = 2 }, town = { at_least = 2 } }
        [[require]]
        group_size = 3
        """
    )
    policy = fk.Policy.load(tmp_path / "policy.toml")
    assert fk.Policy.from_dict(policy.to_dict(), tmp_path).to_dict() == policy.to_dict()
    fk.publish(tmp_path / "table.csv", policy).write(tmp_path / "out")
    assert fk.verify(tmp_path / "out").findings[0].safe
    assert fk.verify(tmp_path / "out", policy).findings[0].safe
    path = tmp_path / "out" / "certificate.json"
    said = json.loads(path.read_text())
    assert "town.csv" not in json.dumps(said["policy"]["require"])
    lies = [
        {"age": {"top": 65}},
        {"age": {"top": "x"}},
        {"age": {}},
        {},
        {"ill": {"top": 90}},
        {"zip": {"at_least": 2, "hierarchy": {"mask": 4}}},
        {"zip": {"at_least": 2, "hierarchy": {"order": ["1"]}}},
        {"zip": {"at_least": 2}},
        {"zip": {"at_least": 0, "hierarchy": {"mask": 3}}},
        {"town": {"at_least": 3, "hierarchy": {"rows": TREE}}},
        {"town": {"at_least": 1, "hierarchy": {"rows": [["a", "*"], ["b"]]}}},
    ]
    for lie in lies:
        told = json.loads(json.dumps(said))
        for own in (told["policy"]["require"][0], told["findings"][0]["judged"]):
            own["levels"] = lie
        path.write_text(json.dumps(told))
        with pytest.raises(fk.InputError):
            fk.verify(tmp_path / "out")


def asked(limits, **more):
    own = {"zip": MASK["zip"], "town": {"rows": TREE}, "size": {"order": ["s", "m"]}}
    schema = fk.Schema(
        quasi_identifiers=["age", "zip", "town", "size"],
        sensitive="ill",
        hierarchies=own,
        types={"age": "text"} if more.pop("as_text", False) else {},
    )
    rules = [fk.Requirement(fk.Levels(limits)), *more.pop("beside", [])]
    return fk.Policy(rules, schema, fk.PublishOptions(**more))


def published(limits, **more):
    table = drawn(random.Random(5))
    table = table.append_column("size", pa.array(["s"] * len(table)))
    return fk.publish(table, asked(limits, **more))


PRIORS = fk.Priors(pa.table({"age": ["70"], "value": ["a"], "probability": ["1"]}))


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: fk.Levels({}), "give columns and what they may show"),
        (lambda: fk.Levels({"age": {}}), "'age' has a top, a bottom or at_least"),
        (lambda: fk.Levels({"age": {"highest": 1}}), "'age' has a top, a bottom or at_least"),
        (lambda: fk.Levels({"age": {"top": "old"}}), "old"),
        (lambda: fk.Levels({"zip": {"at_least": 0}}), "at_least"),
        (lambda: asked({"ill": {"top": 9}}), "'ill' is no quasi-identifier"),
        (lambda: asked({"age": {"at_least": 1}}), "'age' has none with levels"),
        (lambda: asked({"size": {"at_least": 1}}), "'size' has none with levels"),
        (lambda: asked({"zip": {"at_least": 3}}), "'zip' has 2 levels below the one that hides"),
        (lambda: asked({"zip": {"at_least": 1}}, labels={"zip": "set"}), "publish.labels says"),
        (lambda: asked({"age": {"top": 90}}, form="bucketized"), "bucketized form publishes age"),
        (
            lambda: asked({"age": {"top": 90}}, beside=[fk.Requirement(PRIORS, 0.9)]),
            "'age' is a column of priors",
        ),
        (
            lambda: asked({"age": {"top": 90}}, beside=[fk.Requirement(fk.KMap(2, "x.csv"))]),
            "cannot be compared with a population",
        ),
        (lambda: published({"age": {"top": 90}}, as_text=True), "top and bottom are for numbers"),
        (lambda: published({"zip": {"top": 90}}), "'zip' has another one: say at_least"),
        (lambda: published({"age": {"top": 89.5}}), "are whole, and top is"),
        (lambda: published({"age": {"top": 9}}, method="anatomy"), "bucketized form publishes"),
        (
            lambda: fk.audit(
                fk.GroupCounts.from_bags(["ab"]),
                fk.Policy([fk.Requirement(fk.Levels({"age": {"top": 9}}))]),
            ),
            "levels are of labels",
        ),
    ],
)
def test_what_cannot_be_kept_is_refused(make, said):
    with pytest.raises(fk.InputError, match=said):
        make()
