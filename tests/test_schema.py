"""Schema: roles of columns, and every way they can contradict each other."""

from dataclasses import FrozenInstanceError

import pytest

from foreknow.data.engines.columns import Relabel
from foreknow.data.hierarchy import Intervals, Mask, Tree
from foreknow.data.schema import Schema
from foreknow.errors import HierarchyError, SchemaError

ROLES = {"quasi_identifiers": ["age", "zip"], "sensitive": "disease"}


def schema(**more):
    return Schema(**ROLES | more)


def test_every_column_has_its_role():
    given = schema(identifiers=["name"], other=["ward"], group="gid")
    roles = {"name": "identifier", "age": "quasi-identifier", "disease": "sensitive"}
    roles |= {"ward": "other", "gid": "group", "weight": None}
    assert {column: given.role(column) for column in roles} == roles
    assert given.columns == ["name", "age", "zip", "disease", "ward", "gid"]


def test_a_schema_is_frozen_and_keeps_no_list_of_the_caller():
    columns = ["age"]
    given = Schema(quasi_identifiers=columns, sensitive="disease")
    columns.append("name")
    assert given.quasi_identifiers == ("age",)
    with pytest.raises(FrozenInstanceError):
        given.sensitive = "age"
    with pytest.raises(TypeError):
        Schema("disease", ["age"])
    assert Schema(sensitive="disease", group="gid").quasi_identifiers == ()
    for semantics in ("set", "multiset"):
        assert schema(semantics=semantics).person is None


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ({"quasi_identifiers": "age"}, r"quasi_identifiers must be a list .* \['age'\]"),
        ({"identifiers": "name"}, r"identifiers must be a list of columns, such as \['name'\]"),
        ({"other": "ward"}, r"other must be a list of columns, such as \['ward'\]"),
        ({"quasi_identifiers": []}, "quasi_identifiers is empty; name at least one column"),
        (
            {"sensitive": "age"},
            "column 'age' is given as sensitive and as quasi-identifier; keep one",
        ),
        ({"identifiers": ["age"]}, "'age' is given as quasi-identifier and as identifier"),
        ({"other": ["disease"]}, "'disease' is given as other and as sensitive"),
        ({"group": "zip"}, "'zip' is given as group and as quasi-identifier"),
        ({"quasi_identifiers": ["age", "age"]}, "'age' is given as quasi-identifier twice"),
        ({"semantics": "sets"}, "semantics 'sets' is unknown; did you mean 'set'"),
        (
            {"semantics": "set", "missing": "drop"},
            "missing = \"drop\" has no place under semantics 'set', where a null means that the "
            "person has no value; leave it out",
        ),
        (
            {"semantics": "multiset", "missing": {"label": "drop"}},
            'missing = { label = "drop" } has no place under semantics',
        ),
        (
            {"semantics": "set", "person": "disease"},
            "column 'disease' cannot be person and sensitive",
        ),
        ({"missing": "dorp"}, r'missing must be "error", "drop" or \{ label .*, not \'dorp\''),
        ({"missing": {"lable": "x"}}, r'missing must be "error", "drop" or \{ label'),
        ({"missing": {"label": 1}}, r'missing must be "error", "drop" or \{ label'),
        ({"missing": {}}, r'missing must be "error", "drop" or \{ label'),
        ({"missing": None}, r'missing must be "error", "drop" or \{ label .*, not None'),
        (
            {"hierarchies": {"zipp": Mask(5)}},
            "given for 'zipp', which is no quasi-identifier; did you mean 'zip'",
        ),
        ({"other": ["ward"], "types": {"ward": "text"}}, "'ward', which is no quasi-identifier"),
        ({"hierarchies": {"age": 5}}, r"of 'age' must be a Hierarchy or a table .*, not 5"),
        (
            {"quasi_identifiers": ["age.y"], "hierarchies": {"age": {"y": {"mask": 5}}}},
            "'age', which is no quasi-identifier; in TOML, write \"age.y\" in quotes",
        ),
        ({"types": {"agee": "number"}}, "'agee', which is no quasi-identifier; did you mean 'age'"),
        ({"types": {"age": "nubmer"}}, "type of 'age' is 'nubmer'; did you mean 'number'"),
        ({"types": {"age": "int"}}, "type of 'age' is 'int'; .*'number', 'date', 'text'"),
    ],
    ids=str,
)
def test_a_schema_that_cannot_be_meant_says_why(more, says):
    with pytest.raises(SchemaError, match=says):
        schema(**more)


@pytest.mark.parametrize(
    ("table", "says"),
    [
        ({"interval": [5]}, "column 'age' has an unknown key 'interval'; did you mean 'intervals'"),
        ({"intervals": [10, 5]}, "column 'age', 'intervals': interval widths must increase"),
        ({"file": "nowhere.csv"}, r"column 'age', 'file': .*nowhere\.csv' does not exist"),
    ],
)
def test_a_table_that_is_no_hierarchy_names_its_column(table, says):
    with pytest.raises(HierarchyError, match=says):
        schema(hierarchies={"age": table})


def test_a_label_for_nulls_is_kept_as_one():
    for label in ("unknown", "drop"):
        given = schema(missing={"label": label})
        assert isinstance(given.missing, Relabel)
        assert given == schema(missing=Relabel(label)) == Schema(**given.to_dict())
        assert given.to_dict()["missing"] == {"label": label}


def test_hierarchies_may_be_tables_and_files_start_at_the_folder(tmp_path):
    (tmp_path / "sex.csv").write_text("f;*\nm;*\n")
    given = schema(
        hierarchies={"age": {"intervals": [5, 10]}, "zip": {"file": "sex.csv"}}, folder=tmp_path
    )
    assert given.hierarchies["age"] == Intervals([5, 10])
    assert isinstance(given.hierarchies["zip"], Tree)


def test_the_table_of_a_policy_file_makes_the_same_schema_again(tmp_path):
    (tmp_path / "zip.csv").write_text("1;*\n")
    given = schema(
        identifiers=["name"],
        other=["ward"],
        semantics="set",
        person="pid",
        group="gid",
        hierarchies={"age": Intervals([5, 10]), "zip": {"file": "zip.csv"}},
        types={"zip": "text"},
        folder=tmp_path,
    )
    again = Schema(**given.to_dict(), folder=tmp_path)
    assert again == given
    assert again.to_dict() == given.to_dict()


def test_the_table_holds_no_more_than_was_said():
    assert schema().to_dict() == {
        "identifiers": [],
        "quasi_identifiers": ["age", "zip"],
        "sensitive": "disease",
        "semantics": "single",
    }
