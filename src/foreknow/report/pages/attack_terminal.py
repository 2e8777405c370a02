"""Terminal: an attack as sentences and a table for Rich, at 80 columns and without colour."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult

from foreknow.adversaries.algorithm import Attack, Case
from foreknow.adversaries.algorithm.worlds import amount_text
from foreknow.adversaries.disclosure import Disclosure
from foreknow.report.console import plain_table, writer
from foreknow.report.words import number, percent, some, visible

# A fraction longer than this says less than its decimals; so does a number of worlds.
_SHORT, _DIGITS = 11, 18


def attack_title(attack: Attack) -> str:
    """Say the outcome in a few words."""
    if attack.certain:
        return f"{_are(len(attack.certain))} certain to whoever knows the algorithm"
    if attack.breaches:
        many = sum(len(case.rows) for case in attack.breaches)
        verb = "reaches" if many == 1 else "reach"
        doubt = "" if attack.exact else ", by estimates"
        return f"{some(many, 'posterior', 'posteriors')} {verb} a limit of the policy{doubt}"
    if attack.not_refuted:
        return f"{_are(len(attack.not_refuted))} suspected to be certain"
    if attack.unsettled:
        why = (
            "a limit is below the bound" if attack.how == "bound" else "too few runs of the method"
        )
        return f"{_are(len(attack.unsettled))} unsettled: {why}"
    if attack.highest is not None:
        return f"By a proof, no posterior exceeds {attack.highest}"
    if attack.exact and attack.certain_by_release:
        many = len(attack.certain_by_release)
        return f"Knowing the algorithm adds nothing; {_are(many, False)} certain without it"
    if attack.exact:
        return "Knowing the algorithm reaches no limit here"
    return "No limit was found to be reached; that is no proof"


def attack_scope(attack: Attack) -> str:
    """Say what was attacked."""
    people = some(attack.n_people, "person", "people")
    seen = {
        "groups": f"{people} in {some(attack.n_groups, 'group', 'groups')}",
        "table": f"{people} in a published table",
        "nothing": f"nothing is published of {people}",
    }
    return f"{visible(attack.method['name'])}: {seen[attack.what]}"


def worlds_sentence(attack: Attack) -> str:
    """Say how many worlds there are, and in how many the release is possible."""
    runs = some(attack.runs, "run", "runs")
    if attack.how == "proof":
        return (
            f"There are {_worlds(attack.n_worlds)}, which were not looked at: by a proof, whoever "
            "knows the method believes of everybody what their group says, as long as the seed is "
            "secret."
        )
    if attack.how == "bound":
        return (
            f"There are {_worlds(attack.n_worlds)}, which were not looked at. By a proof, whoever "
            "knows the method believes of everybody what the group says in which it put them, as "
            "long as the seed is secret; but several such groups may look like one, and there are "
            f"too many ways. In none of them is a posterior above {attack.highest}."
        )
    this = {"groups": "this release", "table": "this table", "nothing": "nothing being published"}
    what = this[attack.what]
    if attack.exact:
        return (
            f"Of {_worlds(attack.n_worlds)}, {number(attack.consistent)} could have led to "
            f"{what}. All were looked at, in {runs} of the method: the posteriors are exact."
        )
    if attack.how == "chains":
        return (
            f"There are {_worlds(attack.n_worlds)}, too many to look at. Chains of swaps made "
            f"{number(attack.looked)} steps among worlds that could have led to {what}, in "
            f"{runs} of the method: the posteriors are estimates, and of the worlds that the "
            f"chains can reach.{_parts(attack.parts)}"
        )
    return (
        f"There are {_worlds(attack.n_worlds)}, too many to look at. Of {number(attack.looked)} "
        f"that were drawn, {number(attack.consistent)} could have led to {what}: the "
        "posteriors are estimates."
    )


def finding_sentences(attack: Attack) -> list[str]:
    """Say what was found, the worst first."""
    said = []
    if attack.what != "groups":
        said.append(
            "It is taken to be known how often each value occurs in all; what the group says is "
            "that, for everybody."
        )
    if attack.certain:
        said.append(
            f"{_are(len(attack.certain))} certain because of the algorithm: in every possible "
            "world they have the same value."
        )
    if attack.certain_by_release:
        said.append(
            f"{_are(len(attack.certain_by_release))} certain from the release itself, with or "
            "without the algorithm: everybody in their group has the same value. An audit tells "
            "of them; they are not counted here."
        )
    if attack.left_out:
        said.append(
            f"{_are(len(attack.left_out))} left out of the release. Their values are taken to be "
            "known as one more bag, as they are if it is known how often each value occurs in all; "
            "of them the release says no more than the whole table does."
        )
    if attack.not_refuted:
        said.append(
            f"{_are(len(attack.not_refuted))} not refuted: they had the same value in every "
            "possible world that was met, and no world was found in which they have another."
        )
    if attack.unsettled and attack.how == "bound":
        said.append(
            f"{_are(len(attack.unsettled))} unsettled: a limit of the policy is no higher than "
            f"{attack.highest}, and nothing proves that their posteriors stay below it. In the "
            "bucketized form, groups are told apart."
        )
    elif attack.unsettled:
        said.append(
            f"{_are(len(attack.unsettled))} unsettled: they had the same value in the worlds that "
            "were met, and there were too few runs to look for others."
        )
    if attack.worst is not None:
        worst = attack.worst
        said.append(
            f"At worst, the adversary is {chance_text(worst)} sure of {visible(worst.value)} "
            f"where the group says {share_text(worst)}."
        )
    elif attack.exact:
        said.append("Nobody is found out any further than the release itself allows.")
    elif attack.how != "bound":
        said.append("Nobody was seen to be found out any further; more runs may tell more.")
    return said


def chance_text(case: Case) -> str:
    """Write a posterior: as a percentage and a fraction, or as an interval."""
    if case.exact is not None:
        return _chance(case.exact)
    return f"about {case.probability:.0%} ({case.low:.0%} to {case.high:.0%})"


def share_text(case: Case) -> str:
    """Write the share of a value in its group."""
    return _chance(case.share)


def who_text(case: Case) -> str:
    """Say which rows a case is about."""
    rows = [number(row) for row in case.rows[:5]]
    more = f" and {len(case.rows) - 5} more" if len(case.rows) > 5 else ""
    return f"{'row' if len(case.rows) == 1 else 'rows'} {', '.join(rows)}{more}"


def limit_of(case: Case) -> str:
    """Write the limit of a case."""
    return "none" if case.limit is None else str(case.limit)


def _chance(exact: Fraction) -> str:
    said = percent(Disclosure(None, float(exact), lambda: exact), Fraction(0))
    fraction = str(exact)
    return f"{said} ({fraction})" if "/" in fraction and len(fraction) <= _SHORT else said


def _are(many: int, first: bool = True) -> str:
    said = some(many, "person is", "people are")
    return said.replace("one", "One", 1) if first else said


def _parts(many: int) -> str:
    if many == 1:
        return ""
    return (
        f" Worlds were met in {number(many)} parts that no steps were found to join. How much each "
        "part weighs is not known: intervals hold what was found in all that chains walked in."
    )


def _worlds(many: int) -> str:
    if many < 10**_DIGITS:
        return some(many, "world", "worlds")
    return f"{amount_text(many)} worlds"


_MOST = 10


def attack_table(attack: Attack, names: Sequence[object] | None = None) -> RenderableType:
    """Lay out what an attack found.

    Parameters
    ----------
    attack : Attack
    names : sequence, optional
        What to call the person of each row; left out, people are called by their rows.
    """
    return _AttackTable(attack, names)


@dataclass(frozen=True)
class _AttackTable:
    attack: Attack
    names: Sequence[object] | None

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        attack = self.attack
        text = writer(options.encoding)
        title = "bold red" if attack.found else "bold"
        yield text(attack_title(attack), title)
        yield text(attack_scope(attack), "dim")
        yield text(worlds_sentence(attack))
        for sentence in finding_sentences(attack):
            yield text(sentence)
        if not attack.cases:
            return
        table = plain_table()
        for column in ("who", "value"):
            table.add_column(column, overflow="fold", max_width=26)
        for column in ("posterior", "group says", "limit"):
            table.add_column(column, justify="right")
        for case in attack.cases[:_MOST]:
            who = who_text(case)
            if self.names is not None:
                who = ", ".join(visible(self.names[row - 1]) for row in case.rows)
            cells = (who, visible(case.value), chance_text(case), share_text(case), limit_of(case))
            table.add_row(*map(text, cells))
        yield table
        if len(attack.cases) > _MOST:
            yield text(f"And {number(len(attack.cases) - _MOST)} more; see the JSON.")
