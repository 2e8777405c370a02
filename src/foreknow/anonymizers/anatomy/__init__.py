"""Groups of different sensitive values, drawn at random."""

from foreknow.anonymizers.anatomy.method import Anatomy

__all__ = ["Anatomy"]
