"""Whatever fails while a release is written, nothing of it is left behind."""

import gc
import os
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from tests.people import FORMS, made, people, schema, short_report

import foreknow as fk
from foreknow import Audit
from foreknow.adversaries.facts.facts import Facts
from foreknow.errors import InternalError, NoSafeRelease, OutputError
from foreknow.methods.protocol import Traits
from foreknow.publishing import entries, formats
from foreknow.publishing import publish as publishing
from foreknow_judge import duckdb_files
from foreknow_judge.errors import CertificateError, NotEnoughMemory
from foreknow_judge.scratch import CONTENT


@pytest.fixture(autouse=True)
def _short_report(monkeypatch):
    short_report(monkeypatch)


def raising(error):
    """A step that leaves something half-written and fails."""

    def step(*given, **named):
        for argument in given:
            if isinstance(argument, Path):
                argument.write_text("half")
        raise error

    return step


def three_groups(form="generalized", fmt="csv"):
    """Groups s t, s t, s t t; the worst is 2/3 for t, in the third."""
    table = pa.table({"age": [1, 1, 2, 2, 3, 3, 3], "disease": list("ststst") + ["t"]})
    policy = fk.Policy([fk.Requirement(fk.Facts(), "0.9", values=["t"])])
    roles = fk.Schema(quasi_identifiers=["age"], sensitive="disease")
    return made(form, fmt, table=table, policy=policy, roles=roles, labels={"age": "exact"})


FULL = OSError(28, "No space left on device")
# What fails, and what is said of it: too little memory and the disk are explained.
ERRORS = [
    (ValueError("x"), ValueError, None),
    (KeyboardInterrupt(), KeyboardInterrupt, None),
    (SystemExit(3), SystemExit, None),
    (CertificateError("no"), CertificateError, None),
    (InternalError("no"), InternalError, None),
    (MemoryError(), NotEnoughMemory, "use a machine with more"),
    (FULL, OutputError, "out': No space left on device; nothing"),
]
STEPS = {
    "copy": (entries.shutil, "copyfile"),
    "certificate": (publishing, "write_certificate"),
    "report": (Audit, "to_html"),
    "digest": (publishing, "digest_of"),
    "owner": (publishing, "as_json"),
}


@pytest.mark.thinned(2)
@pytest.mark.parametrize(("error", "kind", "said"), ERRORS, ids=lambda e: type(e).__name__)
@pytest.mark.parametrize("step", STEPS)
def test_failures_at_any_step(step, error, kind, said, tmp_path, monkeypatch):
    publication = three_groups()
    monkeypatch.setattr(*STEPS[step], raising(error))
    with pytest.raises(kind, match=said) as caught:
        publication.write(tmp_path / "out")
    assert type(caught.value) is kind
    assert kind is OutputError or error in (caught.value, caught.value.__cause__)
    assert list(tmp_path.iterdir()) == []


ASIDE = {"write": (formats, "write_csv"), "judge": (publishing, "findings_of")}
NO_MEMORY = (OSError(12, "Cannot allocate memory"), NotEnoughMemory, "use a machine with more")
# Of files that are written and judged aside something else is said.
OTHERWISE = {
    ("write", FULL): (OutputError, r"temporary files .*: No space left on device; nothing"),
    ("judge", ERRORS[3][0]): (NoSafeRelease, "cannot be verified: no"),
    ("judge", FULL): (OSError, "No space left on device"),
}


def aside():
    """What lies in the private folder of this process."""
    return {*(duckdb_files.scratch() / CONTENT).rglob("*")}


@pytest.mark.parametrize(
    ("error", "kind", "said"), [*ERRORS, NO_MEMORY], ids=lambda e: type(e).__name__
)
@pytest.mark.parametrize("step", ASIDE)
def test_failures_aside(step, error, kind, said, monkeypatch):
    kind, said = OTHERWISE.get((step, error), (kind, said))
    before = aside()
    monkeypatch.setattr(*ASIDE[step], raising(error))
    with pytest.raises(kind, match=said) as caught:
        three_groups()
    assert type(caught.value) is kind
    error.with_traceback(None)  # whose frames hold the files
    del caught
    gc.collect()
    assert aside() <= before


def harmless(table):
    rows = table.to_pylist()
    rows.remove({"age": "1", "disease": "t"})
    return pa.Table.from_pylist(rows)


@pytest.mark.parametrize("fmt", ["csv", "parquet"])
@pytest.mark.parametrize(
    ("form", "keep", "said"),
    [
        ("generalized", lambda table: table.slice(0, 6), "differs from what was written"),
        ("generalized", harmless, None),
        ("bucketized", lambda table: table[1 - ("count" in table.column_names) :], "do not match"),
    ],
)
def test_tables_that_read_back_otherwise(form, keep, said, fmt, monkeypatch):
    """A writer that writes other rows than it was given."""
    name = {"csv": "write_csv", "parquet": "write_in_parts"}[fmt]
    write = getattr(formats, name)

    def other_rows(given, path, *most, **options):
        return write(map(keep, given), path, *most, **options)

    monkeypatch.setattr(formats, name, other_rows)
    kinds = InternalError if form == "generalized" else (InternalError, NoSafeRelease)
    with pytest.raises(kinds, match=said):
        three_groups(form, fmt)


# ---- files and folders -------------------------------------------------------------------------


