"""Values by how they begin and in ranges, what nobody has; and near values that are all low."""

import datetime
import json
import random
from fractions import Fraction

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.cli.conftest import desk as desk
from tests.cli.desk import POLICY
from tests.examples import examples
from tests.oracle.sets import meant, of_tenths, worst_of_set

import foreknow as fk
from foreknow.data.windows import Range
from foreknow_judge.errors import CertificateError, PolicyError, UnsupportedError

CODES = ["B20", "B20.1", "B2", "B", "Z21", "Z21*", "Flu"]
TEXTS = [*CODES, "B20*", "B*", "Z*", "Z21**", "C34", "F*", "Q*", "cough"]
NUMBERS = ["0", "5", "5.0", "7.5", "10", "-3", "unknown"]
SCHEMA = fk.Schema(quasi_identifiers=["age", "sex"], sensitive="ill")


def table_of(values, seed=0):
    chance = random.Random(seed)
    ages = [chance.randint(20, 79) for _ in values]
    return pa.table({"age": ages, "sex": [chance.choice("mf") for _ in values], "ill": values})


def written(values, rules, folder, **more):
    made = fk.publish(fk.Microdata(table_of(values), rules.schema), rules, **more)
    made.write(folder)
    return made


def policy(adversary=None, below="3/4", schema=SCHEMA, **about):
    return fk.Policy([fk.Requirement(adversary or fk.Facts(), below=below, **about)], schema)


# ---- by how values begin, and in ranges ----------------------------------------------------------

lists = st.lists(st.sampled_from([t for t in TEXTS if t != "Z21**"]), min_size=1, max_size=3)
lists = lists.filter(lambda own: len(set(own)) == len(own))
ends = st.one_of(st.none(), st.sampled_from([0, 5, "5", 7, "7.5", 10.0, -3, "1e1"]))
ranges = st.tuples(ends, ends).filter(lambda two: two != (None, None))


@examples(600, daily=100)
@given(st.lists(st.lists(st.sampled_from(CODES), min_size=1, max_size=3), min_size=1), lists)
def test_a_list_means_what_a_plain_reading_says(bags, given):
    bags = [bags[0]] if sum(map(len, bags)) > 5 else bags
    there = {value for bag in bags for value in bag}
    counts, members = fk.GroupCounts.from_bags(bags), meant(given, there)
    asked = policy(fk.Facts(1, 1, 1), any_of=given)
    if members == there:
        with pytest.raises(PolicyError, match="every sensitive value"):
            fk.audit(counts, asked)
        return
    audit = fk.audit(counts, asked)
    truth = worst_of_set(bags, members, (1, 1, 1))[1, 1, 1]
    assert audit.verdicts[0].disclosure.exact == truth
    assert asked.ledger(counts.values).admits(None, counts) == (truth < Fraction(3, 4))
    assert (audit.scope.idle == ()) == bool(members)
    assert {text for text, _ in audit.scope.absent} == {t for t in given if not meant([t], there)}
    about = fk.Requirement(fk.Facts(), below=1, values=given).meant(counts.values).about
    assert {counts.values[code] for code in about.nonzero()[0]} == members
    hidden = fk.Requirement(fk.Facts(), below=1, excluded=given).meant(counts.values).about
    spelt = {text for text in given if text in there}
    open_ = spelt | meant([text for text in given if text not in spelt], there)
    assert {counts.values[code] for code in hidden.nonzero()[0]} == there - open_


def as_range(two):
    return {key: end for key, end in zip(("from", "to"), two, strict=True) if end is not None}


