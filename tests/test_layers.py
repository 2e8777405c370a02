"""The floors of the house, as the architecture page has them: a room imports only from below."""

import ast
import re
import subprocess
import sys
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

import foreknow
from foreknow.leaves import LEAVES, leaf_of

ROOT = Path(__file__).parents[1]
SRC = ROOT / "src" / "foreknow"
JUDGE = ROOT / "src" / "foreknow_judge"
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


@cache
def trees():
    """Every module by its name below `foreknow`, apart from the front door, as a tree."""
    found = {
        ".".join(path.relative_to(SRC).with_suffix("").parts): ast.parse(path.read_text("utf-8"))
        for path in sorted(SRC.rglob("*.py"))
    }
    del found["__init__"]
    return found


LIBRARIES = {"pandas", "polars", "pyarrow", "duckdb", "narwhals", "pyspark"}
ENGINES_ALLOWED = (
    "data.engines",
    "spark",
    "data.microdata",
    "publishing.code_book",
    "publishing.entries",
    "publishing.flat_table",
    "publishing.formats",
    "exports",
    "publishing.tables",
    "publishing.publish",
)


def room(module):
    """The floor plan's name of a module."""
    parts = module.removesuffix(".__init__").split(".")
    inner = ".".join(parts[:2])
    return inner if inner in FLOOR_OF else parts[0]


