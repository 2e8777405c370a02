"""Mutators that several kinds share: odd texts, and changes of texts and bytes."""

from tests.fuzz.rounds import BACKWARDS, ESCAPE

# Texts that some reader takes for something else, and pairs that must stay two values.
ODD = (
    *("Flu", "Flu ", " Flu", "flu", "Flu\u00a0", "Flu\u200b", "é", "e\u0301"),
    *("20", "20 ", " 20", "20.0", "020", "+20", "2e1", "1\u0663", "13", "\u00b2", "-0", "0", "0.0"),
    *("NA", "NaN", "nan", "null", "NULL", "None", "missing", "-", "*", "True", "true"),
    *("1e400", "inf", "9" * 25, "0." + "1" * 40),
    *("2024-02-29", "2023-02-29", "2024-02-29 00:00", "0000-00-00"),
    *("a\nb", "a\r\nb", "a\rb", "a,b", "a;b", "a\tb", "a|b", 'say "hi"', '"', "''", "\\", "\\n"),
    *("#", "=1+1", "@x", "\x00", "a\x00b", "\x1a", "\x7f", "\u0085", "\u2028", "\ufeff", "\ufffd"),
    *(ESCAPE, BACKWARDS + "abc", "[red]x[/red]", "{{ 7 * 7 }}", "<b>x</b>"),
    *("ß", "SS", "\U0001f600", "x" * 300),
)
# Bytes that matter to one of the formats, or are no UTF-8.
BYTES = (
    *(b"\x00", b"\xff", b"\xc3", b"\xed\xa0\x80", b"\xef\xbb\xbf", b"\r", b"\n", b"\r\n", b"\t"),
    *(b'"', b"'", b",", b";", b" ", b"\\", b"[", b"{", b"=", b"#", b"\x1b[31m", b"\x1a"),
    BACKWARDS.encode(),
)


def mutated_bytes(chance, data, most=3):
    """Change a few places: flip, insert, delete, double, or swap pieces."""
    data = bytearray(data)
    for _ in range(chance.randint(1, most)):
        at = chance.randrange(len(data) + 1)
        end = min(len(data), at + chance.choice((1, 1, 2, 5, 20, 100)))
        kind = chance.choice(("flip", "insert", "insert", "delete", "double", "cut", "move"))
        if kind == "flip" and at < len(data):
            data[at] ^= 1 << chance.randrange(8)
        elif kind == "insert":
            data[at:at] = chance.choice(BYTES)
        elif kind == "delete":
            del data[at:end]
        elif kind == "double":
            data[at:at] = data[at:end]
        elif kind == "move":
            piece = data[at:end]
            del data[at:end]
            at = chance.randrange(len(data) + 1)
            data[at:at] = piece
        elif chance.random() < 0.3:
            del data[at:]
    return bytes(data)


def mutated_text(chance, text, most=3):
    """The same of a text, as UTF-8 that may have become none."""
    return mutated_bytes(chance, text.encode("utf-8", "surrogatepass"), most)


def some(chance, given, likely=0.5):
    """Now and then what is given, else None."""
    return given if chance.random() < likely else None


def words(text):
    """The words of a text."""
    return text.split()