@examples(600, daily=100)
@given(st.lists(st.lists(st.sampled_from(NUMBERS), min_size=1, max_size=3), min_size=1), ranges)
def test_a_range_means_what_a_plain_reading_says(bags, two):
    bags = [bags[0]] if sum(map(len, bags)) > 5 else bags
    there, own = {value for bag in bags for value in bag}, as_range(two)
    if len(own) == 2 and float(own["from"]) > float(own["to"]):
        with pytest.raises(PolicyError, match="from the lower end up"):
            policy(any_of={"some": own})
        return
    asked = policy(fk.Facts(1, 1, 1), any_of={"some": own})
    plain = {key: {"1e1": "10", 10.0: 10}.get(end, end) for key, end in own.items()}
    counts, members = fk.GroupCounts.from_bags(bags), meant(plain, there)
    if members == there:
        with pytest.raises(PolicyError, match="'some'"):
            fk.audit(counts, asked)
        return
    audit = fk.audit(counts, asked)
    truth = worst_of_set(bags, members, (1, 1, 1))[1, 1, 1]
    assert audit.verdicts[0].disclosure.exact == truth
    assert audit.scope.idle == (() if members else ("some",))
    assert audit.scope.no_numbers == (("unknown",) if "unknown" in there else ())
    again = fk.Policy.from_dict(asked.to_dict())
    assert again.requirements == asked.requirements


@st.composite
def cases(draw):
    """A table, a policy of lists, sets or ranges, and a form."""
    numbers = draw(st.booleans())
    pool = NUMBERS if numbers else CODES
    values = draw(st.lists(st.sampled_from(pool), min_size=6, max_size=40))
    if numbers:
        own = ranges.map(as_range).filter(
            lambda r: len(r) < 2 or float(r["from"]) <= float(r["to"])
        )
        about = st.fixed_dictionaries(
            {"any_of": st.dictionaries(st.sampled_from("xy"), own, min_size=1)}
        )
    else:
        about = st.one_of(
            st.fixed_dictionaries({"any_of": lists}),
            st.fixed_dictionaries(
                {"any_of": st.dictionaries(st.sampled_from(["x", "B20"]), lists, min_size=1)}
            ),
            st.fixed_dictionaries({"values": lists}),
            st.fixed_dictionaries({"excluded": lists}),
        )
    adversary = draw(
        st.sampled_from(
            [fk.Facts(), fk.Facts(1, 1, 0), fk.Facts(0, 1, 1), fk.Implications(1), fk.Negations(1)]
        )
    )
    form = draw(st.sampled_from(["generalized", "bucketized"]))
    return values, adversary, draw(about), form


def assert_one_is_everything(sets, values):
    assert any(meant(of, values) == values for of in sets)


@examples(2000, daily=8, deadline=None)
@given(cases())
def test_what_is_published_is_verified_by_another_reading(tmp_path_factory, case):
    values, adversary, about, form = case
    folder = tmp_path_factory.mktemp("made") / "out"
    rules = policy(adversary, "9/10", **about)
    try:
        made = written(values, rules, folder, options=fk.PublishOptions(form=form))
    except fk.NoSafeRelease:
        return
    except PolicyError:  # everybody has one of these
        members = rules.requirements[0].any_of
        sets = members.values() if isinstance(members, dict) else [members]
        plain = [x.to_dict() if isinstance(x, Range) else x for x in sets]
        assert_one_is_everything(plain, set(values))
        return
    found = fk.verify(folder)
    assert found.findings[0].reached == made.audit.verdicts[0].disclosure.exact
    for key in ("absent", "idle", "begin_alike", "no_numbers"):
        assert getattr(found.scope, key) == getattr(made.audit.scope, key)
    fk.verify(folder, rules)


def test_the_verifier_expands_what_the_certificate_keeps(tmp_path):
    values = ["B20", "B20.1", "B20.9", "Flu", "Cold", "Gout", "Ache", "Rash"] * 20
    rules = policy(fk.Facts(0, 1, 0), any_of={"HIV": ["B20*"]})
    made = written(values, rules, tmp_path / "out")
    certificate = tmp_path / "out" / "certificate.json"
    read = json.loads(certificate.read_text())
    assert read["policy"]["require"][0]["any_of"] == {"HIV": ["B20*"]}
    assert fk.verify(tmp_path / "out").findings[0].value == "HIV"
    read["policy"]["require"][0]["any_of"] = {"HIV": ["B20"]}
    certificate.write_text(json.dumps(read))
    with pytest.raises(CertificateError, match="certified"):
        fk.verify(tmp_path / "out")
    assert made.audit.scope.begin_alike == ()


