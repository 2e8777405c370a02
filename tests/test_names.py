"""Names from elsewhere: each stands once, and for something that there is."""

import inspect
from collections import Counter
from dataclasses import fields

import pytest
from click import UsageError

import foreknow as fk
from foreknow import names
from foreknow.cli.entry import app
from foreknow.cli.inputs import COLUMNS, CRITERIA, Judging
from foreknow.criteria.registry import CRITERIA as REGISTERED
from foreknow.policy.from_call import KEYS
from foreknow.policy.requirement import Requirement


def repeated(lists):
    return [
        name for name, many in Counter(n for own in lists for n in own.split()).items() if many > 1
    ]


def test_no_name_stands_for_two_things():
    for table in (names._PARAMETERS, names._COMMANDS):
        assert not repeated(table.values())
    for table in (names._ADVICE, names._OPTIONS, names._OF_OBJECTS, names._ELSEWHERE):
        assert not repeated(table)


def test_what_a_name_stands_for_is_there():
    takes = {*KEYS}
    for name in fk.__all__:
        if inspect.isfunction(own := getattr(fk, name)):
            takes |= {*inspect.signature(own).parameters}
    assert {*names.PARAMETERS.values()} <= takes
    assert {*names.COMMANDS.values()} <= {*app.commands}
    assert not {*names.COMMANDS} & {*app.commands}
    assert not {*names.ADVICE} & {*fk.__all__, *fk._ALIAS}


def test_a_call_and_a_command_say_the_same_in_place_of_a_policy():
    keys = {kind.key for kind in REGISTERED}
    assert {*CRITERIA} < keys <= {*KEYS}  # a command line has no tables
    assert {*CRITERIA, *COLUMNS} <= {*KEYS} & {own.name for own in fields(Judging)}


def test_a_criterion_that_is_no_option_is_answered_with_how_a_policy_says_it():
    with pytest.raises(UsageError, match=r"alpha_k = \.\.\. below \[\[require\]\]"):
        app.main(["audit", "table.csv", "--alpha-k", "3"], standalone_mode=False)


def test_a_parameter_keeps_its_name_where_a_function_has_it():
    assert names.own_name("k", ["k", "k_anonymity"]) is None
    assert fk.Requirement(k=5) == Requirement(fk.KAnonymity(5))
    assert fk.Facts(l=1, k=2).k == 2
