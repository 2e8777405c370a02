"""What an attack finds, says and refuses; only what a method declares is taken for granted."""

import json
from fractions import Fraction
from itertools import count, permutations

import numpy as np
import pyarrow as pa
import pytest
from tests.attacks.small_methods import (
    BELOW_2_3,
    BUCKETS,
    DIVERSE,
    LEVELS,
    Coin,
    microdata,
    naive,
    policy_for,
    release_of,
)

import foreknow as fk
from foreknow_judge.errors import UnsupportedError

pytestmark = pytest.mark.usefixtures("tiny_tables")

HALF = Fraction(1, 2)
AGES, VALUES = [50, 40, 50, 30, 30], ["flu", "hiv", "hiv", "flu", "flu"]


def attacked(values, method, policy=None, **how):
    """An attack on people of ages 0, 1, ..."""
    return fk.attack(microdata(values, age=range(len(values))), method, policy, **how)


def values_of(rows):
    return rows["disease"].to_pylist()


# ---- known breaches are found without being told -------------------------------------------------


def test_the_introduction_of_k_jump():
    """Tables 1 to 3: of 36 worlds four are left, in which Charlie and David have cancer."""
    values = ["flu", "cold", "cancer", "cancer", "headache", "toothache"]
    made = attacked(values, naive(["AB|CD|EF", "ABC|DEF", "ABCD|EF"]))
    assert (made.n_worlds, made.consistent, made.certain) == (36, 4, (3, 4))
    assert [case.value for case in made.cases[:2]] == ["cancer", "cancer"]
    assert made.posterior(1, "flu") == made.posterior(5, "toothache") == HALF
    assert repr(made) == "Attack(pipeline: 2 of 6 people certain)"


BELOW_3_4 = fk.Policy([fk.Requirement(fk.Facts(), below="3/4", knowing=[])])
SEVEN = {"age": [0, 3, 2, 3, 1, 2, 2], "sex": [1, 0, 0, 1, 0, 0, 1]}
EIGHT = {"age": [2, 1, 1, 1, 2, 1, 1, 1], "sex": [0, 0, 0, 0, 1, 0, 1, 0]}
BEST, CHAIN, MINIMAL = (fk.FullDomain(find=find) for find in ("best", "chain", "minimal"))
FEW = fk.FullDomain(suppression=0.4)

# Found by random search: people and their diseases; worlds, those left, and who is certain.
LEAKS = [
    (fk.Mondrian(), DIVERSE, {"age": [0, 1, 2, 0, 3]}, "bbaba", (10, 2), (2,)),
    (fk.Mondrian(), DIVERSE, {"age": [3, 2, 3, 1, 1]}, "baabb", (6, 2), (2, 4, 5)),
    (fk.Mondrian(), DIVERSE, SEVEN, "bbabbab", (21, 1), (1, 2, 3, 4, 5, 6, 7)),
    (fk.Mondrian(), BELOW_2_3, {"age": [3, 2, 0, 1, 5, 2]}, "acbcab", (24, 4), (1, 5)),
    (BEST, DIVERSE, {"age": [4, 4, 1, 2, 4], "sex": [1, 0, 0, 1, 1]}, "caabc", None, range(1, 6)),
    (CHAIN, DIVERSE, {"age": [1, 0, 3, 4, 4], "sex": [0, 1, 0, 1, 0]}, "cbcba", None, range(1, 6)),
    (MINIMAL, BELOW_3_4, EIGHT, "cbaacccb", (420, 30), (1, 5, 7)),
    # Who is suppressed, and who is not, tells more than the groups.
    (FEW, DIVERSE, {"age": [3, 4, 1, 1, 3, 4]}, "bacbaa", (60, 16), ()),
]


