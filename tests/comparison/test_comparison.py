"""Compare: every figure is that of publishing by itself, whatever runs beside it or breaks."""

import json
import os
import random
import subprocess
import sys
import time
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import pytest
from tests.cli.conftest import desk as desk
from tests.common import NIGHTLY, heeded

import foreknow as fk
from foreknow import sample
from foreknow.atomic_files import as_json
from foreknow.features.comparison.comparison import scaled_time
from foreknow.features.comparison.page import ComparisonPage, method_text
from foreknow.needs import Need
from foreknow.result_pages import page_of

REQUIRED = [
    {"values": ["flu", "gout"], "facts": {"l": 1, "k": 1}, "below": "1/2"},
    {"facts": {"k": 1}, "below": "3/4"},
]


def people(rows=120, seed=3):
    draw = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "age": draw.integers(20, 50, rows),
            "town": draw.choice(["Ayr", "Bath", "Cork"], rows),
            "illness": draw.choice(["flu", "gout", "cold", "mumps", "none"], rows),
        }
    )


def policy(required=REQUIRED, **schema):
    schema = {"quasi_identifiers": ["age", "town"], "sensitive": "illness", **schema}
    return fk.Policy.from_dict({"schema": schema, "require": required})


def compare(table, rules, methods="mondrian", processes=0, **how):
    return fk.compare(table, rules, methods=methods, processes=processes, **how)


def published(microdata, rules, method):
    """A release, or what says why there is none."""
    try:
        return fk.publish(microdata, rules, method=method, seed=0), None
    except fk.NoSafeRelease as error:
        return None, ("no safe release", str(error))
    except fk.InputError as error:
        return None, ("refused", str(error))


@pytest.fixture(scope="module")
def found():
    methods = ["mondrian", "fulldomain", "anatomy", "art"]
    return compare(people(), policy(), methods, limits=[0.45, "1/2", 0.8])


def test_figures_match_publishing_alone(found):
    microdata = policy().microdata(people())
    assert len(found.candidates) == 12
    statuses = set()
    for each in found.candidates if NIGHTLY else found.candidates[::2]:
        strict, loose = ({"9/20": "27/40", "1/2": "3/4", "4/5": "1"}[str(each.limit)], each.limit)
        required = [dict(REQUIRED[0], below=str(loose)), dict(REQUIRED[1], below=strict)]
        statuses.add(each.status)
        made, why = published(microdata, policy(required), each.method)
        if made is None:
            assert (each.status, each.why) == why
            assert (each.groups, each.over, each.risk) == (None, None, None)
            continue
        error = fk.query_error(made, microdata, seed=0)
        audit = fk.audit(made.release, policy())
        assert each.safe
        assert made.audit.safe
        assert (each.groups, each.people) == (made.utility.groups, 120)
        assert (each.loss, each.form) == (made.utility.average_ncp, made.certificate.form)
        assert (each.query_error, each.average_query_error) == (error.median, error.average)
        assert each.holds_as_given == audit.safe
        assert each.over == max(one.over.people for one in audit.exposed)
        assert each.exact == str(audit.verdicts[0].disclosure.exact)
        assert each.method_known == made.audit.scope.method
        assert each.seconds > 0
    assert statuses >= {"safe", "refused"}
    assert {each.over == 0 for each in found.safe} == {True, False}
    n_held = sum(each.holds_as_given for each in found.safe)
    assert 0 < n_held < len(found.safe)
    for said in (repr(found), found.summary()):
        assert f", {n_held} by the policy as it is" in said


