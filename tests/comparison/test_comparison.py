"""Compare: every figure is that of publishing by itself, whatever runs beside it or breaks."""

import datetime as dt
import os
import random
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import pytest
from tests.examples import NIGHTLY

import foreknow as fk
from foreknow.atomic_files import as_json
from foreknow.comparison.page import method_text
from foreknow.needs import Need
from foreknow.result import page_of

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


def policy(required=REQUIRED, **more):
    schema = {"quasi_identifiers": ["age", "town"], "sensitive": "illness"}
    return fk.Policy.from_dict({"schema": schema, "require": required, **more})


def plain(found):
    return [replace(each, seconds=None) for each in found.candidates]


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
    return fk.compare(people(), policy(), methods=methods, limits=[0.45, "1/2", 0.8], processes=2)


def test_every_figure_is_that_of_publishing_it_by_itself(found):
    table, own = people(), policy()
    microdata = fk.Microdata(table, own.schema)
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
        judged = fk.audit(made.release, own)
        assert each.safe
        assert made.audit.safe
        assert (each.groups, each.people) == (made.utility.groups, 120)
        assert (each.loss, each.form) == (made.utility.average_ncp, made.certificate.form)
        assert (each.query_error, each.average_query_error) == (error.median, error.average)
        assert each.holds_as_given == judged.safe
        assert each.over == max(one.over.people for one in judged.exposed)
        assert each.exact == str(judged.verdicts[0].disclosure.exact)
        assert each.method_known == made.audit.scope.method
        assert each.seconds > 0
    assert statuses >= {"safe", "refused"}
    assert {each.over == 0 for each in found.safe} == {True, False}


@pytest.mark.processes
def test_one_process_finds_what_many_do_and_a_file_what_a_frame_does(tmp_path):
    people().to_csv(tmp_path / "people.csv", index=False)
    methods = ["mondrian", "art"]
    found = fk.compare(people(), policy(), methods=methods, limits=[0.5, "4/5"], processes=2)
    again = fk.compare(
        tmp_path / "people.csv", policy(), methods=methods, limits=["0.8", "1/2", "0.5"],
        processes=0,
    )  # fmt: skip
    assert len(again.candidates) == 4
    assert plain(again) == plain(found)
    assert [path.name for path in tmp_path.iterdir()] == ["people.csv"]
    assert (again.processes, again.seconds, found.processes, found.seconds) == (0, None, 2, 60.0)


@pytest.mark.processes
def test_what_was_read_of_a_table_goes_whole_into_another_process(tmp_path):
    frame = people(40)
    frame.loc[3, "illness"] = None
    frame.loc[5, "age"] = 7
    frame.to_csv(tmp_path / "people.csv", index=False)
    rules = policy([{"facts": {}, "below": 0.9}])
    rules = fk.Policy(rules.requirements, replace(rules.schema, missing="drop"))
    read = fk.Microdata(tmp_path / "people.csv", rules.schema)
    how = {"methods": "mondrian", "limits": 0.9}
    both = [fk.compare(read, rules, processes=many, **how) for many in (0, 1)]
    assert plain(both[0]) == plain(both[1])
    assert both[1].safe[0].people == 39


@pytest.mark.processes
def test_how_dates_and_amounts_are_written_goes_into_another_process():
    frame = people(40).assign(
        age=[f"{day % 28 + 1:02}.03.{1950 + day}" for day in range(40)],
        fee=[f"$1,{day:03}" for day in range(40)],
    )
    reading = {"date_format": "dd.mm.yyyy", "thousands": ",", "currency": "$"}
    schema = replace(policy().schema, quasi_identifiers=["age", "fee"], reading=reading)
    rules = fk.Policy([fk.Requirement(fk.Facts(), below=0.9)], schema)
    read = fk.Microdata(frame, rules.schema)
    assert isinstance(read.attributes[0].domain[0], dt.date)
    how = {"methods": "mondrian", "limits": 0.9}
    both = [fk.compare(read, rules, processes=many, **how) for many in (0, 1)]
    assert plain(both[0]) == plain(both[1])
    assert both[1].safe


def test_the_policys_own_limit_and_those_around_it_are_compared_by_the_usual_methods():
    found = fk.compare(people(40), policy(), queries=5, processes=0)
    limits = ["1/4", "3/8", "1/2", "5/8", "3/4"]
    usual = ["mondrian", "decoy", "fulldomain", "anatomy", "art", "streamliner"]
    tried = [(each.method, str(each.limit)) for each in found.candidates]
    assert tried == [(method, limit) for method in usual for limit in limits]
    assert found.limit == Fraction(1, 2)
    high = fk.compare(
        people(40), policy([{"facts": {}, "below": 0.9}]), methods=["mondrian"], processes=0
    )
    assert [float(each.limit) for each in high.candidates] == [0.45, 0.675, 0.9]


