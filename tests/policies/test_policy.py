"""Policies and schemas, made in Python or read from files, with every mistake; maps of codes."""

import csv
import math
from decimal import Decimal
from fractions import Fraction

import pyarrow as pa
import pytest
from tests.people import EASY, people
from tests.people import schema as people_schema

import foreknow as fk
from foreknow import Facts, Policy, Requirement, Schema, sample
from foreknow.data.columns.hierarchy import Mask
from foreknow.errors import CallError, HierarchyError, SchemaError
from foreknow.policy.codes import classes_of, with_codes
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


def one(body):
    """A policy with one requirement."""
    return f"[[require]]\n{body}\n"


# ---- what cannot be meant in a file ------------------------------------------------------------

BOTH = REQUIRE + one("facts = { l = 1 }\nbelow = 0.6\nvalues = ['x']")
# A file, and what is said of it.
WHOLE = [
    ("", "require is missing"),
    ("require = []\n", "the policy requires nothing"),
    ("[require]\nfacts = {}\n", "require[0]: the threshold is missing; give below"),
    ("[[require]]\nfacts = {\n", "policy.toml is not valid TOML: .* line 2"),
    (REQUIRE + "[publsh]\n", "unknown key publsh; did you mean 'publish'"),
    (REQUIRE + REQUIRE + "blow = 1\n", "unknown key require[1].blow; did you mean 'below'"),
    ('[schema]\nquasi_identifiers = ["a"]\n' + REQUIRE, "schema.sensitive is missing"),
    (
        SCHEMA + REQUIRE + '[publish]\nlabels = { agee = "set" }',
        "'agee' is no quasi-identifier",
    ),
    (BOTH, "require[1]: below 3/5 for 'x' has no effect, since require[0] asks below 1/2"),
    (
        one('priors = { file = "sex.csv" }\nbelow = 0.5')
        + one('priors = { file = "copy.csv" }\nbelow = 0.6'),
        "against the same Priors",
    ),
]
# A line below [schema], or below [publish].
LINES = [
    ("identifer = []", "unknown key schema.identifer; did you mean 'iden"),
    ("missing = { label = 1 }", "schema.missing"),
    ("missing = { lable = 'x' }", 'missing must be "error", "drop" or'),
    ('reading = { missing_of = { age = ["-1"] } }', "no 'missing_of'; did you mean 'missing'"),
    ("hierarchies = { age = 5.5 }", "schema.hierarchies.age: .* not 5.5"),
    ("hierarchies = { age = { msk = 5 } }", "key 'msk'; did you mean 'mask'"),
    ("hierarchies = { age = { file = 'x' } }", "x' does not exist"),
]
PUBLISH = [
    ("from = 1", "unknown key publish.from; did you mean 'form'"),
    ('labels = { a = "x" }', "publish.labels.a: it should be 'range'"),
    ('escape_formulas = "yes"', "publish.escape_formulas: .* boolean"),
]
WRITTEN_OUT = "below = 0.5\n[require.priors]\ntables = [{ attributes = ['a'], "
# What stands below [[require]]; ";" is a new line, and P is a file of priors.
RULES = [
    ("facts = {};below = 1;value = []", "unknown key require[0].value; values = "),
    ("facts = { ell = 1 };below = 1", "unknown key require[0].facts.ell; known: 'l'"),
    ("facts = { below = 0.5 }", "unknown key require[0].facts.below; known: 'l', 'k', 'm'"),
    ("fact = { l = 1 };below = 1", "unknown key require[0].fact; did you mean 'facts'"),
    ("below = 1", "require[0]: it names no adversary; give one of facts, implications"),
    (
        "facts = {};implications = {};below = 1",
        "several adversaries .* write facts = [",
    ),
    ("implications = { l = 1 };below = 1", "unknown key require[0].implications.l; l_diversity = "),
    ("negations = [{ k = 1 }]", "require[0].negations[0].below is missing"),
    ("facts = { l = 1 }", "require[0]: the threshold is missing; give below"),
    ("facts = {};below = 1e400", "threshold must be above 0 and at most 1"),
    ("facts = {};below = nan", "require[0]: below: NaN is not a number"),
    ("facts = []", "require[0]: a skyline needs at least one point"),
    ("facts = {};below = 1;except = ['x', 'x']", "except names 'x' twice"),
    # in the words of the file and not of our classes
    (
        "facts = 'x';below = 1",
        "require[0].facts: it should be a table, such as { l = 1, k = 3 }, not 'x'$",
    ),
    ("facts = [1]", "require[0].facts[0]: it should be a table, such as { l = 1, k = 3 }, not 1$"),
    ("facts = { l = 1.5 };below = 1", "require[0].facts.l: it should be a whole number, not 1.5$"),
    ("facts = { l = -1 };below = 1", "require[0].facts.l: it should"),
    ("P;below = 0.5;at_most = 0.5", "[0]: give below or at_most, not both"),
    ("P;at_most = 0", "a threshold must be above 0 and at most"),
    ("facts = { l = 1 };at_most = 0.5", "require[0]: Facts needs .* at_most is for priors"),
    ("facts = [{ below = 1 }];below = 1", "require[0]: a skyline has a threshold in each point"),
    ('priors = [{ file = "sex.csv", at_most = 1 }]', "unknown key require[0].priors[0].at_most"),
    ("priors = {};below = 0.5", "require[0].priors .* give file"),
    ('priors = { file = "sex.csv", tables = [] };below = 1', "require[0].priors: give file = "),
    ("priors = { file = [] };below = 0.5", "Priors: give at least one table"),
    (
        'priors = { file = "sex.csv", semantics = "jiont" };below = 0.5',
        "require[0].priors.semantics: it should be 'joint' or 'binary', not 'jiont'",
    ),
    ("P;facts = [{ below = 1 }];below = 1", "several adversaries in one requirement need a thresh"),
    (
        'priors = { file = "sex.csv", facts = {} };facts = {};below = 1',
        "require[0]: facts is given in priors and beside it; keep one",
    ),
    ("P;facts = { l = 1, n = 2 };below = 0.5", "unknown key require[0].priors.facts.n"),
    ("P;facts = { k = 60, m = 41 };below = 1", "at most 100 people are known or linked (k + m)"),
    ('priors = { file = "none.csv" };below = 0.5', "there is no file or folder .* none.csv'"),
    ('priors = { file = ["sex.csv", "sex.csv"] };below = 1', "sex.csv: there are two tables for s"),
    (WRITTEN_OUT + "valeus = [], rows = [] }]", "priors.tables[0].valeus; did you mean 'values'"),
    (
        WRITTEN_OUT + "values = ['x'], rows = [[['m'], [1.5]]] }]",
        "the probability of 'x' for a m is 1.5, not from 0 to 1",
    ),
]
FILES = [
    *WHOLE,
    *((f"{SCHEMA}{line}\n{REQUIRE}", says) for line, says in LINES),
    *((f"{REQUIRE}[publish]\n{line}\n", says) for line, says in PUBLISH),
    *(
        (one(body.replace("P;", 'priors = { file = "sex.csv" };').replace(";", "\n")), says)
        for body, says in RULES
    ),
]


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
LABEL = 'missing must be "error", "drop" or { label'
MICRODATA = fk.Microdata(people(), people_schema())
PYTHON = [
    *((lambda x=x: required(x), PolicyError, OUTSIDE) for x in (0, 0.0, 1.5, -1, "0", "3/2")),
    *((lambda x=x: required(x), PolicyError, OUTSIDE) for x in (Fraction(-1, 2), 1 + 1e-15)),
    *((lambda x=x: required(x), PolicyError, NO_NUMBER) for x in ("x", "", "50%", "1/0", math.nan)),
    *((lambda x=x: required(x), PolicyError, NO_NUMBER) for x in (math.inf, Decimal("NaN"), True)),
    *((lambda x=x: required(x), PolicyError, NO_NUMBER) for x in ([0.5], b"1/2")),
    (
        lambda: Requirement(Facts()),
        PolicyError,
        "threshold is missing; give below = a number",
    ),
    *(
        (lambda more=more: required(**more, name="HIV"), PolicyError, f"HIV: {says}")
        for more, says in [
            ({"values": "AIDS"}, "values must be a list, such as ['AIDS']"),
            ({"values": []}, "values is empty; leave it out to mean every value"),
            ({"values": ["AIDS", "Flu", "AIDS"]}, "values names 'AIDS' twice"),
            ({"values": ["AIDS"], "excluded": ["Flu"]}, "give values or except, not both"),
            ({"values": [1, "1"]}, "values names '1' twice"),
            ({"excluded": {"Flu": 1}}, "except must be a list"),
            ({"any_of": {"from": 1}}, "a range has a name: write any_of = { high = { from = 1 } }"),
        ]
    ),
    *(
        (lambda sky=sky, below=below: Requirement(sky, below), PolicyError, f"requirement: {says}")
        for sky, below, says in [
            ([], None, "a skyline needs at least one point"),
            ([(Facts(), 0.5)], 0.5, "a skyline has a threshold in each point, none beside them"),
            ([Facts(l=1)], None, "a skyline is a list of (adversary, below) pairs"),
            ([(Facts(), 0.5), (Facts(l=1), 2)], None, "a threshold must be above 0 and at most 1"),
            (
                [(Facts(), 0.5), (Facts(), 0.6)],
                None,
                "Facts(l=0, k=0, m=0) has two thresholds",
            ),
        ]
    ),
    (lambda: Policy([]), PolicyError, "requires nothing; add at least one [[require]]"),
    (lambda: Policy([required()], options={"from": "x"}), CallError, "did you mean 'form'"),
    *(
        (lambda more=more: schema(**more), SchemaError, says)
        for more, says in [
            ({"quasi_identifiers": []}, "quasi_identifiers is empty; name at least one column"),
            ({"sensitive": "age"}, "'age' is given as sensitive and as quasi-identifier; keep one"),
            ({"group": "zip"}, "'zip' is given as group and as quasi-identifier"),
            ({"quasi_identifiers": ["age", "age"]}, "'age' is given as quasi-identifier twice"),
            ({"semantics": "sets"}, "semantics is 'sets'; did you mean 'set'"),
            (
                {"semantics": "set", "missing": "drop"},
                "missing = \"drop\" has no place under semantics 'set', where a null means that "
                "the person has no value; leave it out",
            ),
            (
                {"semantics": "multiset", "missing": {"label": "drop"}},
                'missing = { label = "drop" } has no place under semantics',
            ),
            ({"semantics": "set", "person": "disease"}, "'disease' cannot be person and sensitive"),
            ({"missing": "dorp"}, LABEL),
            ({"missing": {"label": 1}}, LABEL),
            ({"hierarchies": {"zipp": Mask(5)}}, "is no quasi-identifier; did you mean 'zip'"),
            ({"other": ["a"], "types": {"a": "text"}}, "'a', which is no quasi-identifier"),
            ({"hierarchies": {"age": 5}}, "of 'age' must be a Hierarchy or a table"),
            (
                {"quasi_identifiers": ["age.y"], "hierarchies": {"age": {"y": {"mask": 5}}}},
                "'age', which is no quasi-identifier; in TOML, write \"age.y\" in quotes",
            ),
            ({"types": {"agee": "number"}}, "is no quasi-identifier; did you mean 'age'"),
            ({"types": {"age": "nubmer"}}, "type of 'age' is 'nubmer'; did you mean 'number'"),
        ]
    ),
    *(
        (lambda table=table: schema(hierarchies={"age": table}), HierarchyError, says)
        for table, says in [
            ({"intervals": [10, 5]}, "column 'age', 'intervals': interval widths must increase"),
            ({"file": "nowhere.csv"}, "column 'age', 'file': "),
        ]
    ),
    (lambda: fk.publish(people().to_pandas(), EASY), SchemaError, "sensitive=...)"),
    (lambda: fk.publish(MICRODATA, "p.toml"), PolicyError, "the policy 'p.toml' does not exist"),
    (lambda: fk.publish(MICRODATA, 0.5), InputError, "the path of one, not float; see Policy.load"),
    (
        lambda: fk.publish(MICRODATA, EASY, method="mondrain"),
        PolicyError,
        "'mondrian'?",
    ),
    (lambda: fk.publish(MICRODATA, EASY, seed=-1), InputError, "a whole number from 0, not -1"),
    (lambda: fk.Microdata(people(), {}), SchemaError, "expected a Schema, not dict; see fk.Schema"),
    (
        lambda: fk.Release.from_groups(people(), group=["age"], sensitive="disease"),
        SchemaError,
        "group must be the name of one column, not ['age']",
    ),
    (
        lambda: Policy([{"facts": {"l": 1}, "below": 0.5}]),
        PolicyError,
        "expected a Requirement, not dict; ",
    ),
]


