"""The definitions of criteria, by their former name."""

from tests.criteria.definitions import truth as truth
