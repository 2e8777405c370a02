"""A table or release that changes while the explorer is open is judged anew."""

import shutil

import pyarrow as pa
import pytest
from tests.explore.conftest import Place

import foreknow as fk

POLICY = """[schema]
quasi_identifiers = ["ward"]
sensitive = "ill"

[[require]]
facts = { l = 0 }
below = "1/2"
"""
SAFE, UNSAFE = "ward,ill\na,1\na,2\na,3\n", "ward,ill\na,1\na,1\na,1\n"


@pytest.fixture
def opened(tmp_path):
    """A page of a table that is safe, and its folder."""
    (tmp_path / "table.csv").write_text(SAFE)
    (tmp_path / "policy.toml").write_text(POLICY)
    place = Place(tmp_path, tmp_path / "table.csv", tmp_path / "policy.toml")
    return place.browser(), tmp_path


def test_a_table_that_changes_is_judged_as_it_is_now(opened):
    """The rows that are shown beside the verdict were those of now before, too."""
    page, folder = opened
    assert page.ask("/api/release").json["mood"] == "safe"
    (folder / "table.csv").write_text(UNSAFE)
    assert page.ask("/api/release").json["mood"] == "unsafe"
    assert page.ask("/api/release/judged?value=1").json["mood"] == "unsafe"


def test_a_file_that_the_policy_names_is_read_as_it_is_now(opened):
    page, folder = opened
    tree = POLICY.replace("facts", 'any_of = "bad"\nfacts')
    tree += '\n[schema.hierarchies]\nill = { file = "codes.csv" }\n'
    (folder / "codes.csv").write_text("1;bad;*\n2;good;*\n3;good;*\n")
    page.post("/api/policy/written", {"text": tree})
    assert page.ask("/api/release").json["mood"] == "safe"
    (folder / "codes.csv").write_text("1;bad;*\n2;bad;*\n3;good;*\n")
    assert page.ask("/api/release").json["mood"] == "unsafe"


def test_a_release_that_is_written_anew_is_judged_anew(opened):
    page, folder = opened
    rules = fk.Policy.load(folder / "policy.toml")
    for ill in ("12345", "112345"):
        for name in ("out", "out.owner"):
            shutil.rmtree(folder / name, ignore_errors=True)
        made = fk.publish(pa.table({"ward": ["a"] * len(ill), "ill": list(ill)}), rules, seed=1)
        made.write(folder / "out")
        found = page.ask("/api/release?of=out").json["notes"]
        assert f"The smallest group has {len(ill)} people." in found
