"""Posterior: how likely it is that a person has a value, once statements are known."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from html import escape
from itertools import islice
from typing import Any

from foreknow.call_hints import Plain
from foreknow.data.labels.labels import Label, Labels
from foreknow.shown_numbers import significant
from foreknow_judge.numbers import Number, as_fraction

# Rows of a table in a notebook.
_ROWS = 20
# A fraction longer than this says less than its decimals.
_SHORT = 11


@dataclass(frozen=True, eq=False, repr=False)
class Posterior(Plain):
    """The probability that a person has a value, given what is known.

    Attributes
    ----------
    person, value : label
        The person, and the value.
    exact : Fraction
        The probability, given the release and what is known.
    before : Fraction
        The probability, given the release alone.
    """

    _json_fields = "person value probability exact before"

    person: Label
    value: Label
    exact: Fraction
    before: Fraction

    @property
    def probability(self) -> float:
        """The probability as a float."""
        return float(self.exact)

    def below(self, threshold: Number) -> bool:
        """True if the probability is strictly below a threshold."""
        return self.exact < as_fraction(threshold)

    def __repr__(self) -> str:
        return f"Posterior({self.person!r}, {self.value!r}: {significant(self.probability, 6)})"

    def _repr_html_(self) -> str:
        return f"<code>{escape(repr(self))}</code>"


class Answers(Mapping[Label, Any]):
    """Answers by label, each worked out when it is asked for."""

    def __init__(self, labels: Iterable[Label], answer: Callable[[Label], Any]) -> None:
        self._labels = labels if isinstance(labels, Labels) else Labels(labels)
        self._answer = answer

    def __getitem__(self, label: Label) -> Any:
        if label not in self:
            raise KeyError(label)
        return self._answer(label)

    def __iter__(self) -> Iterator[Label]:
        return iter(self._labels)

    def __len__(self) -> int:
        return len(self._labels)

    def __contains__(self, label: object) -> bool:
        return label in self._labels.codes

    def answers(self) -> Iterator[Posterior]:
        """All answers, one by one."""
        yield from self.values()

    def to_dict(self) -> dict[str, Any]:
        """All answers as plain values for JSON; works all of them out."""
        return {"answers": [answer.to_dict() for answer in self.answers()]}

    def _repr_html_(self) -> str:
        """A table of the first answers; the others are not worked out."""
        answers = list(islice(self.answers(), _ROWS + 1))
        rows = [_row(("person", "value", "before", "after"), "th")]
        for answer in answers[:_ROWS]:
            chances = _chance(answer.before), _chance(answer.exact)
            rows.append(_row((answer.person, answer.value, *chances)))
        if len(answers) > _ROWS:
            rows.append(_row(["…"] * 4))
        return f"<table>{''.join(rows)}</table>"


class PosteriorsOfOne(Answers):
    """Posteriors of one person by value."""

    def __repr__(self) -> str:
        pairs = [f"{value!r}: {answer!r}" for value, answer in self.items()]
        return f"{{{', '.join(pairs)}}}"


class Posteriors(Answers):
    """Posteriors by person and value; each is worked out when it is asked for."""

    def answers(self) -> Iterator[Posterior]:
        """All answers, one by one."""
        for row in self.values():
            yield from row.answers()

    def __repr__(self) -> str:
        return f"Posteriors({len(self)} people)"


def _row(cells: Iterable[object], kind: str = "td") -> str:
    """A row of an HTML table."""
    texts = [f"<{kind}>{escape(str(cell))}</{kind}>" for cell in cells]
    return f"<tr>{''.join(texts)}</tr>"


def _chance(exact: Fraction) -> str:
    """A fraction where that is short, else a decimal."""
    return str(exact) if len(str(exact)) <= _SHORT else significant(exact, 6)
