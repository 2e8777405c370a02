"""Verdicts with other fields, which only tests make."""

from dataclasses import fields

from foreknow_judge.verdict import Figure
from foreknow_judge.verdicts import decided


def altered(verdict, **changes):
    """The same verdict with some other fields."""
    about = {field.name: getattr(verdict, field.name) for field in fields(Figure)}
    return decided(Figure(**{**about, **changes}), verdict.safe)
