"""Explanation: what an adversary class or a criterion finds of counts, with its witness."""

from __future__ import annotations

from dataclasses import dataclass

from foreknow_judge.verdict import Figure


@dataclass(frozen=True, repr=False, kw_only=True)
class Explanation(Figure):
    """A figure with its witness; the judge's verdict is compared with it.

    Attributes
    ----------
    safe : bool
        Whether this figure keeps the limit. It is no verdict.
    """

    safe: bool

    def __repr__(self) -> str:
        outcome = "keeps its limit" if self.safe else "does not keep its limit"
        return f"Explanation({self.words}: {outcome})"
