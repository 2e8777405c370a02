"""The structure of the source: layers, leaves, names, and in how many files a feature is known.

A package imports only from lower layers, as the architecture page says. A limit is a thermometer:
raising one is a line in a diff that somebody reads.
"""

import ast
import re
import subprocess
import sys
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

import foreknow
from foreknow.adversaries.registry import ADVERSARIES
from foreknow.criteria.registry import CRITERIA
from foreknow.features import LEAVES, leaf_of
from foreknow.methods.registry import METHODS

ROOT = Path(__file__).parents[2]
SRC = ROOT / "src" / "foreknow"
JUDGE = ROOT / "src" / "foreknow_judge"
PAGE = ROOT / "docs" / "explanation" / "architecture.md"

# From the top down, a row of the page for each layer. Packages of one layer do not import each
# other; the modules of one package may, though not in circles.
LAYERS = [
    re.findall(r"`([\w.]+)`", row.split("|")[2])
    for row in PAGE.read_text("utf-8").split("<!-- layers -->")[1].splitlines()
    if row.startswith("| ") and "`" in row.split("|")[2]
]
LAYER_OF = {package: -height for height, layer in enumerate(LAYERS) for package in layer}
FOLDERS = {path.name for path in SRC.iterdir() if any(path.glob("*.py"))}


@cache
def parsed(path):
    """The tree of a file."""
    return ast.parse(path.read_text("utf-8"))


@cache
def walked(path):
    """All nodes of a file."""
    return [*ast.walk(parsed(path))]


@cache
def trees():
    """Every module by its name below `foreknow`, apart from the front door, as a tree."""
    results = {
        ".".join(path.relative_to(SRC).with_suffix("").parts): parsed(path)
        for path in sorted(SRC.rglob("*.py"))
    }
    del results["__init__"]
    return results


def package_of(module):
    """The package of a module, as the page names it."""
    parts = module.removesuffix(".__init__").split(".")
    inner = ".".join(parts[:2])
    return inner if inner in LAYER_OF else parts[0]


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
            # `from foreknow.data.tables import x` may mean a module or something in a package
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
def steps():
    """(module, what it imports of ours, by names below `foreknow`, whether at the top)."""
    return [
        (module, name.partition(".")[2], top)
        for module, found in all_imports().items()
        for name, top in found
        if name.split(".")[0] == "foreknow"
    ]


def inside():
    """The steps that do not lead to the front door."""
    return [step for step in steps() if step[1]]


def test_every_package_has_a_layer():
    assert set(LAYER_OF) == {package_of(module) for module in trees()}, f"layers of {PAGE.name}"


def test_packages_import_from_lower_layers():
    pairs = {(package_of(module), package_of(target)) for module, target, _ in inside()}
    pairs = {(one, other) for one, other in pairs if one != other}
    assert len(pairs) > 50
    assert not {pair for pair in pairs if pair[::-1] in pairs}
    wrong = [
        step
        for step in inside()
        if (one := package_of(step[0])) != (other := package_of(step[1]))
        and LAYER_OF[other] >= LAYER_OF[one]
    ]
    assert not wrong, "each imports what is above it or beside it"
    front = {(package_of(module), top) for module, target, top in steps() if not target}
    assert front <= {("cli", False)}  # the command line opens the front door when it is asked
    showing = {"report", "cli", "__main__"}
    showing |= {package_of(leaf.partition(".")[2]) for leaf in LEAVES}
    assert not [
        s for s in inside() if package_of(s[0]) not in showing and package_of(s[1]) in showing
    ]


@cache
def arrows():
    """What each module of both packages imports of them, also inside functions."""
    paths = [p for package in (SRC, JUDGE) for p in package.rglob("*.py")]
    names = {p: ".".join(p.relative_to(SRC.parent).with_suffix("").parts) for p in paths}
    modules = {name.removesuffix(".__init__"): p for p, name in names.items()}
    targets = {}
    for module, path in modules.items():
        targets[module] = set()
        for node, _ in nodes(parsed(path)):
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


def test_no_circles():
    targets = arrows()
    assert sum(map(len, targets.values())) > 1000
    TopologicalSorter(targets).prepare()  # an error names the modules of a circle


