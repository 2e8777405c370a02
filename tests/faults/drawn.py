"""Draw faults at random from the source, plant each in a fork of this process, and say who notices.

python -m tests.faults drawn --record COVERED tests/judge ...
    run tests, and write down which lines they come to (wants `pip install coverage`)
python -m tests.faults drawn --covered COVERED ... [--seed 1] [--count 20] [PLACE ...]
    plant so many faults in files or folders of src, or at a line (FILE:LINE)
python -m tests.faults drawn --covered COVERED ... --without TEST ...
    only where these tests come: of the faults that they notice, does anybody else notice each?
    Tests that draw their cases at random (crossings, fuzz, Hypothesis) are nobody else

A fork has what the tests import, with the fault in the code of a function. Processes that a test
begins run without it, and so does what runs while a module is imported.
"""

import argparse
import ast
import contextlib
import gc
import importlib
import itertools
import json
import os
import random
import signal
import sqlite3
import tempfile
import time
import types
from collections import Counter, defaultdict
from functools import _lru_cache_wrapper, reduce
from operator import or_
from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import is_hypothesis_test
from tests.faults.faults import ROOT

_PAIRS = ["Lt LtE", "Gt GtE", "Eq NotEq", "In NotIn", "Is IsNot", "And Or", "Add Sub"]
_NODES = [[getattr(ast, name) for name in pair.split()] for pair in _PAIRS]
TURNED = dict([*_NODES, *[pair[::-1] for pair in _NODES]])
OTHER_CALL = {"min": "max", "max": "min", "any": "all", "all": "any"}
ENDLESS, STUCK = 20, 60  # seconds: of the processor, when a test has failed; until a fork ends
CASES_AT_A_TIME = 4  # of one function, before those of the next
BY_CHANCE = ("tests/crossings/", "tests/fuzz/")  # and all tests of Hypothesis
FUNCTIONS = ast.FunctionDef | ast.AsyncFunctionDef


class Drawn(NamedTuple):
    """A fault: the number of a change in a file, where it stands, and what it changes."""

    path: str
    number: int
    first: int
    last: int
    change: str


def changed(node, **fields):
    """A copy of a node with other fields."""
    return ast.copy_location(type(node)(**{**vars(node), **fields}), node)


def replacements(node):
    """The nodes that may stand in place of a node so that it is wrong."""
    match node:
        case ast.Compare(ops=[op]) if type(op) in TURNED:
            yield changed(node, ops=[TURNED[type(op)]()])
        case ast.BinOp(op=op) | ast.BoolOp(op=op) if type(op) in TURNED:
            yield changed(node, op=TURNED[type(op)]())
            for left in getattr(node, "values", ()):
                others = [value for value in node.values if value is not left]
                yield changed(node, values=others) if len(others) > 1 else others[0]
        case ast.Constant(value=int(value) | float(value)):
            yield changed(node, value=not value if isinstance(value, bool) else value + 1)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield operand
        case ast.IfExp(body=body, orelse=orelse):
            yield changed(node, body=orelse, orelse=body)
        case ast.If():
            yield from (changed(node, test=ast.Constant(value)) for value in (True, False))
        case ast.comprehension(ifs=[_, *_]):
            yield changed(node, ifs=[])
        case ast.Call(func=ast.Name(id=name)) if name in OTHER_CALL:
            yield changed(node, func=changed(node.func, id=OTHER_CALL[name]))


def changes(tree):
    """Pairs of a node in the body of a function and a node that may stand in its place."""
    for function in ast.walk(tree):
        waiting = list(function.body) if isinstance(function, FUNCTIONS) else []
        while waiting:
            node = waiting.pop()
            if not isinstance(node, FUNCTIONS | ast.ClassDef):
                yield from ((node, replacement) for replacement in replacements(node))
                waiting.extend(ast.iter_child_nodes(node))


def faults_of(path):
    """All faults of one file."""
    for number, (node, other) in enumerate(changes(ast.parse((ROOT / path).read_text("utf-8")))):
        place = {ast.If: "test", ast.comprehension: "iter"}.get(type(node))
        placed = getattr(node, place) if place else node
        texts = [ast.unparse(own.test if place == "test" else own) for own in (node, other)]
        yield Drawn(path, number, placed.lineno, placed.end_lineno, " -> ".join(texts))


def tree_with(fault):
    """The syntax tree of a module with a fault in it."""
    tree = ast.parse((ROOT / fault.path).read_text("utf-8"))
    node, other = list(changes(tree))[fault.number]
    for parent in ast.walk(tree):
        for name, value in ast.iter_fields(parent):
            if value is node:
                setattr(parent, name, other)
            elif isinstance(value, list):
                value[:] = [other if part is node else part for part in value]
    return ast.fix_missing_locations(tree)


