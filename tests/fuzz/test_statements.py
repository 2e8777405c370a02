"""Statements, written in every way and mutated: they mean what a small reader says."""

import json
import re
from fractions import Fraction

from tests.fuzz.rounds import ODD, Fault, alone, csv_text, mutated_bytes, rounds
from tests.oracle.rules import posterior
from tests.oracle.rules import worlds_of_statement as worlds
from tests.statements.scenes import random_statement

PLAIN = ["Tom", "Ann", "Tom-Lee", "4", "Ed", "gid", "Not-so", "x.y"]
VALUES = ["Flu", "AIDS", "Cold", "O'Neil", "in", "B20"]
WORDS = {"and", "or", "not", "in", "same"}
SIGNS = set("(),;=!<>#&|~\\\"'")


def release(chance):
    """Two small groups of people with odd names and values: a list of (names, bag)."""
    names = chance.sample([*PLAIN, "Ann Lee", "or", 'a"b'], 4) + [chance.choice(ODD) + "!"]
    values = [*chance.sample(VALUES, 2), chance.choice(ODD)]
    cut = chance.randint(1, 4)
    parts = [names[:cut], names[cut:]]
    return [(part, [chance.choice(values) for _ in part]) for part in parts]


def written(chance, said):
    """A statement as a text, in one of the ways to write it."""
    kind, *parts = said
    gap = chance.choice((" ", " ", "  ", "\t", " \n"))

    def word(text):
        return chance.choice((text, text, text.upper(), text.title()))

    if kind == "has":
        person, value = (name(chance, part) for part in parts)
        if chance.random() < 0.3:
            return f"{value}{gap}{word('in')}{gap}{person}"
        return f"{person}{chance.choice(('=', ' = ', '  ='))}{value}"
    if kind == "same":
        return f"{word('same')}({', '.join(name(chance, part) for part in parts)})"
    if kind == "not":
        (inner,) = parts
        if inner[0] == "has" and chance.random() < 0.5:
            person, value = (name(chance, part) for part in inner[1:])
            if chance.random() < 0.3:
                return f"{value} {word('not')} {word('in')} {person}"
            return f"{person} != {value}"
        return f"{word('not')}{gap}{enclosed(chance, inner)}"
    joined = {"and": word("and"), "or": word("or")}.get(kind, kind)
    return f"{gap}{joined}{gap}".join(enclosed(chance, part) for part in parts)


def enclosed(chance, said):
    return f"({written(chance, said)})" if said[0] not in ("has", "same") else written(chance, said)


def name(chance, text):
    """A name, quoted where it must be, or for no reason."""
    clear = text and text.lower() not in WORDS and not (SIGNS | set(" \t\n\r\f\v")) & set(text)
    if clear and not re.search(r"\s|->", text) and chance.random() < 0.8:
        return text
    quote = chance.choice("'\"")
    escapes = {"\n": r"\n", "\t": r"\t", "\r": r"\r", "\\": r"\\", quote: "\\" + quote}
    return quote + "".join(escapes.get(char, char) for char in text) + quote


class Unread(ValueError):
    """No statement of the language."""


TOKEN = re.compile(
    r"(?P<gap>\s+|#[^\n]*)|(?P<sign><->|->|!=|[=(),])"
    r"|(?P<quote>[\"'])(?P<said>(?:\\[ntr\"'\\]|(?!(?P=quote))[^\\\n])*)(?P=quote)"
    r"|(?P<name>(?:(?!->)[^\s(),;=!<>#&|~\\\"'])+)"
)
ESCAPED = {"n": "\n", "t": "\t", "r": "\r"}


def tokens(text):
    """Names as ("name", text), words and signs as themselves."""
    found, at = [], 0
    while at < len(text):
        part = TOKEN.match(text, at)
        if part is None:
            raise Unread(text[at])
        at, plain = part.end(), part["name"]
        if part["sign"]:
            found.append(part["sign"])
        elif part["quote"]:
            said = re.sub(r"\\(.)", lambda escape: ESCAPED.get(escape[1], escape[1]), part["said"])
            found.append(("name", said))
        elif plain:
            found.append(plain.lower() if plain.lower() in WORDS else ("name", plain))
    return found


