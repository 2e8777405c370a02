# The public names, one a line: for type checkers and editors, and for `__init__.py`, which loads
# each when it is first used.

from foreknow.adversaries.disclosure import Disclosure as Disclosure
from foreknow.adversaries.facts.facts import Facts as Facts
from foreknow.adversaries.implications.implications import Implications as Implications
from foreknow.adversaries.implications.implications import Negations as Negations
from foreknow.adversaries.priors.priors import Priors as Priors
from foreknow.adversaries.priors.table import PriorTable as PriorTable
from foreknow.auditing.audit import Audit as Audit
from foreknow.auditing.audit import audit as audit
from foreknow.auditing.trial import Trial as Trial
from foreknow.certificates import Certificate as Certificate
from foreknow.criteria.closeness import BetaLikeness as BetaLikeness
from foreknow.criteria.closeness import DeltaDisclosure as DeltaDisclosure
from foreknow.criteria.closeness import TCloseness as TCloseness
from foreknow.criteria.diversity import AlphaK as AlphaK
from foreknow.criteria.diversity import LDiversity as LDiversity
from foreknow.criteria.diversity import is_recursively_diverse as is_recursively_diverse
from foreknow.criteria.levels import Levels as Levels
from foreknow.criteria.measures import alpha_k_anonymity as alpha_k_anonymity
from foreknow.criteria.measures import basic_beta_likeness as basic_beta_likeness
from foreknow.criteria.measures import beta_likeness as beta_likeness
from foreknow.criteria.measures import delta_disclosure as delta_disclosure
from foreknow.criteria.measures import enhanced_beta_likeness as enhanced_beta_likeness
from foreknow.criteria.measures import entropy_l_diversity as entropy_l_diversity
from foreknow.criteria.measures import is_k_anonymous as is_k_anonymous
from foreknow.criteria.measures import k_anonymity as k_anonymity
from foreknow.criteria.measures import l_diversity as l_diversity
from foreknow.criteria.measures import t_closeness as t_closeness
from foreknow.criteria.risk import Risk as Risk
from foreknow.criteria.size import GroupSize as GroupSize
from foreknow.criteria.size import KAnonymity as KAnonymity
from foreknow.data.columns.hierarchy import DateLevels as DateLevels
from foreknow.data.columns.hierarchy import Intervals as Intervals
from foreknow.data.columns.hierarchy import Mask as Mask
from foreknow.data.columns.hierarchy import Ordered as Ordered
from foreknow.data.columns.hierarchy import Tree as Tree
from foreknow.data.columns.reading_rules import Reading as Reading
from foreknow.data.counts import GroupCounts as GroupCounts
from foreknow.data.microdata import Microdata as Microdata
from foreknow.data.release import Release as Release
from foreknow.data.schema import Schema as Schema
from foreknow.data.tables.formats.databases import limit_memory as limit_memory
from foreknow.data.tables.formats.frames import read_table as read_table
from foreknow.data.utility import Utility as Utility
from foreknow.data.utility import optimal_discernibility as optimal_discernibility
from foreknow.data.utility import utility_of as utility_of
from foreknow.errors import BeyondReach as BeyondReach
from foreknow.errors import NoSafeRelease as NoSafeRelease
from foreknow.errors import NotSettled as NotSettled
from foreknow.features.attacks.algorithm import Algorithm as Algorithm
from foreknow.features.attacks.algorithm import attack as attack
from foreknow.features.attacks.results import Attack as Attack
from foreknow.features.comparison.comparison import Candidate as Candidate
from foreknow.features.comparison.comparison import Comparison as Comparison
from foreknow.features.comparison.comparison import compare as compare
from foreknow.features.evidence.evidence import EvidenceReport as EvidenceReport
from foreknow.features.evidence.evidence import evidence_report as evidence_report
from foreknow.features.exports.export import export as export
from foreknow.features.learned_attacks.learned import Learned as Learned
from foreknow.features.learned_attacks.measured_guesses import learned_report as learned_report
from foreknow.features.more_methods.art import ART as ART
from foreknow.features.more_methods.art import Limit as Limit
from foreknow.features.more_methods.decoy.decoy import Decoy as Decoy
from foreknow.features.more_methods.jump import Jump as Jump
from foreknow.features.more_methods.jump import Naive as Naive
from foreknow.features.more_methods.jump import Safe as Safe
from foreknow.features.more_methods.jump import SecretChoice as SecretChoice
from foreknow.features.more_methods.jump.properties import All as All
from foreknow.features.more_methods.jump.properties import Distinct as Distinct
from foreknow.features.more_methods.jump.properties import Each as Each
from foreknow.features.more_methods.jump.properties import Entropy as Entropy
from foreknow.features.more_methods.jump.properties import MaxRatio as MaxRatio
from foreknow.features.more_methods.jump.properties import Recursive as Recursive
from foreknow.features.more_methods.jump.run import DisclosureSet as DisclosureSet
from foreknow.features.more_methods.jump.run import Run as Run
from foreknow.features.more_methods.streamliner import Streamliner as Streamliner
from foreknow.features.risk.criteria import DeltaPresence as DeltaPresence
from foreknow.features.risk.criteria import KMap as KMap
from foreknow.features.risk.criteria import PopulationRisk as PopulationRisk
from foreknow.features.risk.risk import RiskReport as RiskReport
from foreknow.features.risk.risk import risk_report as risk_report
from foreknow.features.several_releases.joint import Unsettled as Unsettled
from foreknow.features.several_releases.joint import together as together
from foreknow.features.skylines.curves import DisclosureCurves as DisclosureCurves
from foreknow.features.skylines.curves import disclosure_curves as disclosure_curves
from foreknow.features.skylines.knowledge_skyline import knowledge_skyline as knowledge_skyline
from foreknow.features.skylines.knowledge_skyline import knowledge_skylines as knowledge_skylines
from foreknow.features.skylines.named_people import NamedWitness as NamedWitness
from foreknow.features.skylines.named_people import name_people as name_people
from foreknow.features.skylines.skyline import SkylineReport as SkylineReport
from foreknow.features.skylines.skyline import skyline as skyline
from foreknow.features.skylines.skyline import skyline_report as skyline_report
from foreknow.features.skylines.survey import LatticeSurvey as LatticeSurvey
from foreknow.features.skylines.survey import SurveyedNode as SurveyedNode
from foreknow.features.skylines.survey import survey as survey
from foreknow.features.statements.formulas import Has as Has
from foreknow.features.statements.formulas import same as same
from foreknow.features.statements.posterior import Posterior as Posterior
from foreknow.features.statements.statements import Statements as Statements
from foreknow.features.utility.query_error import QueryError as QueryError
from foreknow.features.utility.query_error import query_error as query_error
from foreknow.features.utility.query_error import query_error_of_groups as query_error_of_groups
from foreknow.features.utility.report import UtilityReport as UtilityReport
from foreknow.features.utility.report import utility_report as utility_report
from foreknow.methods.anatomy import Anatomy as Anatomy
from foreknow.methods.fulldomain.fulldomain import FullDomain as FullDomain
from foreknow.methods.fulldomain.lattice import LatticeResult as LatticeResult
from foreknow.methods.fulldomain.rollup import counts_at as counts_at
from foreknow.methods.mondrian.mondrian import Mondrian as Mondrian
from foreknow.methods.proof import Proof as Proof
from foreknow.methods.protocol import Traits as Traits
from foreknow.planning.suggestion.columns import ColumnSuggestion as ColumnSuggestion
from foreknow.planning.suggestion.policy import PolicySuggestion as PolicySuggestion
from foreknow.planning.suggestion.policy import suggest_policy as suggest_policy
from foreknow.policy.options import PublishOptions as PublishOptions
from foreknow.policy.policy import Policy as Policy
from foreknow.policy.requirement import Requirement as Requirement
from foreknow.policy.trials import Try as Try
from foreknow.publishing.flat_table import draw as draw
from foreknow.publishing.flat_table import read_release as read_release
from foreknow.publishing.publish import Publication as Publication
from foreknow.publishing.publish import publish as publish
from foreknow.publishing.verification import Verification as Verification
from foreknow.publishing.verification import verify as verify
from foreknow.written_releases.members import forget as forget
from foreknow.written_releases.members import named_release as named_release
from foreknow_judge._version import __version__ as __version__
from foreknow_judge.errors import ForeknowError as ForeknowError
from foreknow_judge.errors import InputError as InputError
from foreknow_judge.remarks.scope import Scope as Scope
from foreknow_judge.verdict import Verdict as Verdict

# The same by the names of the commands, and by names from elsewhere.
anonymize = publish
check = audit
describe = suggest_policy
first_policy = suggest_policy
infer_schema = suggest_policy
load_policy = Policy
profile = suggest_policy
read_policy = Policy
suggest = suggest_policy
curves = disclosure_curves
evidence = evidence_report
init = suggest_policy
learned = learned_report
read = read_release
read_csv = read_table
read_excel = read_table
read_parquet = read_table
risk = risk_report
utility = utility_report
