"""Generalizations tried in a fixed order, by an algorithm that everybody knows."""

from foreknow.anonymizers.jump.algorithms import Jump, Naive, Safe
from foreknow.anonymizers.jump.order import HALF

__all__ = ["HALF", "Jump", "Naive", "Safe"]