def test_a_value_that_begins_like_a_member_is_said_beside_the_verdict():
    counts = fk.GroupCounts.from_bags([["B20", "B20.1", "Flu", "Fluke", "12", "120", "12.5", "x"]])
    audit = fk.audit(counts, policy(any_of=["B20", "Z21", "12"]))
    assert audit.scope.begin_alike == (("12.5", "12"), ("B20.1", "B20"))
    assert (
        "'12.5' begins like '12', 'B20.1' begins like 'B20' and are not in the secret; "
        '"12*" stands for every value that begins so.'
    ) in audit.notes
    every = fk.audit(counts, policy(any_of=["B20*", "12*"]))
    assert every.scope.begin_alike == ()
    only = fk.audit(counts, policy(values=["B20"]))
    assert (
        "'B20.1' begins like 'B20' and is not in the secret; \"B20*\" stands for every value that "
        "begins so." in only.notes
    )


def test_in_doubt_more_is_hidden():
    counts = fk.GroupCounts.from_bags([["Z*", "Z1", "Flu", "Cold"]])
    required = fk.Requirement(fk.Facts(), below=1, values=["Z*"])
    assert required.meant(counts.values).about.sum() == 2
    required = fk.Requirement(fk.Facts(), below=1, excluded=["Z*"])
    assert required.meant(counts.values).about.sum() == 3


@pytest.mark.parametrize(
    ("about", "message"),
    [
        ({"values": ["*"]}, "'\\*' says of no value how it begins"),
        ({"excluded": ["*"]}, "'\\*' says of no value how it begins"),
        ({"any_of": ["B**"]}, "'B\\*\\*' says of no value how it begins"),
        ({"any_of": {"to": 15000}}, "any_of.to must be a list"),
        ({"any_of": {"low": {}}}, "a range is a table with from, to or both"),
        ({"any_of": {"low": {"upto": 5}}}, "a range is a table with from, to or both"),
        (
            {"any_of": {"low": {"to": "much"}}},
            "any_of.low: an end of a range is a number or a date",
        ),
        ({"any_of": {"low": {"to": True}}}, "an end of a range is a number or a date"),
        ({"any_of": {"low": {"from": 1, "to": "2024-01-31"}}}, "cannot be compared"),
        ({"any_of": {"low": {"from": 2, "to": 1}}}, "from the lower end up, not 2 to 1"),
    ],
)
def test_what_means_nothing_is_refused(about, message):
    with pytest.raises(PolicyError, match=message):
        policy(**about)


@pytest.mark.parametrize("odd", ["15.000,00", "1 000", "٣", "½", "2024-01-31", "1000 to <1500"])
def test_a_number_that_cannot_be_read_is_in_no_range_in_silence(odd):
    counts = fk.GroupCounts.from_bags([["10", "20", odd]])
    with pytest.raises(UnsupportedError, match=r"any_of\.low: the range up to 15 is of numbers"):
        fk.audit(counts, policy(any_of={"low": {"to": 15}}))


def test_dates_are_in_ranges_too(tmp_path):
    days = [datetime.date(2024, 1, 1) + datetime.timedelta(days=i % 60) for i in range(240)]
    rules = policy(fk.Facts(0, 1, 0), any_of={"january": {"to": datetime.date(2024, 1, 31)}})
    made = written(days, rules, tmp_path / "out")
    assert rules.to_dict()["require"][0]["any_of"] == {"january": {"to": "2024-01-31"}}
    fk.verify(tmp_path / "out")
    members = rules.requirements[0].sets(made.release.counts.values)["january"]
    assert max(members) == "2024-01-31"
    moments = fk.GroupCounts.from_bags([["2024-01-31 23:59", "2024-02-01 00:00", "2024-03-01"]])
    assert rules.requirements[0].sets(moments.values) == {"january": ("2024-01-31 23:59",)}


