"""Levels, top and bottom: what no label shows, and what is one value in every label."""

import hashlib
import json
import random
from datetime import date, time
from decimal import Decimal
from itertools import product

import pyarrow as pa
import pyarrow.csv as pc
import pytest
from tests.common import NIGHTLY
from tests.oracle.labels import (
    DAY_ENDS,
    NUMBER_ENDS,
    NUMBERS,
    codes_of,
    covered_by_label,
    keeps_top,
    numbers_of,
    tells_no_end_apart,
    whole,
)

import foreknow as fk
from foreknow_judge.criteria import levels
from foreknow_judge.criteria import levels as judge_levels
from foreknow_judge.criteria.levels import LevelSettings

TIMES = 20_000 if NIGHTLY else 200
ZIPS = ["".join(code) for code in product("12", "12", "123")]
MASK = {"zip": {"mask": 3}}
TREE = [
    ["Bern", "Bern", "west", "*"],
    ["Thun", "Bern", "west", "*"],
    ["Biel", "west", "west", "*"],
    ["Chur", "Bünden", "east", "*"],
]


def holds(labels, own, hierarchy=None):
    """Whether labels keep their level: by an audit and by the judge, label by label."""
    table = pa.table({"c": labels, "ill": ["x"] * len(labels)})
    release = fk.Release.from_generalized(table, quasi_identifiers=["c"], sensitive="ill")
    hierarchies = {} if hierarchy is None else {"c": hierarchy}
    schema = fk.Schema(quasi_identifiers=["c"], sensitive="ill", hierarchies=hierarchies)
    required = fk.Requirement(fk.Levels({"c": own}))
    (verdict,) = fk.audit(release, fk.Policy([required], schema)).criteria
    told = own if hierarchy is None else {**own, "hierarchy": hierarchy}
    whole = not any("." in (label or "") or "<" in (label or "") for label in labels)
    asked = LevelSettings(**told)
    assert verdict.safe is not any(levels.shows_more(label, asked, whole) for label in labels)
    return verdict.safe


def number_label(draw):
    low, high = sorted((draw.randint(60, 120), draw.randint(60, 120)))
    plain = f"{low}", f"{low} to {high}", f"{low} to <{high}", f"{low} or more", "*", "missing"
    nulls = f"{low} or missing", f"{low} to {high} or missing", f"{low} or more or missing"
    odd = f"{high} to {low}", f"{low} | {high}", f"{low} | {high} or more", "old", f"{low}y"
    return draw.choice([*plain, *nulls, *odd, f"0{low}", "**"])


