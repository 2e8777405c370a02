"""Results that tests of the report show, pages as a browser reads them, and snapshots.

A snapshot is what was said before, in a plain file, to be read when it changes. Run the tests with
FOREKNOW_SNAPSHOTS=write to write them anew, and read the difference.
"""

import io
import os
import re
from dataclasses import dataclass, replace
from fractions import Fraction
from html.parser import HTMLParser
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
from rich.console import Console

import foreknow as fk
from foreknow import Disclosure, Facts, GroupCounts, Policy, Requirement, Schema, audit, sample
from foreknow.adversaries.facts.facts import FactsWitness
from foreknow.adversaries.release_counts import counts_of
from foreknow.needs import Need
from foreknow.policy.explanation import Explanation
from foreknow.report.blocks import all_made
from foreknow.report.values import block_values
from foreknow_judge.remarks.explanations import unjudged

BAGS = [
    {"Flu": 6, "AIDS": 2, "Cancer": 3, "Asthma": 4},
    {"Flu": 9, "AIDS": 1, "Cancer": 5, "Gout": 5},
    {"Asthma": 7, "Flu": 4, "Gout": 2},
]


def small(safe=True, groups=(16, 17, 18)):
    """An audit of three groups; the first of two requirements fails unless `safe`."""
    counts = GroupCounts.from_bags(BAGS, groups=list(groups))
    strict = Requirement(Facts(1, 3, 1), below="0.9" if safe else "0.3", values=["AIDS"])
    loose = Requirement(Facts(0, 1, 0), below="0.99")
    schema = Schema(
        quasi_identifiers=["age", "zip"],
        sensitive="diagnosis",
        identifiers=["name"],
        hierarchies={"zip": {"mask": 5}, "age": {"intervals": [5, 10]}},
    )
    return audit(counts, Policy([strict, loose], schema), name="three.csv")


EVIL = (
    "<script>alert(1)</script>",
    "</script><script>alert(2)</script>",
    '"><img src=http://evil.example/x onerror=alert(3)>',
    "<a href='http://evil.example'>click</a><b>bold</b>",
    "[red]red[/red] {{ 7 * 7 }} %{x} ${1+1}\u202e\x1b[31m\ud800",
    "]]>--><!--\u2028&lt;</style></title></textarea><![CDATA[<i>' onmouseover='alert(4)",
)


def evil():
    """An audit of which every label is an attack."""
    one, two, three, four, five, six = EVIL
    counts = GroupCounts.from_bags(
        [{one: 2, two: 5, three: 4, four: 6, five: 3, six: 3}, {one: 3, five: 9, six: 9}],
        groups=[(three, one), (two, four)],
    )
    schema = Schema(quasi_identifiers=[one, two], sensitive=four, identifiers=[three], other=[six])
    requirements = [
        Requirement(Facts(1, 2, 1), below="0.1", values=[value], name=value) for value in EVIL
    ]
    return audit(counts, Policy(requirements, schema), name=one)


@dataclass(frozen=True)
class Oracle:
    """A kind of adversary that the report knows nothing of."""

    amount: int = 3
    needs: ClassVar[Any] = frozenset({Need.FINISHED, Need.ABSOLUTE})
    speaks: ClassVar[None] = None

    def disclosure(self, counts, value=None):
        raise AssertionError("the report asks about every value at once")

    def chances(self, counts):
        return None

    def monotone(self, semantics="single"):
        return False

    def disclosures(self, release):
        return {value: Disclosure(value, 0.625) for value in counts_of(release).values}

    def to_dict(self):
        return {"oracle": {"amount": self.amount}}


def verdict_of(exact, limit="0.5", ruled_out=(), known=0, family=0, group=17):
    """A verdict with these numbers and this witness, as an audit would give it."""
    exact, value = Fraction(exact), "AIDS"
    witness = FactsWitness(
        value=value,
        target_group=group,
        ruled_out=tuple(ruled_out),
        known_group=group if known else None,
        known={"Flu": known} if known else {},
        family_group=group if family else None,
        family=family,
        target_position=0,
        known_position=0 if known else None,
        family_position=0 if family else None,
    )
    facts = Facts(len(ruled_out), known, family)
    requirement = Requirement(facts, below=limit, values=[value])
    disclosure = Disclosure(value, float(exact), lambda: exact, lambda: witness)
    own = requirement.points[0].limit
    return unjudged(Explanation(0, requirement, facts, own, disclosure, safe=disclosure.keeps(own)))


# ---- several values of a person -----------------------------------------------------------------

