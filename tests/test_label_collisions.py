"""One label means one thing: no two groups read alike that are not one group to every reader."""

import itertools
import random
import unicodedata

import numpy as np
import pyarrow as pa
import pytest
from tests.oracle.row_order import parts_by_position, rows_of
from tests.people import short_report
from tests.utility.brute import members_of

import foreknow as fk
from foreknow.data.generalization import coarsened, style_of
from foreknow.errors import HierarchyError
from foreknow.methods.protocol import Grouping
from foreknow.utility.value_positions import covers_of_texts, positions_of
from foreknow_judge.errors import DataError

pytestmark = pytest.mark.usefixtures("tiny_tables")

SCALE = ["mild", "moderate", "mild to moderate", "severe"]


class Grouped:
    """A method of one's own: these groups, whatever the policy says."""

    def __init__(self, *groups):
        self.groups = groups

    def partition(self, microdata, policy, *, seed=None):
        return np.array(self.groups)


def table_of(values, disease, **roles):
    """Microdata with one quasi-identifier, ``q``."""
    schema = fk.Schema(quasi_identifiers=["q"], sensitive="d", **roles)
    return fk.Microdata(pa.table({"q": values, "d": disease}), schema)


def facts(below):
    return fk.Policy([fk.Requirement(fk.Facts(), below=below)])


def labels(values, groups, wanted=None, floor=None, hierarchy=None):
    roles = {} if hierarchy is None else {"hierarchies": {"q": hierarchy}}
    (found,) = table_of(values, ["x"] * len(values), **roles).attributes
    least = None if floor is None else np.array(floor)
    return coarsened(
        found, np.array(groups), max(groups) + 1, style_of(found, wanted), least
    ).labels


@pytest.mark.parametrize(
    ("values", "fmt", "alike"),
    [
        ([None, "single", "missing", "single"], "csv", False),
        ([None, "single", "missing", "single"], "parquet", False),
        (["married", "single", "married", "single"], "csv", True),
    ],
)
def test_what_rows_side_by_side_tell_is_what_was_judged(tmp_path, monkeypatch, values, fmt, alike):
    """Anatomy(2) makes pairs; whoever reads rows two by two is right no more than by chance."""
    short_report(monkeypatch)
    microdata, method, right, seeds = table_of(values, list("abcd")), fk.Anatomy(2), 0, 8
    for seed in range(seeds):
        options = fk.PublishOptions(form="generalized", format=fmt)
        made = fk.publish(microdata, facts("3/5"), method=method, options=options, seed=seed)
        made.write(tmp_path / str(seed))
        file = tmp_path / str(seed) / f"release.{fmt}"
        read = {frozenset(p) for _, parts in parts_by_position(file, "q", "d", 2) for p in parts}
        groups = method.partition(microdata, seed=seed)
        true = {frozenset("abcd"[i] for i in np.flatnonzero(groups == g)) for g in (0, 1)}
        right += read == true
        assert fk.Facts().disclosure(made.release).exact == ((1 / 4) if alike else (1 / 2))
    # Groups that are told apart are judged apart; those that are not are guessed 1 time in 3.
    assert right < 7 if alike else right == seeds


def test_a_group_that_only_the_order_of_rows_would_tell_apart_is_judged_by_itself():
    microdata = table_of([None, "single", "missing", "single"], ["HIV", "HIV", "Flu", "Cold"])
    with pytest.raises(fk.NoSafeRelease, match="reaches 1 for 'HIV'"):
        fk.publish(microdata, facts("3/5"), method=Grouped(0, 0, 1, 1))
    # An empty text and a null are two labels in Parquet.
    microdata = table_of([None, None, "", ""], ["HIV", "HIV", "Flu", "Cold"])
    options = fk.PublishOptions(format="parquet")
    made = fk.publish(microdata, facts("3/5"), method=Grouped(0, 1, 0, 1), options=options)
    assert set(made.tables["release"]["q"].to_pylist()) == {"*"}
    with pytest.raises(fk.NoSafeRelease):
        fk.publish(microdata, facts("3/5"), method=Grouped(0, 0, 1, 1), options=options)


