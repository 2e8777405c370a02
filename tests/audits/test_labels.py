"""Labels of groups: what members have in common, and one label means one thing to every reader."""

import itertools
import random
import unicodedata

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import strategies as st
from tests.audits.folders import written
from tests.examples import NIGHTLY
from tests.oracle.labels import parts_by_position, rows_of
from tests.people import short_report
from tests.utility.brute import members_of

import foreknow as fk
from foreknow.data.generalization import coarsened, style_of
from foreknow.errors import HierarchyError
from foreknow.methods.protocol import Grouping
from foreknow.publishing.code_book import about_of
from foreknow.publishing.extents import Extents
from foreknow.utility.value_positions import covers_of_texts, positions_of
from foreknow_judge.errors import DataError, PolicyError

pytestmark = pytest.mark.usefixtures("tiny_tables")

SCALE = ["mild", "moderate", "mild to moderate", "severe"]
ORDERED = fk.Ordered(SCALE)
ORDER = [*"abcd"]


class Grouped:
    """A method of one's own: these groups, whatever the policy says."""

    def __init__(self, *groups):
        self.groups = groups

    def partition(self, microdata, policy, *, seed=None):
        return np.array(self.groups)


def table_of(values, disease=None, hierarchy=None, **roles):
    """Microdata with one quasi-identifier, ``q``."""
    kind = pa.int64() if any(isinstance(value, int) for value in values) else None
    roles |= {} if hierarchy is None else {"hierarchies": {"q": hierarchy}}
    schema = fk.Schema(quasi_identifiers=["q"], sensitive="d", **roles)
    rows = {"q": pa.array(values, kind), "d": disease or ["x"] * len(values)}
    return fk.Microdata(pa.table(rows), schema)


def coarse(values, groups, wanted=None, floor=None, hierarchy=None):
    (attribute,) = table_of(values, hierarchy=hierarchy).attributes
    least = None if floor is None else np.array(floor)
    style = style_of(attribute, wanted)
    return coarsened(attribute, np.array(groups), max(groups) + 1, style, least)


def labels(*given, **more):
    return coarse(*given, **more).labels


def facts(below):
    return fk.Policy([fk.Requirement(fk.Facts(), below=below)])


# ---- what members have in common -----------------------------------------------------------------


@st.composite
def groupings(draw, values):
    """Values with a null or more, and a group for each; no group is empty."""
    rows = draw(st.lists(st.none() | values, min_size=1, max_size=12))
    if all(value is None for value in rows):
        rows.append(draw(values))
    groups = draw(st.lists(st.integers(0, 3), min_size=len(rows), max_size=len(rows)))
    used = sorted(set(groups))
    groups = [used.index(group) for group in groups]
    pairs = [*zip(rows, groups, strict=True)]
    return rows, groups, [[row for row, own in pairs if own == g] for g in range(len(used))]


@pytest.mark.parametrize(
    ("values", "hierarchy", "style", "said"),
    [
        ([1, 2], None, "hierarchy", r"publish.labels: 'q' has no hierarchy with levels"),
        (["a"], fk.Ordered(ORDER), "hierarchy", "'q' has no hierarchy"),
        ([*"ab"], None, "range", r"'q' is text without an order; a range .* use set, or"),
        ([1, 2], None, "rnage", "'q' cannot be written as 'rnage'; did you mean 'range'"),
    ],
)
def test_style_without_meaning_is_refused(values, hierarchy, style, said):
    with pytest.raises(PolicyError, match=said):
        style_of(table_of(values, hierarchy=hierarchy).attributes[0], style)


def test_places_reveal_only_labels():
    made = coarse([1, 4, 2, 3, 22], [0, 0, 1, 1, 2], hierarchy=fk.Intervals([5, 20]))
    assert made.labels == ["0 to 4", "0 to 4", "22"]
    assert made.places.tolist() == [[0, 3], [0, 3], [4, 4]]


OTHER = fk.Tree([["x", "Other"], ["y", "Other"], ["Other", "Z"], ["z", "Z"]])
LEVELS = ["a (level 1)", "a (level 1)+"]
TREE = fk.Tree([["a", "a", "*"], ["b", "a", "*"], *([own, "Z", "*"] for own in LEVELS)])
A_TO = fk.Ordered(["a", "a to", "b", "to b", "c"])
A_OR = fk.Ordered(["a", "a or missing", "b"])


