"""Comparison: methods at several limits, as a table, and as a frontier of risk against utility."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction

from foreknow.adversaries.disclosure import Disclosure
from foreknow.comparison.comparison import Candidate, Comparison
from foreknow.figures import percentage
from foreknow.leaves import load
from foreknow.methods.proof import AS_REQUIRED, AT_MOST, NOT_JUDGED
from foreknow.policy.policy import Policy
from foreknow.report.blocks import Block, Cell, Figure, Heading, Mood, Row, Sentence, Table
from foreknow.report.chart import LIMIT, STYLES, Chart, Series, shares
from foreknow.report.page import Page
from foreknow.report.words import limit_text, listing, measure_text, number, percent, some, visible
from foreknow_judge.said import UNLIMITED
from foreknow_judge.verdict import NOTHING_JUDGED

_NOTHING = "–"
_ALL = Fraction(1)
_STARRED = "* No other one is better in both error and how sure somebody can become."
_WORDS = {"no safe release": "none", "out of time": "time up"}


class ComparisonPage(Page[Comparison]):
    """What each method keeps at each limit."""

    serves = Comparison
    eyebrow = "Methods compared on"
    wide = True
    kept = "it measures releases that are not published, and says how far each is off the raw table"

    @property
    def headline(self) -> str:
        """Say how many releases are compared."""
        many, safe = len(self.result.candidates), len(self.result.safe)
        if not safe and any(each.why == NOTHING_JUDGED for each in self.result.candidates):
            return NOTHING_JUDGED.capitalize()
        if not self.result.limits_inference:
            verb = "meets" if safe == 1 else "meet"
            return f"{number(safe)} of {many} releases tried {verb} the policy{UNLIMITED}"
        return f"{some(safe, 'safe release', 'safe releases')} of {many} tried"

    def blocks(self) -> Iterator[Block]:
        """The frontier, every run, and why some made no release."""
        found = self.result
        yield from [Sentence(said, "lead") for said in self._best()]
        if any(each.risk is not None for each in found.safe):
            figure = frontier_figure(found)
            caption = _CAPTION.format("is safe" if found.limits_inference else "holds the policy")
            yield Figure("frontier", "Risk against utility", figure, caption, level=3)
        yield Heading("Method by method", "methods")
        yield self.table()
        yield Sentence(_explanation(found), "note")
        yield from [Sentence(said, "note") for said in _models_explained(found)]
        if reasons := self.reasons():
            yield Heading("Why there is no release", "reasons")
            yield reasons

    def table(self) -> Table:
        """A row for each run, the best marked."""
        found = self.result
        varied = list(dict.fromkeys(name for each in found.candidates for name in each.amounts))
        best = found.frontier
        modelled = any(each.misplaced is not None for each in found.candidates)
        rows: list[Row] = []
        for each in self._rows():
            star = " *" if any(each is own for own in best) else ""
            rows.append(
                (
                    each.method,
                    _NOTHING if each.limit is None else limit_text(each.limit),
                    *(number(each.amounts[name]) for name in varied),
                    self._word(each, star),
                    loss_text(each),
                    share_or_none(each.query_error),
                    *(_models_text(each) if modelled else ()),
                    risk_text(each),
                    _NOTHING if each.groups is None else number(each.groups),
                    _over_text(each),
                    method_text(each, found.policy),
                    _NOTHING if each.seconds is None else f"{each.seconds:,.1f}",
                )
            )
        own = ("cells", "model") if modelled else ()
        head = ("method", "limit", *map(visible, varied), "release", "NCP", "error", *own, "sure")
        head = (*head, "groups", "over", "known", "sec")
        # Without these as wide as a terminal.
        roomy = [head.index(name) for name in ("sec", *(("known", "groups") if modelled else ()))]
        note = _STARRED if best else ""
        return Table(head, rows, (0, 2 + len(varied)), note, style="runs", roomy=roomy)

    def _word(self, each: Candidate, star: str) -> Cell:
        return Cell(f"{_WORDS.get(each.status, each.status)}{star}", _mood(each))

    def _rows(self) -> Iterator[Candidate]:
        """Runs with a release, and those of methods that were asked for; the rest have a reason."""
        for each in self.result.candidates:
            if each.groups is not None or each.method in self.result.asked or not each.why:
                yield each

    def reasons(self) -> Table | None:
        """Each sentence why there is no release, with the runs that it is about."""
        runs: dict[tuple[str, str], list[Candidate]] = {}
        for each in self.result.candidates:
            if each.why:
                runs.setdefault((each.method, each.why), []).append(each)
        rows = [
            (method, listing([_setting(each) for each in own], most=8), visible(why))
            for (method, why), own in runs.items()
        ]
        return Table(("method", "limit", "why"), rows, left=(0, 1, 2)) if rows else None

    @property
    def scope(self) -> str:
        """Say of whom, and how it was run."""
        result = self.result
        people = next(
            (candidate.people for candidate in result.candidates if candidate.people is not None),
            None,
        )
        words = "" if people is None else f"{some(people, 'person', 'people')}; "
        if result.processes:
            words += f"{some(result.processes, 'run', 'runs')} at once"
        else:
            words += "one run after the other"
        if result.seconds is not None:
            words += f", each for at most {result.seconds:g} seconds"
        return f"{words}; seed {result.seed}"

    def _best(self) -> Iterator[str]:
        found = self.result
        done = sum(each.status != "stopped" for each in found.candidates)
        if not found.complete:
            yield f"It was stopped after {done} of {some(len(found.candidates), 'run', 'runs')}."
        ranked = sorted(
            (each for each in found.safe if each.holds_as_given and each.query_error is not None),
            key=lambda each: (each.query_error, each.risk or 0),
        )
        if not ranked:
            yield "No release of these holds the policy as it is."
            yield from self._slow()
            return
        hidden = [each for each in ranked if each.form != "bucketized"]
        recognizable = [each for each in ranked if each not in hidden]
        if hidden:
            also = ", and show no exact columns" if recognizable else ""
            yield (
                f"Of those that hold the policy as it is{also}, {_run(hidden[0])} answers queries "
                f"best: typically off by {share_or_none(hidden[0].query_error)}."
            )
        if recognizable and ranked[0] is recognizable[0]:
            yield (
                f"{_run(recognizable[0])} answers them {'better' if hidden else 'best'} (off by "
                f"{share_or_none(recognizable[0].query_error)}), but everybody is recognizable in "
                f"it: it publishes exact quasi-identifiers{_learned(recognizable[0])}."
            )
        yield from self._slow()

    def _slow(self) -> Iterator[str]:
        found = self.result
        for each in found.candidates:
            if each.needs is not None and each.limit == found.limit and not each.amounts:
                yield (
                    f"{_run(each)} is not among these: {each.why}. It may keep more: foreknow "
                    f"publish --method {each.method} makes it, or give more --seconds."
                )


def _learned(each: Candidate) -> str:
    """What an attacker found out who learned from it."""
    if each.trial is None:
        return ""
    return (
        f", and an attacker who learns from it guesses {percentage(each.trial.right)} of people's "
        f"values right, by the groups alone {percentage(each.trial.baseline)}"
    )


_CAPTION = (
    "Each mark is a release that {} at its limit; the lower and the further to the left, the "
    "better. The line goes through those that no other one beats in both. Point at a mark to read "
    "what it is."
)


_NOT_LOOKED_AT = (
    "Values and columns without a requirement, and other releases, were not looked at: see the "
    "audit of the release that you make."
)


def _explanation(found: Comparison) -> str:
    """Say what the columns are."""
    limits = (
        "The limit is that of the strictest requirement; the others change in proportion, up to "
        "100%. "
        if found.limit is not None and len(found.policy.points) > 1
        else ""
    )
    own = "" if found.limit is None else f" (limit {limit_text(found.limit)})"
    means = "Safe: every requirement holds at that limit."
    if not found.limits_inference:
        means = "Every requirement holds, and none limits inference."
    return (
        f"{means} {_NOT_LOOKED_AT} "
        f"{limits}NCP: 0% is exact, 100% suppressed. Error: the median error of "
        f"{some(found.queries, 'count', 'counts')} by all quasi-identifiers. Sure: how sure an "
        f"adversary of the policy as it is can become at worst, by its strictest requirement{own}. "
        "Over: people over a limit of that policy, of the requirement with the most. Known: "
        "whether the limits of the run hold also against an adversary who knows the method. Holds: "
        "they do, by a proof. Part: by a proof, if the adversary knows nothing else, or all but "
        "what is an estimate. Open: "
        'it is not proved; see "foreknow attack --help". No release was kept.'
    )


def _models_text(each: Candidate) -> tuple[str, str]:
    """People in another cell, and how well the first regression predicts the raw people."""
    score = None if each.fit is None else each.fit.score.usual
    figure_text = load("foreknow.utility.page:figure_text")
    return share_or_none(each.misplaced), figure_text(score)


def _models_explained(found: Comparison) -> Iterator[str]:
    """Say what the columns of models are."""
    if all(each.misplaced is None for each in found.candidates):
        return
    yield (
        "Cells: the share of people who would have to go to another cell of a cross table of what "
        "models explain, on average over tables."
    )
    fit = next((each.fit for each in found.candidates if each.fit is not None), None)
    if fit is None:
        yield f"Model: {load('foreknow.utility.models:NEEDED')}."
        return
    page = load("foreknow.utility.page")
    yield (
        f"Model: {fit.measure} on the raw people of a {fit.kind} model of {page.explained(fit)} "
        f"that is fitted to the release; fitted to the raw table, it is "
        f"{page.figure_text(fit.score.raw)}, "
        f"without a model {page.figure_text(fit.baseline)}."
    )


def _mood(each: Candidate) -> Mood:
    moods: dict[str, Mood] = {"safe": "safe", "holds": "", "unsafe": "unsafe"}
    return moods.get(each.status, "warning")


def _run(each: Candidate) -> str:
    return each.method if each.limit is None else f"{each.method} at {_setting(each)}"


def _setting(each: Candidate) -> str:
    """Limit and amounts of a run, in few characters."""
    amounts = ", ".join(f"{name} = {amount}" for name, amount in each.amounts.items())
    limit = "" if each.limit is None else limit_text(each.limit)
    return " with ".join(part for part in (limit, amounts) if part) or "the policy"


def loss_text(each: Candidate) -> str:
    """The NCP of a release, if there is one."""
    if each.groups is None:
        return _NOTHING
    return "exact" if each.loss is None else share_or_none(each.loss)


def share_or_none(share: float | None) -> str:
    """A share, if there is one."""
    return _NOTHING if share is None else measure_text(share)


def method_text(each: Candidate, policy: Policy | None = None) -> str:
    """Whether it holds against an adversary who knows the method; by the policy as it is."""
    if each.method_known is None:
        return _NOTHING
    most = each.method_known.removeprefix(AT_MOST)
    if most != each.method_known:
        # A bound that is not below the limit proves nothing of it, and never of a criterion.
        required = () if policy is None else policy.requirements
        other = any(
            not r.of_people and (r.criterion is not None or any(p.relative for p in r.points))
            for r in required
        )
        below = not other and each.limit is not None and Fraction(most) < each.limit
        return "part" if below else "open"
    return {AS_REQUIRED: "holds", NOT_JUDGED: "open"}.get(each.method_known, "part")


def _over_text(each: Candidate) -> str:
    if each.groups is None:
        return _NOTHING
    if each.over is None:
        return "not counted"
    return f"at most {number(each.over)}" if each.at_most else number(each.over)


def risk_text(each: Candidate) -> str:
    """How sure somebody could be; as a percentage on the right side of its limit."""
    if each.risk is None:
        return _NOTHING
    exact = None if each.exact is None else Fraction(each.exact)
    found = Disclosure(None, each.risk, lambda: exact)
    return percent(found, each.limit or _ALL, 0, "up")


# ---- the figure -----------------------------------------------------------------------------


def frontier_figure(found: Comparison) -> Chart:
    """Draw every safe release by its query error and its risk, a symbol for each method."""

    def places(candidates: Sequence[Candidate]) -> tuple[list[float], list[float]]:
        return [candidate.query_error or 0.0 for candidate in candidates], [
            candidate.risk or 0.0 for candidate in candidates
        ]

    line = Series(*places(found.frontier), "not beaten in both", LIMIT, dash="8 5", width=1.5)
    drawn = [candidate for candidate in found.safe if candidate.risk is not None]
    clouds = []
    for place, method in enumerate(dict.fromkeys(candidate.method for candidate in found.safe)):
        color, symbol, _ = STYLES[place % len(STYLES)]
        candidates = [candidate for candidate in drawn if candidate.method == method]
        clouds.append(
            Series(
                *places(candidates),
                method,
                color,
                [_hover(candidate, found.policy) for candidate in candidates],
                symbol,
            )
        )
    widest = max((candidate.query_error or 0.0 for candidate in drawn), default=1.0)
    across = shares("median error of count queries", widest)
    up = shares("how sure somebody can become of what is required, at worst")
    return Chart(across, up, [line, *clouds], height=360)


def _hover(each: Candidate, policy: Policy) -> str:
    lines = [
        _run(each),
        f"how sure: {risk_text(each)}; query error: {share_or_none(each.query_error)}",
        f"{some(each.groups or 0, 'group', 'groups')}, NCP {loss_text(each)}",
        f"over the policy's limits: {_over_text(each)}",
        f"against an adversary who knows the method: {method_text(each, policy)}",
    ]
    return "\n".join(lines)
