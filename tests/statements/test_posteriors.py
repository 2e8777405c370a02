"""Posteriors from priors equal enumeration; the command ask, and its errors with a caret."""

import random
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from tests.cli.conftest import AGES
from tests.cli.conftest import desk as desk
from tests.common import NIGHTLY
from tests.oracle.priors import binary, joint

from foreknow.adversaries.priors import exchanges
from foreknow.adversaries.priors.exact import exact_group
from foreknow.adversaries.priors.posteriors import posteriors
from foreknow.adversaries.priors.signature_groups import PriorMatrix, SignatureGroups

KINDS = ["any", "zeros", "sums", "tiny", "alike"]
CHANCES = [Fraction(a, b) for b in (1, 2, 3, 7, 10, 1000) for a in range(b + 1)][:40]
AMONG = {
    "any": CHANCES,
    "zeros": [*CHANCES, *[Fraction(0)] * 8],
    "tiny": [Fraction(10) ** -e for e in (0, 1, 3, 30, 120, 200, 300)],
}
both = pytest.mark.parametrize("reading", ["joint", "binary"])
every_kind = pytest.mark.parametrize("kind", KINDS)


def groups_of(*held):
    """Groups from the signature of every person and the value of every occurrence."""

    def sparse(rows):
        cells = [sorted(Counter(row).items()) for row in rows]
        codes, amounts = zip(*(pair for row in cells for pair in row), strict=True)
        return np.cumsum([0, *map(len, cells)]), np.array(codes), np.array(amounts)

    return SignatureGroups(*sparse([s for s, _ in held]), *sparse([x for _, x in held]))


def cells_of(found, group):
    case = found.case_of[group]
    return slice(found.offsets[case], found.offsets[case + 1])


def table_of(found, group):
    """Posteriors of one group, signatures by values."""
    people = len(found.cases.people_of(found.case_of[group]))
    return found.probabilities[cells_of(found, group)].reshape(people, -1)


def kind_of(found, group):
    """Whether a group is exact, bounded (somewhere) or impossible (for some value)."""
    if np.isnan(found.probabilities[cells_of(found, group)]).any():
        return "impossible"
    return "bounded" if found.bounded[cells_of(found, group)].any() else "exact"


def random_table(drawn, n_signatures, n_values, kind):
    """A table of priors: any, with zeros, summing to one, far apart, or with proportional rows."""
    if kind == "sums":
        rows = [[drawn.randint(1, 9) for _ in range(n_values)] for _ in range(n_signatures)]
        return [[Fraction(a, sum(row)) for a in row] for row in rows]
    if kind == "alike":
        base = [Fraction(drawn.randint(0, 4), 4) for _ in range(n_values)]
        scales = [Fraction(1, drawn.choice([1, 2, 3])) for _ in range(n_signatures)]
        rows = [[scale * chance for chance in base] for scale in scales]
        rows[0] = [Fraction(drawn.randint(1, 9), 9) for _ in range(n_values)]
        return rows
    return [[drawn.choice(AMONG[kind]) for _ in range(n_values)] for _ in range(n_signatures)]


def random_group(drawn, size, n_signatures, n_values):
    """Signature codes of the people, and value codes of the bag."""
    return [[drawn.randrange(many) for _ in range(size)] for many in (n_signatures, n_values)]


def random_scene(drawn, n_groups=20, most=5, kind=None):
    """Groups as lists, their `SignatureGroups` and a `PriorMatrix`."""
    shape = drawn.randint(1, 4), drawn.randint(1, 4)
    priors = PriorMatrix.from_fractions(random_table(drawn, *shape, kind or drawn.choice(KINDS)))
    held = [random_group(drawn, drawn.randint(1, most), *shape) for _ in range(n_groups)]
    return held, groups_of(*held), priors


def people_of(signatures, priors):
    """What the oracle takes: a dict of priors per person."""
    return [dict(enumerate(priors.fractions[s])) for s in signatures]


def truth(held, priors, reading):
    """Enumerated posteriors, by signature and held value in order of codes."""
    signatures, bag = held
    people = people_of(signatures, priors)
    rows, columns = sorted(set(signatures)), sorted(set(bag))
    if reading == "joint":
        result = joint(people, bag)
        return [[result and result[signatures.index(s)][x] for x in columns] for s in rows]
    by_value = {x: binary(people, bag, x) for x in columns}
    return [[by_value[x] and by_value[x][signatures.index(s)] for x in columns] for s in rows]


def flat(rows):
    return [p for row in rows for p in row]


def close(found, true, error):
    """Whether floats are within their stated error of fractions, None being NaN."""
    return all(
        np.isnan(p)
        if t is None
        else abs(Fraction(p) - t) <= Fraction(error) * t + Fraction(2) ** -300
        for p, t in zip(found.reshape(-1).tolist(), flat(true), strict=True)
    )


# ---- against enumeration -------------------------------------------------------------------