def test_amounts_are_tried_with_each_limit_and_what_contradicts_itself_is_a_row():
    required = [{"facts": {"k": 1}, "below": 0.5}, {"facts": {"k": 2}, "below": 0.7}]
    found = fk.compare(
        people(), policy(required), methods="mondrian", limits=0.5, amounts={"k": [1, 2]},
        processes=0,
    )  # fmt: skip
    assert [(dict(each.amounts), each.status) for each in found.candidates] == [
        ({"k": 1}, "refused"),
        ({"k": 2}, "refused"),
    ]
    assert "against the same Facts(l=0, k=1, m=0)" in found.candidates[0].why
    one = policy([{"facts": {"l": 1, "k": 3}, "below": 0.6}])
    found = fk.compare(
        people(), one, methods="mondrian", limits=[0.6], amounts={"k": [0, 3], "l": 1}, processes=0
    )
    weak, own = found.candidates
    assert (weak.amounts, own.amounts) == ({"k": 0, "l": 1}, {"k": 3, "l": 1})
    asked = policy([{"facts": {"l": 1, "k": 0}, "below": 0.6}])
    made = fk.publish(people(), asked, seed=0)
    assert weak.groups == made.utility.groups
    assert weak.exact == str(fk.Facts(1, 3, 0).disclosure(made).exact)
    assert (own.holds_as_given, own.over) == (True, 0)
    assert found.to_frame()["k"].tolist() == [0, 3]


def test_several_sensitive_columns_are_refused_by_some_and_criteria_have_no_limit(tmp_path):
    table = people().assign(income=np.arange(120) % 7)
    schema = fk.Schema(quasi_identifiers=["age", "town"], sensitive=["illness", "income"])
    rules = fk.Policy([fk.Requirement(fk.KAnonymity(4))], schema)
    found = fk.compare(table, rules, methods=["mondrian", "anatomy"], processes=0)
    mondrian, anatomy = found.candidates
    assert (mondrian.status, mondrian.limit, mondrian.risk, mondrian.over) == (
        "holds",
        None,
        None,
        0,
    )
    assert (anatomy.status, found.limit, found.frontier) == ("refused", None, ())
    assert "needs one sensitive column" in anatomy.why
    found.to_html(tmp_path / "page.html")
    assert "<figure>" not in (tmp_path / "page.html").read_text()
    with pytest.raises(fk.InputError, match="no requirement of the policy has a limit"):
        fk.compare(table, rules, limits=[0.5])


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"methods": ["mondrain"]}, "did you mean 'mondrian'"),
        ({"methods": []}, "methods must be names such as mondrian"),
        ({"limits": [1.5]}, "a threshold must be above 0 and at most 1, not 1.5"),
        ({"limits": []}, "limits is empty"),
        ({"amounts": {"q": [1]}}, "no adversary of the policy has 'q'"),
        ({"amounts": {"k": [-1]}}, "amounts: k must be a whole number from 0"),
        ({"amounts": {"k": []}}, "amounts: k is empty"),
        ({"seconds": 0}, "seconds must be above 0"),
        ({"seconds": "long"}, "seconds must be above 0"),
        ({"processes": -1}, "processes must be a whole number from 0"),
        ({"queries": 0}, "queries must be a whole number from 1"),
        ({"limit": 0.5}, "limits"),
    ],
)
def test_what_cannot_be_compared_is_refused_before_anything_runs(given, said):
    with pytest.raises(fk.InputError, match=said):
        fk.compare(people(20), policy(), **given)


# ---- processes -----------------------------------------------------------------------------


@dataclass(frozen=True)
class Deadly:
    """An adversary whom to ask ends the process, if that is not ours, or fails."""

    needs: ClassVar[Any] = frozenset({Need.ABSOLUTE, Need.FINISHED})
    ours: int
    l: int = 0  # noqa: E741

    @property
    def speaks(self):
        return None

    def chances(self, counts):
        return None

    def disclosures(self, counts):
        if os.getpid() != self.ours and self.l == 1:
            os._exit(7)
        raise ZeroDivisionError("no such luck")

    def disclosure(self, counts, value=None):
        return self.disclosures(counts)

    def monotone(self, semantics):
        return True

    def to_dict(self):
        return {"deadly": {"ours": self.ours}}


@pytest.mark.processes
def test_a_run_that_breaks_is_a_row_and_the_others_go_on():
    required = [fk.Requirement(Deadly(os.getpid()), below=0.9)]
    rules = fk.Policy(required, policy().schema, fk.PublishOptions(form="bucketized"))
    found = fk.compare(
        people(40), rules, methods=["anatomy"], limits=[0.9], amounts={"l": [1, 0]}, processes=1
    )
    first, second = found.candidates
    assert (first.status, second.status, found.complete) == ("failed", "failed", True)
    assert {"no such luck" in each.why for each in found.candidates} == {True, False}
    assert [each.why for each in (first, second) if "exit code 7" in each.why]


