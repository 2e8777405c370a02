"""Full-domain releases as they are published: labels, settings, the lattice in audit and report."""

import csv
import random
from fractions import Fraction
from itertools import product

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.examples import examples
from tests.methods.reference import BruteForce, Levels
from tests.methods.tables import KINDS, Crowd
from tests.methods.test_fulldomain import POOLS

import foreknow as fk
from foreknow import sample
from foreknow.methods.fulldomain import bestfirst, fulldomain
from foreknow.methods.registry import method_of
from foreknow_judge.errors import InputError, PolicyError

pytestmark = pytest.mark.usefixtures("tiny_tables")

SEEDS = st.integers(0, 2**32)
EASY = fk.Policy([fk.Requirement(fk.Facts(), "0.9")])


def raw(rows, hierarchies=None, **schema):
    columns = [name for name in rows if name != "disease"]
    made = fk.Schema(
        quasi_identifiers=columns,
        sensitive="disease",
        hierarchies=hierarchies or {"age": fk.Intervals([10, 20])},
        **schema,
    )
    return fk.Microdata(pa.table(rows), made)


def published(rows, policy=EASY, method=None, labels=None, **how):
    options = fk.PublishOptions(labels=labels or {})
    made = fk.publish(
        raw(rows, **how), policy, method=method or fk.FullDomain(), options=options, seed=1
    )
    return made, made.tables["release"].to_pylist()


# ---- labels ------------------------------------------------------------------------------------


def test_labels_are_of_the_chosen_level_though_members_have_more_in_common():
    rows = {"age": [21, 21, 35, 36, 48, 48], "disease": list("ababab")}
    made, table = published(rows, fk.Policy([fk.Requirement(fk.Facts(), "0.6")]))
    assert made.audit.lattice.chosen == (1,)
    # Everybody in the first group is 21, everybody in the last 48.
    assert {row["age"] for row in table} == {"20 to 29", "30 to 39", "40 to 49"}


@examples(40, deadline=None)
@given(seed=SEEDS)
def test_everybodys_labels_are_those_of_brute_force(seed):
    """Groups and how far each column is coarsened, of the chosen node; `*` for the suppressed."""
    draw = random.Random(seed)
    kinds = draw.choices(KINDS, k=draw.choice([1, 2, 3]))
    rows = [tuple(draw.choice(POOLS[kind.name]) for kind in kinds) for _ in range(30)]
    case = Crowd(kinds, "single", rows, draw.choices("STUV", k=30))
    limit = Fraction(draw.randint(4, 10), 10)
    policy = fk.Policy([fk.Requirement(fk.Facts(), limit)])
    method = fk.FullDomain(suppression=draw.choice([0, 0.2]))
    # Cells of a grid hold several numbers: here each is a label.
    names = case.microdata().schema.quasi_identifiers
    labels = {
        n: "exact" for n, k in zip(names, kinds, strict=True) if k.name in ("number", "decimal")
    }
    try:
        made = fk.publish(case.microdata(), policy, method=method, seed=1, labels=labels)
    except fk.NoSafeRelease:
        return
    found = made.audit.lattice
    table = made.tables["release"]
    every = BruteForce(kinds, rows, lambda groups: True)
    columns = table.column_names[: len(kinds)]
    for column, kind, level, steps in zip(columns, kinds, found.chosen, every.ladders, strict=True):
        top = len(steps) - 1
        written = set(table[column].to_pylist())
        if level == top:
            assert written <= {"*", "* (level 1)"} or not isinstance(kind.attribute, Levels)
            assert len(written) == 1
        elif not found.suppressed.get(found.chosen):
            at = {steps[level](row[columns.index(column)]) for row in rows}
            assert len(written) == len(at)
    if found.outlier_group is not None:
        stars = [row for row in table.to_pylist() if all(row[c].startswith("*") for c in columns)]
        assert len(stars) == found.suppressed[found.chosen]


def test_suppressed_people_keep_nothing_even_where_ranges_are_asked_for():
    rows = {"age": [21, 22, 23, 24, 61], "sex": list("ffffm"), "disease": list("ababa")}
    policy = fk.Policy([fk.Requirement(fk.Facts(), "2/3")])
    assert published(rows, policy)[0].audit.lattice.chosen == (3, 1)
    ages = [21, 22, 23, 24, 61, 65]
    rows = {"age": ages, "sex": list("ffffmm"), "disease": list("abcdab")}
    policy = fk.Policy([fk.Requirement(fk.Facts(l=1), "2/3")])
    made, table = published(
        rows,
        policy,
        fk.FullDomain(suppression=0.9),
        {"age": "range", "sex": "set"},
        hierarchies={"age": fk.Intervals([10, 20])},
    )
    found = made.audit.lattice
    suppressed = [row for row in table if row["age"] == "*"]
    assert len(suppressed) == found.suppressed.get(found.chosen, 0) or found.chosen[0] == 3
    assert all(row["sex"] == "*" for row in suppressed) or found.chosen == (3, 0)


