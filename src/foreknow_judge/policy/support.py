"""The combinations of features that nobody judges: each is refused with a code and a way out.

Whatever reads a policy or a certificate asks here, so that a combination is refused by all of them
or by none. ``docs/reference/support.md`` lists them.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from foreknow_judge.errors import UnsupportedError


def refuse_release(where: str, form: str, semantics: Any, *, shared: bool) -> None:
    """Refuse a release in a form that cannot be judged; `where` begins the message.

    In the bucketized form, everybody has one value, and households share none (`shared`).

    >>> refuse_release("publish", "bucketized", {"ill": "set"}, shared=False)
    Traceback (most recent call last):
    foreknow_judge.errors.UnsupportedError: publish: the bucketized form is for people with ...
    """
    if form != "bucketized":
        return
    by_column = semantics.values() if isinstance(semantics, Mapping) else (semantics,)
    if any(word != "single" for word in by_column):
        raise UnsupportedError("bucketized-sets", where)
    if shared:
        raise UnsupportedError("bucketized-shared", where)


def refuse_knowledge(
    where: str,
    secret: str,
    known_columns: Collection[str],
    unlinked: Collection[str],
    *,
    relative_links: bool = False,
) -> None:
    """Refuse knowledge of a requirement that cannot be judged; `where` begins the message.

    `relative_links`: links are known on top of priors, and the limit is a multiple of priors.
    `unlinked` columns are published apart: two of them say nothing about each other.

    >>> refuse_knowledge("require[0]", "ill", ["pay"], ["ill", "pay"])
    Traceback (most recent call last):
    foreknow_judge.errors.UnsupportedError: require[0]: both columns are in `unlinked`, ...
    """
    if relative_links:
        raise UnsupportedError("relative-links", where)
    if secret in unlinked and not {*known_columns}.isdisjoint(unlinked):
        raise UnsupportedError("shuffled-known", where)
