"""The page of an audit: sentences, when it says safe; who may see it; people over each limit."""

import csv
import io
import json
import os
import re
import stat
from dataclasses import replace
from fractions import Fraction
from functools import partial

import pyarrow as pa
import pytest
from click.testing import CliRunner
from tests.adversaries.releases import priors_table
from tests.report.results import (
    Oracle,
    Reader,
    assert_as_before,
    evil,
    page_lines,
    register,
    small,
    verdict_of,
    words,
)

import foreknow as fk
from foreknow import Disclosure, Facts, GroupCounts, Policy, Requirement, audit
from foreknow.adversaries.priors import disclosure as priors_judged
from foreknow.cli.entry import app
from foreknow.errors import OutputError
from foreknow.policy.explanation import Explanation
from foreknow.report import render
from foreknow.report.exposed_people import exposed_csv
from foreknow.report.knowledge import describe, share_text
from foreknow.report.pages.audit import (
    AuditPage,
    requirement_title,
    sensitive_noun,
    titled_exposed,
    values_phrase,
    verdict_sentence,
)
from foreknow.report.words import group_text
from foreknow_judge.remarks.explanations import unjudged


def audit_of(bags, *requirements, **more):
    return audit(GroupCounts.from_bags(bags, **more), Policy(list(requirements)))


# ---- sentences ----------------------------------------------------------------------------------

FACTS = [
    {},
    *[{"known": 1}, {"known": 2}, {"family": 1}, {"family": 3}, {"known": 1, "family": 2}],
    *[{"ruled_out": ["Flu"]}, {"ruled_out": ["Flu", "Gout"], "known": 1}],
    *[{"ruled_out": ["Flu"], "family": 2}, {"ruled_out": ["Flu"], "known": 5, "family": 1}],
    {"ruled_out": list("ABCDEFG")},
]
AT_THE_LIMIT = [
    *[("0.5", "0.5"), ("1", "1"), ("2/3", "2/3")],
    *[("0.50000000001", "0.5"), ("0.6211", "0.621"), ("0.9999", "0.5")],
]
ALLOWED = [
    *[(Facts(2, 5, 2), "single"), (Facts(0, 1500, 0), "single")],
    *[(Facts(1, 0, 0), "set"), (Facts(0, 1, 0), "set")],
    *[(fk.Implications(3), "single"), (fk.Negations(2), "single"), (Oracle(), "single")],
    *[(none, how) for none in (Facts(), fk.Implications(0)) for how in ("single", "set")],
]


def test_sentences_are_as_before():
    lines = []
    for facts in FACTS:
        verdicts = [verdict_of(exact, **facts) for exact in ("0.62", "0.42", 1)]
        lines += [verdict_sentence(verdict, "diagnosis") for verdict in verdicts]
    lines += [verdict_sentence(verdict_of(exact, limit=limit)) for exact, limit in AT_THE_LIMIT]
    lines += [describe(facts, None, "value", how).knows for facts, how in ALLOWED]
    counts = GroupCounts.from_bags([["Flu", "AIDS", "AIDS", "Gout"]])
    lines.append(judged(counts, Requirement(Facts(0, 1, 0), below="0.5")))
    lines.append(judged(counts, Requirement(Oracle(), below="0.5", values=["AIDS"])))
    counts = GroupCounts([2], [0, 2], [0, 1], [1, 1], ["Flu", "Gout", "AIDS"])
    lines.append(judged(counts, Requirement(Facts(), below="0.5", values=["AIDS"])))
    requirement, none = Requirement(Facts(), below="0.5", excluded=["Flu"]), Disclosure(None, 0.0)
    nothing = unjudged(Explanation(0, requirement, *requirement.points[0], none, safe=True))
    lines.append(verdict_sentence(nothing, "diagnosis"))
    verdict = verdict_of("0.62", ruled_out=["Flu"], known=5, family=2, group=("20 to 37", "M"))
    used = describe(verdict.judged, verdict.disclosure.witness)
    assert_as_before("sentences", lines + [": ".join(pair) for pair in used.details])


def judged(counts, *requirements):
    audit_of_release = audit(counts, Policy(list(requirements)))
    return verdict_sentence(audit_of_release.verdicts[0], sensitive_noun(audit_of_release.policy))


