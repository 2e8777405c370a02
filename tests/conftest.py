"""How tests run: long enumerations only when asked for, random cases without a clock."""

import gc
import os
import sys
from collections import defaultdict
from importlib import import_module

os.environ.setdefault("OMP_NUM_THREADS", "1")  # as many tests as processors run at once
os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # of the executors of Spark

import pytest
from _pytest.doctest import DoctestModule
from hypothesis import HealthCheck, settings
from tests.common import NIGHTLY

from foreknow.atomic_files import write_whole
from foreknow.auditing import audit, trial
from foreknow.data.tables.formats import file_table
from foreknow.features import is_installed
from foreknow.publishing import publish
from foreknow.workers import Failure
from foreknow_judge.files import duckdb_files

COMPARISON = "foreknow.features.comparison"
# A leaf may be left out: see test_leaves.
comparison = import_module(f"{COMPARISON}.comparison") if is_installed(COMPARISON) else None

# A busy machine is no failure. In CI the same cases are drawn each time, so that a commit is judged
# by what it changes; elsewhere new ones are drawn at every run.
settings.register_profile(
    "foreknow",
    max_examples=100 if NIGHTLY else 25,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    derandomize=os.environ.get("CI") == "true",
)
settings.load_profile("foreknow")

# What tests write need not outlive a power cut.
os.fsync = lambda _: None

# What is collected for thousands of tests stays: Python need not look through it again and again.
gc.set_threshold(100_000, 50, 100)


@pytest.fixture
def tiny_tables(monkeypatch):
    """Labels list values that one person has: for tables too small to have any of five."""
    monkeypatch.setattr("foreknow.policy.policy.SHARED", 1)


def pytest_configure(config):
    for said in (
        "thinned(share): by day one of so many cases of crossed parameters",
        "complete: by day too with advice, with what is learned of a release, and with its report",
        "processes: by day too processes of their own compare methods and read workbooks",
    ):
        config.addinivalue_line("markers", said)
    if not NIGHTLY:
        be_short(publish, "advice_of", lambda *given: iter(()))
        be_short(trial, "_trials_by_default", lambda *given: ())
        be_short(audit.Audit, "to_html", short_page)
        be_short(duckdb_files, "new_database", of_one_thread, lambda: True)
        if comparison:
            be_short(comparison, "side_by_side", in_turn, at_home)
        be_short(file_table, "_in_worker", lambda read, given, name: read(*given), at_home)


# What is said beside a release takes most of a publication's time: advice, what is learned of it,
# and its report. By day only tests that are marked `complete` have it.
# What is published, judged, certified and verified is the same with it and without. Processes take
# half a second to begin: by day only tests that are marked `processes` have any beside them.
is_short = is_at_home = False


def be_short(place, name, short, when=lambda: is_short):
    """Let something be done in short while `is_short`, or while something else is so."""
    usual = getattr(place, name)
    setattr(place, name, lambda *own, **more: (short if when() else usual)(*own, **more))


def at_home():
    return is_at_home


def of_one_thread(folder, new=duckdb_files.new_database):
    """A database that counts in one thread: as many tests as processors run at once."""
    database = new(folder)
    database.execute("SET threads = 1")
    return database


def in_turn(work, shared, jobs, processes, seconds=None, stopped=None):
    """What is done side by side, done here, one job after the other."""
    for place, job in enumerate(jobs):
        try:
            result = work(shared, job)
        except Exception as error:
            result = Failure(f"{type(error).__name__}: {error}")
        yield place, result


def short_page(own, path=None, *, published=False, page=audit.Audit.to_html):
    """A word for what is written with a release; a page that is asked for is made."""
    if path is None or not published:
        return page(own, path, published=published)
    return write_whole(path, "report")


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item):
    told(
        short=not item.get_closest_marker("complete"),
        home=not item.get_closest_marker("processes"),
    )


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown():
    told(short=False, home=False)  # documentation is tested as it is


def told(*, short, home):
    global is_short, is_at_home
    is_short, is_at_home = short, home


@pytest.hookimpl(wrapper=True)
def pytest_collect_file(file_path):
    """Look for examples in docstrings only where there are some."""
    result = yield
    if file_path.suffix == ".py" and ">>> " not in file_path.read_text("utf-8"):
        result = [each for each in result if not isinstance(each, DoctestModule)]
    return result


def pytest_collection_finish():
    """Leave all tests and libraries out of what is looked through for garbage."""
    gc.freeze()


def pytest_collection_modifyitems(items):
    """By day, skip what is marked slow, and most cases of what is marked thinned."""
    if NIGHTLY:
        return
    places = defaultdict(dict)
    for item in items:
        if "slow" in item.keywords or not is_of_the_day(item, places):
            item.add_marker(pytest.mark.skip(reason="set FOREKNOW_NIGHTLY=1 to run it"))


def is_of_the_day(item, places):
    """Whether a case is among those of `thinned(share)`: by the sum of its parameters' places.

    So of crossed parameters every value is met in some case. `places` is filled: where each value
    of a parameter comes among the others.
    """
    mark = item.get_closest_marker("thinned")
    if mark is None:
        return True
    params = item.callspec.params
    named = [iter_marker.args[0] for iter_marker in item.iter_markers("parametrize")]
    together = [(names,) if isinstance(names, str) else tuple(names) for names in named]
    alone = [(name,) for name in params if name not in sum(together, ())]
    total = 0
    for names in [*together, *alone]:
        met = places[item.function, names]
        total += met.setdefault(repr([params[name] for name in names]), len(met))
    return total % mark.args[0] == 0
