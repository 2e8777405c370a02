"""Curves and surveys: what adversaries attain at every point and node, and the paper's Adult."""

import json
import math
import re
from collections import Counter, defaultdict
from fractions import Fraction
from functools import partial
from itertools import pairwise, product

import numpy as np
import pyarrow as pa
import pytest
from tests import adult
from tests.report.reading import Reader
from tests.report.results import curves as made_curves

import foreknow as fk
from foreknow.report import render
from foreknow.report.words import some
from foreknow.skylines.curves_page import curves_figure, key_sentence, known_text, sure_text
from foreknow.skylines.survey import _rounded, least_entropy
from foreknow.skylines.survey_page import plain_sentence
from foreknow_judge.errors import DataError, InputError, UnsupportedError

BAGS = [["Flu", "Flu", "AIDS", "Cold"], ["Flu", "Cold", "Mumps"]]
COUNTS = fk.GroupCounts.from_bags(BAGS)


def golden():
    """The numbers of the paper."""
    return json.loads(adult.GOLDEN.read_text())


# ---- curves -------------------------------------------------------------------------------------


@pytest.mark.parametrize(("seed", "value"), [(0, None), (1, "v2"), (2, None), (3, "v2")])
def test_points_are_what_adversaries_attain(seed, value):
    def counts():
        draw = np.random.default_rng(seed)
        of = np.concatenate((np.arange(30), draw.integers(0, 30, 200)))
        own = draw.integers(0, 6, len(of))
        return fk.GroupCounts.from_pairs(of, own, values=[f"v{i}" for i in range(6)], n_groups=30)

    curves = fk.disclosure_curves(counts(), 8, value)
    assert curves.ks == tuple(range(9))
    for k, worst, mild in zip(curves.ks, curves.implications, curves.negations, strict=True):
        fresh = counts()
        assert worst.exact == fk.Implications(k).disclosure(fresh, value).exact
        assert mild.exact == fk.Negations(k).disclosure(fresh, value).exact
        assert mild.exact <= worst.exact


def test_curves_say_what_they_are(tmp_path):
    one = fk.disclosure_curves(COUNTS, 2, "Cold", name="two wards")
    assert [str(found.exact) for found in one.implications] == ["1/3", "1/2", "1"]
    assert repr(one) == "DisclosureCurves(two wards: 'Cold', k = 0 to 2, implications 0.3333 to 1)"
    curves = fk.disclosure_curves(COUNTS, 1, sensitive="illness")
    curves.to_json(tmp_path / "curves.json")
    read = json.loads((tmp_path / "curves.json").read_text())
    assert read == {"this_file_is": "for the owner only", **curves.to_dict()}
    assert (read["format"], read["version"], read["sensitive"]) == ("foreknow curves", 1, "illness")
    assert [point["k"] for point in read["points"]] == [0, 1]
    worst = {"probability": 0.75, "exact": "3/4", "value": "Flu"}
    assert read["points"][1]["implications"] == worst
    path = tmp_path / "ward.csv"
    path.write_text("ward,illness\n1,Flu\n1,Cold\n")
    release = fk.Release.from_groups(path, group="ward", sensitive="illness")
    curves = fk.disclosure_curves(release)
    assert (curves.name, curves.sensitive) == ("ward.csv", "illness")


def test_the_figure_of_adult():
    """Figure 5, to six decimals: ages in steps of 20 years, everything else suppressed."""
    counts = fk.counts_at(adult.microdata(), {"age": 3})
    curves, known = fk.disclosure_curves(counts, upto=12), golden()
    for kind in ("implications", "negations"):
        found = [round(found.probability, known["decimals"]) for found in getattr(curves, kind)]
        assert found == known[kind]
    # What the page of the docs says of the difference.
    pairs = list(zip(curves.implications, curves.negations, strict=True))
    gaps = [worst.exact - mild.exact for worst, mild in pairs]
    assert [k for k, gap in enumerate(gaps) if gap == 0] == [0, 1, 11, 12]
    assert (gaps.index(max(gaps)), f"{100 * float(max(gaps)):.1f}") == (5, "5.2")


SETS = fk.GroupCounts.from_people([[{"Flu"}, {"Flu", "Cold"}]], semantics="set")


