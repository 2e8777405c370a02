"""Names: find the people and values of a release by the text that their labels print as."""

from __future__ import annotations

from collections.abc import Sequence

from foreknow.errors import InputError, did_you_mean
from foreknow.labels import Label, Labels

_HINTS = 100_000
_AMBIGUOUS = -1


class Unknown(InputError):
    """A text that no label prints as."""


class Names:
    """Labels by text.

    Parameters
    ----------
    labels : Labels
    missing : str
        What to say of a text that is not among them, followed by the text.
    """

    def __init__(self, labels: Labels, missing: str) -> None:
        self.labels = labels
        self._missing = missing
        self._by_text: dict[str, int] | None = None
        if not all(type(label) is str for label in labels):
            self._by_text = {}
            for position, label in enumerate(labels):
                known = self._by_text.setdefault(str(label), position)
                if known != position:
                    self._by_text[str(label)] = _AMBIGUOUS

    def of_text(self, text: str) -> int:
        """Position of the label that prints as a text."""
        known = self.labels.codes if self._by_text is None else self._by_text
        position = known.get(text)
        if position is None:
            hints = [str(label) for label in _first(self.labels)]
            raise Unknown(f"{self._missing} {text!r}{did_you_mean(text, hints)}")
        if position == _AMBIGUOUS:
            same = [repr(label) for label in self.labels if str(label) == text]
            raise InputError(f"{text!r} may mean {' or '.join(same)}; make their labels differ")
        return position

    def of_label(self, label: Label) -> int:
        """Position of a label, or else of the one that prints like it."""
        try:
            position = self.labels.codes.get(label)
        except TypeError:
            position = None
        return self.of_text(str(label)) if position is None else position


def _first(labels: Sequence[Label]) -> Sequence[Label]:
    return labels[:_HINTS]
