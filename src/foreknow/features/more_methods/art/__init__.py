"""Groups that withstand an adversary who knows how likely each value is for each kind of people."""

from foreknow.features.more_methods.art.art import ART
from foreknow.features.more_methods.art.limits import Limit

__all__ = ["ART", "Limit"]