@pytest.mark.parametrize(("method", "policy", "columns", "values", "worlds", "certain"), LEAKS)
def test_methods_leak(method, policy, columns, values, worlds, certain):
    levels = {} if isinstance(method, fk.Mondrian) else LEVELS
    found = microdata(list(values), levels, **columns)
    made = fk.attack(found, method, policy_for(policy, found))
    assert worlds in (None, (made.n_worlds, made.consistent))
    assert made.certain == tuple(certain)
    assert made.found == bool(certain)
    assert all(made.posterior(row, values[row - 1]) == 1 for row in certain)
    assert made.runs < 60  # people of one age and sex are dealt to once
    if method == FEW:
        assert (made.worst.exact, made.worst.share) == (Fraction(3, 4), HALF)


def test_gda_leaks_at_four_people(caplog):
    """Errata, section 4: {1, 3}: ab and {2, 4}: ac come from one table only."""
    made = attacked("aabc", fk.Streamliner(2, "gda"), seeds=range(40))
    assert (made.exact, made.how) == (True, "enumeration")
    assert (made.n_worlds, made.consistent, made.n_groups) == (4, 1, 2)
    assert made.certain == (1, 2, 3, 4)
    assert [made.posterior(row, value) for row, value in ((1, "a"), (3, "b"), (4, "c"))] == [1] * 3
    # It warns once however often it is run.
    assert len([r for r in caplog.records if "GDA is unsafe" in r.getMessage()]) == 1


TABLES = ["".join(values) for values in sorted(set(permutations("aabc")))]


@pytest.mark.parametrize("method", [fk.Streamliner(2), fk.Anatomy(2)], ids=repr)
def test_a_seed_that_everybody_knows(method):
    """Errata, section 4: who can repeat the lots is certain; who cannot learns nothing."""
    public = [attacked(values, method, seeds=[7]) for values in TABLES]
    assert max(case.exact for made in public for case in made.cases) == 1
    assert any(made.certain for made in public)
    for values in TABLES:
        secret = attacked(values, method)
        assert (secret.how, secret.cases) == ("proof", ())
    with pytest.raises(fk.InputError, match="goes by the order of rows"):
        attacked("aabbcd", method, seeds=[0], symmetric=True)


# ---- what it says --------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def leaking():
    """Three of five people are certain."""
    found = microdata(VALUES, age=AGES)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("foreknow.policy.policy.SHARED", 1)
        yield fk.attack(found, fk.Mondrian(), policy_for(DIVERSE, found))


def test_what_it_finds(leaking):
    assert leaking.certain == (2, 4, 5)
    assert [case.rows for case in leaking.cases[:2]] == [(2,), (4, 5)]
    assert (leaking.n_people, leaking.n_groups) == (5, 2)
    assert (leaking.worst.exact, leaking.worst.limit) == (1, 1)
    with pytest.raises(fk.InputError, match="row 9"):
        leaking.posterior(9, "flu")
    with pytest.raises(fk.InputError, match="'cough'"):
        leaking.posterior(1, "cough")
    # Nobody is named unless asked.
    assert [one["row"] for one in leaking.worst_people()] == [2, 4, 5]
    named = leaking.worst_people(2, names="pid")
    assert [one["name"] for one in named] == [1, 3]
    assert all("row" not in one for one in named)
    with pytest.raises(fk.InputError, match="'nam'"):
        leaking.worst_people(names="nam")


def test_how_it_is_shown(leaking, tmp_path):
    assert repr(leaking) == "Attack(Mondrian: 3 of 5 people certain)"
    brief = leaking._repr_html_()
    assert "3 people are certain" in brief
    assert "rows 4, 5" in brief
    leaking.to_html(tmp_path / "attack.html")
    page = (tmp_path / "attack.html").read_text("utf-8")
    assert "Attack by an adversary who knows the algorithm" in page
    leaking.to_json(tmp_path / "attack.json")
    written = json.loads((tmp_path / "attack.json").read_text("utf-8"))
    assert written["certain"] == [2, 4, 5]
    assert written["method"] == {"name": "Mondrian", **fk.Mondrian().to_dict()}
    assert (written["worlds"], written["consistent"]) == ("6", "2")
    pair = microdata(["flu", "hiv"], age=[30, 40])
    harmless = fk.attack(pair, fk.Mondrian(), policy_for(DIVERSE, pair))
    assert repr(harmless) == "Attack(Mondrian: nobody found out any further)"
    assert not harmless.found
    proved = attacked(list("abcd") * 30, fk.Streamliner(2), seed=1)
    assert repr(proved) == "Attack(Streamliner: nobody found out any further)"
    assert "by a proof" in proved._repr_html_()
    assert "as long as the seed is secret" in proved._repr_html_()
    assert (proved.to_dict()["how"], proved.to_dict()["looked"]) == ("proof", "0")


