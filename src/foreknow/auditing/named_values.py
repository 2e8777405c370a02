"""Values that a policy names, nobody has, and that look like one that somebody has."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

from foreknow.data.engines.households import ELSEWHERE
from foreknow.data.labels import is_pattern, matching
from foreknow.data.spellings import Spellings
from foreknow.data.windows import Range
from foreknow.policy.requirement import Requirement
from foreknow_judge.errors import PolicyError


def refuse_misspelt(
    columns: Mapping[str, Iterable[Any]], requirements: Iterable[Requirement]
) -> None:
    """Refuse a named value that nobody has where a value of its column looks like it.

    Of several `columns`, the first is that of requirements that name none.
    """
    main = next(iter(columns))
    printed = {name: {*map(str, values)} for name, values in columns.items()}
    known: dict[str, Spellings] = {}
    for required in requirements:
        column = required.sensitive if required.sensitive in printed else main
        there = printed[column]
        for texts in _lists(required):
            absent = [text for text in texts if not _is_there(text, there)]
            for text in absent:
                if text in (*required.absent, ELSEWHERE):
                    continue
                spellings = known.setdefault(column, Spellings(sorted(there)))
                if (near := spellings.near(text, but=texts)) is not None:
                    raise PolicyError(
                        f"{required.name}: nobody has {text!r}, and somebody has {near!r}: write "
                        f"it as the table does; if {text!r} is meant, though nobody has it, add "
                        f"absent = [{json.dumps(text, ensure_ascii=False)}] to the requirement"
                    )


def _lists(required: Requirement) -> Iterator[list[str]]:
    """The lists of values that a requirement names, labels of a hierarchy apart."""
    if required.of_people:
        return
    sets = [own for own in required.secret.sets.values() if not isinstance(own, Range)]
    excluded = () if required.secret.level else required.excluded
    for texts in (required.values or (), excluded, *sets):
        yield [*map(str, texts)]


def _is_there(text: str, there: Collection[str]) -> bool:
    """Whether somebody has a value that a text names."""
    return text in there or (is_pattern(text) and bool(matching(text, there)))
