"""ADVERSARIES: every kind of knowledge that a policy can require to withstand.

Those of other packages come last.
"""

from __future__ import annotations

from foreknow.plugins import Registry

# What each is called, and its class: loaded when it is first asked for.
OURS = {
    "facts": "foreknow.adversaries.facts.facts:Facts",
    "implications": "foreknow.adversaries.implications.implications:Implications",
    "negations": "foreknow.adversaries.implications.implications:Negations",
    "priors": "foreknow.adversaries.priors.priors:Priors",
}
ADVERSARIES = Registry("foreknow.adversaries", OURS)