def test_intervals_and_masks_are_whole():
    draw, held = random.Random(2), 0
    for _ in range(TIMES // 4):
        widths = draw.choice([[5, 10, 20], [2, 10]])
        level = draw.randint(1, len(widths))
        width, label = widths[level - 1], number_label(draw)
        numbers = numbers_of(label)
        # so that a whole number of intervals is there
        node_of = {n: n // width for n in NUMBERS if n < 140}
        ends = None if numbers is None else {n for n in numbers if n < 140}
        first, _, last = label.partition(" to ")
        turned = last.isdigit() and int(first) > int(last)  # never written, so refused
        kept = " | " not in label and not turned and ends is not None and whole(ends, node_of)
        told = LevelSettings(at_least=level, hierarchy={"intervals": widths})
        assert levels.shows_more(label, told, True) is not kept, (label, widths, level)
        if "<" not in label:
            result = holds([label, "*"], {"at_least": level}, {"intervals": widths})
            assert result == kept, (label, widths, level)
        held += kept
        stars, code = draw.randint(0, 3), draw.choice(ZIPS)
        masked = code[: 3 - stars] + "*" * stars
        level = draw.randint(1, 2)
        kept = whole(codes_of(masked, ZIPS), {c: c[: 3 - level] for c in ZIPS})
        assert holds([masked, "***"], {"at_least": level}, MASK["zip"]) == kept
    assert held > TIMES // 40


UNKNOWN = [
    ["Unknown or missing", "Unknown", "*"],
    ["missing", "Unknown", "*"],
    ["x", "Unknown", "*"],
    ["y", "Y or missing", "*"],
]
LABELS = [
    # A node that is called like a finer one is none; Biel lies in west at level 1.
    ({"rows": TREE}, 1, "Bern (level 1)|Bünden|west", "Thun|Bern|Thun (level 1)|north"),
    ({"rows": TREE}, 2, "west (level 2)|east|*", "Bern (level 1)|west"),
    # A value that reads like a node or a missing one is a value.
    ({"rows": UNKNOWN}, 1, "Unknown|Y or missing|", "Unknown or missing|missing|x or missing"),
    ({"dates": ["month", "year"]}, 1, "2024-03", "2024-03-05"),
    ({"dates": ["month", "year"]}, 2, "2024", "2024-03"),
    ({"dates": ["year", "decade"]}, 2, "2020s", "2024"),
    ({"dates": ["quarter"]}, 1, "2024-Q1", "2024-04"),
    ({"dates": ["century"]}, 1, "1900 to 1999|1800 to 1999|*", "1950 to 2049|1900 to 1998"),
    ({"dates": ["month"]}, 1, "2024-01 to 2024-03|2024-03 or later", "2024-03-05 or later"),
    ({"dates": ["month"]}, 1, "2024-03 or earlier|2024-02-01 to 2024-03", "2024-02-02 to 2024-03"),
    ({"dates": ["year", "decade"]}, 2, "2020 to 2029|2030 or later", "2024 or later|2021 to 2029"),
    ({"dates": ["month"]}, 1, "2024-12", "2024-13"),
    ({"dates": ["decade"]}, 1, "2020s", "0005"),
    ({"dates": ["hour", "day"]}, 1, "2024-03-05 07h|07h", "2024-03-05 07:30|2024-03-05 24h|24h"),
    ({"dates": ["hour", "day"]}, 2, "2024-03-05", "2024-03-05 07h"),
    # A code that ends like a mask is masked as far as its label says.
    ({"mask": 3}, 1, "1** (level 1)", "123"),
    ({"mask": 3}, 2, "1** (level 2)|1**", "1** (level 1)|12* (level 2)"),
    ({"intervals": [10], "origin": 5}, 1, "25 to <35|25 to <45", "20 to <30|25 to <36"),
    # A number is an interval only among whole numbers.
    ({"intervals": [1, 10]}, 1, "5", "5;6 to <7|5;6.5 to <7.5"),
    ({"intervals": ["0.5", 10]}, 1, "5 to <5.5|5 or more", "5|5.5|5 to 5|5 to 5.5"),
]


@pytest.mark.parametrize(("hierarchy", "level", "kept", "finer"), LABELS)
def test_labels_by_hand(hierarchy, level, kept, finer):
    for texts, safe in ((kept, True), (finer, False)):
        for text in texts.split("|"):
            labels = text.split(";") if text else [None]
            beside = [] if "intervals" in hierarchy else ["*"]
            assert holds([*labels, *beside], {"at_least": level}, hierarchy) is safe, text


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


def policy_of(limits, beside=(), hierarchies=MASK | {"town": {"rows": TREE}}, **more):
    columns = ["age", "zip", "town"]
    schema = fk.Schema(quasi_identifiers=columns, sensitive="ill", hierarchies=hierarchies)
    rules = [fk.Requirement(each) for each in (fk.Levels(limits), *beside)]
    return fk.Policy(rules, schema, fk.PublishOptions(**more))


@pytest.mark.parametrize(
    "method",
    [
        *(fk.Mondrian(), fk.Mondrian(suppression=0.1), fk.FullDomain()),
        *(fk.FullDomain(suppression=0.1), fk.Decoy(), fk.Streamliner(l=2)),
    ],
    ids=str,
)
def test_every_method_keeps_levels(method, tmp_path):
    draw = random.Random(str(method))
    for place in range(300 if NIGHTLY else 2):
        top, level = draw.randint(75, 95), draw.randint(1, 2)
        own = {"zip": MASK["zip"], "town": {"rows": TREE}}
        exactly, table = bool(place % 2), drawn(draw)
        if exactly:
            ages = pa.array([draw.randint(70, 99) for _ in table["age"]])
            table = table.set_column(0, "age", ages)
        else:
            own["age"] = {"intervals": [2, 10, 40]}
        limits = {"age": {"top": top}, "zip": {"at_least": level}, "town": {"at_least": 1}}
        labels = {"labels": {"age": "exact"}} if exactly else {}
        policy = policy_of(limits, hierarchies=own, **labels)
        facts = fk.Requirement(fk.Facts(), 0.95)
        policy = fk.Policy([*policy.requirements, facts], policy.schema, policy.options)
        publication = fk.publish(table, policy, method=method)
        for rows in publication.to_arrow().to_pylist():
            assert rows["age"] is None or keeps_top(str(rows["age"]), top), rows
            assert whole(codes_of(rows["zip"], ZIPS), {c: c[: 3 - level] for c in ZIPS}), rows
            assert rows["town"] in {
                *("Bern (level 1)", "west", "Bünden", "west (level 2)", "east", "*")
            }
        assert publication.audit.criteria[0].safe
        out = tmp_path / str(place)
        publication.write(out)
        assert all(finding.safe for finding in fk.verify(out).findings)
        assert fk.audit(out, policy).criteria[0].safe
        plain = fk.Policy(policy.requirements[:1], policy.schema)
        assert fk.audit(publication.to_arrow(), plain).criteria[0].safe
        assert len(fk.read_release(out)) == len(table)
        fk.draw(out, seed=1)


QUARTERS = [Decimal(n) / 4 for n in range(48)]
DAYS = [date(2024, 1, 1 + n // 3) for n in range(48)]
# W is a node below for a value that nobody has.
ONE_BELOW = {"rows": [[*"aNW*"], [*"bNW*"], [*"dMW*"], [*"xWV*"]]}
LIKE_OTHERS = {"rows": [["a", "A or missing", "*"], ["b", "90 or more", "*"]]}


@pytest.mark.parametrize(
    ("values", "hierarchy", "own", "method"),
    [
        (range(60, 108), {"intervals": [5, 10, 20]}, {"top": 90, "at_least": 2}, "streamliner"),
        (QUARTERS, {"intervals": ["0.5", 2, 4]}, {"top": 8, "at_least": 2}, "mondrian"),
        ([n // 3 for n in range(48)], {"intervals": [1, 5]}, {"at_least": 1}, "streamliner"),
        (DAYS, {"dates": ["day", "month"]}, {"at_least": 1}, "mondrian"),
        ([date.max, *DAYS[1:]], {"dates": ["month", "decade"]}, {"at_least": 1}, "mondrian"),
        ([date.max] * 24 + DAYS[24:], {"dates": ["month"]}, {"at_least": 1}, "mondrian"),
        (
            [time(n // 3, 7) for n in range(48)],
            {"dates": ["hour", "day"]},
            {"at_least": 1},
            "streamliner",
        ),
        ([*"abd"] * 16, ONE_BELOW, {"at_least": 2}, "mondrian"),
        ([*"ab"] * 24, LIKE_OTHERS, {"at_least": 1}, "streamliner"),
    ],
)
def test_publications_are_read_alike(tmp_path, values, hierarchy, own, method):
    schema = fk.Schema(quasi_identifiers=["c"], sensitive="ill", hierarchies={"c": hierarchy})
    rules = [fk.Requirement(fk.KAnonymity(2)), fk.Requirement(fk.Levels({"c": own}))]
    table = pa.table({"c": [*values], "ill": [*"abcd"] * 12})
    fk.publish(table, fk.Policy(rules, schema), method=method).write(tmp_path / "out")
    verification = fk.verify(tmp_path / "out")
    assert all(finding.safe for finding in verification.findings)
    assert verification.people == 48


# ---- certificates --------------------------------------------------------------------------------


def test_certificates_cannot_say_less(tmp_path):
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
    document = json.loads(path.read_text())
    assert "town.csv" not in json.dumps(document["policy"]["require"])
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
        rewritten(path, json.loads(json.dumps(document)), 0, {"levels": lie})
        with pytest.raises(fk.InputError):
            fk.verify(tmp_path / "out")


def rewritten(path, said, place, judged):
    """Edit a certificate by hand: what a requirement was."""
    said["policy"]["require"][place] = said["findings"][place]["judged"] = judged
    path.write_text(json.dumps(said), "utf-8")


@pytest.mark.parametrize(
    ("hierarchy", "values", "stated", "texts"),
    [
        ({"mask": 3}, ["125", "135"], {"mask": 3, "character": ""}, ("*", "5")),
        ({"mask": 3}, ["125", "135"], {"mask": 3, "character": "5"}, ("*", "5")),
        # A tree that lifts what is published, where nothing asked for levels.
        (
            {"rows": [["Thun", "Bern", "*"], ["Bern", "Bern", "*"]]},
            ["Thun", "Bern"],
            {"rows": [["x", "Thun", "*"], ["y", "Bern", "*"]]},
            (),
        ),
        ({"rows": [["a", "N"], ["b", "S"]]}, ["a", "b"], {"rows": [["x", "N"], ["y", "S"]]}, ()),
        ({"file": "c.csv"}, ["a", "b"], {"mask": 1, "character": "h"}, ()),
    ],
)
def test_other_hierarchies_are_noticed(tmp_path, hierarchy, values, stated, texts):
    """As somebody who covers their tracks does it."""
    (tmp_path / "c.csv").write_text("a,N\nb,S\n")
    schema = fk.Schema(
        quasi_identifiers=["c"], sensitive="ill", hierarchies={"c": hierarchy}, folder=tmp_path
    )
    rules = [fk.Requirement(fk.KAnonymity(2)), fk.Requirement(fk.Levels({"c": {"at_least": 1}}))]
    if values == ["Thun", "Bern"]:
        rules[1] = fk.Requirement(fk.KAnonymity(2))
    table = pa.table({"c": values * 4, "ill": [*"abcd"] * 2})
    fk.publish(table, fk.Policy(rules, schema)).write(tmp_path / "out")
    assert fk.verify(tmp_path / "out").findings[1].safe
    release, path = (tmp_path / "out" / name for name in ("release.csv", "certificate.json"))
    document = json.loads(path.read_text("utf-8"))
    if texts:
        release.write_text(release.read_text("utf-8").replace(*texts), "utf-8")
        digest = hashlib.sha256(release.read_bytes()).hexdigest()
        document["release"]["files"]["release.csv"] = digest
        for finding in document["findings"]:
            finding["group"] = values[0]
    document["findings"][1]["exact"] = "0"
    rewritten(path, document, 1, {"levels": {"c": {"at_least": 1, "hierarchy": stated}}})
    with pytest.raises(fk.InputError, match="another hierarchy than the schema has"):
        fk.verify(tmp_path / "out")


def test_the_explorer_reads_certificates(tmp_path):
    session = pytest.importorskip(
        "foreknow.features.explore.session", reason="pip install .[explore]"
    )
    publication = fk.publish(drawn(random.Random(4)), policy_of({"town": {"at_least": 1}}), seed=1)
    publication.write(tmp_path / "out")
    audit = session.Session(tmp_path, tmp_path / "out").looked(None).audit
    assert [verdict.safe for verdict in audit.verdicts] == [True]


# ---- what is refused -----------------------------------------------------------------------------


def asked(limits, **more):
    own = MASK | {"town": {"rows": TREE}, "size": {"order": ["s", "m"]}}
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
    ("make", "message"),
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
def test_levels_refused(make, message):
    with pytest.raises(fk.InputError, match=message):
        make()


# ---- top and bottom: the highest and the lowest numbers or days are one value in every label -----


TIME_ENDS, PUBLISHED = (20_000, 200) if NIGHTLY else (400, 5)


def number_label_of_ends(draw):
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
    first, last = sorted(draw.sample(DAY_ENDS[750:-750], 2))
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
    universe = DAY_ENDS if of_days else NUMBER_ENDS
    for number in range(TIME_ENDS):
        label = (day_label if of_days else number_label_of_ends)(draw)
        ends = ends_of(draw, universe[800:-800] if of_days else NUMBER_ENDS[35:-35])
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
    assert TIME_ENDS // 10 < n_kept < TIME_ENDS * 9 // 10


def drawn_of_ends(draw):
    size = draw.randint(30, 90)
    ages = [draw.choice([None, *range(-5, 100)]) for _ in range(size)]
    if draw.random() < 0.5:
        ages = [draw.randint(20, 40) for _ in range(size)]
    born = [draw.choice([*DAY_ENDS[::20], None]) for _ in range(size)]
    ill = draw.choices("abcd", k=size)
    return pa.table({"age": pa.array(ages, pa.int64()), "born": born, "ill": ill})


def test_published_labels_cover_everybody(tmp_path):
    for seed in range(PUBLISHED):
        draw = random.Random(f"published {seed}")
        table = drawn_of_ends(draw)
        limits = {"age": ends_of(draw, range(90)), "born": ends_of(draw, DAY_ENDS[800:-800])}
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
        publication = fk.publish(table, policy, method=method, seed=seed)
        members = pa.concat_tables(publication.placed.members()).to_pylist()
        for row, labels in zip(table.to_pylist(), members, strict=True):
            for column, universe in (("age", NUMBER_ENDS), ("born", DAY_ENDS)):
                label, value = labels[column], row[column]
                if value is None:
                    assert label is None or label[0] == "*" or label.endswith("missing")
                    continue
                assert value in covered_by_label(str(label), universe), (row, labels)
                assert tells_no_end_apart(str(label), universe, **limits.get(column, {})), labels
        folder = tmp_path / str(seed)
        publication.write(folder)
        assert all(verdict.safe for verdict in fk.verify(folder).findings)
        assert fk.audit(folder, policy).safe
        assert len(fk.read_release(folder)) == len(fk.draw(folder, seed=1)) == len(table)


def test_tables_read_before_are_compared():
    table = drawn_of_ends(random.Random(3))
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


NAMES_OF_NODES = ["16 (level 1)", "15 or less (level 1)", "16 or missing+"]
HOURS_AND_TURNED_RANGES = ["2024-03-05 07h", "2024-03-06 to 2024-03-05", "2024-03-05 24h"]


@pytest.mark.parametrize(
    ("label", "beside", "bottom"),
    [
        *((label, "20", 15) for label in [*NAMES_OF_NODES, "16 or missing or missing"]),
        *((label, "2025", "2024-03-05") for label in HOURS_AND_TURNED_RANGES),
    ],
)
def test_odd_labels_show_more(label, beside, bottom):
    assert not fk.Levels({"x": {"bottom": bottom}}).holds(release_of("x", [label, beside]))
    assert judge_levels.shows_more(label, LevelSettings(bottom=bottom))
