"""What a schema says of people is counted, beside a secret too, or who cannot count it refuses."""

import pickle
import random
from collections import Counter
from fractions import Fraction
from itertools import product

import numpy as np
import pyarrow as pa
import pytest
from tests.common import NIGHTLY, forge, settings_of, written
from tests.oracle.rules import worst_cases

import foreknow as fk
from foreknow.data.labels.windows import Width, Windows
from foreknow.features.explore.release import ask as asked_in_explorer
from foreknow.features.explore.session import Session
from foreknow.written_releases.written_release import open_published
from foreknow_judge.errors import CertificateError, UnsupportedError
from foreknow_judge.files.written_release import Written
from foreknow_judge.knowledge.impossible_values import Rules
from foreknow_judge.verdicts import verdicts


class Kind:
    """A table, its schema, a value of it, and how it is said that this is not counted."""

    def __init__(self, columns, value, said, why, **roles):
        self.table = pa.table({"age": [30] * len(columns["pid"]), **columns})
        self.schema = fk.Schema(quasi_identifiers=["age"], **roles)
        self.value, self.said, self.why = value, said, why

    @property
    def release(self):
        return fk.Release.from_schema(self.table, self.schema)


MEN = {"sex": [*"mmff"], "ill": [*"xyOx"], "pid": [*"ABCD"]}
KINDS = {
    "shared": Kind(
        {"pay": [*"xxyy"], "home": [1, 1, 2, 2], "pid": [*"ABCD"]},
        *("x", r"all people of a household have one value \(shared\); .*fk\.audit"),
        "shown once for each household",
        sensitive="pay",
        shared={"by": "home", "values": ["pay"]},
    ),
    # Men cannot have O, so one of the two women has it.
    "impossible": Kind(
        *(
            MEN,
            "O",
            r"some people cannot have some values \(impossible\); ",
            "counts do not say who",
        ),
        sensitive="ill",
        other=["sex"],
        identifiers=["pid"],
        impossible=[{"values": ["O"], "where": {"sex": ["m"]}}],
    ),
    "cases": Kind(
        {"ill": [*"abcabc"], "pid": ["p"] * 6},
        *("a", r"'pid'\) may have several; .*fk\.audit", "does not show whose cases"),
        sensitive="ill",
        unit="row",
        person="pid",
    ),
}
PRIORS = pa.table({"age": ["30"], "value": ["x"], "probability": [1.0]})
HALF = fk.Policy([fk.Requirement(fk.Facts(), below="3/4")])


def policy(schema, **more):
    return fk.Policy([fk.Requirement(fk.Facts(k=1), below="9/10", **more)], schema)


def given_as(kind, form):
    """A kind's people in a form, and what a call needs beside."""
    if form == "table":
        return kind.table, {"policy": policy(kind.schema)}
    if form == "microdata":
        return fk.Microdata(kind.table, kind.schema), {}
    return (kind.release if form == "release" else kind.release.seen(None, [])), {}


def refuse(said, call, *own, error=UnsupportedError, **more):
    with pytest.raises(error, match=said):
        call(*own, **more)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("form", ["release", "sight"])
def test_adversaries_refuse_a_release_alone(kind, form):
    kind = KINDS[kind]
    given, _ = given_as(kind, form)
    asked = [fk.Facts(), fk.Facts(k=1), fk.Implications(1), fk.Negations(1)]
    text = f"without a policy.*{kind.said}|_skyline.*{kind.said}"
    for own in asked:
        refuse(text, own.disclosure, given, kind.value)
        refuse(text, own.disclosures, given)
        refuse(text, own.chances, given)
    refuse(text, fk.knowledge_skyline, given, kind.value, "2/5")
    refuse(text, fk.knowledge_skylines, given, "2/5")
    refuse(text, fk.Priors(PRIORS).disclosure, given)
    refuse(text, fk.Priors(PRIORS).gain, given)
    refuse(text, fk.Algorithm(fk.Mondrian(), schema=kind.schema).disclosure, given)


