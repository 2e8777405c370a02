"""Lines: what ``foreknow-verify`` prints of a release that it judges, and its exit code."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

from foreknow_judge._version import __version__
from foreknow_judge.errors import ForeknowError, short_of_memory
from foreknow_judge.files.printable import encodable, one_line, quoted, visible
from foreknow_judge.numbers import exact_text
from foreknow_judge.remarks.sentences import (
    ASSUMED,
    CASES_OF_FILES,
    SEVERAL_CASES,
    about,
    how_far,
    judged_apart,
    no_limit,
    noted,
    rows_left_out,
    smallest_group,
    unlimited,
)
from foreknow_judge.text import some
from foreknow_judge.verdict import Verdict

_ABOUT = {
    "values": "about",
    "except": "about all but",
    "any_of": "about any of",
    "within": "about every value to within",
}
VERIFIED, NOT_VERIFIED, BAD_INPUT = 0, 1, 2
_MOST = 6  # names in a remark


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command with arguments (None: those of the process), and return its exit code."""
    options = _parser().parse_args(arguments)
    try:
        code, lines = _verify(options)
        _print(lines, sys.stdout)
    except (ForeknowError, OSError) as error:
        # Nobody reads the output any longer, or there is no memory to go on: the caller ends it.
        closed = isinstance(error, BrokenPipeError)
        if closed or (isinstance(error, OSError) and short_of_memory(error)):
            raise
        _print([f"foreknow-verify: {one_line(error)}"], sys.stderr)
        return BAD_INPUT
    return code


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="foreknow-verify",
        description="Judge a release afresh, from its files alone, and compare it with its "
        "certificate.",
        epilog="Exit codes: 0 verified; 1 not as certified, not safe, or nothing was judged; "
        "2 bad input; 130 interrupted.",
    )
    parser.add_argument("folder", type=Path, help="the folder of a release, or its certificate")
    parser.add_argument(
        "--after", type=Path, nargs="+", help="the folders of all releases published before it"
    )
    parser.add_argument(
        "--priors", type=Path, help="the owner's priors.json, where priors stay with the owner"
    )
    parser.add_argument(
        "--population", type=Path, nargs="+", help="the population that groups are compared with"
    )
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    parser.add_argument("--version", action="version", version=f"foreknow-judge {__version__}")
    return parser


def _verify(options: argparse.Namespace) -> tuple[int, list[str]]:
    """The exit code, and the lines to print: of one JSON text with --json, else for readers."""
    # Imported here, so that --help and a mistake in the options answer at once.
    from foreknow_judge.verify import certificate_path, judge, load_certificate

    path = certificate_path(options.folder)
    certificate, _ = load_certificate(path)
    # Named is the folder, the certificate in it (which means the folder, too), or a single file.
    release = path.parent if options.folder.is_dir() or options.folder == path else options.folder
    paths = options.priors, options.population, options.after
    verification, problems = judge(certificate, release, None, *paths)
    as_certified = None if problems else verification
    code = NOT_VERIFIED if as_certified is None or as_certified.idle else VERIFIED
    failed = ["Not verified", *(f"- {one_line(problem)}" for problem in problems)]
    lines = failed if as_certified is None else [*_output_lines(as_certified)]
    if options.json:
        result = {} if verification is None else verification.to_dict()
        table = {"verified": not code, "headline": lines[0], "problems": problems}  # 0: verified
        table["codes"] = [problem.code for problem in problems]
        lines = [json.dumps(table | result, indent=2, default=str)]
    return code, lines


def _output_lines(verification: Any) -> Iterator[str]:
    """Yield the lines to print: what was verified, what is assumed, and what was not judged."""
    noun = _noun(verification)  # such as ("person", "people")
    yield _headline(verification)
    yield from (f"- {_finding(finding)}" for finding in verification.findings)
    for name, people in verification.after:
        yield f"Published after {visible(name)}, with {some(people, *noun)}; judged together:"
    yield from (f"- {_finding(finding)}" for finding in verification.together)
    yield from smallest_group(verification.scope, noun)
    yield f"Judged: {', '.join(map(visible, verification.files))}"
    if assumed := verification.assumed:
        yield ASSUMED
        yield from (f"- {sentence.replace('people', noun[1])}" for sentence in assumed)
    yield "Not judged:"
    yield from (f"- {remark}" for remark in _remarks(verification))


def _headline(verification: Any) -> str:
    """The first line: how many people in which groups, what holds, and what has no limit.

    Such as "Verified: 120 people in 14 groups by age, zip; every requirement holds for ...".
    """
    n_people = some(verification.people, *_noun(verification))
    size = f"{n_people} in {some(verification.n_groups, 'group', 'groups')}"
    groups = ", ".join(map(visible, verification.groups))
    if verification.idle:
        return f"Nothing was judged: {size} by {groups}; no requirement is about any value here"
    extent, not_covered = how_far(verification)
    if verification.limits_inference:
        extent += no_limit(verification)
    else:
        extent = unlimited(verification, extent)
    return f"Verified: {size} by {groups}; every requirement holds{extent}{not_covered}"