def headline(limits):
    """Of requirements of which a third is a skyline, where every probability is 1/2."""
    rules = [
        Requirement(Facts(), below=limit, values=[value])
        for limit, value in zip(limits, ["Flu", "AIDS", "Flu"], strict=False)
    ]
    if len(limits) == 3:
        rules[2] = Requirement([(Facts(), limits[2]), (Facts(m=1), "1")], values=["Flu"])
    return render(audit_of([["Flu", "AIDS"]], *rules)).headline


def test_headlines_are_as_before():
    first, second = small().policy.requirements
    besides = Requirement(Facts(), below=1, excluded=["Flu", "Gout"])
    limits = [["0.6"], ["0.5"], ["0.6", "0.6"], ["0.5", "0.6"], ["0.5", "0.5"], ["0.6"] * 3]
    lines = [f"{limit} -> {headline(limit)}" for limit in limits]
    lines += [requirement_title(first, 1), requirement_title(replace(first, name="HIV rule"), 2)]
    lines += [values_phrase(each, "diagnosis") for each in (first, second, besides)]
    assert_as_before("headlines", lines)
    result = evil()
    for verdict in result.verdicts:
        assert verdict_sentence(verdict, sensitive_noun(result.policy)).isprintable()


# ---- the page, the terminal and the notebook ----------------------------------------------------


def page_text(found, **more):
    return Reader(render(found, **more).html()).text


def test_sections_and_figures():
    skyline = Requirement([(Facts(1, 0, 0), "0.9"), (Facts(0, 3, 0), "0.8")], values=["AIDS"])
    page = render(audit(small().counts, Policy([skyline]))).html()
    assert {"requirement-1-1", "requirement-1-2"} <= set(re.findall(r'id="([^"]*)"', page))
    policy = Policy([Requirement(Oracle(), below="0.5", values=["AIDS"])])
    reader = Reader(render(audit(small().counts, policy)).html())
    assert "has the knowledge Oracle(amount=3)" in reader.text
    assert sum(tag == "figure" for tag, _ in reader.elements) == 1
    result = small()  # generalization is shown where it is known
    assert "NCP" not in render(result).html()
    worth = replace(result.utility, ncp={"age": 0.25, "<zip>": 0.5})
    assert "detail lost: <zip> 50.0%" in page_text(replace(result, utility=worth))


@pytest.mark.parametrize("semantics", ["set", "multiset"])
def test_no_word_of_other_semantics(semantics):
    result = register(semantics)
    page = render(result)
    assert_as_before(f"audit-{semantics}", page_lines(page))
    wrong = ("ruled out", "other people", "other person", "the target does not", "nobody else")
    for text in (Reader(page.html()).text, words(result, 160), Reader(page.summary()).text):
        assert not [word for word in wrong if word in text]
    text = page_text(register(schema=False))  # then the release says which semantics it has
    assert "other people" not in text
    assert "one sensitive value that comes only with the one in question" in text


# ---- "safe" is for what limits inference; what does not says so beside the word ------------------

# Of both groups nobody is alone, and in one everybody has the same.
ILL = ["flu"] * 6 + ["flu", "hiv", "cold"] * 2
AGES = ["20 to 29"] * 6 + ["30 to 39"] * 6
TABLE = pa.table({"age": AGES, "zip": ["123**"] * 12, "ill": ILL})
SCHEMA = {"quasi_identifiers": ["age", "zip"], "sensitive": "ill"}
COUNTING = [
    {"k_anonymity": 5},
    {"group_size": 5},
    {"k_anonymity": {"k": 6, "of": [["age"], ["zip"]]}},
    {"risk": {"average": "1/6"}},
    {"risk": {"prosecutor": "1/6", "uniqueness": 0}},
    {"levels": {"age": {"top": 40}}},
]
HOLDS = "The requirement holds, but nothing limits inference"


def limited(*required):
    """Whether an audit limits inference, its headline and its mood; it holds in any case."""
    policy = fk.Policy.from_dict({"schema": SCHEMA, "require": list(required)})
    audit_of_release = fk.audit(TABLE, policy, learned=False)
    assert audit_of_release.safe
    assert ("safe" in repr(audit_of_release)) == audit_of_release.limits_inference
    assert (
        f'"limits_inference": {str(audit_of_release.limits_inference).lower()}'
        in audit_of_release.to_json()
    )
    return (
        audit_of_release.limits_inference,
        AuditPage(audit_of_release).headline,
        AuditPage(audit_of_release).mood,
    )