@pytest.mark.parametrize("name", KINDS)
def test_counts_of_rows_say_rules(name):
    """Counts of rows, and what others make of them."""
    kind = KINDS[name]
    counts = kind.release.seen(None, []).counts
    rows = np.zeros(len(kind.table), dtype=np.int64)
    every = [counts, fk.Microdata(kind.table, kind.schema).counts(rows)]
    every += [counts.take([0]), counts.merge([0]), counts.any_of([kind.value])[0]]
    every += [pickle.loads(pickle.dumps(counts))]
    plain = fk.Schema(quasi_identifiers=["age"], sensitive=kind.schema.sensitive)
    for own in every:
        for call in (fk.Facts().disclosure, fk.Negations(1).chances, fk.LDiversity(2).holds):
            refuse(kind.said, call, own)
        refuse(kind.said, fk.t_closeness, own)
        refuse(kind.said, fk.knowledge_skyline, own, kind.value, "2/5")
        refuse(kind.said, Windows.of, own, Width(1))
        for more in ({}, {"policy": policy(kind.schema)}) if name != "cases" else ():
            refuse(kind.said, fk.skyline_report, own, [kind.value], confidence="9/10", **more)
            refuse(kind.said, fk.disclosure_curves, own, value=kind.value, **more)
        for schema in (kind.schema, None):
            refuse(kind.why, fk.audit, own, policy(schema), error=fk.ForeknowError)
        differs = f"differ in {'unit' if name == 'cases' else name}"
        refuse(differs, fk.audit, own, policy(plain), error=fk.ForeknowError)
    assert fk.risk_report(counts).in_cases == (name == "cases")
    # They were counted for the search, before anybody said whose they are.
    publication = fk.publish(kind.table, fk.Policy([fk.Requirement(fk.KAnonymity(1))], kind.schema))
    for own in (publication.release.counts, publication.release.seen(None, []).counts):
        refuse("without a policy", fk.Facts().disclosure, own)
        refuse(".", fk.audit, own, HALF, error=fk.ForeknowError)


@pytest.mark.parametrize("required", [{"facts": {}, "below": "3/4"}, {"l_diversity": {"l": 2}}])
def test_counts_of_who_cannot_refuse(required):
    kind = KINDS["impossible"]
    requirement = fk.Requirement(fk.Facts(), below="1", values=[kind.value], knowing=[])
    people = fk.Microdata(kind.table, kind.schema)
    audit = fk.audit(people, fk.Policy([requirement], kind.schema), learned=False)
    for own in (audit, audit.counted[0], audit.counted[0].seen, audit.verdicts[0]):
        text = "some people cannot have some values|counts do not say who"
        refuse(text, fk.audit, own, {"require": [required]}, error=fk.ForeknowError)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = [",".join(map(str, row.values())) for row in KINDS["impossible"].table.to_pylist()]
    (tmp_path / "t.csv").write_text("\n".join(["age,sex,ill,pid", *rows]) + "\n")
    (tmp_path / "p.toml").write_text(
        '[schema]\nquasi_identifiers=["age"]\nsensitive="ill"\nother=["sex"]\n'
        'identifiers=["pid"]\n[[schema.impossible]]\nvalues=["O"]\nwhere={sex=["m"]}\n'
        '[[require]]\nvalues=["O"]\nfacts={}\nbelow="2/3"\nknowing=[]\n'
    )
    fk.publish("t.csv", "p.toml", method="mondrian", learned=False).write("out")
    return tmp_path


def test_what_is_published_says_rules(folder):
    publication = fk.publish("t.csv", "p.toml", method="mondrian", learned=False)
    for own in (publication, publication.release, open_published(folder / "out").release):
        refuse("impossible", fk.knowledge_skyline, own, "O", "2/5")
        refuse("impossible", fk.Facts().disclosure, own, "O")
        refuse("impossible", fk.LDiversity(3).holds, own)
    (verdict,) = fk.audit(publication, fk.Policy.load("p.toml"), learned=False).verdicts
    assert verdict.found.exact == Fraction(1, 2)  # which counts by the rule
    release = fk.named_release(folder / "out", person="pid")
    for own in (release, release.seen("ill", [])):
        refuse("impossible", fk.Statements("D != O").posterior, own, "C", "O")
        refuse("impossible", fk.Statements().disclosure, own)
    looked = Session(folder, folder / "out").looked("out")
    refuse("impossible", asked_in_explorer, looked, {"statements": "D != O", "about": "C"})


