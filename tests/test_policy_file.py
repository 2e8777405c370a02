"""Policy files: what is read from them, and the message for every mistake."""

import re
from fractions import Fraction

import pytest

from foreknow import Facts, Policy, PublishOptions
from foreknow_judge.errors import InputError, PolicyError
from foreknow_judge.verdict import Limit

REQUIRE = "[[require]]\nfacts = { l = 1 }\nbelow = 0.5\n"
SCHEMA = '[schema]\nquasi_identifiers = ["age"]\nsensitive = "disease"\n'


@pytest.fixture
def load(tmp_path):
    """Load a policy file with some content."""

    def load(content):
        path = tmp_path / "policy.toml"
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return Policy.load(path)

    return load


def one(body):
    """A policy with one requirement."""
    return f"[[require]]\n{body}\n"


def pattern(said):
    """What is said, in which only `.*`, `.?` and a last `$` are more than they are."""
    return re.sub(r"([\[\]()]|\.(?![*?]))", r"\\\1", said)


def with_schema(line):
    return f"{SCHEMA}{line}\n{REQUIRE}"


def to_publish(line):
    return f"{REQUIRE}[publish]\n{line}\n"


# ---- what is read -----------------------------------------------------------------------------


def test_a_full_file_is_read(load, tmp_path):
    (tmp_path / "sex.csv").write_text("f;*\nm;*\n")
    policy = load(
        """
        [schema]
        identifiers = ["name"]
        quasi_identifiers = ["age", "sex"]
        sensitive = "disease"
        other = ["ward"]
        missing = { label = "unknown" }
        types = { age = "number" }

        [schema.hierarchies]
        age = { intervals = [5, 10] }
        sex = { file = "sex.csv" }

        [[require]]
        values = ["AIDS", "HIV"]
        facts = { l = 1, k = 5, m = 2 }
        below = 0.1

        [[require]]
        except = ["AIDS", "HIV"]
        facts = [{ l = 2, below = "2/3" }, { k = 3, below = 0.75 }]

        [publish]
        method = "mondrian"
        form = "bucketized"
        format = "parquet"
        labels = { age = "range" }
        escape_formulas = true
        """
    )
    first, second = policy.requirements
    assert first.points == ((Facts(1, 5, 2), Limit(Fraction(1, 10))),)
    assert (first.values, first.excluded, first.name) == (("AIDS", "HIV"), (), "require[0]")
    assert second.points == (
        (Facts(l=2), Limit(Fraction(2, 3))),
        (Facts(k=3), Limit(Fraction(3, 4))),
    )
    assert (second.values, second.excluded, second.name) == (None, ("AIDS", "HIV"), "require[1]")
    assert policy.options == PublishOptions(
        "mondrian", "bucketized", "parquet", {"age": "range"}, True
    )
    assert policy.schema.folder == tmp_path
    assert set(policy.schema.hierarchies) == {"age", "sex"}


def test_a_byte_order_mark_is_skipped(load):
    assert load("\ufeff" + REQUIRE).requirements[0].points[0].adversary == Facts(l=1)


def test_a_file_may_do_without_schema_and_options(load):
    policy = load(REQUIRE)
    assert policy.schema is None
    assert policy.options == PublishOptions()


@pytest.mark.parametrize(
    ("written", "exact"),
    [
        ('"2/3"', Fraction(2, 3)),
        ("1e-3", Fraction(1, 1000)),
        ("0.99999999999999999999", Fraction(10**20 - 1, 10**20)),
    ],
)
def test_thresholds_are_exact(load, written, exact):
    policy = load(one(f"facts = {{ l = 1 }}\nbelow = {written}"))
    assert policy.requirements[0].points[0].below == exact


def test_a_loaded_policy_makes_the_same_table_again(load):
    text = SCHEMA + one('facts = { l = 1 }\nbelow = 0.1\nvalues = ["x", 7, true]')
    table = load(text).to_dict()
    assert Policy.from_dict(table).to_dict() == table


# ---- files that cannot be read ----------------------------------------------------------------


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(PolicyError, match=r"'.*nowhere\.toml'"):
        Policy.load(tmp_path / "nowhere.toml")
    with pytest.raises(PolicyError, match="cannot be read: Is a directory"):
        Policy.load(str(tmp_path))