WARD = [*[{"Flu"}] * 6, *[{"AIDS", "Flu"}] * 2, *[{"Gout"}] * 3, *[set()] * 2]
CLINIC = [*[{"Flu", "Gout"}] * 5, {"AIDS"}, *[{"Cold"}] * 9]


def register(semantics="set", schema=True):
    """An audit of two groups, of whose two requirements the first fails."""
    counts = GroupCounts.from_people([WARD, CLINIC], semantics=semantics, groups=["w", "c"])
    roles = Schema(
        quasi_identifiers=["age"], sensitive="diagnosis", semantics=semantics, person="p"
    )
    strict = Requirement(Facts(1, 3, 1), below="0.3", values=["AIDS"])
    loose = Requirement(Facts(0, 1, 0), below=1)
    return audit(counts, Policy([strict, loose], roles if schema else None), name="register.csv")


# ---- skylines -----------------------------------------------------------------------------------

# Of such groups the worst points in section 7.3 of "Privacy Skyline" come.
BAG = ["Boss", "Boss", "Clerk", "Cook", "Farmer", "Nurse", "Smith"]


def case_study(confidence="0.95"):
    """Seven points of one value."""
    counts = GroupCounts.from_bags([BAG])
    return fk.skyline_report(counts, ["Boss"], confidence=confidence, name="x.csv", sensitive="job")


def skyline(counts, *values, confidence="0.5"):
    return fk.skyline_report(counts, values, confidence=confidence, sensitive="diagnosis")


def three_values():
    """Three values, one of which withstands nothing."""
    counts = GroupCounts.from_bags([{"AIDS": 1, "Flu": 8, "Cold": 2, "Gout": 3}])
    return skyline(counts, "AIDS", "Flu", "Gout")


def many_points():
    """Hundreds of points of one value."""
    return skyline(
        GroupCounts.from_bags([{"AIDS": 3, **{f"v{i}": 30 + i for i in range(5)}}]), "AIDS"
    )


def of_sets():
    """One value of people who may have several."""
    people = [[{"AIDS", "Flu"}, {"Flu"}, {"Gout"}, set(), {"Flu"}, set()]]
    return skyline(GroupCounts.from_people(people), "AIDS", confidence="0.6")


def evil_skyline():
    """A report of which every label is an attack."""
    counts = GroupCounts.from_bags([{value: i + 2 for i, value in enumerate(EVIL)}])
    return fk.skyline_report(counts, confidence="0.9", name=EVIL[0], sensitive=EVIL[3])


# ---- each kind of result ------------------------------------------------------------------------


def raw(rows=300, names=("age", "zip"), sensitive="disease", values=None):
    """A table with hierarchies."""
    draw = np.random.default_rng(1)
    values = values or [f"d{i}" for i in range(5)]
    data = {name: pa.array(draw.integers(0, 40, rows)) for name in names}
    data[sensitive] = pa.array([values[i] for i in draw.integers(0, len(values), rows)])
    hierarchies = {name: fk.Intervals([5, 10, 20]) for name in names}
    schema = fk.Schema(quasi_identifiers=list(names), sensitive=sensitive, hierarchies=hierarchies)
    return fk.Microdata(pa.table(data), schema)


def evil_raw():
    """A table of which every name and value is an attack, though Arrow takes no half characters."""
    values = [value.replace("\ud800", "") for value in EVIL]
    return raw(60, values[:2], values[3], values)


LIMIT = fk.Policy([fk.Requirement(fk.Facts(l=1), "0.7")])
LOOSE = fk.Policy([fk.Requirement(fk.Facts(), 1)])


def named_witness(label="Tom"):
    """A worst case by name."""
    known = (("Ed", label),)
    return fk.NamedWitness(label, "AIDS", 0.5, Fraction(1, 2), (label,), known, (label,), "single")


def utility(microdata, name):
    """What one group of everybody is worth."""
    publication = fk.publish(microdata, LOOSE, method="mondrian", seed=1)
    report = fk.utility_report(publication, microdata, queries=20, seed=1)
    return fk.UtilityReport(name, report.form, report.utility, report.errors)


def curves(label=None, groups=(16, 17, 18), bags=BAGS, name="three.csv", noun="diagnosis"):
    """Disclosure curves."""
    counts = GroupCounts.from_bags(bags, groups=list(groups))
    return fk.disclosure_curves(counts, 5, label, name=name, sensitive=noun)


def evil_curves():
    """Curves of which every label is an attack."""
    bags = [dict.fromkeys(EVIL, 2), {EVIL[0]: 3, EVIL[1]: 1}]
    return curves(EVIL[0], EVIL[:2], bags, EVIL[1], EVIL[2])