@pytest.mark.processes
def test_a_run_whose_time_is_up_is_ended_and_the_others_go_on():
    table = people(4000, seed=1)
    rules = policy([{"facts": {"l": 2, "k": 5, "m": 2}, "below": "0.9"}])
    found = fk.compare(table, rules, methods=["mondrian", "art"], seconds=0.02, limits=[0.9])
    slow, refused = found.candidates
    assert (slow.status, slow.why) == ("out of time", "it was ended after 0.02 seconds")
    assert refused.status in ("refused", "out of time")
    assert (slow.groups, found.safe, found.complete) == (None, (), True)


@pytest.mark.processes
def test_what_no_other_process_can_be_given_works_in_ours():
    class Local(Deadly):
        def disclosures(self, counts):
            return fk.Facts().disclosures(counts)

        def disclosure(self, counts, value=None):
            return fk.Facts().disclosure(counts, value)

    required = [fk.Requirement(Local(1), below=0.9)]
    with pytest.raises(fk.InputError, match="processes=0"):
        fk.compare(people(40), fk.Policy(required, policy().schema), methods="mondrian")


# ---- what is made of it --------------------------------------------------------------------


def test_the_frontier_is_what_no_other_beats_in_both(found):
    draw = random.Random(5)
    for _ in range(300):
        own = [
            fk.Candidate(
                "mondrian",
                Fraction(1, 2),
                status=draw.choice(["safe", "safe", "failed"]),
                risk=draw.choice([None, *(n / 8 for n in range(8))]),
                query_error=draw.randrange(5) / 5,
            )
            for _ in range(draw.randrange(7))
        ]
        known = [(one.risk, one.query_error) for one in own if one.safe and one.risk is not None]
        best, lowest = set(), None  # swept from the lowest risk to the highest
        for risk, error in sorted(set(known)):
            if lowest is None or error < lowest:
                best.add((risk, error))
                lowest = error
        made = replace(found, candidates=tuple(own)).frontier
        assert sorted((one.risk, one.query_error) for one in made) == sorted(
            pair for pair in known if pair in best
        )


def test_a_comparison_is_a_frame_json_a_page_and_a_table(found, tmp_path):
    frame = found.to_frame()
    assert frame["method"].tolist() == [each.method for each in found.candidates]
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
    said = " ".join(found.summary().split())
    assert "mondrian 50%" in said
    assert 'method "art" serves' in said


def test_why_there_is_none_is_one_line_without_the_ways_out():
    rows = pd.DataFrame({"age": [1, 2, 3, 4], "ill": ["a", "a", "a", "b"]})
    schema = fk.Schema(quasi_identifiers=["age"], sensitive="ill")
    policy = fk.Policy([fk.Requirement(fk.Facts(), "1/2")], schema)
    (none,) = fk.compare(rows, policy, methods=["mondrian"], limits=["1/2"], processes=0).candidates
    assert none.status == "no safe release"
    assert "not even one group of all 4 people is safe" in none.why
    assert "\n" not in none.why


def test_whether_it_holds_from_who_knows_the_method_stands_in_a_column():
    """The five people of docs/do/attack.md."""
    rows = pd.DataFrame(
        {"age": [50, 40, 50, 30, 30], "illness": ["flu", "hiv", "hiv", "flu", "flu"]}
    )
    rules = fk.Policy.from_dict(
        {
            "schema": {"quasi_identifiers": ["age"], "sensitive": "illness"},
            "require": [{"facts": {"l": 0}, "below": 1}],
            "publish": {"labels": {"age": "exact"}},
        }
    )
    given = {"limits": 1, "processes": 0, "seed": 1}
    found = fk.compare(rows, rules, methods=["mondrian", "decoy", "fulldomain"], **given)
    known = [each.method_known for each in found.candidates]
    assert known == ["not judged", "as required", "not judged"]
    page = page_of(found)
    column = list(page.table().head).index("known")
    assert [row[column] for row in page.table().rows] == ["open", "holds", "open"]
    assert "adversary who knows the method" in page.html()
    # Facts about others are no part of what is proved of boxes.
    rules = replace(rules, options=replace(rules.options, form="generalized"))
    (alone,) = fk.compare(rows, rules, methods=["streamliner"], **given).candidates
    assert alone.status != "safe" or method_text(alone) == "part"


def test_a_bound_that_is_above_the_limit_is_no_part_of_a_proof():
    made = fk.Candidate("rda", Fraction(1, 3), status="safe", method_known="at most 1/2")
    said = {
        below: method_text(replace(made, limit=below and Fraction(below)))
        for below in ("1/3", "1/2", "2/3", None)
    }
    assert said == {"1/3": "open", "1/2": "open", "2/3": "part", None: "open"}
    # nor of a criterion of the values of groups, which is no bound on a posterior
    above, close = replace(made, limit=Fraction(2, 3)), fk.Requirement(fk.TCloseness("1/5"))
    facts = fk.Requirement(fk.Facts(), below="2/3")
    assert method_text(above, fk.Policy([facts, fk.Requirement(fk.KAnonymity(2))])) == "part"
    assert method_text(above, fk.Policy([facts, close])) == "open"
