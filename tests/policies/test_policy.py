"""Policies and schemas, with every mistake; codes; ways out, which advice comes first."""

import csv
import re
import tomllib
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise, product
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from tests.common import NIGHTLY
from tests.people import EASY, people
from tests.people import schema as people_schema

import foreknow as fk
from foreknow import Facts, Policy, Requirement, Schema, sample
from foreknow.errors import CallError, HierarchyError, SchemaError
from foreknow.methods.protocol import as_written
from foreknow.methods.registry import method_of
from foreknow.planning.advice import advice_of
from foreknow.planning.costs import (
    KeptDetail,
    kept_by,
    reliefs,
    sample_of,
)
from foreknow.policy.codes import classes_of, with_codes
from foreknow.policy.way_out import skyline_within
from foreknow.toml import toml_key, toml_value
from foreknow_judge.errors import InputError, PolicyError

REQUIRE = "[[require]]\nfacts = { l = 1 }\nbelow = 0.5\n"
SCHEMA = '[schema]\nquasi_identifiers = ["age"]\nsensitive = "disease"\n'
SEX = "sex,value,probability\nm,Flu,0.1\nm,HIV,1/3\nf,Flu,0.003\nf,HIV,0.997\n"
RACE = "race,value,probability\nw,Flu,0.5\nw,HIV,0.5\nb,Flu,0.5\nb,HIV,0.25\n"


@pytest.fixture
def load(tmp_path):
    """Load a policy file with some content, beside two tables of priors."""

    def load(content):
        (tmp_path / "sex.csv").write_text(SEX)
        (tmp_path / "race.csv").write_text(RACE)
        path = tmp_path / "policy.toml"
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return Policy.load(path)

    return load


def required(below=0.5, **more):
    return Requirement(Facts(l=1), below, **more)


def schema(**more):
    return Schema(**{"quasi_identifiers": ["age", "zip"], "sensitive": "disease"} | more)


# ---- what cannot be meant in a file ------------------------------------------------------------

SHORT = {"S;": SCHEMA, "R;": REQUIRE, "P;": 'priors = { file = "sex.csv" };'}
IN_FILE = {
    "whole": "{}\n",
    "schema": f"{SCHEMA}{{}}\n{REQUIRE}",
    "publish": f"{REQUIRE}[publish]\n{{}}",
    "require": "[[require]]\n{}\n",
}


def files_refused():
    """Contents of files, and what is said of each."""
    lines = Path(__file__).with_name("refused.txt").read_text("utf-8").splitlines()
    frame = ""
    for line, below in pairwise(lines):
        if (name := line.strip("[]")) in IN_FILE:
            frame = IN_FILE[name]
        elif frame and not line.startswith("    "):
            for short, long in SHORT.items():
                line = line.replace(short, long)
            yield frame.replace("{}", line.replace(";", "\n"), 1), below.strip()


FILES = [*files_refused()]


@pytest.mark.parametrize(("content", "says"), FILES, ids=range(len(FILES)))
def test_files_that_cannot_be_meant(load, content, says, tmp_path):
    (tmp_path / "copy.csv").write_text(SEX)
    with pytest.raises(InputError) as caught:
        load(content)
    text = str(caught.value)
    assert "policy.toml" in text
    for part in says.removesuffix("$").split(" .* "):
        assert part in text
    assert not says.endswith("$") or text.endswith(says[:-1])


def test_files_that_cannot_be_read(load, tmp_path):
    with pytest.raises(PolicyError, match=r"'.*nowhere\.toml'"):
        Policy.load(tmp_path / "nowhere.toml")
    with pytest.raises(PolicyError, match="is a folder, and no policy"):
        Policy.load(str(tmp_path))
    with pytest.raises(PolicyError, match=r"policy\.toml', line \d+: not UTF-8; save it again"):
        load(REQUIRE.encode() + "# é\n".encode("latin-1"))
    for table, kind in ((None, "NoneType"), ([1], "list"), (5, "int")):
        with pytest.raises(PolicyError, match=f"expected the tables of a policy, not {kind}"):
            Policy.from_dict(table)


# ---- what cannot be meant in Python ------------------------------------------------------------

