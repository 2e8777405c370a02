"""Pages: the page of each result, and the card of what an analysis is given."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from foreknow.errors import InternalError
from foreknow.features import load

if TYPE_CHECKING:
    from foreknow.report.page import Page

# The type of a result, and the class of its page: loaded when it is first shown. To add one, write
# a file with a `Page`, and add a line here. No module imports what shows its results.
PAGES: tuple[tuple[str, str], ...] = (
    ("Audit", "foreknow.report.pages.audit:AuditPage"),
    ("Attack", "foreknow.features.attacks.page:AttackPage"),
    ("Comparison", "foreknow.features.comparison.page:ComparisonPage"),
    ("DisclosureCurves", "foreknow.features.skylines.curves_page:CurvesPage"),
    ("Trial", "foreknow.features.learned_attacks.page:TrialPage"),
    ("EvidenceReport", "foreknow.features.evidence.page:EvidencePage"),
    ("LatticeResult", "foreknow.report.pages.lattice:LatticePage"),
    ("LatticeSurvey", "foreknow.features.skylines.survey_page:SurveyPage"),
    ("NamedWitness", "foreknow.features.skylines.named_people_page:NamedPeoplePage"),
    ("RiskReport", "foreknow.features.risk.page:RiskPage"),
    ("SkylineReport", "foreknow.features.skylines.skyline_page:SkylinePage"),
    ("Verification", "foreknow.report.pages.verification:VerificationPage"),
    ("UtilityReport", "foreknow.features.utility.page:UtilityPage"),
)
# The same of what an analysis is given, which a notebook shows.
CARDS: tuple[tuple[str, str], ...] = (
    ("Policy", "foreknow.report.pages.cards:PolicyCard"),
    ("Requirement", "foreknow.report.pages.cards:RequirementCard"),
    ("Schema", "foreknow.report.pages.cards:SchemaCard"),
    ("Microdata", "foreknow.report.pages.cards:MicrodataCard"),
    ("Utility", "foreknow.report.pages.cards:UtilityCard"),
)


def page_of(result: Any, **options: Any) -> Page[Any]:
    """The page that shows a result, or the card of an object such as a policy, by its type.

    `options` are those of the page. Only the module of this page is loaded.
    """
    # Types are compared by name first, since to compare them would load all modules.
    names = {kind.__name__ for kind in type(result).__mro__}
    for name, address in (*PAGES, *CARDS):
        if name in names:
            page: type[Page[Any]] = load(address)
            if isinstance(result, page.serves):
                return page(result, **options)
    raise InternalError(f"no page of foreknow.report.pages serves {type(result).__name__}")
