"""Words of a command line as they were typed: names of other tools, files, lists and numbers."""

from __future__ import annotations

from collections.abc import Container, Iterable
from fractions import Fraction
from itertools import pairwise
from os.path import exists, isfile  # a name that is too long is that of no file
from pathlib import Path
from typing import Any

import click

from foreknow.names import FLAGS, LETTERS, OPTIONS, SETTING_OPTIONS, SPELLED_OUT, own_name
from foreknow.numbers import is_whole
from foreknow_judge.errors import InputError

_MOST_NUMBERS = 10_000  # that a range such as 0-19 may stand for
# Options that name the source in other tools.
_OF_SOURCE = "-i", "--input", "--in", "--release", "--file", "--data", "--dataset", "--source"
_SHORTEST = 5  # letters of an option that is cut short, with its hyphens


def in_our_names(args: list[str], names: list[str], flags: Container[str]) -> list[str]:
    """The words of a command line, with names of options in other tools turned into ours.

    `names` are those of the command's options, and `flags` how they are written.
    """
    renamed = [*args]
    for position, word in enumerate(args):
        # After a bare -- everything is a value.
        if word == "--":
            break
        # -q is --quiet here, but columns after it show that quasi-identifiers are meant.
        if word == "-q" and "quasi_identifiers" in names and _are_columns(args, position + 1):
            renamed[position] = "--quasi-identifiers"
        name, equals, value = word.partition("=")
        ours = own_name(name[2:].replace("-", "_"), names) if name[:2] == "--" else None
        if name[:2] == "--" and name not in flags and FLAGS.get(name[2:]) in flags:
            renamed[position] = f"{FLAGS[name[2:]]}{equals}{value}"
        if ours is not None:
            renamed[position] = f"--{ours.replace('_', '-')}{equals}{value}"
    # --format json asks for JSON on standard output, if no other format is meant.
    if "json" in names and "file_format" not in names:
        for words in (["--format", "json"], ["--format=json"], ["--output-format", "json"]):
            for position in range(len(renamed) - len(words) + 1):
                if renamed[position : position + len(words)] == words:
                    renamed[position : position + len(words)] = ["--json=-"]
    return renamed


def in_full(words: list[str], flags: Container[str], known_flags: Iterable[str]) -> list[str]:
    """The words of a command line, with options written out that others cut short or call so.

    `flags` are all flags of the command, `known_flags` those with a word.
    """
    full: list[str] = []
    longer_flags, is_value = [*known_flags], False
    for word in words:
        name, equals, value = word.partition("=")
        likes = [flag for flag in longer_flags if flag.startswith(name)]
        if is_value or name in flags or name[:1] != "-":
            full.append(word)
        elif name in SPELLED_OUT and SPELLED_OUT[name][0] in flags:
            full += SPELLED_OUT[name]
        elif name in LETTERS and LETTERS[name] in flags:
            full.append(f"{LETTERS[name]}{equals}{value}")
        elif name in SETTING_OPTIONS and "--set" in flags:
            full += ["--set", f"{SETTING_OPTIONS[name]}={value}"] if equals else [name]
        # The beginning of one flag only; words with advice of their own keep it.
        elif len(name) >= _SHORTEST and len(likes) == 1 and about_option(name) is None:
            full.append(f"{likes[0]}{equals}{value}")
        else:
            full.append(word)
        is_value = word == "--"
    # Settings of methods in two words, such as --suppression 5%.
    for position, (name, value) in enumerate(pairwise(full)):
        if name in SETTING_OPTIONS and name not in flags and "--set" in flags:
            full[position : position + 2] = ["--set", f"{SETTING_OPTIONS[name]}={_share(value)}"]
    return full


def _share(text: str) -> str:
    """A share as a text; 5% becomes 0.05."""
    number = text.removesuffix("%")
    is_percent = number != text and number.replace(".", "", 1).isdigit()
    return str(float(Fraction(number) / 100)) if is_percent else text


def to_page(words: list[str], flags: Container[str]) -> list[str]:
    """The words of a command line; where there is no --out, a page or JSON is named by its end."""
    if "--out" in flags or "--html" not in flags:
        return words
    ends = {".html": "--html", ".htm": "--html", ".json": "--json"}
    renamed = [*words]
    for position, (name, value) in enumerate(pairwise(words)):
        if name in ("--out", "--output", "-o") and (option := ends.get(Path(value).suffix.lower())):
            renamed[position] = option
    return renamed


def with_slashes(word: str) -> str:
    """A path as it is written in Windows, if there is a file of that name with slashes."""
    slashed = word.replace("\\", "/")
    return slashed if slashed != word and not exists(word) and exists(slashed) else word


def with_source(words: list[str], flags: Container[str]) -> list[str]:
    """The words of a command line, without an option before the name of the source.

    Other tools name the source by an option, which here is the first argument.
    """
    for position, (word, name) in enumerate(pairwise(words)):
        if word in _OF_SOURCE and word not in flags and name[:1] != "-":
            return [*words[:position], *words[position + 1 :]]
        if word == "--table" and isfile(name) and not any(map(_is_source, words[:position])):
            return [*words[:position], *words[position + 1 :]]
    return words