def test_overlapping_ranges_with_columns_that_are_known_and_with_criteria(tmp_path):
    chance = random.Random(3)
    rows = {
        "age": [chance.randint(20, 79) for _ in range(600)],
        "ill": [chance.choice(["flu", "cold", "gout"]) for _ in range(600)],
        "income": [chance.randrange(10_000, 90_000, 500) for _ in range(600)],
    }
    schema = fk.Schema(quasi_identifiers=["age"], sensitive=["ill", "income"])
    sets = {"low": {"to": 15000}, "lower": {"to": 30000.5}, "high": {"from": 70000}}
    rules = fk.Policy(
        [
            fk.Requirement(fk.Facts(0, 2, 0), below="2/3", any_of=sets, sensitive="income"),
            fk.Requirement(fk.Facts(), below="2/3", any_of=["c*"], sensitive="ill", knowing=[]),
        ],
        schema,
    )
    made = fk.publish(fk.Microdata(pa.table(rows), schema), rules)
    made.write(tmp_path / "out")
    found = fk.verify(tmp_path / "out")
    assert [f.reached for f in found.findings] == [v.disclosure.exact for v in made.audit.verdicts]
    one = fk.Schema(quasi_identifiers=["age"], sensitive="income")
    apart = {name: sets[name] for name in ("low", "high")}
    rules = fk.Policy([fk.Requirement(fk.LDiversity(3), any_of=apart)], one)
    fk.publish(fk.Microdata(pa.table(rows).drop(["ill"]), one), rules).write(tmp_path / "two")
    fk.verify(tmp_path / "two")
    rules = fk.Policy([fk.Requirement(fk.LDiversity(3), any_of=sets)], one)
    with pytest.raises(PolicyError, match="is in two sets"):
        fk.publish(fk.Microdata(pa.table(rows).drop(["ill"]), one), rules)


# ---- what nobody has ----------------------------------------------------------------------------


@pytest.mark.complete
def test_a_policy_outlives_a_table(tmp_path):
    values = ["HIV", "Flu", "Cold", "Gout", "Ache"] * 20
    rules = fk.Policy(
        [
            fk.Requirement(fk.Facts(0, 2, 0), below="3/4"),
            fk.Requirement(fk.Facts(), below="1/2", values=["Syphilis"]),
            fk.Requirement(fk.Facts(), below="1/2", any_of={"lungs": ["Asthma", "COPD*"]}),
            fk.Requirement(fk.Facts(), below="4/5", excluded=["HIW"]),
        ],
        SCHEMA,
    )
    made = written(values, rules, tmp_path / "out")
    found = fk.verify(tmp_path / "out")
    for scope in (made.audit.scope, found.scope):
        assert scope.idle == ("Syphilis", "lungs")
        assert scope.absent == (("Asthma", ""), ("COPD*", ""), ("HIW", "HIV"), ("Syphilis", ""))
    assert made.audit.notes[:3] == (
        "Nobody has Syphilis: a requirement on it asks nothing of this table.",
        "Nobody has lungs: a requirement on it asks nothing of this table.",
        "Requirements name what nobody in the table has: 'Asthma', 'COPD*', 'HIW'. Did you mean "
        "'HIV' for 'HIW'?",
    )
    assert [v.safe for v in made.audit.verdicts] == [True] * 4
    said = json.loads(json.dumps(made.audit.to_dict()))
    assert said["scope"]["idle"] == ["Syphilis", "lungs"]
    report = (tmp_path / "out" / "report.html").read_text()
    assert report.count("asks nothing</span>") == 4
    assert "Safe: both requirements hold; 2 ask nothing of this table" in report
    assert "Nobody has Syphilis: a requirement on it asks nothing of this table." in report