NO_NUMBER = "is not a number; write one such as 0.95, or"
OUTSIDE = "requirement: below: a threshold must be above 0 and at most 1"
MICRODATA = fk.Microdata(people(), people_schema())
PYTHON = [
    (lambda: required(Fraction(-1, 2)), PolicyError, OUTSIDE),
    *((lambda x=x: required(x), PolicyError, NO_NUMBER) for x in ("50%", Decimal("NaN"), b"1/2")),
    (lambda: Requirement(Facts()), PolicyError, "threshold is missing; give below = a number"),
    (lambda: required(values="AIDS", name="HIV"), PolicyError, "HIV: values must be a list, such"),
    (lambda: Requirement([Facts(l=1)]), PolicyError, "a list of (adversary, below) pairs"),
    (lambda: Policy([]), PolicyError, "requires nothing; add at least one [[require]]"),
    (lambda: Policy([required()], options={"from": "x"}), CallError, "did you mean 'form'"),
    (
        lambda: schema(quasi_identifiers={"age": [5]}),
        *(SchemaError, "quasi_identifiers lists columns"),
    ),
    (lambda: schema(semantics="sets"), SchemaError, "semantics is 'sets'; did you mean 'set'"),
    (lambda: schema(types={"age": "nubmer"}), SchemaError, "did you mean 'number'"),
    (lambda: schema(hierarchies={"age": 5}), SchemaError, "must be a Hierarchy or a table"),
    (lambda: schema(hierarchies={"age": {"file": "no.csv"}}), HierarchyError, "'age', 'file': "),
    (lambda: fk.publish(people().to_pandas(), EASY), SchemaError, "sensitive=...)"),
    (lambda: fk.publish(MICRODATA, "p.toml"), PolicyError, "the policy 'p.toml' does not exist"),
    (lambda: fk.publish(MICRODATA, 0.5), InputError, "the path of one, not float; see Policy.load"),
    (lambda: fk.publish(MICRODATA, EASY, method="mondrain"), PolicyError, "'mondrian'?"),
    (lambda: fk.publish(MICRODATA, EASY, seed=-1), InputError, "a whole number from 0, not -1"),
    (lambda: fk.Microdata(people(), {}), SchemaError, "expected a Schema, not dict; see fk.Schema"),
    (
        lambda: fk.Release.from_groups(people(), group=["age"], sensitive="disease"),
        *(SchemaError, "group must be the name of one column, not ['age']"),
    ),
    (lambda: Policy([{"below": 0.5}]), PolicyError, "expected a Requirement, not dict; "),
]


@pytest.mark.parametrize(("make", "kind", "says"), PYTHON, ids=range(len(PYTHON)))
def test_calls_that_cannot_be_meant(make, kind, says):
    with pytest.raises(InputError) as caught:
        make()
    assert type(caught.value) is kind
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)


# ---- the JSON Schema, and policies that are saved ----------------------------------------------


@pytest.mark.parametrize("more", [{}, {"try": [{"learned": {"by": ["job"]}, "stop": 0.85}]}])
def test_policies_are_saved(more, tmp_path):
    roles = {
        "quasi_identifiers": ["age", "zip code"],
        "sensitive": "ill",
        "other": ["job"],
        "hierarchies": {"zip code": {"mask": 5}},
        "reading": {"missing": ["NA", "k. A."]},
    }
    rules = [
        {"facts": [{"l": 1, "below": "1/3"}, {"k": 2, "below": "0.5"}], "values": ['"B20"']},
        {"any_of": {"HIV": ["B20", "Z21"]}, "facts": {"k": 1}, "below": 0.25},
        {"k_anonymity": 5},
        {"t_closeness": {"t": "0.2"}, "name": "near"},
    ]
    publish = {"method": "fulldomain", "fulldomain": {"suppression": 0.05}}
    policy = Policy.from_dict({"schema": roles, "require": rules, "publish": publish, **more})
    path = tmp_path / "p.toml"
    policy.save(path)
    again = Policy.load(path)
    assert again.to_dict() == policy.to_dict()
    assert again.requirements == policy.requirements
    with pytest.raises(fk.ForeknowError, match="exists"):
        policy.save(path)
    with pytest.raises(fk.ForeknowError, match=r"marital\.csv.*beside it"):
        Policy.load(sample.policy_path()).save(tmp_path / "q.toml")
    assert not (tmp_path / "q.toml").exists()