def test_what_verdicts_rest_on():
    """Who asks the judge hands it rows, and tables that say what they are; no schema or policy."""
    targets, reached, waiting = arrows(), set(), ["foreknow.auditing.questions"]
    while waiting:
        if (module := waiting.pop()) not in reached:
            reached.add(module)
            waiting += targets[module]
    assert len(reached) > 40
    names = ("schema", "hierarchy", "prepare", "counts", "release", "microdata")
    assert not reached & {f"foreknow.data.{name}" for name in names}
    packages = ("policy", "adversaries", "criteria", "methods", "publishing")
    inner = tuple(f"foreknow.{name}." for name in packages)
    assert not {module for module in reached if module.startswith(inner)}


def test_only_doors_look_up():
    upwards = set()
    for module, tree in trees().items():
        texts = {str(node.value) for node in ast.walk(tree) if isinstance(node, ast.Constant)}
        places = {text.partition(":")[0] for text in texts if text.startswith("foreknow.")}
        packages = {
            package_of(place[9:]) for place in places if leaf_of(place) is None
        } & LAYER_OF.keys()
        packages -= {package_of(module)}
        upwards |= {
            module for package in packages if LAYER_OF[package] >= LAYER_OF[package_of(module)]
        }
    assert upwards == {"result_pages"}  # a name in place of an import hides it


def test_nobody_imports_a_leaf():
    wrong = [
        (module, target)
        for module, target, _ in steps()
        if (leaf := leaf_of(f"foreknow.{target}")) and leaf != leaf_of(f"foreknow.{module}")
    ]
    assert not wrong, "ask `features.load`, so that the leaf can be deleted"


LIBRARIES = {"pandas", "polars", "pyarrow", "duckdb", "narwhals", "pyspark"}
ENGINES_ALLOWED = (
    "data.tables",
    "features.spark",
    "data.microdata",
    "data.raw_rows",
    "data.equal_rows",
    "features.exports",
) + tuple(
    f"publishing.{name}"
    for name in (
        "code_book",
        "distinct_rows",
        "drawn_rows",
        "flat_table",
        "formats",
        "tables",
        "publish",
    )
)


def test_libraries_in_few_packages():
    used = {m: {name.split(".")[0] for name, _ in all_imports()[m]} & LIBRARIES for m in trees()}
    wrong = {
        module: libraries
        for module, libraries in used.items()
        if not module.startswith(("data.tables", "data.people", "features.spark"))
        and libraries - ({"pyarrow", "duckdb"} if module.startswith(ENGINES_ALLOWED) else set())
    }
    assert not wrong


def test_an_adversary_knows_no_libraries():
    allowed = {
        "data.arrays",
        "data.counts",
        "data.impossible.possible_values",
        "data.labels.labels",
        "data.labels.windows",
        "data.members",
        "atomic_files",
        "errors",
        "shown_numbers",
        "call_hints",
        "features",
    }
    allowed |= {"toml", "needs", "numbers", "plugins", "settings", "possible_worlds"}
    # a table of probabilities, wherever it is
    tables = {("adversaries.priors.priors", "data.tables.priors")}
    wrong = [
        (module, target)
        for module, target, _ in steps()
        if package_of(module) == "adversaries" != package_of(target)
        and target not in allowed
        and (module, target) not in tables
    ]
    assert not wrong


METHOD_PACKAGES = {"methods", "features.more_methods"}


def test_a_method_knows_no_adversary():
    wrong = [
        (module, target)
        for module, target, _ in inside()
        if package_of(module) in METHOD_PACKAGES
        and package_of(target) == "adversaries"
        and target.removeprefix("adversaries.") not in {"adversary", "release_counts", "disclosure"}
        # ART is made for priors
        and not (
            module.startswith("features.more_methods.art")
            and target.startswith("adversaries.priors")
        )
        # says which adversaries are properties of worlds
        and module != "features.more_methods.jump.policy_property"
    ]
    assert not wrong


def test_first_lines_and_front_door():
    first = {m: (ast.get_docstring(tree) or "").split("\n")[0] for m, tree in trees().items()}
    assert not {m: line for m, line in first.items() if len(line) <= 15 or line[-1] != "."}
    assert all(getattr(foreknow, name) is not None for name in foreknow.__all__)
    assert sorted(foreknow.__all__) == dir(foreknow)
    with pytest.raises(AttributeError, match="'nothing'"):
        foreknow.nothing  # noqa: B018
    check = "import foreknow, sys; print([m for m in ('numpy', 'duckdb') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", check], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


