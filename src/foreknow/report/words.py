"""Words: labels, lists and amounts as they stand in a sentence, whatever a table may contain."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from itertools import starmap
from typing import Any

from foreknow.adversaries.disclosure import Disclosure
from foreknow.data.labels.labels import GroupLabel, Label
from foreknow.data.labels.ranges import Range
from foreknow.data.labels.windows import Width, Window
from foreknow.numbers import Rounding, fixed, rounded
from foreknow.policy.tables import Secret
from foreknow.shown_numbers import percentage
from foreknow.wording import PLURALS, listing, noun_of
from foreknow_judge.files.printable import quoted, visible
from foreknow_judge.numbers import CLOSE
from foreknow_judge.policy.grammar import SHOWN_ELSEWHERE
from foreknow_judge.verdict import Limit

_MOST_SHOWN = 8  # values of a list
_PLAIN_NAME = re.compile(r"[\w.+*-]+")


def named(label: Label) -> str:
    """Write a value inside a sentence, in quotes where its end would not be seen.

    >>> named("Flu"), named("Flu, or worse"), named(""), named(Window("between 1 and 2", 0))
    ('Flu', '“Flu, or worse”', '“”', 'a value between 1 and 2')
    """
    if isinstance(label, Window):
        text = visible(label)
        return text if text.startswith("a value ") else f"a value {text}"
    return quoted(label)


def group_text(label: Label) -> str:
    """Write the label of a group: its id, or the labels of its quasi-identifiers.

    >>> group_text(("20 to 37", None)), group_text(GroupLabel((97, 0), ("age", "sex")))
    ('20 to 37, missing', 'age 97, sex 0')
    """
    if isinstance(label, GroupLabel):
        pairs = zip(label.columns, label, strict=True)
        return ", ".join(
            f"{visible(column)} {visible(label_of_column)}" for column, label_of_column in pairs
        )
    labels = label if isinstance(label, tuple) else (str(label),)
    return ", ".join(map(visible, labels))


def group_words(label: Label) -> str:
    """Write the label of a group inside a sentence.

    >>> group_words(17), group_words(("20 to 37", "M"))
    ('group 17', 'group “20 to 37, M”')
    """
    text = group_text(label)
    return f"group {text}" if _PLAIN_NAME.fullmatch(text) else f"group “{text}”"


def signature_words(columns: Iterable[str], signature: Iterable[object]) -> list[str]:
    """Write what people have in some columns, a part each.

    >>> signature_words(["sex", "age"], ["f", None])
    ['sex f', 'age missing']
    """
    pairs = zip(columns, signature, strict=True)
    return [f"{visible(column)} {visible(value)}" for column, value in pairs]


def secret_words(
    secret: Secret, noun: str = "value", most: int = 6, meant: Mapping[str, Sequence[str]] = {}
) -> str:
    """A phrase for what must stay hidden: values, sets of values, or all of them.

    >>> secret_words(Secret(sets={"HIV": ("B20", "Z21"), "low": {"to": 15000}}))
    'any of HIV (B20 or Z21) and low (value up to 15000)'

    `meant` has the values of a table that a label stands for; at most `most` values are listed.
    """

    def listed(labels: Iterable[Any], last: str = "and") -> str:
        return listing(map(named, labels), last, n_shown=most)

    # A set is named, unless its name only lists its values.
    def of_set(name: str, members: Any) -> str:
        if isinstance(members, (Mapping, Range)):
            return f"{named(name)} ({noun} {visible(Range.of(members))})"
        either = listed(members, "or")
        is_named = name not in ("", " or ".join(map(str, members)))
        return f"any of {named(name)} ({either})" if is_named else f"any of {either}"

    def of_label(label: str) -> str:
        under = meant.get(label)
        values = f" ({listed(under, 'or')})" if under else ""
        return f"any {singular(noun)} under {named(label)}{values}"

    phrases: Mapping[str, Callable[[Any], str]] = {
        "sets": lambda sets: listing([*starmap(of_set, sets.items())], n_shown=most),
        "label": of_label,
        "width": lambda width: f"every {singular(noun)} to within {Width.of(width).words()}",
        "values": listed,
    }
    for key, phrase in phrases.items():
        setting: Any = getattr(secret, key)
        if setting != Secret._field_defaults[key]:
            return phrase(setting)
    all_values = f"every {singular(noun)}"
    if secret.level is not None:
        all_values = f"every label of level {secret.level} in the hierarchy of {noun}"
    excluded = [value for value in secret.excluded if value != SHOWN_ELSEWHERE]
    return f"{all_values} except {listed(excluded)}" if excluded else all_values


def setting_text(setting: object) -> str:
    """A setting as a policy file has it; long lists only by their length.

    >>> setting_text({"alpha": "1/4", "k": 20}), setting_text(5)
    ('{ alpha = 1/4, k = 20 }', '5')
    >>> setting_text({"t": "1/4", "tree": [["flu", "lung"], ["cold", "lung"]]})
    '{ t = 1/4, tree = 2 rows }'
    >>> setting_text({"age": {"top": 90}, "zip": {"hierarchy": {"mask": 5}}})
    '{ age = { top = 90 }, zip = { hierarchy = { mask = 5 } } }'
    >>> print(setting_text({"k": 11, "of": [["age", "sex"], ["zip"]]}))
    { k = 11, of = [["age", "sex"], ["zip"]] }
    """
    if not isinstance(setting, Mapping):
        return visible(setting)
    return (
        "{ " + ", ".join(f"{key} = {_brief(key, value)}" for key, value in setting.items()) + " }"
    )


def _brief(key: str, setting: object) -> str:
    """A setting as a short text.

    Long lists and tables are shown by their length, a path by its file's name, `of` in full.
    """
    if key == "population":  # of a path only the name: where files lie is the owner's
        return visible(re.split(r"[/\\]", str(setting))[-1])
    if isinstance(setting, Mapping):
        return setting_text(setting)
    if isinstance(setting, list) and key == "of":  # the columns that make people look alike
        return visible(json.dumps(setting, ensure_ascii=False))
    if isinstance(setting, list) and setting and isinstance(setting[0], list):
        return f"{len(setting)} rows"
    is_long = isinstance(setting, list) and len(setting) > _MOST_SHOWN
    return f"{len(setting)} values" if is_long else visible(setting)  # type: ignore[arg-type]


def average_text(average: float) -> str:
    """Write an average with one decimal, where there is one.

    >>> average_text(1400.0), average_text(2.26)
    ('1,400', '2.3')
    """
    return f"{average:,.1f}".removesuffix(".0")


def measure_text(share: float) -> str:
    """Write a share as a percentage; 0% only where it is none.

    >>> measure_text(0.12345), measure_text(0.0), measure_text(1e-9), measure_text(12.3)
    ('12.3%', '0%', 'below 0.1%', '1,230.0%')
    """
    if 0 < share < 0.0005:
        return "below 0.1%"
    return percentage(share, 1)


def nouns_of(columns: Sequence[str], last: str = "or") -> str:
    """Write the names of columns as nouns: "diagnosis or income"."""
    return listing([*map(noun_of, columns)], last, n_shown=len(columns))


def singular(noun: str) -> str:
    """Write one value of a column whose name is a noun; of "days", which may be many, a "value of".

    >>> singular("diagnosis"), singular("ward"), singular("days")
    ('diagnosis', 'ward', 'value of days')
    """
    is_plural = noun.endswith("s") and noun not in PLURALS and not noun.startswith("value of ")
    return f"value of {noun}" if is_plural else noun


def plural(noun: str) -> str:
    """Write a noun in the plural, if it is a known one; another as "values of" it.

    >>> plural("diagnosis"), plural("iinjury"), plural("ICD10")
    ('diagnoses', 'values of iinjury', 'values of ICD10')
    """
    return PLURALS.get(noun, f"values of {noun}")


# A float this near to the limit, to 0 or to 1 is replaced by the fraction it stands for.
_NEAR = 1e-6
_MOST_DIGITS = 60


def percent(
    disclosure: Disclosure, limit: Fraction, digits: int = 0, to: Rounding = "nearest"
) -> str:
    """A probability as a percentage with so many decimals, or more.

    It equals the limit only where the probability does, and is else on the same side of it; it
    is 0% or 100% only where the probability is 0 or 1. What is said to be the most is rounded up.

    >>> found = Disclosure("AIDS", 0.6204)
    >>> percent(found, Fraction("0.5")), percent(found, Fraction("0.62"))
    ('62%', '62.04%')

    `limit` is the limit that it stands beside.
    """
    # As exact as it takes to say on which side of the limit it is.
    chance = _settled_chance(disclosure, limit)
    if chance == limit:
        return limit_text(limit)
    if to != "nearest" and abs(chance - rounded(100 * chance, digits) / 100) < _NEAR:
        # A float may lie on the other side of what is printed.
        chance = _fraction(disclosure, chance)

    def on_its_side(printed: Fraction) -> bool:
        return printed != limit and (printed < limit) == (chance < limit)

    return percentage(chance, digits, to, on_its_side)


# A fraction longer than this says less than its decimals.
_SHORT = 11


def chance_text(exact: Fraction, digits: int = 1) -> str:
    """Write a probability as a percentage, and as a fraction where that is short.

    >>> chance_text(Fraction(1, 3)), chance_text(Fraction(1))
    ('33.3% (1/3)', '100%')
    """
    if Fraction(999_999, 1_000_000) < exact < 1:
        return "above 99.9999%"
    if 0 < exact < Fraction(1, 1_000_000):
        return "below 0.0001%"
    percentage_text = percent(Disclosure(None, float(exact), lambda: exact), Fraction(0), digits)
    fraction = str(exact)
    return (
        f"{percentage_text} ({fraction})"
        if "/" in fraction and len(fraction) <= _SHORT
        else percentage_text
    )


def answer_texts(answer: Any) -> tuple[str, str]:
    """Write how likely somebody has a value, before and after some statements are known."""
    return chance_text(answer.before), chance_text(answer.exact)


def limit_text(limit: Fraction) -> str:
    """Write a limit exactly: as a percentage where that ends, else as the fraction it is.

    >>> limit_text(Fraction("0.621")), limit_text(Fraction(2, 3))
    ('62.1%', '2/3')
    """
    return str(limit) if (text := _ending_decimal(limit * 100)) is None else f"{text}%"


def required_text(limit: Limit, prior: str = "× prior") -> str:
    """Write a limit as a policy has it, in few words.

    >>> required_text(Limit(Fraction(1, 2))), required_text(Limit(Fraction(3), True, True))
    ('50%', '3 × prior')
    """
    assert limit.amount is not None
    return f"{times_text(limit.amount)} {prior}" if limit.relative else limit_text(limit.amount)


def limit_of(disclosure: Disclosure, limit: Limit) -> str:
    """The limit of a disclosure, for a narrow column; a relative one also as a percentage."""
    text = required_text(limit)
    if not limit.relative:
        return text
    chance = limit.at(disclosure.prior)
    at_limit = Disclosure(disclosure.value, float(chance), lambda: chance)
    return f"{percent(at_limit, Fraction(1), 1)} = {text}"


def times_text(times: Fraction) -> str:
    """Write a factor exactly.

    >>> times_text(Fraction("1.5")), times_text(Fraction(4, 3))
    ('1.5', '4/3')
    """
    return _ending_decimal(times) or str(times)


def is_certain(disclosure: Disclosure, limit: Fraction) -> bool:
    """True if the probability is 1, exactly."""
    return _settled_chance(disclosure, limit) == 1


def reaches_just(disclosure: Disclosure, limit: Fraction) -> bool:
    """True if the probability equals the limit, exactly."""
    return _settled_chance(disclosure, limit) == limit


def _settled_chance(disclosure: Disclosure, limit: Fraction) -> Fraction:
    """The probability, as exact as a comparison with the limit needs.

    A float that is near 0, 1 or the limit gives way to the exact fraction. Where none was worked
    out, a float within rounding of the limit counts as the limit.
    """
    chance = disclosure.probability
    if min(chance, 1 - chance, abs(chance - float(limit))) > _NEAR:
        return Fraction(chance)
    return _fraction(disclosure, limit if abs(chance - float(limit)) <= CLOSE else Fraction(chance))


def _fraction(disclosure: Disclosure, otherwise: Fraction) -> Fraction:
    """The probability as a fraction, if that was worked out."""
    return otherwise if disclosure.settled is None else disclosure.settled


def _ending_decimal(number: Fraction) -> str | None:
    """A positive number with all its decimals as a text; None if they do not end, or are many."""
    for digits in range(_MOST_DIGITS):
        if (number * 10**digits).denominator == 1:
            return fixed(number, digits)
    return None


def weighting_text(column: str, weighted: Sequence[str]) -> str:
    """A sentence that says which figures of utility count people by their survey weights.

    >>> weighting_text("w", ["answers", "models"])[:38]
    'Answers and models are weighted by w: '
    """
    name = visible(column)
    if not weighted:
        return (
            f"Nothing is weighted by {name}: figures are where the release shows one weight for "
            f"each group ({name} in other, too), and a person has one value."
        )
    figures = " and ".join(weighted)
    return (
        f"{figures[0].upper()}{figures[1:]} are weighted by {name}: of the table by the weights of "
        "rows, of the release by those of groups. Sizes of groups and detail lost are not weighted."
    )