@pytest.mark.parametrize(
    ("values", "groups", "hierarchy", "wanted"),
    [
        ([3, 4, 28], "001", fk.Intervals([5]), ["0 to 4", "28"]),
        ([*"dba"], "001", fk.Ordered(ORDER[::-1]), ["d to b", "a"]),
        (["a", None], "01", None, ["a", None]),
        ([1, None], "01", fk.Intervals([5]), ["1", None]),
        (["a", "a"], "00", None, ["a"]),
        ([7, 7], "00", None, ["7"]),
        # A value that is called like a node with its level stays apart from it.
        (["a", "b", "a", *LEVELS], "00123", TREE, ["a (level 1)++", "a", *LEVELS]),
        # Those that could be read in two ways are quoted.
        (SCALE, "0012", ORDERED, ['"mild" to "moderate"', "mild to moderate", "severe"]),
        # Nobody has it, but the order lists it: a reader cannot know.
        ([*SCALE[:2], "severe"], "001", ORDERED, ['"mild" to "moderate"', "severe"]),
        ([None, "a", "missing", *"ab"], "00112", None, ['missing | "a"', '"a" | "missing"', "b"]),
        (["missing", "a", "b"], "001", None, ['"a" | "missing"', "b"]),
        (["*", "a|b", "a|b"], "010", None, ['"*" | "a|b"', "a|b"]),
        (["a", None, "a or missing", "b"], "0012", A_OR, ['"a" or missing', "a or missing", "b"]),
        (["a", "b", '"a" | "b"', "c|d"], "0012", None, ['"a" | "b"+', '"a" | "b"', "c|d"]),
        (["to b", "a", "a to", *"bc"], "00112", A_TO, ['"a" to "to b"', '"a to" to "b"', "c"]),
        (["x", "y", "z"], "001", OTHER, ["Other (level 1)", "z"]),
        (["b", '"c"', "d"], "001", None, ['"c" | b', "d"]),
        (["a", "to", "b"], "001", fk.Ordered(["a", "total", "to", "b"]), ['"a" to "to"', "b"]),
        # Others are not quoted.
        ([20, 37, 50], "001", None, ["20 to 37", "50"]),
        ([20, None, 50], "001", None, ["20 or missing", "50"]),
        (["Divorced", "Widowed", "x"], "001", None, ["Divorced | Widowed", "x"]),
        ([None, "b", 'say "c"'], "001", None, ["missing | b", 'say "c"']),
        (["a", "missing", "b"], "012", None, ["a", "missing", "b"]),
        (["a | b", "a", "b"], "012", None, ["a | b", "a", "b"]),
        (["a", "total", "b"], "001", fk.Ordered(["a", "total", "b"]), ["a to total", "b"]),
        (["123", "129", "200"], "001", fk.Mask(3), ["12*", "200"]),
        (["w", "w", "z"], "001", fk.Tree([["w", "w"], ["z", "Z"]]), ["w", "z"]),
    ],
    ids=str,
)
def test_labels_by_hand(values, groups, hierarchy, wanted):
    assert labels(values, [*map(int, groups)], hierarchy=hierarchy) == wanted


def test_styles_and_levels_by_hand():
    for style, wanted in (("range", ["3 to 4", "28"]), ("set", ["3 | 4", "28"])):
        assert labels([3, 4, 28], [0, 0, 1], style, hierarchy=fk.Intervals([5])) == wanted
    found = labels(["*", "a|b", "c"], [0, 1, 2], floor=[0, 1, 0])  # called like the top
    assert found == ["*", "* (level 1)", "c"]
    microdata = table_of(["x", "y", "Other"], hierarchy=OTHER)
    assert fk.counts_at(microdata, {"q": 1}).groups == [("Other (level 1)",), ("Z",)]


# ---- what labels are about -----------------------------------------------------------------------