@pytest.mark.thinned(2)
@both
@every_kind
def test_posteriors_are_what_enumeration_says(reading, kind):
    """Fractions, floats, and their ends."""
    drawn, possible = random.Random(f"{reading} {kind}"), 0
    for _ in range(12 if NIGHTLY else 6):
        held, groups, priors = random_scene(drawn, 20, 5, kind)
        found = posteriors(groups, priors, reading)
        lower, upper = found.lower(), found.upper()
        for g, one in enumerate(held):
            true = truth(one, priors, reading)
            assert exact_group(groups, g, priors, reading) == true, (one, priors.fractions)
            error = found.errors[found.case_of[g]]
            assert error < 1e-13
            assert close(table_of(found, g), true, error), (one, priors.fractions, true)
            impossible = None in flat(true)
            assert kind_of(found, g) == ("impossible" if impossible else "exact")
            assert (g in found.impossible) == impossible
            possible += not impossible
            ends = lower[cells_of(found, g)].tolist(), upper[cells_of(found, g)].tolist()
            for low, high, p in zip(*ends, flat(true), strict=True):
                assert p is None or Fraction(low) <= p <= Fraction(high)
    assert possible > 20  # of 120 groups


def test_complements_are_rounded_from_fractions():
    near_one = 1 - Fraction(1, 10**30)
    priors = PriorMatrix.from_fractions([[near_one, 0], [near_one / 2, 1]])
    assert (priors.chances[0, 0], priors.complements[0, 0]) == (1, 1e-30)
    result = table_of(posteriors(groups_of(([0, 1], [0, 1])), priors, "binary"), 0)
    assert result[0, 0] == pytest.approx(1, abs=1e-29)


# ---- out of reach: upper bounds ------------------------------------------------------------


@pytest.mark.thinned(2)
@both
@pytest.mark.parametrize("twice", [True, False])
@every_kind
def test_bounds_are_never_below_enumeration(monkeypatch, reading, kind, twice):
    """No state being allowed."""
    if not twice:  # as for groups of very many values and signatures
        monkeypatch.setattr(exchanges, "_TWICE", 0)
    drawn, pairs = random.Random(f"bound {reading} {kind}"), []
    for _ in range(15 if NIGHTLY else 8):
        held, groups, priors = random_scene(drawn, 20, 5, kind)
        found = posteriors(groups, priors, reading, reach=0)
        assert np.array_equal(found.upper(), found.probabilities, equal_nan=True)
        for g, one in enumerate(held):
            true = flat(truth(one, priors, reading))
            assert kind_of(found, g) == ("impossible" if None in true else "bounded")
            for bound, p in zip(flat(table_of(found, g).tolist()), true, strict=True):
                assert np.isnan(bound) if p is None else 1 >= Fraction(bound) >= p, (one, true)
                pairs += [] if p is None else [bound]
    assert len(pairs) > 150
    assert 3 * sum(bound < 0.999 for bound in pairs) > len(pairs)  # and they say something


# ---- the command `ask`: posteriors of named people in a terminal, and its errors with a caret ----


RELEASE = """name,gid,age,disease
Ann,1,20,AIDS
Bob,1,20,Flu
Cary,1,20,Flu
Dick,1,20,AIDS
Ed,2,30,Flu
Frank,2,30,Cancer
Gary,2,30,Flu
Tom,2,30,AIDS
"""
POLICY = f"{AGES}below = 0.9\n"
TREE = '\n[schema.hierarchies]\ndisease = { file = "h.csv" }\n[['
KNOWN = "# what the neighbour knows\nTom != Cancer  # not him\n\nGary = Flu\n"
FILES = {
    "release.csv": RELEASE,
    "policy.toml": POLICY,
    "tree.toml": POLICY.replace("\n[[", TREE),
    "two.toml": POLICY.replace('["name"]', '["name", "ssn"]'),
    "bare.toml": "[[require]]\nfacts = {}\nbelow = 0.5\n",
    "h.csv": "AIDS;serious;*\nCancer;serious;*\nFlu;Flu;*\n",
    "known.txt": KNOWN,
    "wrong.txt": "Tom != Cancer\n\nGary Flu\n",
    "latin.txt": b"\xff\xfe",
    "sets.csv": "who,g,d\nAnn,1,Flu\nAnn,1,Cold\nBob,1,Flu\nCid,1,\n",
    "odd.csv": "name,gid,age,disease\n[red]Ann,1,2,Flu\nBob,1,2,Co\u202eld\n",
}
COLUMNS = " --group gid --sensitive disease --person name"
BY_POLICY = " --policy policy.toml"


@pytest.fixture
def asking(desk):
    """Ask about a release; exit code, output and error."""
    run = desk.runs("ask", FILES)
    return lambda words, release="release.csv": run(words, release)


THREE = "-a Tom -v AIDS 'Tom != Cancer' 'Gary = Flu' 'Ann = AIDS -> Tom = AIDS'"
ALL = [
    *("Tom AIDS 25.0% (1/4) 33.3% (1/3)", "Tom Cancer 25.0% (1/4) 0%"),
    *("Tom Flu 50.0% (1/2) 66.7% (2/3)", "Ann AIDS 50.0% (1/2) 50.0% (1/2)"),
    "Ann Flu 50.0% (1/2) 50.0% (1/2)",
]
BELOW = " --policy tree.toml --group gid"