def _noun(verification: Any) -> tuple[str, str]:
    return ("case", "cases") if verification.scope.cases else ("person", "people")


def _finding(finding: Verdict) -> str:
    """One line on a verdict: what was required, of which values, what is reached, the limit."""
    from foreknow_judge.criteria.gauges import GAUGES
    from foreknow_judge.policy.grammar import SHOWN_ELSEWHERE

    ((kind, settings),) = finding.judged.items()  # one kind of knowledge, or one criterion
    line = f"{kind} {_settings(settings)}"
    if "sensitive" in finding.requirement:
        line = f"{finding.requirement['sensitive']}: {line}"
    if finding.known:
        line += f", knowing {', '.join(finding.known)}"
    for key, about_what in _ABOUT.items():
        named_values = finding.requirement.get(key)
        if named_values not in (None, [SHOWN_ELSEWHERE], (SHOWN_ELSEWHERE,)):
            if not isinstance(named_values, (str, int)):
                named_values = ", ".join(map(str, named_values))
            line += f", {about_what} {named_values}"
    if finding.of_groups:  # a criterion; else the limit is on what an adversary may know
        gauge = GAUGES[kind]
        attained = "it holds" if gauge.of_labels else f"attained {finding.reached}"
        look_alikes = f"who has the same {', '.join(finding.alike)}, published exactly"
        limits = about(gauge, look_alikes if finding.alike else "groups")
        return one_line(f"{line}: {attained}; {limits}")
    if finding.value is None:
        return one_line(f"{line}: asks nothing, since nobody has a value")
    limit = "at most" if finding.required.inclusive else "below"
    reached = exact_text(finding.reached or Fraction(0))
    return one_line(f"{line}: at most {reached} ({finding.value}), {limit} {finding.limit}")


def _settings(settings: Any) -> str:
    if not isinstance(settings, Mapping):
        return f"= {settings}"
    if "tables" in settings:
        columns = [", ".join(table["attributes"]) for table in settings["tables"]]
        return f"by {'; '.join(columns)}"
    return ", ".join(f"{name} = {amount}" for name, amount in settings.items())


def _remarks(verification: Any) -> Iterator[str]:
    """Yield short remarks about what the verdicts do not cover; the JSON has all of them."""
    # What the files show; and what only the publisher says, who knows the table.
    scope, claimed = verification.scope, verification.claimed_scope
    if scope.cases:
        yield CASES_OF_FILES if claimed.word else SEVERAL_CASES
    yield "other releases of the same people, and an adversary who knows the method"
    if columns := dict.fromkeys((*verification.beside, *scope.unrequired)):
        yield f"columns that no requirement is about: {', '.join(map(visible, columns))}"
    if scope.unprotected:
        yield f"values without a limit: {_listed(scope.unprotected)}"
    if scope.exact:
        yield f"who is recognized by {_listed(scope.exact)}, published as in the table"
    if scope.shuffled:
        yield f"that {_listed(scope.shuffled)} is shuffled: it is the publisher's word"
    yield from judged_apart(scope)
    if verification.after:
        yield "that nobody is in two of these releases: it is the publisher's word"
        yield "an adversary who knows when a person came"
    for secret, columns in scope.assumed.items():
        names = ", ".join(map(visible, columns))
        yield f"an adversary who knows {names} of everybody, for {visible(secret)}"
    for name in verification.unchanged:
        yield f"{visible(name)}: it is the certified file by its digest, and its words are not read"
    for name in verification.not_judged:
        yield f"{visible(name)}, which lies beside the release"
    if verification.to_keep:
        yield f"for the owner only, do not publish: {', '.join(verification.to_keep)}"
    yield from map(noted, rows_left_out(claimed.left_out or 0))
    if claimed.word:
        yield f"by the publisher's word: {'; '.join(map(one_line, claimed.word))}"
    for note in verification.claimed:
        yield f"the publisher notes: {one_line(note)}"


def _listed(names: Iterable[str]) -> str:
    texts = list(map(quoted, names))
    n_unlisted = len(texts) - _MOST
    return ", ".join(texts[:_MOST]) + (f" and {n_unlisted:,} more" if n_unlisted > 0 else "")


def _print(lines: Sequence[str], stream: Any) -> None:
    """Print lines; raise if that fails, so that nobody mistakes missing output for an answer."""
    if stream is None:  # it was closed before the command began
        raise BrokenPipeError
    stream.write("".join(f"{encodable(line, stream.encoding or 'utf-8')}\n" for line in lines))
    stream.flush()
