"""The command `ask`: what follows from statements about named people, for some of them."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from foreknow.cli.opening import open_release
from foreknow.cli.options import Quiet, console, progress, refuse_inputs
from foreknow.errors import DataError, InputError, SchemaError, StatementError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rich.console import RenderableType

    from foreknow.adversaries.statements import Posterior, Statements
    from foreknow.release import Release

FORMAT, FORMAT_VERSION = "foreknow answers", 1

# A fraction longer than this says less than its decimals.
_SHORT = 11


def ask(
    release: Annotated[Path, typer.Argument(help="CSV or Parquet with the names of people.")],
    statement: Annotated[
        list[str] | None, typer.Argument(help='What is known, such as "Tom != Cancer".')
    ] = None,
    about: Annotated[
        list[str] | None, typer.Option("--about", "-a", help="A person; may be repeated.")
    ] = None,
    value: Annotated[
        list[str] | None,
        typer.Option("--value", "-v", help="A value; may be repeated. All of the group, if not."),
    ] = None,
    statements: Annotated[
        Path | None, typer.Option("--statements", help="A file with one statement in each line.")
    ] = None,
    prior: Annotated[
        Path | None, typer.Option("--prior", help="A CSV file: person,value,weight.")
    ] = None,
    policy: Annotated[
        Path | None, typer.Option("--policy", "-p", help="A policy, to say what the columns are.")
    ] = None,
    group: Annotated[
        str | None, typer.Option("--group", "-g", help="The column with the group of each row.")
    ] = None,
    quasi_identifiers: Annotated[
        str | None,
        typer.Option("--quasi-identifiers", help="Columns that make a group, with commas between."),
    ] = None,
    sensitive: Annotated[
        str | None, typer.Option("--sensitive", "-s", help="The column of sensitive values.")
    ] = None,
    person: Annotated[
        str | None, typer.Option("--person", help="The column that names people.")
    ] = None,
    semantics: Annotated[
        str | None, typer.Option("--semantics", help="single, set or multiset; single if not.")
    ] = None,
    budget: Annotated[
        int | None,
        typer.Option("--budget", help="Steps of exact inference; beyond, it is an estimate."),
    ] = None,
    seed: Annotated[int, typer.Option("--seed", help="Of estimates.")] = 0,
    json: Annotated[Path | None, typer.Option("--json", help="Write the answers as JSON.")] = None,
    quiet: Quiet = False,
) -> None:
    """Say how likely people have values, before and after some statements are known.

    A STATEMENT is such as "Tom = AIDS", "Tom != Cancer", "Ann = AIDS -> Tom = AIDS",
    "same(Ann, Tom)", with not, and, or, <-> and parentheses. Names with spaces go into quotes.
    """
    from foreknow.adversaries.statements import BUDGET, Statements

    if not about:
        raise InputError("say about whom to ask, such as --about Tom")
    inputs = [path for path in (release, statements, prior, policy) if path is not None]
    refuse_inputs(None, json, tuple(inputs))
    columns = {
        "group": group,
        "quasi_identifiers": quasi_identifiers,
        "sensitive": sensitive,
        "person": person,
        "semantics": semantics,
    }
    said = [*([] if statements is None else _read_statements(statements)), *(statement or [])]
    known = Statements(
        *said,
        prior=None if prior is None else _read_prior(prior),
        budget=BUDGET if budget is None else budget,
        seed=seed,
    )
    with progress("Working out the answers", quiet):
        opened = _open(release, policy, columns)
        rows = known.posteriors(opened, people=about, values=value)
        answers = [row[each] for row in rows.values() for each in row]
        for answer in answers:
            _ = answer.before  # may take as long
    if json is not None:
        _write(json, opened, known, answers)
    if not quiet:
        for shown in _shown(known, answers):
            console().print(shown)


# ---- reading -----------------------------------------------------------------------------------


def _open(path: Path, policy: Path | None, given: dict[str, str | None]) -> Release:
    """Open a release as a policy or the options describe it; its people must have names."""
    from foreknow.release import Release
    from foreknow.schema import check_semantics

    if path.is_dir() and (path / "certificate.json").is_file():
        raise DataError(
            f"{str(path)!r} is what foreknow publish wrote, which names nobody; ask about a table "
            "with the names of people and their groups"
        )
    if policy is not None:
        return _open_by(path, policy, given)
    group, quasi, person = given["group"], given["quasi_identifiers"], given["person"]
    if given["sensitive"] is None or person is None or (group is None) == (quasi is None):
        raise SchemaError(
            "say what the columns are: --policy FILE; or --sensitive COLUMN, --person COLUMN, and "
            "either --group COLUMN or --quasi-identifiers COLUMN,COLUMN"
        )
    how: dict[str, Any] = {
        "sensitive": given["sensitive"],
        "person": person,
        "semantics": check_semantics(given["semantics"] or "single"),
    }
    if group is not None:
        return Release.from_groups(path, group=group, **how)
    names = [name.strip() for name in (quasi or "").split(",")]
    return Release.from_generalized(path, quasi_identifiers=names, **how)


def _open_by(path: Path, policy: Path, given: dict[str, str | None]) -> Release:
    """Open a release by a policy's schema; people are named by its person or only identifier."""
    from foreknow.policy import Policy

    for name in ("quasi_identifiers", "sensitive", "semantics"):
        if given[name]:
            option = f"--{name.replace('_', '-')}"
            raise SchemaError(f"{option} contradicts --policy, which says it; give one of them")
    rules = Policy.load(policy)
    schema = rules.schema
    if schema is None:
        raise SchemaError("the policy has no [schema] table, which says what the columns are")
    person = given["person"] or schema.person
    if person is None and len(schema.identifiers) == 1:
        person = schema.identifiers[0]
    if person is None:
        raise SchemaError("the policy does not say which column names people; add --person COLUMN")
    identifiers = [column for column in schema.identifiers if column != person]
    named = replace(schema, person=person, identifiers=identifiers)
    return open_release(path, replace(rules, schema=named), given["group"])


