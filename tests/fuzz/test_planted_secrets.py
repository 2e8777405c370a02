"""Secrets planted in what is not published are in no byte of what is."""

import base64
import csv
import itertools
import os
import zlib
from pathlib import Path

import pyarrow.parquet as pq
import pytest

# One for each place from which nothing may be published.
SECRETS = {
    "identifier": "Quillfeather",
    "person": "Wexcombe",
    "unnamed column": "zyxcolumn",
    "unnamed value": "zyxvalue",
    "source file": "ploverfile",
    "source folder": "ploverfolder",
    "policy file": "dunlinfile",
    "hierarchy folder": "godwitfolder",
    "priors file": "whimbrelfile",
    "comment": "knotcomment",
    "unused level": "ruffunused",
    "environment": "smewhome",
}
SCHEMA = """# {comment}
[schema]
identifiers = ["name"]
quasi_identifiers = ["age", "sex"]
sensitive = "disease"
other = ["job"]
{more}

[[require]]
facts = {{ l = 0 }}
below = 0.9
{require}
[publish]
"""


def rows(several):
    """Two rows of everybody where people have several values."""
    for i in range(24):
        person = i // 2 if several else i
        yield {
            "name": f"{SECRETS['person' if several else 'identifier']}{person}",
            "age": 20 + person,
            "sex": "fm"[person % 2],
            "job": ("clerk", "nurse")[person % 2],
            "disease": ("Flu", "Cold", "HIV", "Gout")[i % 4],
            SECRETS["unnamed column"]: f"{SECRETS['unnamed value']}{i}",
        }


WAYS = {
    "mondrian": "method = 'mondrian'",
    "parquet": "format = 'parquet'",
    "bucketized": "form = 'bucketized'\nformat = 'parquet'",
    "fulldomain": "method = 'fulldomain'",
    "anatomy": "method = 'anatomy'\nanatomy = { l = 2 }\nform = 'bucketized'",
    "streamliner": "method = 'streamliner'\nstreamliner = { l = 2 }\nform = 'bucketized'",
    "jump": "method = 'jump'\njump = { functions = ['sex=0', 'sex=1'] }",
    "priors": "method = 'art'\nform = 'bucketized'",
    "several": "",
}


def written(folder, way):
    """Publish a table with secrets in it; the folder that was written, or None if none is safe."""
    source = folder / SECRETS["source folder"]
    trees = folder / SECRETS["hierarchy folder"]
    for place in (source, trees):
        place.mkdir()
    table = list(rows(way == "several"))
    path = source / f"{SECRETS['source file']}.csv"
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(table[0]))
        writer.writeheader()
        writer.writerows(table)
    tree = trees / "tree.csv"
    tree.write_text(f"f;all;*\nm;all;*\n{SECRETS['unused level']};all;*\n")
    more, require = f"hierarchies = {{ sex = {{ file = '{tree}' }} }}", ""
    if way == "several":
        more = 'semantics = "set"\nperson = "name"'
    if way == "priors":
        priors = source / f"{SECRETS['priors file']}.csv"
        values = ("Flu", "Cold", "HIV", "Gout")
        lines = [f"{sex},{value},1/4\n" for sex in "fm" for value in values]
        priors.write_text("sex,value,probability\n" + "".join(lines))
        require = f"[[require]]\npriors = {{ file = '{priors}' }}\nat_most = '1/2'\n"
    text = SCHEMA.format(comment=SECRETS["comment"], more=more, require=require)
    if way == "several":
        text = text.replace('identifiers = ["name"]\n', "").replace('other = ["job"]\n', "")
    policy = source / f"{SECRETS['policy file']}.toml"
    policy.write_text(text + WAYS[way] + "\n")
    return ["publish", str(path), "--policy", str(policy), "--out", "out"]


def hidden(secret):
    """The ways in which bytes may hold a text."""
    yield from (secret.encode(), secret.encode("utf-16-le"), secret.encode("utf-16-be"))
    yield secret.encode().hex().encode()
    yield secret[::-1].encode()
    for start in range(3):  # base64 depends on where in the whole it starts
        coded = base64.b64encode(b" " * start + secret.encode())
        yield coded[4 if start else 0 : -4]


def streams(path):
    """The bytes of a file, of its name, and of what is compressed in it."""
    data = path.read_bytes()
    yield from (data, path.name.encode())
    if path.suffix == ".parquet":
        file = pq.ParquetFile(path)
        yield repr(file.read().to_pydict()).encode()
        yield f"{file.metadata.metadata} {file.schema} {file.schema_arrow} {file.metadata}".encode()
        for group in range(file.metadata.num_row_groups):
            for column in range(file.metadata.num_columns):
                yield repr(file.metadata.row_group(group).column(column).to_dict()).encode()
    for sign in (b"\x1f\x8b", b"x\x9c", b"x\xda"):
        for at in itertools.islice(places(data, sign), 1000):
            try:
                yield zlib.decompressobj(47).decompress(data[at:], 1 << 22)
            except zlib.error:
                continue


def places(data, sign):
    at = data.find(sign)
    while at >= 0:
        yield at
        at = data.find(sign, at + 1)


@pytest.mark.parametrize("way", WAYS)
def test_what_is_not_published_is_in_no_published_byte(worker, tmp_path, way):
    said = worker.run(tmp_path, *written(tmp_path, way))
    assert said.code == 0, said
    published = list((tmp_path / "out").rglob("*"))
    assert published
    user = {word for word in (os.environ.get("USER"), os.uname().nodename) if word}
    machine = [("machine", word) for word in user if len(word) > 7]
    places = [*SECRETS.items(), *machine, ("folder", str(tmp_path))]
    for path in filter(Path.is_file, published):
        for data in streams(path):
            for place, secret in places:
                for form in hidden(secret):
                    at = data.find(form)
                    assert at < 0, (place, path.name, data[max(0, at - 80) : at + 80])


def test_the_search_finds_what_is_there(tmp_path):
    secret = SECRETS["identifier"]
    for i, form in enumerate(hidden(secret)):
        path = tmp_path / f"{i}.html"
        path.write_bytes(b"<script>" + form + b"</script>")
        assert any(other in data for data in streams(path) for other in hidden(secret))
    path.write_bytes(b"page" + zlib.compress(secret.encode() * 3))
    assert any(secret.encode() in data for data in streams(path))
