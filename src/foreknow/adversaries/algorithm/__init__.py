"""The adversary who knows the algorithm: worlds are struck out that it would treat otherwise."""

from foreknow.adversaries.algorithm.algorithm import Algorithm
from foreknow.adversaries.algorithm.attacks import attack
from foreknow.adversaries.algorithm.beliefs import Case
from foreknow.adversaries.algorithm.results import Attack

__all__ = ["Algorithm", "Attack", "Case", "attack"]
