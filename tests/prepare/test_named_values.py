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
TEXTS = [*CODES, "B20*", "B*", "Z*", "C34", "F*", "Q*", "cough"]
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


def bags_of(*bags):
    return fk.GroupCounts.from_bags(bags)


# ---- by how values begin, and in ranges ----------------------------------------------------------

lists = st.lists(st.sampled_from(TEXTS), min_size=1, max_size=3, unique=True)
ends = st.one_of(st.none(), st.sampled_from([0, 5, "5", 7, "7.5", 10.0, -3, "1e1"]))
ranges = st.tuples(ends, ends).filter(lambda two: two != (None, None))


def bags_from(pool):
    return st.lists(st.lists(st.sampled_from(pool), min_size=1, max_size=3), min_size=1).map(
        lambda bags: bags[:1] if sum(map(len, bags)) > 5 else bags
    )


@examples(600, daily=40)
@given(bags_from(CODES), lists)
def test_lists_match_plain_reading(bags, own):
    there = {value for bag in bags for value in bag}
    counts, members = bags_of(*bags), meant(own, there)
    asked = policy(fk.Facts(1, 1, 1), any_of=own)
    if members == there:
        with pytest.raises(PolicyError, match="every sensitive value"):
            fk.audit(counts, asked)
        return
    audit = fk.audit(counts, asked)
    truth = worst_of_set(bags, members, (1, 1, 1))[1, 1, 1]
    assert audit.verdicts[0].disclosure.exact == truth
    assert asked.ledger(counts.values).admits(None, counts) == (truth < Fraction(3, 4))
    assert (audit.scope.idle == ()) == bool(members)
    assert {text for text, _ in audit.scope.absent} == {t for t in own if not meant([t], there)}
    spelt = {text for text in own if text in there}
    open_ = spelt | meant([text for text in own if text not in spelt], there)
    for about, wanted in (({"values": own}, members), ({"excluded": own}, there - open_)):
        codes = fk.Requirement(fk.Facts(), below=1, **about).meant(counts.values).about.nonzero()[0]
        assert {counts.values[code] for code in codes} == wanted


def as_range(two):
    return {key: end for key, end in zip(("from", "to"), two, strict=True) if end is not None}


@examples(600, daily=40)
@given(bags_from(NUMBERS), ranges)
def test_ranges_match_plain_reading(bags, two):
    there, own = {value for bag in bags for value in bag}, as_range(two)
    if len(own) == 2 and float(own["from"]) > float(own["to"]):
        with pytest.raises(PolicyError, match="from the lower end up"):
            policy(any_of={"some": own})
        return
    asked = policy(fk.Facts(1, 1, 1), any_of={"some": own})
    plain = {key: {"1e1": "10", 10.0: 10}.get(end, end) for key, end in own.items()}
    counts, members = bags_of(*bags), meant(plain, there)
    if members == there:
        with pytest.raises(PolicyError, match="'some'"):
            fk.audit(counts, asked)
        return
    audit = fk.audit(counts, asked)
    assert audit.verdicts[0].disclosure.exact == worst_of_set(bags, members, (1, 1, 1))[1, 1, 1]
    assert audit.scope.idle == (() if members else ("some",))
    assert audit.scope.no_numbers == (("unknown",) if "unknown" in there else ())
    assert fk.Policy.from_dict(asked.to_dict()).requirements == asked.requirements


KNOWN = [fk.Facts(), fk.Facts(1, 1, 0), fk.Facts(0, 1, 1), fk.Implications(1), fk.Negations(1)]


@st.composite
def cases(draw):
    """A table, a policy of lists, sets or ranges, and a form."""
    numbers = draw(st.booleans())
    values = draw(st.lists(st.sampled_from(NUMBERS if numbers else CODES), min_size=6, max_size=40))
    rising = ranges.map(as_range).filter(lambda r: len(r) < 2 or float(r["from"]) <= float(r["to"]))
    sets = st.dictionaries(st.sampled_from(["x", "B20"]), rising if numbers else lists, min_size=1)
    key, own = "any_of", draw(sets)
    if not numbers and draw(st.booleans()):
        key, own = draw(st.sampled_from(["any_of", "values", "excluded"])), draw(lists)
    form = draw(st.sampled_from(["generalized", "bucketized"]))
    return values, draw(st.sampled_from(KNOWN)), {key: own}, form


