"""Priors in policy files: which keys there are, what each mistake says, and the way back."""

from fractions import Fraction

import pyarrow as pa
import pytest

import foreknow as fk
from foreknow_judge.errors import InputError, PolicyError

SEX = "sex,value,probability\nm,Flu,0.1\nm,HIV,1/3\nf,Flu,0.003\nf,HIV,0.997\n"
RACE = "race,value,probability\nw,Flu,0.5\nw,HIV,0.5\nb,Flu,0.5\nb,HIV,0.25\n"


@pytest.fixture
def load(tmp_path):
    """Load a policy file that has two tables of priors beside it."""

    def load(content):
        (tmp_path / "sex.csv").write_text(SEX)
        (tmp_path / "race.csv").write_text(RACE)
        path = tmp_path / "policy.toml"
        path.write_text(content)
        return fk.Policy.load(path)

    return load


def one(body):
    return f"[[require]]\n{body}\n"


def points(policy):
    return [(p.adversary, p.below, p.inclusive) for r in policy.requirements for p in r.points]


# ---- what is read --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("limit", "exact", "inclusive"),
    [
        ("below = 0.5", Fraction(1, 2), False),
        ('at_most = "1/3"', Fraction(1, 3), True),
        ("at_most = 0.1", Fraction(1, 10), True),
        ("at_most = 1", Fraction(1), True),
    ],
)
def test_a_file_beside_the_policy_is_read(load, limit, exact, inclusive):
    ((priors, below, reached),) = points(load(one(f'priors = {{ file = "sex.csv" }}\n{limit}')))
    assert (below, reached) == (exact, inclusive)
    assert priors.semantics == "joint"
    assert priors.tables[0].prior(("m",), "HIV") == Fraction(1, 3)
    assert priors.tables[0].name == "sex.csv"


def test_several_files_are_several_attribute_sets(load, tmp_path):
    files = '["sex.csv", "race.csv"]'
    policy = load(one(f'priors = {{ file = {files}, semantics = "binary" }}\nbelow = 0.5'))
    ((priors, _, _),) = points(policy)
    assert priors.semantics == "binary"
    assert [table.attributes for table in priors.tables] == [("sex",), ("race",)]
    absolute = load(one(f'priors = {{ file = "{tmp_path / "sex.csv"}" }}\nbelow = 0.5'))
    assert points(absolute)[0][0].tables == priors.tables[:1]


def test_what_is_written_back_stands_for_itself(load):
    policy = load(
        one('priors = { file = ["sex.csv", "race.csv"] }\nat_most = "1/3"\nvalues = ["HIV"]')
        + one('priors = { file = "sex.csv", semantics = "binary" }\nbelow = 0.25')
        + one('priors = [{ file = "race.csv", below = 0.6 }]\nfacts = [{ k = 1, below = 0.7 }]')
    )
    table = policy.to_dict()
    assert "sex.csv" not in str(table)  # all probabilities are in it, no file is needed
    again = fk.Policy.from_dict(table)
    assert again.to_dict() == table
    assert points(again) == points(policy)
    assert table["require"][0]["at_most"] == "1/3"
    assert "below" not in table["require"][0]
    written = table["require"][0]["priors"]
    assert written["semantics"] == "joint"
    assert written["tables"][0] == {
        "attributes": ["sex"],
        "values": ["Flu", "HIV"],
        "rows": [[["m"], ["1/10", "1/3"]], [["f"], ["3/1000", "997/1000"]]],
    }


def test_numbers_of_a_written_out_table_are_exact(load):
    policy = load(
        one(
            "below = 0.5\n[require.priors]\ntables = [{ attributes = ['age'], values = ['a'], "
            "rows = [[[30], [0.1]]] }]"
        )
    )
    assert points(policy)[0][0].tables[0].prior(("30",), "a") == Fraction(1, 10)


def test_a_missing_attribute_goes_through_json_and_back():
    frame = pa.table({"sex": [None, "m"], "value": ["a", "a"], "probability": ["1/3", "1"]})
    policy = fk.Policy([fk.Requirement(fk.Priors(frame), "1/2")])
    again = fk.Policy.from_dict(policy.to_dict())
    assert again.requirements[0].points == policy.requirements[0].points


# ---- what cannot be meant ------------------------------------------------------------------


SEX_CSV = 'priors = { file = "sex.csv" }'
WRITTEN_OUT = "below = 0.5\n[require.priors]\ntables = [{ attributes = ['a'], "