# ---- A revised list of codes: an old code and its successors are one secret, in every release ----


PAIRS = [["F", "F0"], ["F", "F1"], ["G", "G0"]]
SCHEMA_CODES = {"identifiers": ["pid"], "quasi_identifiers": ["ward"], "sensitive": "ill"}
LOOSE = "999999/1000000"


def policy(*required, pairs=PAIRS, **schema):
    return fk.Policy.from_dict({
        "schema": {**SCHEMA_CODES, "codes": {"map": pairs}, **schema},
        "require": [{"below": LOOSE, **each} for each in required],
        "publish": {"labels": {"ward": "exact"}},
    })  # fmt: skip


@pytest.mark.parametrize(
    ("requirement", "expected"),
    [
        ({"facts": {}}, [None, {"F or F0 or F1", "G or G0"}]),
        ({"facts": {}, "values": ["F0", "x"]}, [None, {"F or F0 or F1"}]),
        ({"facts": {}, "values": ["F*"]}, [None, {"F or F0 or F1"}]),
        ({"facts": {}, "values": ["x"]}, [None]),
        ({"negations": {"k": 1}, "any_of": {"a": ["G0"]}}, [{"a"}]),
        ({"facts": {}, "except": ["G", "G0"]}, [None, {"F or F0 or F1"}]),
        ({"facts": {}, "except": ["G"]}, [None, {"F or F0 or F1", "G or G0"}]),
        ({"facts": {}, "any_of": ["F", "x"]}, [["F", "x", "F0", "F1"]]),
        ({"l_diversity": {"l": 2}}, [None, {"F or F0 or F1", "G or G0"}]),
        ({"k_anonymity": 2}, [None]),
        ({"facts": {}, "sensitive": "pay"}, [None]),
    ],
)
def test_what_a_requirement_becomes(requirement, expected):
    schema = {
        **SCHEMA_CODES,
        "sensitive": ["ill", "pay"],
        "codes": {"map": PAIRS, "sensitive": "ill"},
    }
    asked = {"sensitive": "ill", **requirement}
    result = with_codes({"schema": schema, "require": [asked]}, None)["require"]
    sets = [each.get("any_of") for each in result]
    assert [{*own} if isinstance(own, dict) else own for own in sets] == expected


def test_unclear_maps_are_refused(tmp_path):
    for pairs, said in (
        ([["a", "b"], ["b", "c"]], "write a, c and b, c"),
        ([["a", "a"]], "needs another name in the table"),
        ([["a", "b"], ["b", "a"]], "an old code and a new one"),
        ([], "no rows"),
        ([["a"]], "row 1 is no pair"),
        ([["a*", "b"]], "write each code by itself"),
    ):
        with pytest.raises(fk.InputError, match=said):
            policy({"facts": {}}, pairs=pairs)
    assert classes_of([("a", "c"), ("b", "c")]) == [["a", "b", "c"]]  # what the first one says
    for requirement in ({"facts": {}, "at_level": 1}, {"facts": {}, "any_of": "label"}):
        with pytest.raises(fk.InputError, match=r'any_of = \["F", "F0", "F1"\]'):
            policy(requirement)
    policy({"facts": {}, "any_of": ["F", "F0", "F1"]})  # as it says
    mental = {"old": {"from": 290, "to": 319}}  # which may hold 290, and not its successor 2900
    with pytest.raises(fk.InputError, match=r'any_of\.old = \["290", "2900"\]'):
        policy({"facts": {}, "any_of": mental}, pairs=[["290", "2900"]])
    for key in ("values", "except", "absent"):
        with pytest.raises(fk.InputError, match=f"{key} must be a list"):
            policy({"facts": {}, key: 5})
    for sensitive in (5, []):
        tables = {"schema": {**SCHEMA_CODES, "sensitive": sensitive, "codes": {"map": PAIRS}}}
        with pytest.raises(fk.InputError, match="sensitive"):
            fk.Policy.from_dict({**tables, "require": [{"k_anonymity": 2}]})
    path = tmp_path / "map.csv"
    for text, said in (("alt;neu\nF;F0\n", "the first line is old,new"), ("", "first line")):
        path.write_text(text)
        with pytest.raises(fk.InputError, match=said):
            policy({"facts": {}}, pairs=str(path))
    with path.open("w", encoding="utf-8-sig", newline="") as file:
        csv.writer(file).writerows([["old", "new"], *PAIRS])
    assert len(policy({"facts": {}}, pairs=str(path)).requirements) == 2
    with pytest.raises(fk.InputError, match="does not exist"):
        policy({"facts": {}}, pairs=str(tmp_path / "none.csv"))


