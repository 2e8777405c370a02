"""Curves and surveys at every point and node, and the commands skyline, curves and survey."""

import json
import math
import re
import shlex
from collections import Counter, defaultdict
from functools import partial
from itertools import pairwise, product

import numpy as np
import pyarrow as pa
import pytest
from tests.cli.conftest import desk as desk
from tests.cli.conftest import pay as pay
from tests.common import said_below
from tests.people import ADULT_GOLDEN, ADULT_LATTICE, FOLDER, adult_microdata, adult_table

import foreknow as fk
from foreknow.features.skylines.curves_page import key_sentence
from foreknow_judge.errors import DataError, InputError, UnsupportedError

BAGS = [["Flu", "Flu", "AIDS", "Cold"], ["Flu", "Cold", "Mumps"]]
COUNTS = fk.GroupCounts.from_bags(BAGS)


def golden():
    """The numbers of the paper."""
    return json.loads(ADULT_GOLDEN.read_text())


# ---- curves -------------------------------------------------------------------------------------


def test_the_figure_of_adult():
    """Figure 5, to six decimals: ages in steps of 20 years, everything else suppressed."""
    counts = fk.counts_at(adult_microdata(), {"age": 3})
    curves, known = fk.disclosure_curves(counts, upto=12), golden()
    for kind in ("implications", "negations"):
        results = [round(found.probability, known["decimals"]) for found in getattr(curves, kind)]
        assert results == known[kind]
    # What the page of the docs says of the difference.
    pairs = list(zip(curves.implications, curves.negations, strict=True))
    gaps = [worst.exact - mild.exact for worst, mild in pairs]
    assert [k for k, gap in enumerate(gaps) if gap == 0] == [0, 1, 11, 12]
    assert (gaps.index(max(gaps)), f"{100 * float(max(gaps)):.1f}") == (5, "5.2")


SETS = fk.GroupCounts.from_people([[{"Flu"}, {"Flu", "Cold"}]], semantics="set")


@pytest.mark.parametrize(
    ("asked", "error", "message"),
    [
        ({"upto": -1}, InputError, "upto must be 0 or more"),
        ({"upto": 1.5}, InputError, "upto must be a whole number"),
        ({"upto": 201}, InputError, "upto is at most 200"),
        ({"value": "Flue"}, DataError, "no group contains the sensitive value 'Flue'; did you"),
        ({"value": ["Flu"]}, DataError, "no group contains"),
        ({"release": [["Flu"]]}, InputError, "at least two releases"),
        ({"release": SETS}, UnsupportedError, "'set'"),
        ({"release": fk.GroupCounts.from_bags([])}, DataError, "no sensitive values"),
    ],
)
def test_what_curves_cannot_mean(asked, error, message):
    with pytest.raises(error, match=re.escape(message)):
        fk.disclosure_curves(**{"release": COUNTS, **asked})


# ---- columns that are published beside ----------------------------------------------------------

ROWS = {
    "age": ["30 to 39"] * 8,
    "job": ["Cook"] * 4 + ["Nurse"] * 4,
    "illness": [*"aabb", *"abcd"],
    "income": [*"xxxy", *"yyxx"],
}


def beside():
    return fk.Release.from_generalized(
        pa.table(ROWS), quasi_identifiers=["age"], sensitive=["illness", "income"], other=["job"]
    )


def test_sights_stay_and_counts_refuse():
    seen = beside().seen("illness", ["job"])
    for look in (fk.disclosure_curves, partial(fk.skyline_report, confidence=1)):
        assert look(seen).scope.known == ("job",)
        with pytest.raises(InputError, match="counts have none: give the release"):
            look(COUNTS, knowing=["job"])
        with pytest.raises(InputError, match="jobb"):
            look(beside(), knowing=["jobb"])


# ---- the page of curves -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("bags", "upto", "message"),
    [
        (["ab"], 2, "It takes one piece of knowledge of either kind to be certain."),
        (["aaab"], 1, "nothing but the release to be more likely right than wrong, and one piece"),
        (["aa"], 1, "It takes nothing but the release to be certain."),
        (["abcdefgh"] * 2, 1, "With one piece of knowledge, nobody can be more than"),
        (["aaabbc"], 1, "one piece of knowledge of either kind to be more likely right than wrong"),
    ],
)
def test_how_many_pieces_it_takes(bags, upto, message):
    assert message in key_sentence(fk.disclosure_curves(fk.GroupCounts.from_bags(bags), upto))