# ---- measures -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("missing", "more"),
    [
        (None, {"missing": "drop"}),
        ("NA", {"missing": "drop", "reading": {"missing": ["NA"]}}),
        (None, {"missing": {"label": "none"}}),
    ],
)
def test_measure_reads_as_an_audit(missing, more):
    ill = [missing, missing, "flu", "flu"]
    table = pa.table({"age": [30] * 4, "sex": [*"fmfm"], "ill": ill})
    policy = fk.Policy([fk.Requirement(fk.KAnonymity(2)), fk.Requirement(fk.LDiversity(2))])
    age, sex = (
        fk.Microdata(table, fk.Schema(quasi_identifiers=[name], sensitive="ill", **more))
        for name in ("age", "sex")
    )
    for given, by in ((age, ()), (sex, (["sex"],))):
        audited = [
            verdict.found.amount for verdict in fk.audit(given, policy, learned=False).verdicts
        ]
        assert [fk.k_anonymity(age, *by), fk.l_diversity(age, *by)] == audited


def test_measure_of_one_column():
    table = pa.table({"age": [30] * 4, "ill": [*"abab"], "pay": [*"xyzx"]})
    microdata = fk.Microdata(table, fk.Schema(quasi_identifiers=["age"], sensitive=["ill", "pay"]))
    assert (fk.l_diversity(microdata), fk.l_diversity(microdata, sensitive="pay")) == (2, 3)


# ---- rules on a column bear on a secret that stands beside it in each row ------------------------


FAMILIES = range(20_000 if NIGHTLY else 28)
MOST = (2, 2, 0)
AMOUNTS = [*product(range(MOST[0] + 1), range(MOST[1] + 1))]
COLUMNS = ("ill", "test")


def family(rng, most=6):
    """Groups of ((ill, test), which rules are about a person); and rules of (column, values)."""
    values = {"ill": "abc"[: rng.choice([2, 3, 3])], "test": "xyz"[: rng.choice([2, 2, 3])]}
    more = rng.choice([0, 0, 1, 2])
    columns = ["test", *(rng.choice(["test", "test", "ill"]) for _ in range(more))]
    rules = [
        (name, frozenset(rng.sample(values[name], rng.choice([1, len(values[name]) - 1]))))
        for name in columns
    ]
    groups = []
    for _ in range(rng.choice([1, 1, 2])):
        group = []
        for _ in range(rng.randint(2, most)):
            fires = tuple(rng.random() < 0.45 for _ in rules)
            left = [p for p in product(*values.values()) if not is_impossible(p, rules, fires)]
            if left:
                favourite = rng.choice(left)
                group.append((favourite if rng.random() < 0.7 else left[0], fires))
        if group:
            groups.append(group)
    return (groups, rules) if groups else family(rng, most)


def is_impossible(pair, rules, fires):
    """Whether somebody of whom some rules are cannot have a pair of values."""
    own = dict(zip(COLUMNS, pair, strict=True))
    return any(on and own[name] in values for (name, values), on in zip(rules, fires, strict=True))


class Drawn:
    """A family, its table with a column for each rule, and what worlds say of its first column."""

    def __init__(self, seed, most=6):
        self.groups, self.rules = family(random.Random(seed), most)
        pairs = [*product("abc", "xyz")]
        self.worlds = [
            [
                (own, frozenset(pair for pair in pairs if is_impossible(pair, self.rules, fires)))
                for own, fires in group
            ]
            for group in self.groups
        ]
        people = [(f"g{g}", *own, on) for g, group in enumerate(self.groups) for own, on in group]
        self.shown = [f"c{i}" for i in range(len(self.rules))]
        columns = {name: ["ny"[on[i]] for *_, on in people] for i, name in enumerate(self.shown)}
        named = zip(
            ("at", *COLUMNS), zip(*(person[:3] for person in people), strict=True), strict=True
        )
        self.table = pa.table({name: [*own] for name, own in named} | columns)
        self.values = sorted({own[0] for group in self.groups for own, _ in group})
        self.tables = [  # but for those that are about nobody
            {"values": sorted(values), "where": {f"c{i}": ["y"]}, "sensitive": name}
            for i, (name, values) in enumerate(self.rules)
            if "y" in columns[f"c{i}"]
        ]

    def worst(self, value, by=lambda pair: pair[0]):
        """The worst of facts, each group by itself; `by` is what is seen of a pair."""
        cases = [worst_cases([group], value, MOST, by) for group in self.worlds]
        return {amounts: max(case[(*amounts, 0)] for case in cases) for amounts in AMOUNTS}

    def judged(self, asked, form="generalized"):
        """What the judge says of a release that shows of everybody which rules are about them."""
        tables, parts = {"release": self.table}, dict.fromkeys(COLUMNS, "release")
        if form == "bucketized":
            names = ("at", *COLUMNS)
            rows = Counter(zip(*(self.table[name].to_pylist() for name in names), strict=True))
            held = dict(zip(names, zip(*rows, strict=True), strict=True))
            held = pa.table({**held, "count": [str(n) for n in rows.values()]})
            tables = {"people": self.table.drop_columns(COLUMNS), "sensitive": held}
            parts = dict.fromkeys(COLUMNS, "sensitive")
        own = {"parts": parts, "beside": self.shown, "rules": Rules(self.tables)}
        asked = [{**one, "below": "1", "knowing": []} for one in asked]
        return verdicts(Written(form, ["at"], "ill", tables, **own), asked)


