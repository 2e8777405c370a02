"""Document: a policy file of which some tables are changed, and the rest stays as it was written.

A table that says what it said before keeps its lines, with their comments. One that is changed is
written anew below the comments above it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from foreknow.documents import from_toml, toml_key, toml_value

_HEADER = re.compile(r"\s*\[\[?\s*(\"[^\"]*\"|[\w-]+)[^\]]*\]\]?\s*(#.*)?")
# Tables of [schema] that are written under a header of their own.
_APART = ("hierarchies", "types", "reading")


@dataclass
class _Part:
    """The lines of one table and of those inside of it; comments above it are its own."""

    key: str
    above: list[str] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)


def changed(text: str, wanted: Mapping[str, Any]) -> str:
    r"""Write a policy so that it says what is wanted.

    Examples
    --------
    >>> text = '# Ours.\n[schema]\nsensitive = "a"\n\n# Nobody.\n[[require]]\nk_anonymity = 2\n'
    >>> print(changed(text, {"schema": {"sensitive": "b"}, "require": [{"k_anonymity": 2}]}))
    # Ours.
    [schema]
    sensitive = "b"
    <BLANKLINE>
    # Nobody.
    [[require]]
    k_anonymity = 2
    <BLANKLINE>
    """
    try:
        before = from_toml(text)
        made = _joined(_parts(text), before, wanted)
        if from_toml(made) == from_toml(_whole(wanted)):
            return made
    except ValueError:
        pass  # of a text with a mistake, or one laid out in another way, no line is kept
    return _whole(wanted)


def _whole(wanted: Mapping[str, Any]) -> str:
    each = ((key, own) for key, table in wanted.items() for own in _listed(table))
    parts = ["\n".join(_written(key, own)) for key, own in each]
    return "\n\n".join(parts) + "\n"


def _parts(text: str) -> tuple[list[str], list[_Part]]:
    """The lines before all tables, and the parts."""
    first: list[str] = []
    parts: list[_Part] = []
    waiting: list[str] = []
    for line in text.splitlines():
        found = _HEADER.fullmatch(line)
        if found is not None:
            key = found[1].strip('"')
            inner = re.match(r"\s*\[\[?\s*[\w\"-]+\s*\.", line) is not None
            if not (parts and parts[-1].key == key and inner):
                parts.append(_Part(key, waiting))
                waiting = []
            parts[-1].lines += [*waiting, line]
            waiting = []
        elif line.strip() == "" or line.lstrip().startswith("#"):
            waiting.append(line)
        else:
            target = parts[-1].lines if parts else first
            target += [*waiting, line]
            waiting = []
    if parts:
        parts[-1].lines += waiting
    return first, parts


def _joined(
    found: tuple[list[str], list[_Part]], before: Mapping[str, Any], wanted: Mapping[str, Any]
) -> str:
    first, parts = found
    own: dict[str, list[_Part]] = {}
    for part in parts:
        own.setdefault(part.key, []).append(part)
    lines = list(first)
    for key in [*(k for k in own if k in wanted), *(k for k in wanted if k not in own)]:
        then, now = _listed(before.get(key)), _listed(wanted[key])
        kept = own.get(key, [])
        if len(kept) != len(then):
            raise ValueError("the tables are laid out in another way")
        free = list(range(len(then)))
        for place, table in enumerate(now):
            same = [i for i in free if then[i] == table]
            at = place if place in same else (same[0] if same else None)
            if at is not None:
                free.remove(at)
                lines += [*kept[at].above, *kept[at].lines]
                continue
            above = kept[place].above if place in free else [""]
            if place in free and len(now) >= len(then):
                free.remove(place)
            lines += [*above, *_written(key, table)]
    return "\n".join(lines).strip("\n") + "\n"


def _listed(table: Any) -> list[Any]:
    return table if isinstance(table, list) else [] if table is None else [table]


def _written(key: str, table: Mapping[str, Any]) -> Iterator[str]:
    """The lines of one table."""
    repeated = key == "require"
    yield f"[[{key}]]" if repeated else f"[{toml_key(key)}]"
    for name, value in table.items():
        if not (key == "schema" and name in _APART and isinstance(value, Mapping)):
            yield f"{toml_key(name)} = {_value(value)}"
    for name in _APART if key == "schema" else ():
        inner = table.get(name)
        if isinstance(inner, Mapping) and inner:
            yield ""
            yield f"[{key}.{name}]"
            yield from (f"{toml_key(own)} = {_value(value)}" for own, value in inner.items())


def _value(value: Any) -> str:
    if isinstance(value, Mapping):
        return toml_value({name: own for name, own in value.items() if own is not None})
    return toml_value(value)


def line_of(text: str, path: Sequence[Any]) -> int | None:
    r"""The line, from 1, in which a key is written, or its table; None where that is not found.

    >>> line_of('[schema]\nsensitive = "a"\n\n[[require]]\nbelow = 2\n', ["require", 0, "below"])
    5
    """
    if not path:
        return None
    key, *rest = path
    place = rest.pop(0) if rest and isinstance(rest[0], int) else 0
    own = -1
    within, best = False, None
    for number, line in enumerate(text.splitlines(), 1):
        found = _HEADER.fullmatch(line)
        if found is not None:
            inner = re.match(r"\s*\[\[?\s*[\w\"-]+\s*\.", line) is not None
            if found[1].strip('"') != key:
                within = False
                continue
            own += not inner
            within = max(own, 0) == place
            if within and best is None:
                best = number
            deeper = rest and re.search(rf"\.\s*\"?{re.escape(str(rest[0]))}\b", line)
            if within and inner and deeper:
                best = number
        elif within and any(_begins(line, part) for part in rest if isinstance(part, str)):
            best = number
    return best


def _begins(line: str, key: str) -> bool:
    return re.match(rf"\s*\"?{re.escape(key)}\"?\s*=", line) is not None
