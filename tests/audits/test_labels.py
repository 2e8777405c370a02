"""Labels of groups mean one thing to every reader, and tell who looks alike in what was written."""

import itertools
import random
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from tests.common import NIGHTLY, written
from tests.utility.test_queries import members_of

import foreknow as fk
from foreknow.data.labels.generalization import coarsened, style_of
from foreknow.errors import HierarchyError
from foreknow.features.utility.value_positions import covers_of_texts, positions_of
from foreknow.methods.protocol import Grouping
from foreknow.publishing.code_book import about_of
from foreknow.publishing.label_extents import Extents
from foreknow_judge.errors import CertificateError, DataError, PolicyError
from foreknow_judge.files.written_release import Written
from foreknow_judge.verdicts import verdicts as verify_written

SCALE = ["mild", "moderate", "mild to moderate", "severe"]
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


def coarse(values, groups, expected=None, floor=None, hierarchy=None):
    (attribute,) = table_of(values, hierarchy=hierarchy).attributes
    least = None if floor is None else np.array(floor)
    style = style_of(attribute, expected)
    return coarsened(attribute, np.array(groups), max(groups) + 1, style, least)


def labels(*given, **more):
    return coarse(*given, **more).labels


# ---- what members have in common -----------------------------------------------------------------


@pytest.mark.usefixtures("tiny_tables")
@pytest.mark.parametrize(
    ("values", "hierarchy", "style", "message"),
    [
        ([1, 2], None, "hierarchy", r"publish.labels: 'q' has no hierarchy with levels"),
        (["a"], fk.Ordered(ORDER), "hierarchy", "'q' has no hierarchy"),
        ([*"ab"], None, "range", r"'q' is text without an order; a range .* use set, or"),
        ([1, 2], None, "rnage", "'q' cannot be written as 'rnage'; did you mean 'range'"),
    ],
)
def test_style_without_meaning_is_refused(values, hierarchy, style, message):
    with pytest.raises(PolicyError, match=message):
        style_of(table_of(values, hierarchy=hierarchy).attributes[0], style)


OTHER = fk.Tree([["x", "Other"], ["y", "Other"], ["Other", "Z"], ["z", "Z"]])


@pytest.mark.usefixtures("tiny_tables")
def test_styles_and_levels_by_hand():
    for style, wanted in (("range", ["3 to 4", "28"]), ("set", ["3 | 4", "28"])):
        assert labels([3, 4, 28], [0, 0, 1], style, hierarchy=fk.Intervals([5])) == wanted
    result = labels(["*", "a|b", "c"], [0, 1, 2], floor=[0, 1, 0])  # called like the top
    assert result == ["*", "* (level 1)", "c"]
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


@pytest.mark.usefixtures("tiny_tables")
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


@pytest.mark.usefixtures("tiny_tables")
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


@pytest.mark.usefixtures("tiny_tables")
def test_a_node_above_one_value():
    """`FullDomain` may write a level above the members' own values: theirs is another signature."""
    tree = fk.Tree([["a", "A"], ["A", "B"], ["b", "B"]])
    microdata = table_of(["a", "a", "b", "b"], ["HIV", "Flu"] * 2, tree)
    policy = rule({"A": 500, "B": 500, "a": 10, "b": 10, "A (level 1)": 500})
    assert fk.publish(microdata, policy, method=Grouped(0, 0, 1, 1)).audit.safe

    class Level1(Grouped):
        @property
        def traits(self):
            result = Grouping(np.array(self.groups), {"q": np.array([1, 1])})
            return fk.Traits(grouping=lambda *_, **__: result)

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
        result = fk.Ordered(draw.sample(texts, len(texts)))
        return result, list(result.values)
    texts = [text for text in dict.fromkeys(text.strip() for text in texts) if text != ""]
    words, parents = [*texts, "*", "a (level 1)", "a (level 1)+", "a (level 2)"], {}
    rows = []
    for text in texts:
        low = draw.choice(words)
        rows.append([text, low, parents.setdefault(low, draw.choice(words))])
    result = fk.Tree(rows)
    return result, [row[0] for row in result.rows]


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


@pytest.mark.usefixtures("tiny_tables")
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


# ---- who looks alike in what was written: search, audit, verifier and risk against every row -----


def texts(table):
    return [{n: None if v is None else str(v) for n, v in r.items()} for r in table.to_pylist()]


def published(table, policy, folder, **how):
    """What was written and is verified; None where the policy cannot hold, and why."""
    try:
        return written(table, policy, folder, **how), ""
    except fk.NoSafeRelease as error:
        return None, str(error)


@pytest.mark.parametrize(
    ("semantics", "values"),
    [("single", [*"abab"]), ("set", [["a"], ["a", "b"], [], ["b"]]), ("multiset", [["a"]] * 4)],
)
def test_look_alikes_cross_numbered_groups(semantics, values):
    """Who has which of several values does not matter; a size of groups is by their numbers."""
    table = pa.table({"gid": [*"1212"], "age": ["30", "30", "41", "41"], "ill": values})
    schema = fk.Schema(quasi_identifiers=["age"], sensitive="ill", group="gid", semantics=semantics)
    criteria = [fk.KAnonymity(2), fk.Risk(prosecutor="1/2"), fk.GroupSize(2)]
    policy = fk.Policy([fk.Requirement(criterion) for criterion in criteria], schema=schema)
    reached = [verdict.reached for verdict in fk.audit(table, policy).verdicts]
    assert reached == [2, Fraction(1, 2), 1]


def test_holders_stay_unknown():
    table = pa.table({"age": [30, 30, 30], "ill": [*"aab"]})
    schema = fk.Schema(quasi_identifiers=["age"], sensitive="ill")
    requirement = fk.Requirement(fk.KAnonymity(1), knowing=["ill"])
    with pytest.raises(fk.InputError, match=r"do not say who has which ill.* leave it out"):
        fk.publish(table, fk.Policy([requirement], schema), form="bucketized")


def test_judge_must_know_the_columns():
    people = pa.table({"group": ["1", "1"], "age": ["30", "31"]})
    table = pa.table({"group": ["1"], "ill": ["a"], "count": ["2"]})
    own = Written("bucketized", ["group"], "ill", {"people": people, "sensitive": table})
    with pytest.raises(CertificateError, match="not said by which columns"):
        verify_written(own, [{"k_anonymity": 1}])
    assert verify_written(own, [{"group_size": 2}])[0].safe


@pytest.mark.parametrize("know", [["job"], ["job", "pay"]])
@pytest.mark.parametrize("jobs", ["xyxyxyxy", "xyxyxyxz"])
def test_columns_apart_from_the_first(know, jobs, tmp_path):
    """What is known stands in another table than the first secret."""
    columns = {"age": "33334444", "ill": "fgfgfgfg", "job": jobs, "pay": "mmmmmmmm"}
    table = pa.table({name: [*column] for name, column in columns.items()})
    policy = {
        "schema": {"quasi_identifiers": ["age"], "sensitive": ["ill", "job", "pay"]},
        "require": [{"group_size": 2, "knowing": know}],
        "publish": {"form": "bucketized", "unlinked": ["ill"]},
    }
    made, said = published(table, policy, tmp_path / "out")
    assert ("z" in jobs) == (made is None) == ("required: at least 2" in said)
    if made is not None:
        assert fk.verify(tmp_path / "out").people == 8
        (required,) = made.certificate.policy["require"]
        assert (required["sensitive"], required["knowing"]) == ("job", know)
