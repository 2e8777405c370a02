"""The seams: one of each kind, added by one registration, is served everywhere."""

import numpy as np
import pyarrow as pa
import pyarrow.csv as pc
import pytest
from tests.cli.desk import Desk
from tests.toys import EvenGroups, Friends

import foreknow as fk
from foreknow.adversaries import registry as adversaries
from foreknow.adversaries.protocol import counts_of
from foreknow.criteria import registry as criteria
from foreknow.methods import registry as methods
from foreknow.methods.protocol import Grouper, Grouping, Traits, grouping_of
from foreknow.needs import Need
from foreknow_judge.criteria import GAUGES
from foreknow_judge.kinds import TClosenessSettings
from foreknow_judge.knowledge import VERIFIERS
from foreknow_judge.settings import Settings

# ---- what is there ----------------------------------------------------------------------------


@pytest.mark.parametrize("kind", adversaries.ADVERSARIES, ids=lambda kind: kind.key)
def test_every_kind_of_knowledge_has_a_judge_and_reads_what_it_writes(kind, tmp_path):
    assert kind.key in VERIFIERS, "add a line to VERIFIERS in foreknow_judge/knowledge.py"
    table = {"sex": ["m"], "value": ["a"], "probability": ["1/2"]}
    given = {"priors": [pa.table(table)]}
    made = kind(*given.get(kind.key, []))
    written = made.to_dict()
    assert list(written) == [kind.key]
    read = kind.settings.model_validate(written[kind.key])
    assert kind.from_settings(read, tmp_path) == made


@pytest.mark.parametrize("criterion", criteria.CRITERIA, ids=lambda criterion: criterion.key)
def test_every_criterion_has_a_gauge_that_declares_the_same(criterion):
    assert criterion.key in GAUGES, "add a line to GAUGES in foreknow_judge/criteria.py"
    gauge = GAUGES[criterion.key]
    assert gauge.of_people == criterion.of_people == (Need.ONE_VALUE not in criterion.needs)
    assert gauge.of_classes == (criterion.of_groups is not None)
    assert gauge.of_population == (Need.POPULATION in criterion.needs)
    assert gauge.of_sets(TClosenessSettings(t=1)) == (Need.NO_SETS not in criterion.needs)


@pytest.mark.parametrize("kind", adversaries.ADVERSARIES, ids=lambda kind: kind.key)
def test_every_judge_declares_what_its_kind_does(kind):
    judge = VERIFIERS[kind.key]
    assert judge.of_several == (Need.ONE_VALUE not in kind.needs)
    assert judge.of_windows == (Need.NO_WINDOWS not in kind.needs)
    assert judge.relative == (Need.ABSOLUTE not in kind.needs)


class Together(Grouper):
    """One group, in a coarse label."""

    traits = Traits()

    def grouping(self, microdata, policy=None, seed=None):
        return Grouping(np.zeros(microdata.n_rows, np.int64), {"age": np.array([1])})


class Alone(Together):
    """Everybody by themselves."""

    def partition(self, microdata, policy=None, seed=None):
        return np.arange(microdata.n_rows)


def test_a_grouping_needs_no_declaration():
    ages = pa.table({"age": [20, 30], "ill": ["flu", "cold"]})
    microdata = fk.Microdata(ages, fk.Schema(quasi_identifiers=["age"], sensitive="ill"))
    policy = fk.Policy([fk.Requirement(fk.KAnonymity(1))])
    together, alone = (grouping_of(kind(), microdata, policy, None) for kind in (Together, Alone))
    assert (list(together.of_row), list(together.floors)) == ([0, 0], ["age"])
    assert (list(alone.of_row), alone.floors) == ([0, 1], None)


@pytest.mark.parametrize("key", [key for key, _ in methods.METHODS])
def test_every_method_declares_its_settings_and_traits(key):
    method = methods.kind_of(key)
    assert method.key == key
    assert issubclass(method.settings, Settings)
    assert "traits" in vars(method) or method.key == "art"


# ---- a toy of each ----------------------------------------------------------------------------

POLICY = """
[schema]
quasi_identifiers = ["age"]
sensitive = "disease"

[[require]]
friends = { many = 1 }
below = "3/4"

[[require]]
even_groups = 2

[[require]]
k_anonymity = 2

[publish]
labels = { age = "exact" }
"""


AGES = [20, 21, 30, 31, 40, 41, 50, 51]


@pytest.fixture
def registered(monkeypatch):
    """One more of each, in its tuple."""
    assert fk.publish  # whose modules keep the tuple of methods that they first see
    monkeypatch.setattr(adversaries, "ADVERSARIES", (*adversaries.ADVERSARIES, Friends))
    monkeypatch.setattr(criteria, "CRITERIA", (*criteria.CRITERIA, EvenGroups))
    monkeypatch.setattr(methods, "METHODS", (*methods.METHODS, ("pairs", "tests.toys:Pairs")))


@pytest.fixture
def place(tmp_path):
    table = pa.table({"age": AGES, "disease": list("abcdabcd")})
    pc.write_csv(table, tmp_path / "people.csv")
    (tmp_path / "policy.toml").write_text(POLICY)
    return tmp_path


