"""Groups that stay safe when everybody knows how they were made."""

from foreknow.anonymizers.streamliner.method import Streamliner

__all__ = ["Streamliner"]
