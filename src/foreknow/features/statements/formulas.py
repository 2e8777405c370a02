"""Formulas: what a statement can say about people and values, built in Python, printed and read."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeAlias

from foreknow.errors import StatementError
from foreknow_judge.errors import InputError
from foreknow_judge.frozen_fields import set_fields

if TYPE_CHECKING:
    from lark import Lark, Token

# Words of the language, in any case; as names they need quotes.
KEYWORDS = frozenset({"and", "or", "not", "in", "same"})
# What needs no quotes. A hyphen does not start an arrow.
PLAIN_NAME = r"(?:[^\s\"'\\(),;=!<>\#&|~\-]|-(?!>))+"

MOST_DEEP = 100

_PLAIN = re.compile(PLAIN_NAME)
_ESCAPES = {"\n": r"\n", "\t": r"\t", "\r": r"\r", '"': r"\"", "\\": r"\\"}


class _Formula:
    """The operators that all formulas share."""

    _looseness: ClassVar[int] = 0  # of its connective; looser ones go into parentheses
    _depth = 0

    def __and__(self, other: Formula) -> And:
        return And((as_formula(self), as_formula(other)))

    def __or__(self, other: Formula) -> Or:
        return Or((as_formula(self), as_formula(other)))

    def __invert__(self) -> Not:
        return Not(as_formula(self))

    def implies(self, other: Formula) -> Implies:
        """If this holds, so does the other."""
        return Implies(as_formula(self), as_formula(other))

    def iff(self, other: Formula) -> Iff:
        """Both hold or neither does."""
        return Iff(as_formula(self), as_formula(other))

    def __bool__(self) -> bool:
        # `a and b` would silently be b.
        raise InputError("a formula is neither true nor false; combine formulas with &, | and ~")


class _Compound(_Formula):
    def __post_init__(self) -> None:
        depth = 1 + max(as_formula(part)._depth for part in parts_of(as_formula(self)))
        if depth > MOST_DEEP:
            raise InputError(f"a formula may nest {MOST_DEEP} levels deep, not more")
        set_fields(self, _depth=depth)


@dataclass(frozen=True)
class Has(_Formula):
    """A person has a value.

    Parameters
    ----------
    person, value : label
        The person and the value, as they print: ``Has(4, 17)`` is ``Has("4", "17")``.

    Examples
    --------
    >>> str(Has("Ann", "AIDS").implies(~Has("Tom", "No value") | Has("Tom", "Flu")))
    'Ann = AIDS -> Tom != "No value" or Tom = Flu'
    """

    person: str
    value: str

    def __post_init__(self) -> None:
        set_fields(self, person=str(self.person), value=str(self.value))

    def __str__(self) -> str:
        return f"{quoted(self.person)} = {quoted(self.value)}"


@dataclass(frozen=True)
class Same(_Formula):
    """All of these people have the same value or values; made by `same`."""

    people: tuple[str, ...]

    def __post_init__(self) -> None:
        people = tuple(map(str, self.people))
        if len(set(people)) < len(people) or len(people) < 2:
            raise InputError(f"same() takes two people or more, each once, not {list(people)}")
        set_fields(self, people=people)

    def __str__(self) -> str:
        return f"same({', '.join(map(quoted, self.people))})"


@dataclass(frozen=True)
class Not(_Compound):
    """The part does not hold."""

    part: Formula

    def __str__(self) -> str:
        if isinstance(self.part, Has):
            return f"{quoted(self.part.person)} != {quoted(self.part.value)}"
        return f"not {_inside(self.part, 0)}"


@dataclass(frozen=True)
class _Several(_Compound):
    parts: tuple[Formula, ...]
    _word: ClassVar[str]

    def __post_init__(self) -> None:
        flat: list[Formula] = []
        for part in map(as_formula, self.parts):
            flat += part.parts if isinstance(part, type(self)) else (part,)
        if len(flat) < 2:
            raise InputError(f"{type(self).__name__} takes two parts or more")
        set_fields(self, parts=tuple(flat))
        super().__post_init__()

    def __str__(self) -> str:
        return self._word.join(_inside(part, self._looseness - 1) for part in self.parts)


class And(_Several):
    """All parts hold."""

    _looseness, _word = 1, " and "


class Or(_Several):
    """At least one part holds."""

    _looseness, _word = 2, " or "


@dataclass(frozen=True)
class Implies(_Compound):
    """If the first holds, so does the second."""

    first: Formula
    second: Formula
    _looseness = 3

    def __str__(self) -> str:
        return f"{_inside(self.first, 2)} -> {_inside(self.second, 3)}"


@dataclass(frozen=True)
class Iff(_Compound):
    """Both parts hold or neither does."""

    first: Formula
    second: Formula
    _looseness = 4

    def __str__(self) -> str:
        return f"{_inside(self.first, 4)} <-> {_inside(self.second, 3)}"


Formula: TypeAlias = Has | Not | And | Or | Implies | Iff | Same


def same(*people: str) -> Same:
    """Make the formula that all of these people have the same value or values.

    Examples
    --------
    >>> str(same("Ann", "Cary", "Tom"))
    'same(Ann, Cary, Tom)'
    """
    return Same(people)


def quoted(name: str) -> str:
    """Write a name as the language reads it: in quotes if it has special signs or is a keyword."""
    if _PLAIN.fullmatch(name) and name.lower() not in KEYWORDS:
        return name
    return '"' + "".join(_ESCAPES.get(char, char) for char in name) + '"'


def as_formula(candidate: object) -> Formula:
    """Return a formula as it is; refuse anything else."""
    if isinstance(candidate, (Has, Not, And, Or, Implies, Iff, Same)):
        return candidate
    raise InputError(f"expected a formula such as Has('Tom', 'AIDS'), not {candidate!r}")


def parts_of(formula: Formula) -> tuple[Formula, ...]:
    """The formulas that a formula is made of; none for `Has` and `Same`."""
    match formula:
        case Not(part):
            return (part,)
        case And(parts) | Or(parts):
            return parts
        case Implies(first, second) | Iff(first, second):
            return (first, second)
        case _:
            return ()


def walk(formula: Formula) -> Iterator[Has | Same]:
    """All `Has` and `Same` in a formula, from left to right."""
    if isinstance(formula, (Has, Same)):
        yield formula
    for part in parts_of(formula):
        yield from walk(part)


def spelled_out(formula: Formula, sets: Mapping[str, Sequence[str]]) -> Formula:
    """A formula in which each name of a set of values stands for having one of these.

    >>> str(spelled_out(~Has("Tom", "HIV"), {"HIV": ["B20", "Z21"]}))
    'not (Tom = B20 or Tom = Z21)'
    """
    match formula:
        case Has(person, value) if value in sets:
            alternatives = [Has(person, member) for member in sets[value]]
            return Or(tuple(alternatives)) if len(alternatives) > 1 else alternatives[0]
        case Not(part):
            return Not(spelled_out(part, sets))
        case And(parts) | Or(parts):
            return type(formula)(tuple([spelled_out(part, sets) for part in parts]))
        case Implies(first, second) | Iff(first, second):
            return type(formula)(spelled_out(first, sets), spelled_out(second, sets))
        case _:
            return formula


def _inside(part: Formula, loosest: int) -> str:
    return f"({part})" if part._looseness > loosest else str(part)


# ---- reading --------------------------------------------------------------------------------

# `not` binds tightest, then `and`, `or`, `->` (to the right), `<->` (to the left).
_GRAMMAR = rf"""
?formula: implied
        | formula _BOTH_WAYS implied         -> iff