@pytest.mark.usefixtures("registered")
def test_toys_are_read_searched_for_audited_written_and_verified(place):
    policy = fk.Policy.load(place / "policy.toml")
    assert [r.criterion for r in policy.requirements] == [None, EvenGroups(2), fk.KAnonymity(2)]
    assert fk.Policy.from_dict(policy.to_dict()).to_dict() == policy.to_dict()
    microdata = fk.Microdata(place / "people.csv", policy.schema)
    made = fk.publish(microdata, policy)
    sizes = made.release.counts.sizes
    assert len(sizes) == 2  # the toy adversary allows no pairs: 1 of 1 would be certain
    assert all(sizes % 2 == 0)
    assert made.audit.safe
    made.write(place / "out")
    assert len(fk.verify(place / "out").findings) == 3


@pytest.mark.usefixtures("registered")
def test_toys_that_fail_are_unsafe_and_no_certificate_hides_it(place):
    rules = [fk.Requirement(Friends(1), below="3/4"), fk.Requirement(EvenGroups(2))]
    counts = fk.GroupCounts.from_bags(["abc", "abcd"])
    audit = fk.audit(counts, fk.Policy(rules))
    assert [v.safe for v in audit.verdicts] == [True, False]
    assert [c.safe for c in audit.criteria] == [False]
    assert not audit.safe
    assert audit.to_dict()["verdicts"][1]["worst"]["exact"] == "1"


@pytest.mark.usefixtures("registered")
def test_the_command_line_serves_toys(tmp_path, monkeypatch, capsys):
    desk = Desk(tmp_path, monkeypatch, capsys)
    monkeypatch.chdir(tmp_path)
    people = [f"{age},{disease}" for age, disease in zip(AGES, "abcdabcd", strict=True)]
    desk.put("table.csv", "\n".join(["age,disease", *people]))
    desk.put("policy.toml", POLICY)
    code, _, err = desk.run(*desk.publish())
    assert code == 0, err
    code, out, err = desk.run("verify", "out")
    assert code == 0, err
    assert "even_groups = 2" in out
    assert "this is about groups, and not about what anyone can infer" in " ".join(out.split())
    pairs = ["--method", "pairs", "--set", "size=4"]
    code, _, err = desk.run(*desk.publish(*pairs, out="two"))
    assert code == 0, err
    said = desk.refused(*desk.publish("--method", "pairs", "--set", "size=3", out="three"), code=1)
    assert "people are left over" in said
    said = desk.refused(*desk.publish("--method", "pairs", "--set", "sise=3", out="three"))
    assert "did you mean 'size'" in said
    code, out, _ = desk.run("audit", "two", "--policy", "policy.toml", "--html", "audit.html")
    assert code == 0, out
    page = (tmp_path / "audit.html").read_text("utf-8")
    for said in (out, page):
        assert "Safe: all 3 requirements hold" in said
        assert "even_groups = 2: 0 people are left over." in said
        assert "k_anonymity = 2: the smallest group has 4 people, the least is 2." in said


# ---- what must not pass -------------------------------------------------------------------------


class Diverse(fk.KAnonymity):
    """Asks for more than it inherits."""

    def holds(self, release):
        counts = counts_of(release)
        return all(len(counts.bag(g)) >= self.k for g in range(counts.n_groups))


class Unknown(fk.KAnonymity):
    """A criterion that nobody registered."""

    key = "unknown"

    def to_dict(self):
        return {"unknown": self.k}


def test_a_criterion_is_safe_only_by_all_that_it_says():
    required = fk.Policy([fk.Requirement(Diverse(2))])
    assert not fk.audit(fk.GroupCounts.from_bags(["aa", "bb"]), required).safe
    assert fk.audit(fk.GroupCounts.from_bags(["ab", "ab"]), required).safe


def test_a_criterion_that_the_verifier_does_not_know_is_not_published(place):
    microdata = fk.Microdata(
        place / "people.csv", fk.Schema(quasi_identifiers=["age"], sensitive="disease")
    )
    with pytest.raises(fk.ForeknowError, match="'unknown'"):
        fk.publish(microdata, fk.Policy([fk.Requirement(Unknown(2))]))


def test_a_criterion_stands_by_itself_in_a_policy():
    for beside in ({"facts": {"l": 1}, "below": 0.5}, {"facts": [{"l": 1, "below": 0.5}]}):
        with pytest.raises(fk.InputError, match=r"require\[0\]: k_anonymity stands by itself"):
            fk.Policy.from_dict({"require": [{"k_anonymity": 5, **beside}]})