def test_errors_are_weighted():
    """By the weights of a survey where releases show them; else the page says that nothing is."""
    table = people().assign(w=[5, 50, 2] * 40)
    required = [REQUIRED[1], {"group_size": 3}]
    rules = policy(required, weights="w", other=["w"])
    found = compare(table, rules, limits=["3/4"], models=True)
    made = fk.publish(fk.Microdata(table, rules.schema), rules, method="mondrian", seed=0)
    error = fk.query_error(made, table, policy=rules, seed=0)
    assert error.weights == "w"
    assert error.median in [each.query_error for each in found.candidates]
    models = fk.utility_report(made, table, policy=rules, models=True, queries=1).models
    assert models.misplaced in [each.misplaced for each in found.candidates]
    assert found.to_dict()["survey_weights"]["weighted"][0] == "query_error"
    assert "Errors and models are weighted by w" in found.to_html()
    found = compare(table, policy(required, weights="w"), limits=["3/4"])
    assert found.to_dict()["survey_weights"] == {"column": "w", "weighted": []}
    assert "Nothing is weighted by w" in found.to_html()


def test_amounts_cross_limits():
    required = [{"facts": {"k": 1}, "below": 0.5}, {"facts": {"k": 2}, "below": 0.7}]
    comparison = compare(people(), policy(required), limits=0.5, amounts={"k": [1, 2]})
    texts = [(dict(candidate.amounts), candidate.status) for candidate in comparison.candidates]
    assert texts == [({"k": 1}, "refused"), ({"k": 2}, "refused")]
    assert "against the same Facts(l=0, k=1, m=0)" in comparison.candidates[0].why
    rules = policy([{"facts": {"l": 1, "k": 3}, "below": 0.6}])
    comparison = compare(people(), rules, limits=[0.6], amounts={"k": [0, 3], "l": 1})
    weak, own = comparison.candidates
    assert (weak.amounts, own.amounts) == ({"k": 0, "l": 1}, {"k": 3, "l": 1})
    asked = policy([{"facts": {"l": 1, "k": 0}, "below": 0.6}])
    publication = fk.publish(people(), asked, seed=0)
    assert weak.groups == publication.utility.groups
    assert weak.exact == str(fk.Facts(1, 3, 0).disclosure(publication).exact)
    assert (own.holds_as_given, own.over) == (True, 0)
    assert comparison.to_frame()["k"].tolist() == [0, 3]


def test_several_columns_and_criteria(tmp_path):
    table = people().assign(income=np.arange(120) % 7)
    rules = policy([{"k_anonymity": 4}], sensitive=["illness", "income"])
    comparison = compare(table, rules, ["mondrian", "anatomy"])
    one, other = comparison.candidates
    assert (one.status, one.limit, one.risk, one.over) == ("holds", None, None, 0)
    assert (other.status, comparison.limit, comparison.frontier) == ("refused", None, ())
    assert "needs one sensitive column" in other.why
    comparison.to_html(tmp_path / "page.html")
    assert "<figure>" not in (tmp_path / "page.html").read_text()
    with pytest.raises(fk.InputError, match="no requirement of the policy has a limit"):
        fk.compare(table, rules, limits=[0.5])


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"methods": ["mondrain"]}, "did you mean 'mondrian'"),
        ({"methods": []}, "methods must be names such as mondrian"),
        ({"limits": [1.5]}, "a threshold must be above 0 and at most 1, not 1.5"),
        ({"limits": []}, "limits is empty"),
        ({"amounts": {"q": [1]}}, "no adversary of the policy has 'q'"),
        ({"amounts": {"k": [-1]}}, "amounts: k must be a whole number from 0"),
        ({"amounts": {"k": []}}, "amounts: k is empty"),
        ({"amounts": [1]}, "amounts has whole numbers by name"),
        ({"methods": 5}, "methods must be names such as"),
        ({"seconds": 0}, "seconds must be above 0"),
        ({"seconds": "long"}, "seconds must be above 0"),
        ({"processes": -1}, "processes must be a whole number from 0"),
        ({"queries": 0}, "queries must be a whole number from 1"),
        ({"limit": 0.5}, "limits"),
    ],
)
def test_incomparable_calls_are_refused_first(given, message):
    with pytest.raises(fk.InputError, match=message):
        fk.compare(people(20), policy(), **given)