@pytest.mark.parametrize(
    ("required", "message"),
    [
        *(([rule], HOLDS) for rule in COUNTING),
        (COUNTING[:2], "Both requirements hold, but nothing limits inference"),
        (COUNTING[:3], "All 3 requirements hold, but nothing limits inference"),
        (
            [COUNTING[0], {"facts": {}, "below": 0.5, "values": ["plague"]}],
            f"{HOLDS}; 1 asks nothing",
        ),
    ],
)
def test_counting_people_is_not_safe(required, message):
    limits, headline, mood = limited(*required)
    assert headline.startswith(message)
    assert (limits, mood) == (False, "")  # not green


def test_what_counting_leaves_open():
    counts = GroupCounts.from_bags([["flu"], ["cold"] * 50])
    for rule in (fk.Risk(average=0.05), fk.Risk(uniqueness=0.05)):
        text = "one person's prosecutor risk is up to 1, which is not limited"
        assert str(rule.attained(counts)).endswith(text)
        assert rule.holds(counts)
    assert "is not limited" not in str(fk.Risk(prosecutor=1, average=0.05).attained(counts))
    policy = fk.Policy.from_dict({"schema": SCHEMA, "require": COUNTING[-1:]})
    (verdict,) = fk.audit(TABLE, policy, learned=False).verdicts
    assert str(verdict.found).endswith("; how many people share one is not asked")
    notes = fk.audit(TABLE, **SCHEMA).notes
    assert notes[0].startswith("No policy was given: the requirements are Foreknow's default")
    chosen = fk.audit(TABLE, **SCHEMA, k_anonymity=5)
    assert not any("default" in note for note in chosen.notes)

    class Mine(fk.KAnonymity):  # a verdict by the word of another package is not green
        key = "mine"

    blocks = AuditPage(audit_of(["ab"], fk.Requirement(Mine(2)))).blocks()
    assert "safe" not in [getattr(block, "mood", "") for block in blocks]


@pytest.mark.parametrize(
    ("requirement", "method", "limited", "message"),
    [
        (
            fk.Requirement(fk.KAnonymity(4)),
            *("Mondrian", False),
            "Nobody is certain because of the algorithm; no requirement limits how sure somebody "
            "may become",
        ),
        (
            fk.Requirement(fk.Facts(), below=1),
            *("Mondrian", True, "Knowing the algorithm reaches no limit here"),
        ),
        # Closeness limits inference, though not how sure of a value somebody may become.
        (
            fk.Requirement(fk.TCloseness("0.6")),
            *("Decoy", False, "none of them limits how sure somebody may become of a value"),
        ),
    ],
)
def test_attacks_reach_no_unset_limit(requirement, method, limited, message):
    table = pa.table({"age": list(range(20, 44)), "ill": ["flu", "hiv", "cold", "mumps"] * 6})
    schema = fk.Schema(quasi_identifiers=["age"], sensitive="ill")
    microdata, policy = fk.Microdata(table, schema), fk.Policy([requirement], schema)
    attack_result = fk.attack(microdata, getattr(fk, method)(), policy)
    assert (attack_result.limited, attack_result.kept) == (limited, method == "Decoy")
    assert message in attack_result.summary().replace("\n", " ")
    assert method == "Mondrian" or "inference" not in attack_result.summary()


# ---- priors --------------------------------------------------------------------------------------

ROWS = {("m",): {"Flu": "1/10", "HIV": "9/10"}, ("f",): {"Flu": "3/1000", "HIV": "997/1000"}}
SEX = priors_table(ROWS, ["sex"])
AGE = priors_table({("30", None): {"Flu": "1/2", "HIV": "1/2"}}, ["age", "race"])


def release(groups="xxyy", sexes="mfmm", values=("Flu", "HIV", "Flu", "HIV"), **more):
    columns = {"gid": list(groups), "sex": list(sexes), "disease": list(values), **more}
    return fk.Release.from_groups(pa.table(columns), group="gid", sensitive="disease")


