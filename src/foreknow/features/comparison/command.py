"""The command `compare`: methods at several limits."""

from __future__ import annotations

from typing import Annotated

from foreknow.cli.command import command
from foreknow.cli.inputs import Rules, refuse_published
from foreknow.cli.options import UNSAFE, ForwardedOptions, More, Raw, Results
from foreknow.cli.process import INTERRUPTED
from foreknow.cli.typed_words import listed
from foreknow_judge.errors import InputError


@command("foreknow.features.comparison.comparison:compare")
def compare(
    table: Raw,
    *,
    rules: Rules,
    amounts: Annotated[list[str] | None, More(metavar="NAME=NUMBERS")] = None,
    models: bool = False,
    target: Annotated[list[str] | None, More(metavar="COLUMN[=VALUE]")] = None,
    output: Results,
    forwarded: ForwardedOptions,
) -> int:
    """Show what methods would keep of a table at several limits, and how safe that would be.

    Every run publishes TABLE as foreknow publish would, measures the release, and deletes it. After
    Ctrl-C, the results of the finished runs are printed and written. The output reveals more of
    TABLE than a release does: do not publish it.

    Parameters
    ----------
    amounts
        What adversaries know, such as k=1,3,5, or a criterion: k_anonymity=2,5,10, for which
        --k-anonymity 2,5,10 is short; may be repeated (default: the policy's).
    seconds
        The longest time of a run, in seconds; 0 for no limit.
    queries
        Random queries that each release is asked.
    models
        Fit models to each release, too, as foreknow utility does.
    target
        What models explain; repeatable; implies --models (default: the sensitive columns).
    """
    from foreknow.features.comparison.comparison import compare as run

    refuse_published(table)
    forwarded["seconds"] = forwarded["seconds"] or None
    with output.progress("Comparing"):
        varied = dict(map(_amount, amounts or ()))
        comparison = run(
            table, rules.rules(table), amounts=varied, models=target or models, **forwarded
        )
    output.show(comparison)
    if not comparison.complete:
        return INTERRUPTED
    return 0 if comparison.safe else UNSAFE


def _amount(text: str) -> tuple[str, list[int]]:
    """The name and the numbers in a text such as "k=1,3,5"."""
    name, _, numbers = text.partition("=")
    try:
        return name.strip(), list(map(int, listed(numbers)))
    except ValueError:
        raise InputError(f"--amounts {text!r} is not NAME=NUMBERS, such as k=1,3,5") from None