def test_the_adversary_of_a_method():
    """What a witness says; it is judged but not searched for; another method is told."""
    found = microdata(VALUES, age=AGES)
    policy = policy_for(DIVERSE, found)
    release = release_of(VALUES, fk.Mondrian().partition(found, policy), age=AGES)
    adversary = fk.Algorithm(fk.Mondrian(), policy)
    disclosure = adversary.disclosure(release, "hiv")
    assert (disclosure.exact, disclosure.witness.signature) == (1, {"age": 40})
    assert disclosure.to_dict()["witness"]["group"] == disclosure.witness.group
    assert adversary.disclosure(release, "cough").probability == 0
    assert not adversary.monotone()
    assert adversary.to_dict() == {"algorithm": {"name": "Mondrian", **fk.Mondrian().to_dict()}}
    assert repr(adversary) == f"Algorithm({fk.Mondrian()!r})"
    stricter = fk.Policy([fk.Requirement(adversary, below="0.9")])
    assert fk.audit(release, policy).safe
    assert not fk.audit(release, stricter).safe
    says = "Algorithm needs groups that are finished, .*; judge the release"
    for method in (fk.Mondrian(), fk.FullDomain()):
        with pytest.raises(fk.InputError, match=says):
            method.partition(found, policy_for(stricter, found))
    schema = fk.Schema(quasi_identifiers=["age"], sensitive="disease")
    policy = fk.Policy(DIVERSE.requirements, schema)
    own, other = (release_of("abab", g, age=[1, 2, 3, 4]) for g in ([0] * 4, [0, 1, 0, 1]))
    assert fk.Algorithm(fk.Mondrian(), policy).disclosure(own).exact is not None
    for more in ({}, {"worlds": 3}):
        with pytest.raises(fk.InputError, match="is it the method"):
            fk.Algorithm(fk.Mondrian(), policy, **more).disclosure(other)


# ---- what a reader sees --------------------------------------------------------------------------


def test_rows_that_are_left_out():
    """Their values are one more bag; who is left out is seen, which no release says."""
    found = attacked(
        ["flu", "rare", "flu", "hiv"],
        lambda rows: [None if value == "rare" else 0 for value in values_of(rows)],
    )
    assert found.n_groups == 2
    assert found.posterior(2, "rare") == 1
    assert found.left_out == found.certain == (2,)
    assert found.worst.share == Fraction(1, 4)
    assert found.certain_by_release == ()
    assert found.found
    assert "One person is left out of the release" in found._repr_html_()
    dropped = fk.Schema(quasi_identifiers=["age"], sensitive="disease", missing="drop")
    rows = pa.table({"age": [1, 2, 3, 4], "disease": ["a", None, "b", "a"]})
    found = fk.attack(fk.Microdata(rows, dropped), lambda table: [0] * table.num_rows)
    assert (found.n_people, found.n_worlds) == (3, 3)
    with pytest.raises(fk.InputError, match="row 2"):
        found.posterior(2, "a")
    # Rows 1 to 3 are left out if row 4 has a: what they have together stays the same.
    found = attacked(
        "abbab", lambda rows: [None] * 3 + [0, 0] if values_of(rows)[3] == "a" else [0] * 5
    )
    assert (found.n_worlds, found.consistent) == (6, 3)
    assert (found.left_out, found.certain) == ((1, 2, 3), (4, 5))
    assert {found.posterior(row, "a") for row in (1, 2, 3)} == {Fraction(1, 3)}


