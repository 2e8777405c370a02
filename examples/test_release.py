"""A test for your own project: what is about to be published keeps its policy."""

from pathlib import Path

import foreknow as fk

FOLDER = Path(__file__).parent / "dbt"  # where your release and its policy are


def test_the_release_may_be_published() -> None:
    """Fail with the verdicts, each with its worst case."""
    audit = fk.audit(FOLDER / "seeds" / "release.csv", FOLDER / "policy.toml")
    assert audit.safe, f"the release must not be published\n{audit.summary()}"
