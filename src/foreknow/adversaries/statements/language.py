"""Language: read a statement, and say where and what was expected if it cannot be read."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Any, Literal

from foreknow.adversaries.statements.formulas import (
    KEYWORDS,
    PLAIN_NAME,
    And,
    Formula,
    Has,
    Iff,
    Implies,
    Not,
    Or,
    quoted,
    same,
)
from foreknow.errors import InputError, StatementError

if TYPE_CHECKING:
    from lark import Lark, Token

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
    """Read one statement; a `StatementError` has a caret below the place where that fails.

    >>> parse("Ann = AIDS -> Flu not in Tom and 'Ed Lee' != Flu")
    Implies(first=Has(person='Ann', value='AIDS'),
            second=And(parts=(Not(part=Has(person='Tom', value='Flu')),
                              Not(part=Has(person='Ed Lee', value='Flu')))))
    """
    from lark import UnexpectedCharacters, UnexpectedToken

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


def place_of(text: str, role: Literal["person", "value"], name: str) -> int:
    """Find where a text first names a person, or a value."""
    tokens = _tokens(text)
    kinds = ["", *(token.type for token in tokens), ""]
    for i, token in enumerate(tokens, 1):
        if token.type in ("NAME", "QUOTED") and _plain(token) == name:
            is_value = kinds[i - 1] in ("_EQUAL", "_UNEQUAL") or kinds[i + 1] in ("_IN", "_NOT")
            if is_value == (role == "value"):
                return _start(token)
    return 0


@cache
def _parser() -> Lark:
    from lark import Lark, Transformer, v_args

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

        def lacks(self, person: str, value: str) -> Formula:
            return Not(Has(person, value))

        def in_person(self, value: str, person: str) -> Formula:
            return Has(person, value)

        def not_in_person(self, value: str, person: str) -> Formula:
            return Not(Has(person, value))

        def both(self, *parts: Formula) -> Formula:
            return And(parts)

        def either(self, *parts: Formula) -> Formula:
            return Or(parts)

    return Lark(
        _GRAMMAR,
        start="formula",
        parser="lalr",
        lexer="basic",
        transformer=Build(),
        propagate_positions=True,
        lexer_callbacks={"NAME": keyword},
    )


def _tokens(text: str) -> list[Token]:
    return list(_parser().lex(text))


def _start(token: Token) -> int:
    return token.start_pos or 0


def _plain(token: Token) -> str:
    """The name that a token stands for."""
    if token.type != "QUOTED":
        return str(token)

    def unescaped(found: re.Match[str]) -> str:
        char = found[1]
        if char not in _UNESCAPED:
            known = " ".join(f"\\{c}" for c in _UNESCAPED)
            raise StatementError(
                f"in quotes, \\{char} means nothing; there are {known}",
                position=_start(token) + 1 + found.start(),
            )
        return _UNESCAPED[char]

    return re.sub(r"\\(.)", unescaped, token[1:-1])


def _stray(text: str, position: int) -> StatementError:
    char = text[position]
    if char in "\"'":
        return StatementError(
            f"the quotation mark {char} is not closed; a name with {char} in it goes into the "
            "other kind of quotation marks",
            text,
            position,
        )
    instead = f"; write {_INSTEAD[char]}" if char in _INSTEAD else ""
    return StatementError(
        f"{char!r} is no sign of the language{instead}, or put the name into quotes",
        text,
        position,
    )


def _unexpected(text: str, token: Token) -> StatementError:
    at_end = token.type == "$END"
    position = len(text) if at_end else _start(token)
    before = _tokens(text[:position])
    if not before and at_end:
        return StatementError("the statement is empty")
    if at_end:
        position = before[-1].end_pos or position
    # What the parser expected is asked before it draws conclusions from the token it got.
    so_far = _parser().parse_interactive(text[:position])
    so_far.exhaust_lexer()
    expected = so_far.accepts()  # type: ignore[no-untyped-call]
    wanted = [said for kind, said in _WANTED if kind in expected]
    if "_EQUAL" in expected:
        wanted = ["'='", "'!='", "'in'", "'not in'"]
    said = " or ".join([", ".join(wanted[:-1]), wanted[-1]] if len(wanted) > 1 else wanted)
    after = f" after {before[-1]}" if before else " at the start"
    return StatementError(f"expected {said}{after}{_hint(token, before)}", text, position)


def _hint(token: Token, before: list[Token]) -> str:
    if token.type in _NAMES and before and before[-1].type in _NAMES:
        whole = quoted(f"{_plain(before[-1])} {_plain(token)}")
        return f"; a name with spaces needs quotes: {whole}"
    if token.lower() in KEYWORDS and token.type not in _NAMES:
        return f'; as a name, {token} needs quotes: "{token}"'
    if token == "=" and before and before[-1] == "=":
        return "; one '=' is enough"
    return ""
