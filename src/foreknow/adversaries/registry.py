"""ADVERSARIES: every kind of knowledge that a policy can require to withstand.

Those of other packages come last.
"""

from __future__ import annotations

from foreknow import plugins
from foreknow.adversaries.facts.facts import Facts
from foreknow.adversaries.implications.implications import Implications, Negations
from foreknow.adversaries.priors.priors import Priors
from foreknow.adversaries.protocol import Kind

OURS: tuple[type[Kind], ...] = (Facts, Implications, Negations, Priors)
ADVERSARIES: tuple[type[Kind], ...] = (*OURS, *plugins.kinds("foreknow.adversaries", OURS))