ODD = [
    *(None, "*", "missing", "007", "5 to 07", "-0", "-0.0", "1e5", "1.", "+5", "old", ""),
    *("1 to 2 to 3", "2020s", "2024-02", "2024-Q1 to 2024-Q3", "12 or more"),
    *("20 to 37 or missing", "99999999999999999999", "1 to <99999999999999999999"),
    *("4611686018427387904", '"1" to "2"', "1 | 2", "5\n", "\n5", "٣", "3 to ٣", "1.5000"),
    *("20 to 30 (level 1)", "2* (level 1)"),
]


def number(draw):
    text = str(draw.choice([0, 7, 2020, draw.randrange(-99, 10**6), draw.randrange(10**15)]))
    return text + draw.choice(["", "", f".{draw.randrange(1000)}", ".", ".1234", "0"])


@pytest.mark.parametrize("about", [None, "number", "date", "text"])
def test_labels_match_extents(about):
    draw, met = random.Random(f"{about}"), {"number": 0, "date": 0, "text": 0}
    for case in range(20_000 if NIGHTLY else 400):
        odd, own = draw.choice([0, 0.05, 0.5]), []
        for _ in range(draw.randrange(1, 7)):
            label = draw.choice(ODD) if draw.random() < odd else number(draw)
            if draw.random() < 0.5 and label:
                label += draw.choice([" to ", " to <", " to  ", "to"]) + number(draw)
            own.append(label)
        if case % 3 == 0:  # only what is plainly written
            own = [one for one in own if one and one.replace(" to ", "").isdigit()] or ["4"]
        expected = Extents(own, about).about
        assert about_of(pa.array(own, pa.string()), about) == expected, own
        met[expected] += 1
    assert about or min(met["number"], met["text"]) > 60
    for label in ODD if about is None else ():
        for own in ([label], ["5", label]):
            assert about_of(pa.array(own, pa.string())) == Extents(own).about


# ---- who reads two groups as one -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "fmt", "alike"),
    [
        ([None, "single", "missing", "single"], "csv", False),
        ([None, "single", "missing", "single"], "parquet", False),
        (["married", "single", "married", "single"], "csv", True),
    ],
)
def test_adjacent_rows_are_judged(tmp_path, monkeypatch, values, fmt, alike):
    """Anatomy(2) makes pairs; whoever reads rows two by two is right no more than by chance."""
    short_report(monkeypatch)
    microdata, method, right, seeds = table_of(values, [*"abcd"]), fk.Anatomy(2), 0, 8
    for seed in range(seeds):
        options, folder = fk.PublishOptions(form="generalized", format=fmt), tmp_path / str(seed)
        made = written(microdata, facts("3/5"), folder, method=method, options=options, seed=seed)
        parts = parts_by_position(folder / f"release.{fmt}", "q", "d", 2)
        read = {frozenset(pair) for _, pairs in parts for pair in pairs}
        groups = method.partition(microdata, seed=seed)
        true = {frozenset("abcd"[i] for i in np.flatnonzero(groups == g)) for g in (0, 1)}
        right += read == true
        assert fk.Facts().disclosure(made.release).exact == ((1 / 4) if alike else (1 / 2))
    # Groups that are told apart are judged apart; those that are not are guessed 1 time in 3.
    assert right < 7 if alike else right == seeds


ALIKE = [
    ["=a", "'=a", "''=a", "a"],
    [" a", "a", "a ", "\ta", "a\n", "a\r\n"],
    ["Flu", "flu", "FLU", "ﬂu", *(unicodedata.normalize(form, "Åé") for form in ("NFC", "NFD"))],
    ["missing", "NULL", "null", "NaN", "None", "*"],
    ['"a"', "a", "'a'", '""a""', "a,b", '"'],
    ["007", "7", "7.0", "07"],
]


@pytest.mark.thinned(2)
@pytest.mark.parametrize(("fmt", "escaped"), [("csv", True), ("csv", False), ("parquet", False)])
@pytest.mark.parametrize("texts", ALIKE)
def test_lookalike_texts_stay_apart(tmp_path, monkeypatch, texts, escaped, fmt):
    short_report(monkeypatch)
    values = [text for text in [*texts, None] for _ in "ab"]
    groups = [g for g in range(len(texts) + 1) for _ in "ab"]
    disease = [f"{value}{i % 2}" for i, value in enumerate(values)]
    microdata = table_of(values, disease, types={"q": "text"})
    options = fk.PublishOptions(format=fmt, escape_formulas=escaped)
    written(microdata, facts("3/5"), tmp_path / "out", method=Grouped(*groups), options=options)
    rows = rows_of(tmp_path / "out" / f"release.{fmt}")
    read = {row["q"] for row in rows}
    assert len({(row["q"], row["d"]) for row in rows}) == 2 * len(read)
    assert len(read) == len(texts) + 1
    assert escaped or read == {*texts, None}


