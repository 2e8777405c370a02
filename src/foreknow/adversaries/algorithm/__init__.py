"""The adversary who knows the algorithm, and strikes out worlds that it would treat otherwise."""

from foreknow.adversaries.algorithm.algorithm import Algorithm, attack
from foreknow.adversaries.algorithm.results import Attack, Case

__all__ = ["Algorithm", "Attack", "Case", "attack"]