def facts_of(amounts, **about):
    return {"facts": dict(zip("lk", amounts, strict=True)), **about}


@pytest.mark.parametrize("form", ["generalized", "bucketized"])
def test_figures_are_never_below_worlds(form):
    """Facts, of each value and of sets, in both forms; nearly always as worlds have it."""
    counts = Counter()
    for seed in FAMILIES if form == "generalized" else FAMILIES[::4]:
        drawn, asked, truth = Drawn(seed), [], []
        for value in drawn.values:
            for amounts, least in drawn.worst(value).items():
                asked.append(facts_of(amounts, values=[value]))
                truth.append(least)
        if len(drawn.values) == 3 and any(table["sensitive"] == "test" for table in drawn.tables):
            worst = drawn.worst("s", lambda pair: "s" if pair[0] in "ab" else pair[0])
            for amounts, least in worst.items():
                asked.append(facts_of(amounts, any_of=[*"ab"]))
                truth.append(least)
        for one, verdict, least in zip(asked, drawn.judged(asked, form), truth, strict=True):
            assert verdict.reached >= least, (seed, drawn.groups, drawn.rules, one)
            counts["inner" if 0 < least < 1 else "trivial", verdict.reached == least] += 1
    assert counts["inner", True] > 5 * counts["inner", False]
    assert counts["inner", True] > len(FAMILIES) / 8


def ruled(rules, asked, **publish):
    """A policy on columns that are linked, with rules on some."""
    schema = {"quasi_identifiers": ["age"], "sensitive": [*COLUMNS], "other": ["sex"]}
    return fk.Policy.from_dict(
        {"schema": schema | {"impossible": rules}, "require": asked, "publish": publish}
    )


NO_X = {"values": ["x"], "where": {"sex": ["m"]}, "sensitive": "test"}
SURE_OF_A = {"sensitive": "ill", "values": ["a"], "facts": {}, "below": 1, "knowing": []}


def test_a_certificate_counts_the_rule(tmp_path):
    """Of four women two have x, and one of these a: 1/4 + 1/2 of 1/4, where it would be 1/3."""
    columns = {"age": [*range(20, 26)], "ill": [*"aabbbb"], "test": [*"xyxyyy"], "sex": [*"ffffmm"]}
    table, folder = pa.table(columns), tmp_path / "out"
    written(table, ruled([NO_X], [SURE_OF_A | {"below": "4/10"}]), folder)
    assert fk.verify(folder).findings[0].reached == Fraction(3, 8)
    forge(folder, lambda said: settings_of(said, below="3/8"))
    with pytest.raises(CertificateError, match="reaches 3/8"):
        fk.verify(folder)
    # Links and implications are refused in a certificate that somebody else wrote.
    for kind in ({"facts": {"m": 1}}, {"implications": {"k": 1}}):
        forge(folder, lambda said: said["policy"]["require"][0].pop("facts", None))
        forge(folder, lambda said, kind=kind: settings_of(said, **kind))
        with pytest.raises(
            CertificateError, match=r"about the other in the same row|say nothing of values"
        ):
            fk.verify(folder)
