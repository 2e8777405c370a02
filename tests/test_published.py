"""A folder that was written is opened as its certificate describes it, or refused."""

import json
import random
import re
from dataclasses import replace

import pyarrow as pa
import pytest
from tests.people import FORMS, made, schema, short_report

import foreknow as fk
from foreknow.errors import SchemaError
from foreknow.releases.written import open_published
from foreknow_judge.errors import CertificateError


@pytest.mark.parametrize(("form", "fmt"), FORMS)
def test_a_folder_and_its_files_are_the_release(form, fmt, tmp_path, monkeypatch):
    short_report(monkeypatch)
    publication = made(form, fmt, escape_formulas=True)
    publication.write(tmp_path / "out")
    wanted = publication.audit.verdicts
    for path in (tmp_path / "out", *sorted((tmp_path / "out").glob(f"*.{fmt}"))):
        found = open_published(path, schema())
        assert fk.audit(found.release, publication.audit.policy).verdicts[0].safe
        judged = fk.audit(found.release, publication.audit.policy).verdicts
        assert [v.disclosure.exact for v in judged] == [v.disclosure.exact for v in wanted]
        assert set(map(str, found.release.counts.values)) == set(
            map(str, publication.release.counts.values)
        )
        assert found.certificate.form == form
        assert repr(found) == f"Published({found.release.name}, {form})"


def test_what_is_not_as_certified_is_refused(tmp_path, monkeypatch):
    short_report(monkeypatch)
    made().write(tmp_path / "out")
    with pytest.raises(SchemaError, match="the certificate is for age, zip, sex and disease"):
        open_published(tmp_path / "out", schema(quasi_identifiers=["age"], hierarchies={}))
    several = replace(schema(), person="name", identifiers=[], semantics="set")
    with pytest.raises(SchemaError, match=r"'single'.*'set'"):
        open_published(tmp_path / "out", several)
    path = tmp_path / "out" / "certificate.json"
    told = json.loads(path.read_text())
    told["release"]["files"] = {}
    path.write_text(json.dumps(told))
    with pytest.raises(CertificateError, match="does not name its files"):
        open_published(tmp_path / "out")
    path.unlink()
    with pytest.raises(fk.InputError, match=r"has no certificate\.json"):
        open_published(tmp_path / "out")


def incomes(first=(10**6,) * 3, **more):
    """Three people with far the highest incomes, and 197 others."""
    chance = random.Random(3)
    income = [*first, *(chance.randrange(20, 100) * 1000 for _ in range(197))]
    sex = [chance.choice("fm") for _ in income]
    columns = {"income": income, "sex": sex, "disease": [chance.choice("abce") for _ in income]}
    return pa.table(columns | more)


def asked(*requirements, roles=None, known=("income", "sex"), **publish):
    schema = {"quasi_identifiers": [*known], "sensitive": "disease", **(roles or {})}
    return {"schema": schema, "require": [*requirements], "publish": publish}


HIGHER = (10**8, 9 * 10**7, 8 * 10**7)
STEPS = {"hierarchies": {"income": {"intervals": [10_000, 50_000, 100_000]}}}
CASES = {"person": "patient", "unit": "row"}
AT_MOST = {"facts": {"l": 0}, "below": 0.9}
K, HIDDEN = {"k_anonymity": 5}, {"suppression": 0.05}
COUPLES, HALVES = [i // 2 for i in range(200)], [*"xy"] * 100
RARE = [["p", "p", "p"], ["p", "q", "r"]]
# Two tables that differ in values that are not published, and a policy.
UNPUBLISHED = {
    "mondrian": (incomes(), incomes(HIGHER), asked(K, mondrian=HIDDEN)),
    "fulldomain": (
        *(incomes(), incomes(HIGHER)),
        asked(K, roles=STEPS, method="fulldomain", fulldomain=HIDDEN),
    ),
    "sets": (
        *(incomes(income=[*few, *[*"abcd"] * 49, "a"]) for few in RARE),
        asked(K, mondrian=HIDDEN),
    ),
    "cases": (
        *(incomes(patient=own) for own in ([*range(200)], COUPLES)),
        asked(K, AT_MOST, roles=CASES, known=["sex"]),
    ),
    "knowing": (
        *(incomes(job=own) for own in (["x"] * 200, HALVES)),
        asked(AT_MOST | {"knowing": ["job"]}, known=["sex"]),
    ),
}


@pytest.mark.complete
@pytest.mark.parametrize("case", UNPUBLISHED)
def test_unpublished_values_change_no_file(case, tmp_path):
    *tables, policy = UNPUBLISHED[case]
    folders = [tmp_path / "one", tmp_path / "other"]
    for table, folder in zip(tables, folders, strict=True):
        fk.publish(table, policy, seed=1, out=folder)
    one, other = ({path.name: told(path) for path in sorted(own.iterdir())} for own in folders)
    assert one == other


def told(path):
    """The lines of a published file, in order; of a certificate, without digests."""
    return sorted(re.sub("[0-9a-f]{64}", "", path.read_text()).splitlines())