@pytest.mark.parametrize("semantics", ["set", "multiset"])
def test_several_values_of_groups_that_read_alike_are_counted_once(semantics):
    rows = {"who": list(range(8)), "q": [1, 5, 1, 5, 2, 5, 1, 4], "d": [["a"], ["b"]] * 4}
    schema = fk.Schema(quasi_identifiers=["q"], sensitive="d", semantics=semantics, person="who")
    microdata = fk.Microdata(pa.table(rows), schema)
    policy = fk.Policy([fk.Requirement(fk.Facts(), below="0.9")], schema)
    options = fk.PublishOptions(labels={"q": "exact"})
    grouped = Grouped(0, 0, 1, 1, 2, 2, 3, 3)
    made = fk.publish(microdata, policy, method=grouped, options=options)
    assert made.tables["sensitive"].to_pylist() == [
        {"q": "1 to 4", "d": "a", "count": 1},
        {"q": "1 to 4", "d": "b", "count": 1},
        {"q": "1 to 5", "d": "a", "count": 2},
        {"q": "1 to 5", "d": "b", "count": 2},
        {"q": "2 to 5", "d": "a", "count": 1},
        {"q": "2 to 5", "d": "b", "count": 1},
    ]


OTHER = fk.Tree([["x", "Other"], ["y", "Other"], ["Other", "Z"], ["z", "Z"]])
A_TO = fk.Ordered(["a", "a to", "b", "to b", "c"])
A_OR = fk.Ordered(["a", "a or missing", "b"])
ORDERED = fk.Ordered(SCALE)


@pytest.mark.parametrize(
    ("values", "groups", "hierarchy", "written"),
    [
        (SCALE, [0, 0, 1, 2], ORDERED, ['"mild" to "moderate"', "mild to moderate", "severe"]),
        # Nobody has it, but the order lists it: a reader cannot know.
        ([*SCALE[:2], "severe"], [0, 0, 1], ORDERED, ['"mild" to "moderate"', "severe"]),
        (
            *([None, "a", "missing", "a", "b"], [0, 0, 1, 1, 2], None),
            ['missing | "a"', '"a" | "missing"', "b"],
        ),
        (["missing", "a", "b"], [0, 0, 1], None, ['"a" | "missing"', "b"]),
        (["*", "a|b", "a|b"], [0, 1, 0], None, ['"*" | "a|b"', "a|b"]),
        (
            *(["a", None, "a or missing", "b"], [0, 0, 1, 2], A_OR),
            ['"a" or missing', "a or missing", "b"],
        ),
        (["a", "b", '"a" | "b"', "c|d"], [0, 0, 1, 2], None, ['"a" | "b"+', '"a" | "b"', "c|d"]),
        (
            *(["to b", "a", "a to", "b", "c"], [0, 0, 1, 1, 2], A_TO),
            ['"a" to "to b"', '"a to" to "b"', "c"],
        ),
        (["x", "y", "z"], [0, 0, 1], OTHER, ["Other (level 1)", "z"]),
        (["b", '"c"', "d"], [0, 0, 1], None, ['"c" | b', "d"]),
        (["a", "to", "b"], [0, 0, 1], fk.Ordered(["a", "total", "to", "b"]), ['"a" to "to"', "b"]),
        # Others are not quoted.
        ([20, 37, 50], [0, 0, 1], None, ["20 to 37", "50"]),
        ([20, None, 50], [0, 0, 1], None, ["20 or missing", "50"]),
        (["Divorced", "Widowed", "x"], [0, 0, 1], None, ["Divorced | Widowed", "x"]),
        ([None, "b", 'say "c"'], [0, 0, 1], None, ["missing | b", 'say "c"']),
        (["12340", "12345", "2"], [0, 0, 1], None, ["12340 | 12345", "2"]),
        (["a", "missing", "b"], [0, 1, 2], None, ["a", "missing", "b"]),
        (["a | b", "a", "b"], [0, 1, 2], None, ["a | b", "a", "b"]),
        (["a", "total", "b"], [0, 0, 1], fk.Ordered(["a", "total", "b"]), ["a to total", "b"]),
        (["123", "129", "200"], [0, 0, 1], fk.Mask(3), ["12*", "200"]),
        (["w", "w", "z"], [0, 0, 1], fk.Tree([["w", "w"], ["z", "Z"]]), ["w", "z"]),
    ],
    ids=str,
)
def test_labels_that_could_be_read_in_two_ways_are_quoted_and_no_others(
    values, groups, hierarchy, written
):
    assert labels(values, groups, hierarchy=hierarchy) == written


def test_a_level_above_a_value_that_is_called_like_the_top_is_numbered():
    found = labels(["*", "a|b", "c"], [0, 1, 2], floor=[0, 1, 0])
    assert found == ["*", "* (level 1)", "c"]