def test_labels_are_seen_of_others():
    """Ages 10, 19 and 20, 29 as two groups, or all four under the label of all: told apart."""

    class Grouped:
        def partition(self, found, policy=None, seed=None):
            first = found.values[int(found.sensitive_codes[0])]
            # the last one is left out; the others are in two groups that bear one label or two
            return np.array([0, 1, 0, 1, -1] if first == "a" else [0, 0, 1, 1, -1])

    # Labels: in the first case 0-99 for all four, so that to a reader they are one group.
    levels, ages = {"age": fk.Intervals([10, 100])}, [10, 19, 20, 29, 55]
    found = microdata(list("abbac"), levels, age=ages)
    one = fk.attack(found, Grouped(), policy_for(DIVERSE, found))
    assert (one.n_worlds, one.consistent, one.certain) == (6, 3, (1, 5))
    two = fk.attack(found, Grouped(), fk.Policy(DIVERSE.requirements, found.schema, BUCKETS))
    assert (two.n_worlds, two.consistent) == (4, 2)


def test_certain_by_the_release_itself():
    """Rows 1 and 2 share a group of a only; of 3 and 4 the algorithm tells who has b."""
    found = attacked("aabc", lambda rows: [0, 0, 1, 1] if values_of(rows)[2] == "b" else [0] * 4)
    assert (found.certain_by_release, found.certain) == ((1, 2), (3, 4))
    assert all(case.rows not in ((1,), (2,)) for case in found.cases)
    page = found._repr_html_()
    assert "2 people are certain because of the algorithm" in page
    assert "2 people are certain from the release itself" in page
    written = found.to_dict()
    assert (written["certain"], written["certain_by_release"]) == ([3, 4], [1, 2])
    plain = attacked("aabc", lambda rows: [0, 0, 1, 1])
    assert (plain.certain, plain.certain_by_release, plain.found) == ((), (1, 2), False)
    assert "adds nothing; 2 people are certain without it" in plain._repr_html_()


# ---- what is published when nothing is -----------------------------------------------------------


def test_nothing_published_can_tell():
    """Errata, section 5: of the six tables without a release all have a in rows 3 and 4."""
    pipeline = naive(["BCD|AE", "ACD|BE"])
    nothing = [
        values
        for values in sorted(set(permutations("aabcd")))
        if pipeline(pa.table({"disease": values})) is None
    ]
    assert len(nothing) == 6
    found = fk.attack(microdata(nothing[0], age=[0] * 5), pipeline, nothing=True)
    assert (found.what, found.n_worlds, found.consistent) == ("nothing", 60, 6)
    assert found.certain == (3, 4)
    for person in range(5):
        for value in "abcd":
            hits = sum(values[person] == value for values in nothing)
            assert found.posterior(person + 1, value) == Fraction(hits, 6)
    assert found.worst.share == Fraction(2, 5)
    page = found._repr_html_()
    assert "nothing is published of 5 people" in page
    assert "know how often each value occurs in the whole" in page
    assert "6 could have led to nothing being published" in page
    assert found.to_dict()["seen"] == "nothing"


class Slow:
    """Exact counting that is beyond reach in some worlds."""

    def partition(self, found, policy=None, seed=None):
        if found.values[int(found.sensitive_codes[0])] == "b":
            raise fk.BeyondReach("too many steps")
        return np.zeros(found.n_rows, dtype=int)


def test_worlds_beyond_reach():
    """They are worlds without a release."""
    found = attacked("abab", Slow())
    assert (found.n_worlds, found.consistent, found.certain) == (6, 3, (1,))
    with pytest.raises(fk.InputError, match="too many steps"):
        attacked("baab", Slow())
    assert attacked("baab", Slow(), nothing=True).certain == (1,)


# ---- only what a method declares -----------------------------------------------------------------


def test_subclasses_that_say_so():
    class Known(fk.Mondrian):
        traits = fk.Traits(symmetric=True)

        def partition(self, microdata, policy=None, seed=None):
            return fk.Mondrian().partition(microdata, policy)

    class Inherits(Known):
        def partition(self, microdata, policy=None, seed=None):
            return super().partition(microdata, policy)

    class Alike(fk.Anatomy):
        """Nothing of its own: still another class, of which nothing is known."""

    table = microdata("ababab", age=[30] * 6)
    policy = policy_for(DIVERSE, table)
    runs = [fk.attack(table, method, policy).runs for method in (Known(), Inherits())]
    assert runs[0] < 20 <= runs[1]
    with pytest.raises(fk.InputError, match="what its class inherits does not count"):
        attacked("abcabc", Alike(2))
    assert attacked("abcabc", Alike(2), seeds=[1]).exact


