"""Randomness: numbers for what is published, which nobody can work out from what they see of it.

A generator such as PCG64 gives its state away to whoever sees enough of what it drew, and with the
state all else that it draws. Without a seed everything at random comes from a keyed stream.
"""

from __future__ import annotations

import ctypes
import hashlib
import secrets
from collections.abc import Iterator
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foreknow.numbers import whole_number

KEY = 32  # bytes
_FEW = 1 << 20  # of which two have the same 44 bits once in thirty times, and then all draw again
_AT_ONCE = 1024  # words that are drawn for what asks one after the other


def generator(seed: int | None, what: str) -> np.random.Generator:
    """A generator of a seed, for tests; of a secret key, which is kept nowhere, without one."""
    if seed is None:
        return SecretGenerator()
    return np.random.default_rng(whole_number(seed, f"{what}: seed", 0, ", or None"))


class SecretGenerator(np.random.Generator):
    """NumPy's generator on a cryptographic stream; what is drawn in bulk is drawn in bulk here.

    Parameters
    ----------
    key : bytes, optional
        Of the stream; a new secret one when left out.

    Examples
    --------
    >>> [SecretGenerator(bytes(32)).permutation(5).tolist() for _ in range(2)]
    [[0, 3, 1, 2, 4], [0, 3, 1, 2, 4]]
    >>> sorted(SecretGenerator().permutation(5).tolist())
    [0, 1, 2, 3, 4]
    """

    def __init__(self, key: bytes | None = None) -> None:
        self._stream = _Stream(secrets.token_bytes(KEY) if key is None else key)
        stream: Any = self._stream  # for a bit generator, of which it has what NumPy asks
        super().__init__(stream)

    def __reduce__(self) -> Any:
        raise TypeError("a secret generator is not copied: both would draw the same")

    def permutation(self, x: Any, axis: int = 0) -> Any:
        """Like NumPy's: the numbers below `x`, or its items, in random order."""
        if isinstance(x, (int, np.integer)) and x >= 0:
            return self._order(int(x))
        if isinstance(x, np.ndarray) and x.ndim == 1:
            return x[self._order(len(x))]
        return super().permutation(x, axis)

    def shuffle(self, x: Any, axis: int = 0) -> None:
        """Like NumPy's: put the items of `x` in random order."""
        if isinstance(x, np.ndarray) and x.ndim == 1:
            x[:] = x[self._order(len(x))]
        else:
            super().shuffle(x, axis)

    def random(self, size: Any = None, dtype: Any = np.float64, out: Any = None) -> Any:
        """Like NumPy's: numbers from 0 to below 1."""
        if size is None or out is not None or dtype is not np.float64:
            return super().random(size, dtype, out)
        words = self._stream.words(int(np.prod(size, dtype=np.int64)))
        return ((words >> np.uint64(11)) * 2.0**-53).reshape(size)

    def normal(self, loc: Any = 0.0, scale: Any = 1.0, size: Any = None) -> Any:
        """Like NumPy's: numbers of a normal distribution (Box and Muller)."""
        if size is None:
            return super().normal(loc, scale)
        far = np.sqrt(-2 * np.log1p(-self.random(size)))
        return loc + scale * far * np.cos(2 * np.pi * self.random(size))

    def integers(
        self,
        low: Any,
        high: Any = None,
        size: Any = None,
        dtype: Any = np.int64,
        endpoint: bool = False,
    ) -> Any:
        """Like NumPy's: whole numbers from `low` to below `high`, or from 0 to below `low`.

        Many at once are drawn here, from words of the secret stream; all other calls are NumPy's,
        which asks the stream word by word.
        """
        low, high = (0, low) if high is None else (low, high)
        first, last = np.asarray(low), np.asarray(high)
        scalar = size is None and not first.ndim and not last.ndim
        if scalar or endpoint or dtype is not np.int64 or (first >= last).any():
            return super().integers(low, high, size, dtype, endpoint)
        shape = np.broadcast_shapes(first.shape, last.shape) if size is None else size
        first, last = np.broadcast_to(first, shape), np.broadcast_to(last, shape)
        span = (last.astype(np.int64) - first.astype(np.int64)).astype(np.uint64).reshape(-1)
        words = self._stream.words(span.size).copy()
        # A word modulo the span is a number. For equal chances, 2^64 modulo the span words must be
        # left out: whoever draws one of the lowest ones draws again.
        remainder = (np.uint64(0) - span) % span
        while len(redrawn := np.flatnonzero(words < remainder)):
            words[redrawn] = self._stream.words(len(redrawn))
        return first + (words % span).astype(np.int64).reshape(shape)

    def _order(self, n: int) -> NDArray[np.int64]:
        """The numbers below n in random order: each gets a random word, and words are sorted.

        If two words are equal, their order would not be random, so all are drawn again.
        """
        # Few numbers can stand in the last bits of their words, so that plain words are sorted:
        # this takes a tenth of the time.
        bits = np.uint64(n.bit_length() if n < _FEW else 0)
        while True:
            words = self._stream.words(n)
            if bits:
                words = words >> bits << bits | np.arange(n, dtype=np.uint64)
                words.sort()
                order = (words & ((np.uint64(1) << bits) - np.uint64(1))).astype(np.int64)
            else:
                order = np.argsort(words)
                words = words[order]
            words >>= bits
            if not (words[1:] == words[:-1]).any():
                return order


class _Stream:
    """A bit generator for NumPy: words of SHAKE-256 of a key and a counter."""

    def __init__(self, key: bytes) -> None:
        self._key, self._counter = key, 0
        self.lock = Lock()
        take = self._endless_words().__next__
        word = ctypes.CFUNCTYPE(ctypes.c_uint64, ctypes.c_void_p)
        half = ctypes.CFUNCTYPE(ctypes.c_uint32, ctypes.c_void_p)
        share = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_void_p)
        # As numpy/random/bitgen.h has it: the state, and what draws 64 bits, 32, a double, a word.
        self._functions = (
            word(lambda _: take()),
            half(lambda _: take() >> 32),
            share(lambda _: (take() >> 11) * 2.0**-53),
        )
        pointers = [ctypes.cast(function, ctypes.c_void_p) for function in self._functions]
        self._table = (ctypes.c_void_p * 5)(None, *pointers, pointers[0])
        # NumPy takes a bit generator as a capsule around the address of this table.
        new = ctypes.pythonapi.PyCapsule_New
        new.restype = ctypes.py_object
        new.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
        self._name = b"BitGenerator"
        self.capsule = new(ctypes.addressof(self._table), self._name, None)

    def words(self, n_words: int) -> NDArray[np.uint64]:
        """So many new words of 64 bits."""
        self._counter += 1
        stream = hashlib.shake_256(self._key + self._counter.to_bytes(8, "little"))
        return np.frombuffer(stream.digest(8 * n_words), "<u8").astype(np.uint64, copy=False)

    def _endless_words(self) -> Iterator[int]:
        while True:
            yield from self.words(_AT_ONCE).tolist()