@pytest.mark.parametrize(
    ("values", "pairs"),
    [
        (["F10", "F10", "F12", "F12", "G"], [["F1", "F1.0"], ["F1", "F1.2"]]),
        (["12", "12", "13", "13", "9"], [["0007", "00012"], ["0007", "00013"]]),
    ],
)
def test_misspelt_maps_are_refused(values, pairs):
    """Otherwise nobody would have a code of the class, and it would be safe for that reason."""
    people = {"pid": [*"abcde"], "ward": ["w"] * 5, "ill": values}
    with pytest.raises(fk.InputError, match="write it as the table does"):
        fk.publish(pa.table(people), policy({"facts": {}}, pairs=pairs))
    known = {**people, "ill": ["F1.0", "F1.2", "x", "y", "z"]}
    assert fk.publish(pa.table(known), policy({"facts": {}}, pairs=PAIRS)).audit.verdicts


@pytest.mark.parametrize("written", ["b20", "B 20", "B20.", "B-20", "\u0412 20"])
def test_maps_write_as_tables_do(written, tmp_path):
    """Somebody has another code of the class, and B20 would not be counted with it."""
    people = {"pid": [*range(10)], "ward": ["w"] * 10, "ill": ["B20"] * 3 + ["Z21"] * 2 + ["x"] * 5}
    table, pairs = pa.table(people), [[written, "Z21"]]
    with pytest.raises(fk.InputError, match=r"nobody has .* and somebody has 'B20'"):
        fk.audit(table, policy({"facts": {}}, pairs=pairs))
    for asked in ({"values": ["B20"]}, {"any_of": ["B20"]}, {"except": ["B20"]}):
        with pytest.raises(fk.InputError, match="write both as the table does"):
            policy({"facts": {}, **asked}, pairs=pairs)
    rules = [{"values": ["B20"], "where": {"ward": ["x"]}}]
    with pytest.raises(fk.InputError, match="impossible names 'B20'"):
        policy({"facts": {}}, pairs=pairs, impossible=rules)
    policy({"facts": {}, "absent": [written]}, pairs=pairs).save(tmp_path / "saved.toml")
    with pytest.raises(fk.InputError, match=r"nobody has .* and somebody has 'B20'"):
        fk.audit(table, fk.Policy.load(tmp_path / "saved.toml"))
    both = policy({"facts": {}}, pairs=[*pairs, ["B20", "Z21"]])  # as the message says
    assert fk.audit(table, both).verdicts[1].reached == Fraction(1, 2)


def test_misspelt_words_of_maps():
    """Somebody has another code of the class, and AIDS would not be counted with it."""
    people = {"pid": [*range(8)], "ward": ["w"] * 8, "ill": ["AIDS", "B20", "Flu", "Cold"] * 2}
    table, pairs = pa.table(people), [["AIDZ", "B20"]]
    for asked in ({}, {"values": ["B20"]}, {"any_of": ["B20"]}):
        with pytest.raises(fk.InputError, match=r'has .AIDS.: .* add absent = \["AIDZ"\]'):
            fk.audit(table, policy({"facts": {}, **asked}, pairs=pairs))
        rules = policy({"facts": {}, **asked, "absent": ["AIDZ"]}, pairs=pairs)  # as it says
        assert fk.audit(table, rules).verdicts[-1].reached == Fraction(1, 4)
    both = policy({"facts": {}, "values": ["AIDZ", "B20"]}, pairs=[["AIDS", "AIDZ"]])
    assert fk.audit(table, both).verdicts[1].reached == Fraction(1, 4)  # known to be one code


