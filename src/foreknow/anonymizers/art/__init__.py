"""Groups that withstand whoever knows how likely each value is for each kind of people."""

from foreknow.anonymizers.art.limits import Limit
from foreknow.anonymizers.art.method import ART

__all__ = ["ART", "Limit"]