def plant(fault):
    """Give the functions of a module that is imported the code with a fault; empty all caches."""
    codes, waiting = {}, [compile(tree_with(fault), str(ROOT / fault.path), "exec")]
    while waiting:
        code = waiting.pop()
        codes[code.co_filename, code.co_qualname, code.co_firstlineno] = code
        waiting.extend(part for part in code.co_consts if isinstance(part, types.CodeType))
    for thing in gc.get_objects():
        if type(thing) is _lru_cache_wrapper:
            thing.cache_clear()
        elif type(thing) is types.FunctionType:
            old = thing.__code__
            place = old.co_filename, old.co_qualname, old.co_firstlineno
            thing.__code__ = codes.get(place, old)


class Covered:
    """Which tests come to which line, as coverage has written it down."""

    def __init__(self, paths):
        self.tests_of = defaultdict(list)  # of a file: tests, and their lines as bits
        self.sizes = Counter()  # of a test: how many files it comes to
        asked = (
            "SELECT file.path, context.context, numbits FROM line_bits "
            "JOIN file ON file.id = file_id JOIN context ON context.id = context_id"
        )
        for path in paths:
            with contextlib.closing(sqlite3.connect(path)) as database:
                for name, test, bits in database.execute(asked):
                    if test:
                        place = f"src{name.rpartition('/src')[2]}"
                        self.tests_of[place].append((test, int.from_bytes(bits, "little")))
                        self.sizes[test] += 1

    def tests(self, fault):
        """The tests that come to the lines of a fault."""
        lines = (1 << fault.last + 1) - (1 << fault.first)
        return {test for test, bits in self.tests_of[fault.path] if bits & lines}

    def lines(self, path, names):
        """The lines of a file to which tests come that begin with one of some names, as bits."""
        return reduce(or_, (n for test, n in self.tests_of[path] if test.startswith(names)), 0)


class Trials:
    """In place of a run of all tests: a fork for each fault, which runs the tests that cover it."""

    def __init__(self, asked):
        self.asked, self.covered = asked, Covered(asked.covered)
        self.noticed_by, self.failed = Counter(), None
        self.stuck = set()  # tests that wait in a fork for ever: for threads of what it came from

    def pytest_runtest_logreport(self, report):
        if report.failed:
            self.failed = self.failed or report.nodeid

    def pytest_runtestloop(self, session):
        items = {item.nodeid: item for item in session.items}
        faults = list(itertools.islice(self.drawn(items), self.asked.count))
        for fault in faults:
            importlib.import_module(".".join(Path(fault.path).with_suffix("").parts[1:]))
        gc.unfreeze()
        running, counts = {}, Counter()
        with tempfile.TemporaryDirectory() as folder:
            while faults or running:
                while faults and len(running) < self.asked.jobs:
                    fault = faults.pop()
                    path = Path(folder, f"{hash(fault)}.json")
                    running[self.fork(fault, items, path)] = fault, path
                time.sleep(0.01)
                for child, (fault, path) in list(running.items()):
                    done, status = os.waitpid(child, os.WNOHANG)
                    if not done:
                        continue
                    del running[child]
                    text = ended(child, path)
                    if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGALRM:
                        self.stuck.add(text["by"])
                        faults.append(fault)
                    else:
                        counts[self.say(fault, text)] += 1
        print(", ".join(f"{count} {word}" for word, count in sorted(counts.items())))
        return True

    def drawn(self, items):
        """Faults at random of the places that are asked for, to which some test comes."""
        faults, going = [], tuple(self.asked.without or [""])
        for place in self.asked.place or ["src"]:
            path, _, line = place.partition(":")
            files = sorted((ROOT / path).rglob("*.py")) if (ROOT / path).is_dir() else [ROOT / path]
            for name in [str(file.relative_to(ROOT)) for file in files]:
                lines = 1 << int(line) if line else self.covered.lines(name, going)
                faults += [fault for fault in faults_of(name) if 1 << fault.first & lines]
        random.Random(self.asked.seed).shuffle(faults)
        return (fault for fault in faults if self.covered.tests(fault) & set(items))

    def fork(self, fault, items, path):
        """A process that runs the tests which cover a fault, until one fails."""
        if child := os.fork():
            return child
        try:
            os.setsid()
            for stream in (1, 2):
                os.dup2(os.open(os.devnull, os.O_WRONLY), stream)
            signal.signal(signal.SIGVTALRM, too_long)
            plant(fault)
            tests = (self.covered.tests(fault) & set(items)) - self.stuck
            output = self.run([items[test] for test in tests], path)
        except BaseException as error:
            output = {"word": "not planted", "why": repr(error)}
        path.write_text(json.dumps(output), "utf-8")
        os._exit(0)

    def run(self, tests, path):
        """Who notices: of tests that may go, then of all others; each for so many seconds."""
        without, by = tuple(self.asked.without), None
        for goes in (True, False) if without else (False,):
            began, left_out, self.failed = time.process_time(), 0, None
            ordered = self.ordered([test for test in tests if is_asked(test, goes, without)])
            word = "only by them" if goes else "noticed"
            for item, following in itertools.pairwise([*ordered, None]):
                if time.process_time() - began > self.asked.seconds:
                    left_out += 1
                    continue
                path.write_text(json.dumps({"word": word, "by": item.nodeid}), "utf-8")
                signal.alarm(STUCK)
                signal.setitimer(signal.ITIMER_VIRTUAL, ENDLESS)
                item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
                signal.setitimer(signal.ITIMER_VIRTUAL, 0)
                if self.failed:
                    break
            if goes and not self.failed:
                return {"word": "not by them", "of": len(ordered) - left_out}
            if not goes and self.failed:
                return {"word": "noticed", "by": self.failed}
            by = self.failed or by
            if ordered:
                ordered[0].session._setupstate.teardown_exact(None)
        result = {"word": "only by them", "by": by} if by else {"word": "NOBODY"}
        return {**result, "of": len(tests) - left_out, "left out": left_out}

    def ordered(self, tests):
        """First what noticed most faults until now, then what comes to the fewest files."""
        counter, keyed = Counter(), {}
        for item in sorted(tests, key=lambda item: (self.covered.sizes[item.nodeid], item.nodeid)):
            name = item.nodeid.partition("[")[0]
            keyed[item] = counter[name] // CASES_AT_A_TIME, -self.noticed_by[name], len(keyed)
            counter[name] += 1
        return sorted(keyed, key=keyed.get)

    def say(self, fault, said):
        """Print who noticed a fault; the word for it."""
        self.noticed_by[said.get("by", "").partition("[")[0]] += 1
        print(
            f"{said['word']:<12} {fault.path}:{fault.first} {fault.change}\n    {said}", flush=True
        )
        return said["word"]