@pytest.mark.parametrize(("make", "kind", "says"), PYTHON, ids=range(len(PYTHON)))
def test_calls_that_cannot_be_meant(make, kind, says):
    with pytest.raises(InputError) as caught:
        make()
    assert type(caught.value) is kind
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)


# ---- requirements beside each other ------------------------------------------------------------

KEEP_ONE = "keep one, or exclude those values"


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize(
    ("strict", "loose", "says"),
    [
        (
            {"values": ["Flu", "AIDS"]},
            {"values": ["AIDS"]},
            "b: 'AIDS' must stay below 3/5 here and below 1/2 in a, against the same Facts",
        ),
        ({}, {}, "b: every value must stay below 3/5 here and below 1/2 in a, .*keep one"),
        ({"values": ["1"]}, {"values": [1]}, "b: '1' must stay below 3/5 here and below 1/2 in a"),
        # an exception without except, and a looser requirement, that have no effect
        (
            {},
            {"values": ["Flu"]},
            r"b: below 3/5 for 'Flu' has no effect, since a asks below 1/2 of every value; "
            r"add except = \['Flu'\] there",
        ),
        ({"excluded": []}, {"excluded": ["Flu"]}, KEEP_ONE),
        ({"excluded": [1]}, {"excluded": ["1"]}, KEEP_ONE),
    ],
)
def test_thresholds_that_contradict_each_other(strict, loose, says, turned):
    both = [required(0.5, name="a", **strict), required(0.6, name="b", **loose)]
    if turned and "must stay" in says:
        says = "a: .* must stay below 1/2 here and below 3/5 in b"
    with pytest.raises(PolicyError, match=says):
        Policy(both[::-1] if turned else both)


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