def test_sets_come_last():
    """What messages call `require[1]` is the second requirement in the file."""
    rules = policy({"facts": {}}, {"facts": {}, "values": ["F0"], "name": "x"}, {"facts": {"l": 1}})
    names = ["require[0]", "x", "require[2]"]
    assert [requirement.name for requirement in rules.requirements] == [
        *names, *(f"{name} (old and new codes)" for name in names)
    ]  # fmt: skip


def test_rules_are_on_all_codes():
    """Who cannot have an old code cannot have its successors."""
    men = {"ward": ["men"]}
    ruled = policy({"facts": {"l": 1}}, impossible=[{"values": ["F0"], "where": men}])
    assert ruled.schema.impossible[0].values == ("F0", "F", "F1")
    rows = {"ward": ["men", "men", "women", "women"], "ill": ["G", "u", "F1", "u"]}
    table = pa.table({"pid": [1, 2, 3, 4], **rows})
    assert fk.audit(table, ruled).verdicts[0].found.exact == 1
    wrong = table.set_column(2, "ill", [["F1", "u", "F1", "u"]])
    with pytest.raises(fk.InputError, match="row 1 has 'F1' in 'ill', which is impossible"):
        fk.audit(wrong, ruled)
    of_two = {"sensitive": ["ill", "wage"], "codes": {"map": PAIRS, "sensitive": "ill"}}
    other = {"values": ["F0"], "where": men, "sensitive": "wage"}
    table = {"schema": {**SCHEMA_CODES, **of_two, "impossible": [other]}, "require": []}
    assert with_codes(table, None)["schema"]["impossible"] == [other]


AGES = {"schema": {"quasi_identifiers": ["age"], "sensitive": "ill"}}


@pytest.mark.parametrize("share", ["date", "1/0", "1e999", "-1", "150%"])
def test_wrong_shares_are_refused(share):
    """A text that is no share ended in a traceback, on the local page, too."""
    policy = {**AGES, "require": [{"k_anonymity": 2}], "publish": {"suppression": share}}
    with pytest.raises(fk.InputError, match="suppression: it should be"):
        fk.publish(pa.table({"age": [1, 1], "ill": ["a", "b"]}), policy)


@pytest.mark.parametrize("key", ["copy", "model_config", "__base__", "_x", "schema"])
def test_names_of_models_are_unknown(key):
    """A table called like a part of the model of policies ended in a traceback or a warning."""
    policy = {**AGES, "require": [{"k_anonymity": 2}], "publish": {key: {"cuts": 2}}}
    with pytest.raises(fk.InputError, match=f"unknown key publish.{key}"):
        fk.Policy.from_dict(policy)


# where nothing is safe, every line that is named leads to a release; which advice comes first.

HEAD = {"quasi_identifiers": ["age"], "sensitive": "ill"}


def table(values, **more):
    return pa.table({"age": [20 + i % 7 for i in range(len(values))], "ill": list(values), **more})


def asking(*required, **roles):
    return {"schema": {**HEAD, **roles}, "require": list(required)}


def ways(error):
    """(table, lines to paste) of each way out, as a reader finds them in the message."""
    pairs, name, lines = [], None, []
    for line in str(error).splitlines()[1:]:
        if not line.startswith("  "):
            name = line.removeprefix("In ").partition(", ")[0]
            continue
        lines.append(line.strip())
        if "  # " in line:
            pairs.append((name, "\n".join(lines)))
            lines = []
    assert not lines
    return pairs


def pasted(policy, name, lines):
    """The policy with some lines in one of its tables, in place of those with their keys."""
    changed = {**policy, "require": [dict(each) for each in policy["require"]]}
    if name == "[publish]":
        changed["publish"] = {**policy.get("publish", {}), **tomllib.loads(lines)}
        return changed
    place = [r.get("name", f"require[{i}]") for i, r in enumerate(policy["require"])].index(name)
    changed["require"][place] |= tomllib.loads(lines)
    return changed


