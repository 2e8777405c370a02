"""The page of an attack by somebody who knows the method; people appear by their rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from foreknow.features.attacks.results import Attack, PersonBelief
from foreknow.report.blocks import Block, Heading, Mood, Sentence, Table
from foreknow.report.page import Page
from foreknow.report.words import chance_text
from foreknow.shown_numbers import percentage
from foreknow_judge.files.printable import visible
from foreknow_judge.text import number, some

# Cases of a page, and of a notebook or terminal.
_PAGE, _BRIEF = 200, 10
_HEAD = ("who", "value", "posterior", "group says", "limit")
# What is said of the people that an attack lists.
_WHO = {
    "certain": "certain because of the algorithm: they have the same value in every possible "
    "world.",
    "certain_by_release": "certain from the release itself, with or without the algorithm: "
    "everybody in their group has the same value. An audit reports them; they are not counted "
    "here.",
    "left_out": "left out of the release. The adversary is assumed to know their values as one "
    "more bag, as anyone does who knows how often each value occurs in the whole "
    "table.",
}


class AttackPage(Page[Attack]):
    """A table of people about whom the algorithm reveals more; `names` are those of rows."""

    serves = Attack
    eyebrow = "Attack by an adversary who knows the algorithm on"
    promise = "Rows are those of the original table."
    kept = "it names rows of the original table and their values"

    def __init__(self, result: Attack, names: Sequence[object] | None = None) -> None:
        super().__init__(result)
        self.names = names

    def as_they_are(self) -> Iterator[str]:
        """Values of the table, and names of rows."""
        yield from map(visible, (*(case.value for case in self.result.cases), *(self.names or ())))

    @property
    def headline(self) -> str:
        """Say the outcome in a few words."""
        return _title(self.result)

    @property
    def mood(self) -> Mood:
        """The mood: unsafe if somebody is found out, safe if nobody is, by a proof."""
        if self.result.found:
            return "unsafe"
        unlimited = self.result.kept and not self.result.limited
        return "" if unlimited else _words_of(self.result).mood

    @property
    def name(self) -> str:
        """The method and the table that were attacked."""
        name: str = self.said(_scope(self.result))
        return name

    def blocks(self) -> Iterator[Block]:
        """Sentences on method and findings, then a table of the worst cases."""
        yield from map(Sentence, _sentences(self.result))
        rows = [_row(case, self.names) for case in self.result.cases]
        if rows:
            yield Heading("People about whom the algorithm reveals more, the worst first", "cases")
            where = ", which are in the JSON"
            yield Table(_HEAD, rows, (0, 1), brief=_BRIEF, where=where).cut(_PAGE)


def _row(case: PersonBelief, names: Sequence[object] | None) -> tuple[str, str, str, str, str]:
    """The cells of a case: who, which value, its probability, the group's share, and the limit.

    People are given by name or, without `names`, by some of their rows.
    """
    if names is not None:
        people_text = ", ".join(visible(names[row - 1]) for row in case.rows)
    else:
        omitted = f" and {len(case.rows) - 5} more" if len(case.rows) > 5 else ""
        noun = "row" if len(case.rows) == 1 else "rows"
        people_text = f"{noun} {', '.join(map(number, case.rows[:5]))}{omitted}"
    limit = "none" if case.limit is None else str(case.limit)
    return people_text, visible(case.value), _chance_text(case), chance_text(case.share, 0), limit


class _OutcomeWords(NamedTuple):
    """The sentences for an attack that found nothing; by default, not all worlds were listed."""

    mood: Mood = ""
    doubt: str = ", by estimates"
    nobody: str = "was found with certainty so far"
    unreached: str = "No limit was reached, which is no proof"
    unseen: str = "The algorithm revealed nothing more about anybody; more runs may find more."


_NEVER = "is certain because of the algorithm"
_EXACTLY = _OutcomeWords(
    "safe",
    "",
    _NEVER,
    "Knowing the algorithm reaches no limit here",
    "The algorithm reveals nothing beyond the release itself.",
)
_IN_PART = {
    "parts": _OutcomeWords(
        nobody=_NEVER,
        unreached="Nobody is certain because of the algorithm; by estimates, it reaches no limit",
    ),
    "bound": _OutcomeWords(unseen=""),
}


def _words_of(attack: Attack) -> _OutcomeWords:
    return _EXACTLY if attack.exact else _IN_PART.get(attack.how, _OutcomeWords())


def _title(attack: Attack) -> str:
    """The outcome of an attack as a title."""
    if attack.certain:
        return f"{_people(len(attack.certain))} certain to an adversary who knows the algorithm"
    if attack.breaches:
        count = sum(len(case.rows) for case in attack.breaches)
        verb = "reaches" if count == 1 else "reach"
        doubt = _words_of(attack).doubt
        return f"{some(count, 'posterior', 'posteriors')} {verb} a limit of the policy{doubt}"
    if attack.unsettled:
        bound = attack.how == "bound"
        reason = "a limit is below the bound" if bound else "too few possible worlds were drawn"
        return f"{_people(len(attack.unsettled))} unsettled: {reason}"
    if attack.kept and not attack.limited:
        return (
            "By a proof, the requirements hold; none of them limits how sure somebody may become "
            "of a value"
        )
    if attack.kept:
        return "By a proof, no posterior reaches a limit of the policy"
    if attack.highest is not None:
        return f"By a proof, no posterior exceeds {attack.highest}"
    if attack.exact and attack.certain_by_release:
        count = len(attack.certain_by_release)
        return f"Knowing the algorithm adds nothing; {_people(count).lower()} certain without it"
    if not attack.limited:
        nobody = _words_of(attack).nobody
        return f"Nobody {nobody}; no requirement limits how sure somebody may become"
    return _words_of(attack).unreached


def _scope(attack: Attack) -> str:
    """Say what was attacked."""
    people = some(attack.n_people, "person", "people")
    descriptions = {
        "groups": f"{people} in {some(attack.n_groups, 'group', 'groups')}",
        "nothing": f"nothing is published of {people}",
    }
    return f"{visible(attack.method['name'])}: {descriptions[attack.what]}"


def _worlds_sentence(attack: Attack) -> str:
    """A sentence on how many worlds there are, and in how many the release is possible.

    A world assigns each group's values to its people. How worlds were examined decides the
    sentence: a proof, a bound, part by part, all of them, or a sample.
    """
    amount = attack.n_worlds_text
    worlds = some(attack.n_worlds, "world", "worlds") if amount.isdigit() else f"{amount} worlds"
    runs, looked = some(attack.runs, "run", "runs"), number(attack.looked)
    this = {"groups": "this release", "nothing": "nothing being published"}
    verb_phrase = f"could have led to {this[attack.what]}"
    proof = f"There are {worlds}, which were not looked at: by a proof, an adversary who knows the"
    because = f" The proof: {attack.proof}." if attack.proof else ""
    if attack.how == "proof":
        return (
            f"{proof} method learns about everybody only what their group says, as long as the "
            f"seed is secret.{because}"
        )
    if attack.kept and not attack.limited:
        return (
            f"There are {worlds}, which were not looked at: by a proof, no requirement fails for "
            "an adversary who knows the method, as long as the seed is secret; there is no limit "
            f"on how sure somebody may become.{because}"
        )
    if attack.kept:
        return (
            f"{proof} method reaches no limit of the policy, even with the facts that the policy "
            "allows, as long as the seed is secret. Values without a limit are not "
            f"covered.{because}"
        )
    if attack.how == "bound":
        return (
            f"{proof} method believes of everybody what the group says in which it put them, as "
            "long as the seed is secret; but several such groups may look like one, and there are "
            f"too many ways. In none of them is a posterior above {attack.highest}.{because}"
        )
    if attack.how == "parts":
        return _parts_sentences(attack, worlds, verb_phrase)
    if attack.exact:
        return (
            f"Of {worlds}, {number(attack.consistent)} {verb_phrase}. All were examined, in {runs} "
            "of the method: the posteriors are exact."
        )
    return (
        f"There are {worlds}, too many to examine. Of {looked} that were drawn, "
        f"{number(attack.consistent)} {verb_phrase}: the posteriors are estimates."
    )


def _parts_sentences(attack: Attack, worlds_text: str, led_text: str) -> str:
    """Sentences on how many people are in parts that were examined completely, or drawn.

    A part is groups whose values depend on each other.
    """
    text = (
        f"One run of the method says which of {worlds_text} {led_text}: those in which each of its "
        f"decisions goes as it did. The groups fall into {some(attack.parts, 'part', 'parts')}; "
        "no decision looks at more than one of them. "
    )
    if attack.exact:
        return f"{text}All parts were examined completely: the posteriors are exact."
    remaining_text = "them"
    if attack.n_settled:
        settled_people = some(attack.n_settled, "person", "people")
        remaining_text = "the other parts"
        text += (
            f"For {settled_people}, the part was examined completely: their posteriors are exact. "
        )
    if not attack.looked:
        return f"{text}There was no time to draw assignments for {remaining_text}."
    return (
        f"{text}For {remaining_text}, {number(attack.looked)} assignments were drawn; "
        f"{number(attack.consistent)} of these {led_text}, and give estimates."
    )


def _sentences(attack: Attack) -> list[str]:
    """Sentences on how worlds were examined, and on the people who were found out."""
    sentences = [_worlds_sentence(attack)]
    if attack.what != "groups":
        sentences.append(
            "The adversary is assumed to know how often each value occurs in the whole table; "
            "for everybody, the group says the same."
        )
    for name, what in _WHO.items():
        rows = getattr(attack, name)
        if rows:
            sentences.append(f"{_people(len(rows))} {what}")
    if attack.n_not_certain:
        sentences.append(
            f"{_people(attack.n_not_certain)} proved not to be certain: a possible world was found "
            "in which they have another value."
        )
    sentences += _unsettled_sentences(attack)
    if attack.how != "bound" and (attack.unsettled or attack.found):
        sentences.append(
            "In a release by decoy the limits hold against such an adversary, too, by a proof: "
            "foreknow publish --method decoy, where it serves the policy; foreknow compare says "
            "what that costs."
        )
    if attack.worst is not None:
        worst = attack.worst
        sentences.append(
            f"At worst, the adversary is {_chance_text(worst)} sure of {visible(worst.value)} "
            f"where the group says {chance_text(worst.share, 0)}."
        )
    elif unseen := _words_of(attack).unseen:
        sentences.append(unseen)
    return sentences


def _unsettled_sentences(attack: Attack) -> list[str]:
    """Sentences about people of whom the attack cannot decide how much is learned."""
    n_unsettled, n_perhaps_certain = len(attack.unsettled), len(attack.perhaps_certain)
    if attack.how == "bound":
        what = (
            f"a limit of the policy is no higher than {attack.highest}, and nothing proves that "
            "their posteriors stay below it. In the bucketized form, groups are told apart."
        )
        return [f"{_people(n_unsettled)} unsettled: {what}"] if n_unsettled else []
    sentences = []
    if n_unsettled > n_perhaps_certain:
        # Those who may be certain have a sentence below.
        sentences.append(
            f"{_people(n_unsettled - n_perhaps_certain)} unsettled: not certain, but too few "
            "possible worlds were drawn to say how sure the adversary is."
        )
    if attack.beyond:
        sentences.append(
            f"More time settles none of {some(attack.beyond, 'person', 'people')}: the parts that "
            "they are in have more assignments than may be looked at (worlds)."
        )
    if n_perhaps_certain:
        sentences.append(
            f"{_people(n_perhaps_certain)} unsettled, perhaps certain: they had one value in all "
            "possible worlds that were drawn."
        )
    return sentences


def _chance_text(case: PersonBelief) -> str:
    """Write a posterior: as a percentage and a fraction, or as an interval."""
    if (posterior := case.exact) is not None:
        return chance_text(posterior, 0)
    return f"about {interval_text(case.probability, case.low, case.high)}"


def _people(n_people: int) -> str:
    return some(n_people, "person is", "people are").replace("one", "One", 1)


def interval_text(probability: float, low: float, high: float, digits: int = 0) -> str:
    """Write an estimate and its interval as percentages; the interval is rounded outwards.

    >>> interval_text(0.5, 0.4449, 0.9999)
    '50% (44% to 99.99%)'
    """
    ends = percentage(low, digits, "down"), percentage(high, digits, "up")
    return f"{percentage(probability, digits)} ({' to '.join(ends)})"
