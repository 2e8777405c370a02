"""What holds of every registered method: groups, seeds, refusals, safety, what it publishes."""

import random
from contextlib import suppress
from dataclasses import MISSING, fields
from fractions import Fraction

import pyarrow as pa
import pytest
from tests.methods.tables import asking

import foreknow as fk
from foreknow.methods.protocol import traits_of
from foreknow.methods.registry import METHODS, PROVED, kind_of
from foreknow_judge.errors import PolicyError

VARIANTS = ["rda", "ria", "gda", "gsa"]
CASES = [(key, {}) for key, _ in METHODS if key not in ("streamliner", "anatomy")]
CASES += [("anatomy", {"l": 2}), *(("streamliner", {"l": 2, "variant": v}) for v in VARIANTS)]


def people(n=60, seed=1, letters="abcdef"):
    draw = random.Random(seed)
    return pa.table({
        "sex": [draw.choice("mf") for _ in range(n)],
        "age": [draw.randint(20, 59) for _ in range(n)],
        "disease": draw.sample([letters[i % len(letters)] for i in range(n)], n),
    })  # fmt: skip


def by_sex(rows, smoothing=0, **limit):
    """A requirement about priors that are learned of a table."""
    rows = rows.filter(rows["disease"].is_valid())
    return fk.Requirement(fk.Priors.learn(rows, ["sex"], "disease", smoothing=smoothing), **limit)


# ---- refusals -----------------------------------------------------------------------------------


WHOLE = [0, -3, 2.0, "3", True]


@pytest.mark.parametrize(
    ("name", "given", "message"),
    [
        *(("Mondrian", [cuts], "cuts must be a whole number from 1") for cuts in [None, *WHOLE]),
        *(("Anatomy", [l], "l must be a whole number from 2") for l in [1, *WHOLE]),  # noqa: E741
        *(("Streamliner", [l], "l must be a whole number from 2") for l in [1, *WHOLE]),  # noqa: E741
        ("Streamliner", [2, "rdb"], "no variant 'rdb'; did you mean 'rda'"),
        ("Streamliner", [2, "gda", {"age": -1}], "weight of 'age'"),
        ("Streamliner", [2, "gda", 3], "weights must map names .* not 3"),
        ("Streamliner", [2, "gda", ["age"]], "weights must map names"),
        ("Streamliner", [2, "rda", {"age": 1}], "'rda' does not look at quasi-ident"),
        ("Streamliner", [2, "ria", {"age": 1}], "weights are for 'gda' and 'gsa'"),
    ],
)
def test_wrong_parameters(name, given, message):
    with pytest.raises(fk.InputError, match=message):
        getattr(fk, name)(*given)


# ---- what init names -----------------------------------------------------------------------------


def test_init_asks_every_proved_method():
    """It loads no others: they do not consult a policy, publish two tables, or need priors."""
    proved = set()
    for key, given in CASES:
        with suppress(fk.InputError):
            traits = traits_of(kind_of(key)(**given))
            if traits.consults_policy and traits.proof and traits.form == "generalized":
                proved.add(key)
    assert proved == {*PROVED}


# ---- ART as it is published ----------------------------------------------------------------------


def by_art(rows, *requirements):
    names = [name for name in rows.column_names if name != "disease"]
    schema = fk.Schema(quasi_identifiers=names, sensitive="disease")
    options = fk.PublishOptions(method="art", form="bucketized")
    policy = fk.Policy(list(requirements))
    return fk.publish(fk.Microdata(rows, schema), policy, options=options, seed=3)


def test_requirements_of_art(tmp_path):
    """It needs one about priors, and serves others beside it, and limits of both forms."""
    rows, facts = people(), asking(0.9).requirements[0]
    with pytest.raises(PolicyError, match=r"requirements about priors.*the policy has none"):
        by_art(rows, facts)
    result = by_art(rows, facts, by_sex(rows, at_most="1/3"))
    assert (result.audit.safe, len(result.audit.verdicts)) == (True, 2)
    strict = asking("0.4", (2,)).requirements[0]
    with pytest.raises(fk.NoSafeRelease, match="ART made groups that do not hold"):
        by_art(rows, strict, by_sex(rows, at_most="1/2"))
    half = by_sex(rows, at_most="1/2")
    result = by_art(rows, half, by_sex(rows, at_most_times=2, values=["c"]))
    first, second = result.audit.verdicts
    assert first.disclosure.exact <= Fraction(1, 2)
    assert second.disclosure.exact <= 2 * second.disclosure.prior
    result.write(tmp_path / "out")
    assert fk.Certificate.load(tmp_path / "out" / "certificate.json").check(tmp_path / "out") == []


@pytest.mark.parametrize("key", [key for key, _ in METHODS])
def test_defaults_are_one(key):
    """A setting that a policy file leaves out is what the class takes, as editors show it."""
    kind = kind_of(key)
    defaults = {field.name: field.default for field in fields(kind) if field.default is not MISSING}
    for name, setting in kind.settings.model_fields.items():
        assert setting.default == defaults.get(name, setting.default), name