def test_report_of_nothing_asked(desk):
    rows = "".join(f"P{i},{20 + i},{'mf'[i % 2]},{['flu', 'cold'][i % 2]}\n" for i in range(20))
    desk.put("t.csv", "name,age,sex,disease\n" + rows)
    desk.put(
        "p.toml",
        '[schema]\nidentifiers = ["name"]\nquasi_identifiers = ["age", "sex"]\n'
        'sensitive = "disease"\n[[require]]\nvalues = ["gout"]\nfacts = {}\nbelow = 0.9\n',
    )
    said = "nothing was judged: nobody has a value"
    code, _, err = desk.run("publish", "t.csv", "--policy", "p.toml", "--out", "out")
    assert code == 1
    assert said in " ".join(err.split())
    assert not (desk.folder / "out").exists()
    code, out, err = desk.run("compare", "t.csv", "--policy", "p.toml", "--queries", 20)
    assert code == 1
    assert " ".join(out.split()).startswith("Nothing was judged: nobody has a value")
    desk.run("audit", "t.csv", "--policy", "p.toml", "--html", "page.html")
    code, out, _ = desk.run("audit", "t.csv", "--policy", "p.toml")
    head = "Nothing was judged: nobody has a value that the requirement is about"
    report = (desk.folder / "page.html").read_text()
    assert code == 1
    for shown in (" ".join(out.split()), report):
        assert head in shown
        assert "Safe" not in shown
    assert '<header class="verdict plain">' in report
    code, out, _ = desk.run("audit", "t.csv", "--policy", "p.toml", "--json", "-")
    told = json.loads(out)
    assert (code, told["safe"], told["nothing_judged"]) == (1, False, True)
    audit = fk.audit(desk.folder / "t.csv", fk.Policy.load(desk.folder / "p.toml"))
    assert (audit.safe, audit.idle) == (False, True)
    assert "nothing was judged" in repr(audit)
    assert "None" not in repr(audit.verdicts[0])


def test_an_idle_release_is_not_verified(desk):
    desk.put("idle.toml", POLICY.replace('"flu"', '"gout"'))
    desk.says("publish", "table.csv", "--policy", "policy.toml", "--out", "out")
    desk.says("verify", "out")
    code, out, err = desk.run("verify", "out", "--policy", "idle.toml")
    assert (code, out) == (1, "")
    assert "nothing was judged" in err
    rules = fk.Policy.load(desk.folder / "idle.toml")
    told = json.loads((desk.folder / "out" / "certificate.json").read_text())
    found = fk.audit(desk.folder / "out", rules).verdicts[0]
    told["policy"]["require"] = rules.published()["require"]
    told["findings"] = [found.to_dict()]
    told["scope"] |= {
        "unprotected": {"cold": 4, "flu": 4},
        "absent": [["gout", ""]],
        "idle": ["gout"],
    }
    (desk.folder / "out" / "certificate.json").write_text(json.dumps(told))
    with pytest.raises(CertificateError, match="nothing was judged"):
        fk.verify(desk.folder / "out")
    with pytest.raises(CertificateError, match="nothing was judged"):
        fk.evidence_report(desk.folder / "out")


def test_newcomers_may_have_none(tmp_path):
    rows = table_of(["HIV", "Flu", "Cold", "Gout"] * 20)
    rows = rows.append_column("pid", [[str(i) for i in range(80)]])
    schema = fk.Schema(quasi_identifiers=["age", "sex"], sensitive="ill", identifiers=["pid"])
    rules = policy(values=["HIV"], schema=schema)
    fk.publish(rows, rules, seed=1).write(tmp_path / "one")
    more = table_of(["Flu", "Cold", "Gout"] * 20, seed=2)
    more = more.append_column("pid", [[str(i) for i in range(100, 160)]])
    made = fk.publish(more, rules, seed=1, after=tmp_path / "one")
    made.write(tmp_path / "two")
    assert (made.audit.idle, made.together.safe) == (True, True)
    assert fk.verify(tmp_path / "two", after=tmp_path / "one").together
    with pytest.raises(CertificateError, match="name the releases before it"):
        fk.verify(tmp_path / "two")
    never = policy(values=["Mumps"], schema=schema)
    with pytest.raises(fk.NoSafeRelease, match="nothing was judged"):
        fk.publish(more, never, after=tmp_path / "one")


