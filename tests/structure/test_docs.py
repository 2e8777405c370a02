"""Documentation: what the program knows is mentioned, links lead somewhere, numbers are so.

Also the page of the package, the sample that pages speak of, and the page "your first table": every
command on it is run, in order, on a public table. Output is compared where it is stable: verdicts,
exit codes, numbers that follow from the tables and policies. "..." on the page stands for anything.
What the search came to is in one table, and compared with a tolerance.
"""

import csv
import importlib.util
import io
import json
import re
import shutil
import subprocess
import sys
import tomllib
import types
from collections import Counter, defaultdict
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import fields
from pathlib import Path
from typing import get_args

import pytest
from benchmarks.figures.diagrams import DRAWINGS
from examples import make_sample
from tests.people import short_report

import foreknow
import foreknow as fk
from foreknow.adversaries.registry import ADVERSARIES
from foreknow.cli import main
from foreknow.cli.entry import app
from foreknow.cli.options import Files
from foreknow.criteria.registry import CRITERIA
from foreknow.methods.registry import METHODS, kind_of
from foreknow.policy.file import policy_settings
from foreknow.sample import table_path
from foreknow.settings import known_keys
from foreknow_judge.certificate import IN_RELEASE, Certificate, _Finding
from foreknow_judge.errors import InputError

ROOT = Path(__file__).resolve().parents[2]
FRONT = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md")]
PAGES = [*FRONT, *sorted((ROOT / "docs").rglob("*.md"))]
COMMAND_LINE = "docs/reference/command-line.md"


def section(page, heading):
    """Return the text below a heading, up to the next one of its level."""
    text = (ROOT / page).read_text("utf-8")
    level = heading.split(" ")[0]
    assert f"\n{heading}\n" in text, f"{page} has no heading {heading!r}"
    below = text.split(f"\n{heading}\n")[1]
    return re.split(rf"^{level} ", below, flags=re.MULTILINE)[0]


# Options that nearly every command takes, and which the page explains once.
SHARED = {"quiet", *Files.__annotations__}


@pytest.mark.parametrize("name", ["", *sorted(app.commands)])
def test_every_option_is_there(name):
    command = app.commands[name] if name else app
    its_section = section(COMMAND_LINE, f"## `{name or 'foreknow'}`")
    shared = section(COMMAND_LINE, "## Common options")
    for parameter in command.params:
        text = shared if parameter.name in SHARED else its_section
        named = parameter.opts if parameter.param_type_name == "option" else []
        # The short form of a common option stands behind it, once.
        message = ", ".join(f"`{option}`" for option in named)
        named = named[:1] if f"| {message} |" in shared else named
        for option in [*named, *parameter.secondary_opts]:
            assert f"`{option}`" in text, f"{name}: {option} is not in the page"
        if parameter.param_type_name == "argument":
            assert parameter.name.upper() in text, f"{name}: {parameter.name} is not in the page"


def test_options_are_shared_and_there():
    shared = section(COMMAND_LINE, "## Common options")
    (row,) = re.findall(r"^\| `--quiet`.* all commands but (.*) \|$", shared, re.MULTILINE)
    taken = {name: {p.name for p in command.params} for name, command in app.commands.items()}
    assert {name for name in taken if "quiet" not in taken[name]} == {*re.findall(r"`(.*?)`", row)}
    # Beside these, skyline calls the table by its full name.
    files = {*Files.__annotations__} - {"part"}
    assert all(not files & options or files <= options for options in taken.values())
    parameters = [p for command in [app, *app.commands.values()] for p in command.params]
    options = {option for p in parameters for option in (*p.opts, *p.secondary_opts)}
    text = (ROOT / COMMAND_LINE).read_text("utf-8")
    assert set(re.findall(r"--[a-z][a-z-]*", text)) <= {"--help", *options}


POLICY = policy_settings({key: kind_of(key).settings for key, _ in METHODS})


