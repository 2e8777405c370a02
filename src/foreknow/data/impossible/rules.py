"""Which values some people cannot have, as everybody knows who knows their columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from foreknow.data.labels.labels import text_of
from foreknow.data.labels.ranges import Range
from foreknow.errors import SchemaError, did_you_mean
from foreknow.settings import read
from foreknow_judge.errors import InputError, UnsupportedError
from foreknow_judge.numbers import is_code, read_number
from foreknow_judge.policy.grammar import ImpossibleTable


class OneOf(tuple[str, ...]):
    """A condition that holds for people with one of these texts."""

    of_values = True  # so that the name of a node says nothing of it

    def __str__(self) -> str:
        return " or ".join(self)

    def to_dict(self) -> list[str]:
        """Its entry in a policy file."""
        return list(self)

    def has(self, text: str) -> bool:
        """True if a text is one of these, or the same number."""
        if text in self:
            return True
        number = None if is_code(text) else read_number(text)
        numbers = [read_number(value) for value in self if not is_code(value)]
        return number is not None and number in numbers


class Between(Range):
    """A condition that somebody meets whose number or date is in a range."""

    of_values = False


Condition: TypeAlias = OneOf | Between


def condition_of(setting: Any) -> Condition:
    """Read a condition of a rule: a list of values, or a table with the ends of a range."""
    return (
        OneOf(map(text_of, setting)) if isinstance(setting, (list, tuple)) else Between.of(setting)
    )


@dataclass(frozen=True)
class Rule:
    """Values that people cannot have if they meet the conditions of `where`, such as a sex."""

    values: tuple[str, ...]
    where: Mapping[str, Condition]
    sensitive: str

    @classmethod
    def of(cls, setting: Any, position: int, sensitives: Sequence[str]) -> Rule:
        """Read the rule at a position of ``[[schema.impossible]]``; one that is a `Rule` stays.

        `sensitives` are the sensitive columns of the schema.
        """
        if isinstance(setting, Rule):
            return setting
        name = f"impossible[{position}]"
        table = read(ImpossibleTable, setting, name, SchemaError)
        if table.sensitive is None and len(sensitives) > 1:
            columns = " or ".join(map(repr, sensitives))
            raise SchemaError(f"{name}: say of which column its values are: sensitive = {columns}")
        # With one sensitive column, a rule need not name it.
        column = table.sensitive or sensitives[0]
        if column not in sensitives:
            hint = did_you_mean(column, sensitives)
            raise SchemaError(f"{name}: {column!r} is no sensitive column{hint}")
        for known_column in table.where:
            if known_column in sensitives:
                raise SchemaError(
                    f"{name}: where names {known_column!r}, which is sensitive; it is about what "
                    "others know of everybody, such as a sex or an age"
                )
        try:
            where = {
                known_column: condition_of(condition)
                for known_column, condition in table.where.items()
            }
        except (InputError, UnsupportedError) as error:
            raise SchemaError(f"{name}: where: {error}") from None
        return cls(tuple(map(text_of, table.values)), where, column)

    def __str__(self) -> str:
        return " and ".join(f"{name} {condition}" for name, condition in self.where.items())

    def to_dict(self) -> dict[str, Any]:
        """Its entry in a policy file."""
        where = {name: condition.to_dict() for name, condition in self.where.items()}
        return {"values": list(self.values), "where": where, "sensitive": self.sensitive}
