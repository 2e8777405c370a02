"""Each byte of a Parquet file of a release is of a column, or says where they are."""

import hashlib
import json

import pandas as pd
import pytest

import foreknow as fk

SCHEMA = {
    "identifiers": ["id"],
    "quasi_identifiers": ["age"],
    "sensitive": "ill",
    "hierarchies": {"age": {"intervals": [10]}},
}
PEOPLE = pd.DataFrame(
    {
        "id": range(60),
        "age": [20 + i % 30 for i in range(60)],
        "ill": [("flu", "cold", "gout")[i % 3] for i in range(60)],
    }
)


@pytest.fixture(params=[None, 25], ids=["one file", "parts"])
def release(request, tmp_path):
    publish = {"format": "parquet"}
    publish |= {"rows_per_part": request.param} if request.param else {}
    rules = {"schema": SCHEMA, "require": [{"k_anonymity": 4}], "publish": publish}
    fk.publish(PEOPLE, fk.Policy.from_dict(rules), seed=1).write(tmp_path / "out")
    return tmp_path / "out"


def hide(release, note, at):
    """Write bytes into the last file, and have a certificate say that this is the release."""
    certificate = json.loads((release / "certificate.json").read_text())
    files = certificate["release"]["files"]
    path = release / [*files][-1]
    content = path.read_bytes()
    place = len(content) - 8 - int.from_bytes(content[-8:-4], "little") if at == "end" else at
    content = content[:place] + note + content[place:]
    path.write_bytes(content)
    files[[*files][-1]] = hashlib.sha256(content).hexdigest()
    (release / "certificate.json").write_text(json.dumps(certificate))


def test_what_lies_between_columns_and_their_description_is_refused(release):
    fk.verify(release)
    hide(release, b"p17 has gout", "end")
    with pytest.raises(fk.ForeknowError, match="has bytes that belong to none of its columns"):
        fk.verify(release)


def test_what_is_inserted_elsewhere_is_refused(release):
    hide(release, b"p17 has gout", 4)
    with pytest.raises(fk.ForeknowError):
        fk.verify(release)
