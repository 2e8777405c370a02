"""Labels that look alike, hierarchies that are said twice, and settings that are no columns."""

import hashlib
import json
from datetime import date, time
from decimal import Decimal

import pyarrow as pa
import pytest
from tests.test_levels import judged, shows_more

import foreknow as fk
from foreknow_judge.errors import CertificateError, InputError

QUARTERS = [Decimal(n) / 4 for n in range(48)]
DAYS = [date(2024, 1, 1 + n // 3) for n in range(48)]
UNKNOWN = [
    ["Unknown or missing", "Unknown", "*"],
    ["missing", "Unknown", "*"],
    ["x", "Unknown", "*"],
    ["y", "Y or missing", "*"],
]


@pytest.mark.parametrize(
    ("label", "holds"),
    [
        ("Unknown", True),
        ("Unknown or missing", False),  # a value, and not the node or nothing
        ("missing", False),
        ("x or missing", False),
        ("Y or missing", True),
        (None, True),
    ],
)
def test_a_value_that_reads_like_a_node_or_a_missing_one_is_a_value(label, holds):
    rows = {"rows": UNKNOWN}
    assert judged("town", [label, "*"], {"at_least": 1}, {"town": rows}).safe == holds
    assert shows_more(label, {"at_least": 1, "hierarchy": rows}) == (not holds)


@pytest.mark.parametrize(
    ("label", "level", "holds"),
    [
        ("1** (level 2)", 2, True),
        ("1** (level 1)", 1, True),
        ("1** (level 1)", 2, False),  # of codes that begin with 1*
        ("12* (level 2)", 2, False),
        ("1**", 2, True),
    ],
)
def test_a_code_that_ends_like_a_mask_is_masked_as_far_as_its_label_says(label, level, holds):
    own = {"mask": 3}
    assert judged("zip", [label, "*"], {"at_least": level}, {"zip": own}).safe == holds
    assert shows_more(label, {"at_least": level, "hierarchy": own}) == (not holds)


@pytest.mark.parametrize(
    ("labels", "widths", "holds"),
    [
        (["5"], [1, 10], True),  # of whole numbers, all from 5 to below 6
        (["5", "6 to <7"], [1, 10], False),  # these are not whole, and 5 is 5
        (["5", "6.5 to <7.5"], [1, 10], False),
        (["5"], ["0.5", 10], False),
        (["5.5"], ["0.5", 10], False),
        (["5 to 5"], ["0.5", 10], False),
        (["5 to 5.5"], ["0.5", 10], False),
        (["5 to <5.5"], ["0.5", 10], True),
        (["5 or more"], ["0.5", 10], True),
    ],
)
def test_a_number_is_an_interval_only_among_whole_numbers(labels, widths, holds):
    own = {"intervals": widths}
    assert judged("age", labels, {"at_least": 1}, {"age": own}).safe == holds
    whole = not any("." in label or "<" in label for label in labels)
    shown = [shows_more(label, {"at_least": 1, "hierarchy": own}, whole) for label in labels]
    assert any(shown) == (not holds)


@pytest.mark.thinned(2)
@pytest.mark.parametrize(
    ("values", "hierarchy", "own"),
    [
        (range(60, 108), {"intervals": [5, 10, 20]}, {"top": 90, "at_least": 2}),
        (QUARTERS, {"intervals": ["0.5", 2, 4]}, {"top": 8, "at_least": 2}),
        ([n // 3 for n in range(48)], {"intervals": [1, 5]}, {"at_least": 1}),
        (DAYS, {"dates": ["day", "month"]}, {"at_least": 1}),
        ([time(n // 3, 7) for n in range(48)], {"dates": ["hour", "day"]}, {"at_least": 1}),
        (
            [*"abd"] * 16,  # W is a node below for a value that nobody has
            {"rows": [[*"aNW*"], [*"bNW*"], [*"dMW*"], [*"xWV*"]]},
            {"at_least": 2},
        ),
        (
            [*"ab"] * 24,
            {"rows": [["a", "A or missing", "*"], ["b", "90 or more", "*"]]},
            {"at_least": 1},
        ),
    ],
)  # fmt: skip
@pytest.mark.parametrize("method", ["mondrian", "streamliner"])
def test_what_is_published_is_read_alike_by_all(tmp_path, values, hierarchy, own, method):
    schema = fk.Schema(quasi_identifiers=["c"], sensitive="ill", hierarchies={"c": hierarchy})
    rules = [fk.Requirement(fk.KAnonymity(2)), fk.Requirement(fk.Levels({"c": own}))]
    table = pa.table({"c": [*values], "ill": [*"abcd"] * 12})
    fk.publish(table, fk.Policy(rules, schema), method=method).write(tmp_path / "out")
    found = fk.verify(tmp_path / "out")
    assert all(finding.safe for finding in found.findings)
    assert found.people == 48


def rewritten(folder, change, texts=()):
    """Edit a certificate by hand, and its release, as somebody who covers their tracks."""
    at = folder / "certificate.json"
    said = json.loads(at.read_text("utf-8"))
    if texts:
        release = folder / "release.csv"
        release.write_text(release.read_text("utf-8").replace(*texts), "utf-8")
        digest = hashlib.sha256(release.read_bytes()).hexdigest()
        said["release"]["files"]["release.csv"] = digest
    change(said)
    at.write_text(json.dumps(said), "utf-8")


@pytest.mark.parametrize("character", ["", "5"])
def test_levels_by_another_hierarchy_than_the_schema_s_are_noticed(tmp_path, character):
    schema = fk.Schema(quasi_identifiers=["zip"], sensitive="ill", hierarchies={"zip": {"mask": 3}})
    rules = [fk.Requirement(fk.KAnonymity(2)), fk.Requirement(fk.Levels({"zip": {"at_least": 1}}))]
    table = pa.table({"zip": ["125"] * 4 + ["135"] * 4, "ill": [*"abcd"] * 2})
    fk.publish(table, fk.Policy(rules, schema)).write(tmp_path / "out")

    def change(said):
        own = {"mask": 3, "character": character}
        for place in (said["policy"]["require"][1], said["findings"][1]["judged"]):
            place["levels"]["zip"]["hierarchy"] = own
        for finding in said["findings"]:
            finding["group"] = "125"

    rewritten(tmp_path / "out", change, ("*", "5"))
    with pytest.raises(CertificateError, match="another hierarchy than the schema has"):
        fk.verify(tmp_path / "out")


def test_a_tree_that_lifts_what_is_published_is_noticed(tmp_path):
    rows = [["Thun", "Bern", "*"], ["Bern", "Bern", "*"]]
    schema = fk.Schema(
        quasi_identifiers=["town"], sensitive="ill", hierarchies={"town": {"rows": rows}}
    )
    rules = [fk.Requirement(fk.KAnonymity(2)), fk.Requirement(fk.KAnonymity(2))]
    table = pa.table({"town": ["Thun"] * 4 + ["Bern"] * 4, "ill": [*"abcd"] * 2})
    fk.publish(table, fk.Policy(rules, schema)).write(tmp_path / "out")
    lifted = {"rows": [["x", "Thun", "*"], ["y", "Bern", "*"]]}

    def change(said):
        own = {"levels": {"town": {"at_least": 1, "hierarchy": lifted}}}
        said["policy"]["require"][1] = said["findings"][1]["judged"] = own
        said["findings"][1]["exact"] = "0"

    rewritten(tmp_path / "out", change)
    with pytest.raises(CertificateError, match="another hierarchy than the schema has"):
        fk.verify(tmp_path / "out")


@pytest.mark.parametrize("given", [[5], [["age", 5]], {"age": 1}, {"age"}, [], [[]]])
def test_what_are_no_columns_is_refused(given):
    with pytest.raises(InputError, match="of is a list of columns"):
        fk.KAnonymity(2, of=given)
