"""The judge stands alone, and only it makes a verdict: an audit counts, explains, and asks it."""

import ast
import copy
import os
import pickle
import re
import signal
import subprocess
import sys
import time
import tokenize
from dataclasses import fields, replace
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest
from tests.common import altered, heeded, refused
from tests.support import UNSUPPORTED

import foreknow as fk
from foreknow.adversaries.disclosure import Disclosure, worst, worst_by_prior
from foreknow.errors import InternalError, NoSafeRelease, StatementError
from foreknow.policy import person_limits as people
from foreknow.policy.call_arguments import policy_of
from foreknow.policy.explanation import Explanation
from foreknow_judge import errors, messages
from foreknow_judge.criteria.diversity import LDiversitySettings
from foreknow_judge.criteria.sizes import OfUnits
from foreknow_judge.errors import CertificateError, DataError, NotEnoughMemory
from foreknow_judge.knowledge import posterior_bounds as exchanges
from foreknow_judge.messages import MESSAGES
from foreknow_judge.policy.settings import checked
from foreknow_judge.remarks.explanations import explained, unjudged
from foreknow_judge.verdict import Figure, Limit, Verdict, WorstCase
from foreknow_judge.verdicts import decided

TESTS = Path(__file__).parents[1]
JUDGE = TESTS.parent / "src" / "foreknow_judge"
FILES = sorted(JUDGE.rglob("*.py"))
NODES = {
    ".".join(path.relative_to(JUDGE).with_suffix("").parts): [
        *ast.walk(ast.parse(path.read_text("utf-8")))
    ]
    for path in FILES
}
LIBRARIES = {"duckdb", "numpy", "pyarrow", "pydantic", "pydantic_core", "pyreadstat"}
SMALL = TESTS / "certificates" / "facts-generalized-csv"

# ---- what it imports, and how much there is of it ----------------------------------------------


def imported_modules(name):
    """The modules that a module of the judge imports, at its top or inside functions."""
    for node in NODES[name]:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{name}: relative import"
            yield node.module


def test_judge_imports_only_libraries():
    packages = {name.split(".")[0] for module in NODES for name in imported_modules(module)}
    assert packages - sys.stdlib_module_names <= {"foreknow_judge", *LIBRARIES}


def test_judge_imports_in_no_circle():
    standing = {
        f"foreknow_judge.{module}": {
            name for name in imported_modules(module) if name.startswith("foreknow_judge.")
        }
        for module in NODES
    }
    while standing:
        free = [name for name, targets in standing.items() if not targets & standing.keys()]
        assert free, f"in circles: {sorted(standing)}"
        for name in free:
            del standing[name]


def test_judge_stays_small():
    """Somebody can read it in a day; to raise the limit is a line that somebody reads."""
    kinds = "COMMENT NL NEWLINE INDENT DEDENT ENCODING ENDMARKER"
    layout = {getattr(tokenize, kind) for kind in kinds.split()}
    tokens = 0
    for path in FILES:
        with path.open("rb") as file:
            tokens += sum(token.type not in layout for token in tokenize.tokenize(file.readline))
    assert tokens <= 72_000


# ---- messages ----------------------------------------------------------------------------------

FAMILY = {name for name in vars(errors) if isinstance(getattr(errors, name), type)}
# What these get is a sentence of the program's own, or what is too large for memory.
CODED = FAMILY - {"InternalError", "NotEnoughMemory"}
# What is no error, but a problem of a release.
OF_PROBLEMS = {"uncertified-file", "not-safe", "other-figures", "other-remarks", "nothing-judged"}
# What `malformed` finds in settings, by what pydantic says of them.
OF_SETTINGS = {
    "missing-key": {},
    "unknown-key": {"k": 1, "of": "a", "m": 1},
    "wrong-type": {"k": True, "of": "a"},
    "out-of-bounds": {"k": 0, "of": "a"},
    "wrong-value": {"l": 1, "kind": "any"},
}