# ---- priors by labels ----------------------------------------------------------------------------


def rule(chances):
    """A policy on priors of HIV, and of Flu for the rest, by the label of ``q``."""
    rows = [
        {"q": label, "value": value, "probability": f"{chance}/1000"}
        for label, hiv in chances.items()
        for value, chance in (("HIV", hiv), ("Flu", 1000 - hiv))
    ]
    return fk.Policy([fk.Requirement(fk.Priors(pa.Table.from_pylist(rows)), at_most="1/2")])


MIXED = ["mild", "moderate"] * 2, ["HIV", "Flu"] * 2


@pytest.mark.parametrize("order", [SCALE, ["mild", "moderate", "severe"]])
def test_mixed_groups_match_no_prior(order):
    """Together they would pass for people of a milder scale; who is mild has HIV at 0.995."""
    microdata = table_of(*MIXED, fk.Ordered(order))
    policy = rule({"mild": 934, "moderate": 66, "mild to moderate": 500, "severe": 500})
    for seed in range(3):
        with pytest.raises((fk.NoSafeRelease, DataError), match=r"mild.* to .*moderate"):
            fk.publish(microdata, policy, method=fk.Streamliner(2), seed=seed)
    with pytest.raises(fk.NoSafeRelease, match=r"0\.995"):
        fk.publish(microdata, policy, method=fk.Streamliner(2), form="bucketized")


def test_a_node_above_one_value():
    """`FullDomain` may write a level above the members' own values: theirs is another signature."""
    tree = fk.Tree([["a", "A"], ["A", "B"], ["b", "B"]])
    microdata = table_of(["a", "a", "b", "b"], ["HIV", "Flu"] * 2, tree)
    policy = rule({"A": 500, "B": 500, "a": 10, "b": 10, "A (level 1)": 500})
    assert fk.publish(microdata, policy, method=Grouped(0, 0, 1, 1)).audit.safe

    class Level1(Grouped):
        @property
        def traits(self):
            made = Grouping(np.array(self.groups), {"q": np.array([1, 1])})
            return fk.Traits(grouping=lambda *_, **__: made)

    with pytest.raises(fk.NoSafeRelease, match="'q'"):
        fk.publish(microdata, policy, method=Level1(0, 0, 1, 1))


# ---- no two labels of a column are alike ---------------------------------------------------------

PIECES = [*["a", "b", "to", "or", "missing", "|", '"', "*", " ", "'", "=", "(level 1)", "+"]] * 2
PIECES += [" to ", " | ", " or missing", '"a" to "b"', '"a" | "b"', "a to b", "a | b", "", "\n"]


def words_of(draw, n):
    """Texts that are one another's labels."""
    words = set()
    while len(words) < n:
        words.add("".join(draw.choices(PIECES, k=draw.randrange(3))))
    while len(words) < n + 4:
        parts = draw.choices(sorted(words), k=draw.choice([2, 2, 3]))
        joined = draw.choice([" to ", " | ", " or ", ""]).join(parts)
        quoted = '"' + joined.replace('"', '""') + '"'
        words.add(draw.choice([joined, joined, quoted, joined + " or missing", joined + "+"]))
    return sorted(words)


def hierarchy_of(draw, kind, texts):
    """An order or a tree of texts, and its values."""
    if kind == "order":
        made = fk.Ordered(draw.sample(texts, len(texts)))
        return made, list(made.values)
    texts = [text for text in dict.fromkeys(text.strip() for text in texts) if text != ""]
    words, parents = [*texts, "*", "a (level 1)", "a (level 1)+", "a (level 2)"], {}
    rows = []
    for text in texts:
        low = draw.choice(words)
        rows.append([text, low, parents.setdefault(low, draw.choice(words))])
    made = fk.Tree(rows)
    return made, [row[0] for row in made.rows]


