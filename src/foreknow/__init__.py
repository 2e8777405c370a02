"""Foreknow: audit and publish tables about people against adversaries who already know something.

Data flows one way: a frame is *counted*, counts are *judged*, judgements are *shown*.

=====================  ==========================================================================
`Release`              a published table; its counts are made where the data lives
`GroupCounts`          groups x sensitive values, sparse: what nearly every adversary needs
`Facts`                an adversary, with `disclosure`, `disclosures`, `monotone` and `ledger`
`Priors`               an adversary who knows how likely values are for people of each kind
`Algorithm`            an adversary who can run the method that made the release
`Statements`           an adversary who knows these very things about these very people
`Policy`               requirements: values, adversary, limit; read from TOML or made in Python
`audit`                release x policy -> verdicts, each with its witness
`skyline_report`       release x confidence -> the most knowledge that it withstands
`Microdata`, `Schema`  the raw table and the roles of its columns
`Mondrian`             a method that groups rows as far as the policy allows
`FullDomain`           another: one level of generalization per column, the same for everybody
`publish`              microdata x policy x method -> a verified release with its certificate
=====================  ==========================================================================

>>> counts = GroupCounts.from_bags([["Flu", "Cancer", "Flu", "AIDS"]])
>>> Facts(l=1).disclosure(counts, value="AIDS").exact
Fraction(1, 2)
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from foreknow._version import __version__

if TYPE_CHECKING:
    from foreknow.adversaries.classical import is_recursively_diverse, k_anonymity
    from foreknow.adversaries.disclosure import Disclosure
    from foreknow.adversaries.facts import Facts
    from foreknow.adversaries.implications import Implications
    from foreknow.adversaries.negations import Negations
    from foreknow.adversaries.prior_table import PriorTable
    from foreknow.adversaries.priors import Priors
    from foreknow.adversaries.skylines import knowledge_skyline, knowledge_skylines
    from foreknow.adversaries.statements import Has, Posterior, Statements, same
    from foreknow.anonymizers.anatomy import Anatomy
    from foreknow.anonymizers.art import ART, Limit
    from foreknow.anonymizers.at_levels import counts_at
    from foreknow.anonymizers.fulldomain import FullDomain
    from foreknow.anonymizers.jump import Jump, Naive, Safe
    from foreknow.anonymizers.jump.secret import SecretChoice
    from foreknow.anonymizers.lattice_result import LatticeResult
    from foreknow.anonymizers.mondrian import Mondrian
    from foreknow.anonymizers.streamliner import Streamliner
    from foreknow.attacking import Algorithm, Attack, attack
    from foreknow.auditing import Audit, Verdict, audit
    from foreknow.certificate import Certificate
    from foreknow.counts import GroupCounts
    from foreknow.curving import DisclosureCurves, disclosure_curves
    from foreknow.errors import ForeknowError, InputError, NoSafeRelease
    from foreknow.hierarchy import DateLevels, Intervals, Mask
    from foreknow.hierarchy_files import Ordered, Tree
    from foreknow.jumping.composed import All, Each
    from foreknow.jumping.dealing import BeyondReach
    from foreknow.jumping.estimating import EstimatedSet
    from foreknow.jumping.properties import Distinct, Entropy, KAnonymity, MaxRatio, Recursive
    from foreknow.jumping.runs import DisclosureSet, Run
    from foreknow.microdata import Microdata
    from foreknow.naming import NamedWitness, name_people
    from foreknow.policy import Policy, PublishOptions, Requirement
    from foreknow.publishing import Publication, publish
    from foreknow.release import Release
    from foreknow.schema import Schema
    from foreknow.skylining import SkylineReport, skyline_report
    from foreknow.surveying import LatticeSurvey, SurveyedNode, survey
    from foreknow.utility import Utility, optimal_discernibility, utility_of
    from foreknow.verification import Verification, verify
    from foreknow.workload.measuring import QueryError, query_error, query_error_of_groups
    from foreknow.workload.reporting import UtilityReport, utility_report

# Where each public name lives; a room is entered when one of its names is first asked for.
_ROOMS = {
    "adversaries.classical": ["is_recursively_diverse", "k_anonymity"],
    "adversaries.disclosure": ["Disclosure"],
    "adversaries.facts": ["Facts"],
    "adversaries.negations": ["Negations"],
    "adversaries.implications": ["Implications"],
    "adversaries.prior_table": ["PriorTable"],
    "adversaries.priors": ["Priors"],
    "adversaries.skylines": ["knowledge_skyline", "knowledge_skylines"],
    "adversaries.statements": ["Has", "Posterior", "Statements", "same"],
    "anonymizers.anatomy": ["Anatomy"],
    "anonymizers.at_levels": ["counts_at"],
    "anonymizers.art": ["ART", "Limit"],
    "anonymizers.fulldomain": ["FullDomain"],
    "anonymizers.lattice_result": ["LatticeResult"],
    "anonymizers.mondrian": ["Mondrian"],
    "anonymizers.streamliner": ["Streamliner"],
    "anonymizers.jump": ["Jump", "Naive", "Safe"],
    "anonymizers.jump.secret": ["SecretChoice"],
    "jumping.composed": ["All", "Each"],
    "jumping.dealing": ["BeyondReach"],
    "jumping.estimating": ["EstimatedSet"],
    "jumping.properties": ["Distinct", "Entropy", "KAnonymity", "MaxRatio", "Recursive"],
    "jumping.runs": ["DisclosureSet", "Run"],
    "attacking": ["Algorithm", "Attack", "attack"],
    "auditing": ["Audit", "Verdict", "audit"],
    "certificate": ["Certificate"],
    "counts": ["GroupCounts"],
    "curving": ["DisclosureCurves", "disclosure_curves"],
    "errors": ["ForeknowError", "InputError", "NoSafeRelease"],
    "hierarchy": ["DateLevels", "Intervals", "Mask"],
    "hierarchy_files": ["Ordered", "Tree"],
    "microdata": ["Microdata"],
    "naming": ["NamedWitness", "name_people"],
    "policy": ["Policy", "PublishOptions", "Requirement"],
    "publishing": ["Publication", "publish"],
    "release": ["Release"],
    "schema": ["Schema"],
    "skylining": ["SkylineReport", "skyline_report"],
    "surveying": ["LatticeSurvey", "SurveyedNode", "survey"],
    "utility": ["Utility", "optimal_discernibility", "utility_of"],
    "verification": ["Verification", "verify"],
    "workload.measuring": ["QueryError", "query_error", "query_error_of_groups"],
    "workload.reporting": ["UtilityReport", "utility_report"],
}
_HOME = {name: room for room, names in _ROOMS.items() for name in names}

__all__ = [
    "ART",
    "Algorithm",
    "All",
    "Anatomy",
    "Attack",
    "Audit",
    "BeyondReach",
    "Certificate",
    "DateLevels",
    "Disclosure",
    "DisclosureCurves",
    "DisclosureSet",
    "Distinct",
    "Each",
    "Entropy",
    "EstimatedSet",
    "Facts",
    "ForeknowError",
    "FullDomain",
    "GroupCounts",
    "Has",
    "Implications",
    "InputError",
    "Intervals",
    "Jump",
    "KAnonymity",
    "LatticeResult",
    "LatticeSurvey",
    "Limit",
    "Mask",
    "MaxRatio",
    "Microdata",
    "Mondrian",
    "Naive",
    "NamedWitness",
    "Negations",
    "NoSafeRelease",
    "Ordered",
    "Policy",
    "Posterior",
    "PriorTable",
    "Priors",
    "Publication",
    "PublishOptions",
    "QueryError",
    "Recursive",
    "Release",
    "Requirement",
    "Run",
    "Safe",
    "Schema",
    "SecretChoice",
    "SkylineReport",
    "Statements",
    "Streamliner",
    "SurveyedNode",
    "Tree",
    "Utility",
    "UtilityReport",
    "Verdict",
    "Verification",
    "__version__",
    "attack",
    "audit",
    "counts_at",
    "disclosure_curves",
    "is_recursively_diverse",
    "k_anonymity",
    "knowledge_skyline",
    "knowledge_skylines",
    "name_people",
    "optimal_discernibility",
    "publish",
    "query_error",
    "query_error_of_groups",
    "same",
    "skyline_report",
    "survey",
    "utility_of",
    "utility_report",
    "verify",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'foreknow' has no attribute {name!r}")
    found = getattr(import_module(f"foreknow.{_HOME[name]}"), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return __all__