?implied: either
        | either _ARROW implied              -> implies
?either: both
       | both (_OR both)+                    -> either
?both: plain
     | plain (_AND plain)+                   -> both
?plain: "(" formula ")"
      | _NOT plain                           -> negation
      | name _EQUAL name                     -> has
      | name _UNEQUAL name                   -> lacks
      | name _IN name                        -> in_person
      | name _NOT _IN name                   -> not_in_person
      | _SAME "(" name ("," name)+ ")"       -> same
name: NAME -> plain_name
    | QUOTED -> quoted_name
NAME: /{PLAIN_NAME}/
QUOTED: /"(?:[^"\\\n]|\\.)*"/ | /'(?:[^'\\\n]|\\.)*'/
_EQUAL: "="
_UNEQUAL: "!="
_ARROW: "->"
_BOTH_WAYS: "<->"
COMMENT: /\#[^\n]*/
%declare _AND _OR _NOT _IN _SAME
%ignore /\s+/
%ignore COMMENT
"""

_UNESCAPED = {"n": "\n", "t": "\t", "r": "\r", '"': '"', "'": "'", "\\": "\\"}
_NAMES = ("NAME", "QUOTED")
_WANTED = (
    ("NAME", "a name"),
    ("_NOT", "'not'"),
    ("LPAR", "'('"),
    ("COMMA", "','"),
    ("RPAR", "')'"),
    ("_IN", "'in'"),
    ("_AND", "'and'"),
    ("_OR", "'or'"),
    ("_ARROW", "'->'"),
    ("_BOTH_WAYS", "'<->'"),
    ("$END", "the end"),
)
# What a stray sign was probably meant to be.
_INSTEAD = {"&": "'and'", "|": "'or'", "~": "'not'", "!": "'not' or '!='", ";": "two statements"}


def parse(text: str) -> Formula:
    """Read one statement; a `StatementError` shows the place where that fails by a caret.

    >>> parse("Ann = AIDS -> Flu not in Tom and 'Ed Lee' != Flu")
    Implies(first=Has(person='Ann', value='AIDS'),
            second=And(parts=(Not(part=Has(person='Tom', value='Flu')),
                              Not(part=Has(person='Ed Lee', value='Flu')))))
    """
    from lark import UnexpectedCharacters, UnexpectedToken

    # Errors from inside the parser know their position, but not the text.
    try:
        try:
            formula: Formula = _parser().parse(text)  # type: ignore[assignment]
        except UnexpectedCharacters as error:
            raise _stray(text, error.pos_in_stream or 0) from None
        except UnexpectedToken as error:
            raise _unexpected(text, error.token) from None
    except StatementError as error:
        if error.text is None and error.position is not None:
            raise StatementError(error.said, text, error.position) from None
        raise
    except InputError as error:  # of a formula itself, such as same(Tom, Tom)
        raise StatementError(str(error)) from None
    return formula


def offset_of_name(text: str, role: Literal["person", "value"], name: str) -> int:
    """The position of the first character where the text names this person or value, or 0.

    A name after = or !=, or before "in" or "not in", is the name of a value.
    """
    tokens = list(_parser().lex(text))
    # Empty kinds before the first and after the last, so that each token has two neighbours.
    kinds = ["", *(token.type for token in tokens), ""]
    for i, token in enumerate(tokens, 1):
        if token.type in ("NAME", "QUOTED") and _plain(token) == name:
            is_value = kinds[i - 1] in ("_EQUAL", "_UNEQUAL") or kinds[i + 1] in ("_IN", "_NOT")
            if is_value == (role == "value"):
                return token.start_pos or 0
    return 0


@cache
def _parser() -> Lark:
    """The parser of statements, made once; it builds formulas as it reads."""
    from lark import Lark, Transformer, v_args

    # Keywords are read as names first, in any case, and then become tokens of their own.
    def keyword(token: Token) -> Token:
        lower = token.lower()
        return token.update(type=f"_{lower.upper()}") if lower in KEYWORDS else token

    @v_args(inline=True)
    class Build(Transformer[Any, Formula]):
        """Makes formulas while the parser runs, so that depth costs no recursion."""

        plain_name = staticmethod(str)
        quoted_name = staticmethod(_plain)
        has = staticmethod(Has)
        same = staticmethod(same)
        negation = staticmethod(Not)
        implies = staticmethod(Implies)
        iff = staticmethod(Iff)

        lacks = staticmethod(lambda person, value: Not(Has(person, value)))
        in_person = staticmethod(lambda value, person: Has(person, value))
        not_in_person = staticmethod(lambda value, person: Not(Has(person, value)))
        both = staticmethod(lambda *parts: And(parts))
        either = staticmethod(lambda *parts: Or(parts))

    return Lark(
        _GRAMMAR,
        start="formula",
        parser="lalr",
        lexer="basic",
        transformer=Build(),
        propagate_positions=True,
        lexer_callbacks={"NAME": keyword},
    )


def _plain(token: Token) -> str:
    """The name that a token stands for, without its quotes and escapes."""
    if token.type != "QUOTED":
        return str(token)

    def unescaped(escape: re.Match[str]) -> str:
        """The character that a backslash and a letter stand for; refused if it means nothing."""
        char = escape[1]
        if char not in _UNESCAPED:
            escapes = " ".join(f"\\{c}" for c in _UNESCAPED)
            raise StatementError(
                f"in quotes, \\{char} means nothing; there are {escapes}",
                position=(token.start_pos or 0) + 1 + escape.start(),
            )
        return _UNESCAPED[char]

    return re.sub(r"\\(.)", unescaped, token[1:-1])


def _stray(text: str, position: int) -> StatementError:
    """The error for a character that means nothing in the language, at its position."""
    char = text[position]
    if char in "\"'":
        return StatementError(
            f"the quotation mark {char} is not closed; a name with {char} in it goes into the "
            "other kind of quotation marks",
            text,
            position,
        )
    replacement = f"; write {_INSTEAD[char]}" if char in _INSTEAD else ""
    return StatementError(
        f"{char!r} is no sign of the language{replacement}, or put the name into quotes",
        text,
        position,
    )


def _unexpected(text: str, token: Token) -> StatementError:
    """The error for a token that the grammar does not allow, with what it allows there."""
    at_end = token.type == "$END"
    position = len(text) if at_end else token.start_pos or 0
    tokens_before = list(_parser().lex(text[:position]))
    if not tokens_before and at_end:
        return StatementError("the statement is empty")
    # The caret stands behind the last token, not behind spaces at the end.
    if at_end:
        position = tokens_before[-1].end_pos or position
    # What the parser expected is asked before it draws conclusions from the token it got.
    parser = _parser().parse_interactive(text[:position])
    parser.exhaust_lexer()
    expected_kinds = parser.accepts()  # type: ignore[no-untyped-call]
    expected_texts = [expected_text for kind, expected_text in _WANTED if kind in expected_kinds]
    # After a name all of these are possible, and only these are worth saying.
    if "_EQUAL" in expected_kinds:
        expected_texts = ["'='", "'!='", "'in'", "'not in'"]
    expected_text = " or ".join(
        [", ".join(expected_texts[:-1]), expected_texts[-1]]
        if len(expected_texts) > 1
        else expected_texts
    )
    position_text = f" after {tokens_before[-1]}" if tokens_before else " at the start"
    return StatementError(
        f"expected {expected_text}{position_text}{_hint(token, tokens_before)}", text, position
    )


def _hint(token: Token, before: list[Token]) -> str:
    """The end of an error message: what was probably forgotten before this token; or nothing."""
    if token.type in _NAMES and before and before[-1].type in _NAMES:
        full_name = quoted(f"{_plain(before[-1])} {_plain(token)}")
        return f"; a name with spaces needs quotes: {full_name}"
    if token.lower() in KEYWORDS and token.type not in _NAMES:
        return f'; as a name, {token} needs quotes: "{token}"'
    if token == "=" and before and before[-1] == "=":
        return "; one '=' is enough"
    return ""