# ---- what looks like a value that somebody has ---------------------------------------------------


@pytest.mark.parametrize(
    ("about", "near"),
    [
        ({"values": ["AIDZ"]}, "AIDS"),
        ({"values": ["aids"]}, "AIDS"),
        ({"any_of": ["B20", "A1DS"]}, "AIDS"),
        ({"any_of": {"HIV": ["b 2O"], "flu": ["Flu"]}}, "B20"),
        ({"any_of": ["b2*"]}, "B20"),
        ({"excluded": ["Breastcancer"]}, "Breast cancer"),
        ({"excluded": ["1.200,50"]}, "1200.50"),
        ({"values": ["007"]}, "7"),
    ],
)
def test_misspelt_values_are_refused(about, near):
    counts = fk.GroupCounts.from_bags([["AIDS", "B20", "Breast cancer", "1200.50", "7", "Flu"]])
    with pytest.raises(PolicyError, match=f"nobody has .*, and somebody has '{near}'") as refused:
        fk.audit(counts, policy(**about))
    way = str(refused.value).partition("add absent = ")[2].partition(" to the")[0]
    meant = fk.audit(counts, policy(**about, absent=json.loads(way)))
    assert json.loads(way)[0] not in dict(meant.scope.absent)
    rows = pa.table({"age": [1] * 6, "sex": ["f"] * 6, "ill": counts.values})
    with pytest.raises(PolicyError, match="nobody has"):
        fk.publish(rows, policy(**about))


@pytest.mark.parametrize(
    "text",
    ["B24", "B2", "B20.*", "Hepatitis A", "Stage III", "female", "symptomatic", "15", "HER2-"],
)
def test_other_values_are_noted(text):
    known = ["B20", "Hepatitis B", "Stage II", "male", "asymptomatic", "1.5", "HER2+", "Flu"]
    counts = fk.GroupCounts.from_bags([known])
    assert text in dict(fk.audit(counts, policy(values=[text, "Flu"])).scope.absent)


def test_the_same_number_is_never_absent():
    counts = fk.GroupCounts.from_bags([["1200.50", "7", "Flu"]])
    for absent in ([], ["1200.5"]):
        with pytest.raises(PolicyError, match=r"'1200\.50' is the same number"):
            fk.audit(counts, policy(values=["1200.5"], absent=absent))


def test_absent_is_only_for_the_owner(tmp_path):
    rules = policy(any_of=["b-20", "Flu"], absent=["b-20"])
    rules.save(tmp_path / "policy.toml")
    assert fk.Policy.load(tmp_path / "policy.toml").requirements[0].absent == ("b-20",)
    made = written(["B20", "Flu", "Cold", "Gout", "Ache"] * 20, rules, tmp_path / "out")
    assert "absent" not in made.certificate.policy["require"][0]
    fk.verify(tmp_path / "out", rules)
    without = policy(any_of=["b-20", "Flu"])
    with pytest.raises(CertificateError, match="nobody has 'b-20'"):
        fk.verify(tmp_path / "out", without)
    place = tmp_path / "out" / "certificate.json"
    told = json.loads(place.read_text())
    told["policy"]["require"][0]["absent"] = ["b-20"]
    place.write_text(json.dumps(told))
    with pytest.raises(CertificateError, match="absent"):
        fk.verify(tmp_path / "out")


def test_a_label_of_which_nobody_has_a_value_is_no_error():
    tree = fk.Tree(
        [["B20", "HIV", "*"], ["Z21", "HIV", "*"], ["J11", "flu", "*"], ["M1", "M", "*"]]
    )
    schema = fk.Schema(quasi_identifiers=["age"], sensitive="ill", hierarchies={"ill": tree})
    counts = fk.GroupCounts.from_bags([["J11", "M1"]])
    audit = fk.audit(counts, policy(schema=schema, any_of="HIV"))
    assert (audit.safe, audit.scope.idle) == (False, ("HIV",))
    assert fk.audit(counts, policy(schema=schema, at_level=1, excluded=["HIV"])).scope.idle == ()
    with pytest.raises(PolicyError, match="'HVI'"):
        fk.audit(counts, policy(schema=schema, any_of="HVI"))
    with pytest.raises(fk.InputError, match="'HIV'"):
        fk.skyline(counts, confidence="1/2", any_of="HIV", policy=policy(schema=schema, any_of="M"))


