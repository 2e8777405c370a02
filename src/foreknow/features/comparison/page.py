"""Comparison: methods at several limits, as a table, and as a frontier of risk against utility."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import chain

from foreknow.adversaries.disclosure import Disclosure
from foreknow.features import load
from foreknow.features.comparison.comparison import Candidate, Comparison
from foreknow.methods.proof import AS_REQUIRED, AT_MOST, NOT_JUDGED
from foreknow.policy.policy import Policy
from foreknow.policy.requirement import Requirement
from foreknow.report.blocks import Block, Cell, Figure, Heading, Mood, Row, Sentence, Table
from foreknow.report.chart import LIMIT, STYLES, Chart, Series, shares
from foreknow.report.page import Page
from foreknow.report.words import limit_text, measure_text, percent, weighting_text
from foreknow.shown_numbers import percentage
from foreknow.wording import listing
from foreknow_judge.files.printable import visible
from foreknow_judge.remarks.sentences import UNLIMITED
from foreknow_judge.text import number, some
from foreknow_judge.verdict import NOTHING_JUDGED

_NOTHING = "–"
_ALL = Fraction(1)
_STARRED = "* No other run is better in both error and how sure an adversary can become."
_WORDS = {"no safe release": "none", "out of time": "time up"}


class ComparisonPage(Page[Comparison]):
    """The page of a comparison: the utility that each method keeps at each limit."""

    serves = Comparison
    eyebrow = "Methods compared on"
    wide = True
    kept = (
        "it measures releases that are not published, and shows how far each is from the raw table"
    )

    @property
    def headline(self) -> str:
        """How many of the releases tried are safe, and how many by the policy as given."""
        n_candidates, n_safe = len(self.result.candidates), len(self.result.safe)
        reasons = {candidate.why for candidate in self.result.candidates}
        if not n_safe and NOTHING_JUDGED in reasons:
            return NOTHING_JUDGED.capitalize()
        if not self.result.limits_inference:
            verb = "meets" if n_safe == 1 else "meet"
            return f"{number(n_safe)} of {n_candidates} releases tried {verb} the policy{UNLIMITED}"
        n_as_given = sum(bool(candidate.holds_as_given) for candidate in self.result.safe)
        by_policy = f", {number(n_as_given)} by the policy as it is" if n_as_given < n_safe else ""
        return f"{some(n_safe, 'safe release', 'safe releases')} of {n_candidates} tried{by_policy}"

    def blocks(self) -> Iterator[Block]:
        """Yield the frontier, the table of all runs, and why some of them made no release.

        The frontier is the releases that no other beats in both error and risk; without a risk
        there is no figure.
        """
        comparison = self.result
        yield from [Sentence(sentence, "lead") for sentence in self._best()]
        risks = []
        for candidate in comparison.safe:
            if candidate.risk is not None:
                risks.append(candidate.risk)
        if risks:
            figure = frontier_figure(comparison)
            verb = "is safe" if comparison.limits_inference else "holds the policy"
            caption = _CAPTION.format(verb)
            yield Figure("frontier", "Risk against utility", figure, caption, level=3)
        yield Heading("Method by method", "methods")
        yield self.table()
        yield Sentence(_explanation(comparison), "note")
        if comparison.weights is not None:
            has_models = any(candidate.misplaced is not None for candidate in comparison.safe)
            figures = ("errors", "models") if has_models else ("errors",)
            weighted = figures if comparison.is_weighted else ()
            yield Sentence(weighting_text(comparison.weights, weighted), "note")
        yield from [Sentence(sentence, "note") for sentence in _models_explained(comparison)]
        if reasons := self.reasons():
            yield Heading("Why there is no release", "reasons")
            yield reasons

    def table(self) -> Table:
        """The table of all runs: settings, outcome, utility and risk; a star at the best.

        A run is a method at a limit, with amounts of knowledge; the best are those that no other
        beats in both error and risk.
        """
        comparison = self.result
        amounts = chain.from_iterable(candidate.amounts for candidate in comparison.candidates)
        varied = list(dict.fromkeys(amounts))
        best = comparison.frontier
        # Columns on models are there only if some run has such figures.
        modelled = any(candidate.misplaced is not None for candidate in comparison.candidates)
        rows: list[Row] = []
        for candidate in self._rows():
            star = " *" if any(candidate is best_candidate for best_candidate in best) else ""
            rows.append(
                (
                    candidate.method,
                    _NOTHING if candidate.limit is None else limit_text(candidate.limit),
                    *[number(candidate.amounts[name]) for name in varied],
                    self._word(candidate, star),
                    loss_text(candidate),
                    share_or_none(candidate.query_error),
                    *(_models_text(candidate) if modelled else ()),
                    risk_text(candidate),
                    _NOTHING if candidate.groups is None else number(candidate.groups),
                    _over_text(candidate),
                    method_text(candidate, comparison.policy),
                    _NOTHING if candidate.seconds is None else f"{candidate.seconds:,.1f}",
                )
            )
        model_columns = ("cells", "model") if modelled else ()
        header = (
            "method",
            "limit",
            *(visible(name).partition("_")[0] for name in varied),
            "release",
            "NCP",
            "error",
            *model_columns,
            "sure",
        )
        header = (*header, "groups", "over", "known", "sec")
        # Without these as wide as a terminal.
        less_needed = ("sec", "known", "groups") if modelled else ("sec",)
        roomy = list(map(header.index, less_needed))
        note = _STARRED if best else ""
        return Table(header, rows, (0, 2 + len(varied)), note, style="runs", roomy=roomy)

    def _word(self, candidate: Candidate, star: str) -> Cell:
        return Cell(f"{_WORDS.get(candidate.status, candidate.status)}{star}", _mood(candidate))

    def _rows(self) -> Iterator[Candidate]:
        """Runs with a release, and those of methods that were asked for; the rest have a reason."""
        for candidate in self.result.candidates:
            if (
                candidate.groups is not None
                or candidate.method in self.result.asked
                or not candidate.why
            ):
                yield candidate

    def reasons(self) -> Table | None:
        """The reasons why there is no release, each with its runs; None if there is none."""
        runs: dict[tuple[str, str], list[Candidate]] = {}
        for candidate in self.result.candidates:
            if candidate.why:
                runs.setdefault((candidate.method, candidate.why), []).append(candidate)
        rows = []
        for (method, why), candidates in runs.items():
            limits = listing(map(_setting, candidates), n_shown=8)
            rows.append((method, limits, visible(why)))
        return Table(("method", "limit", "why"), rows, left=(0, 1, 2)) if rows else None

    @property
    def scope(self) -> str:
        """The number of people, how many runs there were at once, and their time limit."""
        result = self.result
        text = ""
        for candidate in result.candidates:
            if candidate.people is not None:
                text = f"{some(candidate.people, 'person', 'people')}; "
                break
        if result.processes:
            text += f"{some(result.processes, 'run', 'runs')} at a time"
        else:
            text += "one run at a time"
        if result.seconds is not None:
            text += f", each for at most {result.seconds:g} seconds"
        return f"{text}; seed {result.seed}"

    def _best(self) -> Iterator[str]:
        """Yield sentences on the releases that answer best: with labels, with exact columns.

        Only releases that hold the policy as it was given count.
        """
        comparison = self.result
        done = sum(candidate.status != "stopped" for candidate in comparison.candidates)
        if not comparison.complete:
            runs = some(len(comparison.candidates), "run", "runs")
            yield f"It was stopped after {done} of {runs}."
        as_given = [candidate for candidate in comparison.safe if candidate.holds_as_given]
        ranked = [candidate for candidate in as_given if candidate.query_error is not None]
        ranked.sort(key=lambda candidate: (candidate.query_error, candidate.risk or 0))
        if not ranked:
            yield "None of these releases holds the policy as it is."
            yield from self._slow()
            return
        # Exact columns answer better but show everybody, so they are told apart.
        hidden = [candidate for candidate in ranked if candidate.form != "bucketized"]
        recognizable = [candidate for candidate in ranked if candidate not in hidden]
        if hidden:
            also = ", and show no exact columns" if recognizable else ""
            yield (
                f"Among the releases that hold the policy as it is{also}, {_run(hidden[0])} "
                "answers queries best, with a median error of "
                f"{share_or_none(hidden[0].query_error)}."
            )
        if recognizable and ranked[0] is recognizable[0]:
            yield (
                f"{_run(recognizable[0])} answers them {'better' if hidden else 'best'} (off by "
                f"{share_or_none(recognizable[0].query_error)}), but everybody is recognizable in "
                f"it: it publishes exact quasi-identifiers{_learned(recognizable[0])}."
            )
        yield from self._slow()

    def _slow(self) -> Iterator[str]:
        """Yield a sentence on each method that was left out since it would take too long.

        Only at the policy's own limit, so that a method is not named for each limit.
        """
        comparison = self.result
        for candidate in comparison.candidates:
            by_policy = candidate.limit == comparison.limit and not candidate.amounts
            if candidate.needs is not None and by_policy:
                yield (
                    f"{_run(candidate)} is not among these: {candidate.why}. It may keep more: "
                    "foreknow "
                    f"publish --method {candidate.method} makes it, or give more --seconds."
                )


def _learned(candidate: Candidate) -> str:
    """A phrase with the share of values that a learning attacker guesses right, or nothing."""
    if candidate.trial is None:
        return ""
    return (
        f", and an attacker who learns from it guesses {percentage(candidate.trial.right)} of "
        f"people's values right, or {percentage(candidate.trial.baseline)} by the groups alone"
    )


_CAPTION = (
    "Each mark is a release that {} at its limit. Lower, and further to the left, is better. The "
    "line connects releases that no other one beats in both. Point at a mark to read what it is."
)


_NOT_LOOKED_AT = (
    "Values and columns without a requirement, columns that the policy takes nobody to know, and "
    "other releases, are not covered: see the audit of the release that you make."
)


def _explanation(comparison: Comparison) -> str:
    """Sentences that say what the columns of the table of runs mean."""
    limits = (
        "The limit is that of the strictest requirement; the others change in proportion, up to "
        "100%. "
        if comparison.limit is not None and len(comparison.policy.points) > 1
        else ""
    )
    limit_note = "" if comparison.limit is None else f" (limit {limit_text(comparison.limit)})"
    means = "Safe: every requirement holds at that limit."
    if not comparison.limits_inference:
        means = "Every requirement holds, and none limits inference."
    return (
        f"{means} {_NOT_LOOKED_AT} "
        f"{limits}NCP: 0% is exact, 100% suppressed. Error: the median error of "
        f"{some(comparison.queries, 'count', 'counts')} by all quasi-identifiers. Sure: how sure "
        "an "
        "adversary of the policy as it is can become at worst, by its strictest "
        f"requirement{limit_note}. "
        "Over: people over a limit of that policy, of the requirement with the most. Known: "
        "whether the limits of the run hold also against an adversary who knows the method. Holds: "
        "they do, by a proof. Part: by a proof, if the adversary knows nothing else, or all but "
        "what is an estimate. Open: "
        'it is not proved; see "foreknow attack --help". No release was kept.'
    )


def _models_text(candidate: Candidate) -> tuple[str, str]:
    """The cells of a candidate on models: misplaced people, and the fit of the first regression."""
    score = None if candidate.fit is None else candidate.fit.score.usual
    figure_text = load("foreknow.features.utility.page:figure_text")
    return share_or_none(candidate.misplaced), figure_text(score)


def _models_explained(comparison: Comparison) -> Iterator[str]:
    """Yield sentences that say what the columns about models mean; none without models."""
    if all(candidate.misplaced is None for candidate in comparison.candidates):
        return
    yield (
        "Cells: the share of people who would have to go to another cell of a cross table of what "
        "models explain, on average over tables."
    )
    fits = []
    for candidate in comparison.candidates:
        if candidate.fit is not None:
            fits.append(candidate.fit)
    if not fits:
        yield f"Model: {load('foreknow.features.utility.models:NEEDED')}."
        return
    fit = fits[0]
    page = load("foreknow.features.utility.page")
    yield (
        f"Model: {fit.measure} on the raw people of a {fit.kind} model of {page.explained(fit)} "
        f"that is fitted to the release; fitted to the raw table, it is "
        f"{page.figure_text(fit.score.raw)}, "
        f"without a model {page.figure_text(fit.baseline)}."
    )


def _mood(candidate: Candidate) -> Mood:
    moods: dict[str, Mood] = {"safe": "safe", "holds": "", "unsafe": "unsafe"}
    return moods.get(candidate.status, "warning")


def _run(candidate: Candidate) -> str:
    return (
        candidate.method
        if candidate.limit is None
        else f"{candidate.method} at {_setting(candidate)}"
    )


def _setting(candidate: Candidate) -> str:
    """Limit and amounts of a run, in few characters."""
    amounts = ", ".join(f"{name} = {amount}" for name, amount in candidate.amounts.items())
    limit = "" if candidate.limit is None else limit_text(candidate.limit)
    return " with ".join(phrase for phrase in (limit, amounts) if phrase) or "the policy"


def loss_text(candidate: Candidate) -> str:
    """The NCP of a release, if there is one."""
    if candidate.groups is None:
        return _NOTHING
    return "exact" if candidate.loss is None else share_or_none(candidate.loss)


def share_or_none(share: float | None) -> str:
    """A share, if there is one."""
    return _NOTHING if share is None else measure_text(share)


def method_text(candidate: Candidate, policy: Policy | None = None) -> str:
    """Whether a release holds against somebody who knows the method: holds, part or open.

    A dash if it was not judged. What is known is "as required", "not judged", or a bound on how
    sure such an adversary can be.
    """
    if candidate.method_known is None:
        return _NOTHING
    # A bound is a text that begins with AT_MOST; anything else stays as it is.
    bound = candidate.method_known.removeprefix(AT_MOST)
    if bound == candidate.method_known:
        return {AS_REQUIRED: "holds", NOT_JUDGED: "open"}.get(candidate.method_known, "part")
    if candidate.limit is None or Fraction(bound) >= candidate.limit:
        return "open"
    # A bound that is not below the limit proves nothing of it, and never of a criterion.
    required = () if policy is None else policy.requirements
    return "open" if any(map(_is_beyond_bounds, required)) else "part"


def _is_beyond_bounds(requirement: Requirement) -> bool:
    """True if chances of single people prove nothing about a requirement."""
    if requirement.of_people:
        return False
    return requirement.criterion is not None or any(point.relative for point in requirement.points)


def _over_text(candidate: Candidate) -> str:
    if candidate.groups is None:
        return _NOTHING
    if candidate.over is None:
        return "not counted"
    return f"at most {number(candidate.over)}" if candidate.at_most else number(candidate.over)


def risk_text(candidate: Candidate) -> str:
    """How sure somebody could be; as a percentage on the right side of its limit."""
    if candidate.risk is None:
        return _NOTHING
    exact = None if candidate.exact is None else Fraction(candidate.exact)
    disclosure = Disclosure(None, candidate.risk, lambda: exact)
    return percent(disclosure, candidate.limit or _ALL, 0, "up")


# ---- the figure -----------------------------------------------------------------------------


def frontier_figure(comparison: Comparison) -> Chart:
    """A chart of every safe release by its query error and its risk, a symbol for each method.

    A line joins the releases that no other one beats in both.
    """

    def places(candidates: Sequence[Candidate]) -> tuple[list[float], list[float]]:
        """The errors (across) and the risks (up) of some releases."""
        errors = [candidate.query_error or 0.0 for candidate in candidates]
        risks = [candidate.risk or 0.0 for candidate in candidates]
        return errors, risks

    # Points of the line come safest first; the points of a method make a cloud of their own.
    line = Series(*places(comparison.frontier), "not beaten in both", LIMIT, dash="8 5", width=1.5)
    candidates_drawn = []
    for candidate in comparison.safe:
        if candidate.risk is not None:
            candidates_drawn.append(candidate)
    clouds = []
    for position, method in enumerate(
        dict.fromkeys(candidate.method for candidate in comparison.safe)
    ):
        color, symbol, _ = STYLES[position % len(STYLES)]
        candidates = [candidate for candidate in candidates_drawn if candidate.method == method]
        clouds.append(
            Series(
                *places(candidates),
                method,
                color,
                [_hover(candidate, comparison.policy) for candidate in candidates],
                symbol,
            )
        )
    widest = max((candidate.query_error or 0.0 for candidate in candidates_drawn), default=1.0)
    across = shares("median error of count queries", widest)
    up = shares("how sure an adversary can become, at worst")
    return Chart(across, up, [line, *clouds], height=360)


def _hover(candidate: Candidate, policy: Policy) -> str:
    """The text of a mark in the figure: the run, and what was measured of it."""
    lines = [
        _run(candidate),
        f"how sure: {risk_text(candidate)}; query error: {share_or_none(candidate.query_error)}",
        f"{some(candidate.groups or 0, 'group', 'groups')}, NCP {loss_text(candidate)}",
        f"over the policy's limits: {_over_text(candidate)}",
        f"against an adversary who knows the method: {method_text(candidate, policy)}",
    ]
    return "\n".join(lines)
