"""Whatever fails while a release is written, nothing of it is left behind."""

import gc
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from tests.people import FORMS, made, people, schema, short_report

import foreknow as fk
from foreknow.adversaries.facts.facts import Facts
from foreknow.errors import InternalError, NoSafeRelease, OutputError
from foreknow.methods.protocol import Traits
from foreknow.publishing import formats
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
