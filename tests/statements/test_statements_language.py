"""The language: what is read and printed, what binds tighter, and where errors point."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.statements.scenes import formula, random_statement, text

import foreknow as fk
from foreknow.errors import StatementError
from foreknow.statements.formulas import (
    MOST_DEEP,
    And,
    Has,
    Iff,
    Implies,
    Not,
    Or,
    Same,
    parse,
    quoted,
)
from foreknow_judge.errors import InputError

NAMES = st.text(min_size=1, max_size=6) | st.sampled_from(
    ["and", "NOT", "a->b", "->", "'", '"', "#"]
)


@given(st.lists(NAMES, min_size=2, max_size=4, unique=True), st.randoms())
def test_what_is_printed_is_read_again(names, chance):
    said = random_statement(chance, names, names, 3)
    made = formula(said)
    assert parse(str(made)) == made
    assert parse(text(said).replace("\n", "\\n")) == made
    assert hash(parse(str(made))) == hash(made)


@given(NAMES)
def test_any_name_can_be_written(name):
    assert parse(f"{quoted(name)} = {quoted(name)}") == Has(name, name)


A, B, C, D = (Has(p, "x") for p in "ABCD")


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("AIDS in Tom", Has("Tom", "AIDS")),
        ("Tom != Cancer", Not(Has("Tom", "Cancer"))),
        ("Cancer not in Tom", Not(Has("Tom", "Cancer"))),
        ("not Tom = Cancer", Not(Has("Tom", "Cancer"))),
        ("same(Ann, Cary, Tom)", Same(("Ann", "Cary", "Tom"))),
        ("A=x and B=x or C=x", Or((And((A, B)), C))),
        ("not A=x and B=x", And((Not(A), B))),
        ("not (A=x and B=x)", Not(And((A, B)))),
        ("A=x -> B=x -> C=x", Implies(A, Implies(B, C))),
        ("A=x or B=x -> C=x and D=x", Implies(Or((A, B)), And((C, D)))),
        ("A=x <-> B=x -> C=x", Iff(A, Implies(B, C))),
        ("A=x <-> B=x <-> C=x", Iff(Iff(A, B), C)),
        ("A=x and (B=x and C=x)", And((A, B, C))),
        ("  A\t=\n x  # because", A),
        ("Not A = x AND B = x Or C = x", Or((And((Not(A), B)), C))),
        ("'Ann Lee' = \"O'Neil\"", Has("Ann Lee", "O'Neil")),
        (r"'it\'s' = 'a\\b\tc\nd'", Has("it's", "a\\b\tc\nd")),
        ('"and" = "#1"', Has("and", "#1")),
        ("J45.9 in Tom-Lee", Has("Tom-Lee", "J45.9")),
        ("हिन्दी = 漢字", Has("हिन्दी", "漢字")),
        ("andrew = nothing", Has("andrew", "nothing")),
        ("x = -5", Has("x", "-5")),
    ],
)
def test_what_statements_mean(said, meant):
    assert parse(said) == meant


def pointed(said):
    """The message of an error, and where its caret points."""
    with pytest.raises(StatementError) as caught:
        fk.Statements(said)
    first, *lines = str(caught.value).split("\n")
    assert first.startswith("statement 1: ")
    assert caught.value.text in (None, said)
    return first.removeprefix("statement 1: "), lines


@pytest.mark.parametrize(
    ("said", "message", "caret"),
    [
        ("Tom Cancer", "expected '=', '!=', 'in' or 'not in' after Tom", 4),
        ("Ann Lee = AIDS", 'a name with spaces needs quotes: "Ann Lee"', 4),
        ("Tom =", "expected a name after =", 5),
        ("Tom == AIDS", "one '=' is enough", 5),
        ("= AIDS", "expected a name, 'not' or '(' at the start", 0),
        ("Or = AIDS", 'as a name, Or needs quotes: "Or"', 0),
        ("Tom = in", 'as a name, in needs quotes: "in"', 6),
        ("AIDS not Tom", "expected 'in' after not", 9),
        ("Tom = AIDS Flu", "expected 'and', 'or', '->', '<->' or the end after AIDS", 11),
        ("(Tom = AIDS", "expected ')', 'and', 'or', '->' or '<->' after AIDS", 11),
        ("Tom = AIDS and", "expected a name, 'not' or '(' after and", 14),
        ("Tom = AIDS & Ed = Flu", "'&' is no sign of the language; write 'and'", 11),
        ("~Tom = AIDS", "'~' is no sign of the language; write 'not'", 0),
        ("Tom = AIDS; Ed = Flu", "';' is no sign of the language; write two statements", 10),
        ("O'Brien = Flu", "the quotation mark ' is not closed", 1),
        ('Tom = "AIDS', 'the quotation mark " is not closed', 6),
        (r"Tom = 'a\q'", r"\q means nothing; there are \n \t \r", 8),
        ("same(Tom)", "expected ',' after Tom", 8),
        ("漢字 Tom", "expected '='", 5),  # each takes two cells
    ],
)
def test_where_a_statement_cannot_be_read(said, message, caret):
    found, (line, mark) = pointed(said)
    assert message in found
    assert line == f"  {said}"
    assert mark == "  " + " " * caret + "^"


@pytest.mark.parametrize("said", ["", "   ", "# nothing", "\n"])
def test_an_empty_statement(said):
    assert pointed(said) == ("the statement is empty", [])


def test_the_line_and_the_part_of_a_long_statement_that_are_wrong():
    assert pointed("Tom = AIDS\nand Ed Flu\nor x = y")[1] == ["  and Ed Flu", "         ^"]
    long = " and ".join(f"p{i} = Flu" for i in range(500)) + " x"
    _, (line, mark) = pointed(long)
    assert len(line) < 130
    assert line[mark.index("^")] == "x"


def test_people_of_same_are_two_or_more_and_each_once():
    with pytest.raises(InputError, match=r"two people or more, each once, not \['Tom', 'Tom'\]"):
        fk.Statements("same(Tom, Tom)")
    with pytest.raises(InputError, match="two people or more"):
        fk.same("Tom")


def test_depth_has_a_limit_but_parentheses_and_length_do_not():
    assert parse("(" * 5000 + "A = x" + ")" * 5000) == A
    assert len(parse(" and ".join(["A = x", "B = x"] * 3000)).parts) == 6000
    deep = "not " * MOST_DEEP + "A = x"
    assert str(parse(deep)).startswith("not not not")
    with pytest.raises(StatementError, match=f"may nest {MOST_DEEP} levels deep"):
        parse("not " + deep)
    with pytest.raises(StatementError, match="levels deep"):
        parse(" -> ".join(["A = x"] * 2000))


# ---- in Python ---------------------------------------------------------------------------------


def test_formulas_are_combined_by_operators():
    made = (Has("Ann", "AIDS") & ~Has("Ed", "Flu")).implies(
        Has("Tom", "AIDS") | fk.same("Ed", "Tom")
    )
    assert str(made) == "Ann = AIDS and Ed != Flu -> Tom = AIDS or same(Ed, Tom)"
    assert str(Has("A", "x").iff(Has("B", "x"))) == "A = x <-> B = x"
    assert str(~(Has("A", "x") & Has("B", "x"))) == "not (A = x and B = x)"
    assert str(~~Has("A", "x")) == "not A != x"


def test_python_s_own_and_or_are_refused():
    with pytest.raises(InputError, match=r"combine formulas with &, \| and ~"):
        Has("A", "x") and Has("B", "x")
    with pytest.raises(InputError, match=r"expected a formula such as Has\(.*\), not 'B = x'"):
        Has("A", "x") & "B = x"