# ---- processes -----------------------------------------------------------------------------


@dataclass(frozen=True)
class Deadly:
    """An adversary whom to ask ends the process, if that is not ours, or fails."""

    needs: ClassVar[Any] = frozenset({Need.ABSOLUTE, Need.FINISHED})
    ours: int
    l: int = 0  # noqa: E741
    speaks: ClassVar[None] = None

    def chances(self, counts):
        return None

    def disclosures(self, counts):
        if os.getpid() != self.ours and self.l == 1:
            os._exit(7)
        raise ZeroDivisionError("no such luck")

    disclosure = disclosures

    def monotone(self, semantics):
        return True

    def to_dict(self):
        return {"deadly": {"ours": self.ours}}


@pytest.mark.processes
def test_timed_out_runs_are_ended():
    rules = policy([{"facts": {"l": 2, "k": 5, "m": 2}, "below": "0.9"}])
    how = {"seconds": 0.02, "limits": [0.9]}
    comparison = fk.compare(people(1000, seed=1), rules, methods=["mondrian"], **how)
    (slow,) = comparison.candidates
    assert (slow.status, slow.why) == ("out of time", "it was ended after 0.02 seconds")
    assert (slow.groups, comparison.safe, comparison.complete) == (None, (), True)


@pytest.mark.processes
def test_unpicklable_methods_run_here():
    class Local(Deadly):
        def disclosures(self, counts):
            return fk.Facts().disclosures(counts)

        def disclosure(self, counts, value=None):
            return fk.Facts().disclosure(counts, value)

    rules = fk.Policy([fk.Requirement(Local(1), below=0.9)], policy().schema)
    with pytest.raises(fk.InputError, match="processes=0"):
        fk.compare(people(40), rules, methods="mondrian")


# ---- what is made of it --------------------------------------------------------------------


def test_frontier_is_unbeaten(found):
    draw = random.Random(5)
    risks, states = [None, *(n / 8 for n in range(8))], ["safe", "safe", "failed"]
    for _ in range(300 if NIGHTLY else 60):
        own = []
        for _ in range(draw.randrange(7)):
            figures = {"risk": draw.choice(risks), "query_error": draw.randrange(5) / 5}
            status = draw.choice(states)
            own.append(fk.Candidate("mondrian", Fraction(1, 2), status=status, **figures))
        known = [(one.risk, one.query_error) for one in own if one.safe and one.risk is not None]
        best, lowest = set(), None  # swept from the lowest risk to the highest
        for risk, error in sorted(set(known)):
            if lowest is None or error < lowest:
                best.add((risk, error))
                lowest = error
        frontier = replace(found, candidates=tuple(own)).frontier
        wanted = sorted(pair for pair in known if pair in best)
        assert sorted((one.risk, one.query_error) for one in frontier) == wanted