def test_prior_sentences_are_unchanged(monkeypatch):
    alike, alone = release(sexes="mmmm"), release(groups="xyzz", sexes="mmmm")
    nobody = {"age": [30, 30], "race": pa.nulls(2, pa.string())}
    missing = release(groups="xx", sexes="mm", values=("Flu", "HIV"), **nobody)
    flu = fk.Requirement(fk.Priors(SEX), "1/2", values=["Flu"])
    half = fk.Requirement(fk.Priors(SEX), "1/2")
    requirements = [
        (flu, release()),
        (fk.Requirement(fk.Priors(SEX), "1/4"), alike),
        (fk.Requirement(fk.Priors(SEX), at_most="1/2"), alike),
        *[(half, alike), (half, alone)],
        (fk.Requirement(fk.Priors(AGE), at_most="1/2"), missing),
    ]
    verdicts = [fk.audit(found, fk.Policy([rule])).verdicts[0] for rule, found in requirements]
    assert [verdict.safe for verdict in verdicts] == [False, False, True, False, False, True]
    # Then a group is out of reach of an exact answer.
    short = partial(priors_judged.posteriors, reach=1)
    monkeypatch.setattr(priors_judged, "posteriors", short)
    verdicts += fk.audit(release(), fk.Policy([flu])).verdicts
    assert verdicts[-1].disclosure.bounded
    lines = []
    for verdict in verdicts:
        used = describe(verdict.judged, verdict.disclosure.witness)
        group = "–" if verdict.group is None else group_text(verdict.group)
        lines += [f"{group}: {verdict_sentence(verdict, 'disease')}"]
        lines += [f"  {who}: {what}" for who, what in used.details]
    for priors in (fk.Priors(SEX), fk.Priors([SEX, AGE], "binary")):
        lines.append(describe(priors, None, "disease").knows)
    assert_as_before("priors", lines)


@pytest.mark.parametrize(
    ("chance", "shown"),
    [
        *[("1/3", "33.3%"), ("1", "100%"), ("0", "0%"), ("0.99999", "99.999%")],
        *[("0.9999", "99.99%"), ("0.003", "0.3%"), ("1e-9", "0.0000001%")],
        (f"0.{'9' * 30}", "almost 100%"),
    ],
)
def test_only_certainty_is_100_percent(chance, shown):
    assert share_text(Fraction(chance)) == shown


def test_priors_beside_others(tmp_path):
    rules = [
        fk.Requirement(fk.Priors(SEX), "1/2", values=["Flu"]),
        fk.Requirement(fk.Priors(SEX, "binary"), at_most="999/1000"),
        fk.Requirement(fk.Facts(), "9/10"),
        fk.Requirement(fk.Implications(1), "9/10", values=["HIV"]),
    ]
    audit_of_release = fk.audit(release(), fk.Policy(rules))
    assert_as_before("audit-priors", page_lines(render(audit_of_release)))
    for said in (words(audit_of_release, 200), render(audit_of_release).html()):
        assert "people with sex m have it with probability 10%" in said
        assert "Priors(" not in said
        assert "PriorTable" not in said
    assert "priors" in audit_of_release._repr_html_()
    audit_of_release.to_json(tmp_path / "audit.json")
    first, second, *_ = json.loads((tmp_path / "audit.json").read_text())["verdicts"]
    assert first["worst"]["exact"] == "997/1024"
    numbers = {"people": 1, "size": 2, "holders": 1, "prior": "1/10"}
    who = {"value": "Flu", "group": "x", "signature": {"sex": "m"}}
    assert first["worst"]["witness"] == {**who, **numbers}
    assert (first["below"], second["at_most"]) == ("1/2", "999/1000")


# ---- audience ------------------------------------------------------------------------------------


TABLE_AUDIENCE = "ward,age,sex,disease\n" + "".join(
    f"{i // 4},{20 + i // 4},{'fm'[i % 2]},{['flu', '=cmd()'][i // 2 % 2]}\n" for i in range(16)
)
POLICY = """[schema]
quasi_identifiers = ["age", "sex"]
sensitive = "disease"
hierarchies = { age = { intervals = [10] } }

[[require]]
facts = { l = 0 }
below = 0.9
"""


@pytest.fixture
def place(tmp_path, monkeypatch):
    (tmp_path / "table.csv").write_text(TABLE_AUDIENCE)
    (tmp_path / "policy.toml").write_text(POLICY)
    monkeypatch.chdir(tmp_path)
    before = os.umask(0o022)
    yield tmp_path
    os.umask(before)


def run(*arguments, codes=(0, 1)):
    done = CliRunner().invoke(app, arguments)
    assert done.exit_code in codes, done.output


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


def said(path):
    """What a page says of who may see it, as plain text."""
    (line,) = re.findall(r'<p class="audience.*?</p>', path.read_text(), re.DOTALL)
    return re.sub("<[^>]*>", "", line)


def for_the_owner(path):
    assert mode(path) == 0o600
    if path.suffix == ".html":
        assert said(path).startswith("For the owner only: ")
    elif path.suffix == ".json":
        assert json.loads(path.read_text())["this_file_is"] == "for the owner only"
    return True