@examples(2000, daily=8, deadline=None)
@given(cases())
def test_second_reading_verifies_publication(tmp_path_factory, case):
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
        plain = [own.to_dict() if isinstance(own, Range) else own for own in sets]
        everybody = [meant(own, {*values}) == {*values} for own in plain]
        assert any(everybody)
        return
    found = fk.verify(folder, rules)
    assert fk.verify(folder).findings[0].reached == made.audit.verdicts[0].disclosure.exact
    for key in ("absent", "idle", "begin_alike", "no_numbers"):
        assert getattr(found.scope, key) == getattr(made.audit.scope, key)


def test_values_resembling_members_are_noted():
    counts = bags_of(["B20", "B20.1", "Flu", "Fluke", "12", "120", "12.5", "x"])
    audit = fk.audit(counts, policy(any_of=["B20", "Z21", "12"]))
    assert audit.scope.begin_alike == (("12.5", "12"), ("B20.1", "B20"))
    said = "'12.5' begins like '12', 'B20.1' begins like 'B20' and are not in the secret; "
    assert f'{said}"12*" stands for every value that begins so.' in audit.notes
    assert fk.audit(counts, policy(any_of=["B20*", "12*"])).scope.begin_alike == ()
    said = "'B20.1' begins like 'B20' and is not in the secret; \"B20*\" stands for every value "
    assert f"{said}that begins so." in fk.audit(counts, policy(values=["B20"])).notes
    counts = bags_of(["Z*", "Z1", "Flu", "Cold"])  # in doubt more is hidden
    for about, hidden in (({"values": ["Z*"]}, 2), ({"excluded": ["Z*"]}, 3)):
        required = fk.Requirement(fk.Facts(), below=1, **about)
        assert required.meant(counts.values).about.sum() == hidden


@pytest.mark.parametrize(
    ("about", "message"),
    [
        ({"values": ["*"]}, "'\\*' says of no value how it begins"),
        ({"excluded": ["*"]}, "'\\*' says of no value how it begins"),
        ({"any_of": ["B**"]}, "'B\\*\\*' says of no value how it begins"),
        ({"any_of": {"to": 15000}}, "any_of.to must be a list"),
        ({"any_of": {"low": {}}}, "a range is a table with from, to or both"),
        ({"any_of": {"low": {"upto": 5}}}, "a range is a table with from, to or both"),
        ({"any_of": {"low": {"to": "much"}}}, "low: an end of a range is a number or a date"),
        ({"any_of": {"low": {"to": True}}}, "an end of a range is a number or a date"),
        ({"any_of": {"low": {"from": 1, "to": "2024-01-31"}}}, "cannot be compared"),
        ({"any_of": {"low": {"from": 2, "to": 1}}}, "from the lower end up, not 2 to 1"),
    ],
)
def test_what_means_nothing_is_refused(about, message):
    with pytest.raises(PolicyError, match=message):
        policy(**about)


def test_non_numbers_match_no_range():
    for odd in ("15.000,00", "1 000", "٣", "½", "2024-01-31", "1000 to <1500"):
        with pytest.raises(UnsupportedError, match=r"any_of\.low: the range up to 15 is of numb"):
            fk.audit(bags_of(["10", "20", odd]), policy(any_of={"low": {"to": 15}}))


def test_dates_are_in_ranges_too(tmp_path):
    days = [datetime.date(2024, 1, 1) + datetime.timedelta(days=i % 60) for i in range(240)]
    rules = policy(fk.Facts(0, 1, 0), any_of={"january": {"to": datetime.date(2024, 1, 31)}})
    made = written(days, rules, tmp_path / "out")
    assert rules.to_dict()["require"][0]["any_of"] == {"january": {"to": "2024-01-31"}}
    fk.verify(tmp_path / "out")
    assert max(rules.requirements[0].sets(made.release.counts.values)["january"]) == "2024-01-31"
    moments = bags_of(["2024-01-31 23:59", "2024-02-01 00:00", "2024-03-01"])
    assert rules.requirements[0].sets(moments.values) == {"january": ("2024-01-31 23:59",)}