def test_where_a_publication_is_written(tmp_path):
    publication = made(seed=3)
    first, second = (publication.write(str(tmp_path / name)) for name in "ab")
    assert first.files == second.files
    with pytest.raises(OutputError, match="exists already"):
        publication.write(tmp_path / "a")
    ((path,),) = publication._files.paths.values()
    path.unlink()
    with pytest.raises(fk.InputError, match=r"release.csv.* was removed meanwhile; publish again"):
        publication.write(tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_files_outlive_a_fork():
    """A child that ends does not remove the files that its parent is to publish."""

    def write(name, folder):
        (folder / name).write_text("content")
        return [folder / name]

    files = entries.Aside(["release"], write)
    ((path,),) = files.paths.values()
    if not (child := os.fork()):
        del files
        os._exit(0)
    os.waitpid(child, 0)
    assert path.is_file()


# ---- a search that is wrong --------------------------------------------------------------------


class Wrong:
    """An anonymizer that pays no heed to the policy."""

    def __init__(self, groups):
        self.groups = groups

    def partition(self, microdata, policy=None, seed=None):
        return np.asarray(self.groups)


class Lying(Wrong):
    """One that says that it asks the policy, and does not."""

    traits = Traits(consults_policy=True)


ALONE = np.arange(60)
MICRODATA = fk.Microdata(people(), schema())
CERTAIN = fk.Policy([fk.Requirement(fk.Facts(), 1, knowing=[])])
QUARTER = fk.Policy([fk.Requirement(fk.Facts(), "1/4", knowing=[])])
PAIRS = fk.Policy([fk.Requirement(fk.KAnonymity(2), knowing=[])])


@pytest.mark.parametrize(("form", "fmt"), FORMS)
def test_unsafe_groups_are_caught(form, fmt):
    options = fk.PublishOptions(form=form, format=fmt)
    with pytest.raises(fk.NoSafeRelease, match="Wrong made groups that do not hold what"):
        fk.publish(MICRODATA, CERTAIN, method=Wrong(ALONE), options=options)


def test_groups_that_attain_the_threshold():
    policy = fk.Policy([fk.Requirement(fk.Facts(), "1/2")])
    table = pa.table({"age": [1, 1, 1, 1, 2, 2], "disease": list("stuvst")})
    microdata = fk.Microdata(table, fk.Schema(quasi_identifiers=["age"], sensitive="disease"))
    options = fk.PublishOptions(labels={"age": "exact"})
    with pytest.raises(fk.NoSafeRelease, match=r"reaches 0\.5 for"):
        fk.publish(microdata, policy, method=Wrong([0, 0, 0, 0, 1, 1]), options=options)
    assert fk.publish(microdata, policy, method=Wrong([0] * 6)).audit.safe


def test_a_sunny_audit_is_caught(monkeypatch):
    """As if the audit had a bug and called everything safe."""
    honest = Facts.disclosures

    def sunny(self, release):
        counts = release if isinstance(release, fk.GroupCounts) else release.counts
        return honest(self, counts.merge(np.zeros(counts.n_groups, dtype=np.int64)))

    monkeypatch.setattr(Facts, "disclosures", sunny)
    with pytest.raises(InternalError, match="disagree"):
        fk.publish(MICRODATA, CERTAIN, method=Wrong(ALONE))


@pytest.mark.parametrize(
    ("policy", "form"),
    [(QUARTER, "generalized"), (QUARTER, "bucketized"), (PAIRS, "generalized")],
)
def test_lying_methods_publish_nothing(policy, form, tmp_path):
    with pytest.raises(InternalError, match="disagree"):
        fk.publish(MICRODATA, policy, method=Lying(ALONE), form=form, out=tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("method", ["mondrian", "fulldomain"])
@pytest.mark.parametrize("policy", [QUARTER, PAIRS], ids=["facts", "k_anonymity"])
def test_mild_ledgers_publish_nothing(policy, method, tmp_path, monkeypatch):
    """As if a ledger had a bug, and admitted what is over the limit."""
    facts, sizes = fk.Facts.ledger, fk.KAnonymity.ledger
    monkeypatch.setattr(fk.Facts, "ledger", lambda kind, limit, *more: facts(kind, 1, *more))
    mild = fk.KAnonymity(1)
    monkeypatch.setattr(fk.KAnonymity, "ledger", lambda kind, *more: sizes(mild, *more))
    with pytest.raises(InternalError, match="disagree"):
        fk.publish(MICRODATA, policy, method=method, out=tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("limit", "searched"), [("1/2", 1), ("625000000001/1000000000000", None)])
def test_what_owners_find_unsafe(limit, searched, tmp_path, monkeypatch):
    """Files do not show the column of a rule: of them the judge finds less."""
    facts = fk.Facts.ledger
    monkeypatch.setattr(
        fk.Facts, "ledger", lambda kind, below, *more: facts(kind, searched or below, *more)
    )
    ill = ["Ovary", "Ovary", "Fever", "Fever", "Gout", "Gout", "Fever", "Ovary", "Fever"]
    table = pa.table({"zip": ["02139"] * 9, "sex": list("ffmfmfffm"), "ill": ill})
    rules = [{"values": ["Ovary"], "where": {"sex": ["m"]}}]
    roles = {"quasi_identifiers": ["zip"], "sensitive": "ill", "impossible": rules}
    required = [{"values": ["Gout"], "facts": {"l": 0, "k": 0, "m": 2}, "below": limit}]
    with pytest.raises(NoSafeRelease, match="as they are judged"):
        fk.publish(table, {"schema": roles, "require": required}, out=tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


def test_a_grouping_with_a_gap():
    with pytest.raises(InternalError):
        fk.publish(MICRODATA, CERTAIN, method=Wrong([0] * 30 + [2] * 30))
