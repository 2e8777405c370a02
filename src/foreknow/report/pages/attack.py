"""The page of an attack: as HTML that opens offline, as a fragment, and in the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult

from foreknow.adversaries.algorithm import Attack, Case
from foreknow.adversaries.algorithm.worlds import amount_text
from foreknow.adversaries.disclosure import Disclosure
from foreknow.report.console import plain_table, writer
from foreknow.report.page import fragment, page
from foreknow.report.words import number, percent, some, visible

_KEPT = "it names rows of the original table, and what they have"
# Cases of a page, of a notebook and of a terminal.
_PAGE, _NOTEBOOK, _TERMINAL = 200, 8, 10
# A fraction longer than this says less than its decimals.
_SHORT = 11


def attack_page(attack: Attack) -> str:
    """Write an attack as one HTML page that asks nothing of any network."""
    return page("attack.html.j2", "page.js", kept=_KEPT, **_shown(attack, _PAGE))


def attack_summary(attack: Attack) -> str:
    """Write an attack as a small HTML fragment, for notebooks."""
    return fragment("attack_summary.html.j2", **_shown(attack, _NOTEBOOK))


def attack_table(attack: Attack, names: Sequence[object] | None = None) -> RenderableType:
    """Lay out an attack for Rich; `names` are what to call the person of each row."""
    return _AttackTable(attack, names)


def _shown(attack: Attack, most: int) -> dict[str, object]:
    left = len(attack.cases) - most
    keys = ("who", "value", "chance", "share", "limit")
    return {
        "title": _title(attack),
        "scope": _scope(attack),
        "sentences": _sentences(attack),
        "found": attack.found,
        "proved": attack.exact and not attack.found,
        "rows": [dict(zip(keys, _row(case), strict=True)) for case in attack.cases[:most]],
        "more": some(left, "other", "others") if left > 0 else "",
    }


@dataclass(frozen=True)
class _AttackTable:
    attack: Attack
    names: Sequence[object] | None

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        attack, text = self.attack, writer(options.encoding)
        yield text(_title(attack), "bold red" if attack.found else "bold")
        yield text(_scope(attack), "dim")
        yield from map(text, _sentences(attack))
        if not attack.cases:
            return
        table = plain_table()
        for column in ("who", "value"):
            table.add_column(column, overflow="fold", max_width=26)
        for column in ("posterior", "group says", "limit"):
            table.add_column(column, justify="right")
        for case in attack.cases[:_TERMINAL]:
            who, *more = _row(case)
            if self.names is not None:
                who = ", ".join(visible(self.names[row - 1]) for row in case.rows)
            table.add_row(*map(text, (who, *more)))
        yield table
        if len(attack.cases) > _TERMINAL:
            yield text(f"And {number(len(attack.cases) - _TERMINAL)} more; see the JSON.")


def _row(case: Case) -> tuple[str, str, str, str, str]:
    """A case as a table shows it."""
    rows = ", ".join(map(number, case.rows[:5]))
    more = f" and {len(case.rows) - 5} more" if len(case.rows) > 5 else ""
    who = f"{'row' if len(case.rows) == 1 else 'rows'} {rows}{more}"
    limit = "none" if case.limit is None else str(case.limit)
    return who, visible(case.value), _chance_text(case), _fraction(case.share), limit


def _title(attack: Attack) -> str:
    """Say the outcome in a few words."""
    if attack.certain:
        return f"{_are(len(attack.certain))} certain to an adversary who knows the algorithm"
    if attack.breaches:
        many = sum(len(case.rows) for case in attack.breaches)
        verb = "reaches" if many == 1 else "reach"
        doubt = "" if attack.exact else ", by estimates"
        return f"{some(many, 'posterior', 'posteriors')} {verb} a limit of the policy{doubt}"
    if attack.not_refuted:
        return f"{_are(len(attack.not_refuted))} suspected to be certain"
    if attack.unsettled:
        bound = attack.how == "bound"
        why = "a limit is below the bound" if bound else "too few runs of the method"
        return f"{_are(len(attack.unsettled))} unsettled: {why}"
    if attack.highest is not None:
        return f"By a proof, no posterior exceeds {attack.highest}"
    if attack.exact and attack.certain_by_release:
        many = len(attack.certain_by_release)
        return f"Knowing the algorithm adds nothing; {_are(many).lower()} certain without it"
    if attack.exact:
        return "Knowing the algorithm reaches no limit here"
    return "No limit was found to be reached; that is no proof"


def _scope(attack: Attack) -> str:
    """Say what was attacked."""
    people = some(attack.n_people, "person", "people")
    seen = {
        "groups": f"{people} in {some(attack.n_groups, 'group', 'groups')}",
        "table": f"{people} in a published table",
        "nothing": f"nothing is published of {people}",
    }
    return f"{visible(attack.method['name'])}: {seen[attack.what]}"


def _worlds_sentence(attack: Attack) -> str:
    """Say how many worlds there are, and in how many the release is possible."""
    many = attack.n_worlds
    worlds = some(many, "world", "worlds") if many < 10**18 else f"{amount_text(many)} worlds"
    runs, looked = some(attack.runs, "run", "runs"), number(attack.looked)
    this = {"groups": "this release", "table": "this table", "nothing": "nothing being published"}
    led = f"could have led to {this[attack.what]}"
    proof = f"There are {worlds}, which were not looked at: by a proof, an adversary who knows the"
    if attack.how == "proof":
        return (
            f"{proof} method believes of everybody what their group says, as long as the seed is "
            "secret."
        )
    if attack.how == "bound":
        return (
            f"{proof} method believes of everybody what the group says in which it put them, as "
            "long as the seed is secret; but several such groups may look like one, and there are "
            f"too many ways. In none of them is a posterior above {attack.highest}."
        )
    if attack.exact:
        return (
            f"Of {worlds}, {number(attack.consistent)} {led}. All were looked at, in {runs} of the "
            "method: the posteriors are exact."
        )
    if attack.how == "independent worlds":
        return (
            f"There are {worlds}, too many to look at. Of {looked} that were drawn, "
            f"{number(attack.consistent)} {led}: the posteriors are estimates."
        )
    apart = (
        f" Worlds were met in {number(attack.parts)} parts that no steps were found to join. How "
        "much each part weighs is not known: intervals hold what was found in all of them."
    )
    return (
        f"There are {worlds}, too many to look at. Chains of swaps made {looked} steps among "
        f"worlds that {led}, in {runs} of the method: the posteriors are estimates, and of the "
        f"worlds that the chains can reach.{apart if attack.parts > 1 else ''}"
    )


def _sentences(attack: Attack) -> list[str]:
    """How worlds were looked at, then what was found."""
    certain, unsettled = attack.certain, attack.unsettled
    said = [_worlds_sentence(attack)]
    if attack.what != "groups":
        said.append(
            "It is taken to be known how often each value occurs in all; what the group says is "
            "that, for everybody."
        )
    for rows, what in (
        (
            certain,
            "certain because of the algorithm: in every possible world they have the same value.",
        ),
        (
            attack.certain_by_release,
            "certain from the release itself, with or without the algorithm: everybody in their "
            "group has the same value. An audit reports them; they are not counted here.",
        ),
        (
            attack.left_out,
            "left out of the release. Their values are taken to be known as one more bag, as they "
            "are if it is known how often each value occurs in all; of them the release says no "
            "more than the whole table does.",
        ),
        (
            attack.not_refuted,
            "not refuted: they had the same value in every possible world that was met, and no "
            "world was found in which they have another.",
        ),
        (
            unsettled if attack.how == "bound" else (),
            f"unsettled: a limit of the policy is no higher than {attack.highest}, and nothing "
            "proves that their posteriors stay below it. In the bucketized form, groups are told "
            "apart.",
        ),
        (
            () if attack.how == "bound" else unsettled,
            "unsettled: they had the same value in the worlds that were met, or changed it too "
            "seldom, and there were too few runs to look for others.",
        ),
    ):
        if rows:
            said.append(f"{_are(len(rows))} {what}")
    if attack.worst is not None:
        worst = attack.worst
        said.append(
            f"At worst, the adversary is {_chance_text(worst)} sure of {visible(worst.value)} "
            f"where the group says {_fraction(worst.share)}."
        )
    elif attack.exact:
        said.append("Nobody is found out any further than the release itself allows.")
    elif attack.how != "bound":
        said.append("Nobody was seen to be found out any further; more runs may tell more.")
    return said


def _chance_text(case: Case) -> str:
    """Write a posterior: as a percentage and a fraction, or as an interval."""
    if case.exact is not None:
        return _fraction(case.exact)
    return f"about {case.probability:.0%} ({case.low:.0%} to {case.high:.0%})"


def _fraction(exact: Fraction) -> str:
    said = percent(Disclosure(None, float(exact), lambda: exact), Fraction(0))
    fraction = str(exact)
    return f"{said} ({fraction})" if "/" in fraction and len(fraction) <= _SHORT else said


def _are(many: int) -> str:
    return some(many, "person is", "people are").replace("one", "One", 1)
