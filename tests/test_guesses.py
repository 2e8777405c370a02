"""What a user of pandas or Polars types without reading: it works, or says what to type."""

import io
import json
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import foreknow as fk

ROLES = {"quasi_identifiers": ["age", "sex"], "sensitive": "illness"}
RULES = {
    "schema": {"identifiers": ["pin"], **ROLES},
    "require": [{"facts": {"l": 1}, "below": 0.9}],
}
TOML = """
[schema]
identifiers = ["pin"]
quasi_identifiers = ["age", "sex"]
sensitive = "illness"
[[require]]
facts = { l = 1 }
below = 0.9
"""


@pytest.fixture(scope="module")
def own(tmp_path_factory):
    """A table of one's own in several shapes, and what was made of it."""
    return Own(tmp_path_factory.mktemp("own"))


class Own:
    def __init__(self, folder):
        chance = np.random.default_rng(7)
        self.frame = pd.DataFrame(
            {
                "pin": [f"p{i}" for i in range(200)],
                "age": chance.integers(20, 60, 200),
                "sex": chance.choice(["f", "m"], 200),
                "illness": chance.choice(["flu", "cold", "hiv", "none"], 200),
            }
        )
        self.folder, self.csv, self.toml = folder, folder / "own.csv", folder / "policy.toml"
        self.frame.to_csv(self.csv, index=False)
        self.toml.write_text(TOML)
        self.policy = fk.Policy(str(self.toml))
        self.made = fk.publish(self.frame, self.policy, seed=1)
        self.release, self.audit = self.made.release, self.made.audit
        self.raw = fk.Microdata(self.frame, self.policy.schema)

    def fresh(self, name):
        """A folder that does not exist yet."""
        self.count = getattr(self, "count", 0) + 1
        return self.folder / f"{name}-{self.count}"


def unsafe(found):
    """Of a raw table: someone is alone with an age and a sex."""
    return isinstance(found, fk.Audit) and not found.safe and found.counts.n_people == 200


def whole(made):
    return isinstance(made, fk.Publication) and made.audit.safe and len(made.release) == 200