# ---- in how many files a feature is known ------------------------------------------------------

# Files that know all keys by their task: the registry, the front door, the names that things have
# elsewhere, and what is measured of a frame as it is.
HOMES = {"registry.py", "__init__.py", "names.py", "measures.py"}
# Keys that are also plain words.
PLAIN = {"art", "safe", "risk", "levels"}
PARTS = {"any_of": 12, "at_level": 5, "at_most_times": 8, "knowing": 13, "within": 13}
# In how many files of src, beyond its home, a key of a registry may be known, if not in one.
PLACES = {
    "facts": 14,
    "implications": 8,
    "negations": 8,
    "priors": 22,
    "k_anonymity": 6,
    "group_size": 5,
    "l_diversity": 3,
    "t_closeness": 4,
    "beta_likeness": 2,
    "delta_disclosure": 2,
    "k_map": 2,
    "delta_presence": 2,
    "risk": 2,
    "population_risk": 4,
    "levels": 2,
    "mondrian": 3,
    "anatomy": 1,  # Streamliner begins as Anatomy does
    "streamliner": 0,
}


@cache
def identifiers(path):
    """Identifiers, attributes, keyword names, and the words of short texts without spaces."""
    named = set()
    for node in walked(path):
        for field in ("id", "attr", "arg", "name"):
            if isinstance(text := getattr(node, field, None), str):
                named.add(text)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and len(node.value) < 40:
            named.update(re.findall(r"\w+", node.value) if " " not in node.value else ())
    return named


def knowing(names, *homes):
    """The files that know one of some names, apart from their homes."""
    return sorted(
        str(path.relative_to(SRC))
        for path in SRC.rglob("*.py")
        if identifiers(path) & names and not {path, *path.parents} & {*homes}
        if path.name not in HOMES
    )


def home_of(kind):
    """The file of a class; its folder, where it has one beside a registry."""
    path = SRC.joinpath(*kind.__module__.split(".")[1:]).with_suffix(".py")
    packages = {SRC / "adversaries", SRC / "criteria", SRC / "methods"}
    return path if path.parent in packages else path.parent


def method_home(place):
    """The folder of a method that is a leaf, or else the folder of the methods."""
    leaf = leaf_of(place.partition(":")[0])
    return SRC.parent.joinpath(*(leaf or "foreknow.methods").split("."))


KNOWN = [
    *(
        (k.key, {k.__name__, k.key} - PLAIN, home_of(k))
        for k in (*ADVERSARIES.values(), *CRITERIA.values())
    ),
    *((key, {key}, method_home(place)) for key, place in METHODS if key not in PLAIN),
    *((part, {part}, SRC / "nowhere") for part in PARTS),
]


@pytest.mark.parametrize(("key", "names", "home"), KNOWN, ids=[row[0] for row in KNOWN])
def test_features_in_few_files(key, names, home):
    files = knowing(names, home, SRC / "methods")
    assert len(files) <= {**PLACES, **PARTS}.get(key, 1), f"{files}: fewer, or raise its number"


# ---- measures of the code and the pages that may only get better -------------------------------

# Pronouns, participles, prepositions and quantifiers that name nothing where they stand alone.
EMPTY = """
own each of about at said found held asked made known given told kept met there here alone alike
beside again together others other many few more most least some any every all one two both rest
left still whole wanted meant seen read written shown named called open opened taken judged counted
settled
"""
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


def bindings(path):
    """The names that a module assigns, or takes as parameters."""
    for node in walked(path):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id.strip("_")
        elif isinstance(node, ast.arg) and node.arg not in ("self", "cls"):
            yield node.arg.strip("_")


def is_nested(comprehension):
    """True for a comprehension with another one in it, or with several generators."""
    within = [x for x in ast.walk(comprehension) if isinstance(x, COMPREHENSIONS)]
    return len(within) > 1 or len(comprehension.generators) > 1


def test_names_comprehensions_and_words():
    paths = [*SRC.parent.rglob("*.py")]
    names = [name for path in paths for name in bindings(path) if name]
    empty = {*EMPTY.split()}
    assert sum(name in empty for name in names) <= 0.01 * len(names)
    comprehensions = [x for path in paths for x in walked(path) if isinstance(x, COMPREHENSIONS)]
    lines = sum(path.read_text("utf-8").count("\n") for path in paths)
    assert len(comprehensions) <= 0.0285 * lines
    assert sum(map(is_nested, comprehensions)) <= 16
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    words = [word for page in pages for word in page.read_text("utf-8").split()]
    assert sum(any(map(str.isalnum, word)) for word in words) <= 56_000  # not bars of tables