def case_of(draw):
    """An attribute with a few values, groups of them, their least levels, and a style."""
    kind = draw.choice(["text", "text", "order", "order", "tree", "tree", "mask", "number"])
    values, hierarchy, listed = words_of(draw, draw.randrange(2, 5)), None, []
    if kind == "number":
        values = draw.sample(range(-5, 9), 4)
    elif kind == "mask":
        values = draw.sample(["".join(t) for t in itertools.product("01*", repeat=2)], 4)
        hierarchy = fk.Mask(2, draw.choice("*01"))
    elif kind in ("order", "tree"):
        hierarchy, listed = hierarchy_of(draw, kind, values)
        values = listed
    values = draw.sample(values, draw.randrange(1, min(len(values), 5) + 1))
    domain = values + [None] * (draw.random() < 0.5)
    rows, groups, n = [*domain], [0] * len(domain), 1
    for _ in range(draw.randrange(1, 6)):
        own = draw.sample(domain, draw.randrange(1, min(len(domain), 3) + 1))
        rows, groups, n = [*rows, *own], [*groups, *[n] * len(own)], n + 1
    roles = {} if hierarchy is None else {"hierarchies": {"q": hierarchy}}
    typed = pa.array(rows, pa.int64() if kind == "number" else pa.string())
    schema = fk.Schema(quasi_identifiers=["q"], sensitive="d", **roles)
    microdata = fk.Microdata(pa.table({"q": typed, "d": ["x"] * len(rows)}), schema)
    style = {"tree": "hierarchy", "mask": "hierarchy", "text": "set"}.get(kind, "range")
    if kind != "text":
        style = draw.choice([style, style, "set", "range"])
    try:
        top = max(1, len(microdata.attributes[0].ancestors))
    except HierarchyError:  # a node called "missing" beside nulls
        return case_of(draw)
    floor = np.array([draw.choice([0, 0, 0, *range(top + 1)]) for _ in range(n)])
    return microdata, np.array(groups), n, style, floor, hierarchy, listed


def meaning(attribute, members, style, floor):
    """What a group is published to cover: its values by their codes, and whether it is exact."""
    if style == "hierarchy":
        for level, nodes in enumerate([np.arange(len(attribute.domain)), *attribute.ancestors]):
            above = {int(nodes[code]) for code in members}
            if level >= floor and len(above) == 1:
                return tuple(np.flatnonzero(nodes == above.pop()).tolist())
    if floor >= max(1, len(attribute.ancestors)):
        return tuple(range(len(attribute.domain)))
    if style == "set":
        return tuple(sorted(members))
    known = sorted(code for code in members if attribute.domain[code] is not None)
    null = tuple(sorted(members)[:1]) if len(known) < len(members) else ()
    return (*null, *range(known[0], known[-1] + 1)) if known else null


@pytest.mark.parametrize(
    ("many", "seed"), [(600, 13), pytest.param(100_000, None, marks=pytest.mark.slow)]
)
def test_no_two_labels_are_alike(many, seed):
    draw, seen = random.Random(seed), 0
    while seen < many:
        microdata, groups, n, style, floor, hierarchy, listed = case_of(draw)
        (attribute,) = microdata.attributes
        meant, domain = {}, attribute.domain
        for g, label in enumerate(coarsened(attribute, groups, n, style, floor).labels):
            members = set(attribute.codes[groups == g].tolist())
            means = meaning(attribute, members, style, int(floor[g]))
            assert meant.setdefault(label, means) == means, (domain, style, label)
            # A text of a value, had or not, stands for just that value.
            text = None if domain[means[0]] is None else str(domain[means[0]])
            exact = len(means) == 1 and label == text
            assert exact or label not in map(str, [*domain, *listed]), (domain, label)
            assert (label is None) == (exact and text is None)
        read = covers_of_texts(attribute, positions_of(attribute, hierarchy), list(meant), style)
        labels_at, codes = members_of(read)
        for i, means in enumerate(meant.values()):
            assert tuple(codes[labels_at == read.of_group[i]].tolist()) == means
        seen += len(meant)
