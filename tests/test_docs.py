"""What the program knows, the reference pages mention; and every link leads somewhere."""

import re
import tomllib
from dataclasses import fields
from pathlib import Path
from typing import get_args

import pytest
from benchmarks.figures.diagrams import DRAWINGS

import foreknow
from foreknow.adversaries.registry import ADVERSARIES
from foreknow.cli.entry import app
from foreknow.cli.options import Files
from foreknow.criteria.registry import OURS
from foreknow.methods.registry import METHODS, kind_of
from foreknow.policy.file import policy_settings
from foreknow.settings import known_keys
from foreknow_judge.certificate import _Finding, certificate_table

ROOT = Path(__file__).resolve().parent.parent
FRONT = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md")]
PAGES = [*FRONT, *sorted((ROOT / "docs").rglob("*.md"))]


def section(page, heading):
    """Return the text below a heading, up to the next one of its level."""
    text = (ROOT / page).read_text("utf-8")
    level = heading.split(" ")[0]
    assert f"\n{heading}\n" in text, f"{page} has no heading {heading!r}"
    below = text.split(f"\n{heading}\n")[1]
    return re.split(rf"^{level} ", below, flags=re.MULTILINE)[0]


COMMANDS = app
# Options that nearly every command takes, and which the page explains once.
SHARED = {"quiet", *Files.__annotations__}


@pytest.mark.parametrize("name", ["", *sorted(COMMANDS.commands)])
def test_every_option_is_in_the_reference(name):
    command = COMMANDS.commands[name] if name else COMMANDS
    page = "docs/reference/command-line.md"
    its_section = section(page, f"## `{name or 'foreknow'}`")
    shared = section(page, "## Common options")
    for parameter in command.params:
        text = shared if parameter.name in SHARED else its_section
        named = parameter.opts if parameter.param_type_name == "option" else []
        for option in [*named, *parameter.secondary_opts]:
            assert f"`{option}`" in text, f"{name}: {option} is not in the page"
        if parameter.param_type_name == "argument":
            assert parameter.name.upper() in text, f"{name}: {parameter.name} is not in the page"


def test_shared_options_are_shared():
    shared = section("docs/reference/command-line.md", "## Common options")
    (row,) = re.findall(r"^\| `--quiet`.* all commands but (.*) \|$", shared, re.MULTILINE)
    taken = {name: {p.name for p in command.params} for name, command in COMMANDS.commands.items()}
    assert {name for name in taken if "quiet" not in taken[name]} == {*re.findall(r"`(.*?)`", row)}
    # Beside these, skyline calls the table by its full name.
    files = {*Files.__annotations__} - {"part"}
    assert all(not files & options or files <= options for options in taken.values())


def test_no_option_is_in_the_reference_that_does_not_exist():
    text = (ROOT / "docs/reference/command-line.md").read_text("utf-8")
    known = {"--help"} | {
        option
        for command in [COMMANDS, *COMMANDS.commands.values()]
        for parameter in command.params
        for option in (*parameter.opts, *parameter.secondary_opts)
    }
    assert set(re.findall(r"--[a-z][a-z-]*", text)) <= known


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
        *(("## `[[require]]`", kind.settings) for kind in ADVERSARIES),
    ],
)
def test_every_policy_key_is_in_the_page(heading, settings):
    text = section("docs/reference/policy-file.md", heading)
    for key in known_keys(settings):
        # The keys of priors are listed in their row.
        inside = rf"^\| `priors` .*`{key}`"
        found = re.search(rf"^\| `{key}` \||{inside}", text, re.MULTILINE)
        assert found, f"add a row for `{key}` to docs/reference/policy-file.md, {heading}"