# What is typed, and what came of it if it works.
WORKS = {
    # -- audit
    "audit(df, policy)": (lambda o: fk.audit(o.frame, o.policy), unsafe),
    "audit(paths)": (lambda o: fk.audit(str(o.csv), str(o.toml)), unsafe),
    "audit(Path, Path)": (lambda o: fk.audit(o.csv, o.toml), unsafe),
    "audit(df, dict)": (lambda o: fk.audit(o.frame, RULES), unsafe),
    "audit(polars)": (lambda o: fk.audit(pl.from_pandas(o.frame), o.policy), unsafe),
    "audit(microdata)": (lambda o: fk.audit(o.raw, o.policy), unsafe),
    "audit(publication)": (lambda o: fk.audit(o.made, o.policy), lambda a: a.safe),
    "audit(made.to_pandas())": (lambda o: fk.audit(o.made.to_pandas(), o.policy), lambda a: a.safe),
    "audit(folder)": (lambda o: fk.audit(_saved(o), o.policy), lambda a: a.safe),
    "audit(group=)": (
        lambda o: fk.audit(o.frame.assign(gid=0), o.policy, group="gid"),
        lambda a: a.counts.n_groups == 1,
    ),
    "print(audit)": (
        lambda o: str(o.audit),
        lambda s: s == "Audit(the release: safe, 1 requirement)",
    ),
    "audit.summary()": (
        lambda o: o.audit.summary(),
        lambda s: "Safe: the requirement holds" in s and "sex " in s and "\x1b" not in s,
    ),
    "audit.to_frame()": (
        lambda o: o.audit.to_frame(),
        lambda f: (
            isinstance(f, pd.DataFrame) and f["safe"].tolist() == [True] and f.limit[0] == 0.9
        ),
    ),
    "audit.to_frame(polars)": (
        lambda o: o.audit.to_frame("polars"),
        lambda f: isinstance(f, pl.DataFrame) and f["requirement"].to_list() == ["require[0]"],
    ),
    "audit.verdicts[0].value": (
        lambda o: o.audit.verdicts[0].value,
        {"flu", "cold", "hiv", "none"},
    ),
    "verdicts[0].probability": (lambda o: o.audit.verdicts[0].probability, lambda p: 0 < p < 0.9),
    # -- publish
    "publish(df, policy)": (lambda o: fk.publish(o.frame, o.policy), whole),
    "publish(paths)": (lambda o: fk.publish(str(o.csv), str(o.toml)), whole),
    "publish(df, dict)": (lambda o: fk.publish(o.frame, RULES), whole),
    "publish(LazyFrame)": (lambda o: fk.publish(pl.from_pandas(o.frame).lazy(), o.policy), whole),
    "publish(duckdb relation)": (lambda o: fk.publish(_relation(o), o.policy), whole),
    "publish(arrow)": (lambda o: fk.publish(pa.Table.from_pandas(o.frame), o.policy), whole),
    "publish(categories)": (
        lambda o: fk.publish(o.frame.astype({"sex": "category"}), RULES),
        whole,
    ),
    "publish(pd.NA)": (lambda o: fk.publish(_with_na(o), o.policy), whole),
    "seed=np.int64": (lambda o: fk.publish(o.frame, o.policy, seed=np.int64(1)), whole),
    "method='FullDomain'": (lambda o: fk.publish(o.frame, o.policy, method="FullDomain"), whole),
    "method='full_domain'": (lambda o: fk.publish(o.frame, o.policy, method="full_domain"), whole),
    "form='bucketized'": (
        lambda o: fk.publish(o.frame, o.policy, form="bucketized").to_pandas("people"),
        lambda f: list(f.columns) == ["age", "sex", "group"] and len(f) == 200,
    ),
    "made.to_pandas()": (
        lambda o: o.made.to_pandas(),
        lambda f: list(f.columns) == ["age", "sex", "illness"] and len(f) == 200,
    ),
    "made.to_polars()": (lambda o: o.made.to_polars(), lambda f: f.shape == (200, 3)),
    "made.to_arrow()": (lambda o: o.made.to_arrow(), lambda t: t.num_rows == 200),
    "made.save(folder)": (
        lambda o: fk.verify(_saved(o)),
        lambda v: v.people == 200 and v.sensitive == "illness",
    ),
    "made.utility": (lambda o: o.made.utility, lambda u: u.people == 200),
    "Facts().disclosure(made)": (
        lambda o: fk.Facts(l=1).disclosure(o.made, "hiv").exact,
        lambda exact: 0 < exact < 0.9,
    ),
    "made.groups": (
        lambda o: o.made.groups,
        lambda g: sum(g.values()) == 200 and {sex for _, sex in g} <= {"f", "m", "*", "f | m"},
    ),
    "release.groups": (lambda o: o.release.groups, lambda g: sum(g.values()) == 200),
    "len(release)": (lambda o: len(o.release), {200}),
    "len(microdata)": (lambda o: len(o.raw), {200}),
    # -- policies, schemas, adversaries
    "Policy(path)": (lambda o: fk.Policy(o.toml), lambda p: p.schema.sensitive == "illness"),
    "print(policy)": (lambda o: str(o.policy), {"Policy(1 requirement on 'illness')"}),
    "Policy(dict)": (lambda o: fk.Policy(RULES), lambda p: str(p.points[0].below) == "9/10"),
    "policy.schema": (lambda o: o.policy.schema.role("age"), {"quasi-identifier"}),
    "Microdata(df, roles)": (lambda o: fk.Microdata(o.frame, **ROLES).n_people, {200}),
    "Facts(5)": (lambda o: fk.Facts(5), {fk.Facts(l=5)}),
    "below=np.float32": (
        lambda o: fk.Requirement(fk.Facts(), below=np.float32(0.1)).points[0].below,
        lambda limit: str(limit) == "1/10",
    ),
    "skyline(release)": (
        lambda o: fk.skyline(o.release, confidence=0.9).skylines["hiv"],
        lambda points: points and all(len(point) == 3 for point in points),
    ),
    "skyline(df, policy=)": (
        lambda o: fk.skyline(o.frame, confidence=0.9, policy=o.policy).skylines["hiv"],
        lambda points: points == [],
    ),
    "attack(method='Mondrian')": (
        lambda o: fk.attack(o.raw, "Mondrian", o.policy, seconds=1.0),
        lambda a: isinstance(a, fk.Attack),
    ),
    "k_anonymity(release)": (lambda o: fk.k_anonymity(o.release), lambda k: k > 1),
    "KAnonymity(k=5).holds": (lambda o: fk.KAnonymity(k=2).holds(o.release), {True}),
}


