"""Pages: one file for each kind of result, and the list of them.

To add one: write a file with a `Page`, bind it to the name PAGE, and add a line here.
"""

# The type of a result, and the file of its page.
PAGES: tuple[tuple[str, str], ...] = (
    ("Audit", "foreknow.report.pages.audit"),
    ("Attack", "foreknow.report.pages.attack"),
    ("Comparison", "foreknow.report.pages.comparison"),
    ("DisclosureCurves", "foreknow.report.pages.curves"),
    ("Trial", "foreknow.report.pages.trial"),
    ("EvidenceReport", "foreknow.report.pages.evidence"),
    ("LatticeResult", "foreknow.report.pages.lattice"),
    ("LatticeSurvey", "foreknow.report.pages.survey"),
    ("NamedWitness", "foreknow.report.pages.named_people"),
    ("RiskReport", "foreknow.report.pages.risk"),
    ("SkylineReport", "foreknow.report.pages.skyline"),
    ("Verification", "foreknow.report.pages.verification"),
    ("UtilityReport", "foreknow.report.pages.utility"),
)