def test_overlapping_ranges_beside_others(tmp_path):
    chance, many = random.Random(3), range(300)
    rows = pa.table({
        "age": [chance.randint(20, 79) for _ in many],
        "ill": [chance.choice(["flu", "cold", "gout"]) for _ in many],
        "income": [chance.randrange(10_000, 90_000, 500) for _ in many],
    })  # fmt: skip
    sets = {"low": {"to": 15000}, "lower": {"to": 30000.5}, "high": {"from": 70000}}
    required = [
        fk.Requirement(fk.Facts(0, 2, 0), below="2/3", any_of=sets, sensitive="income"),
        fk.Requirement(fk.Facts(), below="2/3", any_of=["c*"], sensitive="ill", knowing=[]),
    ]
    both = fk.Schema(quasi_identifiers=["age"], sensitive=["ill", "income"])
    made = fk.publish(rows, fk.Policy(required, both))
    made.write(tmp_path / "out")
    found = fk.verify(tmp_path / "out").findings
    assert [f.reached for f in found] == [v.disclosure.exact for v in made.audit.verdicts]
    one = fk.Schema(quasi_identifiers=["age"], sensitive="income")
    apart = {name: sets[name] for name in ("low", "high")}
    rules = fk.Policy([fk.Requirement(fk.LDiversity(3), any_of=apart)], one)
    fk.publish(rows.drop(["ill"]), rules).write(tmp_path / "two")
    fk.verify(tmp_path / "two")
    rules = fk.Policy([fk.Requirement(fk.LDiversity(3), any_of=sets)], one)
    with pytest.raises(PolicyError, match="is in two sets"):
        fk.publish(rows.drop(["ill"]), rules)


# ---- what nobody has ----------------------------------------------------------------------------


@pytest.mark.complete
def test_a_policy_outlives_a_table(tmp_path):
    rules = fk.Policy(
        [
            fk.Requirement(fk.Facts(0, 2, 0), below="3/4"),
            fk.Requirement(fk.Facts(), below="1/2", values=["Syphilis"]),
            fk.Requirement(fk.Facts(), below="1/2", any_of={"lungs": ["Asthma", "COPD*"]}),
            fk.Requirement(fk.Facts(), below="4/5", excluded=["HIW"]),
        ],
        SCHEMA,
    )
    made = written(["HIV", "Flu", "Cold", "Gout", "Ache"] * 20, rules, tmp_path / "out")
    for scope in (made.audit.scope, fk.verify(tmp_path / "out").scope):
        assert scope.idle == ("Syphilis", "lungs")
        assert scope.absent == (("Asthma", ""), ("COPD*", ""), ("HIW", "HIV"), ("Syphilis", ""))
    assert made.audit.notes[:3] == (
        "Nobody has Syphilis: a requirement on it asks nothing of this table.",
        "Nobody has lungs: a requirement on it asks nothing of this table.",
        "Requirements name what nobody in the table has: 'Asthma', 'COPD*', 'HIW'. Did you mean "
        "'HIV' for 'HIW'?",
    )
    assert [v.safe for v in made.audit.verdicts] == [True] * 4
    assert made.audit.to_dict()["scope"]["idle"] == ["Syphilis", "lungs"]
    report = (tmp_path / "out" / "report.html").read_text()
    assert report.count("asks nothing</span>") == 4
    assert "Safe: both requirements hold; 2 ask nothing of this table" in report
    assert "Nobody has Syphilis: a requirement on it asks nothing of this table." in report


def test_report_of_nothing_asked(desk):
    idle = desk.put("p.toml", POLICY.replace('"flu"', '"gout"'))
    asked = "table.csv", "--policy", "p.toml"
    code, _, err = desk.run("publish", *asked, "--out", "out")
    assert code == 1
    assert "nothing was judged: nobody has a value" in " ".join(err.split())
    assert not (desk.folder / "out").exists()
    code, out, err = desk.run("compare", *asked, "--queries", 20)
    assert code == 1
    assert " ".join(out.split()).startswith("Nothing was judged: nobody has a value")
    desk.run("audit", *asked, "--html", "page.html")
    code, out, _ = desk.run("audit", *asked)
    report = (desk.folder / "page.html").read_text()
    assert code == 1
    for shown in (" ".join(out.split()), report):
        assert "Nothing was judged: nobody has a value that the requirement is about" in shown
        assert "Safe" not in shown
    assert '<header class="verdict plain">' in report
    code, out, _ = desk.run("audit", *asked, "--json", "-")
    told = json.loads(out)
    assert (code, told["safe"], told["nothing_judged"]) == (1, False, True)
    audit = fk.audit(desk.folder / "table.csv", fk.Policy.load(idle))
    assert (audit.safe, audit.idle) == (False, True)
    assert "nothing was judged" in repr(audit)
    assert "None" not in repr(audit.verdicts[0])