def nodes(tree, lazy=False):
    """(node, whether in a function) for what is not there for type checkers alone."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            continue
        yield node, lazy
        yield from nodes(node, lazy or isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)))


def imports(module):
    """(what is imported, whether at the top of the file) for each import that runs."""
    for node, lazy in nodes(trees()[module]):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module}: relative import"
            # `from foreknow.data.engines import x` may mean a module or something in a package
            names = [node.module]
            if node.module.partition(".")[2].split(".")[0] in {"", *FOLDERS}:
                inner = [f"{node.module}.{alias.name}" for alias in node.names]
                names = [n if n.partition(".")[2] in trees() else node.module for n in inner]
        else:
            continue
        for name in dict.fromkeys(names):
            yield name, not lazy


@cache
def all_imports():
    """What each module imports."""
    return {module: list(imports(module)) for module in trees()}


@cache
def own():
    """What each imports of ours, by names below `foreknow`."""
    return {
        module: [(n.partition(".")[2], top) for n, top in found if n.split(".")[0] == "foreknow"]
        for module, found in all_imports().items()
    }


@cache
def steps():
    """(module, what it imports of ours, whether at the top of the file)."""
    return [(module, target, top) for module, found in own().items() for target, top in found]


def inside():
    """The steps that do not lead to the front door."""
    return [step for step in steps() if step[1]]


def test_the_plan_has_every_room_and_none_that_is_gone():
    assert set(FLOOR_OF) == {room(module) for module in trees()}, f"floors of {PAGE.name}"


def test_no_two_folders_import_each_other():
    pairs = {(module.split(".")[0], target.split(".")[0]) for module, target, _ in steps()}
    pairs = {(own, other) for own, other in pairs if own != other and {own, other} <= FOLDERS}
    assert len(pairs) > 50
    assert not {pair for pair in pairs if pair[::-1] in pairs}


def test_a_room_imports_only_from_below():
    wrong = [
        step
        for step in inside()
        if (one := room(step[0])) != (other := room(step[1])) and FLOOR_OF[other] >= FLOOR_OF[one]
    ]
    assert not wrong, "each imports what is above it or beside it"
    front = {(room(module), top) for module, target, top in steps() if not target}
    assert front <= {("cli", False)}  # the command line opens the front door when it is asked


def arrows():
    """What each module of both packages imports of them, also inside functions."""
    paths = [p for package in (SRC, JUDGE) for p in package.rglob("*.py")]
    names = {p: ".".join(p.relative_to(SRC.parent).with_suffix("").parts) for p in paths}
    modules = {name.removesuffix(".__init__"): p for p, name in names.items()}
    targets = {}
    for module, path in modules.items():
        targets[module] = set()
        for node, _ in nodes(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Import):
                named = {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                assert node.level == 0, f"{module}: relative import"
                # each a module of a package, or something in the package's own file
                named = {f"{node.module}.{alias.name}" for alias in node.names}
                named |= set() if named <= modules.keys() else {node.module}
            else:
                continue
            targets[module] |= named & modules.keys()
    return targets


def test_no_modules_import_each_other_in_circles():
    found = arrows()
    assert sum(map(len, found.values())) > 1000
    TopologicalSorter(found).prepare()  # an error names the modules of a circle


def test_only_doors_name_what_is_above():
    upwards = set()
    for module, tree in trees().items():
        texts = {str(node.value) for node in ast.walk(tree) if isinstance(node, ast.Constant)}
        places = {text.partition(":")[0] for text in texts if text.startswith("foreknow.")}
        rooms = {room(place[9:]) for place in places if leaf_of(place) is None} & FLOOR_OF.keys()
        rooms -= {room(module)}
        upwards |= {module for other in rooms if FLOOR_OF[other] >= FLOOR_OF[room(module)]}
    assert upwards == {"result"}  # its pages; a name in place of an import hides it


def test_nobody_imports_a_leaf():
    wrong = [
        (module, target)
        for module, target, _ in steps()
        if (leaf := leaf_of(f"foreknow.{target}")) and leaf != leaf_of(f"foreknow.{module}")
    ]
    assert not wrong, "ask `leaves.load`, so that the leaf can be deleted"


def test_dataframes_and_engines_are_known_in_few_rooms():
    used = {m: {name.split(".")[0] for name, _ in all_imports()[m]} & LIBRARIES for m in trees()}
    wrong = {
        module: libraries
        for module, libraries in used.items()
        if not module.startswith(("data.engines", "spark"))
        and libraries - ({"pyarrow", "duckdb"} if module.startswith(ENGINES_ALLOWED) else set())
    }
    assert not wrong


def test_an_adversary_knows_counts_and_no_engines():
    allowed = {"data.arrays", "data.counts", "data.labels", "data.people", "data.windows"}
    allowed |= {
        "data.possible_values",
        "atomic_files",
        "errors",
        "figures",
        "hints",
        "leaves",
        "toml",
        "needs",
        "numbers",
        "plugins",
        "settings",
        "worlds",
    }
    # a table of probabilities, wherever it is
    tables = {("adversaries.priors.priors", "data.engines.priors")}
    wrong = [
        (module, target)
        for module, target, _ in steps()
        if room(module) == "adversaries" != room(target)
        and target not in allowed
        and (module, target) not in tables
    ]
    assert not wrong


def test_a_method_knows_no_particular_adversary():
    wrong = [
        (module, target)
        for module, target, _ in inside()
        if room(module) == "methods"
        and room(target) == "adversaries"
        and target not in {"adversaries.protocol", "adversaries.disclosure"}
        # ART is made for priors
        and not (module.startswith("methods.art") and target.startswith("adversaries.priors"))
        # says which adversaries are properties of worlds
        and module != "methods.jump.policy_property"
    ]
    assert not wrong


def test_no_core_room_imports_what_shows_things():
    showing = {"report", "cli", "__main__"} | {
        leaf.split(".")[1] for leaf in LEAVES if leaf.count(".") == 1
    }
    assert not [s for s in inside() if room(s[0]) not in showing and room(s[1]) in showing]


def test_a_file_says_what_it_is_for_in_its_first_line():
    first = {m: (ast.get_docstring(tree) or "").split("\n")[0] for m, tree in trees().items()}
    assert not {m: line for m, line in first.items() if len(line) <= 15 or line[-1] != "."}


def test_every_public_name_is_where_the_front_door_says():
    for name in foreknow.__all__:
        assert getattr(foreknow, name) is not None
    assert sorted(foreknow.__all__) == dir(foreknow)
    with pytest.raises(AttributeError, match="'nothing'"):
        foreknow.nothing  # noqa: B018


def test_the_front_door_opens_no_room_before_it_is_asked():
    rooms = ("numpy", "duckdb")
    check = f"import foreknow, sys; print([m for m in {rooms} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", check], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
