"""Pages and files that are published: nothing of a page comes from data, no secret is in a byte."""

import base64
import csv
import itertools
import os
import re
import zlib
from html.parser import HTMLParser
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from tests.fuzz.conftest import BACKWARDS, ESCAPE, csv_text

# ---- hostile values, columns and names: no element, attribute or script comes from data --------

# Each would make an element, an attribute or a statement with "evil" in its name.
VALUES = (
    "</script><evil0 onerror=evil0()>",
    "\"><evil1 src=x onerror='evil1()'>",
    "' evil2=1 onmouseover='evil2()",
    "--><evil3>",
    '"+evil4()+"',
    "'+evil5()+'",
    "</style><evil6>",
    "{{ evil7 }}${evil7()}%{evil7}",
    f"<evil8>{ESCAPE}{BACKWARDS}",
    "</title></textarea><evil9/>",
    '<![CDATA[<evil10>]]>\\"+evil10()//',
    "javascript:evil11()",
)
COLUMN = "<evil12 onload=evil12()>"
SENSITIVE = "</script><script>evil13()</script>"
NAMED = "\"'><evil14>"
FILE = "<evil15 onload='evil15()'>.csv"


class Reader(HTMLParser):
    """Elements with their attributes, and the text of scripts and styles."""

    def __init__(self, page):
        super().__init__(convert_charrefs=True)
        self.elements, self.scripts, self.comments, self._in = [], [], [], None
        self.feed(page)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))
        self._in = tag

    def handle_endtag(self, tag):
        self._in = None

    def handle_data(self, data):
        if self._in in ("script", "style"):
            self.scripts.append(data)

    def handle_comment(self, data):
        self.comments.append(data)

    handle_pi = unknown_decl = handle_comment


def outside_strings(script):
    """A script without the strings of JSON in it."""
    return re.sub(r'"(?:[^"\\\n]|\\.)*"', '""', script)


@pytest.fixture
def desk(worker, tmp_path):
    """A hostile table with its policy, and the command line beside them."""
    header = ["age", COLUMN, SENSITIVE, "name", "gid"]
    rows = [
        [20 + i, VALUES[i % 3], VALUES[i % len(VALUES)], f"<evil16 {i}>", f"{VALUES[3]}{i % 2}"]
        for i in range(2 * len(VALUES))
    ]
    (tmp_path / FILE).write_bytes(csv_text([header, *rows]))
    tree = [[value, f"{value}{i % 2}", "*"] for i, value in enumerate(VALUES[:3])]
    (tmp_path / "tree.csv").write_bytes(csv_text(tree))
    (tmp_path / "policy.toml").write_text(
        f"""[schema]
identifiers = ["name"]
quasi_identifiers = ["age", {quoted(COLUMN)}]
sensitive = {quoted(SENSITIVE)}
[schema.hierarchies]
age = {{ intervals = [12] }}
{quoted(COLUMN)} = {{ file = "tree.csv" }}
[[require]]
name = {quoted(NAMED)}
values = [{quoted(VALUES[0])}, {quoted(VALUES[4])}]
facts = {{ l = 1, k = 1 }}
below = 0.9
[[require]]
implications = {{ k = 1 }}
below = 0.95
""",
        "utf-8",
    )

    def run(*argv):
        output = worker.run(tmp_path, *argv)
        assert output.code < 2, output
        return tmp_path

    return run


def quoted(text):
    """A TOML text."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + re.sub(r"[\x00-\x1f]", lambda c: f"\\u{ord(c[0]):04x}", escaped) + '"'


PAGES = {
    "audit": ["audit"],
    "audit by group": ["audit", "-g", "gid"],
    "skyline": ["skyline", "-c", "0.9", "-v", VALUES[1]],
    "skyline of all": ["skyline", "-c", "0.9"],
    "curves": ["curves"],
    "survey": ["survey"],
    "attack": ["attack", "--worlds", "30", "--seconds", "5"],
    "report": ["publish", "--format", "parquet"],
    "report of buckets": ["publish", "--form", "bucketized"],
    "lattice": ["publish", "--method", "fulldomain"],
}


@pytest.mark.parametrize("kind", PAGES)
def test_pages_show_data_as_text(desk, kind):
    (command, *more), name = PAGES[kind], "page.html"
    where = ["--html", name]
    if command == "publish":
        place = "out.owner" if kind == "lattice" else "out"
        where, name = ["-o", "out"], f"{place}/{kind.split()[0]}.html"
    page = (desk(command, FILE, "--policy", "policy.toml", *where, *more) / name).read_text("utf-8")
    assert "evil" in page or "reveals nothing beyond the release" in page
    assert ESCAPE not in page
    assert BACKWARDS not in page
    reader = Reader(page)
    for tag, attributes in reader.elements:
        assert "evil" not in tag
        for key, value in attributes.items():
            assert "evil" not in key
            assert not key.startswith("on"), (tag, key, value)
            if key in ("href", "src", "style", "action", "srcdoc"):
                assert "evil" not in (value or ""), (tag, key, value)
    for script in reader.scripts:
        assert "evil" not in script or "evil" not in outside_strings(script), script[:500]
    assert not any("evil" in comment for comment in reader.comments)


def test_reader_sees_hostile_markup():
    reader = Reader(
        f"<p title='{VALUES[2]}'>{VALUES[1]}</p><script>var x = \"{VALUES[4]}\"</script>"
    )
    assert any("evil1" in tag for tag, _ in reader.elements)
    assert any("evil2" in attributes for _, attributes in reader.elements)
    assert "evil4" in outside_strings(reader.scripts[0])


# ---- secrets planted in what is not published are in no byte of what is -------------------------

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
POLICY = """# {comment}
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
    text = POLICY.format(comment=SECRETS["comment"], more=more, require=require)
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
        for at in itertools.islice(offsets(data, sign), 1000):
            try:
                yield zlib.decompressobj(47).decompress(data[at:], 1 << 22)
            except zlib.error:
                continue


def offsets(data, sign):
    at = data.find(sign)
    while at >= 0:
        yield at
        at = data.find(sign, at + 1)


@pytest.mark.parametrize("way", WAYS)
def test_hidden_data_is_never_published(worker, tmp_path, way):
    output = worker.run(tmp_path, *written(tmp_path, way))
    assert output.code == 0, output
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


def test_search_finds_what_is_there(tmp_path):
    secret = SECRETS["identifier"]
    for i, form in enumerate(hidden(secret)):
        path = tmp_path / f"{i}.html"
        path.write_bytes(b"<script>" + form + b"</script>")
        assert any(other in data for data in streams(path) for other in hidden(secret))
    path.write_bytes(b"page" + zlib.compress(secret.encode() * 3))
    assert any(secret.encode() in data for data in streams(path))
