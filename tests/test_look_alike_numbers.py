"""Values that are one number to whoever reads the file: said beside what is found of each."""

import foreknow as fk

POLICY = {
    "schema": {"quasi_identifiers": ["ward"], "sensitive": "ill"},
    "require": [{"facts": {"l": 0}, "below": "1/2"}],
}


def test_a_number_in_two_spellings_is_said_to_look_like_one(tmp_path):
    """Two of four have 1.1, as every program reads it; each spelling alone has one in four."""
    table = tmp_path / "table.csv"
    table.write_text("ward,ill\na,1.1\na,1.10\na,2\na,07\na,7\n")
    notes = fk.audit(table, POLICY).notes
    assert "These look like one value: '1.1', '1.10'. They are judged as different ones." in notes


def test_a_certificate_says_it_and_is_verified(tmp_path):
    table = tmp_path / "table.csv"
    rows = ["1.1", "1.10", "2", "3", "4"]
    table.write_text("ward,ill\n" + "".join(f"a,{own}\n" for own in rows))
    fk.publish(table, POLICY, seed=1).write(tmp_path / "out")
    assert fk.verify(tmp_path / "out").scope.alike == (("1.1", "1.10"),)
