"""The docstring and parameters of a public function, read from its source without import.

So help and completion cost no engine.
"""

from __future__ import annotations

import ast
import inspect
import re
from dataclasses import dataclass
from functools import cached_property
from pkgutil import get_data
from textwrap import dedent
from typing import Any

_HEADING = re.compile(r"^\w[\w ]*\n-{3,}$", re.MULTILINE)


@dataclass(frozen=True)
class Source:
    """A definition by its place, such as foreknow.features.risk.risk:risk_report."""

    place: str

    @cached_property
    def _node(self) -> Any:
        """The syntax tree of the definition, parsed only to the end of its docstring."""
        module, _, name = self.place.partition(":")
        # Found by a pattern in the text, which is much faster than parsing the whole file.
        inside, _, last = name.rpartition(".")
        begun = rf'^{" +" if inside else ""}(?:def|class) {last}\b.*?""".*?"""'
        definition = re.search(begun, _text(module), re.MULTILINE | re.DOTALL)
        assert definition is not None, self.place
        return ast.parse(dedent(definition[0])).body[0]

    @cached_property
    def _docstring(self) -> str:
        return re.sub("`+", "", inspect.cleandoc(ast.get_docstring(self._node) or ""))

    @property
    def about(self) -> str:
        """The docstring before its sections, with one line for each paragraph."""
        paragraphs = _HEADING.split(self._docstring)[0].split("\n\n")
        return "\n\n".join(" ".join(paragraph.split()) for paragraph in paragraphs).strip()

    @property
    def summary(self) -> str:
        """The first line of it."""
        return self._docstring.partition("\n")[0]

    @cached_property
    def help(self) -> dict[str, str]:
        """The description of each parameter, by its name, from the docstring's section on them."""
        lines_of: dict[str, list[str]] = {}
        # A line that is not indented names one parameter or several, which share the lines below.
        body: list[str] = []
        _, _, section = self._docstring.partition("Parameters\n----------\n")
        for line in _HEADING.split(section)[0].splitlines():
            if line[:1].strip():
                body = []
                lines_of |= dict.fromkeys(re.findall(r"\w+", line.partition(" : ")[0]), body)
            else:
                body.append(line.strip())
        return {name: " ".join(lines).strip() for name, lines in lines_of.items()}

    @cached_property
    def options(self) -> dict[str, tuple[str, Any]]:
        """Type, as a text, and default of each parameter that has a default or is given by name."""
        arguments, module = self._node.args, self.place.partition(":")[0]
        # Defaults are those of the last parameters.
        first = arguments.args[len(arguments.args) - len(arguments.defaults) :]
        pairs = [*zip(first, arguments.defaults, strict=True)]
        pairs += zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
        options: dict[str, tuple[str, Any]] = {}
        for argument, default in pairs:
            value = inspect.Parameter.empty if default is None else _value(default, module)
            options[argument.arg] = ast.unparse(argument.annotation), value
        return options


def _text(module: str) -> str:
    package, _, file = module.partition(".")
    return (get_data(package, f"{file.replace('.', '/')}.py") or b"").decode()


def _value(default: ast.expr, module: str) -> Any:
    """The value of a default: a literal, or a constant, followed through imports."""
    if not isinstance(default, ast.Name):
        return ast.literal_eval(default)
    text, name = _text(module), default.id
    if definition := re.search(rf"^{name} = (.+)$", text, re.MULTILINE):
        return ast.literal_eval(definition[1])
    definition = re.search(rf"^from (\S+) import (?:\([^)]*|[^(\n]*)\b{name}\b", text, re.MULTILINE)
    assert definition is not None, f"{name} of {module}"
    return _value(default, definition[1])
