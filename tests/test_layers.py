"""The floors of the house, as the architecture page has them: a room imports only from below."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

import foreknow

ROOT = Path(__file__).parents[1]
SRC = ROOT / "src" / "foreknow"
PAGE = ROOT / "docs" / "explanation" / "architecture.md"

# From the top down, a row of the page for each floor. Rooms beside each other are strangers; the
# modules of one room may import each other, though not in circles.
FLOORS = [
    re.findall(r"`([\w.]+)`", row.split("|")[2])
    for row in PAGE.read_text("utf-8").split("<!-- floors -->")[1].splitlines()
    if row.startswith("| ") and "`" in row.split("|")[2]
]
FLOOR_OF = {room: -height for height, floor in enumerate(FLOORS) for room in floor}
FOLDERS = {path.name for path in SRC.iterdir() if any(path.glob("*.py"))}

# The only door upwards, and only inside a function: a result is shown by the page of its kind.
DOORS = {("result", "report"), ("policy", "policy.file")}
LIBRARIES = {"pandas", "polars", "pyarrow", "duckdb", "narwhals", "pyspark"}
ENGINES_ALLOWED = (
    "engine",
    "data.engines",
    "data.microdata",
    "publishing.tables",
    "publishing.publish",
    "verifier",
)


def modules():
    """Every module by its name below `foreknow`, apart from the front door."""
    found = {".".join(p.relative_to(SRC).with_suffix("").parts): p for p in SRC.rglob("*.py")}
    return {name: found[name] for name in sorted(found) if name != "__init__"}


MODULES = modules()


def room(module):
    """The floor plan's name of a module."""
    parts = module.removesuffix(".__init__").split(".")
    inner = ".".join(parts[:2])
    return inner if inner in FLOOR_OF else parts[0]


def imports(path):
    """(what is imported, whether at the top of the file) for each import that runs."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    lazy = {
        id(inner)
        for function in ast.walk(tree)
        if isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef))
        for inner in ast.walk(function)
    }
    typing_only = {
        id(inner)
        for branch in ast.walk(tree)
        if isinstance(branch, ast.If) and "TYPE_CHECKING" in ast.unparse(branch.test)
        for inner in ast.walk(branch)
    }
    for node in ast.walk(tree):
        if id(node) in typing_only:
            continue
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            # `from foreknow.data.engines import x` may mean a module or something in a package
            names = [node.module]
            if node.module.partition(".")[2].split(".")[0] in {"", *FOLDERS}:
                inner = [f"{node.module}.{alias.name}" for alias in node.names]
                names = [n if n.partition(".")[2] in MODULES else node.module for n in inner]
        else:
            continue
        for name in dict.fromkeys(names):
            yield name, id(node) not in lazy


def own_imports(path):
    """The same for modules of ours, without the package's name."""
    for name, at_top in imports(path):
        if name.split(".")[0] == "foreknow":
            yield name.partition(".")[2], at_top


every_module = pytest.mark.parametrize("module", MODULES)


@every_module
def test_every_room_is_on_the_plan(module):
    assert room(module) in FLOOR_OF, f"put {room(module)} on a floor of {PAGE.name}"


def test_the_plan_has_no_rooms_that_are_gone():
    assert set(FLOOR_OF) == {room(module) for module in MODULES}


def test_the_plan_has_no_doors_that_nobody_opens():
    opened = {
        (room(m), room(target)) for m, path in MODULES.items() for target, _ in own_imports(path)
    }
    assert opened >= DOORS


@every_module
def test_a_room_imports_only_from_below(module):
    for target, at_top in own_imports(MODULES[module]):
        if not target:  # the front door: for the command line, when it is asked
            assert (room(module), at_top) == ("cli", False), f"{module} imports the front door"
            continue
        above = FLOOR_OF[room(target)] > FLOOR_OF[room(module)]
        beside = FLOOR_OF[room(target)] == FLOOR_OF[room(module)] and room(target) != room(module)
        if (room(module), room(target)) in DOORS:
            assert not at_top, f"{module} imports {target} before it is asked to"
        else:
            assert not above, f"{module} imports {target}, which is above it"
            assert not beside, f"{module} imports {target}, which is beside it"


def test_no_two_modules_import_each_other():
    below = {
        module: {target for target, at_top in own_imports(path) if at_top and target}
        for module, path in MODULES.items()
    }
    standing = dict(below)
    while standing:
        free = [m for m, targets in standing.items() if not targets & standing.keys()]
        assert free, f"in circles: {sorted(standing)}"
        for module in free:
            del standing[module]


@every_module
def test_dataframes_and_engines_are_known_in_few_rooms(module):
    used = {name.split(".")[0] for name, _ in imports(MODULES[module])} & LIBRARIES
    if module.startswith("data.engines"):
        return
    assert not used or module.startswith(ENGINES_ALLOWED), f"{module} imports {used}"
    assert used <= {"pyarrow", "duckdb"}, f"{module} imports {used}"


@pytest.mark.parametrize("module", [m for m in MODULES if room(m) == "adversaries"])
def test_an_adversary_knows_counts_and_no_engines(module):
    targets = {target for target, _ in own_imports(MODULES[module])}
    allowed = {"data.counts", "data.labels", "data.people", "data.sparse"}
    allowed |= {"errors", "numbers", "output", "settings"}
    if module == "adversaries.priors.priors":  # a table of probabilities, wherever it is
        allowed.add("data.engines.priors")
    assert {target for target in targets if room(target) != "adversaries"} <= allowed


@pytest.mark.parametrize("module", [m for m in MODULES if room(m) == "methods"])
def test_a_method_knows_no_particular_adversary(module):
    known = {t for t, _ in own_imports(MODULES[module]) if room(t) == "adversaries"}
    allowed = {"adversaries.protocol", "adversaries.disclosure"}
    if module.startswith("methods.art"):  # ART is made for priors
        known = {target for target in known if not target.startswith("adversaries.priors")}
    if module == "methods.jump.policy_property":  # says which adversaries are properties of worlds
        return
    assert known <= allowed


@pytest.mark.parametrize(
    "module", [m for m in MODULES if room(m) not in {"report", "cli", "__main__"}]
)
def test_no_core_room_imports_what_shows_things(module):
    for target, at_top in own_imports(MODULES[module]):
        if room(target) in {"report", "cli"}:
            assert not at_top
            assert (room(module), room(target)) in DOORS


def test_the_verifier_shares_nothing_with_the_search_or_the_audit():
    parts = {module for module in MODULES if module.startswith("verifier")}
    door = "engine"  # opens files, and knows nothing of what is in them
    for module in parts:
        assert {target for target, _ in own_imports(MODULES[module])} <= {"errors", door, *parts}


@every_module
def test_a_file_says_what_it_is_for_in_its_first_line(module):
    first = (ast.get_docstring(ast.parse(MODULES[module].read_text())) or "").split("\n")[0]
    assert len(first) > 15, f"{module} does not say what it is for"
    assert first.endswith("."), f"{module}: {first}"


def test_every_public_name_is_where_the_front_door_says():
    for name in foreknow.__all__:
        assert getattr(foreknow, name) is not None
    assert sorted(foreknow.__all__) == dir(foreknow)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        foreknow.nothing  # noqa: B018


def test_the_front_door_opens_no_room_before_it_is_asked():
    rooms = ("numpy", "duckdb", "plotly")
    check = f"import foreknow, sys; print([m for m in {rooms} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", check], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
