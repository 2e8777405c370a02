"""Plant one fault: the module that holds it is imported with one text in place of another.

python -m pytest -p tests.faults.plant --fault NAME --notice FILE tests/test_x.py
"""

import ast
import json
import sys
from importlib.machinery import PathFinder, SourceFileLoader
from pathlib import Path

from hypothesis import Phase, settings
from tests.faults.faults import FAULTS, Fault, FaultError


def edited(source, fault):
    """The source of a module with the fault in it; an error if its text is not there once."""
    lines = source.splitlines(keepends=True)
    first, last = lines_of(ast.parse(source), fault)
    within = "".join(lines[first - 1 : last])
    if within.count(fault.text) != 1:
        times = within.count(fault.text)
        raise FaultError(f"{fault.name}: {fault.text!r} is {times} times in {fault.place}")
    within = within.replace(fault.text, fault.instead)
    return "".join([*lines[: first - 1], within, *lines[last:]])


def lines_of(tree, fault):
    """The first and the last line of a function, class or name of a module."""
    node = tree
    for part in fault.place.partition(":")[2].split("."):
        node = next((own for own in node.body if part in names_of(own)), None)
        if node is None:
            raise FaultError(f"{fault.name}: {fault.place} is gone")
    first = min([node.lineno, *(own.lineno for own in getattr(node, "decorator_list", ()))])
    return first, node.end_lineno


def names_of(node):
    """The names that a statement defines."""
    if isinstance(node, ast.Assign):
        return [target.id for target in node.targets if isinstance(target, ast.Name)]
    if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
        return [node.target.id]
    return [node.name] if hasattr(node, "name") else []


class Planter:
    """Finds the module of one fault, and loads it with the fault in it."""

    def __init__(self, fault):
        self.fault, self.module, self.loaded = fault, fault.place.partition(":")[0], False
        if self.module in sys.modules:
            raise FaultError(f"{fault.name}: {self.module} was imported before")

    def find_spec(self, name, path=None, target=None):
        """The module with the fault in it; nothing for any other module."""
        if name != self.module:
            return None
        spec = PathFinder.find_spec(name, path, target)
        spec.loader = FaultyLoader(name, spec.origin, self)
        return spec


class FaultyLoader(SourceFileLoader):
    """Loads a module with a fault in it, and writes nothing of it to disk."""

    def __init__(self, name, path, planter):
        super().__init__(name, path)
        self.planter = planter

    def get_code(self, fullname):
        """The compiled module with the fault in it."""
        source = edited(Path(self.path).read_text("utf-8"), self.planter.fault)
        self.planter.loaded = True
        return compile(source, self.path, "exec", dont_inherit=True)


class Notice:
    """Writes down which test failed first."""

    def __init__(self, planter, path):
        self.planter, self.path = planter, path

    def pytest_runtest_logreport(self, report):
        if report.failed and not self.path.exists():
            why = getattr(report.longrepr, "reprcrash", None)
            text = str(why.message if why else report.longrepr).splitlines()
            self.write(by=report.nodeid, why=text[0] if text else "")

    def pytest_sessionfinish(self):
        if not self.path.exists():
            self.write(by=None, why="" if self.planter.loaded else "its module was not imported")

    def write(self, **said):
        self.path.write_text(json.dumps(said), "utf-8")


def fault_of(given):
    """The fault of a name, or one that is written out in JSON."""
    return Fault(**json.loads(given)) if given.startswith("{") else FAULTS[given]


def pytest_addoption(parser):
    parser.addoption("--fault", help="the name of the fault to plant, or a fault in JSON")
    parser.addoption("--notice", help="where to write which test noticed it")


def pytest_load_initial_conftests(early_config):
    known_args_namespace = early_config.known_args_namespace
    planter = Planter(fault_of(known_args_namespace.fault))
    sys.meta_path.insert(0, planter)
    early_config.pluginmanager.register(Notice(planter, Path(known_args_namespace.notice)))


def pytest_configure():
    # What fails once has failed: no smaller example is looked for, and none is kept.
    settings.register_profile(
        "fault",
        parent=settings.get_profile("foreknow"),
        phases=(Phase.explicit, Phase.generate),
        derandomize=True,
        database=None,
    )
    settings.load_profile("fault")
