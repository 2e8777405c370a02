"""Words for a lattice: which levels were chosen, how they were found, what the figure shows."""

from __future__ import annotations

from foreknow.methods.fulldomain.result import LatticeResult
from foreknow.policy.policy import Form
from foreknow.report.words import listing, number, some, visible

_OBJECTIVES = {
    "ncp": "how much of its domain each published value covers",
    "entropy": "how many bits are needed to name each value again",
    "height": "how many levels were climbed",
    "discernibility": "with how many others each person is confused",
}
_FINDS = {
    "best": "The search looked for the safe one that loses least",
    "minimal": "The search looked for all safe ones below which none is safe",
    "chain": "The search looked for one safe one below which none is safe",
}


def chosen_sentence(found: LatticeResult, form: Form) -> str:
    """Say which levels were chosen, and what became of suppressed people."""
    words = found.in_words(found.chosen)
    parts = [f"{visible(name)} {word}" for name, word in words.items()]
    levels = listing(parts, most=len(parts))
    suppressed = found.suppressed.get(found.chosen, 0)
    if form == "bucketized":
        start = f"Grouped by {levels}; the columns themselves are published exactly"
        people = some(suppressed, "person who stands out is", "people who stand out are")
        return f"{start}; {people} in one group." if suppressed else f"{start}."
    people = some(suppressed, "person is", "people are")
    start = f"Levels: {levels}"
    if not suppressed:
        return f"{start}."
    return f"{start}; {people} suppressed: in one group, with * in every column."


def lattice_line(found: LatticeResult, form: Form) -> str:
    """The same in a line, with how many generalizations were judged."""
    cut = "" if found.complete else "; the time budget was used up"
    return (
        f"{chosen_sentence(found, form)} ({number(found.n_checked)} of "
        f"{number(found.n_nodes)} generalizations judged{cut})"
    )


def search_sentences(found: LatticeResult, form: Form) -> str:
    """Say how the levels were found."""
    what = "is published at" if form == "generalized" else "is grouped by"
    end = (
        "; of the others, what matters follows."
        if found.complete
        else " before its time was used up: this is the best found by then."
    )
    return (
        f"Everybody's value of a column {what} one level. There are {number(found.n_nodes)} ways "
        f"to choose the levels. {_FINDS[found.find]}, by "
        f"{_OBJECTIVES.get(found.objective, visible(found.objective))}. It judged "
        f"{number(found.n_checked)} of them{end} Loss goes from 0, exact, to 1, everything "
        "suppressed."
    )


def lattice_caption(found: LatticeResult, drawn: bool) -> str:
    """Say what the figure shows.

    Parameters
    ----------
    found : LatticeResult
    drawn : bool
        Whether nodes are drawn one by one.
    """
    safe, unsafe = len(found.nodes("safe")), len(found.nodes("unsafe"))
    rest = found.n_nodes - safe - unsafe
    said = f"{some(safe, 'node is', 'nodes are')} safe, {some(unsafe, 'is', 'are')} not"
    if rest:
        said += f"; {some(rest, 'was', 'were')} not asked about, since that could not matter"
    shown = (
        "Exact values stand at the bottom, * in every column at the top; a line climbs one level "
        "of one column."
        if drawn
        else "Each bar is the nodes of one height: 0 is exact."
    )
    return f"{said}. {shown}"