def _saved(own):
    folder = own.fresh("saved")
    own.made.save(folder)
    return folder


def _relation(own):
    return duckdb.sql(f"SELECT * FROM '{own.csv}'")


def _with_na(own):
    age = own.frame["age"].astype("Int64")
    return own.frame.assign(age=age.where(age > 25))


@pytest.mark.parametrize("typed", WORKS)
def test_a_guess_works(own, typed):
    do, expected = WORKS[typed]
    found = do(own)
    assert found in expected if isinstance(expected, set) else expected(found)


# What is typed, and what to type: a part of the message.
SAYS = {
    "bool(audit)": (lambda o: bool(o.audit), "neither true nor false by itself; ask .safe"),
    "if verdict": (lambda o: bool(o.audit.verdicts[0]), "ask .safe"),
    "audit['safe']": (lambda o: o.audit["safe"], "such as .safe and .verdicts"),
    "audit(df)": (lambda o: fk.audit(o.frame), "is missing the policy: the path of a policy.toml"),
    "audit(policy, df)": (lambda o: fk.audit(o.policy, o.frame), "the release comes first"),
    "audit(df, no schema)": (
        lambda o: fk.audit(o.frame, fk.Policy(o.policy.requirements)),
        "Policy([...], Schema(quasi_identifiers=[...], sensitive=...))",
    ),
    "audit(release, group=)": (
        lambda o: fk.audit(o.release, o.policy, group="sex"),
        "has groups already; leave out group",
    ),
    "audit(folder, group=)": (
        lambda o: fk.audit(_saved(o), o.policy, group="sex"),
        "are in its certificate; leave out the group",
    ),
    "audit(folder, other policy)": (
        lambda o: fk.audit(_saved(o), RULES | {"schema": ROLES | {"quasi_identifiers": ["age"]}}),
        "the certificate is for age, sex and illness",
    ),
    "audit(df, wrong column)": (
        lambda o: fk.audit(o.frame.rename(columns={"age": "Age"}), o.policy),
        "has no column 'age'; did you mean 'Age'?",
    ),
    "audit.to_frame('dask')": (lambda o: o.audit.to_frame("dask"), "there is no library 'dask'"),
    "publish(methd=)": (
        lambda o: fk.publish(o.frame, o.policy, methd="mondrian"),
        "did you mean 'method'?",
    ),
    "publish(method=class)": (
        lambda o: fk.publish(o.frame, o.policy, method=fk.Mondrian),
        "give a method, such as Mondrian(), not its class",
    ),
    "publish(method='modrian')": (
        lambda o: fk.publish(o.frame, o.policy, method="Modrian"),
        "did you mean 'mondrian'?",
    ),
    "publish(no file)": (lambda o: fk.publish("no.csv", o.policy), "there is no file or folder"),
    "publish(no policy)": (lambda o: fk.publish(o.csv, "no.toml"), "'no.toml' does not exist"),
    "to_pandas() of two tables": (
        lambda o: fk.publish(o.frame, o.policy, form="bucketized").to_pandas(),
        "name one, as .to_pandas('people')",
    ),
    "made.head()": (lambda o: o.made.head(), "its table is .to_pandas()"),
    "save twice": (lambda o: o.made.save(_saved(o)), "exists"),
    "verify(made)": (lambda o: fk.verify(o.made), "made.write(folder), then verify(folder)"),
    "verify(no folder)": (lambda o: fk.verify("no/where"), "does not exist"),
    "load": (lambda o: fk.load(o.csv), 'fk.audit("table.csv", "policy.toml")'),
    "nothing like it": (lambda o: fk.whatever, "no attribute 'whatever'; see dir(foreknow)"),
    "Policy(None)": (lambda o: fk.Policy(None), "must be a list, such as [Requirement(...)]"),
    "Schema(sensitive=[])": (
        lambda o: fk.Schema(quasi_identifiers=["age"], sensitive=[]),
        "sensitive is empty; name the column that must stay hidden",
    ),
    "mondrian": (lambda o: fk.mondrian, "did you mean 'Mondrian'?"),
    "Schema(quasi_identifiers='age')": (
        lambda o: fk.Schema(quasi_identifiers="age", sensitive="illness"),
        "must be a list of columns, such as ['age']",
    ),
    "Schema without sensitive": (
        lambda o: fk.Schema(quasi_identifiers=["age"]),
        "write Schema(sensitive=..., quasi_identifiers=...",
    ),
    "Schema(positional)": (lambda o: fk.Schema(["age"], "illness"), "write Schema(sensitive=..."),
    "Microdata(df)": (lambda o: fk.Microdata(o.frame), "write Schema(sensitive=..."),
    "Microdata(df, schema, sensitive=)": (
        lambda o: fk.Microdata(o.frame, o.policy.schema, sensitive="age"),
        "leave out sensitive",
    ),
    "verify(folder=, polcy=)": (
        lambda o: fk.verify("out", polcy=o.policy),
        "did you mean 'policy'?",
    ),
    "Release(df)": (lambda o: fk.Release(o.frame), "Release.from_generalized(table,"),
    "Facts(k=5).disclosure(df)": (
        lambda o: fk.Facts(k=5).disclosure(o.frame),
        "Release.from_generalized(table, quasi_identifiers=[...], sensitive=...)",
    ),
    "Facts(n=5)": (lambda o: fk.Facts(n=5), "Facts takes no 'n'; known: 'l', 'k', 'm'"),
    "Requirement(below=0.5)": (lambda o: fk.Requirement(below=0.5), "such as Facts(l=1), not None"),
    "Requirement('facts')": (
        lambda o: fk.Requirement("facts", below=0.5),
        "expected an adversary such as Facts(l=1), not 'facts'",
    ),
    "Requirement(below=50)": (
        lambda o: fk.Requirement(fk.Facts(), below=50),
        "above 0 and at most 1, not 50",
    ),
    "Requirement(belo=)": (
        lambda o: fk.Requirement(fk.Facts(), belo=0.5),
        "did you mean 'below'?",
    ),
    "Mondrian(k=5)": (lambda o: fk.Mondrian(k=5), "Requirement(KAnonymity(5))"),
    "k_anonymity(5)": (lambda o: fk.k_anonymity(5), "Requirement(KAnonymity(5)) requires it"),
    "KAnonymity(k=5).holds(df)": (
        lambda o: fk.KAnonymity(k=5).holds(o.frame),
        "Release.from_generalized(table,",
    ),
    "skyline(df)": (lambda o: fk.skyline(o.frame, confidence=0.9), "say what the columns are"),
    "skyline(value=)": (
        lambda o: fk.skyline(o.release, value="hiv", confidence=0.9),
        "did you mean 'values'?",
    ),
    "index by pin": (
        lambda o: fk.publish(o.frame.set_index("pin"), o.policy),
        "has no column 'pin': it is in the index; give frame.reset_index()",
    ),
    "MultiIndex": (
        lambda o: fk.publish(o.frame.set_index(["age", "sex"]), o.policy),
        "has no column 'age': it is in the index; give frame.reset_index()",
    ),
    "columns of two levels": (
        lambda o: fk.publish(pd.concat({"a": o.frame}, axis=1), o.policy),
        "is no text; rename the columns",
    ),
    "an open file": (
        lambda o: fk.publish(io.StringIO(o.csv.read_text()), o.policy),
        "give a path (not an open file)",
    ),
    "a Series": (lambda o: fk.publish(o.frame["age"], o.policy), "is not a table"),
    "a list of dicts": (
        lambda o: fk.publish(o.frame.to_dict("records"), o.policy),
        "a frame of pandas, Polars",
    ),
}