def test_levels_are_counted_under_the_names_that_are_published():
    microdata = table_of(["x", "y", "Other"], ["a", "b", "c"], hierarchies={"q": OTHER})
    assert fk.counts_at(microdata, {"q": 1}).groups == [("Other (level 1)",), ("Z",)]


ALIKE = [
    ["=a", "'=a", "''=a", "a"],
    [" a", "a", "a ", "\ta", "a\n", "a\r\n"],
    ["Flu", "flu", "FLU", "ﬂu"],
    [unicodedata.normalize(form, "Åé") for form in ("NFC", "NFD")],
    ["missing", "NULL", "null", "NaN", "None", "*"],
    ['"a"', "a", "'a'", '""a""', "a,b", '"'],
    ["007", "7", "7.0", "07"],
]


@pytest.mark.thinned(3)
@pytest.mark.parametrize("fmt", ["csv", "parquet"])
@pytest.mark.parametrize("escaped", [False, True])
@pytest.mark.parametrize("texts", ALIKE)
def test_texts_that_look_alike_stay_apart_in_what_is_written(
    tmp_path, monkeypatch, texts, escaped, fmt
):
    short_report(monkeypatch)
    values = [text for text in [*texts, None] for _ in "ab"]
    groups = [g for g in range(len(texts) + 1) for _ in "ab"]
    disease = [f"{value}{i % 2}" for i, value in enumerate(values)]
    microdata = table_of(values, disease, types={"q": "text"})
    options = fk.PublishOptions(format=fmt, escape_formulas=escaped)
    made = fk.publish(microdata, facts("3/5"), method=Grouped(*groups), options=options)
    made.write(tmp_path / "out")
    read = rows_of(tmp_path / "out" / f"release.{fmt}")
    assert len({(row["q"], row["d"]) for row in read}) == 2 * len({row["q"] for row in read})
    assert len({row["q"] for row in read}) == len(texts) + 1
    if not escaped:
        assert {row["q"] for row in read} == {*texts, None}


def priors_of(rows, column="q"):
    """Priors of HIV, and of Flu for the rest, by the label of one column."""
    listed = [(label, v, p) for label, hiv in rows.items() for v, p in _chances(hiv)]
    names = (column, "value", "probability")
    return fk.Priors(pa.table(dict(zip(names, map(list, zip(*listed, strict=True)), strict=True))))


def _chances(hiv):
    return [("HIV", f"{hiv}/1000"), ("Flu", f"{1000 - hiv}/1000")]


def rule(priors):
    return fk.Policy([fk.Requirement(priors, at_most="1/2")])


MIXED = ["mild", "moderate", "mild", "moderate"], ["HIV", "Flu"] * 2


@pytest.mark.parametrize("order", [SCALE, ["mild", "moderate", "severe"]])
def test_a_mixed_group_is_not_taken_for_people_of_whom_the_priors_know(order):
    """Together they would pass for people of a milder scale; who is mild has HIV at 0.995."""
    microdata = table_of(*MIXED, hierarchies={"q": fk.Ordered(order)})
    policy = rule(priors_of({"mild": 934, "moderate": 66, "mild to moderate": 500, "severe": 500}))
    for seed in range(5):
        with pytest.raises((fk.NoSafeRelease, DataError), match=r"mild.* to .*moderate"):
            fk.publish(microdata, policy, method=fk.Streamliner(2), seed=seed)
    bucketized = fk.PublishOptions(form="bucketized")
    with pytest.raises(fk.NoSafeRelease, match=r"0\.995"):
        fk.publish(microdata, policy, method=fk.Streamliner(2), options=bucketized)


@pytest.mark.parametrize(
    ("hierarchy", "label", "styles"),
    [
        (fk.Tree([["mild", "Other"], ["moderate", "Other"], ["severe", "Z"]]), "Other", {}),
        (fk.Tree([["mild", "Other"], ["moderate", "Other"]]), "*", {}),
        (fk.Ordered(["mild", "moderate"]), "mild to moderate", {}),
        (fk.Ordered(["mild", "moderate"]), "*", {"q": "set"}),
        (None, "*", {}),
        (fk.Ordered(SCALE), '"mild" to "moderate"', {}),
    ],
)
def test_a_label_of_several_that_is_a_signature_of_the_priors_is_refused(hierarchy, label, styles):
    roles = {} if hierarchy is None else {"hierarchies": {"q": hierarchy}}
    values, disease = MIXED
    severe = hierarchy is not None and label == "Other"
    microdata = table_of(
        [*values, *["severe"] * 2 * severe], [*disease, *["HIV", "Flu"] * severe], **roles
    )
    groups = [0, 1, 1, 0, *[2, 2] * severe]
    policy = rule(priors_of({"mild": 934, "moderate": 66, label: 500, "severe": 500}))
    options = fk.PublishOptions(labels=styles)
    with pytest.raises(fk.NoSafeRelease, match=r"'q'.*bucketized") as refused:
        fk.publish(microdata, policy, method=Grouped(*groups), options=options)
    assert repr(label) in str(refused.value)


