"""Words of a command line as they were typed: names of other tools, files, lists and numbers."""

from __future__ import annotations

from collections.abc import Container
from itertools import pairwise
from os.path import exists, isfile  # a name that is too long is that of no file
from pathlib import Path
from typing import Any

import click

from foreknow.names import FLAGS, OPTIONS, own_name
from foreknow_judge.errors import InputError
from foreknow_judge.numbers import MOST_DIGITS

_MOST_NUMBERS = 10_000  # that a range such as 0-19 may stand for
# Options that name the source in other tools.
_OF_SOURCE = "-i", "--input", "--release", "--file", "--data", "--dataset", "--source"


def in_our_names(args: list[str], names: list[str], flags: Container[str]) -> list[str]:
    """The words of a command line; names of options in other tools become ours."""
    renamed = [*args]
    for place, word in enumerate(args):
        if word == "--":
            break
        if word == "-q" and "quasi_identifiers" in names and _are_columns(args, place + 1):
            renamed[place] = "--quasi-identifiers"
        name, equals, value = word.partition("=")
        ours = own_name(name[2:].replace("-", "_"), names) if name[:2] == "--" else None
        if name[:2] == "--" and name not in flags and FLAGS.get(name[2:]) in flags:
            renamed[place] = f"{FLAGS[name[2:]]}{equals}{value}"
        if ours is not None:
            renamed[place] = f"--{ours.replace('_', '-')}{equals}{value}"
    if "json" in names and "file_format" not in names:
        for words in (["--format", "json"], ["--format=json"], ["--output-format", "json"]):
            for place in range(len(renamed) - len(words) + 1):
                if renamed[place : place + len(words)] == words:
                    renamed[place : place + len(words)] = ["--json=-"]
    return renamed


def with_source(words: list[str], flags: Container[str]) -> list[str]:
    """The words of a command line, without an option before the name of the source."""
    for place, (word, name) in enumerate(pairwise(words)):
        if word in _OF_SOURCE and word not in flags and name[:1] != "-":
            return [*words[:place], *words[place + 1 :]]
        if word == "--table" and isfile(name) and not any(map(_is_source, words[:place])):
            return [*words[:place], *words[place + 1 :]]
    return words


def _is_source(word: str) -> bool:
    return word[:1] != "-" and exists(word)


def as_one(words: list[str], option: click.Option) -> list[str]:
    """The words of a command line, with all values of an option in one."""
    values, other_words, remaining = list[str](), list[str](), iter(words)
    for word in remaining:
        flag, equals, value = word.partition("=")
        if word == "--":
            other_words += [word, *remaining]
        elif flag in option.opts:
            values.append(value if equals else next(remaining))
        else:
            other_words.append(word)
    return [option.opts[0], ",".join(values), *other_words]


def with_policy(words: list[str], names: list[str]) -> list[str]:
    """The words of a command line; --policy is put before a policy file without it."""
    given = [word for word in words if word == "-p" or word.startswith("--policy")]
    if "policy" not in names or given or len(words) < 2:
        return words
    for place, (before, word) in enumerate(pairwise(["", *words])):
        if word.lower().endswith(".toml") and before[:1] != "-" and isfile(word):
            return [*words[:place], "--policy", *words[place:]]
    return words


def about_option(name: str) -> str | None:
    """Advice in place of an option that a command has not, by its name or a part of it."""
    parts = [f"--{part}" for part in name.strip("-").split("-")] if name[:2] == "--" else []
    by_part = next(filter(None, map(OPTIONS.get, parts)), None)
    return OPTIONS.get(name) or _in_a_policy(name) or by_part


def _in_a_policy(option: str) -> str | None:
    """A hint for an option that is a criterion of policy files only."""
    from foreknow.criteria.registry import CRITERIA  # after a mistake only

    key = option.removeprefix("--").replace("-", "_")
    if key not in CRITERIA:
        return None
    return f"a policy file says it: {key} = ... below [[require]]; then --policy FILE"


def _are_columns(args: list[str], place: int) -> bool:
    """True if a word names columns: it is no option or file, and comes after the table."""
    word = args[place] if place < len(args) else "-"
    has_source = any(before[:1] != "-" for before in args[: place - 1])
    return has_source and word[:1] != "-" and not Path(word).exists()


def read_value(name: str, text: Any, annotation: str) -> Any:
    """An option's value, as the public function takes it."""
    if isinstance(text, str) and annotation.startswith(("Sequence[int]", "Iterable[int]")):
        return _whole_numbers(name, text)
    return listed(text) if isinstance(text, str) and annotation.startswith("Sequence") else text


def listed(text: str) -> list[str]:
    """The parts between commas."""
    return [part.strip() for part in text.split(",") if part.strip()]


def is_whole(text: str) -> bool:
    """True if a text is a whole number from 0, no longer than Python reads."""
    return text.isascii() and text.isdigit() and len(text) <= MOST_DIGITS


def _whole_numbers(name: str, text: str) -> list[int]:
    """Read numbers such as 7, 0-19 or 1,5,8-10."""
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