@pytest.mark.parametrize("typed", SAYS)
def test_a_guess_that_does_not_work_says_what_to_type(own, typed):
    do, said = SAYS[typed]
    with pytest.raises((fk.ForeknowError, AttributeError)) as caught:
        do(own)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 400


def test_a_call_that_does_not_fit_is_still_a_type_error(own):
    for typed in (lambda: fk.Facts(n=5), lambda: fk.audit(own.frame), lambda: fk.Schema()):
        with pytest.raises(TypeError) as caught:
            typed()
        assert isinstance(caught.value, fk.InputError)


def test_what_a_method_gets_wrong_inside_is_not_taken_for_a_call(own):
    class Mine:
        def partition(self, microdata, policy=None, seed=None):
            return len(5)

    with pytest.raises(TypeError, match="has no len") as caught:
        fk.publish(own.frame, own.policy, method=Mine())
    assert not isinstance(caught.value, fk.InputError)


def test_the_file_is_the_frame(own):
    """What is saved is what `to_pandas` shows, and both are the audited release."""
    shown = own.made.to_pandas()
    folder = _saved(own)
    written = pd.read_csv(folder / "release.csv", dtype=str, keep_default_na=False)
    assert written.to_dict("list") == shown.to_dict("list")
    assert own.made.groups == shown.groupby(["age", "sex"]).size().to_dict()