@pytest.mark.parametrize(
    ("body", "says"),
    [
        (SEX_CSV, r"require\[0\]: the threshold is missing"),
        (f"{SEX_CSV}\nbelow = 0.5\nat_most = 0.5", r"\[0\]: give below or at_most, not both"),
        (
            "facts = { l = 1 }\nat_most = 0.5",
            r"require\[0\]: Facts needs .* at_most is for priors",
        ),
        (
            "facts = [{ l = 1, below = 0.5 }]\nat_most = 0.5",
            r"require\[0\]: a skyline has a threshold in each point",
        ),
        (
            'priors = [{ file = "sex.csv", at_most = 0.5 }]',
            r"unknown key require\[0\]\.priors\[0\]\.at_most",
        ),
        ('priors = [{ file = "sex.csv" }]', r"require\[0\]\.priors\[0\]\.below is missing"),
        ("priors = {}\nbelow = 0.5", r"require\[0\]\.priors.*: give file"),
        (
            'priors = { file = "sex.csv", tables = [] }\nbelow = 0.5',
            r"require\[0\]\.priors: give file = ",
        ),
        ("priors = { file = [] }\nbelow = 0.5", "Priors: give at least one table"),
        ("priors = 5\nbelow = 0.5", r"require\[0\]\.priors: it should be a table, not 5"),
        ("priors = { file = 5 }\nbelow = 0.5", r"require\[0\]\.priors\.file: it should be a"),
        (
            'priors = { fiel = "sex.csv" }\nbelow = 0.5',
            r"unknown key require\[0\]\.priors\.fiel; did you mean 'file'",
        ),
        (
            'priors = { file = "sex.csv", semantics = "jiont" }\nbelow = 0.5',
            r"require\[0\]\.priors\.semantics: it should be 'joint' or 'binary', not 'jiont'",
        ),
        ("prior = {}\nbelow = 0.5", r"unknown key require\[0\]\.prior; did you mean 'priors'"),
        (
            f"{SEX_CSV}\nimplications = {{ k = 1 }}\nbelow = 0.5",
            r"require\[0\]: several adversaries in one requirement need a threshold each",
        ),
        (
            f"{SEX_CSV}\nfacts = [{{ l = 1, below = 0.5 }}]\nbelow = 0.5",
            r"require\[0\]: several adversaries in one requirement need a threshold each",
        ),
        (
            'priors = { file = "sex.csv", facts = { l = 1 } }\nfacts = { l = 1 }\nbelow = 0.5',
            r"require\[0\]: facts is given in priors and beside it; keep one",
        ),
        (
            f"{SEX_CSV}\nfacts = {{ l = 1, n = 2 }}\nbelow = 0.5",
            r"unknown key require\[0\]\.priors\.facts\.n",
        ),
        (
            f"{SEX_CSV}\nfacts = {{ k = 60, m = 41 }}\nbelow = 0.5",
            r"at most 100 people are known or linked \(k \+ m\)",
        ),
        (f"{SEX_CSV}\nat_most = 0", "a threshold must be above 0 and at most"),
        ('priors = { file = "none.csv" }\nbelow = 0.5', "there is no file or folder '.*none.csv'"),
        (
            'priors = { file = ["sex.csv", "sex.csv"] }\nbelow = 0.5',
            "sex.csv: there are two tables for sex",
        ),
        (
            WRITTEN_OUT + "valeus = [], rows = [] }]",
            r"unknown key require\[0\]\.priors\.tables\[0\]\.valeus; did you mean 'values'",
        ),
        (
            WRITTEN_OUT + "values = ['x'], rows = [[['m'], [1.5]]] }]",
            "the probability of 'x' for a m is 1.5, not from 0 to 1",
        ),
        (
            WRITTEN_OUT + "values = ['x'], rows = [5] }]",
            "expected attributes, values, and rows of both",
        ),
    ],
    ids=lambda text: text[-40:],
)
def test_a_mistake_is_named(load, body, says):
    with pytest.raises(InputError, match=rf"policy\.toml: .*{says}"):
        load(one(body))


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("sex,value,probability\nm,Flu,often\n", "sex.csv: row 1: the probability is 'often'"),
        ("sex,value,probability\nm,Flu,2\n", "sex.csv: the probability of 'Flu' for sex m is 2"),
        ("sex,value,chance\nm,Flu,1\n", "sex.csv has no column 'probability'"),
        ("", "sex.csv is empty"),
    ],
)
def test_a_mistake_in_the_file_of_priors_is_told_with_both_names(tmp_path, content, says):
    (tmp_path / "sex.csv").write_text(content)
    (tmp_path / "policy.toml").write_text(one('priors = { file = "sex.csv" }\nbelow = 0.5'))
    with pytest.raises(InputError, match=rf"policy\.toml: {says}"):
        fk.Policy.load(tmp_path / "policy.toml")


def test_two_limits_for_one_adversary_contradict_each_other_even_of_two_files(load, tmp_path):
    (tmp_path / "copy.csv").write_text(SEX)
    with pytest.raises(PolicyError, match="against the same Priors"):
        load(
            one('priors = { file = "sex.csv" }\nbelow = 0.5')
            + one('priors = { file = "copy.csv" }\nbelow = 0.6')
        )


def test_facts_beside_priors_are_known_on_top_of_them(load):
    policy = load(one(f"{SEX_CSV}\nfacts = {{ l = 1, k = 2 }}\nbelow = 0.5"))
    (point,) = policy.requirements[0].points
    assert point.adversary.facts == fk.Facts(1, 2)
    assert len(point.adversary.tables) == 1
    again = fk.Policy.from_dict(policy.to_dict())
    assert again.requirements == policy.requirements
    assert again.requirements[0].points == policy.requirements[0].points


def test_points_of_a_skyline_have_facts_of_their_own(load):
    own = 'priors = [{ file = "sex.csv", below = 0.5 }, '
    policy = load(one(own + '{ file = "sex.csv", facts = { l = 1 }, below = 0.7 }]'))
    assert [p.adversary.facts.l for p in policy.requirements[0].points] == [0, 1]
    assert fk.Policy.from_dict(policy.to_dict()).requirements[0].points == (
        policy.requirements[0].points
    )