def table_of(key):
    """The settings of one table of a policy file."""
    kind = next(f for name, f in POLICY.model_fields.items() if (f.alias or name) == key).annotation
    return next(part for part in [*get_args(kind), kind] if hasattr(part, "model_fields"))


@pytest.mark.parametrize(
    ("heading", "settings"),
    [
        ("## The top", POLICY),
        ("## `[schema]`", table_of("schema")),
        ("## `[[require]]`", table_of("require")),
        ("## `[[try]]`", table_of("try")),
        ("## `[publish]`", table_of("publish")),
        *(("## `[[require]]`", kind.settings) for kind in ADVERSARIES.values()),
    ],
)
def test_policy_keys_are_there(heading, settings):
    text = section("docs/reference/policy-file.md", heading)
    for key in known_keys(settings):
        # The keys of priors are listed in their row.
        inside = rf"^\| `priors` .*`{key}`"
        match = re.search(rf"^\| `{key}` \||{inside}", text, re.MULTILINE)
        assert match, f"add a row for `{key}` to docs/reference/policy-file.md, {heading}"


def test_every_public_name_is_there():
    pages = sorted((ROOT / "docs/reference").glob("python*.md"))
    text = "\n".join(page.read_text("utf-8") for page in pages)
    matches = re.findall(r"^::: foreknow\.(\w+)$", text, flags=re.MULTILINE)
    public = set(foreknow.__all__) - {"__version__"}
    lacking = [f"::: foreknow.{name}" for name in sorted(public - set(matches))]
    assert not lacking, f"add to a page docs/reference/python-*.md: {lacking}"
    assert sorted(matches) == sorted(public), "a page docs/reference/python-*.md names what is not"
    kinds = {kind.__name__ for kind in (*ADVERSARIES.values(), *CRITERIA.values())}
    assert kinds <= {*foreknow.__all__}, "add a line for it to __init__.pyi"


def test_pages_of_the_site():
    site = (ROOT / "mkdocs.yml").read_text("utf-8")
    run = (ROOT / ".ci/run").read_text("utf-8")
    assert re.search(r"^make .*\bdocs\b", run, re.MULTILINE)  # every commit builds it
    navigation = site.split("\nnav:\n")[1]
    pages = {page.relative_to(ROOT / "docs").as_posix() for page in (ROOT / "docs").rglob("*.md")}
    assert set(re.findall(r": ([\w/-]+\.md)$", navigation, flags=re.MULTILINE)) == pages
    users = [page for page in pages if not page.startswith(("research/", "explanation/"))]
    # The pages that readers asked for by name, and pages of several subjects divided, made it more.
    assert len(users) <= 66


USER = [p for p in PAGES[len(FRONT) :] if p.parent.name not in ("research", "explanation", "docs")]


