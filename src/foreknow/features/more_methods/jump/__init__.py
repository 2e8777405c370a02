"""Generalizations tried in a fixed order, by an algorithm that everybody knows."""

from foreknow.features.more_methods.jump.jump import HALF, Jump, Naive, Safe, SecretChoice

__all__ = ["HALF", "Jump", "Naive", "Safe", "SecretChoice"]
