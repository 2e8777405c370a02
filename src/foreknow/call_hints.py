"""Hints: what a call that does not fit is meant to be, by names that others use."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from foreknow.errors import CallError, did_you_mean
from foreknow.names import ATTRIBUTES, CALLED, ELSEWHERE, OF_OBJECTS, renamed
from foreknow_judge.files.json_values import Plain as PlainValues

P = ParamSpec("P")


R = TypeVar("R")


C = TypeVar("C", bound=type)


def hinted(
    call: Callable[P, R], name: str = "", advice: str = "", keys: Iterable[str] = ()
) -> Callable[P, R]:
    """A decorator: a call that does not fit the parameters is a `CallError` that names them.

    An argument with a name that other tools use is passed under our name. The call takes `keys`,
    too; `name` and `advice` are for messages.
    """
    parameters = inspect.signature(call).parameters.values()
    named_parameters = []
    for parameter in parameters:
        if parameter.kind not in (2, 4):  # neither *args nor **keywords
            named_parameters.append(parameter)
    parameter_names = []
    for p in named_parameters:
        if p.name not in ("self", "cls"):
            parameter_names.append(p.name)
    # The keys that **keywords takes; None in the list if it takes any key.
    keyword_names = [_keys_of(call, p) for p in parameters if p.kind is p.VAR_KEYWORD]
    all_keys = list(keys)
    for further_keys in keyword_names:
        all_keys += further_keys or ()
    parameter_names += dict.fromkeys(all_keys)
    # A method gets its object as first argument, which does not fill a parameter.
    bound = any(p.name in ("self", "cls") for p in parameters)
    call_name = name or call.__name__

    @wraps(call)
    def checked(*args: P.args, **arguments: P.kwargs) -> R:
        """Call it with our names for the arguments; explain a `TypeError` about them."""
        renamed_arguments: Any = (
            renamed(arguments, parameter_names, len(args) - bound) if arguments else {}
        )
        unknown = []
        for name in renamed_arguments:
            if name not in parameter_names:
                unknown.append(name)
        unknown_name = unknown[0] if unknown else None
        try:
            if unknown_name is not None and keyword_names and None not in keyword_names:
                raise TypeError
            return call(*args, **renamed_arguments)
        except TypeError as error:
            # Without a further frame, Python refused the call itself; else it is an error in it.
            trace = error.__traceback__
            if trace is None or trace.tb_next is not None:
                raise
            if unknown_name is None:
                shape = ", ".join(f"{parameter_name}=..." for parameter_name in parameter_names)
                message = f"{error}; write {call_name}({shape})".replace(
                    call.__qualname__, call_name
                )
            else:
                message = f"{call_name} takes no {unknown_name!r}"
                message += ELSEWHERE.get(unknown_name) or did_you_mean(
                    unknown_name, parameter_names
                )
            raise CallError(message + advice) from None

    return checked


def _keys_of(call: Any, parameter: inspect.Parameter) -> list[str] | None:
    """The keywords that ``**`` takes, by its typed dictionary; None for any."""
    annotation = str(parameter.annotation)
    if not annotation.startswith("Unpack["):
        return None
    return list(call.__globals__[annotation[7:-1]].__annotations__)


def hints(advice: str = "") -> Callable[[C], C]:
    """A class decorator: mistakes in calls that make an object are explained, as by `hinted`."""

    def of_class(cls: C) -> C:
        cls.__init__ = hinted(cls.__init__, cls.__name__, advice)  # type: ignore[misc]
        if not hasattr(cls, "__getattr__"):
            cls.__getattr__ = _lacking  # type: ignore[attr-defined]
        return cls

    return of_class


class Answer(int):
    """A truth that may be asked for as an attribute, and as a call.

    >>> answer = Answer(False)
    >>> answer, answer(), bool(answer)
    (False, False, False)
    """

    def __call__(self) -> bool:
        """The truth."""
        return bool(self)

    def __repr__(self) -> str:
        return repr(bool(self))

    __str__ = __repr__


class Listed(tuple[Any, ...]):
    """A tuple that says what to type where it is taken for a frame."""

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(
            f"this is a tuple, one for each requirement, and has no {name!r}; see [0], and "
            "audit.to_frame(), or audit.exposed_to_csv(path), which has a row for each group"
        )


def _attribute_of(holder: Any, name: str, lacking: str) -> Any:
    """The attribute that others call by a name; else an error that begins with `lacking`."""
    if hasattr(type(holder), name):  # a property that failed says why
        return object.__getattribute__(holder, name)
    if hasattr(type(holder), ours := ATTRIBUTES.get(name, "")):
        return getattr(holder, ours)
    if hasattr(type(holder), ours := CALLED.get(name, "")):
        return Answer(getattr(holder, ours))
    advice = OF_OBJECTS.get(name)
    raise AttributeError(f"{lacking}; {advice}" if advice else lacking)


def _lacking(holder: Any, name: str) -> Any:
    """The attribute that others call by a name; else Python's error, with advice."""
    message = f"{type(holder).__name__!r} object has no attribute {name!r}"
    return _attribute_of(holder, name, message)


class Plain(PlainValues):
    """Has plain values for JSON, and says what to use where an attribute is called otherwise."""

    def __getattr__(self, name: str) -> Any:
        return _attribute_of(self, name, f"{type(self).__name__} has no {name!r}")