def test_what_is_wrongly_called_symmetric():
    table = microdata("abcabc", age=[30] * 6)

    def pipeline(rows):
        return [0] * 6 if values_of(rows)[0] == "a" else [0, 0, 0, 1, 1, 1]

    with pytest.raises(fk.InputError, match="is said to be symmetric"):
        fk.attack(table, pipeline, symmetric=True)
    pipeline.traits = fk.Traits(symmetric=True)
    with pytest.raises(fk.InputError, match="is said to be symmetric"):
        fk.attack(table, pipeline)
    assert fk.attack(table, pipeline, symmetric=False).certain == (1,)


class Either(fk.Mondrian):
    """One of two groupings by lot."""

    lots = np.random.default_rng(1)

    def partition(self, microdata, policy=None, seed=None):
        return np.array([[0, 0, 0, 0, 0, 0], [0, 0, 0, 1, 1, 1]][self.lots.integers(2)])


class Moody(fk.Facts):
    """An adversary of the user's own who answers otherwise each time."""

    calls = count()

    def ledger(self, threshold, values=None, semantics="single"):
        return fk.Facts().ledger(1 if next(self.calls) % 2 else "2/3", values)


def changing(steady):
    """A function that behaves otherwise after some runs."""
    calls = count()

    def pipeline(rows):
        late = next(calls) > steady
        return [0] * 6 if (values_of(rows)[0] == "a") != late else [0, 0, 0, 1, 1, 1]

    return pipeline


def ending():
    """A function that publishes nothing after some runs."""
    calls = count()
    return lambda rows: [0] * rows.num_rows if next(calls) < 150 else None


@pytest.mark.parametrize(
    ("values", "method", "requirements", "how"),
    [
        ("abcabc", Either(), DIVERSE.requirements, {}),
        ("aabaabab", fk.Mondrian(), [fk.Requirement(Moody(), below=1)], {}),
        ("abcabc", changing(0), (), {}),
        ("abcabc", changing(40), (), {}),  # seen when worlds are run again
        ("abcabc", Coin(["AB|CD|EF", "ABC|DEF", "ABCD|EF", "AB|CDEF"]), (), {}),
        # Of this table there is one safe grouping only; of its worlds there are several.
        ("aaabcc", Coin(["AB|CD|EF", "ABC|DEF", "ACE|BDF", "ABCDEF"]), (), {}),
        # Worlds met by an estimate are run again.
        ("abcdefghi", ending(), (), {"worlds": 140, "seed": 0}),
    ],
)
def test_random_functions_are_noticed(values, method, requirements, how):
    columns = {"age": range(len(values)), "sex": [i % 2 for i in range(len(values))]}
    table = microdata(values, {"age": fk.Intervals([2, 4])}, **columns)
    policy = fk.Policy(requirements, table.schema, BUCKETS) if requirements else None
    with pytest.raises(fk.InputError, match="another release each time") as caught:
        fk.attack(table, method, policy, **how)
    assert "say seeds" in str(caught.value)


def test_seeds_of_a_function():
    found = attacked(
        "abab", lambda rows, seed: [0, 1, 0, 1] if seed else [0, 0, 1, 1], seeds=[0, 1]
    )
    assert (found.exact, found.n_groups) == (True, 2)
    with pytest.raises(fk.InputError, match=r"define it as f\(table, seed\)"):
        attacked("abab", lambda rows: [0] * 4, seeds=[0])
    lots = np.random.default_rng(0)
    with pytest.raises(fk.InputError, match="with the same seed"):
        attacked("abab", lambda rows, seed: lots.integers(0, 2, 4).tolist(), seeds=[0])


# ---- what is refused -----------------------------------------------------------------------------