def test_a_frame_of_the_release_tells_of_no_value_that_is_not_in_it(own):
    """Categories, too, would be published with the frame."""
    for table in (own.made.to_arrow(), fk.publish(own.frame, RULES).to_arrow()):
        assert not any(pa.types.is_dictionary(kind) for kind in table.schema.types)
        assert table.schema.metadata is None
    assert not any(isinstance(kind, pd.CategoricalDtype) for kind in own.made.to_pandas().dtypes)


def test_a_method_is_certified_by_its_own_name(own):
    made = fk.publish(own.frame, own.policy, method="Full-Domain")
    assert made.certificate.policy["publish"]["method"] == "fulldomain"
    assert made.certificate.method["name"] == "FullDomain"


def test_the_same_policy_however_it_is_given(own):
    given = [own.toml, str(own.toml), RULES, own.policy]
    policies = [fk.Policy.of(each) for each in given]
    assert [p.to_dict() for p in policies] == [own.policy.to_dict()] * 4
    assert json.dumps(fk.Policy(RULES).to_dict()) == json.dumps(fk.Policy(RULES).to_dict())
    assert (
        fk.Policy(Path(own.toml), options=fk.PublishOptions(form="bucketized")).schema is not None
    )


def test_an_audit_of_a_table_is_that_of_its_groups(own):
    """Opened by a schema or by hand: the same counts, the same verdicts."""
    by_hand = fk.Release.from_generalized(own.frame, **ROLES)
    one, other = fk.audit(own.csv, own.policy), fk.audit(by_hand, own.policy)
    assert [v.disclosure.exact for v in one.verdicts] == [
        v.disclosure.exact for v in other.verdicts
    ]
    assert one.utility == other.utility
    sizes = own.frame.groupby(["age", "sex"]).size()
    assert sorted(by_hand.groups.values()) == sorted(sizes)
    assert len(by_hand) == sizes.sum()