def test_a_node_above_one_value_is_not_that_value():
    """`FullDomain` may write a level above the members' own values: theirs is another signature."""
    tree = fk.Tree([["a", "A"], ["A", "B"], ["b", "B"]])
    microdata = table_of(["a", "a", "b", "b"], ["HIV", "Flu"] * 2, hierarchies={"q": tree})
    policy = rule(priors_of({"A": 500, "B": 500, "a": 10, "b": 10, "A (level 1)": 500}))
    assert fk.publish(microdata, policy, method=Grouped(0, 0, 1, 1)).audit.safe

    class Level1(Grouped):
        @property
        def traits(self):
            levels = {"q": np.array([1, 1])}
            made = Grouping(np.array(self.groups), levels)
            return fk.Traits(grouping=lambda *_, **__: made)

    with pytest.raises(fk.NoSafeRelease, match="'q'"):
        fk.publish(microdata, policy, method=Level1(0, 0, 1, 1))


def test_exact_columns_beside_others_are_judged_by_the_priors():
    schema = fk.Schema(quasi_identifiers=["q", "age"], sensitive="d")
    rows = pa.table({"q": ["a", "a", "b|c", "b|c"], "age": [1, 2, 3, 4], "d": ["HIV", "Flu"] * 2})
    policy = rule(priors_of({"a": 100, "b|c": 200}))
    made = fk.publish(fk.Microdata(rows, schema), policy, method=Grouped(0, 0, 1, 1))
    assert made.audit.safe
    assert {row["q"] for row in made.tables["release"].to_pylist()} == {"a", "b|c"}


def test_a_quoted_label_has_no_prior_in_an_audit_and_is_not_verified(tmp_path, monkeypatch):
    short_report(monkeypatch)
    microdata = table_of(*MIXED, hierarchies={"q": fk.Ordered(SCALE)})
    made = fk.publish(microdata, facts("3/5"), method=Grouped(0, 0, 1, 1))
    made.write(tmp_path / "out")
    policy = rule(priors_of({"mild": 934, "moderate": 66, "mild to moderate": 500}))
    release = fk.Release.from_generalized(
        tmp_path / "out" / "release.csv", quasi_identifiers=["q"], sensitive="d"
    )
    with pytest.raises(DataError, match='no probabilities for q "mild" to "moderate"'):
        fk.audit(release, policy)
    from foreknow_judge.errors import CertificateError
    from foreknow_judge.verdicts import verdicts as verify
    from foreknow_judge.written import Written

    written = Written("generalized", ("q",), "d", {"release": tmp_path / "out" / "release.csv"})
    with pytest.raises(CertificateError, match=r'no probability of .*"mild" to "moderate"'):
        verify(written, policy.to_dict()["require"])


PIECES = [*["a", "b", "to", "or", "missing", "|", '"', "*", " ", "'", "=", "(level 1)", "+"]] * 2
PIECES += [" to ", " | ", " or missing", '"a" to "b"', '"a" | "b"', "a to b", "a | b", "", "\n"]


def texts_of(chance, n, widest=3):
    found = set()
    while len(found) < n:
        found.add("".join(chance.choices(PIECES, k=chance.randrange(widest + 1))))
    return sorted(found)


def words_of(chance, n):
    """Texts that are one another's labels."""
    found = set(texts_of(chance, n, 2))
    while len(found) < n + 4:
        parts = chance.choices(sorted(found), k=chance.choice([2, 2, 3]))
        joined = chance.choice([" to ", " | ", " or ", ""]).join(parts)
        quoted = '"' + joined.replace('"', '""') + '"'
        found.add(chance.choice([joined, joined, quoted, joined + " or missing", joined + "+"]))
    return sorted(found)


def hierarchy_of(chance, kind, texts):
    if kind == "order":
        return fk.Ordered(chance.sample(texts, len(texts)))
    texts = [text for text in dict.fromkeys(text.strip() for text in texts) if text != ""]
    words, parents = [*texts, "*", "a (level 1)", "a (level 1)+", "a (level 2)"], {}
    rows = []
    for text in texts:
        low = chance.choice(words)
        rows.append([text, low, parents.setdefault(low, chance.choice(words))])
    return fk.Tree(rows)


