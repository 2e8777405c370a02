"""JSON values: results as plain values, by their fields or by a short declaration."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields
from fractions import Fraction
from operator import attrgetter
from typing import Any, ClassVar


class Plain:
    """A class with `to_dict`: all its public fields, or the entries that `_json_fields` lists.

    The list is a text of words, an entry each, in the order of the JSON object:

    - ``people`` writes the attribute `people` under the key "people";
    - ``table=name`` writes the attribute `name` under the key "table"; a path is allowed, too, as
      in ``files=certificate.files``;
    - ``group?`` leaves the entry out where it is empty, False or 0, but not where it is the
      fraction 0; ``knowing?=scope.known`` joins both;
    - ``*`` writes all public fields of the dataclass.

    Fractions become texts, or what `_fraction` makes of them.
    """

    _json_fields: ClassVar[str] = "*"
    _fraction: ClassVar[Callable[[Fraction], Any]] = str

    def _content(self) -> dict[str, Any]:
        """The fields that `_json_fields` names, by key: `key`, `key=path`, or `*` for all.

        A path such as `found.value` leads to the value. A field with a question mark is left out if
        it is empty; a fraction of 0 is not empty.
        """
        content: dict[str, Any] = {}
        for word in self._json_fields.split():
            if word == "*":  # all public fields of the dataclass
                record: Any = self
                names = [
                    attribute.name
                    for attribute in fields(record)
                    if not attribute.name.startswith("_")
                ]
                content |= {name: getattr(self, name) for name in names}
                continue
            key, _, path = word.partition("=")
            value = attrgetter(path or key.rstrip("?"))(self)
            if value or not key.endswith("?") or isinstance(value, Fraction):
                content[key.rstrip("?")] = value
        return content

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {key: plain(value, type(self)._fraction) for key, value in self._content().items()}


def plain(value: Any, fraction: Callable[[Fraction], Any] = str) -> Any:
    """A value for JSON: sequences as lists, results by their `to_dict`, fractions as text.

    `fraction` may write fractions otherwise.

    >>> plain({"share": Fraction(1, 2), "by": ("age", None)})
    {'share': '1/2', 'by': ['age', None]}
    """
    if hasattr(value, "to_dict"):
        return value.to_dict()
    if isinstance(value, Fraction):
        return fraction(value)
    if isinstance(value, Mapping):
        return {key: plain(inner, fraction) for key, inner in value.items()}
    return (
        [plain(inner, fraction) for inner in value] if isinstance(value, (tuple, list)) else value
    )
