"""Things at ranks: which of them are nearest to a rank, while they move."""

from __future__ import annotations

from bisect import bisect_left, insort

# Keys in one list; a list is divided when it has twice as many.
_MOST = 512


class Nearest:
    """Things that each lie at a rank, kept in order of rank and number.

    Parameters
    ----------
    ranks : mapping of int to int
        The rank of each thing, by its number.
    n_things : int
        Numbers are below this.

    Examples
    --------
    >>> near = Nearest({0: 5, 1: 3, 2: 7, 3: 40}, 4)
    >>> near.of(5, 3)
    [0, 1, 2]
    >>> near.move(0, 5, 6)
    >>> near.of(5, 1), near.of(6, 1), near.of(39, 2)
    ([0], [0], [3, 2])
    >>> near.leave(3, 40)
    >>> near.of(39, 2)
    [2, 0]
    """

    def __init__(self, ranks: dict[int, int], n_things: int) -> None:
        self._n = n_things
        keys = sorted(rank * n_things + thing for thing, rank in ranks.items())
        self._lists = [keys[i : i + _MOST] for i in range(0, len(keys), _MOST)] or [[]]
        self._lasts = [keys[-1] if keys else -1 for keys in self._lists]

    def of(self, rank: int, many: int) -> list[int]:
        """The things nearest to a rank, equally near ones by number."""
        here = rank * self._n
        # A key less that of the rank is the distance times n and the number: the order wanted.
        found = [key - here for key in self._from(here, many)]
        below = self._below(here, many)
        if len(below) == many and many:
            # Of the farthest of them, those with the least numbers count.
            farthest = below[-1] // self._n
            nearer = [key for key in below if key // self._n > farthest]
            below = nearer + self._from(farthest * self._n, many - len(nearer))
        n = self._n
        found += [(rank - key // n) * n + key % n for key in below]
        found.sort()
        return [key % n for key in found[:many]]

    def leave(self, thing: int, rank: int) -> None:
        """A thing goes."""
        key = rank * self._n + thing
        place = bisect_left(self._lasts, key)
        keys = self._lists[place]
        del keys[bisect_left(keys, key)]
        if keys:
            self._lasts[place] = keys[-1]
        elif len(self._lists) > 1:
            del self._lists[place], self._lasts[place]

    def move(self, thing: int, rank: int, to: int) -> None:
        """A thing goes to another rank."""
        self.leave(thing, rank)
        key = to * self._n + thing
        place = min(bisect_left(self._lasts, key), len(self._lists) - 1)
        keys = self._lists[place]
        insort(keys, key)
        if len(keys) > 2 * _MOST:
            self._lists[place : place + 1] = [keys[:_MOST], keys[_MOST:]]
            self._lasts.insert(place, keys[_MOST - 1])
            place += 1
        self._lasts[place] = self._lists[place][-1]

    def _from(self, key: int, many: int) -> list[int]:
        """The next keys from one on, ascending."""
        place = min(bisect_left(self._lasts, key), len(self._lists) - 1)
        start = bisect_left(self._lists[place], key)
        found = self._lists[place][start : start + many]
        while len(found) < many and place + 1 < len(self._lists):
            place += 1
            found += self._lists[place][: many - len(found)]
        return found

    def _below(self, key: int, many: int) -> list[int]:
        """The last keys below one, descending."""
        place = min(bisect_left(self._lasts, key), len(self._lists) - 1)
        end = bisect_left(self._lists[place], key)
        found = self._lists[place][max(end - many, 0) : end][::-1]
        while len(found) < many and place:
            place -= 1
            keys = self._lists[place]
            found += keys[max(len(keys) - many + len(found), 0) :][::-1]
        return found