def attacked(name="age", sensitive="disease", values=("Flu", "Cold")):
    """What a method discloses that splits a table only if its first person has the rare value."""
    rare, common = values
    table = pa.table({name: [1, 2, 3, 4], sensitive: [common] * 3 + [rare]})
    microdata = fk.Microdata(table, fk.Schema(quasi_identifiers=[name], sensitive=sensitive))

    def splits(table):
        first = table.column(sensitive)[0].as_py()
        return [0, 0, 1, 1] if first == rare else [0, 0, 0, 0]

    return fk.attack(microdata, splits, fk.Policy([fk.Requirement(fk.Facts(), "0.9")]))


def learned(name="job", sensitive="disease", values=("Flu", "Cold"), called="small.csv"):
    """What can be learned of people whose value goes with what is known of them."""
    values = [value.replace("\ud800", "") for value in values]
    table = pa.table(
        {
            name: [values[row % 2] for row in range(60)],
            "group": [row // 6 for row in range(60)],
            sensitive: [values[row % 2 if row % 5 else 0] for row in range(60)],
        }
    )
    release = fk.Release.from_groups(table, group="group", sensitive=sensitive)
    return fk.learned_report(release, [name], limit="1/2", name=called)


def evidenced():
    """Evidence of the sample, with the table that it was made of."""
    with TemporaryDirectory() as place:
        fk.publish(sample.table_path(), sample.policy_path(), seed=1).write(f"{place}/out")
        rules = sample.policy_path()
        found = fk.evidence_report(f"{place}/out", sample.table_path(), rules, queries=20)
    # The key of the source's digest is another each time, and so may versions be.
    source = {**found.certificate.source, "digest": "0" * 64}
    report = found.certificate.report and "2" * 64
    known = replace(found.certificate, source=source, versions={"foreknow": "1"}, report=report)
    known = replace(known, code_book=known.code_book and "3" * 64)
    return replace(found, digest="1" * 64, certificate=known)


def evil_verification():
    """A verification of which every label is an attack."""
    one, two, _, four, _, six = EVIL
    return fk.Verification((six,), 44, 2, (one, two), four, (six,), (), (), sensitives=(four,))


def evil_evidence():
    """Evidence of which every label is an attack."""
    one, two, three, four, five, six = EVIL
    result = evil()
    certificate = fk.Certificate(
        policy={"schema": result.policy.schema.to_dict()},
        form="generalized",
        format="csv",
        groups=(one, two),
        sensitive=four,
        people=44,
        n_groups=2,
        method={"name": one, five: two},
        findings=(),
        source={"rows": 44, "digest": three, "digest_kind": six},
        seeded=True,
        notes=(five,),
        files={six: one},
        grids={one: two},
        versions={two: three},
    )
    verification = evil_verification()
    worth = utility(evil_raw(), EVIL[2])
    return fk.EvidenceReport(one, certificate, two, True, verification, result, result, worth, True)


# By the name in PAGES: an ordinary result, and one of hostile labels.
def risk(columns=("age", "sex", "zip"), odd="x", name="small.csv"):
    """A risk report with estimates, of which the people of the highest scores are listed."""
    draw = np.random.default_rng(3)
    table = pa.table(
        {
            columns[0]: [*map(str, draw.integers(20, 40, 80)), odd, None],
            columns[1]: draw.choice(["f", "m"], 82),
            columns[2]: [*map(str, draw.integers(1, 9, 80)), "7", odd],
            "illness": ["Flu"] * 82,
        }
    )
    return fk.risk_report(
        table, quasi_identifiers=list(columns), sampling_fraction="1/5", name=name
    )


def evil_risk():
    """A risk report whose columns, values and table are attacks."""
    columns = [text.encode("utf-8", "replace").decode() for text in (EVIL[0], EVIL[2], EVIL[5])]
    return risk(columns, EVIL[3], EVIL[1])


def compared(microdata, policy=LIMIT):
    """Methods at two limits; one refuses. How long it took is another time each time."""
    limits = ["0.7", "0.9"] if policy is LIMIT else ["1"]
    how = {"methods": ["mondrian", "art"], "limits": limits, "queries": 20, "processes": 0}
    comparison = fk.compare(microdata, policy, **how)
    each = tuple(
        replace(candidate, seconds=candidate.seconds and 1.0) for candidate in comparison.candidates
    )
    return replace(comparison, candidates=each, name=microdata.schema.sensitive)


RESULTS = {
    "Audit": (lambda: small(safe=False), evil),
    "Attack": (attacked, lambda: attacked(EVIL[0], EVIL[1], EVIL[2:4])),
    "Comparison": (lambda: compared(raw()), lambda: compared(evil_raw(), LOOSE)),
    "DisclosureCurves": (curves, evil_curves),
    "EvidenceReport": (evidenced, evil_evidence),
    "Verification": (lambda: evidenced().verification, evil_verification),
    "Trial": (
        learned,
        lambda: learned(EVIL[0], EVIL[1], EVIL[2:5], EVIL[2]),
    ),
    "LatticeResult": (
        lambda: fk.FullDomain(suppression=0.1).search(raw(), LIMIT, explain=True),
        lambda: fk.FullDomain().search(evil_raw(), LOOSE, explain=True),
    ),
    "LatticeSurvey": (
        lambda: fk.survey(raw(), [1, 2], name="small.csv"),
        lambda: fk.survey(evil_raw(), [1], name=EVIL[2]),
    ),
    "NamedWitness": (named_witness, lambda: named_witness(EVIL[4])),
    "RiskReport": (risk, evil_risk),
    "SkylineReport": (three_values, evil_skyline),
    "UtilityReport": (
        lambda: utility(raw(), "small.csv"),
        lambda: utility(evil_raw(), EVIL[2]),
    ),
}


# ---- pages as a browser would read them, and terminals as people do ----------------------------

VOID = {"meta", "br", "img", "link", "input", "hr", "base"}


class Reader(HTMLParser):
    """Elements with their attributes, scripts, and the text outside of scripts and styles."""

    def __init__(self, text):
        super().__init__()
        self.elements, self.scripts, self.words, self.open = [], [], [], []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag == "script":
            self.scripts.append("")
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] == "script":
            self.scripts[-1] += data
        elif self.open and self.open[-1] != "style":
            self.words.append(data)

    @property
    def text(self):
        return re.sub(r"\s+", " ", " ".join(self.words))


