"""The command `ask`: what follows from statements about named people, for some of them."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from foreknow.cli.command import command
from foreknow.cli.inputs import Columns
from foreknow.cli.options import Answers, AnyOf
from foreknow.cli.terminal import console
from foreknow.errors import HierarchyError, StatementError
from foreknow_judge.errors import DataError, InputError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from foreknow.data.release import Release
    from foreknow.features.statements.posterior import Posterior
    from foreknow.features.statements.statements import Statements
    from foreknow.report.terminal import Laid

FORMAT, FORMAT_VERSION = "foreknow answers", 1

# Room for a hundred thousand statements, more than can be judged.
_MOST_BYTES = 16 << 20


@command()
def ask(
    release: Annotated[Path, "CSV or Parquet with the names of people; or what you published."],
    statement: Annotated[list[str] | None, 'What is known, such as "Tom != Cancer".'] = None,
    *,
    about: list[str] | None = None,
    value: list[str] | None = None,
    any_of: AnyOf = None,
    statements: Path | None = None,
    members: Path | None = None,
    columns: Columns,
    budget: int | None = None,
    priors: Path | None = None,
    output: Answers,
) -> None:
    """Say how likely people have values, before and after some statements are known.

    Examples of a STATEMENT: "Tom = AIDS", "Tom != Cancer", "Ann = AIDS -> Tom = AIDS", "same(Ann,
    Tom)"; also with not, and, or, <-> and parentheses. Write names with spaces in quotes. A label
    in the policy's hierarchy means any of the values below it. RELEASE has a column of names, or is
    a folder that "foreknow publish" wrote, with the owner's folder, which has the names, beside it.

    Parameters
    ----------
    about
        A person; may be repeated.
    value
        A value; may be repeated. Default: every value in the group.
    statements
        A file with one statement in each line.
    members
        The owner's members.parquet (default: of FOLDER.owner).
    budget
        The most steps of exact inference for an answer; if more are needed, there is none.
    priors
        A table of how likely values are for people of each kind, by which worlds are weighted.
    """
    from foreknow.data.labels.labels import matching
    from foreknow.features.statements.formulas import spelled_out
    from foreknow.features.statements.statements import BUDGET, Statements

    if not about:
        raise InputError("say whom to ask about, such as --about Tom")
    texts = [*([] if statements is None else _read_statements(statements)), *(statement or [])]
    # Imports stand here, so that the command starts fast.
    weights = None
    if priors is not None:
        from foreknow.adversaries.priors.priors import Priors

        weights = Priors(str(priors))
    make = partial(Statements, budget=BUDGET if budget is None else budget, priors=weights)
    known_statements = make(*texts)
    with output.progress("Working out the answers"):
        named_release = columns.named(release, members)
        sets = _sets(named_release, columns)
        # A name of the policy's hierarchy, such as "HIV", stands for any of the values below it.
        spelled: list[Any] = []
        for text, formula in zip(texts, known_statements.statements, strict=True):
            expansion = spelled_out(formula, sets)
            spelled.append(text if expansion == formula else expansion)
        if spelled != texts:
            known_statements = make(*spelled)
        # An asked-for value may be a pattern; and one name of the hierarchy keeps that name.
        printed = list(map(str, named_release.counts.values))
        expanded: list[str] = []
        for text in any_of or ():
            expanded += matching(text, printed) or [text]
        alternatives: Any = list(dict.fromkeys(expanded)) or None
        if any_of and len(any_of) == 1 and any_of[0] in sets:
            alternatives = {any_of[0]: sets[any_of[0]]}
        rows = known_statements.posteriors(
            named_release, people=about, values=value, any_of=alternatives
        )
        answers = list(rows.answers())
    output.write(_table(named_release, known_statements, answers))
    if not output.quiet:
        console().print(_answers_page(named_release, known_statements, answers))


# ---- reading -----------------------------------------------------------------------------------


def _sets(release: Release, columns: Columns) -> Mapping[str, Sequence[str]]:
    """The values below each label of the policy's hierarchy for the sensitive column.

    Empty without a policy or hierarchy, or if the hierarchy does not list all values.
    """
    from foreknow.policy.targets import values_by_label

    if columns.given is None:
        return {}
    hierarchy: Any = columns.given.needed_schema.hierarchies.get(release.sensitive)
    try:
        return {} if hierarchy is None else values_by_label(hierarchy, release.counts.values)
    except HierarchyError:  # it does not list all that the release has
        return {}


def _read_statements(path: Path) -> list[str]:
    """The statements in a file, one a line, without comments; errors name the line."""
    from foreknow.features.statements.formulas import parse

    texts = []
    for number, line in enumerate(_text(path).splitlines(), 1):
        if line.strip() and not line.lstrip().startswith("#"):
            try:
                parse(line)
            except StatementError as error:
                raise error.placed(f"{path}, line {number}") from None
            texts.append(line.strip())
    return texts


def _text(path: Path) -> str:
    from foreknow.toml import read_text

    return read_text(path, _MOST_BYTES, DataError, f"the file {str(path)!r}")


# ---- showing -----------------------------------------------------------------------------------


def _table(
    release: Release, known_statements: Statements, answers: list[Posterior]
) -> dict[str, Any]:
    """The statements and the answers as plain values, for JSON."""
    from foreknow_judge._version import __version__

    return {
        "format": FORMAT,
        "version": FORMAT_VERSION,
        "foreknow": __version__,
        "release": release.name,
        **release.sight_entry,
        **known_statements.to_dict(),
        "answers": [answer.to_dict() for answer in answers],
    }


def _answers_page(release: Release, known_statements: Statements, answers: list[Posterior]) -> Laid:
    """The view for the console: the statements, a table of answers, and what else is known."""
    from foreknow.auditing.scope import scope_of
    from foreknow.report.blocks import Sentence, Table
    from foreknow.report.scope import sight
    from foreknow.report.terminal import Laid
    from foreknow.report.words import answer_texts
    from foreknow_judge.files.printable import visible

    sentences = []
    for number, statement in enumerate(known_statements.statements, 1):
        sentences.append(Sentence(visible(f"{number}. {statement}")))
    rows = []
    for answer in answers:
        person, value = visible(answer.person), visible(answer.value)
        rows.append((person, value, *answer_texts(answer)))
    table = Table(("person", "value", "before", "after"), rows, left=(0, 1))
    return Laid([*sentences, table, *map(Sentence, sight(scope_of(release)))])
