"""A folder that was written is opened as its certificate describes it, or refused."""

import json
from dataclasses import replace

import pytest
from tests.people import FORMS, made, schema, short_report

import foreknow as fk
from foreknow.releases.written import open_published
from foreknow_judge.errors import CertificateError, SchemaError


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
