"""Foreknow: audit and publish tables about people against adversaries who already know something.

Data flows one way: a frame is *counted*, counts are *judged*, judgements are *shown*.

=====================  ==========================================================================
`Release`              a published table; its counts are made where the data lives
`GroupCounts`          groups x sensitive values, sparse: what nearly every adversary needs
`Facts`                an adversary, with `disclosure`, `disclosures`, `monotone` and `ledger`
`Priors`               an adversary who knows how likely values are for people of each kind
`Learned`              an adversary who learns that from the release itself: an estimate
`Algorithm`            an adversary who can run the method that made the release
`Statements`           an adversary who knows these very things about these very people
`Policy`               requirements: values, adversary, limit; read from TOML or made in Python
`audit`                release x policy -> verdicts, each with its witness
`skyline_report`       release x confidence -> the most knowledge that it withstands
`Microdata`, `Schema`  the raw table and the roles of its columns
`Mondrian`             a method that groups rows as far as the policy allows
`Decoy`                the same for adversaries who know the method
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
    from foreknow.adversaries.algorithm import Algorithm, Attack, attack
    from foreknow.adversaries.disclosure import Disclosure
    from foreknow.adversaries.facts.facts import Facts
    from foreknow.adversaries.facts.skyline import knowledge_skyline, knowledge_skylines
    from foreknow.adversaries.implications.implications import Implications, Negations
    from foreknow.adversaries.learned.learned import Guesses, Learned
    from foreknow.adversaries.priors.priors import Priors
    from foreknow.adversaries.priors.table import PriorTable
    from foreknow.adversaries.statements import Has, Posterior, Statements, same
    from foreknow.auditing.audit import Audit, Verdict, audit
    from foreknow.auditing.curves import DisclosureCurves, disclosure_curves
    from foreknow.auditing.learning import LearnedReport, learned_report
    from foreknow.auditing.named_people import NamedWitness, name_people
    from foreknow.auditing.risk import RiskReport, risk_report
    from foreknow.auditing.scope import Scope
    from foreknow.auditing.skyline import SkylineReport, skyline, skyline_report
    from foreknow.auditing.survey import LatticeSurvey, SurveyedNode, survey
    from foreknow.comparison import Candidate, Comparison, compare
    from foreknow.criteria.diversity import AlphaK, LDiversity
    from foreknow.criteria.likeness import BetaLikeness, DeltaDisclosure, TCloseness
    from foreknow.criteria.population import DeltaPresence, KMap
    from foreknow.criteria.properties import (
        All,
        Distinct,
        Each,
        Entropy,
        KAnonymity,
        MaxRatio,
        Recursive,
        is_recursively_diverse,
        k_anonymity,
    )
    from foreknow.data.counts import GroupCounts
    from foreknow.data.hierarchy import DateLevels, Intervals, Mask, Ordered, Tree
    from foreknow.data.microdata import Microdata
    from foreknow.data.reading import Reading
    from foreknow.data.release import Release
    from foreknow.data.schema import Schema
    from foreknow.engine import limit_memory
    from foreknow.errors import ForeknowError, InputError, NoSafeRelease
    from foreknow.evidence import EvidenceReport, evidence_report
    from foreknow.inference import InferenceAttack, inference_attack
    from foreknow.methods.anatomy import Anatomy
    from foreknow.methods.art import ART, Limit
    from foreknow.methods.decoy.decoy import Decoy
    from foreknow.methods.fulldomain.fulldomain import FullDomain
    from foreknow.methods.fulldomain.lattice import LatticeResult
    from foreknow.methods.fulldomain.rollup import counts_at
    from foreknow.methods.jump import Jump, Naive, Safe
    from foreknow.methods.jump.disclosure_set import BeyondReach
    from foreknow.methods.jump.estimate import EstimatedSet
    from foreknow.methods.jump.run import DisclosureSet, Run
    from foreknow.methods.jump.secret import SecretChoice
    from foreknow.methods.mondrian.mondrian import Mondrian
    from foreknow.methods.proof import Proof
    from foreknow.methods.protocol import Traits
    from foreknow.methods.streamliner import Streamliner
    from foreknow.policy.policy import Policy, PublishOptions
    from foreknow.policy.requirement import Requirement
    from foreknow.policy.suggestion import ColumnSuggestion, PolicySuggestion, suggest_policy
    from foreknow.publishing.certificate import Certificate
    from foreknow.publishing.members import named_release
    from foreknow.publishing.publish import Publication, publish
    from foreknow.publishing.verification import Verification, verify
    from foreknow.utility.query_error import QueryError, query_error, query_error_of_groups
    from foreknow.utility.report import UtilityReport, utility_report
    from foreknow.utility.utility import Utility, optimal_discernibility, utility_of

# Where each public name lives; a room is entered when one of its names is first asked for.
_ROOMS = {
    "adversaries.algorithm": ["Algorithm", "Attack", "attack"],
    "adversaries.disclosure": ["Disclosure"],
    "adversaries.facts.facts": ["Facts"],
    "adversaries.facts.skyline": ["knowledge_skyline", "knowledge_skylines"],
    "adversaries.implications.implications": ["Implications", "Negations"],
    "adversaries.learned.learned": ["Guesses", "Learned"],
    "adversaries.priors.priors": ["Priors"],
    "adversaries.priors.table": ["PriorTable"],
    "adversaries.statements": ["Has", "Posterior", "Statements", "same"],
    "auditing.audit": ["Audit", "Verdict", "audit"],
    "auditing.curves": ["DisclosureCurves", "disclosure_curves"],
    "auditing.learning": ["LearnedReport", "learned_report"],
    "auditing.named_people": ["NamedWitness", "name_people"],
    "auditing.risk": ["RiskReport", "risk_report"],
    "auditing.scope": ["Scope"],
    "auditing.skyline": ["SkylineReport", "skyline", "skyline_report"],
    "auditing.survey": ["LatticeSurvey", "SurveyedNode", "survey"],
    "comparison": ["Candidate", "Comparison", "compare"],
    "criteria.diversity": ["AlphaK", "LDiversity"],
    "criteria.likeness": ["BetaLikeness", "DeltaDisclosure", "TCloseness"],
    "criteria.population": ["DeltaPresence", "KMap"],
    "criteria.properties": [
        "All",
        "Distinct",
        "Each",
        "Entropy",
        "KAnonymity",
        "MaxRatio",
        "Recursive",
        "is_recursively_diverse",
        "k_anonymity",
    ],
    "data.counts": ["GroupCounts"],
    "data.hierarchy": ["DateLevels", "Intervals", "Mask", "Ordered", "Tree"],
    "data.microdata": ["Microdata"],
    "data.reading": ["Reading"],
    "data.release": ["Release"],
    "data.schema": ["Schema"],
    "engine": ["limit_memory"],
    "evidence": ["EvidenceReport", "evidence_report"],
    "inference": ["InferenceAttack", "inference_attack"],
    "errors": ["ForeknowError", "InputError", "NoSafeRelease"],
    "methods.anatomy": ["Anatomy"],
    "methods.art": ["ART", "Limit"],
    "methods.decoy.decoy": ["Decoy"],
    "methods.fulldomain.fulldomain": ["FullDomain"],
    "methods.fulldomain.rollup": ["counts_at"],
    "methods.fulldomain.lattice": ["LatticeResult"],
    "methods.jump": ["Jump", "Naive", "Safe"],
    "methods.jump.disclosure_set": ["BeyondReach"],
    "methods.jump.run": ["DisclosureSet", "Run"],
    "methods.jump.estimate": ["EstimatedSet"],
    "methods.jump.secret": ["SecretChoice"],
    "methods.mondrian.mondrian": ["Mondrian"],
    "methods.proof": ["Proof"],
    "methods.protocol": ["Traits"],
    "methods.streamliner": ["Streamliner"],
    "policy.policy": ["Policy", "PublishOptions"],
    "policy.requirement": ["Requirement"],
    "policy.suggestion": ["ColumnSuggestion", "PolicySuggestion", "suggest_policy"],
    "publishing.certificate": ["Certificate"],
    "publishing.members": ["named_release"],
    "publishing.publish": ["Publication", "publish"],
    "publishing.verification": ["Verification", "verify"],
    "utility.query_error": ["QueryError", "query_error", "query_error_of_groups"],
    "utility.report": ["UtilityReport", "utility_report"],
    "utility.utility": ["Utility", "optimal_discernibility", "utility_of"],
}
_HOME = {name: room for room, names in _ROOMS.items() for name in names}

__all__ = [
    "ART",
    "Algorithm",
    "All",
    "AlphaK",
    "Anatomy",
    "Attack",
    "Audit",
    "BetaLikeness",
    "BeyondReach",
    "Candidate",
    "Certificate",
    "ColumnSuggestion",
    "Comparison",
    "DateLevels",
    "Decoy",
    "DeltaDisclosure",
    "DeltaPresence",
    "Disclosure",
    "DisclosureCurves",
    "DisclosureSet",
    "Distinct",
    "Each",
    "Entropy",
    "EstimatedSet",
    "EvidenceReport",
    "Facts",
    "ForeknowError",
    "FullDomain",
    "GroupCounts",
    "Guesses",
    "Has",
    "Implications",
    "InferenceAttack",
    "InputError",
    "Intervals",
    "Jump",
    "KAnonymity",
    "KMap",
    "LDiversity",
    "LatticeResult",
    "LatticeSurvey",
    "Learned",
    "LearnedReport",
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
    "PolicySuggestion",
    "Posterior",
    "PriorTable",
    "Priors",
    "Proof",
    "Publication",
    "PublishOptions",
    "QueryError",
    "Reading",
    "Recursive",
    "Release",
    "Requirement",
    "RiskReport",
    "Run",
    "Safe",
    "Schema",
    "Scope",
    "SecretChoice",
    "SkylineReport",
    "Statements",
    "Streamliner",
    "SurveyedNode",
    "TCloseness",
    "Traits",
    "Tree",
    "Utility",
    "UtilityReport",
    "Verdict",
    "Verification",
    "__version__",
    "attack",
    "audit",
    "compare",
    "counts_at",
    "disclosure_curves",
    "evidence_report",
    "inference_attack",
    "is_recursively_diverse",
    "k_anonymity",
    "knowledge_skyline",
    "knowledge_skylines",
    "learned_report",
    "limit_memory",
    "name_people",
    "named_release",
    "optimal_discernibility",
    "publish",
    "query_error",
    "query_error_of_groups",
    "risk_report",
    "same",
    "skyline",
    "skyline_report",
    "suggest_policy",
    "survey",
    "utility_of",
    "utility_report",
    "verify",
]


# What people look for under another name, and what to type.
_INSTEAD = {
    "Table DataFrame read read_csv read_parquet read_excel from_pandas load open": "a table is "
    'given as it is, a path or a frame: fk.audit("table.csv", "policy.toml")',
    "anonymize anonymise deidentify make release": "fk.publish(table, policy)",
    "check judge evaluate assess test": "fk.audit(release, policy)",
    "load_policy read_policy": 'fk.Policy("policy.toml")',
    "init profile suggest infer_schema first_policy": "fk.suggest_policy(table)",
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        said = f"module 'foreknow' has no attribute {name!r}"
        if name.startswith("__"):
            raise AttributeError(said)
        from foreknow.errors import did_you_mean

        instead = next((do for names, do in _INSTEAD.items() if name in names.split()), None)
        near = did_you_mean(name, __all__)
        hint = f"; {instead}" if instead else near if "did you" in near else "; see dir(foreknow)"
        raise AttributeError(f"{said}{hint}")
    found = getattr(import_module(f"foreknow.{_HOME[name]}"), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return __all__