# ---- surveys ------------------------------------------------------------------------------------


def raw(seed=0, rows=60):
    draw = np.random.default_rng(seed)
    ages, sexes = draw.integers(20, 40, rows), draw.choice(["f", "m"], rows)
    illness = draw.choice(["Flu", "Cold", "AIDS", "Mumps"], rows)
    table = pa.table({"age": ages, "sex": sexes, "illness": illness})
    levels = {"age": fk.Intervals([5, 10])}
    roles = {"quasi_identifiers": ["age", "sex"], "sensitive": "illness", "hierarchies": levels}
    return table, fk.Microdata(table, fk.Schema(**roles))


def bags_at(table, levels):
    """The bags of a node, from the rows."""
    age, sex = levels
    bags = defaultdict(list)
    for row in table.to_pylist():
        label = row["age"] // [1, 5, 10, 1000][age], row["sex"] if sex == 0 else "*"
        bags[label].append(row["illness"])
    return list(bags.values())


def entropy_of(bag):
    """In bits, by the definition."""
    return -sum(n / len(bag) * math.log2(n / len(bag)) for n in Counter(bag).values())


@pytest.mark.parametrize(
    ("seed", "kind", "adversary"),
    [(0, "implications", fk.Implications), (1, "negations", fk.Negations)],
)
def test_nodes_are_counted_from_rows(seed, kind, adversary):
    table, microdata = raw(seed)
    survey = fk.survey(microdata, [0, 1, 3], kind=kind)
    assert (survey.tops, survey.n_nodes, survey.kind) == ((3, 1), 8, kind)
    assert [node.levels for node in survey.nodes] == list(product(range(4), range(2)))
    for node in survey.nodes:
        bags = bags_at(table, node.levels)
        counts = fk.GroupCounts.from_bags(bags)
        assert node.groups == len(bags)
        assert node.entropy == pytest.approx(min(map(entropy_of, bags)), abs=1e-9)
        for k, probability in zip(survey.knowledge, node.disclosures, strict=True):
            expected = adversary(k).disclosure(counts)
            assert probability == pytest.approx(expected.probability, abs=1e-12)
            assert survey.disclosure(node.levels, k).exact == expected.exact


@pytest.mark.parametrize("seed", range(4))
def test_the_best_of_equal_entropies(seed):
    survey = fk.survey(raw(seed, rows=90)[1], [1])
    by_entropy = defaultdict(list)
    for node in survey.nodes:
        if node.entropy:
            by_entropy[node.entropy].append(node.disclosures[0])
    best = [(node.entropy, node.disclosures[0]) for node in survey.best(1)]
    assert best == [(entropy, min(by_entropy[entropy])) for entropy in sorted(by_entropy)]
    assert survey.n_plain == sum(node.entropy == 0 for node in survey.nodes)


def test_adult_has_72_generalizations():
    """Figure 6; the node of figure 5 has the values of figure 5."""
    survey = fk.survey(adult_microdata())
    assert (survey.n_nodes, survey.n_plain, survey.people) == (72, 48, 45222)
    node = survey.node((3, 2, 1, 1))
    assert node.groups == 5
    known = golden()["implications"]
    assert [round(p, 6) for p in node.disclosures] == [known[k] for k in survey.knowledge]
    # "Monotonically decreases" is a tendency: somewhere, more entropy discloses more.
    for position, k in enumerate(survey.knowledge):
        line = [node.disclosures[position] for node in survey.best(k)]
        assert line[0] > line[-1]
        assert any(b > a for a, b in pairwise(line))
    # As the page of the docs says.
    assert {len(survey.best(k)) for k in survey.knowledge} == {22}
    rise = [(f"{n.entropy:.3f}", f"{n.disclosures[4]:.3f}") for n in survey.best(9)]
    assert (("2.857", "0.940"), ("2.921", "0.951")) in pairwise(rise)
    mild = fk.survey(adult_microdata(), kind="negations")
    gaps = (survey.disclosures - mild.disclosures)[survey.entropy > 0]
    assert gaps.min() >= 0
    assert f"{100 * gaps.max():.1f}" == "8.3"


