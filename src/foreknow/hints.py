"""Hints: what a call that does not fit is meant to be, by names that others use."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from foreknow.errors import CallError, did_you_mean
from foreknow.names import ELSEWHERE, OF_OBJECTS, renamed
from foreknow_judge.json_values import Plain as PlainValues

P = ParamSpec("P")


R = TypeVar("R")


C = TypeVar("C", bound=type)


def hinted(
    call: Callable[P, R], name: str = "", advice: str = "", keys: Iterable[str] = ()
) -> Callable[P, R]:
    """Let a call that does not fit the parameters say what they are, as a `CallError`.

    A parameter that is called by a name from elsewhere is taken for what it is called here. With
    `keys`, the call takes these, too.
    """
    parameters = inspect.signature(call).parameters.values()
    known = [p.name for p in parameters if p.name not in ("self", "cls") and p.kind not in (2, 4)]
    rest = [_keys_of(call, p) for p in parameters if p.kind is p.VAR_KEYWORD]
    known += dict.fromkeys([*keys, *(key for own in rest for key in own or ())])
    bound = any(p.name in ("self", "cls") for p in parameters)
    called = name or call.__name__

    @wraps(call)
    def checked(*args: P.args, **given: P.kwargs) -> R:
        named: Any = renamed(given, known, len(args) - bound) if given else {}
        odd = next((each for each in named if each not in known), None)
        try:
            if odd is not None and rest and None not in rest:
                raise TypeError
            return call(*args, **named)
        except TypeError as error:
            trace = error.__traceback__
            if trace is None or trace.tb_next is not None:
                raise  # in the call, not of it
            if odd is None:
                shape = ", ".join(f"{each}=..." for each in known)
                said = f"{error}; write {called}({shape})".replace(call.__qualname__, called)
            else:
                said = f"{called} takes no {odd!r}"
                said += ELSEWHERE.get(odd) or did_you_mean(odd, known)
            raise CallError(said + advice) from None

    return checked


def _keys_of(call: Any, parameter: inspect.Parameter) -> list[str] | None:
    """What ``**`` takes, where a typed dictionary says it; None where that is anything."""
    said = str(parameter.annotation)
    if not said.startswith("Unpack["):
        return None
    return list(call.__globals__[said[7:-1]].__annotations__)


def hints(advice: str = "") -> Callable[[C], C]:
    """Do the same for the calls that make an object of a class."""

    def of_class(cls: C) -> C:
        cls.__init__ = hinted(cls.__init__, cls.__name__, advice)  # type: ignore[misc]
        if not hasattr(cls, "__getattr__"):
            cls.__getattr__ = _lacking  # type: ignore[attr-defined]
        return cls

    return of_class


def _lacking(own: Any, name: str) -> Any:
    """Refuse an attribute that is not there; what others call by that name is said."""
    if hasattr(type(own), name):  # a property that failed says why
        return object.__getattribute__(own, name)
    said = f"{type(own).__name__!r} object has no attribute {name!r}"
    raise AttributeError(f"{said}; {does}" if (does := OF_OBJECTS.get(name)) else said)


class Plain(PlainValues):
    """Has plain values for JSON, and says what to use where an attribute is called otherwise."""

    def __getattr__(self, name: str) -> Any:
        if hasattr(type(self), name):  # a property that failed says why
            return object.__getattribute__(self, name)
        lacking = f"{type(self).__name__} has no {name!r}"
        raise AttributeError(f"{lacking}; {does}" if (does := OF_OBJECTS.get(name)) else lacking)