def too_long(*_):
    raise TimeoutError("a fault made this endless")


def is_asked(item, goes, without):
    """Whether a test is one that may go, or one of the others which has the same cases each time.

    What is met by chance today need not be met tomorrow, so it takes nobody's place.
    """
    if not without:
        return True
    may_go = item.nodeid.startswith(without)
    by_chance = item.nodeid.startswith(BY_CHANCE) or is_hypothesis_test(getattr(item, "obj", None))
    return may_go if goes else not (may_go or by_chance)


def ended(child, path):
    """The word of a process on a fault, when all that it began has ended, too."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)
    return json.loads(path.read_text("utf-8"))


class Record:
    """Writes down which lines each test comes to."""

    def __init__(self, path):
        from coverage import Coverage

        self.coverage = Coverage(path, config_file=False, source=[str(ROOT / "src")])
        self.coverage.start()

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item):
        self.coverage.switch_context(item.nodeid)
        said = yield
        self.coverage.switch_context("")
        return said

    def pytest_sessionfinish(self):
        self.coverage.stop()
        self.coverage.save()


def main(words):
    """Record which tests come where, or plant faults; the exit code of pytest."""
    parser = argparse.ArgumentParser("python -m tests.faults drawn")
    parser.add_argument("place", nargs="*", help="of src, or with --record of tests")
    parser.add_argument("--record", metavar="COVERED", help="where to write which lines tests meet")
    parser.add_argument("--covered", nargs="+", default=[], help="what --record wrote")
    parser.add_argument("--without", nargs="+", default=[], help="tests that may go")
    parser.add_argument("--tests", nargs="+", default=["tests"], help="the tests to try")
    for name, usual in {"seed": 1, "count": 20, "jobs": 1, "seconds": 30}.items():
        parser.add_argument(f"--{name}", type=int, default=usual)
    asked = parser.parse_args(words)
    os.environ["CI"] = "true"
    plugin = Record(asked.record) if asked.record else Trials(asked)
    tests = asked.place if asked.record else ["-s", *asked.tests]
    return pytest.main(["-q", "-n", "0", "-p", "no:cacheprovider", *tests], plugins=[plugin])