WIDE = [f"q{i}" for i in range(14)]
NODES = fk.Microdata(
    pa.table({**{name: [0, 1] for name in WIDE}, "illness": ["Flu", "Cold"]}),
    fk.Schema(quasi_identifiers=WIDE, sensitive="illness"),
)


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"knowledge": []}, "knowledge is empty"),
        ({"knowledge": "1,3"}, "knowledge is a list of whole numbers"),
        ({"knowledge": 3}, "knowledge is a list of whole numbers"),
        ({"knowledge": [1, -3]}, "knowledge must be 0 or more"),
        ({"knowledge": [201]}, "knowledge is at most 200 pieces"),
        ({"kind": "negation"}, "no knowledge of kind 'negation'; did you mean 'negations'?"),
        ({"table": raw()[0]}, "say what the columns of the table are"),
        ({"table": NODES}, "16,384 nodes, more than 10,000 for a survey"),
    ],
)
def test_what_surveys_cannot_mean(asked, message):
    table = asked.pop("table", raw()[1])
    with pytest.raises(InputError, match=re.escape(message)):
        fk.survey(table, **asked)


def test_questions_that_were_not_surveyed():
    survey = fk.survey(raw()[1], [1])
    with pytest.raises(InputError, match="the survey is about 1 pieces"):
        survey.best(2)
    for levels in [(4, 0), (0,), (-1, 0)]:
        with pytest.raises(InputError, match="is no node"):
            survey.node(levels)


# ---- the commands skyline, curves and survey: what they print, write, and refuse -----------------


LATTICE = """[schema]
quasi_identifiers = ["age", "sex"]
sensitive = "disease"
identifiers = ["name"]

[schema.hierarchies]
age = { intervals = [20] }

[[require]]
implications = { k = 1 }
below = 0.9

[publish]
labels = { sex = "exact" }  # of a sex there are few
"""
WARD = """who,ward,disease
Ed,1,Flu
Frank,1,Cancer
Gary,1,Flu
Tom,1,AIDS
Ann Lee,2,Flu
Bob,2,Cold
Cary,2,AIDS
"""
GAPS = """[schema]
quasi_identifiers = ["town"]
sensitive = "illness"
missing = "drop"
[[require]]
facts = { l = 0 }
below = 0.9
"""
SKYLINE = "skyline ward.csv -c 0.9 "
PLAIN = SKYLINE + "--sensitive disease --group ward "
AIDS = PLAIN + "--value AIDS "
TABLE = "skyline table.csv --policy policy.toml -c 0.9 -v flu "
CURVES = "curves ward.csv --sensitive disease --group ward "
RAW = "curves table.csv --policy lattice.toml "
SURVEY = "survey table.csv --policy lattice.toml "


@pytest.fixture
def ward(desk):
    """A desk with a table of two wards, a policy with hierarchies, and rows with gaps."""
    desk.put("ward.csv", WARD)
    desk.put("lattice.toml", LATTICE)
    desk.put("wrong.toml", LATTICE.replace('"disease"', '"diseases"'))
    desk.put("gaps.csv", "town,illness\n" + "Ulm,flu\nUlm,cold\n" * 3 + "Ulm,\nUlm,\n")
    desk.put("gaps.toml", GAPS)
    return desk


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (PLAIN, ["AIDS 1 1 1 2", "Cancer 1 2 2 3", "Flu 1 1 1 2", "!Bob"]),
        (
            AIDS,
            [
                "AIDS at 90%: 2 points",
                "0 1 0 an adversary who knows one other",
                "Too much: an adversary who knows 2 other people's diseases",
                "l=0, k=2, m=0 is not withstood: the breach probability is 1.",
                "Known people: in group 2: Cold × 1 and Flu × 1",
                "!Bob",
            ],
        ),
        (
            AIDS + "--above 0,0,1",
            ["k=0, m=1 is withstood: the breach probability is 1/2 = 50"],
        ),
        (AIDS + "--above ' 1, 1,0'", ["k=1, m=0 is not withstood: the breach probability is 1."]),
        (AIDS + "--above 0,0,0", ["m=0 is withstood: the breach probability is 1/3 = 33.33%."]),
        # Sets have their own words.
        (
            AIDS + "--person who --semantics set --name-people",
            ["people who do not have AIDS", "AIDS not in"],
        ),
        # Columns may come from a policy; there, every row is a group of its own.
        (TABLE, ["flu at 90%: 0 points"]),
        (
            TABLE + "--group sex --knowing= --person name --name-people",
            ["Known people: in group f: cold × 1", "Fay = cold"],
        ),
        (
            "skyline table.csv --sensitive disease -c 1 -v flu --quasi-identifiers sex",
            ["member of group “sex f”"],
        ),
        (
            "skyline table.csv --sensitive disease -c 1 -v flu --quasi-identifiers 'sex, age'",
            ["can be certain"],
        ),
        (
            CURVES + "--upto 2",
            [
                "any disease – ward.csv 7 people in 2 groups",
                "0 50.0% ======== 50.0% ========",
                "2 100% =============== 100%",
                "It takes",
                "Not judged: who.",
            ],
        ),
        # A raw table is generalized first.
        (RAW + "--levels ' age = 1 , sex=*'", ["8 people in 2 groups", "!Not judged"]),
        (RAW + "--levels sex=0", ["8 people in 2 groups"]),
        (
            "curves table.csv --sensitive disease --quasi-identifiers 'age, sex' "
            "--levels age=0,sex=0",
            ["8 people in 8 groups"],
        ),
        (
            SURVEY + "--knowledge 0,1",
            [
                "6 generalizations: entropy and worst disclosure – table.csv",
                "8 people; generalized: age, sex",
                "* * 1 1.000 50.0% 100%",
                "by the number of implications",
            ],
        ),
        ("skyline gaps.csv -p gaps.toml -c 0.9", ["2 rows have no illness and were left out"]),
        ("curves gaps.csv -p gaps.toml --upto 1", ["2 rows have no illness and were left out"]),
    ],
)
def test_what_is_printed(ward, words, message):
    out = ward.says(*shlex.split(words))
    for part in message:
        assert (part[1:] not in out) if part.startswith("!") else (part in out)