def grouped(rows, policy, method):
    """Whether the groups that a method makes hold the policy."""
    rules = fk.Policy.from_dict(policy)
    microdata = fk.Microdata(rows, rules.schema)
    groups = {"mondrian": fk.Mondrian(), "fulldomain": fk.FullDomain()}[method]
    counts = rules.combined(microdata).counts(groups.partition(microdata, rules)[microdata.kept])
    return not rules.failures(counts)


def published(rows, policy, method):
    """The same of a release that is written and verified, which takes longer."""
    return fk.publish(rows, policy, method=method).audit.safe


def check(rows, policy, method="mondrian", holds=grouped):
    """Make groups with each line that the refusal names; give the lines."""
    with pytest.raises(fk.NoSafeRelease) as caught:
        holds(rows, policy, method)
    pairs = ways(caught.value)
    for name, lines in pairs:
        assert holds(rows, pasted(policy, name, lines), method), lines
    return [lines for _, lines in pairs]


# ---- ways out ----------------------------------------------------------------------------------


@pytest.mark.complete
def test_several_requirements():
    rows = table(["flu"] * 6 + ["cold"] * 4)
    policy = asking({"name": "one", "facts": {}, "below": 0.5}, {"k_anonymity": 50, "name": "two"})
    with pytest.raises(fk.NoSafeRelease, match="Each of the 2 requirements needs one") as caught:
        fk.publish(rows, policy)
    lines = dict(reversed(ways(caught.value)))
    assert set(lines) == {"one", "two"}
    for name in lines:
        policy = pasted(policy, name, lines[name])
    assert fk.publish(rows, policy).audit.safe
    some = {"name": "some", "values": ["flu"], "facts": {}, "below": 0.5}
    policy = asking(some, {"name": "every", "facts": {}, "below": 0.605})
    assert not any(line.startswith("below") for line in check(rows, policy))  # they contradict


@pytest.mark.complete
def test_facts_of_priors():
    """The facts of priors are no line of a policy: typed beside the priors, it was refused."""
    chances = pa.table({"age": [20, 20], "value": ["flu", "cold"], "probability": [0.5, 0.5]})
    priors = fk.Priors(chances, facts=fk.Facts(3, 3, 3))
    policy = fk.Policy([fk.Requirement(priors, at_most="3/4")], fk.Schema(**HEAD))
    with pytest.raises(fk.NoSafeRelease, match="no single line is enough") as caught:
        fk.publish(table(["flu", "cold"] * 5), policy, method="mondrian")
    assert not ways(caught.value)


@pytest.mark.complete
def test_odd_values_can_be_pasted():
    odd = ['a"b', "a\nb", "\u202ex", "x\\", "\xa0", "😀", "#", "a\x7fb"]
    for value in odd:
        assert tomllib.loads(f"{toml_key(value)} = {toml_value([value])}") == {value: [value]}
    for value in odd[:3]:
        lines = check(table([value] * 5 + ["b", "c"]), asking({"facts": {}, "below": 0.5}))
        assert any(line.startswith("except") for line in lines)


@pytest.mark.complete
def test_the_skyline_within_a_box():
    """Against all of its points."""
    random = np.random.default_rng(5)
    for _ in range(200 if NIGHTLY else 25):
        most = random.integers(0, 5, int(random.integers(1, 4))).tolist()
        weights = random.integers(0, 4, len(most))
        limit = int(random.integers(-1, 12))
        fits = [p for p in product(*(range(m + 1) for m in most)) if weights @ p <= limit]
        top = [p for p in fits if not any(q != p and np.all(np.subtract(q, p) >= 0) for q in fits)]
        assert sorted(skyline_within(most, lambda p, w=weights, c=limit: w @ p <= c)) == top
    # Of too many points, those with one amount less.
    skyline = skyline_within([50, 60, 70], lambda p: sum(p) <= 170)
    assert skyline == [(40, 60, 70), (50, 50, 70), (50, 60, 60)]
    assert skyline_within([10**30], lambda p: p[0] <= 3) == [(3,)]


# ---- advice where everybody is in one group ----------------------------------------------------


# ---- what costs detail -------------------------------------------------------------------------