def test_comparison_has_every_form(found, tmp_path):
    frame = found.to_frame()
    assert frame["method"].tolist() == [candidate.method for candidate in found.candidates]
    assert frame["limit"].tolist()[:3] == [0.45, 0.5, 0.8]
    assert found.to_frame("arrow").num_rows == 12
    content = found.to_dict()
    assert content["candidates"][1]["limit"] == "1/2"
    assert [found.candidates[place] for place in content["frontier"]] == list(found.frontier)
    found.to_html(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert "Risk against utility" in page
    assert "<figure>" in page
    written = as_json(content)
    assert not [town for town in people()["town"] if town in written]  # measures, and why
    text = " ".join(found.summary().split())
    assert "mondrian 50%" in text
    assert 'method "art" serves' in text


def test_column_states_safety_against_insiders():
    """The five people of docs/do/attack.md."""
    ills = ["flu", "hiv", "hiv", "flu", "flu"]
    rows = pd.DataFrame({"age": [50, 40, 50, 30, 30], "illness": ills})
    rules = fk.Policy.from_dict(
        {
            "schema": {"quasi_identifiers": ["age"], "sensitive": "illness"},
            "require": [{"facts": {"l": 0}, "below": 1}],
            "publish": {"labels": {"age": "exact"}},
        }
    )
    comparison = compare(rows, rules, ["mondrian", "decoy", "fulldomain"], limits=1, seed=1)
    known = [candidate.method_known for candidate in comparison.candidates]
    assert known == ["not judged", "as required", "not judged"]
    page = page_of(comparison)
    column = list(page.table().head).index("known")
    assert [row[column] for row in page.table().rows] == ["open", "holds", "open"]
    assert "adversary who knows the method" in page.html()
    # Facts about others are no part of what is proved of boxes.
    rules = replace(rules, options=replace(rules.options, form="generalized"))
    (alone,) = compare(rows, rules, ["streamliner"], limits=1, seed=1).candidates
    assert alone.status != "safe" or method_text(alone) == "part"


def test_bounds_above_limits_prove_nothing():
    result = fk.Candidate("rda", Fraction(1, 3), status="safe", method_known="at most 1/2")
    for below, said in (("1/3", "open"), ("1/2", "open"), ("2/3", "part"), (None, "open")):
        assert method_text(replace(result, limit=below and Fraction(below))) == said
    # nor of a criterion of the values of groups, which is no bound on a posterior
    above, close = replace(result, limit=Fraction(2, 3)), fk.Requirement(fk.TCloseness("1/5"))
    facts = fk.Requirement(fk.Facts(), below="2/3")
    assert method_text(above, fk.Policy([facts, fk.Requirement(fk.KAnonymity(2))])) == "part"
    assert method_text(above, fk.Policy([facts, close])) == "open"


# ---- what it advises -----------------------------------------------------------------------

WEAK = {"quasi_identifiers": ["age", "sex"], "sensitive": "diagnosis", "below": 0.5}
WEAK |= {"limits": [0.5], "queries": 100, "seconds": None, "processes": 0}


@pytest.fixture(scope="module")
def advised():
    return fk.compare(sample.table_path(), **WEAK)


def advice(found):
    return " ".join(" ".join(ComparisonPage(found)._best()).split())


def test_anatomy_is_recommended_with_caution(advised):
    (anatomy,) = [candidate for candidate in advised.candidates if candidate.method == "anatomy"]
    assert anatomy.form == "bucketized"
    assert anatomy.trial.measured
    others = [candidate for candidate in advised.candidates if candidate is not anatomy]
    best = replace(advised, candidates=(*others, replace(anatomy, query_error=0.0)))
    text = advice(best)
    assert "show no exact columns" in text
    assert "but everybody is recognizable in it" in text
    assert "an attacker who learns from it guesses" in text
    alone = replace(best, candidates=tuple(c for c in best.candidates if c.form == "bucketized"))
    assert "answers them best" in advice(alone)
    assert "everybody is recognizable in it" in advice(alone)


def test_times_grow_by_a_power():
    chance = np.random.default_rng(5)
    for power in chance.uniform(1, 4, 100):
        scale = 10 ** chance.uniform(0, 3)
        took = {part: scale * (1 / part) ** power for part in (16, 8)}
        assert scaled_time(took) == pytest.approx(scale, rel=1e-6)
    assert scaled_time({16: 1.0, 8: 0.5}) == pytest.approx(
        4.0
    )  # never less than so many times as long


# ---- the command ---------------------------------------------------------------------------

CALL = ["compare", "table.csv", "--policy", "policy.toml", "--processes", "0"]


def test_command_writes_only_the_table(desk):
    before = {path.name for path in desk.folder.iterdir()}
    how = ["--methods", "mondrian,art", "--limits", "0.8,9/10"]
    text = desk.says(*CALL, *how, "--html", "page.html", "--json", "found.json")
    assert "2 safe releases of 4 tried – table.csv" in text.lower()
    assert "mondrian 90% safe *" in text
    assert 'art 80% and 90% method "art" serves' in text
    assert {path.name for path in desk.folder.iterdir()} - before == {"page.html", "found.json"}
    result = desk.json("found.json")
    assert (result["format"], result["complete"]) == ("foreknow comparison", True)
    assert result["limit"] == "9/10"
    assert "For the owner only" in (desk.folder / "page.html").read_text()
    text = desk.says(*CALL, "--methods", "mondrian", "--limits", "0.9", "--models")
    assert "Cells: the share of people" in text


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["--methods", "anatomi"], "did you mean 'anatomy'"),
        (["--limits", "0,5"], "a threshold must be above 0"),
        (["--limits", ""], "limits is empty"),
        (["--amounts", "k"], "amounts: k is empty"),
        (["--amounts", "k=x"], "is not NAME=NUMBERS"),
        (["--amounts", "m=1", "--amounts", "z=1"], "no adversary of the policy has 'z'"),
        (["--seconds", "-1"], "seconds must be above 0"),
        (["--target", "x"], "no column 'x' is published"),
    ],
)
def test_a_mistake_is_one_line(desk, given, message):
    assert message in desk.refused(*CALL, *given).replace("--", "")


