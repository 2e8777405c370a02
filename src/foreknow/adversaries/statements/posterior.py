"""Posterior: how likely it is that a person has a value, once statements are known."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from html import escape
from itertools import islice
from typing import Any

from foreknow.data.labels import Label, Labels
from foreknow.numbers import Number, as_fraction, significant
from foreknow.plain import Plain

# Rows of a table in a notebook.
_ROWS = 20
# A fraction longer than this says less than its decimals.
_SHORT = 11


@dataclass(frozen=True)
class Estimate:
    """A probability that was sampled, and the interval that holds the true one, at about 99%."""

    probability: float
    low: float
    high: float


@dataclass(frozen=True, eq=False, repr=False)
class Posterior(Plain):
    """The probability that a person has a value, given what is known.

    Attributes
    ----------
    person, value : label
    exact : Fraction or None
        The probability; None for an estimate.
    estimate : Estimate or None
        Where exact inference was out of reach.
    before : Fraction or None
        What the release alone says, with the prior if there is one; None where even that is out
        of reach.
    """

    _told = "person value probability exact estimated interval before"

    person: Label
    value: Label
    exact: Fraction | None
    estimate: Estimate | None
    _before: Callable[[], Fraction | None]

    @cached_property
    def before(self) -> Fraction | None:
        """What the release alone says, with the prior if there is one."""
        return self._before()

    @property
    def estimated(self) -> bool:
        """Whether the probability was sampled."""
        return self.estimate is not None

    @property
    def probability(self) -> float:
        """The probability as a float; of an estimate, the most likely one."""
        return self.estimate.probability if self.estimate is not None else float(self.exact or 0)

    @property
    def interval(self) -> tuple[float, float]:
        """Where the probability lies: one point if it is exact, else at about 99%."""
        if self.estimate is None:
            return (self.probability, self.probability)
        return (self.estimate.low, self.estimate.high)

    def below(self, threshold: Number) -> bool:
        """Whether the probability is strictly below a threshold.

        Exact where the probability is. Of an estimate, the upper end of the interval must be
        below it, which is no proof.
        """
        most = as_fraction(self.interval[1]) if self.exact is None else self.exact
        return most < as_fraction(threshold)

    def __repr__(self) -> str:
        low, high = self.interval
        sure = f"about {significant(self.probability)}, {_interval(low, high)}"
        sure = sure if self.estimated else significant(self.probability, 6)
        return f"Posterior({self.person!r}, {self.value!r}: {sure})"

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
        shown = list(islice(self.answers(), _ROWS + 1))
        rows = [_row(("person", "value", "before", "after"), "th")]
        for found in shown[:_ROWS]:
            before = "not known" if found.before is None else _chance(found.before)
            rows.append(_row((found.person, found.value, before, _after(found))))
        if len(shown) > _ROWS:
            rows.append(_row(["…"] * 4))
        return f"<table>{''.join(rows)}</table>"


class PosteriorsOfOne(Answers):
    """Posteriors of one person by value."""

    def __repr__(self) -> str:
        return f"{{{', '.join(f'{value!r}: {self[value]!r}' for value in self)}}}"


class Posteriors(Answers):
    """Posteriors by person and value; each is worked out when it is asked for."""

    def answers(self) -> Iterator[Posterior]:
        """All answers, one by one."""
        return (answer for row in self.values() for answer in row.answers())

    def __repr__(self) -> str:
        return f"Posteriors({len(self)} people)"


def _row(cells: Iterable[object], kind: str = "td") -> str:
    return f"<tr>{''.join(f'<{kind}>{escape(str(cell))}</{kind}>' for cell in cells)}</tr>"


def _after(found: Posterior) -> str:
    if found.exact is not None:
        return _chance(found.exact)
    low, high = found.interval
    return f"about {significant(found.probability)} ({_interval(low, high)})"


def _interval(low: float, high: float) -> str:
    return f"{significant(low, to='down')} to {significant(high, to='up')}"


def _chance(exact: Fraction) -> str:
    """A fraction where that is short, else a decimal."""
    return str(exact) if len(str(exact)) <= _SHORT else significant(exact, 6)
