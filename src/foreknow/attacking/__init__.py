"""The adversary who knows the algorithm: worlds are struck out that it would treat otherwise."""

from foreknow.attacking.algorithm import Algorithm
from foreknow.attacking.cases import Case
from foreknow.attacking.owning import attack
from foreknow.attacking.results import Attack

__all__ = ["Algorithm", "Attack", "Case", "attack"]