def test_the_verifier_counts_the_smallest_group_itself(place):
    schema = fk.Schema(quasi_identifiers=["age"], sensitive="disease")
    required = fk.Policy([fk.Requirement(fk.KAnonymity(4))])
    made = fk.publish(fk.Microdata(place / "people.csv", schema), required)
    smallest = int(made.release.counts.sizes.min())
    assert fk.KAnonymity(smallest).holds(made.release)
    assert not fk.KAnonymity(smallest + 1).holds(made.release)
    made.write(place / "out")
    for k, holds in ((1, True), (smallest, True), (smallest + 1, False), (10**6, False)):
        policy = fk.Policy([fk.Requirement(fk.KAnonymity(k))], schema)
        if holds:
            assert fk.verify(place / "out", policy).findings[0].reached == smallest
        else:
            with pytest.raises(fk.InputError, match=r"k_anonymity.* does not hold"):
                fk.verify(place / "out", policy)


# ---- what lacks a member ------------------------------------------------------------------------


def without(kind, name, **own):
    """A class that has all of another but one member."""
    members = {k: x for k, x in vars(kind).items() if k not in ("__dict__", "__weakref__", name)}
    return type(kind.__name__, kind.__bases__, {**members, **own})


@pytest.mark.parametrize("name", ["needs", "speaks", "chances", "monotone", "ledger"])
def test_an_adversary_that_lacks_a_member_is_refused_by_its_name(name):
    with pytest.raises(fk.InputError, match=rf"^toy: Friends lacks {name}, which"):
        fk.Requirement(without(Friends, name)(1), below="3/4", name="toy")


@pytest.mark.parametrize("name", ["needs", "of_people", "compares_table"])
def test_a_criterion_that_lacks_a_member_is_refused_by_its_name(name):
    with pytest.raises(fk.InputError, match=rf"^toy: EvenGroups lacks {name}, which Criterion"):
        fk.Requirement(without(EvenGroups, name)(2), name="toy")


def test_needs_that_are_none_are_refused():
    misspelt = without(Friends, "needs", needs={"one value"})
    with pytest.raises(fk.InputError, match="Friends: needs must be a frozenset of Need"):
        fk.Requirement(misspelt(1), below="3/4")


def test_a_limit_relative_to_priors_takes_gains():
    misspelt = without(Friends, "needs", needs=frozenset({Need.ONE_VALUE}))
    with pytest.raises(fk.InputError, match="Friends lacks tables, which Gaining requires"):
        fk.Requirement(misspelt(1), at_most_times=2)


@pytest.mark.parametrize(
    ("registry", "kind", "name"),
    [
        (adversaries, Friends, "from_settings"),
        (adversaries, Friends, "needs"),
        (criteria, EvenGroups, "of_people"),
    ],
)
def test_what_lacks_a_member_is_named_when_it_is_registered(monkeypatch, registry, kind, name):
    known = "ADVERSARIES" if registry is adversaries else "CRITERIA"
    lacking = without(kind, name)
    monkeypatch.setattr(registry, known, (*getattr(registry, known), lacking))
    with pytest.raises(fk.InputError, match=rf"{kind.__name__} lacks {name}, which"):
        fk.Policy.from_dict({"require": [{"k_anonymity": 2}]})


def test_a_kind_without_a_judge_of_the_verifier_s_is_named_where_it_is_asked(monkeypatch, place):
    lacking = without(EvenGroups, "gauge")
    monkeypatch.setattr(criteria, "CRITERIA", (*criteria.CRITERIA, lacking))
    microdata = fk.Microdata(
        place / "people.csv", fk.Schema(quasi_identifiers=["age"], sensitive="disease")
    )
    with pytest.raises(fk.InputError, match=r"EvenGroups lacks gauge, a foreknow_judge Gauge$"):
        fk.publish(microdata, fk.Policy([fk.Requirement(lacking(2))]))
    assert fk.publish(microdata, fk.Policy([fk.Requirement(fk.KAnonymity(2))])).audit.safe


def test_a_criterion_of_ours_without_a_gauge_is_told_where_to_add_a_line(monkeypatch, place):
    monkeypatch.delitem(GAUGES, "alpha_k")
    microdata = fk.Microdata(
        place / "people.csv", fk.Schema(quasi_identifiers=["age"], sensitive="disease")
    )
    with pytest.raises(fk.InputError, match=r"add a line to GAUGES in foreknow_judge/criteria\.py"):
        fk.publish(microdata, fk.Policy([fk.Requirement(fk.AlphaK(1, 2))]))
    assert fk.publish(microdata, fk.Policy([fk.Requirement(fk.KAnonymity(2))])).audit.safe


@pytest.mark.parametrize(
    ("asked", "said"),
    [({"alpha": 1, "k": 3}, "alpha is 1/2, k is 2"), ({"alpha": "1/3", "k": 2}, "alpha is 1/2")],
)
def test_a_criterion_of_two_settings_says_what_was_found_of_each(asked, said, tmp_path):
    table = pa.table({"age": ["20", "20", "30", "30"], "disease": list("abab")})
    schema = fk.Schema(quasi_identifiers=["age"], sensitive="disease")
    rules = fk.Policy([fk.Requirement(fk.KAnonymity(2))], schema)
    fk.publish(table, rules).write(tmp_path / "out")
    with pytest.raises(fk.InputError, match=rf"does not hold: {said}"):
        fk.verify(tmp_path / "out", fk.Policy([fk.Requirement(fk.AlphaK(**asked))], schema))