@pytest.mark.parametrize(
    ("asked", "error", "said"),
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
def test_what_curves_cannot_mean(asked, error, said):
    with pytest.raises(error, match=re.escape(said)):
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


@pytest.mark.parametrize(
    ("given", "columns", "sensitive"),
    [
        ({}, ["job", "income"], "illness"),
        ({"sensitive": "income"}, ["job", "illness"], "income"),
        ({"knowing": ["job"]}, ["job"], "illness"),
        ({"knowing": [], "sensitive": "income"}, [], "income"),
    ],
)
def test_columns_beside_are_known(given, columns, sensitive):
    """Unless it is said otherwise: the bags of those who agree in all of them."""
    bags = defaultdict(list)
    for row, value in enumerate(ROWS[sensitive]):
        bags[tuple(ROWS[name][row] for name in columns)].append(value)
    counts, release = fk.GroupCounts.from_bags(list(bags.values())), beside()
    assert release.beside
    curves, own = fk.disclosure_curves(release, 2, **given), fk.disclosure_curves(counts, 2)
    assert [x.exact for x in curves.implications] == [x.exact for x in own.implications]
    skylines = fk.skyline_report(release, confidence="0.9", **given)
    assert skylines.skylines == fk.skyline_report(counts, confidence="0.9").skylines
    for made in (curves, skylines):
        assert (set(made.scope.known), made.sensitive) == (set(columns), sensitive)
        assert ("The adversary knows the" in render(made).html()) == bool(columns)


def test_sights_stay_and_counts_refuse():
    seen = beside().seen("illness", ["job"])
    for look in (fk.disclosure_curves, partial(fk.skyline_report, confidence=1)):
        assert look(seen).scope.known == ("job",)
        with pytest.raises(InputError, match="counts have none: give the release"):
            look(COUNTS, knowing=["job"])
        with pytest.raises(InputError, match="jobb"):
            look(beside(), knowing=["jobb"])


# ---- the page of curves -------------------------------------------------------------------------


def test_every_point_is_on_page():
    """In the table and in the figure."""
    curves = made_curves()
    page = render(curves).html()
    text = Reader(page).text
    assert "How much pieces of knowledge disclose: any diagnosis" in text
    assert key_sentence(curves) in text
    for k, worst, mild in zip(curves.ks, curves.implications, curves.negations, strict=True):
        assert f" {k} {sure_text(worst)} {sure_text(mild)} " in text
        assert known_text(worst) in text
        assert f"{some(k, 'implication', 'implications')}: {sure_text(worst)}" in text
    assert "of a member of group 18" in text
    drawn = curves_figure(curves)
    worst, mild = drawn.series
    assert (worst.name, mild.name) == ("implications", "negations")
    assert list(worst.x) == list(mild.x) == [0, 1, 2, 3, 4, 5]
    assert worst.y == [found.probability for found in curves.implications]
    assert drawn.x.title == "pieces of knowledge (k)"
    assert drawn.y.title == "how sure of some diagnosis, at worst"
    assert page.count("<use ") == 12
    assert page.count('<path class="line" stroke="#') == 2


@pytest.mark.parametrize(
    ("bags", "upto", "said"),
    [
        (["ab"], 2, "It takes one piece of knowledge of either kind to be certain."),
        (["aaab"], 1, "nothing but the release to be more likely right than wrong, and one piece"),
        (["aa"], 1, "It takes nothing but the release to be certain."),
        (["abcdefgh"] * 2, 1, "With one piece of knowledge, nobody can be more than"),
        (["aaabbc"], 1, "one piece of knowledge of either kind to be more likely right than wrong"),
    ],
)
def test_how_many_pieces_it_takes(bags, upto, said):
    assert said in key_sentence(fk.disclosure_curves(fk.GroupCounts.from_bags(bags), upto))


def test_what_is_known_by_person():
    counts = fk.GroupCounts.from_bags([["a", "a", "b", "b", "c", "c", "d"], ["a", "b", "c", "d"]])
    texts = [known_text(fk.Implications(k).disclosure(counts)) for k in range(4)]
    assert texts[0] == "Nothing but the release."
    assert any("then the target has" in text for text in texts) or "does not have" in texts[1]
    assert known_text(fk.Negations(2).disclosure(counts)).startswith("The target does not have ")


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
    found = fk.survey(microdata, [0, 1, 3], kind=kind)
    assert (found.tops, found.n_nodes, found.kind) == ((3, 1), 8, kind)
    assert [node.levels for node in found.nodes] == list(product(range(4), range(2)))
    for node in found.nodes:
        bags = bags_at(table, node.levels)
        counts = fk.GroupCounts.from_bags(bags)
        assert node.groups == len(bags)
        assert node.entropy == pytest.approx(min(map(entropy_of, bags)), abs=1e-9)
        for k, probability in zip(found.knowledge, node.disclosures, strict=True):
            expected = adversary(k).disclosure(counts)
            assert probability == pytest.approx(expected.probability, abs=1e-12)
            assert found.disclosure(node.levels, k).exact == expected.exact


@pytest.mark.parametrize("seed", range(4))
def test_the_best_of_equal_entropies(seed):
    found = fk.survey(raw(seed, rows=90)[1], [1])
    by_entropy = defaultdict(list)
    for node in found.nodes:
        if node.entropy:
            by_entropy[node.entropy].append(node.disclosures[0])
    best = [(node.entropy, node.disclosures[0]) for node in found.best(1)]
    assert best == [(entropy, min(by_entropy[entropy])) for entropy in sorted(by_entropy)]
    assert found.n_plain == sum(node.entropy == 0 for node in found.nodes)


def test_entropies_and_roundings():
    assert least_entropy(fk.GroupCounts.from_bags(["aaa", "abcd"])) == 0
    assert least_entropy(fk.GroupCounts.from_bags([{"a": 10**6, "b": 1}])) > 0
    same = [fk.GroupCounts.from_bags([bag]) for bag in ("aaabbc", "abbccc")]
    assert least_entropy(same[0]) == least_entropy(same[1])
    # What only looks certain is not called so.
    almost = fk.Disclosure("a", 1.0, lambda: 1 - Fraction(1, 10**20))
    assert _rounded(almost, certain=False) < 1
    assert _rounded(fk.Disclosure("a", 1.0, lambda: Fraction(1)), certain=False) == 1
    assert _rounded(fk.Disclosure("a", 0.5), certain=False) == 0.5


def test_adult_has_72_generalizations():
    """Figure 6; the node of figure 5 has the values of figure 5."""
    found = fk.survey(adult.microdata())
    assert (found.n_nodes, found.n_plain, found.people) == (72, 48, 45222)
    node = found.node((3, 2, 1, 1))
    assert node.groups == 5
    known = golden()["implications"]
    assert [round(p, 6) for p in node.disclosures] == [known[k] for k in found.knowledge]
    # "Monotonically decreases" is a tendency: somewhere, more entropy discloses more.
    for at, k in enumerate(found.knowledge):
        line = [node.disclosures[at] for node in found.best(k)]
        assert line[0] > line[-1]
        assert any(b > a for a, b in pairwise(line))
    # As the page of the docs says.
    assert {len(found.best(k)) for k in found.knowledge} == {22}
    rise = [(f"{n.entropy:.3f}", f"{n.disclosures[4]:.3f}") for n in found.best(9)]
    assert (("2.857", "0.940"), ("2.921", "0.951")) in pairwise(rise)
    mild = fk.survey(adult.microdata(), kind="negations")
    gaps = (found.disclosures - mild.disclosures)[found.entropy > 0]
    assert gaps.min() >= 0
    assert f"{100 * gaps.max():.1f}" == "8.3"


def test_surveys_say_what_they_are(tmp_path):
    found = fk.survey(raw()[1], (3, 1, 1), name="small")
    found.to_json(tmp_path / "survey.json")
    read = json.loads((tmp_path / "survey.json").read_text())
    assert read == {"this_file_is": "for the owner only", **found.to_dict()}
    assert (read["format"], read["knowledge"], read["tops"]) == ("foreknow survey", [1, 3], [3, 1])
    assert len(read["nodes"]) == 8
    assert repr(found) == "LatticeSurvey(small: 8 nodes, implications k = 1, 3)"
    assert found.levels[0][1].example == "20 to 24"
    text = Reader(render(found).html()).text
    assert "8 generalizations: entropy and worst disclosure" in text
    assert plain_sentence(found) in text
    exact = found.levels[0][0].values
    assert f"exact: {exact} values · level 1: 4 values such as “20 to 24”" in text
    assert all(f" {node.groups} {node.entropy:.3f} " in text for node in found.nodes)


WIDE = [f"q{i}" for i in range(14)]
NODES = fk.Microdata(
    pa.table({**{name: [0, 1] for name in WIDE}, "illness": ["Flu", "Cold"]}),
    fk.Schema(quasi_identifiers=WIDE, sensitive="illness"),
)


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"knowledge": []}, "knowledge is empty"),
        ({"knowledge": "1,3"}, "knowledge is a list of whole numbers"),
        ({"knowledge": 3}, "knowledge is a list of whole numbers"),
        ({"knowledge": [1, -3]}, "knowledge must be 0 or more"),
        ({"knowledge": [201]}, "knowledge is at most 200 pieces"),
        ({"kind": "negation"}, "no kind 'negation' of knowledge; did you mean 'negations'?"),
        ({"table": raw()[0]}, "say what the columns of the table are"),
        ({"table": NODES}, "16,384 nodes, more than 10,000 for a survey"),
    ],
)
def test_what_surveys_cannot_mean(asked, said):
    table = asked.pop("table", raw()[1])
    with pytest.raises(InputError, match=re.escape(said)):
        fk.survey(table, **asked)


def test_questions_that_were_not_surveyed():
    found = fk.survey(raw()[1], [1])
    with pytest.raises(InputError, match="the survey is about 1 pieces"):
        found.best(2)
    for levels in [(4, 0), (0,), (-1, 0)]:
        with pytest.raises(InputError, match="is no node"):
            found.node(levels)
