"""The messages of the judge: each code is used, with the fields that its sentence has."""

import ast
import copy
import os
import pickle
import re
from pathlib import Path

import pytest
from tests.refusals import refused
from tests.support import UNSUPPORTED

from foreknow.errors import InternalError, NoSafeRelease, StatementError
from foreknow_judge import errors
from foreknow_judge.errors import CertificateError, DataError, NotEnoughMemory
from foreknow_judge.kinds import LDiversitySettings, OfUnits
from foreknow_judge.messages import MESSAGES
from foreknow_judge.settings import checked

JUDGE = Path(__file__).parents[1] / "src" / "foreknow_judge"
SNAPSHOT = Path(__file__).with_name("messages.txt")
FAMILY = {name for name in vars(errors) if isinstance(getattr(errors, name), type)}
# What these get is a sentence of the program's own, or what is too large for memory.
OF_WORDS = {"InternalError", "NotEnoughMemory"}
# What is no error, but a problem of a release.
OF_PROBLEMS = {
    "uncertified-file",
    "not-safe",
    "other-figures",
    "other-remarks",
    "nothing-judged",
}
# What `malformed` finds in settings, by what pydantic says of them.
OF_SETTINGS = {"missing-key", "unknown-key", "wrong-type", "out-of-bounds", "wrong-value"}


def fields_of(code):
    """The names of the fields of a sentence, in order."""
    message = MESSAGES[code]
    names = re.findall(r"{(\w+)", message.template + message.way_out)
    return list(dict.fromkeys(names))


def calls():
    """Each call in the judge that makes an error of the family: where, its class, the call."""
    for path in sorted(JUDGE.glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if not isinstance(node, ast.Call):
                continue
            name = ast.unparse(node.func)
            of_kind = name in ("kind", "cls", "super().__init__") and node.args
            coded = of_kind and getattr(node.args[0], "value", None) in MESSAGES
            if coded or (name in FAMILY - OF_WORDS and issubclass(vars(errors)[name], Exception)):
                yield f"{path.name}:{node.lineno}", name, node


def codes_raised(kind=""):
    """The codes that the judge raises, with a kind of error."""
    made = [call.args[0] for _, name, call in calls() if kind in name]
    return {code.value for code in made if isinstance(code, ast.Constant)}


@pytest.mark.parametrize(("place", "name", "call"), list(calls()))
def test_each_error_has_code_and_fields(place, name, call):
    if place.startswith("errors.py") and name == "StatementError":
        return  # `placed`: the same error once more
    if any(keyword.arg == "code" for keyword in call.keywords):
        assert ast.unparse(call.keywords[-1]) == "**error.fields", place  # passed on
        return
    code, *subject = call.args
    if place.startswith("settings.py"):
        assert {*fields_of("wrong-value")} == {"where", "problem"}
        return
    assert isinstance(code, ast.Constant), f"{place}: no code"
    assert code.value in MESSAGES, f"{place}: no code"
    given = {keyword.arg for keyword in call.keywords}
    names = fields_of(code.value)
    assert len(subject) == len(names[:1]), f"{place}: {names}"
    assert given == {*names[1:]}, f"{place}: {names}"


def test_each_code_is_raised():
    assert codes_raised() | OF_SETTINGS | OF_PROBLEMS == MESSAGES.keys()


@pytest.mark.parametrize(
    ("code", "settings"),
    [
        ("missing-key", {}),
        ("unknown-key", {"k": 1, "of": "a", "m": 1}),
        ("wrong-type", {"k": True, "of": "a"}),
        ("out-of-bounds", {"k": 0, "of": "a"}),
        ("wrong-value", {"l": 1, "kind": "any"}),
    ],
)
def test_settings_have_a_code_each(code, settings):
    table = LDiversitySettings if "l" in settings else OfUnits
    with refused(code, CertificateError, where="a requirement"):
        checked(table, settings, "a requirement")


def test_combinations_are_refused_by_code():
    """The combinations of `docs/reference/support.md` are the ones that are refused as such."""
    raised = codes_raised("UnsupportedError")
    assert raised - {"unknown-kind", "cases-only"} == {*UNSUPPORTED}


@pytest.mark.parametrize("code", MESSAGES)
def test_codes_are_in_kebab_case(code):
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", code)


def test_messages_are_as_before():
    """Run with FOREKNOW_SNAPSHOTS=write to write the file anew, and read the difference."""
    examples = {
        "line": 3,
        "cells": 2,
        "columns": 20_001,
        "most": 20_000,
        "size": 2_000_000,
        "unpacked": 10**9,
    }
    lines = []
    for code, message in sorted(MESSAGES.items()):
        fields = {name: examples.get(name, name.upper()) for name in fields_of(code)}
        lines += [f"{code} ({message.title})", f"    {message.filled(fields)}"]
    text = "\n".join(lines) + "\n"
    if os.environ.get("FOREKNOW_SNAPSHOTS") == "write":
        SNAPSHOT.write_text(text, encoding="utf-8")
    assert text == SNAPSHOT.read_text(encoding="utf-8"), f"not as in {SNAPSHOT.name}"


def test_errors_say_what_they_are_about():
    with refused("not-sensitive", CertificateError, key="shared", column="ill") as caught:
        raise CertificateError("not-sensitive", "shared", column="ill")
    assert caught.value.title == "Not sensitive"
    assert str(caught.value) == "shared: 'ill' is no sensitive column"


def test_errors_may_have_free_words():
    error = DataError("some words")
    assert (str(error), error.code, error.title, error.fields) == ("some words", "data", "data", {})


@pytest.mark.parametrize("again", [copy.copy, lambda error: pickle.loads(pickle.dumps(error))])
@pytest.mark.parametrize(
    "error",
    [
        CertificateError("two-roles", "ill"),
        DataError("words", code="x", column="ill"),
        NotEnoughMemory("this"),
        InternalError("words"),
        StatementError("words", "a statement", 2),
        NoSafeRelease("words", ["way out"]),
    ],
)
def test_errors_can_be_sent(again, error):
    same = again(error)
    assert (type(same), str(same), vars(same)) == (type(error), str(error), vars(error))
    assert same.title == error.title