def test_another_encoding_is_refused(load):
    with pytest.raises(PolicyError, match=r"policy\.toml', line \d+: not UTF-8; save it again"):
        load(REQUIRE.encode() + "# é\n".encode("latin-1"))


def test_a_syntax_error_is_told_with_its_line(load):
    with pytest.raises(PolicyError, match=r"policy\.toml is not valid TOML: .*line 2"):
        load("[[require]]\nfacts = {\n")


# ---- keys -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (REQUIRE + "[publsh]\n", "unknown key publsh; did you mean 'publish'"),
        ("[[requires]]\nfacts = { l = 1 }\n", "unknown key requires; did you mean 'require'"),
        ("", "require is missing"),
        (SCHEMA, "require is missing"),
        (with_schema("identifer = []"), "unknown key schema.identifer; did you mean 'iden"),
        ('[schema]\nsensitiv = "d"\n' + REQUIRE, "unknown key schema.sensitiv; .* 'sensitive'"),
        ('[schema]\nquasi_identifiers = ["a"]\n' + REQUIRE, "schema.sensitive is missing"),
        (to_publish("from = 1"), "unknown key publish.from; did you mean 'form'"),
        (one("facts = {}\nbelow = 1\nvalue = []"), "unknown key require[0].value; did"),
        (one("facts = { ell = 1 }\nbelow = 1"), "unknown key require[0].facts.ell; known: 'l'"),
        (one("facts = [{ ell = 1, below = 1 }]"), "unknown key require[0].facts[0].ell"),
        (
            one("facts = { below = 0.5 }"),
            "unknown key require[0].facts.below; known: 'l', 'k', 'm'",
        ),
        (one("fact = { l = 1 }\nbelow = 1"), "unknown key require[0].fact; did you mean 'facts'"),
        (REQUIRE + REQUIRE + "blow = 1\n", "unknown key require[1].blow; did you mean 'below'"),
        (one("below = 1"), "require[0]: it names no adversary; give one of facts, implications"),
        (
            one("facts = { l = 1 }\nimplications = { k = 1 }\nbelow = 1"),
            "require[0]: several adversaries .* write facts = [",
        ),
        (one("implications = { l = 1 }\nbelow = 1"), "unknown key require[0].implications.l; k"),
        (one("negations = [{ k = 1 }]"), "require[0].negations[0].below is missing"),
        (one("facts = [{ l = 1 }]"), "require[0].facts[0].below is missing"),
    ],
    ids=lambda text: text[-30:],
)
def test_a_key_that_is_wrong_or_missing_is_named(load, content, says):
    with pytest.raises(PolicyError, match=r"policy\.toml: " + pattern(says)):
        load(content)