def with_commas(words: list[str], list_flags: Container[str]) -> list[str]:
    """The words of a command line, with columns after each other as one list.

    They end at an option, and at what is a file or folder. A list that has commas is whole.

    Nothing is joined before a source is named.
    """
    joined, place, has_source = list[str](), 0, False
    while place < len(words):
        word = words[place]
        joined.append(word)
        place += 1
        has_source |= _is_source(word)
        if word == "--":
            return [*joined, *words[place:]]
        if word not in list_flags or place == len(words):
            continue
        columns = [words[place]]
        place += 1
        while place < len(words) and words[place][:1] != "-" and not exists(words[place]):
            columns.append(words[place])
            place += 1
        is_list = len(columns) > 1 and not any("," in column for column in columns)
        if has_source and is_list:
            columns = [",".join(columns)]
        joined += columns
    return joined


def _is_source(word: str) -> bool:
    return word[:1] != "-" and exists(word)


def as_one(words: list[str], option: click.Option) -> list[str]:
    """The words of a command line, with all values of an option in one, with commas between."""
    values, other_words, remaining = list[str](), list[str](), iter(words)
    for word in remaining:
        # Behind -- all words are arguments, even if they look like options.
        flag, equals, value = word.partition("=")
        if word == "--":
            other_words += [word, *remaining]
        elif flag in option.opts:
            values.append(value if equals else next(remaining))
        else:
            other_words.append(word)
    return [option.opts[0], ",".join(values), *other_words]


def as_amounts(words: list[str]) -> list[str]:
    """The words of a command line, with several numbers of a criterion as amounts to compare.

    >>> as_amounts(["t.csv", "--k-anonymity", "2,5"])
    ['--k-anonymity', '2', '--amounts', 'k_anonymity=2,5', 't.csv']
    """
    for flag, *letters in (("--k-anonymity", "-k"), ("--l-diversity",)):
        _, values, *other_words = as_one(words, click.Option([flag, *letters]))
        numbers = listed(values)
        if len(numbers) > 1 and all(map(is_whole, numbers)):
            name = flag[2:].replace("-", "_")
            amounts = ["--amounts", f"{name}={','.join(numbers)}"]
            words = [flag, numbers[0], *amounts, *other_words]
    return words


def with_policy(words: list[str], names: list[str]) -> list[str]:
    """The words of a command line, with --policy before a policy file that stands alone."""
    policy_options = [word for word in words if word == "-p" or word.startswith("--policy")]
    if "policy" not in names or policy_options or len(words) < 2:
        return words
    # A word behind an option is the option's value.
    for position, (before, word) in enumerate(pairwise(["", *words])):
        if word.lower().endswith(".toml") and before[:1] != "-" and isfile(word):
            return [*words[:position], "--policy", *words[position:]]
    return words


def about_option(name: str) -> str | None:
    """Advice for an option that a command does not have; None if there is none.

    It is found by the whole name, as a criterion of policies, or by a part of the name.
    """
    option_words = [f"--{part}" for part in name.strip("-").split("-")] if name[:2] == "--" else []
    by_part = next(filter(None, map(OPTIONS.get, option_words)), None)
    return OPTIONS.get(name) or _in_a_policy(name) or by_part


def _in_a_policy(option: str) -> str | None:
    """A hint for an option that is a criterion of policy files only."""
    from foreknow.criteria.registry import CRITERIA  # after a mistake only

    key = option.removeprefix("--").replace("-", "_")
    if key not in CRITERIA:
        return None
    return f"a policy file says it: {key} = ... below [[require]]; then --policy FILE"


def _are_columns(args: list[str], position: int) -> bool:
    """True if a word names columns: it is no option or file, and comes after the table."""
    word = args[position] if position < len(args) else "-"
    has_source = any(before[:1] != "-" for before in args[: position - 1])
    return has_source and word[:1] != "-" and not Path(word).exists()


def read_value(name: str, text: Any, annotation: str) -> Any:
    """An option's value, as the public function takes it by its annotation."""
    if isinstance(text, str) and annotation.startswith(("Sequence[int]", "Iterable[int]")):
        return _whole_numbers(name, text)
    return listed(text) if isinstance(text, str) and annotation.startswith("Sequence") else text


def listed(text: str) -> list[str]:
    """The parts between commas."""
    return [part.strip() for part in text.split(",") if part.strip()]


def _whole_numbers(name: str, text: str) -> list[int]:
    """The whole numbers in a text such as 7, 0-19 or 1,5,8-10."""
    numbers: list[int] = []
    for part in text.split(","):
        first, dash, last = part.strip().partition("-")
        ends = [first, last if dash else first]
        low, high = map(int, ends) if all(map(is_whole, ends)) else (0, -1)
        if not low <= high < low + _MOST_NUMBERS:
            raise InputError(
                f"--{name} takes whole numbers such as 7, 0-19 or 1,5,8-10, at most "
                f"{_MOST_NUMBERS:,} of them, not {part.strip()!r}"
            )
        numbers += range(low, high + 1)
    return numbers