FARS = Path(__file__).resolve().parents[3] / "shared" / "data" / "fars.csv"
DEATHS = {"quasi_identifiers": ["month", "race", "sex"], "sensitive": "injury"}
LIMIT = {"facts": {"l": 0, "k": 3, "m": 1}, "below": 0.7}


def deaths(many=2000, **more):
    """A register of accidents in which the month of death says who died."""
    random = np.random.default_rng(1)
    died = random.random(many) < 0.4
    return pa.table(
        {
            "month": np.where(died, random.integers(1, 13, many), 0),
            "race": np.where(died, random.integers(1, 5, many), 0),
            "sex": random.choice(["f", "m"], many),
            "age": random.integers(0, 90, many),
            "state": random.integers(1, 51, many),
            "injury": np.where(died, "fatal", random.choice(["none", "minor", "major"], many)),
            **more,
        }
    )


def costs_of(table, policy, cells=50_000):
    """The table as written, a sample of it, and what a publication of the sample would keep."""
    policy, method = fk.Policy.from_dict(policy), fk.Mondrian()
    written = as_written(method, policy.microdata(table), policy)
    sample = sample_of(written, policy, cells)
    return policy, method, written, sample, kept_by(method, sample, policy)


@pytest.mark.complete
def test_the_sample_is_the_same():
    """And has values as often as the table."""
    policy, method, written, sample, _ = costs_of(deaths(9000), asking(LIMIT, **DEATHS), 3000)
    again = sample_of(written, policy, 3000)
    assert sample.n_people == again.n_people == 1000
    for attribute, other in zip(sample.attributes, again.attributes, strict=True):
        assert attribute.codes.tolist() == other.codes.tolist()
    assert sample.everyone().totals == pytest.approx(written.everyone().totals / 9, abs=1)
    assert kept_by(method, sample, policy) == kept_by(method, again, policy)


@pytest.mark.complete
def test_the_requirement_that_binds():
    """It is found by leaving out and relaxing each."""
    random, many = np.random.default_rng(0), 3000
    columns = {"age": random.integers(20, 80, many), "zip": random.integers(0, 30, many)}
    rows = pa.table({**columns, "ill": random.choice(list("abcdef"), many)})
    roles = {"quasi_identifiers": ["age", "zip"]}
    loose, close = {"facts": {"l": 1, "k": 1, "m": 1}, "below": 0.5}, {"t_closeness": {"t": 0.02}}
    policy, method, _, sample, everything = costs_of(rows, asking(loose, close, **roles))
    first, second = reliefs(method, sample, policy, everything)
    assert (first.place, first.line) == (1, "")
    assert (second.place, second.line[:18]) == (1, "t_closeness = { t ")
    eased = asking(loose, {"t_closeness": {"t": 0.04}}, **roles)
    assert fk.publish(rows, asking(loose, **roles)).counts.n_groups == first.kept_detail.groups
    assert fk.publish(rows, eased).counts.n_groups == second.kept_detail.groups
    advice = fk.publish(rows, asking(loose, close, **roles)).advice
    assert any(said.startswith("require[1] (t_closeness) costs much") for said in advice)
    without = re.compile(
        r"Without 'zip', the other columns would lose \d+% of their detail instead of"
    )
    assert any(map(without.match, advice))
    assert not any("require[0]" in said for said in advice)


TWO = [{"sensitive": "ward", "l_diversity": {"l": 3}}, {"sensitive": "injury", **LIMIT}]


@pytest.mark.skipif(not FARS.exists(), reason=f"there is no {FARS.name} beside the repository")
@pytest.mark.complete
def test_fars():
    """The month of death gives the injury away."""
    roles = {"quasi_identifiers": ["ideathmon", "irace", "isex"], "sensitive": "iinjury"}
    advice = fk.publish(FARS, asking(LIMIT, {"k_anonymity": 5}, **roles)).advice
    assert advice[0].startswith("Worthless: next to nothing is left of ")
    assert any(said.startswith("'ideathmon' gives 'iinjury' away") for said in advice)
    suggested = fk.suggest_policy(FARS, sensitive="iinjury")
    assert any("gives 'iinjury' away" in cost for cost in suggested.costs)
    assert fk.publish(FARS, suggested.policy).advice