# ---- near, but all alike ------------------------------------------------------------------------


@examples(2000, daily=200)
@given(
    st.lists(st.lists(st.integers(0, 40), min_size=1, max_size=6), min_size=1, max_size=12).filter(
        lambda bags: len({x for bag in bags for x in bag}) > 1
    )
)
def test_groups_in_a_tenth_are_those_of_a_plain_count(bags):
    counts = fk.GroupCounts.from_bags(bags)
    audit = fk.audit(counts, fk.Policy([fk.Requirement(fk.Facts(), below=1, within="0.5")]))
    found = {end: (groups, people) for _, end, _, groups, people in audit.scope.extremes}
    low, high = of_tenths(bags)
    assert (found.get("lowest"), found.get("highest")) == (low, high)


def test_the_boundary_of_a_tenth():
    for people, last in ((10, 0), (11, 1), (20, 1), (21, 2)):
        bags = [[i] for i in range(people)]
        audit = fk.audit(
            fk.GroupCounts.from_bags(bags),
            fk.Policy([fk.Requirement(fk.Facts(), below=1, within="0.5")]),
        )
        (high, low) = audit.scope.extremes
        assert low == ("", "lowest", str(last), last + 1, last + 1)
        assert high == ("", "highest", str(people - 1 - last), last + 1, last + 1)
    tied = fk.GroupCounts.from_bags([[0] * 9, [0, 5], [0, 0]])
    audit = fk.audit(tied, fk.Policy([fk.Requirement(fk.Facts(), below=1, within="0.5")]))
    assert audit.scope.extremes == (("", "lowest", "0", 2, 11),)


@pytest.mark.complete
def test_groups_in_a_tenth_are_said_beside_the_verdict_and_verified(tmp_path):
    chance = random.Random(5)
    incomes = [chance.randrange(9_000, 15_000) for _ in range(90)]
    incomes += [chance.randrange(20_000, 60_000, 7) for _ in range(810)]
    incomes += [chance.randrange(70_000, 99_000, 3) for _ in range(90)]
    ages = [20 + i // 20 for i in range(990)]
    schema = fk.Schema(quasi_identifiers=["age"], sensitive="income")
    rules = fk.Policy([fk.Requirement(fk.Facts(0, 1, 0), below="3/4", within="10%")], schema)
    rows = pa.table({"age": ages, "income": incomes})
    for form in ("generalized", "bucketized"):
        made = fk.publish(fk.Microdata(rows, schema), rules, options=fk.PublishOptions(form=form))
        made.write(tmp_path / form)
        found = fk.verify(tmp_path / form)
        assert made.audit.safe
        assert found.scope.extremes == made.audit.scope.extremes
        assert [end for _, end, *_ in found.scope.extremes] == ["highest", "lowest"]
        _, _, value, groups, people = found.scope.extremes[1]
        said = (
            "Near values are hidden, and not that they are all low: in "
            f"{groups} groups ({people} people) everybody's value is at most {value}, in the "
            "lowest tenth of the table. A range can be a secret, too, by any_of in the policy."
        )
        assert said in made.audit.notes
        for_readers = said.partition(" A range")[0].replace("'", "&#39;")
        assert for_readers in (tmp_path / form / "report.html").read_text()
        path = tmp_path / form / "certificate.json"
        read = json.loads(path.read_text())
        read["scope"]["extremes"][1][3] -= 1
        path.write_text(json.dumps(read))
        with pytest.raises(CertificateError, match="scope: extremes is"):
            fk.verify(tmp_path / form)
