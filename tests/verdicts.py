"""Verdicts with other fields, which only tests make."""

from dataclasses import fields

from foreknow_judge.verdict import Figure
from foreknow_judge.verdicts import decided


def altered(verdict, **changes):
    """The same verdict with some other fields."""
    about = {own.name: getattr(verdict, own.name) for own in fields(Figure)}
    return decided(Figure(**{**about, **changes}), verdict.safe)