def fields_of(code):
    """The names of the fields of a sentence, in order."""
    names = re.findall(r"{(\w+)", MESSAGES[code].template + MESSAGES[code].way_out)
    return list(dict.fromkeys(names))


def calls():
    """Each call in the judge that makes an error of the family: where, its class, the call."""
    for module, nodes in NODES.items():
        for node in nodes:
            if not isinstance(node, ast.Call):
                continue
            name = ast.unparse(node.func)
            of_kind = name in ("kind", "cls", "super().__init__") and node.args
            coded = of_kind and getattr(node.args[0], "value", None) in MESSAGES
            if coded or (name in CODED and issubclass(vars(errors)[name], Exception)):
                yield f"{module}.py:{node.lineno}", name, node


def codes_raised(kind=""):
    """The codes that the judge raises, with a kind of error."""
    made = [call.args[0] for _, name, call in calls() if kind in name]
    return {code.value for code in made if isinstance(code, ast.Constant)}


def test_errors_have_codes_and_fields():
    for place, name, call in calls():
        if place.startswith("errors.py") and name == "StatementError":
            continue  # `placed`: the same error once more
        if any(keyword.arg == "code" for keyword in call.keywords):
            assert ast.unparse(call.keywords[-1]) == "**error.fields", place  # passed on
            continue
        code, *subject = call.args
        if place.startswith("policy.settings.py"):
            assert {*fields_of("wrong-value")} == {"where", "problem"}
            continue
        assert getattr(code, "value", None) in MESSAGES, f"{place}: no code"
        names = fields_of(code.value)
        assert len(subject) == len(names[:1]), f"{place}: {names}"
        assert {keyword.arg for keyword in call.keywords} == {*names[1:]}, f"{place}: {names}"