@pytest.mark.parametrize("page", USER, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_pages_end_at_next_steps(page):
    text = re.sub(r"^\[\^\w+\]:.*$", "", page.read_text("utf-8"), flags=re.MULTILINE)
    last = text.strip().split("\n\n")[-1]
    assert last.startswith("Next: "), last[:80]
    assert "](" in last


# What a scope says of no release that we wrote.
_ELSEWHERE = {"linked", "known", "identifiers", "lacking", "tallied", "open"}


def test_keys_of_certificates_are_there():
    text = section(COMMAND_LINE, "## The certificate")
    keys = {"format", "version", "safe", "release", *_Finding.model_fields}
    keys |= {IN_RELEASE.get(key.name, key.name) for key in fields(Certificate)}
    keys |= {key.name for key in fields(foreknow.Scope)} - _ELSEWHERE
    for name in keys:
        assert f"`{name}`" in text, f"{name} is not in the page"


def test_written_files_are_there():
    text = section(COMMAND_LINE, "## Files")
    for name in ("owner.json", "priors.json", "members.parquet", "certificate.json"):
        assert f"`{name}`" in text
    assert "`lattice.html`" in text
    assert "`report.html`" in text


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_toml_examples_are_policies(page):
    known = {*known_keys(POLICY), "labels"}
    for block in re.findall(r"```toml\n(.*?)```", page.read_text("utf-8"), flags=re.DOTALL):
        document = tomllib.loads(block)
        assert {key for key in document if isinstance(document[key], dict | list)} <= known
        for requirement in document.get("require", []):
            table_of("require").model_validate(requirement)


def anchors(page):
    """The anchors of a page's headings, as they are commonly made."""
    headings = re.findall(r"^#+ (.*)$", page.read_text("utf-8"), flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", h.lower()).strip().replace(" ", "-") for h in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_lead_somewhere(page):
    text = re.sub(r"```.*?```", "", page.read_text("utf-8"), flags=re.DOTALL)
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if target.startswith("http"):
            continue
        path, _, anchor = target.partition("#")
        there = page if not path else (page.parent / path).resolve()
        assert there.exists(), f"{page.name}: {target} does not exist"
        if anchor:
            assert anchor in anchors(there), f"{page.name}: {target} is no heading"


@pytest.mark.parametrize("name", sorted(DRAWINGS))
def test_drawings_are_as_drawn(name):
    assert (ROOT / "docs" / "images" / f"{name}.svg").read_text("utf-8") == DRAWINGS[name]()


# ---- what pages say of their own tables --------------------------------------------------------

EVIDENCE = ROOT / "docs" / "evidence"
MODELS = (EVIDENCE / "models.md").read_text("utf-8")
ROWS = [
    [c.strip() for c in line[2:-1].split("|")] for line in MODELS.splitlines() if line[:2] == "| "
]


def losses(kind, measure, column):
    """How much less than raw each table's model has on a method's release, to three decimals."""
    rows = [row for row in ROWS if row[1].startswith(kind) and row[2] == measure]
    assert len({row[0] for row in rows}) == len(rows) >= 4
    return {r[0]: round(float(r[4]) - float(r[column]), 3) for r in rows if r[column] != "–"}


def test_numbers_of_models():
    assert max(losses("logistic", "AUC", 5).values()) == 0.010
    assert losses("logistic", "AUC", 5)["survey"] == 0.010
    lost = losses("logistic", "AUC", 7).values()
    assert (min(lost), max(lost)) == (0.006, 0.071)
    trees, linear = losses("tree", "accuracy", 5), losses("linear", "R²", 5)
    assert max(trees.values()) == trees["health"] == 0.059
    assert max(linear.values()) == linear["survey"] == 0.083
    for said in ("at most 0.010", "by 0.006 to 0.071", "to 0.059 (health)", "to 0.083 (survey)"):
        assert said in MODELS
    of = {(row[0], row[1].split(",")[0]): row[2:4] for row in ROWS if len(row) == 6}
    assert of["Adult", "education-num"] == ["0.497", "0.438"]
    assert of["Adult", "income = >50K"] == ["0.741", "0.846"]
    assert of["hospital", "marital = Never married"] == ["-0.826", "-0.913"]
    assert of["survey", "children = no"] == ["0.345", "-0.007"]
    raw, released = map(float, of["Adult", "race = Amer-Indian-Eskimo"])
    assert raw * released < 0
    cells = {(row[0], row[1]): row[3] for row in ROWS if len(row) == 6 and "×" in row[1]}
    off = {key: float(re.search(r"([\d.]+)%", cell)[1]) for key, cell in cells.items()}
    small, ranges = ("health", "survey"), ("age", "admitted", "ageOFocc", "yearVeh", "yearacc")
    for (table, columns), share in off.items():
        assert share < 3 or columns.split(" × ")[1] not in ranges or table in small
    large = [off[key] for key in off if key[0] in ("hospital", "Adult", "crashes")]
    assert max(large) == off["Adult", "occupation × education-num"] == 18.9
    assert 43 <= max(off[key] for key in off if key[0] in small) < 44


def test_numbers_of_known_methods():
    for table in (EVIDENCE / "known-method.md").read_text("utf-8").split("| size |")[1:]:
        rows = [[c.strip() for c in line[2:-1].split("|")] for line in table.splitlines()[2:13]]
        size = [int(row[0].replace(",", "")) for row in rows]
        mondrian = [float(row[1].split("%")[0]) / 100 for row in rows]
        assert size[-1] == 45_222
        assert mondrian[-1] == min(mondrian)
        assert all(100 < mondrian[i] * size[i] < 1000 for i in (-2, -1))
        assert all(row[2].split(" ")[0] == "0" for row in rows[5:])  # FullDomain, from 100 people
        assert {cell for row in rows for cell in row[3:]} <= {"0", ""}


def test_files_of_proofs_are_there():
    proofs = (EVIDENCE / "proofs.md").read_text("utf-8")
    for name in set(re.findall(r"`([\w/]+\.py)`", proofs)):
        assert (ROOT / "tests" / name).is_file(), name


# ---- the page of the package -------------------------------------------------------------------

# As this file itself must not say.
_INSTALLS = re.compile("pip install [\"']?fore" r"know|fore" r"know\[[a-z]")


@pytest.fixture
def page(monkeypatch):
    """The function of `hatch_build.py`, without what builds packages."""
    names = ("hatchling", "hatchling.metadata", "hatchling.metadata.plugin")
    for name in (*names, "hatchling.metadata.plugin.interface"):
        monkeypatch.setitem(sys.modules, name, types.ModuleType(name))
    sys.modules["hatchling.metadata.plugin.interface"].MetadataHookInterface = object
    spec = importlib.util.spec_from_file_location("hatch_build", ROOT / "hatch_build.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.page


def test_links_of_the_package(page):
    readme = (ROOT / "README.md").read_text("utf-8")
    link = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
    targets = link.findall(page(readme, "https://example.org/us", "1.2.3"))
    assert len(targets) > 20
    for target in targets:
        assert target.startswith(("https://", "#")), target
        inside = re.match(r"https://example.org/us/(?:blob|raw)/v1.2.3/([^#]+)", target)
        assert not inside or (ROOT / inside[1]).exists(), target
    text = page(readme, "", "1.2.3")  # without an address no link is dead
    assert all(target.startswith(("https://", "#")) for target in link.findall(text))
    assert "![" not in text
    assert "map of threats" in text


def test_what_the_package_says():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert project["authors"]
    assert {"version", "readme", "urls"} <= set(project["dynamic"])
    assert any(one.startswith("Operating System") for one in project["classifiers"])
    # No command may install a package by a name that is not ours yet.
    for folder in ("src", "docs", "examples", "tests", ".ci"):
        for path in (ROOT / folder).rglob("*"):
            if path.suffix in {".py", ".md", ".toml", ".yml", ".sql", ".j2", ".pyi"}:
                assert not _INSTALLS.search(path.read_text("utf-8")), path


# ---- the sample --------------------------------------------------------------------------------


def test_the_sample_is_made_again(tmp_path, capsys):
    make_sample.main([str(tmp_path / "again.csv")])
    assert (tmp_path / "again.csv").read_bytes() == table_path().read_bytes()
    assert make_sample.rows(people=50, seed=1) != make_sample.rows(people=50, seed=2)
    with pytest.raises(InputError, match="names for"):
        make_sample.rows(people=100_000)
    with pytest.raises(SystemExit) as stopped:
        make_sample.main([str(tmp_path / "missing" / "out.csv")])
    assert stopped.value.code == 2
    assert "cannot write" in capsys.readouterr().err


def test_what_the_sample_has():
    """A name of two people, people of unknown marital status, and stays that have not ended."""
    with table_path().open(newline="", encoding="utf-8") as lines:
        people = list(csv.DictReader(lines))
    assert table_path().stat().st_size < 400_000
    assert len({row["patient"] for row in people}) == len(people) == make_sample.PEOPLE
    assert len({row["name"] for row in people}) == make_sample.PEOPLE - 1
    missing = Counter(name for row in people for name, value in row.items() if not value)
    assert missing == {"marital": 39, "days": 27}
    for row in people:
        assert tuple(row) == make_sample.COLUMNS
        assert all(value == value.strip() for value in row.values())
        assert (row["days"] == "") == (row["admitted"] >= str(make_sample.STILL_IN))
    assert {int(row["days"]) for row in people if row["days"]} <= set(range(1, 41))


# ---- the page "your first table": every command on it is run, in order, on a public table ------
# Output is compared where it is stable: verdicts, exit codes, numbers that follow from the tables
# and  policies. "..." on the page stands for anything, so that another layout of a table, other
# cuts or  words do not matter. What the search came to is in one table, and compared with a
# tolerance.

TABLES = ROOT / "examples" / "data"
PAGE = (ROOT / "docs" / "do" / "your-first-table.md").read_text("utf-8")

has_tables = pytest.mark.skipif(
    not TABLES.exists() and not (ROOT / ".git").exists(),
    reason="the public tables are in the repository, not in the source archive",
)


def steps(page):
    """Each file to save, as (name, its text), and each command, as (command, the lines below)."""
    name = None
    for text, kind, block in re.findall(r"(.*?)```(\w+)\n(.*?)```\n", page, flags=re.DOTALL):
        if kind == "toml":
            (name,) = re.findall(r"[Ss]ave (?:it )?as `([\w-]+\.toml)`", text)[-1:]
            yield name, block
        else:
            assert kind == "console"
            for part in block.removeprefix("$ ").split("\n$ "):
                command, *said = part.strip("\n").split("\n")
                yield command, said


def is_said(said, output):
    """Whether the output is these lines, where "..." is anything and spaces do not count."""
    words = re.split(r"\s*\.\.\.\s*", " ".join(" ".join(said).split()))
    pattern = r".*?".join(re.escape(word) for word in words)
    return re.fullmatch(pattern, " ".join(output.split()), flags=re.DOTALL) is not None


@pytest.fixture(scope="module")
def walked(tmp_path_factory):
    """A folder in which all of the page was done, with (command, lines, output) of each command."""
    folder = tmp_path_factory.mktemp("first") / "data"
    shutil.copytree(TABLES, folder)
    results, code = [], 0
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv("COLUMNS", "200")
        short_report(patch)
        for step, rest in steps(PAGE):
            if isinstance(rest, str):
                Path(step).write_text(rest, "utf-8")
                continue
            code, output = run(step, code, patch)
            results.append((step, rest, output))
    return folder, results


def run(command, code, patch):
    """Exit code and output of a command: in this process if it is ours, else in a shell."""
    if not command.startswith("foreknow "):
        done = subprocess.run(
            ["sh", "-c", f"(exit {code}); {command}"],
            capture_output=True,
            text=True,
            env={"PATH": "/usr/bin:/bin", "LC_ALL": "C"},
            timeout=60,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return 0, done.stdout
    patch.setattr(sys, "argv", command.split())
    text = io.StringIO()
    with redirect_stdout(text), redirect_stderr(text), pytest.raises(SystemExit) as caught:
        main()
    return caught.value.code or 0, text.getvalue()


@has_tables
@pytest.mark.complete
def test_commands_match_the_page(walked):
    assert sum(command.startswith("foreknow ") for command, _, _ in walked[1]) >= 5
    for command, said, output in walked[1]:
        assert is_said(said, output), f"$ {command}\n{output}"


PUBLISHED = re.findall(
    r"^\$ foreknow publish (\S+) --policy (\S+) --out (\S+)", PAGE, flags=re.MULTILINE
)


@has_tables
@pytest.mark.complete
def test_results_match_the_page(walked, monkeypatch):
    """Groups within a quarter, detail within 8 points: cuts and labels may be mended."""
    folder, _ = walked
    monkeypatch.chdir(folder)
    row = r"^\| `([\w-]+)` \| ([\d,]+) \| (\d+) \| (\d+) \| (\d+)%.* \|$"
    rows = re.findall(row, PAGE, re.MULTILINE)
    told = {name: [int(cell.replace(",", "")) for cell in cells] for name, *cells in rows}
    assert set(told) == {path.parent.name for path in folder.glob("*/certificate.json")}
    detail = {}
    for table, policy, out in PUBLISHED:
        if out not in told:
            continue
        code, said = run(
            f"foreknow utility {out} {table} --policy {policy} --json {out}.json", 0, monkeypatch
        )
        assert code == 0, said
        document = json.loads(Path(f"{out}.json").read_text("utf-8"))
        detail[out] = document["ncp"]
        people, groups, smallest, lost = told[out]
        assert document["people"] == people
        assert document["groups"] == pytest.approx(groups, rel=0.25), out
        assert document["smallest_group"] == pytest.approx(smallest, abs=3), out
        assert document["average_ncp"] == pytest.approx(lost / 100, abs=0.08), out
    # What the page says of single columns.
    assert detail["survey-release"]["gender"] == detail["survey-release"]["children"] == 0


def made(folder, policy, table):
    """What is published under a policy, given as text."""
    (folder / "changed.toml").write_text(policy, "utf-8")
    rules = fk.Policy.load(folder / "changed.toml")
    return fk.publish(fk.Microdata(folder / table, rules.schema), rules)


def published(folder, policy, table):
    """The sensitive values of what is published, by the quasi-identifiers."""
    groups = defaultdict(Counter)
    columns = made(folder, policy, table).tables["release"].to_pydict().values()
    for *group, value in zip(*columns, strict=True):
        groups[tuple(group)][value] += 1
    return groups


def changed(folder, name, *pairs):
    """A policy of the page with other words."""
    policy = (folder / name).read_text("utf-8")
    for old, new in pairs:
        assert old in policy
        policy = policy.replace(old, new)
    return policy


K_ANONYMITY = "[[require]]\nk_anonymity = 5"


@has_tables
@pytest.mark.complete
def test_separate_codes_reveal_their_class(walked):
    policy = changed(walked[0], "survey.toml", ('values = ["some"]', 'except = ["0"]'))
    groups = published(walked[0], policy, "survey.csv")
    assert any(bag["0"] < bag.total() / 2 for bag in groups.values())


@has_tables
@pytest.mark.complete
def test_exact_answers_isolate_people(walked):
    with_it = published(walked[0], changed(walked[0], "survey.toml"), "recoded.csv")
    assert any(set(bag) == {"none"} for bag in with_it.values())
    without = published(
        walked[0], changed(walked[0], "survey.toml", (K_ANONYMITY, "")), "recoded.csv"
    )
    alone = [group for group, bag in without.items() if bag.total() == 1]
    assert alone
    assert not any(" to " in label or label == "*" for group in alone for label in group)


@has_tables
@pytest.mark.complete
def test_two_values_withstand_no_exclusion(walked):
    policy = changed(walked[0], "survey.toml", ("k = 2", "l = 1"))
    with pytest.raises(fk.NoSafeRelease, match="150 of 601 people have 'some'"):
        published(walked[0], policy, "recoded.csv")


@has_tables
@pytest.mark.complete
def test_utility_names_the_right_table(walked, monkeypatch):
    monkeypatch.chdir(walked[0])
    command = "foreknow utility survey-release survey.csv --policy survey.toml"
    code, said = run(command, 0, monkeypatch)
    assert code == 2
    assert said == (
        "foreknow: survey.csv, read as the policy says, is not the table that release.csv was made "
        "of\n"
    )
