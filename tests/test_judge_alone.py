"""The judge stands alone: it imports nothing of ours, and few libraries."""

import ast
import subprocess
import sys
import tokenize
from pathlib import Path

ROOT = Path(__file__).parents[1]
JUDGE = ROOT / "src" / "foreknow_judge"
LIBRARIES = {"duckdb", "numpy", "pyarrow", "pydantic", "pydantic_core", "pyreadstat"}


def imported_modules(path):
    """The modules that a file imports, at its top or inside functions."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path.name}: relative import"
            yield node.module


def test_judge_imports_only_libraries():
    packages = {
        name.split(".")[0] for path in JUDGE.glob("*.py") for name in imported_modules(path)
    }
    ours = {name for name in packages if name not in sys.stdlib_module_names}
    assert ours <= {"foreknow_judge", *LIBRARIES}


def test_judge_imports_in_no_circle():
    modules = {path.stem: set(imported_modules(path)) for path in JUDGE.glob("*.py")}
    standing = {
        name: {target.removeprefix("foreknow_judge.") for target in targets if "." in target}
        & modules.keys()
        for name, targets in modules.items()
    }
    while standing:
        free = [name for name, targets in standing.items() if not targets & standing.keys()]
        assert free, f"in circles: {sorted(standing)}"
        for name in free:
            del standing[name]


def test_judge_loads_without_foreknow():
    check = (
        "import sys\n"
        "class Refuse:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name.split('.')[0] == 'foreknow': raise ImportError(name)\n"
        "sys.meta_path.insert(0, Refuse())\n"
        "import foreknow_judge.verify\n"
    )
    subprocess.run([sys.executable, "-c", check], check=True)


LAYOUT = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENCODING,
    tokenize.ENDMARKER,
}


def test_judge_stays_small():
    """Somebody can read it in a day; to raise the limit is a line that somebody reads."""
    tokens = 0
    for path in JUDGE.glob("*.py"):
        with path.open("rb") as file:
            tokens += sum(token.type not in LAYOUT for token in tokenize.tokenize(file.readline))
    assert tokens <= 75_000