def printed(shown, width=80, **options):
    """What a terminal shows."""
    stream = io.StringIO()
    Console(file=stream, width=width, **options).print(shown)
    return stream.getvalue()


def words(shown, width=80):
    """The same as one line."""
    return " ".join(printed(shown, width).split())


# snapshots: what was said before, in plain files beside the tests, to be read when it changes.
# Run the tests with FOREKNOW_SNAPSHOTS=write to write them anew, and read the difference.

FOLDER = Path(__file__).with_name("snapshots")


def assert_as_before(name, lines):
    """Compare lines with those of a file."""
    path, text = FOLDER / f"{name}.txt", "\n".join(lines) + "\n"
    if os.environ.get("FOREKNOW_SNAPSHOTS") == "write":
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8"), (
        f"not as in {path.name}: if it shall be so, run FOREKNOW_SNAPSHOTS=write pytest "
        "tests/report/test_pages.py, and read the difference"
    )


def page_lines(page):
    """A page as lines: a block or row each; those for a glance, too, begin with a bar."""
    yield f"{page.eyebrow} {page.name}: {page.headline} [{page.mood}]"
    yield from (page.said(page.scope), *(f"* {note}" for note in page.said(page.notes)))
    yield from (f"* assumed: {said}" for said in page.said(list(page.assumed)))
    for block in page.said(list(all_made(page.blocks()))):
        yield from _lines(block)
    yield f"{page.promise} ({'may be published' if page.kept is None else page.kept})"


def _lines(block):
    (own,) = block_values([block])
    glance = " " if block.whole else "|"
    match own["kind"]:
        case "heading":
            word = own["word"] and own["word"]["text"]
            yield f"\n{glance} {'#' * own['level']} {own['text']} {word or ''}".rstrip()
        case "sentence":
            yield f"{glance} {own['text']} {own['mood'] and '[' + own['mood'] + ']'}".rstrip()
        case "items":
            yield from (f"{glance} - {text}" for text in own["texts"])
        case "pairs":
            yield from (f"{glance} {name}: {said}" for name, said in own["rows"])
        case "table":
            for row in (own["head"], *own["rows"]):
                yield f"{glance} {' ; '.join(map(_cell, row))}"
            yield from [f"{glance} {own['note']}"] if own["note"] else []
        case "figure":
            yield f"{glance} figure {own['id']}: {own['title']}. {own['caption']}"
        case "folded":
            yield f"{glance} folded: {own['title']}"
            for each in block.blocks:
                yield from _lines(each)


def _cell(cell):
    if isinstance(cell, str):
        return cell
    return " / ".join(part for part in (cell["text"], cell["below"], cell["mood"]) if part)
