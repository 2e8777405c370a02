"""Pages of hostile values, columns and names: no element, attribute or script comes from data."""

import re
from html.parser import HTMLParser

import pytest
from tests.fuzz.rounds import BACKWARDS, ESCAPE
from tests.fuzz.test_csv_files import csv_text

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

    def handle_pi(self, data):
        self.comments.append(data)

    def unknown_decl(self, data):
        self.comments.append(data)


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
        said = worker.run(tmp_path, *argv)
        assert said.code < 2, said
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
def test_nothing_of_a_page_comes_from_data_but_text(desk, kind):
    (command, *more), name = PAGES[kind], "page.html"
    where = ["--html", name]
    if command == "publish":
        place = "out.owner" if kind == "lattice" else "out"
        where, name = ["-o", "out"], f"{place}/{kind.split()[0]}.html"
    page = (desk(command, FILE, "--policy", "policy.toml", *where, *more) / name).read_text("utf-8")
    assert "evil" in page or "Nobody is found out" in page
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


def test_the_reader_sees_what_hostile_data_would_make():
    reader = Reader(
        f"<p title='{VALUES[2]}'>{VALUES[1]}</p><script>var x = \"{VALUES[4]}\"</script>"
    )
    assert any("evil1" in tag for tag, _ in reader.elements)
    assert any("evil2" in attributes for _, attributes in reader.elements)
    assert "evil4" in outside_strings(reader.scripts[0])
