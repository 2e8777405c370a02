"""The adversary who knows the algorithm, and strikes out worlds that it would treat otherwise."""

from foreknow.attacks.algorithm.algorithm import Algorithm, attack
from foreknow.attacks.algorithm.results import Attack, PersonBelief

__all__ = ["Algorithm", "Attack", "PersonBelief", "attack"]
