"""Levels of a tree: the certificate's requirement has the rows that its schema has."""

import json

import pandas as pd
import pytest

import foreknow as fk

ROWS = [[1010, "north"], [1020, "north"], [2040, "south"]]
TABLE = pd.DataFrame(
    {
        "id": range(24),
        "zip": [(1010, 1020, 2040)[i % 3] for i in range(24)],
        "ill": [("flu", "cold")[i % 2] for i in range(24)],
    }
)


@pytest.fixture(params=["rows", "file"])
def release(request, tmp_path):
    hierarchy = {"rows": ROWS}
    if request.param == "file":
        path = tmp_path / "zip.csv"
        path.write_text("".join(f"{leaf},{node}\n" for leaf, node in ROWS))
        hierarchy = {"file": str(path)}
    schema = {
        "identifiers": ["id"],
        "quasi_identifiers": ["zip"],
        "sensitive": "ill",
        "hierarchies": {"zip": hierarchy},
    }
    require = [{"k_anonymity": 2}, {"levels": {"zip": {"at_least": 1}}}]
    rules = fk.Policy.from_dict({"schema": schema, "require": require})
    fk.publish(TABLE, rules, seed=1).write(tmp_path / "out")
    return tmp_path / "out"


def restated(folder, hierarchy):
    at = folder / "certificate.json"
    said = json.loads(at.read_text())
    for place in (said["policy"]["require"][1], said["findings"][1]["judged"]):
        place["levels"]["zip"]["hierarchy"] = hierarchy
    at.write_text(json.dumps(said))


def test_as_published_it_holds(release):
    assert fk.verify(release).findings[1].safe


def test_rows_of_another_tree_are_noticed(release):
    if (
        "rows"
        not in json.loads((release / "certificate.json").read_text())["policy"]["schema"][
            "hierarchies"
        ]["zip"]
    ):
        pytest.skip("the schema has the name of a file")
    restated(release, {"rows": [["a", "north"], ["b", "south"]]})
    with pytest.raises(fk.ForeknowError, match="another hierarchy than the schema has"):
        fk.verify(release)


def test_a_hierarchy_of_another_kind_is_noticed(release):
    restated(release, {"mask": 5, "character": "h"})
    with pytest.raises(fk.ForeknowError, match="another hierarchy than the schema has"):
        fk.verify(release)


def test_a_release_with_levels_is_judged_by_its_certificate(release):
    pytest.importorskip("starlette", reason="pip install .[explore]")
    from foreknow.explore.session import Session

    found = Session(release.parent, release).looked(None).audit
    assert [verdict.safe for verdict in found.verdicts] == [True, True]