def _leaves(tree):
    return [row[0] for row in tree.rows]


def case_of(chance):
    """An attribute with a few values, groups of them, their least levels, and a style."""
    kind = chance.choice(["text", "text", "order", "order", "tree", "tree", "mask", "number"])
    values, hierarchy, listed = words_of(chance, chance.randrange(2, 5)), None, []
    if kind == "number":
        values = chance.sample(range(-5, 9), 4)
    elif kind == "mask":
        values = chance.sample(["".join(t) for t in itertools.product("01*", repeat=2)], 4)
        hierarchy = fk.Mask(2, chance.choice("*01"))
    elif kind in ("order", "tree"):
        hierarchy = hierarchy_of(chance, kind, values)
        values = listed = list(hierarchy.values) if kind == "order" else _leaves(hierarchy)
    values = chance.sample(values, chance.randrange(1, min(len(values), 5) + 1))
    domain = values + [None] * (chance.random() < 0.5)
    rows, groups, n = [*domain], [0] * len(domain), 1
    for _ in range(chance.randrange(1, 6)):
        own = chance.sample(domain, chance.randrange(1, min(len(domain), 3) + 1))
        rows, groups, n = [*rows, *own], [*groups, *[n] * len(own)], n + 1
    roles = {} if hierarchy is None else {"hierarchies": {"q": hierarchy}}
    typed = pa.array(rows, pa.int64() if kind == "number" else pa.string())
    schema = fk.Schema(quasi_identifiers=["q"], sensitive="d", **roles)
    microdata = fk.Microdata(pa.table({"q": typed, "d": ["x"] * len(rows)}), schema)
    style = {"tree": "hierarchy", "mask": "hierarchy", "text": "set"}.get(kind, "range")
    if kind != "text":
        style = chance.choice([style, style, "set", "range"])
    try:
        top = max(1, len(microdata.attributes[0].ancestors))
    except HierarchyError:  # a node called "missing" beside nulls
        return case_of(chance)
    floor = np.array([chance.choice([0, 0, 0, *range(top + 1)]) for _ in range(n)])
    return microdata, np.array(groups), n, style, floor, hierarchy, listed


def meaning(attribute, members, style, floor):
    """What a group is published to cover: its values by their codes, and whether it is exact."""
    if style == "hierarchy":
        for level, nodes in enumerate([np.arange(len(attribute.domain)), *attribute.ancestors]):
            found = {int(nodes[code]) for code in members}
            if level >= floor and len(found) == 1:
                under = np.flatnonzero(nodes == found.pop())
                return tuple(under.tolist())
    if floor >= max(1, len(attribute.ancestors)):
        return tuple(range(len(attribute.domain)))
    if style == "set":
        return tuple(sorted(members))
    known = sorted(code for code in members if attribute.domain[code] is not None)
    null = tuple(sorted(members)[:1]) if len(known) < len(members) else ()
    if not known:
        return null
    return (*null, *range(known[0], known[-1] + 1))


def check(chance):
    """One random column: how many labels it has."""
    microdata, groups, n, style, floor, hierarchy, listed = case_of(chance)
    (found,) = microdata.attributes
    written = coarsened(found, groups, n, style, floor).labels
    meant = {}
    for g, label in enumerate(written):
        members = set(found.codes[groups == g].tolist())
        means = meaning(found, members, style, int(floor[g]))
        assert meant.setdefault(label, means) == means, (found.domain, style, label)
        # A text of a value, had or not, stands for just that value.
        exact = len(means) == 1 and label == (
            None if found.domain[means[0]] is None else str(found.domain[means[0]])
        )
        assert exact or label not in map(str, [*found.domain, *listed]), (found.domain, label)
        assert (label is None) == (exact and found.domain[means[0]] is None)
    read = covers_of_texts(found, positions_of(found, hierarchy), list(meant), style)
    labels_at, codes = members_of(read)
    for i, means in enumerate(meant.values()):
        assert tuple(codes[labels_at == read.of_group[i]].tolist()) == means
    return len(meant)


@pytest.mark.parametrize(
    ("many", "seed"), [(1_000, 13), pytest.param(100_000, None, marks=pytest.mark.slow)]
)
def test_no_two_labels_of_a_column_are_alike(many, seed):
    chance, seen = random.Random(seed), 0
    while seen < many:
        seen += check(chance)