@pytest.mark.complete
@pytest.mark.parametrize("method", ["mondrian", "fulldomain"])
def test_modes_of_a_publication(place, method):
    """And of what is measured of it, and of priors that are learned."""
    run("publish", "table.csv", "-p", "policy.toml", "-o", "out", "--method", method)
    kept = ["lattice.html"] if method == "fulldomain" else []
    names = ["certificate.json", "datapackage.json", "release.csv", "report.html"]
    modes = {path.name: mode(path) for path in (place / "out").iterdir()}
    assert modes == dict.fromkeys(names, 0o644)
    modes = {path.name: mode(path) for path in (place / "out.owner").iterdir()}
    assert modes == dict.fromkeys([*kept, "members.parquet", "owner.json"], 0o600)
    assert (mode(place / "out"), mode(place / "out.owner")) == (0o755, 0o700)
    assert said(place / "out" / "report.html").startswith("This page may go out with the release")
    if kept:
        assert for_the_owner(place / "out.owner" / "lattice.html")
        return
    call = ["utility", "out", "table.csv", "-p", "policy.toml", "--queries", "5"]
    run(*call, "--json", "found.json")
    run("priors", "table.csv", "--by", "sex", "-s", "disease", "--out", "statistics.csv")
    assert all(for_the_owner(place / name) for name in ("found.json", "statistics.csv"))


# ---- people over each limit ----------------------------------------------------------------------


def audited(bags, *requirements):
    return fk.audit(fk.GroupCounts.from_bags(bags), fk.Policy(list(requirements)))


def test_published_pages_say_nothing():
    result = small(safe=False)
    kept, published = (Reader(render(result, published=yes).html()).text for yes in (False, True))
    assert "People over each limit" in kept
    assert "People by how sure somebody could be of them" in kept
    for word in ("over each limit", "found out", "how sure somebody", "uspicion", "in groups"):
        assert word not in published, word
    safe = Reader(render(small()).html()).text
    assert "Requirement 1 0 0 0 0" in " ".join(safe.split())


def listed(found):
    return list(csv.DictReader(io.StringIO(exposed_csv(titled_exposed(found)))))


def test_groups_are_listed_worst_first():
    """And never rounded to the wrong side; no cell is a formula."""
    third = fk.Requirement(fk.Facts(), "1/3", name="a third")
    bags = ["abc", "aab", "a" * 10_000 + "b", "abcd"]
    rows = listed(audited(bags, third, fk.Requirement(fk.KAnonymity(4))))
    assert ",".join(rows[0]) == "requirement,group,people,found_out,certain,value,how_sure,limit"
    assert ",".join(rows[0].values()) == "a third,2,10001,10000,0,a,99.99%,1/3"
    assert [(row["group"], row["found_out"], row["how_sure"]) for row in rows] == [
        *[("2", "10000", "99.99%"), ("1", "3", "66.67%"), ("0", "3", "1/3")],
        *[("0", "3", ""), ("1", "3", "")],
    ]
    assert {row["certain"] for row in rows[:3]} == {"0"}
    cells = [c for row in csv.reader(io.StringIO(exposed_csv(titled_exposed(evil())))) for c in row]
    assert cells
    assert not [cell for cell in cells if cell[:1] in ("=", "+", "-", "@")]
    frame = pa.table({"age": ["20", "20", "30"], "sex": ["f", "f", "m"], "x": ["a", "b", "c"]})
    release = fk.Release.from_generalized(frame, quasi_identifiers=["age", "sex"], sensitive="x")
    audit_of_release = fk.audit(release, fk.Policy([fk.Requirement(fk.Facts(), 1)]))
    assert [row["group"] for row in listed(audit_of_release)] == ["age 30, sex m"]


def test_the_list_of_a_command(place):
    """For the owner; it replaces no input and no other output, and stands in no release."""
    (place / "strict.toml").write_text(POLICY.replace("0.9", "0.5"))
    strict = ("audit", "table.csv", "-p", "strict.toml", "--group", "ward")
    run(*strict, "--exposed", "over.csv", codes=(1,))
    rows = list(csv.DictReader((place / "over.csv").open()))
    assert len(rows) == 8
    assert {row["limit"] for row in rows} == {"50%"}
    assert mode(place / "over.csv") == 0o600
    for target in ("table.csv", "over.txt", "a.json", "missing/over.csv"):
        done = CliRunner().invoke(app, [*strict, "--json", "a.json", "--exposed", target])
        assert isinstance(done.exception, OutputError), done.output
        assert (place / "table.csv").read_text() == TABLE_AUDIENCE