def test_idle_release_is_not_verified(desk):
    desk.put("idle.toml", POLICY.replace('"flu"', '"gout"'))
    desk.says("publish", "table.csv", "--policy", "policy.toml", "--out", "out")
    desk.says("verify", "out")
    code, out, err = desk.run("verify", "out", "--policy", "idle.toml")
    assert (code, out) == (1, "")
    assert "nothing was judged" in err
    rules, place = fk.Policy.load(desk.folder / "idle.toml"), desk.folder / "out"
    told = json.loads((place / "certificate.json").read_text())
    told["policy"]["require"] = rules.published()["require"]
    told["findings"] = [fk.audit(place, rules).verdicts[0].to_dict()]
    told["scope"] |= {"unprotected": {"cold": 4, "flu": 4}}
    told["scope"] |= {"absent": [["gout", ""]], "idle": ["gout"]}
    (place / "certificate.json").write_text(json.dumps(told))
    for read in (fk.verify, fk.evidence_report):
        with pytest.raises(CertificateError, match="nothing was judged"):
            read(place)


def test_newcomers_may_have_none(tmp_path):
    rows, more = (
        table_of(["HIV", "Flu", "Cold", "Gout"] * 20),
        table_of(["Flu", "Cold"] * 30, seed=2),
    )
    rows = rows.append_column("pid", [[str(i) for i in range(80)]])
    more = more.append_column("pid", [[str(i) for i in range(100, 160)]])
    schema = fk.Schema(quasi_identifiers=["age", "sex"], sensitive="ill", identifiers=["pid"])
    rules = policy(values=["HIV"], schema=schema)
    fk.publish(rows, rules, seed=1).write(tmp_path / "one")
    made = fk.publish(more, rules, seed=1, after=tmp_path / "one")
    made.write(tmp_path / "two")
    assert (made.audit.idle, made.together.safe) == (True, True)
    assert fk.verify(tmp_path / "two", after=tmp_path / "one").together
    with pytest.raises(CertificateError, match="name the releases before it"):
        fk.verify(tmp_path / "two")
    third = more.set_column(more.num_columns - 1, "pid", [[str(i) for i in range(200, 260)]])
    before = [tmp_path / "one", tmp_path / "two"]
    fk.publish(third, rules, seed=1, after=before).write(tmp_path / "three")
    assert fk.verify(tmp_path / "three", after=before).together
    with pytest.raises(fk.NoSafeRelease, match="nothing was judged"):
        fk.publish(more, policy(values=["Mumps"], schema=schema), after=tmp_path / "one")


# ---- what looks like a value that somebody has ---------------------------------------------------


@pytest.mark.parametrize(
    ("about", "near"),
    [
        ({"values": ["AIDZ"]}, "AIDS"), ({"values": ["aids"]}, "AIDS"),
        ({"any_of": ["B20", "A1DS"]}, "AIDS"), ({"values": ["007"]}, "7"),
        ({"any_of": {"HIV": ["b 2O"], "flu": ["Flu"]}}, "B20"), ({"any_of": ["b2*"]}, "B20"),
        ({"excluded": ["Breastcancer"]}, "Breast cancer"), ({"excluded": ["1.200,50"]}, "1200.50"),
    ],
)  # fmt: skip
def test_misspelt_values_are_refused(about, near):
    counts = bags_of(["AIDS", "B20", "Breast cancer", "1200.50", "7", "Flu"])
    with pytest.raises(PolicyError, match=f"nobody has .*, and somebody has '{near}'") as refused:
        fk.audit(counts, policy(**about))
    way = json.loads(str(refused.value).partition("add absent = ")[2].partition(" to the")[0])
    assert way[0] not in dict(fk.audit(counts, policy(**about, absent=way)).scope.absent)
    rows = pa.table({"age": [1] * 6, "sex": ["f"] * 6, "ill": counts.values})
    with pytest.raises(PolicyError, match="nobody has"):
        fk.publish(rows, policy(**about))


def test_other_values_are_noted():
    known = ["B20", "Hepatitis B", "Stage II", "male", "asymptomatic", "1.5", "HER2+", "Flu"]
    others = [
        "B24",
        "B2",
        "B20.*",
        "Hepatitis A",
        "Stage III",
        "female",
        "symptomatic",
        "15",
        "HER2-",
    ]
    for text in others:
        audit = fk.audit(bags_of(known), policy(values=[text, "Flu"]))
        assert text in dict(audit.scope.absent)
    for absent in ([], ["1200.5"]):
        with pytest.raises(PolicyError, match=r"'1200\.50' is the same number"):
            fk.audit(bags_of(["1200.50", "7", "Flu"]), policy(values=["1200.5"], absent=absent))