@pytest.mark.parametrize(
    ("words", "rows", "message"),
    [
        (
            THREE + COLUMNS,
            ["Tom AIDS 25.0% (1/4) 66.7% (2/3)"],
            ["1. Tom != Cancer", "3. Ann = AIDS -> Tom = AIDS"],
        ),
        ("-a Tom -a Ann 'Tom != Cancer'" + COLUMNS, ALL, []),
        ("--about Tom --value Flu -v AIDS 'Tom != Cancer'" + COLUMNS, [ALL[2], ALL[0]], []),
        # Statements of a file go before those of the line.
        (
            "-a Tom -v AIDS --statements known.txt 'Ed = Flu'" + COLUMNS,
            ["Tom AIDS 25.0% (1/4) 100%"],
            ["1. Tom != Cancer", "2. Gary = Flu", "3. Ed = Flu"],
        ),
        # A label of the policy's hierarchy is any of the values below it.
        ("-a Tom --any-of serious" + BELOW, ["Tom serious 50.0% (1/2) 50.0% (1/2)"], []),
        (
            "-a Tom -v AIDS 'Tom = serious' 'Gary != serious'" + BELOW,
            ["Tom AIDS 25.0% (1/4) 50.0% (1/2)"],
            ["1. Tom = AIDS or Tom = Cancer", "2. not (Gary = AIDS or Gary = Cancer)"],
        ),
        # The policy says what the columns are.
        ("-a Tom -v AIDS 'Tom != Cancer'" + BY_POLICY, ALL[:1], []),
        ("-a Tom -v AIDS 'Tom != Cancer' --policy two.toml --person name -g gid", ALL[:1], []),
        (
            "-a Tom -v AIDS 'Tom != Cancer' --quasi-identifiers age -s disease --person name",
            ALL[:1],
            [],
        ),
    ],
)
def test_before_and_after(asking, words, rows, message):
    code, out, err = asking(words)
    assert (code, err) == (0, "")
    assert [" ".join(line.split()) for line in out.splitlines() if "%" in line] == rows
    numbered = [line for line in out.splitlines() if line[:1].isdigit()]
    assert [line for line in numbered if line in message] == message


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            "-a Tom 'Tom = AIDS -> Ed = Flue'" + COLUMNS,
            "foreknow: statement 1: nobody in the release has the value 'Flue'; did you mean "
            f"'Flu'?\n  Tom = AIDS -> Ed = Flue\n{' ' * 21}^\n",
        ),
        (
            "-a Tom 'Tom = AIDS' 'Ann = Flu' 'Ed = AIDS'" + COLUMNS,
            "foreknow: statement 3 (Ed = AIDS) contradicts statement 1 (Tom = AIDS)\n",
        ),
        ("-a Tom --statements wrong.txt" + COLUMNS, "wrong.txt, line 3: expected '='"),
        ("-a Tom --statements none.txt" + COLUMNS, "the file 'none.txt' does not exist"),
        ("-a Tom --statements latin.txt" + COLUMNS, "the file 'latin.txt', line 1: not UTF-8"),
        ("'Tom = AIDS'" + COLUMNS, "say whom to ask about, such as --about Tom"),
        ("-a Tom", "say what the columns are"),
        ("-a Tom -g gid -s disease", "say what the columns are"),
        ("-a Tom -g gid -s disease --person nmae", "no column 'nmae'"),
        ("-a Tom --any-of serous" + BELOW, "nobody in the release has the value 'serous'"),
        ("-a Tom 'Tom = serious' 'Tom = Flue'" + BELOW, "did you mean 'Flu'"),
        ("-a Tom --policy two.toml", "add --person"),
        ("-a Tom -s diseas --person name" + BY_POLICY, "is no sensitive column"),
        ("-a Tom --policy bare.toml", "has no [schema] table"),
    ],
)
def test_what_cannot_be_asked(asking, words, message):
    code, out, err = asking(words)
    assert (code, out) == (2, "")
    assert message in err


def test_published_folders_name_nobody(desk):
    """Without the owner's folder."""
    assert desk.run(*desk.publish("--quiet"))[0] == 0
    ask = ["ask", "out", "-a", "Ann", "--policy", "policy.toml"]
    desk.says(*ask)
    (desk.folder / "out.owner").rename(desk.folder / "mine")
    message = desk.refused(*ask)
    assert "'out' names nobody, and there is no file 'out.owner/members.parquet'" in message
    assert "put the owner's folder back beside it, or name the file by --members FILE" in message
    members = ["-a", "Ann", "--members", "mine/members.parquet"]
    desk.says("ask", "out", *members)
    message = desk.refused("ask", "table.csv", *members)
    assert "--members is for a folder that publish wrote; 'table.csv' is none" in message