STOPPED = """
import os, signal, sys
import foreknow.features.comparison.comparison as comparison
from foreknow.cli import main

def stop(said, done, *rest):
    print("done", done, file=sys.stderr)
    os.killpg(0, signal.SIGINT)

comparison._log.info = stop
sys.argv = ["foreknow", "compare", "table.csv", "-p", "policy.toml", "--methods",
            "mondrian,fulldomain", "--processes", "1", "--json", "found.json"]
main()
"""


def test_interrupt_keeps_finished_runs(desk):
    mark = f"FOREKNOW_TEST={os.getpid()}-{time.time_ns()}"
    name, _, value = mark.partition("=")
    source = Path(__file__).parents[2] / "src"
    done = subprocess.run(
        [sys.executable, "-c", STOPPED],
        env={**os.environ, "PYTHONPATH": str(source), name: value},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        start_new_session=True,
        preexec_fn=heeded,
    )
    assert done.returncode == 130, done.stderr
    assert done.stderr == "done 1\ninterrupted; nothing was left half-written\n"
    assert "It was stopped after 1 of" in " ".join(done.stdout.split())
    result = desk.json("found.json")
    statuses = [each["status"] for each in result["candidates"]]
    assert (result["complete"], statuses.count("safe")) == (False, 1)
    assert statuses.count("stopped") == len(statuses) - 1
    (own,) = [each for each in result["candidates"] if each["safe"]]
    assert own["limit"] == "9/10"  # the policy's own comes first
    assert not any(map(marked(mark), Path("/proc").glob("[0-9]*/environ")))


def marked(mark):
    """Whether a process has a variable in its environment."""

    def is_marked(place):
        try:
            return mark.encode() in place.read_bytes()
        except OSError:
            return False

    return is_marked


@pytest.mark.parametrize(
    ("typed", "sizes"), [(["--k", "2,5"], [2, 5]), (["-k", "3", "-k", "6"], [3, 6])]
)
def test_sizes_as_others_type_them(desk, typed, sizes):
    """Each is a run of its own, whose groups are so large."""
    rows = "".join(f"{20 + i % 20},{'fm'[i % 2]},{'abc'[i % 3]}\n" for i in range(60))
    (desk.folder / "many.csv").write_text(f"age,sex,ill\n{rows}", "utf-8")
    roles = ["--qi", "age,sex", "--sensitive", "ill", "--methods", "mondrian"]
    desk.says("compare", "many.csv", *roles, *typed, "--json", "runs.json")
    candidates = json.loads((desk.folder / "runs.json").read_text("utf-8"))["candidates"]
    assert [run["amounts"] for run in candidates] == [{"k_anonymity": size} for size in sizes]
    assert candidates[0]["groups"] > candidates[1]["groups"]