def test_a_star_among_the_data_is_not_mistaken_for_a_suppressed_value():
    rows = {"age": [1, 1, 2, 2], "sex": ["*", "f", "*", "f"], "disease": list("abab")}
    policy = fk.Policy([fk.Requirement(fk.Facts(), "2/3")])
    _, table = published(rows, policy, fk.FullDomain(), hierarchies={"age": fk.Intervals([10])})
    assert {row["sex"] for row in table} == {"* (level 1)"}


def test_utility_is_of_what_is_published():
    rows = {"age": [21, 21, 35, 36, 48, 48], "disease": list("ababab")}
    made, _ = published(rows, fk.Policy([fk.Requirement(fk.Facts(), "0.6")]))
    found = made.audit.lattice
    assert made.audit.utility.average_ncp == pytest.approx(found.loss_of(found.chosen))


# ---- settings ----------------------------------------------------------------------------------


def policy_of(publish, **more):
    return fk.Policy.from_dict(
        {
            "schema": {
                "quasi_identifiers": ["age"],
                "sensitive": "disease",
                "hierarchies": {"age": {"intervals": [10, 20]}},
            },
            "require": [{"facts": {}, "below": "2/3"}],
            "publish": publish,
        }
    )


def test_settings_of_a_policy_file_reach_the_method():
    policy = policy_of(
        {"method": "fulldomain", "fulldomain": {"suppression": 0.5, "find": "chain"}}
    )
    rows = {"age": [21, 22, 23, 24, 31, 41, 61], "disease": list("abababa")}
    made = fk.publish(raw(rows), policy, seed=1)
    assert made.audit.lattice.chosen == (2,)
    assert made.certificate.method == {
        "name": "FullDomain",
        "objective": "ncp",
        "find": "chain",
        "suppression": 0.5,
        "seconds": None,
    }
    assert policy.to_dict()["publish"]["fulldomain"] == {"suppression": 0.5, "find": "chain"}
    assert fk.Policy.from_dict(policy.to_dict()).options == policy.options


@pytest.mark.parametrize(
    ("publish", "said"),
    [
        (
            {"fulldomain": {"supression": 0.1}},
            "publish.fulldomain: unknown key supression; did you mean",
        ),
        ({"fulldomain": {"suppression": 1}}, "publish.fulldomain: suppression"),
        ({"fulldomain": {"find": "all"}}, "publish.fulldomain: find"),
        ({"fulldomain": {"seconds": 0}}, "publish.fulldomain: seconds"),
        ({"method": "mondrian", "mondrian": {"cuts": "five"}}, "publish.mondrian: cuts"),
        ({"method": "full-doman"}, "there is no method 'full-doman'; did you mean 'fulldomain'"),
        ({"fulldoman": {}}, "there is no method 'fulldoman'; did you mean 'fulldomain'"),
    ],
)
def test_mistakes_in_settings_name_the_key(publish, said):
    policy = policy_of({"method": "fulldomain", **publish})
    with pytest.raises(PolicyError) as raised:
        method_of(policy.options.method, policy)
    assert said in str(raised.value)


def test_unknown_settings_of_python_are_refused():
    options = fk.PublishOptions("fulldomain", settings={"fulldomain": {"cuts": 3}})
    with pytest.raises(PolicyError, match=r"publish.fulldomain: unknown key cuts"):
        fk.publish(raw({"age": [1, 2], "disease": ["a", "b"]}), EASY, options=options)
    options = fk.PublishOptions("mondrian", settings={"mondrian": {"cuts": 0}})
    with pytest.raises(InputError, match=r"publish\.mondrian: cuts: it should be greater than"):
        fk.publish(raw({"age": [1, 2], "disease": ["a", "b"]}), EASY, options=options)


# ---- what is said of the lattice ---------------------------------------------------------------