class Reader:
    """`not` binds tightest; then `and`, `or`, `->` (to the right), `<->` (to the left)."""

    def __init__(self, text):
        self.rest = tokens(text)

    def take(self, *wanted):
        """Take the next sign if it is one of these."""
        if self.rest and self.rest[0] in wanted:
            return self.rest.pop(0)
        return None

    def need(self, sign):
        if not self.take(sign):
            raise Unread(f"{sign} is missing")

    def whole(self):
        found = self.both_ways()
        if self.rest:
            raise Unread(self.rest[0])
        return found

    def both_ways(self):
        found = self.arrow()
        while self.take("<->"):
            found = ("<->", found, self.arrow())
        return found

    def arrow(self):
        found = self.row("or", lambda: self.row("and", self.plain))
        return ("->", found, self.arrow()) if self.take("->") else found

    def row(self, sign, part):
        parts = [part()]
        while self.take(sign):
            parts.append(part())
        return (sign, *parts) if len(parts) > 1 else parts[0]

    def plain(self):
        if self.take("not"):
            return ("not", self.plain())
        if self.take("("):
            found = self.both_ways()
            self.need(")")
            return found
        if self.take("same"):
            self.need("(")
            people = [self.name()]
            while self.take(","):
                people.append(self.name())
            self.need(")")
            if len(people) < 2:
                raise Unread("same of one")
            return ("same", *people)
        first = self.name()
        how = self.take("=", "!=", "in", "not")
        if how == "not":
            self.need("in")
        if not how:
            raise Unread("a sign is missing")
        second = self.name()
        has = ("has", first, second) if how in ("=", "!=") else ("has", second, first)
        return has if how in ("=", "in") else ("not", has)

    def name(self):
        if not self.rest or not isinstance(self.rest[0], tuple):
            raise Unread("a name is missing")
        return self.rest.pop(0)[1]


def names_of(said):
    """All (people, values) that a statement names."""
    kind, *parts = said
    if kind == "has":
        return {parts[0]}, {parts[1]}
    if kind == "same":
        return set(parts), set()
    both = [names_of(part) for part in parts]
    return set().union(*(p for p, _ in both)), set().union(*(v for _, v in both))


def answer(groups, text, person, value):
    """What is right to say: a fraction, or None for a refusal."""
    try:
        said = Reader(text).whole()
    except (Unread, RecursionError):
        return None
    people = {name for names, _ in groups for name in names}
    values = {value for _, bag in groups for value in bag}
    named, told = names_of(said)
    if not (named <= people and told <= values):
        return None
    return posterior(worlds(groups, "single"), [said], person, value)


def attempt(chance, folder, worker):
    groups = release(chance)
    people = [name for names, _ in groups for name in names]
    values = sorted({value for _, bag in groups for value in bag})
    said = random_statement(chance, people, values, chance.choice((0, 1, 2, 2, 3)))
    text = written(chance, said)
    (folder / "meant.txt").write_text(f"{said!r}\n{text!r}", "utf-8", "surrogatepass")
    changed = chance.random() < 0.5
    if changed:
        text = mutated_bytes(chance, text.encode()).decode("utf-8", "replace")
    person = chance.choice(people)
    value = chance.choice([value for _, bag in groups for value in bag])
    rows = [
        {"name": who, "group": i, "disease": had}
        for i, (names, bag) in enumerate(groups)
        for who, had in zip(names, bag, strict=True)
    ]
    given = {"rows": rows, "statement": text, "person": person, "value": value}
    (folder / "given.json").write_text(json.dumps(given, indent=1))
    right = answer(groups, text, person, value)
    if not changed and Reader(text).whole() is None:
        raise Fault("the small reader is wrong")
    found = worker.read(folder, "posterior", **given)
    if found.get("read") != (None if right is None else str(right)):
        raise Fault(f"{text!r} says {found}, where enumeration has {right}")
    if chance.random() < 0.3:
        ask(chance, folder, worker, given, right)


def ask(chance, folder, worker, given, right):
    """The same at the command line, where the statement is in a file or an argument."""
    rows = given["rows"]
    (folder / "t.csv").write_bytes(csv_text([list(rows[0]), *(row.values() for row in rows)]))
    argv = ["ask", "t.csv", "--group", "group", "--sensitive", "disease", "--person", "name"]
    argv += ["--about", given["person"], "--value", given["value"], "--json", "answer.json"]
    text = given["statement"]
    said = worker.run(folder, *argv, "--", text)
    if (said.code == 0) != (right is not None):
        raise Fault(f"exit {said.code}, where enumeration has {right}: {said}")
    if said.code == 0:
        (row,) = json.loads((folder / "answer.json").read_text("utf-8"))["answers"]
        if str(Fraction(row["exact"])) != str(right):
            raise Fault(f"says {row}, where enumeration has {right}: {said}")
    if chance.random() < 0.02:
        (folder / "answer.json").unlink(missing_ok=True)
        alone(said, folder)


@rounds(nightly=3000, by_day=12)
def test_statements_agree_with_enumeration(play, count, seed):
    play("statements", attempt, count, seed)
