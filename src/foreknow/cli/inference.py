"""The command `inference`: how well a trained classifier guesses what people have."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from foreknow.cli.inputs import is_published
from foreknow.cli.options import (
    Html,
    Json,
    Members,
    Quiet,
    SomePolicy,
    progress,
    read_by,
    reads,
    refuse_inputs,
    show_result,
)
from foreknow.data.reading import NOTHING, Reading
from foreknow.errors import InputError, SchemaError


@reads
def inference(
    folder: Annotated[Path, typer.Argument(help="What foreknow publish wrote.")],
    table: Annotated[Path, typer.Argument(help="The raw table that it was made of.")],
    control: Annotated[
        Path | None,
        typer.Option("--control", help="People who are not in it, with the same columns."),
    ] = None,
    sensitive: Annotated[
        str | None,
        typer.Option("--sensitive", "-s", help="Of several, the column that is guessed."),
    ] = None,
    threshold: Annotated[
        str,
        typer.Option("--threshold", help="At risk: so far on the way to certainty, from 0 to 1."),
    ] = "0.3",
    seed: Annotated[int, typer.Option("--seed", help="Random seed of the estimate.")] = 0,
    policy: SomePolicy = None,
    members: Members = None,
    html: Html = None,
    json: Json = None,
    quiet: Quiet = False,
    reading: Reading = NOTHING,
) -> None:
    """Train a classifier on a release, and count how many people of its table it guesses right.

    A second opinion beside "foreknow learned", for a report: attribute inference as Anonymeter and
    RAPID measure it, against a classifier that never saw the release. Needs foreknow[learn].
    """
    from foreknow.inference import inference_attack
    from foreknow.policy.policy import Policy

    refuse_inputs(html, json, (folder, table, control, policy, members))
    if not is_published(folder):
        raise InputError(
            f"{str(folder)!r} is not a folder that foreknow publish wrote: it has no certificate"
        )
    for path in (table, control):
        if path is not None and is_published(path):
            raise SchemaError(f"{str(path)!r} is published already; give the raw table")
    if policy is None and reading != NOTHING:
        raise SchemaError("how a file is read goes with a policy here; add --policy FILE")
    rules = None if policy is None else read_by(Policy.load(policy), reading)
    with progress("Training classifiers", quiet):
        found = inference_attack(
            folder,
            table,
            control,
            policy=rules,
            members=members,
            sensitive=sensitive,
            threshold=threshold,
            seed=seed,
        )
    show_result(found, html, json, quiet)
