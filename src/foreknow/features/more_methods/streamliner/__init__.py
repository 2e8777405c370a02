"""Groups that stay safe when everybody knows how they were made."""

from foreknow.features.more_methods.streamliner.streamliner import Streamliner

__all__ = ["Streamliner"]