def test_published_folders_need_no_columns(desk):
    desk.run(*desk.publish())
    ask = ["skyline", "out", "-c", "0.9", "-v", "flu"]
    out = desk.says(*ask)
    assert "flu at 90%" in out
    assert desk.says(*ask, "--sensitive", "disease") == out
    assert "any disease" in desk.says("curves", "out")
    for words, said in (
        ([*ask, "--sensitive", "diseas"], "is no sensitive column; did you mean 'disease'"),
        ([*ask, "--group", "sex"], "are in its certificate; leave out --group"),
        ([*ask, "--name-people", "-q"], "names nobody"),
        (["curves", "out", "--levels", "age=1"], "is published already"),
    ):
        assert said in desk.refused(*words)


@pytest.mark.parametrize(("words", "message"), said_below(__file__, "refused.txt"))
def test_what_is_refused(ward, words, message):
    assert message in ward.refused(*shlex.split(words))


@pytest.mark.parametrize(
    "words", ["curves --levels age=3 --json five.json", "survey"], ids=["figure 5", "figure 6"]
)
def test_docs_show_what_is_printed(desk, words):
    """One command from the table to the figure of the paper."""

    def lines_of(text):
        """The lines of a text without what a terminal's width changes."""
        return " ".join(text.replace("─", "").split())

    command, *more = words.split()
    out = desk.says(command, adult_table(), "--policy", ADULT_LATTICE, *more)
    page = (FOLDER / "docs" / "research" / "implications.md").read_text("utf-8")
    block = page.split(f"$ foreknow {command} ")[1].split("```")[0].split("\n", 1)[1]
    shown = [re.escape(lines_of(part)) for part in block.split("...\n")]
    assert re.fullmatch(".*".join(shown), lines_of(out))
    assert len(shown) == {"curves": 3, "survey": 4}[command]
    if more:
        golden, points = json.loads(ADULT_GOLDEN.read_text()), desk.json("five.json")["points"]
        for kind in ("implications", "negations"):
            assert [round(point[kind]["probability"], 6) for point in points] == golden[kind]


def test_windows_of_near_numbers(pay):
    ask = shlex.split("skyline people.csv --group age --sensitive pay -c 0.9 --within 2000")
    text = pay.says(*ask, "--json", "s.json")
    assert "What the release withstands at 90%: a value in a window of 2,000" in text
    (found,) = pay.json("s.json")["values"]
    assert found["points"]
    text = pay.says(*ask, "--above", "0,1,0")
    assert "l=0, k=1, m=0 is" in text
    assert "has a value between" in text
    text = pay.refused(*ask, "--value", "30000")
    assert "give one of --value, --any-of and --within" in text
    assert "name" in pay.refused(*ask, "--name-people")
    assert "cannot be read" in pay.refused(*ask[:-1], "wide")