@pytest.mark.complete
def test_the_audit_of_a_publication_knows_the_whole_small_lattice(tmp_path):
    rows = {"age": [21, 21, 35, 36, 48, 48], "sex": list("fmfmfm"), "disease": list("ababab")}
    made, _ = published(rows, fk.Policy([fk.Requirement(fk.Facts(), "0.6")]))
    found = made.audit.lattice
    assert found.nodes("unknown") == []
    made.write(tmp_path / "out")
    page = (tmp_path / "out.owner" / "lattice.html").read_text("utf-8")
    assert "8 generalizations, one chosen" in page
    assert (tmp_path / "out.owner" / "lattice.html").stat().st_mode & 0o077 == 0
    # What may accompany the release says no more of the others than the release does.
    beside = (tmp_path / "out" / "report.html").read_text("utf-8")
    assert "lattice-figure" not in beside
    assert "Levels: age ranges of 10 and sex *." in beside
    assert "lattice" not in made.audit.to_dict()
    plain = fk.publish(raw(rows), EASY, seed=1)
    assert plain.audit.lattice is None
    plain.write(tmp_path / "plain")
    assert not list(tmp_path.rglob("plain*/lattice.html"))


@pytest.mark.complete
def test_what_is_said_of_suppressed_people_is_true_of_the_form(tmp_path):
    rows = {"age": [21, 22, 23, 24, 31, 41, 61], "disease": list("abababa")}
    policy = fk.Policy([fk.Requirement(fk.Facts(), "2/3")])
    for form, said in [
        ("generalized", "2 people are suppressed: in one group, with * in every column"),
        ("bucketized", "the columns themselves are published exactly; 2 people who stand out are"),
    ]:
        options = fk.PublishOptions(form=form)
        method = fk.FullDomain(suppression=0.5)
        made = fk.publish(raw(rows), policy, method=method, options=options, seed=1)
        made.write(tmp_path / form)
        for name in (f"{form}/report.html", f"{form}.owner/lattice.html"):
            assert said in (tmp_path / name).read_text("utf-8")


def test_the_command_line_publishes_by_it(tmp_path):
    from click.testing import CliRunner

    from foreknow.cli.entry import app

    ages = [21, 22, 23, 24, 31, 41, 61]
    with (tmp_path / "table.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("age", "disease"), *zip(ages, "abababa", strict=True)])
    (tmp_path / "policy.toml").write_text(
        '[schema]\nquasi_identifiers = ["age"]\nsensitive = "disease"\n'
        "hierarchies.age = { intervals = [10, 20] }\n"
        '[[require]]\nfacts = {}\nbelow = "2/3"\n'
    )
    call = ["publish", str(tmp_path / "table.csv"), "-p", str(tmp_path / "policy.toml")]
    call += ["--method", "fulldomain", "--out"]
    run = CliRunner().invoke
    said = run(app, [*call, str(tmp_path / "a"), "--set", "suppression=0.5"])
    assert said.exit_code == 0, said.output
    assert "Levels: age ranges of 20; 2 people are suppressed" in " ".join(said.output.split())
    assert (tmp_path / "a" / "release.csv").read_text().count('"*"') == 2
    for bad in ("suppression", "=1"):
        refused = run(app, [*call, str(tmp_path / "b"), "--set", bad])
        assert isinstance(refused.exception, InputError)
        assert "is not KEY=VALUE" in str(refused.exception)
    refused = run(app, [*call, str(tmp_path / "b"), "--set", "find=worst"])
    assert "find: it should be 'best', 'minimal' or 'chain', not 'worst'" in str(refused.exception)
    assert not (tmp_path / "b").exists()


def test_a_search_that_was_cut_off_is_published_with_a_note_and_its_gap_stays_with_the_owner(
    tmp_path, monkeypatch
):
    policy = fk.Policy.load(sample.policy_path())
    table = fk.Microdata(sample.table_path(), policy.schema)
    monkeypatch.setattr(fulldomain, "_MOST_KEPT", 0)
    monkeypatch.setattr(bestfirst, "_MOST_JUDGED", 12)
    made = fk.publish(table, policy, method=fk.FullDomain(), seed=1)
    found = made.audit.lattice
    assert found.gap > 0
    assert not found.complete
    assert found.n_nodes == 360
    assert found.n_checked == len(found.listed) <= 13
    assert not made.certificate.minimal
    assert any(note.startswith("the search was cut off") for note in made.certificate.notes)
    made.write(tmp_path / "out")
    fk.verify(tmp_path / "out")
    said = "no safe one loses less by more than"
    assert said in (tmp_path / "out.owner" / "lattice.html").read_text()
    assert "gap" not in (tmp_path / "out" / "certificate.json").read_text()
    every = product(*(range(top + 1) for top in found.tops))
    unknown = next(node for node in every if node not in found.listed)
    assert (found.status_of(unknown), found.loss_of(unknown)) == ("unknown", None)
    assert not found.was_judged(unknown)
    assert found.to_dict()["gap"] == found.gap