def broken(rows):
    raise KeyError("age")


class Odd:
    """Published, though it cannot be compared."""

    def __eq__(self, other):
        raise RuntimeError("not today")

    __hash__ = None


def five(rows):
    return [0] * 5


NOTHING, NO_GROUPS = {"nothing": True}, [5, "groups", [[0, 1], [2]], {0: 1}, np.zeros((2, 2))]


@pytest.mark.parametrize(
    ("method", "more", "said"),
    [
        (fk.Mondrian, {}, "not its class"),
        (17, {}, "is no method"),
        (broken, {}, "KeyError: 'age'"),
        (lambda rows: [0], {}, "one for each of the 5 rows"),
        (lambda rows: [[0]] * 5, {}, "one group for each row"),
        *((lambda rows, given=given: given, {}, "one group for each") for given in NO_GROUPS),
        (lambda rows: ([0] * 5, Odd()), {}, "cannot be compared, Odd with Odd: not today"),
        (five, NOTHING, "publishes something"),
        (fk.Anatomy(2), NOTHING, "not of publishing nothing"),
        (lambda rows: ([0] * 5, np.zeros(2)), {}, "cannot be compared, ndarray with ndarray"),
        (lambda rows: None, {**NOTHING, "groups": [0] * 5}, "there is none"),
        (lambda rows: None, {"nothing": "yes"}, "nothing is True or False"),
        (lambda rows: None, {"symmetric": "no"}, "symmetric is True or False"),
        (fk.FullDomain(seconds=1), {}, "time budget"),
        (fk.Mondrian(), {"worlds": 0}, "worlds"),
        (fk.Mondrian(), {"seconds": 0}, "seconds"),
        (fk.Mondrian(), {"seed": -1}, "seed"),
        (fk.Mondrian(), {"seeds": []}, "seeds"),
        (fk.Mondrian(), {"groups": [0, 0]}, "5 rows"),
        (fk.Mondrian(), {"groups": [0, 1, 0, 1, 0]}, "does not make these groups"),
    ],
)
def test_what_is_refused(method, more, said):
    found = microdata(VALUES, age=AGES)
    with pytest.raises(fk.InputError, match=said):
        fk.attack(found, method, policy_for(DIVERSE, found), **more)


SEVERAL = {"semantics": "set", "person": "pid"}


def test_tables_and_adversaries_refused():
    found = microdata(VALUES, LEVELS, age=AGES)
    with pytest.raises(fk.InputError, match="Microdata"):
        fk.attack(pa.table({"a": [1]}), fk.Mondrian())
    several = fk.Schema(quasi_identifiers=["age"], sensitive="disease", **SEVERAL)
    rows = pa.table({"pid": [1, 1, 2], "age": [3, 3, 4], "disease": ["a", "b", "a"]})
    with pytest.raises(fk.InputError, match="one sensitive value"):
        fk.attack(fk.Microdata(rows, several), fk.Mondrian())
    rows = pa.table({"age": [1] * 4, "disease": list("aabb")})
    priors = fk.Priors.learn(rows, ["age"], "disease")
    policy = fk.Policy([fk.Requirement(priors, at_most_times=2, knowing=[])])
    with pytest.raises(UnsupportedError, match="at_most_times is for priors; give below"):
        fk.attack(microdata("aabb", age=[1] * 4), fk.Streamliner(2), policy)
    counts = fk.GroupCounts.from_bags([["a", "b"]])
    release, schema = release_of("ab", [0, 0], age=[1, 2]), found.schema
    constant = lambda table: [0, 0]  # noqa: E731
    for adversary, judged, says in [
        (fk.Algorithm(fk.Mondrian()), counts, "schema"),
        (fk.Algorithm(fk.Mondrian(), schema=schema), counts, "who is in which group"),
        (fk.Algorithm(constant, schema=schema), release, "symmetric=True"),
    ]:
        with pytest.raises(fk.InputError, match=says):
            adversary.disclosure(judged)
    adversary = fk.Algorithm(constant, schema=schema, symmetric=True)
    assert adversary.disclosure(release).exact == HALF