def test_each_code_is_raised():
    assert codes_raised() | OF_SETTINGS.keys() | OF_PROBLEMS == MESSAGES.keys()
    # The combinations of docs/reference/support.md are the ones that are refused as such.
    assert codes_raised("UnsupportedError") - {"unknown-kind", "cases-only"} == {*UNSUPPORTED}
    assert all(re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", code) for code in MESSAGES)


@pytest.mark.parametrize("code", OF_SETTINGS)
def test_settings_have_a_code_each(code):
    table = LDiversitySettings if "l" in OF_SETTINGS[code] else OfUnits
    with refused(code, CertificateError, where="a requirement"):
        checked(table, OF_SETTINGS[code], "a requirement")


def test_messages_are_as_before():
    """Run with FOREKNOW_SNAPSHOTS=write to write the file anew, and read the difference."""
    examples = {"line": 3, "cells": 2, "columns": 20_001, "most": 20_000}
    examples |= {"size": 2_000_000, "unpacked": 10**9}
    lines = []
    for code, message in sorted(MESSAGES.items()):
        fields = {name: examples.get(name, name.upper()) for name in fields_of(code)}
        lines += [f"{code} ({message.title})", f"    {message.filled(fields)}"]
    text, snapshot = "\n".join(lines) + "\n", Path(__file__).with_name("messages.txt")
    if os.environ.get("FOREKNOW_SNAPSHOTS") == "write":
        snapshot.write_text(text, encoding="utf-8")
    assert text == snapshot.read_text(encoding="utf-8"), f"not as in {snapshot.name}"


def test_rows_of_messages_are_whole():
    """A bar stands between the fields of a row, and in none of them; a code has one row."""
    assert len(messages._ROWS) == len(MESSAGES)
    for message in MESSAGES.values():
        assert all(part == part.strip() and part and "|" not in part for part in message[:2])
        assert message.way_out == message.way_out.strip()
        assert "|" not in message.way_out
        assert "{" not in message.title


def test_errors_name_their_subject():
    with refused("not-sensitive", CertificateError, key="shared", column="ill") as caught:
        raise CertificateError("not-sensitive", "shared", column="ill")
    assert caught.value.title == "Not sensitive"
    assert str(caught.value) == "shared: 'ill' is no sensitive column"
    error = DataError("some words")
    assert (str(error), error.code, error.title, error.fields) == ("some words", "data", "data", {})


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
def test_errors_can_be_sent(error):
    for same in (copy.copy(error), pickle.loads(pickle.dumps(error))):
        assert (type(same), str(same), vars(same)) == (type(error), str(error), vars(error))
        assert same.title == error.title


# ---- the command -------------------------------------------------------------------------------

LOADED = """
import os, sys
class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.split('.')[0] == 'foreknow': raise ImportError(name)
sys.meta_path.insert(0, Refuse())
from foreknow_judge.command import run
end = os._exit
os._exit = lambda code: (print(*sys.modules, flush=True), end(code))
run()
"""


@pytest.mark.parametrize(
    ("name", "unwanted"),
    [("atoms-generalized-parquet", "pandas"), ("facts-generalized-csv", "pyarrow")],
)
def test_the_command_loads_little(name, unwanted):
    """PyArrow would import pandas with its first array, which takes as long as all the rest."""
    command = [sys.executable, "-c", LOADED, str(SMALL.parent / name)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    assert "Verified" in done.stdout
    assert unwanted not in done.stdout.split()


# What an interrupt breaks into: a query of DuckDB, and what cannot fail.
MANY = "FROM (SELECT range a FROM range(1000000)) x, (SELECT range b FROM range(1000000)) y"
WORK = {
    "query": f"""
    threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()
    duckdb_files.new_folder()
    duckdb_files.connect().execute("SELECT sum(hash(a + b)) {MANY}").fetchall()
""",
    "fetched": f"""
    threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()
    for batch in duckdb_files.connect().sql("SELECT a + b {MANY}").to_arrow_reader(1000):
        pass
""",
    "del": """
    class Loud:
        def __del__(self):
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(1)
    Loud()
    time.sleep(60)
""",
}
INTERRUPTED = """
import os, signal, sys, threading, time
from foreknow_judge import verify
from foreknow_judge.files import duckdb_files
from foreknow_judge.command import run

def certificate_path(folder):
{}

verify.certificate_path = certificate_path
sys.argv = ["foreknow-verify", "release"]
run()
"""


def started(code, folder):
    """A process of its own that heeds signals."""
    return subprocess.Popen(
        [sys.executable, "-c", code],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(JUDGE.parent), "TMPDIR": str(folder)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=heeded,
    )


@pytest.mark.parametrize("work", WORK)
def test_interrupt_is_one_line(tmp_path, work):
    process = started(INTERRUPTED.format(WORK[work]), tmp_path)
    assert process.communicate(timeout=60) == ("", "interrupted; nothing was written\n")
    assert process.returncode == 130
    assert [*tmp_path.iterdir()] == []


# The child says when it listens to Ctrl-C; what comes before is Python itself.
AT_THE_DOOR = """
import signal, sys
from foreknow_judge.command import run

def said(number, handler, usual=signal.signal):
    before = usual(number, handler)
    print(flush=True)
    return before

signal.signal = said
sys.argv = ["foreknow-verify", "release"]
run()
"""


@pytest.mark.parametrize("delay", [0, 0.02, pytest.param(0.1, marks=pytest.mark.slow)])
def test_interrupt_while_parts_are_imported(tmp_path, delay):
    process = started(AT_THE_DOOR, tmp_path)
    process.stdout.readline()
    time.sleep(delay)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    if process.returncode != 2:  # it was faster: there is no release
        assert (process.returncode, said) == (130, "interrupted; nothing was written\n")


@pytest.mark.parametrize(("closed", "options"), [("pipe", []), ("before", ["--json"])])
def test_closed_output_is_no_traceback(closed, options):
    """As of `foreknow-verify release | head -0`, and of `foreknow-verify release >&-`."""
    code = "import sys\nfrom foreknow_judge.command import run\nrun()"
    reading, writing = os.pipe()
    os.close(reading)
    output = {"stdout": writing} if closed == "pipe" else {"preexec_fn": lambda: os.close(1)}
    done = subprocess.run(
        [sys.executable, "-c", code, str(SMALL), *options], stderr=subprocess.PIPE, **output
    )
    os.close(writing)
    assert (done.returncode, done.stderr) == (2, b"")


def test_module_is_the_command(tmp_path):
    code = [sys.executable, "-m", "foreknow_judge"]
    assert subprocess.run([*code, str(SMALL)], capture_output=True).returncode == 0
    assert subprocess.run([*code, str(tmp_path)], capture_output=True).returncode == 2


# ---- only the judge makes a verdict: an audit counts, explains, and asks it --------------------

SOURCE = Path(__file__).parents[2] / "src"
ROWS = pa.table(
    {
        "age": ["30"] * 4 + ["40"] * 5,
        "job": ["cook", "nurse"] * 4 + ["cook"],
        "ill": ["HIV", "Flu", "Flu", "Cold", "HIV", "Flu", "Cold", "Cold", "Gout"],
        "who": ["a1x", "a1x", "b2x", "c3x", "d4x", "e5x", "f6x", "g7x", "h8x"],
    }
)
SCHEMA = {"quasi_identifiers": ["age"], "sensitive": "ill", "other": ["job"]}


def requires(*more, schema=SCHEMA, **keys):
    return fk.Policy.from_dict({"schema": schema, "require": [{**keys}, *more]})


def test_only_one_place_makes_verdicts():
    callers = [
        path.relative_to(SOURCE).as_posix()
        for path in SOURCE.rglob("*.py")
        if "Verdict(" in (text := path.read_text("utf-8"))
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Verdict"
    ]
    assert callers == ["foreknow_judge/verdicts.py"]
    with pytest.raises(TypeError, match="only the judge"):
        Verdict(0, None, None, Limit(), None, safe=True)


def test_a_verdict_cannot_be_altered():
    (verdict,) = fk.audit(ROWS, requires(facts={}, below="1/10")).verdicts
    assert not verdict.safe
    for changes in ({"safe": True}, {"required": Limit()}, {"place": 1}):
        with pytest.raises(TypeError, match="only the judge"):
            replace(verdict, **changes)
    result = WorstCase(None, None, verdict.reached)  # without its witness
    bare = altered(verdict, found=result, judged={}, requirement=None, counts=None, others=())
    assert copy.copy(bare) == pickle.loads(pickle.dumps(bare)) == bare


def test_no_verdict_exceeds_its_limit():
    (verdict,) = fk.audit(ROWS, requires(facts={}, below="1/10")).verdicts
    about = {field.name: getattr(verdict, field.name) for field in fields(Figure)}
    assert not decided(Figure(**about), True).safe
    assert not unjudged(Explanation(**about, safe=True)).safe
    finding = altered(verdict, judged=verdict.judged.to_dict())
    assert explained(finding, Explanation(**about, safe=True)) == verdict
    for other in ({"place": 1}, {"judged": fk.Facts(l=1)}, {"judged": fk.Negations(0)}):
        assert explained(finding, Explanation(**{**about, **other}, safe=True)) is None


def test_an_explanation_is_no_verdict():
    (verdict,) = fk.audit(ROWS, requires(k_anonymity=2)).verdicts
    assert isinstance(verdict, Verdict)
    assert not isinstance(verdict, Explanation)


def judged_and_explained(**changed):
    """A verdict that is unsafe, and an explanation of it that says safe."""
    policy = requires(facts={}, below="9/10", knowing=[])
    (verdict,) = fk.audit(ROWS, policy, learned=False).verdicts
    about = {field.name: getattr(verdict, field.name) for field in fields(Figure)}
    judged = Figure(**{**about, "judged": verdict.judged.to_dict()})
    return decided(judged, False), Explanation(**{**about, **changed}, safe=True)


def test_an_explanation_makes_nothing_safe():
    assert explained(*judged_and_explained()).safe is False


@pytest.mark.parametrize(("more", "agrees"), [(-1e-6, False), (0, True), (1e-6, True)])
def test_a_bound_is_no_lower(more, agrees):
    reached = float(judged_and_explained()[0].reached)
    bound = SimpleNamespace(exact=None, probability=reached + more, prior=None)
    assert (explained(*judged_and_explained(found=bound)) is not None) == agrees


# ---- what would be wrong is caught -------------------------------------------------------------


@pytest.mark.parametrize("door", ["frame", "release", "counts", "folder"])
def test_a_wrong_figure_is_caught(door, monkeypatch, tmp_path):
    fk.publish(ROWS, requires(k_anonymity=2), seed=1, method="fulldomain").write(tmp_path / "out")
    release = fk.Release.from_generalized(ROWS, **SCHEMA)
    doors = {"frame": ROWS, "release": release, "counts": release.counts}
    doors["folder"] = tmp_path / "out"
    policy = requires(facts={"k": 1}, below="9/10", knowing=[])
    find = fk.Facts.disclosures
    fk.audit(doors[door], policy, learned=False)
    monkeypatch.setattr(fk.Facts, "disclosures", lambda self, release: find(fk.Facts(), release))
    with pytest.raises(InternalError, match="the judge and the audit disagree"):
        fk.audit(doors[door], policy, learned=False)


def test_what_judge_refuses_is_refused(monkeypatch):
    def refuse(*given):
        raise CertificateError("one-value-only", "facts")

    monkeypatch.setattr("foreknow.auditing.questions.verdicts", refuse)
    with pytest.raises(CertificateError):
        fk.audit(ROWS, requires(facts={}, below="9/10", knowing=[]), learned=False)


def test_confused_persons_are_caught(monkeypatch):
    schema = {**SCHEMA, "person": "who", "unit": "row"}
    policy = requires(facts={}, below="9/10", schema=schema, knowing=[])
    (verdict,) = fk.audit(ROWS, policy, learned=False).verdicts
    assert verdict.found.settled == 1  # twice 1/2 of a flu

    def of_single_cases(self, point, release):
        return list(point.adversary.disclosures(release).values())

    monkeypatch.setattr(people.CaseOwners, "disclosures", of_single_cases)
    with pytest.raises(InternalError, match="disagree"):
        fk.audit(ROWS, policy, learned=False)


# ---- what is judged ----------------------------------------------------------------------------


def test_hidden_rules_are_heeded():
    """The files show one rule, and not the other: the first is still heeded."""
    rows = ["fOy1", "fOy1", "fFn1", "fFn1", "mFy1", *["mCn1"] * 3, *["mCn2"] * 2]
    table = pa.table(
        {name: [row[position] for row in rows] for position, name in enumerate("sabh")}
    )
    table = table.append_column("q", [["1"] * 10])
    shown = {"values": ["O"], "where": {"s": ["m"]}, "sensitive": "a"}
    hidden = {"values": ["y"], "where": {"h": ["2"]}, "sensitive": "b"}
    schema = {"quasi_identifiers": ["q"], "sensitive": ["a", "b"], "other": ["s"]}
    policy = fk.Policy.from_dict(
        {
            "schema": {**schema, "impossible": [shown, hidden]},
            "require": [
                {"sensitive": own, "values": [value], "facts": {}, "below": "3/4", "knowing": []}
                for own, value in (("a", "O"), ("b", "y"))
            ],
            "publish": {"unlinked": ["b"], "labels": {"q": "exact"}},
        }
    )
    publication = fk.publish(table, policy, seed=1, learned=False)
    reached = [verdict.found.settled for verdict in publication.audit.verdicts]
    assert reached == [Fraction(1, 2), Fraction(3, 8)]
    beside = [verdict.found.settled for verdict in fk.audit(table, policy).verdicts]
    assert beside == [Fraction(1, 2), Fraction(2, 3)]  # in one row; the latter is 7/12 by worlds


def test_missing_values_count_per_requirement():
    """For one of them a missing value is a label, for the other a value that is known."""
    table = pa.table({"q": [*"xxxxyyyy"], "a": [*"ABABABAB"], "b": ["E", "F", "E", None] * 2})
    schema = fk.Schema(quasi_identifiers=["q"], sensitive=["a", "b"], missing={"label": "??"})
    chances = {"q": [*"xxyy"], "value": [*"ABAB"], "probability": ["1/2"] * 4}
    priors = fk.Priors(pa.table(chances))
    requirement = fk.Requirement(fk.Facts(), below=1, sensitive="b", knowing=[])
    other = fk.Requirement(priors, at_most_times=9, sensitive="a", knowing=["b"])
    alone = [
        fk.audit(table, fk.Policy([own], schema)).verdicts[0].reached
        for own in (requirement, other)
    ]
    for turn in (1, -1):
        verdicts = fk.audit(table, fk.Policy([requirement, other][::turn], schema)).verdicts
        assert [verdict.reached for verdict in verdicts] == alone[::turn]


@pytest.mark.parametrize("alike", [[1, "1"], ["\ud800", "\\ud800"]])
def test_values_written_alike_are_refused(alike):
    values, codes = [*alike, "x", "y"], np.arange(4)
    with pytest.raises(fk.InputError, match="are written alike"):
        fk.GroupCounts.from_bags([values])
    counts = fk.GroupCounts.from_pairs(0 * codes, codes, values=values, n_groups=1)
    policy = fk.Policy([fk.Requirement(fk.Facts(), below="9/10")])
    with pytest.raises(fk.InputError, match="are written alike"):
        fk.audit(counts, policy)


@pytest.mark.parametrize(
    "publish", [{}, {"unlinked": ["job"]}, {"unlinked": ["ill"]}, {"form": "bucketized"}]
)
@pytest.mark.parametrize("more", [{"person": "who", "unit": "row"}, {}])
def test_tables_are_judged_as_given(publish, more):
    """What the policy would shuffle stands in one row of a raw table, whoever counts."""
    who = [f"p{i}x" for i in range(5)]
    table = pa.table({"age": ["30"] * 5, "job": [*"vwxyz"], "ill": [*"ABCDE"], "who": who})
    hidden = {"values": ["A"], "where": {"who": ["p4x"]}}
    schema = {**SCHEMA, **more, "impossible": [] if more else [hidden]}
    require = [{"facts": {}, "below": "9/10", "knowing": ["job"]}]
    policy = fk.Policy.from_dict({"schema": schema, "require": require, "publish": publish})
    (verdict,) = fk.audit(table, policy, learned=False).verdicts
    assert (verdict.safe, verdict.found.settled) == (False, 1)


def test_too_large_tables_say_so(monkeypatch):
    rows = pa.table({"gid": [1] * 6, "sex": [*"mmmfff"], "ill": [*"abcabc"]})
    release = fk.Release.from_groups(rows, group="gid", sensitive="ill", other=["sex"])
    likely = {"sex": [*"mmmfff"], "value": [*"abcabc"]}
    likely["probability"] = [weight / 5 for weight in (1, 2, 2, 2, 1, 2)]
    priors = fk.Priors(pa.table(likely), facts=fk.Facts(0, 1))
    policy = fk.Policy([fk.Requirement(priors, below="99/100", values=["a"], name="statistics")])
    checked = fk.audit(release, policy, learned=False)
    assert (checked.safe, checked.too_large) == (True, ())
    assert "did not check" not in checked.summary()
    monkeypatch.setattr(exchanges, "_MOST_PEOPLE", 0)
    unchecked = fk.audit(release, policy, learned=False)
    assert unchecked.too_large == ("statistics",)
    text = " ".join(unchecked.summary().split())
    assert "statistics by a bound that the judge did not check" in text
    assert "statistics: the groups are too large for the judge" in unchecked.notes[0]


# ---- what a call requires ----------------------------------------------------------------------

COLUMNS = {"quasi_identifiers": ["age"], "sensitive": "ill"}


def test_columns_alone_require_foreknows_default():
    group_size, chance = policy_of(None, COLUMNS).requirements
    default = {"name": "Foreknow's default"}
    assert group_size.to_dict() == fk.Requirement(fk.KAnonymity(5), **default).to_dict()
    assert chance.to_dict() == fk.Requirement(fk.Facts(l=1), below="1/2", **default).to_dict()


def test_keywords_add_to_a_policy():
    tries = [{"learned": {"by": ["age"]}, "stop": 0.9}]
    policy = fk.Policy.from_dict(
        {"schema": COLUMNS, "require": [{"facts": {"k": 2}, "below": 0.7}], "try": tries}
    )
    rules = policy_of(policy, {"k_anonymity": 3})
    assert rules.requirements[:1] == policy.requirements
    assert [requirement.criterion for requirement in rules.requirements[1:]] == [fk.KAnonymity(3)]
    assert rules.tries == policy.tries != ()
    assert policy_of(rules, {"k_anonymity": 3}).requirements == rules.requirements


@pytest.mark.parametrize("is_policy", [False, True])
def test_limits_beside_policies_add_up(is_policy):
    policy = {"schema": COLUMNS, "require": [{"k_anonymity": 2}]}
    policy = fk.Policy.from_dict(policy) if is_policy else policy
    rows = pa.table({"age": [30] * 4, "ill": [*"abcd"]})
    requirements = fk.audit(rows, policy, below=0.5, learned=False).policy.requirements
    assert [requirement.criterion for requirement in requirements] == [fk.KAnonymity(2), None]
    assert requirements[1] == fk.Requirement(fk.Facts(), below=0.5)
    assert len({requirement.name for requirement in requirements}) == 2


# ---- of bounds without a fraction that are nearly alike, the worst is the highest --------------

NEAR = 2.0**-31  # nearer than floats are trusted


def bound(value, probability, prior=None):
    return Disclosure(value, probability, bounded=True, prior=prior)


def test_highest_of_bounds_is_worst():
    a, b = bound("a", 0.5), bound("b", 0.5 + NEAR)
    assert worst([a, b]) is worst([b, a]) is b
    tenth = Fraction(1, 10)
    a, b = bound("a", 0.5, tenth), bound("b", 0.5 + NEAR / 2, tenth)
    assert worst_by_prior([a, b]) is b
    exact = Fraction(1, 2) + Fraction(1, 2**31)
    a, b = bound("a", 0.5), Disclosure("b", float(exact), lambda: exact)
    assert worst([a, b]) is b
    assert worst([bound("c", 0.5 + 2 * NEAR), b]).value == "c"
    half = Disclosure("a", 0.5, lambda: Fraction(1, 2))
    assert worst([half, Disclosure("b", 0.5 - NEAR)]).value == "b"


@pytest.mark.parametrize("semantics", ["set", "multiset"])
@pytest.mark.parametrize("listed", [True, False])
def test_several_values_each(semantics, listed):
    bags = [[["Flu", "HIV"], ["Flu"], ["Flu", "Cold"], ["Cold"]], [["Flu"], ["HIV", "Flu"]]]
    people = [(age, bag) for age, group in enumerate(bags) for bag in group]
    rows = [(f"p{i}", str(age), bag) for i, (age, bag) in enumerate(people)]
    if not listed:
        rows = [(who, age, value) for who, age, bag in rows for value in bag]
    names = "who", "age", "ill"
    table = pa.table(dict(zip(names, zip(*rows, strict=True), strict=True)))
    schema = {"quasi_identifiers": ["age"], "sensitive": "ill", "semantics": semantics}
    policy = requires({"k_anonymity": 2}, facts={"k": 1}, below="9/10", schema={
        **schema, "person": "who"})  # fmt: skip
    facts, sizes = fk.audit(table, policy, learned=False).verdicts
    counts = fk.GroupCounts.from_people(bags, semantics=semantics)
    assert facts.reached == fk.Facts(k=1).disclosure(counts).exact
    assert (sizes.reached, sizes.safe) == (2, True)
