"""Members: who is in which group, by name."""

import numpy as np
import pytest

from foreknow.data.labels import Labels
from foreknow.data.people import Members
from foreknow.errors import DataError


def test_everybody_has_a_group_and_groups_have_members():
    members = Members(Labels(["Ann", "Bob", "Tom"]), np.array([1, 0, 1]))
    assert [members.group_of(name) for name in members.names] == [1, 0, 1]
    assert members.of_group(1) == ["Ann", "Tom"]
    assert members.to_dict() == {"names": ["Ann", "Bob", "Tom"], "groups": [1, 0, 1]}


def test_a_stranger_is_an_error_with_a_hint():
    members = Members(Labels(["Ann", "Tom"]), np.array([0, 0]))
    with pytest.raises(DataError, match=r"nobody in the release is called 'Tim'.*'Tom'"):
        members.group_of("Tim")


def test_names_and_groups_go_together():
    with pytest.raises(DataError, match="2 names but 1 groups"):
        Members(Labels(["Ann", "Tom"]), np.array([0]))
