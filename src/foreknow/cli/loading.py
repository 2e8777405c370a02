"""Loading: a method of the user's own, from a Python file that is run for it."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

from foreknow.errors import InputError, did_you_mean


def names_file(method: str | None) -> bool:
    """Whether a method is given as FILE.py:NAME."""
    return method is not None and (".py:" in method or method.endswith(".py"))


def method_from(given: str) -> Any:
    """Run a Python file, and take a function or a method from it.

    Parameters
    ----------
    given : str
        FILE.py:NAME, where the name is that of a function of a table, or of an object with
        ``partition``.

    Raises
    ------
    InputError
        If there is no such file or name, the file fails, or the name is of something else.
    """
    place, _, name = given.rpartition(":")
    if not place.endswith(".py") or not name:
        raise InputError(f"--method {given!r}: write FILE.py:NAME, the name of a function in it")
    module = _run(Path(place))
    if not hasattr(module, name):
        known = [key for key, own in vars(module).items() if _is_method(own) and key[0] != "_"]
        hint = did_you_mean(name, known)
        raise InputError(f"--method: there is no {name!r} in {place!r}{hint}")
    found = getattr(module, name)
    if isinstance(found, type):
        raise InputError(
            f"--method: {name!r} in {place!r} is a class; name an object of it, such as one "
            f"that the file makes by made = {name}(...)"
        )
    if not _is_method(found):
        raise InputError(
            f"--method: {name!r} in {place!r} is {type(found).__name__}, no function of a table, "
            "nor has it partition(microdata, policy, seed)"
        )
    return found


def _is_method(given: Any) -> bool:
    return callable(given) or hasattr(given, "partition")


def _run(path: Path) -> Any:
    """Run a file as a module; it may import what lies beside it."""
    if not path.is_file():
        raise InputError(f"--method: there is no file {str(path)!r}")
    spec = importlib.util.spec_from_file_location(f"_method_{path.stem}", path)
    if spec is None or spec.loader is None:
        raise InputError(f"--method: {str(path)!r} cannot be loaded")
    module = importlib.util.module_from_spec(spec)
    sys.modules[module.__name__] = module
    folder = str(path.resolve().parent)
    if folder not in sys.path:
        sys.path.append(folder)
    try:
        spec.loader.exec_module(module)
    except SyntaxError as error:
        raise InputError(f"--method: {path}, line {error.lineno}: {error.msg}") from None
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # also one that calls sys.exit
        raise InputError(f"--method: {path} fails: {type(error).__name__}: {error}") from error
    return module
