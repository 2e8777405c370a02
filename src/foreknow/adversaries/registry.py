"""ADVERSARIES: every kind of knowledge that a policy can require to withstand."""

from __future__ import annotations

from foreknow.adversaries.facts.facts import Facts
from foreknow.adversaries.implications.implications import Implications, Negations
from foreknow.adversaries.priors.priors import Priors
from foreknow.adversaries.protocol import Kind

ADVERSARIES: tuple[type[Kind], ...] = (Facts, Implications, Negations, Priors)