# Wrong verdicts arise where code asks which semantics, who is counted, in which form, what labels
# stand for, or where data came from. Names and texts by which such a decision is known:
ASKED = """
unit counts_people shared number_of_cases CASES in_cases of_people of_classes of_look_alikes
of_classes_of_units recognized owned owner owners owned_columns able able_of impossible rules cohort
conditions asks_owner counts_cases cases person persons households shown UNITS MOST_CASES
PossibleMembers rules_of_people rules_about of_cases classes population of_population compared
several_rows unit_of semantics several of_several bags refuse_sets Semantics is_single single
multiset form written_form unlinked shuffled apart exact parts linked stands_apart exactly
JointLabels GroupLabels Window Windows of_windows about_sets within width sets places has_label
labels as_one level at_level any_of Range Sets singly asked windows values_apart joint layout
Release GroupCounts Sight Microdata Table Stored Path engine escaped commas delimiter format tallies
tallied aside tables CsvFile settled Register TallyTable PersonRows Tally untyped people_table lazy
memory
"""
ANSWERS = """
single set multiset row person generalized bucketized release people csv parquet xlsx sav dta
"""
BRANCHES = (ast.If, ast.IfExp, ast.While, ast.Assert)
EQUAL = (ast.Is, ast.IsNot, ast.In, ast.NotIn, ast.Eq, ast.NotEq)


def conditions_of(parent, child):
    """The conditions that a node decides by."""
    if isinstance(child, BRANCHES):
        return [child.test]
    if isinstance(child, ast.comprehension):
        return child.ifs
    if isinstance(child, ast.Match):
        return [child.subject]
    inner = (*BRANCHES, ast.BoolOp, ast.comprehension)
    return [child] if isinstance(child, ast.BoolOp) and not isinstance(parent, inner) else []


def asks(condition):
    """True if a condition asks one of these questions."""
    named, parts = [], [condition]
    for node in ast.walk(condition):
        if isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
            constants = [x for x in sides if isinstance(x, ast.Constant)]
            if not {*ANSWERS.split()}.isdisjoint(x.value for x in constants):
                return True
            if any(isinstance(operator, EQUAL) for operator in node.ops):
                named += [x for x in sides if x not in constants]
        elif getattr(getattr(node, "func", None), "id", "") in ("isinstance", "hasattr", "getattr"):
            named += [x for kind in node.args[1:2] for x in ast.walk(kind)]
    for part in parts:
        parts += part.values if isinstance(part, ast.BoolOp) else []
        parts += [part.operand] if isinstance(part, ast.UnaryOp) else []
        called = getattr(part, "func", part)
        named += [called] if called is part or isinstance(called, ast.Attribute) else []
    words = {getattr(x, "attr", getattr(x, "id", getattr(x, "value", None))) for x in named}
    return not {*ASKED.split()}.isdisjoint(word for word in words if isinstance(word, str))


def test_questions_are_few():
    count = 0
    for tree in trees().values():
        for parent in ast.walk(tree):
            for child in ast.iter_child_nodes(parent):
                count += sum(map(asks, conditions_of(parent, child)))
    assert count <= 299, "ask once, where the table or the policy comes in"


def test_docstrings_are_no_riddles():
    """None begins as a riddle would: "What is ...", "Of each ..."."""
    for path in SRC.parent.rglob("*.py"):
        for node in walked(path):
            if isinstance(node, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
                first = (ast.get_docstring(node) or "").split(" ")[0]
                assert first not in ("What", "Of", "By"), f"{path.name}: {node.name}"


def test_size_of_the_tests():
    """A new test is a row of a table where one fits; a new file has a subject that no other has."""
    texts = [path.read_text("utf-8") for path in (ROOT / "tests").rglob("*.py")]
    assert len(texts) <= 122
    assert sum(text.count("\n") for text in texts) <= 52_500


def test_names_of_tests():
    """Each has at most five words."""
    for path in (ROOT / "tests").rglob("test_*.py"):
        for name in re.findall(r"^ *def (test_\w+)", path.read_text("utf-8"), re.MULTILINE):
            assert name.count("_") <= 5, f"{path.name}: {name}"