def _read_statements(path: Path) -> list[str]:
    """Statements of a file; errors say in which line."""
    from foreknow.adversaries.statements import parse

    found = []
    for number, line in enumerate(_text(path).splitlines(), 1):
        if line.strip() and not line.lstrip().startswith("#"):
            try:
                parse(line)
            except StatementError as error:
                raise error.within(f"{path}, line {number}") from None
            found.append(line.strip())
    return found


def _read_prior(path: Path) -> Mapping[tuple[str, str], str]:
    """Weights of a CSV file with the columns person, value and weight."""
    import csv

    columns = ["person", "value", "weight"]
    rows = csv.DictReader(_text(path).splitlines(keepends=True), strict=True)
    found: dict[tuple[str, str], str] = {}
    try:
        if list(rows.fieldnames or ()) != columns:
            raise DataError(f"{path}: the first line must be {','.join(columns)}")
        for row in rows:
            if None in row or None in row.values():
                raise DataError(f"{path}, line {rows.line_num}: expected three fields")
            pair = (row["person"], row["value"])
            if pair in found:
                raise DataError(f"{path}, line {rows.line_num}: {pair[0]!r}, {pair[1]!r} again")
            found[pair] = row["weight"].strip()
    except csv.Error as error:
        raise DataError(f"{path}, line {rows.line_num}: {error}") from None
    return found


def _text(path: Path) -> str:
    try:
        return path.read_text("utf-8-sig")
    except FileNotFoundError:
        raise DataError(f"there is no file {str(path)!r}") from None
    except UnicodeDecodeError:
        raise DataError(f"{path} is not UTF-8") from None
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror}") from None


# ---- showing -----------------------------------------------------------------------------------


def _write(path: Path, release: Release, known: Statements, answers: list[Posterior]) -> None:
    from foreknow._version import __version__
    from foreknow.auditing import as_json
    from foreknow.writing import write_whole

    table = {
        "format": FORMAT,
        "version": FORMAT_VERSION,
        "foreknow": __version__,
        "release": release.name,
        **known.to_dict(),
        "answers": [answer.to_dict() for answer in answers],
    }
    write_whole(path, as_json(table))


def _shown(known: Statements, answers: list[Posterior]) -> list[RenderableType]:
    """What is known, and a row for each answer."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    from foreknow.report.terminal import encodable
    from foreknow.report.words import visible

    encoding = console().encoding

    def text(said: object) -> Text:
        return Text(encodable(visible(said), encoding))

    lines: list[RenderableType] = [
        text(f"{i}. {formula}") for i, formula in enumerate(known.statements, 1)
    ]
    table = Table(box=box.SIMPLE_HEAD, expand=False, padding=(0, 1), pad_edge=False)
    table.add_column("person", overflow="fold", max_width=24)
    table.add_column("value", overflow="fold", max_width=24)
    table.add_column("before", justify="right")
    table.add_column("after", justify="right")
    for answer in answers:
        before = "not known" if answer.before is None else _chance(answer.before)
        table.add_row(text(answer.person), text(answer.value), before, _after(answer))
    return [*lines, table]


def _after(answer: Posterior) -> str:
    if answer.exact is not None:
        return _chance(answer.exact)
    low, high = answer.interval
    return f"about {answer.probability:.1%} ({low:.1%} to {high:.1%})"


def _chance(exact: Fraction) -> str:
    """Write a probability as a percentage, and as a fraction where that is short."""
    from foreknow.adversaries.disclosure import Disclosure
    from foreknow.report.percent import percent

    said = percent(Disclosure(None, float(exact), lambda: exact), Fraction(0), 1)
    fraction = str(exact)
    return f"{said} ({fraction})" if "/" in fraction and len(fraction) <= _SHORT else said