def test_absent_is_only_for_owner(tmp_path):
    rules = policy(any_of=["b-20", "Flu"], absent=["b-20"])
    rules.save(tmp_path / "policy.toml")
    assert fk.Policy.load(tmp_path / "policy.toml").requirements[0].absent == ("b-20",)
    made = written(["B20", "Flu", "Cold", "Gout", "Ache"] * 20, rules, tmp_path / "out")
    assert "absent" not in made.certificate.policy["require"][0]
    fk.verify(tmp_path / "out", rules)
    with pytest.raises(CertificateError, match="nobody has 'b-20'"):
        fk.verify(tmp_path / "out", policy(any_of=["b-20", "Flu"]))
    place = tmp_path / "out" / "certificate.json"
    told = json.loads(place.read_text())
    told["policy"]["require"][0]["absent"] = ["b-20"]
    place.write_text(json.dumps(told))
    with pytest.raises(CertificateError, match="absent"):
        fk.verify(tmp_path / "out")


def test_label_of_nobody_is_fine():
    rows = [["B20", "HIV", "*"], ["Z21", "HIV", "*"], ["J11", "flu", "*"], ["M1", "M", "*"]]
    schema = fk.Schema(
        quasi_identifiers=["age"], sensitive="ill", hierarchies={"ill": fk.Tree(rows)}
    )
    counts = bags_of(["J11", "M1"])
    audit = fk.audit(counts, policy(schema=schema, any_of="HIV"))
    assert (audit.safe, audit.scope.idle) == (False, ("HIV",))
    assert fk.audit(counts, policy(schema=schema, at_level=1, excluded=["HIV"])).scope.idle == ()
    with pytest.raises(PolicyError, match="'HVI'"):
        fk.audit(counts, policy(schema=schema, any_of="HVI"))
    with pytest.raises(fk.InputError, match="'HIV'"):
        fk.skyline(counts, confidence="1/2", any_of="HIV", policy=policy(schema=schema, any_of="M"))


# ---- near, but all alike ------------------------------------------------------------------------

NEAR = fk.Policy([fk.Requirement(fk.Facts(), below=1, within="0.5")])


@examples(2000, daily=40)
@given(
    st.lists(st.lists(st.integers(0, 40), min_size=1, max_size=6), min_size=1, max_size=12).filter(
        lambda bags: len({x for bag in bags for x in bag}) > 1
    )
)
def test_groups_in_tenth_are_counted(bags):
    audit = fk.audit(bags_of(*bags), NEAR)
    found = {end: (groups, people) for _, end, _, groups, people in audit.scope.extremes}
    assert (found.get("lowest"), found.get("highest")) == of_tenths(bags)


@pytest.mark.complete
def test_groups_in_tenths_are_verified(tmp_path):
    chance = random.Random(5)
    incomes = [chance.randrange(9_000, 15_000) for _ in range(90)]
    incomes += [chance.randrange(20_000, 60_000, 7) for _ in range(810)]
    incomes += [chance.randrange(70_000, 99_000, 3) for _ in range(90)]
    schema = fk.Schema(quasi_identifiers=["age"], sensitive="income")
    rules = fk.Policy([fk.Requirement(fk.Facts(0, 1, 0), below="3/4", within="10%")], schema)
    rows = pa.table({"age": [20 + i // 20 for i in range(990)], "income": incomes})
    for form in ("generalized", "bucketized"):
        made = fk.publish(rows, rules, form=form)
        made.write(tmp_path / form)
        assert made.audit.safe
        extremes = fk.verify(tmp_path / form).scope.extremes
        assert extremes == made.audit.scope.extremes
        assert [end for _, end, *_ in extremes] == ["highest", "lowest"]
        _, _, value, groups, people = extremes[1]
        said = (
            "Near values are hidden, but not that they are all low: in "
            f"{groups} groups ({people} people) everybody's value is at most {value}, in the "
            "lowest tenth of the table."
        )
        assert f"{said} A range can be a secret, too, by any_of in the policy." in made.audit.notes
        assert said.replace("'", "&#39;") in (tmp_path / form / "report.html").read_text()
        path = tmp_path / form / "certificate.json"
        read = json.loads(path.read_text())
        read["scope"]["extremes"][1][3] -= 1
        path.write_text(json.dumps(read))
        with pytest.raises(CertificateError, match="scope: extremes is"):
            fk.verify(tmp_path / form)
