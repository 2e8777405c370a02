"""Text: numbers of things in words."""

from __future__ import annotations


def number(amount: int) -> str:
    """A whole number with commas between thousands."""
    return f"{amount:,}"


def some(amount: int, one: str, several: str) -> str:
    """An amount with its noun, in the singular if the amount is one.

    >>> some(1, "link", "links"), some(2000, "link", "links")
    ('one link', '2,000 links')
    """
    return f"one {one}" if amount == 1 else f"{number(amount)} {several}"


def people_text(amount: int, of: str = "") -> str:
    """A number of people in words.

    >>> people_text(12), people_text(1), people_text(12, "all"), people_text(1, "all")
    ('12 people', 'one person', 'all 12 people', 'the only person')
    """
    if of:
        return "the only person" if amount == 1 else f"{of} {number(amount)} people"
    return some(amount, "person", "people")