# ---- which advice is given: when a release is called worthless, and what is tried first ----------


RANDOM = np.random.default_rng(0)
ROWS_CHOSEN = pa.table({name: RANDOM.integers(0, 9, 40) for name in "abcd"} | {"ill": [*"xy"] * 20})
ROLES = {"quasi_identifiers": [*"abcd"], "sensitive": "ill"}


def said_of(lost, method="mondrian", schema=None, worst=4):
    """What is said of a release that lost so much of its columns."""
    options = fk.PublishOptions(method=method)
    policy = fk.Policy([fk.Requirement(fk.KAnonymity(2))], schema or fk.Schema(**ROLES), options)
    result = KeptDetail(worst, dict(zip("abcd", lost, strict=True)))
    audit = fk.audit(ROWS_CHOSEN, policy, learned=False)
    people = fk.Microdata(ROWS_CHOSEN, policy.schema)
    return [*advice_of(method_of(method, policy), people, policy, audit, result, 0)]


@pytest.mark.complete
def test_columns_without_hierarchy_are_named():
    schema = fk.Schema(**ROLES, hierarchies={"a": fk.Intervals([3])})
    text = said_of((1.0,) * 4, "fulldomain", schema, worst=1)
    flat = next(own for own in text if own.startswith("Without a hierarchy"))
    assert flat.startswith("Without a hierarchy 'b', 'c' or 'd' can only be published as it is")


ROWS = table(["flu"] * 6 + ["cold"] * 5 + ["hiv"] * 4)

ENDS = {"low": {"to": 1100}, "high": {"from": 5000}}

NUMBERS = table([1000, 1010, 1100, 1200, 1400, 5000, 5400])

PEOPLE = pa.table({"who": [1, 1, 2, 3, 4], "age": [20, 20, 30, 30, 41], "ill": list("abaab")})

NAMED = [
    (
        table(["none"] * 8 + list("aabbcd")),
        asking({"values": ["none", "d"], "facts": {"k": 1}, "below": 0.5}),
        'values = ["d"]',
    ),
    (
        table(["flu"] * 14 + ["flux"] * 2 + ["cold"] * 8),
        asking({"values": ["flu*", "Q9"], "facts": {}, "below": 0.5}),
        'values = ["flux", "Q9"]',
    ),
    (NUMBERS, asking({"within": 500, "facts": {}, "below": 0.5}), "within = 1"),
    (NUMBERS, asking({"any_of": ENDS, "facts": {"k": 2}, "below": 0.4}), ""),
    (PEOPLE, asking({"facts": {}, "below": 0.5}, semantics="set", person="who"), ""),
    (ROWS, asking({"negations": {"k": 2}, "below": 0.9}), ""),
    (ROWS, asking({"any_of": ["flu", "hiv"], "facts": {"k": 1}, "below": 0.5}), ""),
    (ROWS, asking({"k_anonymity": 20}), "k_anonymity = 15"),
    (ROWS, asking({"l_diversity": {"l": 4}}), ""),
    (ROWS, asking({"l_diversity": {"l": 3, "kind": "recursive", "c": 1}}), ""),
    (ROWS, asking({"alpha_k": {"alpha": 0.35, "k": 3}}), ""),
    (ROWS, asking({"alpha_k": {"alpha": 0.9, "k": 20}}), ""),
]


@pytest.mark.parametrize("case", NAMED, ids=range(len(NAMED)))
@pytest.mark.complete
def test_lines_that_are_named(case):
    rows, policy, start = case
    method = "fulldomain" if "_" in next(iter(policy["require"][0])) else "mondrian"
    assert any(line.startswith(start) for line in check(rows, policy, method))


def test_texts_of_policies_are_policies():
    schema = Schema(quasi_identifiers=["age", "sex"], sensitive="diagnosis")
    policy = Policy([Requirement(Facts(l=1), below="1/3")], schema)
    assert Policy.from_toml(policy.to_toml()).to_dict() == policy.to_dict()
    with pytest.raises(PolicyError, match="is not valid TOML"):
        Policy.from_toml("[schema]\n= 2")