# ---- values -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("require = []\n", "the policy requires nothing"),
        ("[require]\nfacts = {}\n", "write [[require]], in two brackets, above each"),
        (to_publish('form = "general"'), "publish.form: it should be 'generalized' or"),
        (to_publish('format = "xls"'), "publish.format: it should be 'csv' or 'parquet'"),
        (to_publish('labels = { a = "x" }'), "publish.labels.a: it should be 'range'"),
        (to_publish('escape_formulas = "yes"'), "publish.escape_formulas: .*boolean"),
        (
            SCHEMA + to_publish('labels = { agee = "set" }'),
            "publish.labels: 'agee' is no quasi-identifier; did you mean 'age'",
        ),
        (with_schema('semantics = "sets"'), "schema.semantics: it should be 'single', 'set'"),
        (with_schema('types = { age = "int" }'), "schema.types.age: it should be 'number'"),
        (with_schema("types = { a = 'text' }"), "'a', which is no quasi-identifier"),
        (with_schema('missing = "dorp"'), "schema.missing.* .?drop"),
        (with_schema("missing = { lable = 'x' }"), 'missing must be "error", "drop" or'),
        (with_schema("missing = { label = 1 }"), "schema.missing"),
        (with_schema('other = ["age"]'), "'age' is given as other and as quasi-identifier"),
        (with_schema('identifiers = "name"'), "schema.identifiers: .*list, not 'name'"),
        (
            with_schema('semantics = "set"\nmissing = "drop"'),
            "missing = \"drop\" has no place under semantics 'set'",
        ),
        (with_schema("hierarchies = { age = 5 }"), "schema.hierarchies.age: .*not 5"),
        (with_schema("hierarchies = { zip = { mask = 5 } }"), "'zip', which is no quasi-id"),
        (with_schema("hierarchies = { age = { msk = 5 } }"), "key 'msk'; did you mean 'mask'"),
        (with_schema("hierarchies = { age = { file = 'x' } }"), "file '.*x' does not exist"),
        (one("facts = { l = 1 }"), "require[0]: the threshold is missing; give below"),
        (one("facts = {}\nbelow = 1e400"), "threshold must be above 0 and at most 1"),
        (one("facts = {}\nbelow = nan"), "require[0]: below: NaN is not a number"),
        (one("facts = {}\nbelow = true"), "require[0]: below: True is not a number"),
        (one("facts = {}\nbelow = { a = 1 }"), "{'a': 1} is not a number"),
        (one("facts = []"), "require[0]: a skyline needs at least one point"),
        (one("facts = [{ below = 1 }]\nbelow = 1"), "require[0]: a skyline has a threshold"),
        (
            one("facts = [{ l = 1, below = 1 }, { l = 1, below = 0.5 }]"),
            "require[0]: Facts(l=1, k=0, m=0) has two thresholds, 1 and 1/2",
        ),
        (
            one("facts = {}\nbelow = 1\nvalues = 'x'"),
            "require[0]: values must be a list, such as ['x']",
        ),
        (one("facts = {}\nbelow = 1\nvalues = []"), "require[0]: values is empty"),
        (one("facts = {}\nbelow = 1\nexcept = ['x', 'x']"), "except names 'x' twice"),
        (one("facts = {}\nbelow = 1\nvalues = ['x']\nexcept = ['y']"), "not both"),
        (
            REQUIRE + one("facts = { l = 1 }\nbelow = 0.6\nvalues = ['x']"),
            "require[1]: below 3/5 for 'x' has no effect, since require[0] asks below 1/2",
        ),
        # in the words of the file and not of our classes
        (one("facts = 'x'\nbelow = 1"), "require[0].facts: it should be a table, not 'x'$"),
        (one("facts = 5\nbelow = 1"), "require[0].facts: it should be a table, not 5$"),
        (one("facts = [1]"), "require[0].facts[0]: it should be a table, not 1$"),
        (
            one("facts = { l = 1.5 }\nbelow = 1"),
            "require[0].facts.l: it should be a whole number, not 1.5$",
        ),
    ],
    ids=lambda text: text[-40:],
)
def test_a_value_that_cannot_be_meant_says_why(load, content, says):
    with pytest.raises(InputError, match=r"policy\.toml: .*" + pattern(says)):
        load(content)


@pytest.mark.parametrize("amount", ["l", "k", "m"])
@pytest.mark.parametrize("given", ["-1", "1.5", "1.0", "true", '"1"', "nan", "[1]"])
def test_amounts_of_knowledge_are_whole_numbers_from_0(load, amount, given):
    with pytest.raises(
        PolicyError, match=rf"policy\.toml: require\[0\]\.facts\.{amount}: it should"
    ):
        load(one(f"facts = {{ {amount} = {given} }}\nbelow = 0.5"))


def test_values_of_any_type_are_read_as_they_print(load):
    policy = load(one("facts = { l = 1 }\nbelow = 1\nvalues = ['x', 7, 1.50, 2024-01-31, true]"))
    assert policy.requirements[0].values == ("x", "7", "1.50", "2024-01-31", "True")


@pytest.mark.parametrize("table", [None, [1], 5])
def test_what_is_no_table_at_all_is_refused(table):
    kind = type(table).__name__
    with pytest.raises(PolicyError, match=f"policy: expected the tables of a policy, not {kind}"):
        Policy.from_dict(table)


def test_every_kind_of_adversary_is_read_and_written_back(load):
    policy = load(
        one("implications = { k = 3 }\nbelow = '2/3'")
        + one("negations = [{ k = 1, below = 0.5 }]\nfacts = [{ l = 1, below = 0.6 }]")
    )
    kinds = [type(point.adversary).__name__ for r in policy.requirements for point in r.points]
    assert kinds == ["Implications", "Facts", "Negations"]
    assert policy.requirements[0].points[0].adversary.k == 3
    assert Policy.from_dict(policy.to_dict()).to_dict() == policy.to_dict()
