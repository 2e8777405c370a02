"""Counted disclosure sets: how many tables there are, and how many have a value at a cell."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from foreknow.jumping.blocks import Block
from foreknow.jumping.sight import Column

Part: TypeAlias = tuple[Block, tuple[Column, ...]]
Parts: TypeAlias = Sequence[Part]


@dataclass(frozen=True)
class CountedPart:
    """A block in a disclosure set.

    Attributes
    ----------
    block : Block
    classes : tuple of (Column, int)
        Values with equal counts in all groups, and how many there are.
    tables : tuple of tuples of int
        For each class and cell: tables of the set in which a person of the cell has one particular
        value of the class.
    """

    block: Block
    classes: tuple[tuple[Column, int], ...]
    tables: tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class Counted:
    """A disclosure set by its counts.

    Attributes
    ----------
    size : int
        Number of tables.
    total : int
        Number of tables of the permutation set.
    parts : tuple of CountedPart
    """

    size: int
    total: int
    parts: tuple[CountedPart, ...]