def test_every_public_name_is_in_the_python_reference():
    pages = sorted((ROOT / "docs/reference").glob("python*.md"))
    text = "\n".join(page.read_text("utf-8") for page in pages)
    named = re.findall(r"^::: foreknow\.(\w+)$", text, flags=re.MULTILINE)
    public = set(foreknow.__all__) - {"__version__"}
    lacking = [f"::: foreknow.{name}" for name in sorted(public - set(named))]
    assert not lacking, f"add to a page docs/reference/python-*.md: {lacking}"
    assert sorted(named) == sorted(public), "a page docs/reference/python-*.md names what is not"


@pytest.mark.parametrize("kind", [*ADVERSARIES, *OURS], ids=lambda kind: kind.key)
def test_every_kind_of_ours_is_public(kind):
    assert kind.__name__ in foreknow.__all__, f"add a line for {kind.__name__} to __init__.pyi"


def test_every_page_is_in_the_navigation_and_not_too_many_are_for_users():
    site = (ROOT / "mkdocs.yml").read_text("utf-8").split("\nnav:\n")[1]
    pages = {page.relative_to(ROOT / "docs").as_posix() for page in (ROOT / "docs").rglob("*.md")}
    assert set(re.findall(r": ([\w/-]+\.md)$", site, flags=re.MULTILINE)) == pages
    users = [page for page in pages if not page.startswith(("research/", "explanation/"))]
    # The pages that readers asked for by name, and pages of several subjects divided, made it more.
    assert len(users) <= 64


USER = [p for p in PAGES[len(FRONT) :] if p.parent.name not in ("research", "explanation", "docs")]


@pytest.mark.parametrize("page", USER, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_every_page_ends_at_the_next_step(page):
    text = re.sub(r"^\[\^\w+\]:.*$", "", page.read_text("utf-8"), flags=re.MULTILINE)
    last = text.strip().split("\n\n")[-1]
    assert last.startswith("Next: "), last[:80]
    assert "](" in last


def test_every_commit_builds_the_site():
    assert "\nmake docs\n" in (ROOT / ".ci/run").read_text("utf-8")


def test_one_name_hides_a_package():
    stub = (ROOT / "src/foreknow/__init__.pyi").read_text("utf-8")
    names = re.findall(r"^(\w+) = \w+$|^from .* as (\w+)$", stub, flags=re.MULTILINE)
    packages = {path.name for path in (ROOT / "src/foreknow").iterdir() if path.is_dir()}
    assert packages & {a or b for a, b in names} == {"utility"}
    assert "docs_stub.py" in (ROOT / "mkdocs.yml").read_text("utf-8")


def test_the_commands_write_no_file_that_the_reference_does_not_name():
    text = section("docs/reference/command-line.md", "## Files")
    private = ("owner.json", "priors.json", "lattice.html", "members.parquet")
    for name in (*private, "certificate.json", "report.html"):
        assert f"`{name}`" in text


_FILE = certificate_table()
_MODELS = [_FILE, _FILE.model_fields["release"].annotation, _Finding]
# What a scope says of no release that we wrote.
_ELSEWHERE = {"linked", "known", "identifiers", "lacking", "tallied", "open"}


@pytest.mark.parametrize("model", [*_MODELS, foreknow.Scope])
def test_every_key_of_a_certificate_is_in_the_page(model):
    text = section("docs/reference/command-line.md", "## The certificate")
    of_scope = model is foreknow.Scope
    keys = {own.name for own in fields(model)} - _ELSEWHERE if of_scope else model.model_fields
    for name in keys:
        assert f"`{name}`" in text, f"{name} is not in the page"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_toml_examples_are_policies_or_parts_of_them(page):
    known = {*known_keys(POLICY), "labels"}
    for block in re.findall(r"```toml\n(.*?)```", page.read_text("utf-8"), flags=re.DOTALL):
        found = tomllib.loads(block)
        assert {key for key in found if isinstance(found[key], dict | list)} <= known
        for requirement in found.get("require", []):
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
def test_drawings_are_what_the_script_draws(name):
    assert (ROOT / "docs" / "images" / f"{name}.svg").read_text("utf-8") == DRAWINGS[name]()
