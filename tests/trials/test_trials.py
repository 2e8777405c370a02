"""Trials: what is planted is found, and what is said is what was counted."""

import json
import warnings
from collections import Counter, defaultdict
from fractions import Fraction
from functools import cache
from importlib import import_module

import numpy as np
import pyarrow as pa
import pyarrow.csv as pc
import pytest
from tests.cli.desk import Desk
from tests.people import short_report

import foreknow as fk
from foreknow.auditing.trial import Share
from foreknow.data.sights import Sight
from foreknow.policy.tries import Try
from foreknow.releases.written import open_published
from foreknow.trials import learned as attack
from foreknow.trials.learned import learned_trial, learnings
from foreknow_judge.errors import PolicyError

pytestmark = pytest.mark.complete

NOTE = "an attacker who learns from the release by code was tried, and stopped nothing"
SCHEMA = fk.Schema(quasi_identifiers=["code", "age"], sensitive="ill")
ILLS = [f"ill {i}" for i in range(6)]


@pytest.fixture
def desk(tmp_path_factory, monkeypatch, capsys):
    return Desk(tmp_path_factory.mktemp("desk"), monkeypatch, capsys)


@pytest.fixture
def run(desk):
    """Exit code, and all that a call prints, as one line."""

    def call(*arguments):
        code, out, err = desk.run(*arguments)
        return code, " ".join((out + err).split())

    return call


def planted(codes=12, people=900, share=1.0, seed=1):
    """A code of digits, as text, that says the illness; an age that says nothing."""
    random = np.random.default_rng(seed)
    code = random.integers(0, codes, people)
    ill = np.where(random.random(people) < share, code % 6, random.integers(0, 6, people))
    return pa.table(
        {
            "code": [f"{10 + c:03d}" for c in code],
            "age": random.integers(20, 80, people),
            "ill": [ILLS[i] for i in ill],
        }
    )


def policy(*, by=("code",), stop=None, form="bucketized", below="0.72", tries=True):
    tried = [Try(fk.Learned(list(by)), stop)] if tries else []
    options = fk.PublishOptions(form=form)
    return fk.Policy([fk.Requirement(fk.Facts(), below=below)], SCHEMA, options, tried)


def publish(table, rules, seed=1):
    return fk.publish(fk.Microdata(table, SCHEMA), rules, method=fk.Anatomy(3), seed=seed)


@cache
def published(form="bucketized", tries=True):
    """What is made of planted codes, once."""
    return publish(planted(), policy(form=form, tries=tries))


def grouped(table, size=3):
    """Groups of rows one after another; permuting groups and rows changes nothing else."""
    group = pa.array([row // size for row in range(len(table))])
    return table.append_column("group", group)


def sight(table, group):
    """A release and its people, in the order of the table."""
    release = fk.Release.from_groups(
        table.append_column("group", pa.array(group)), group="group", sensitive="ill"
    )
    place = {release.counts.group_label(g): g for g in range(release.counts.n_groups)}
    microdata = fk.Microdata(table, SCHEMA)
    groups = np.array([place[g] for g in group])
    return Sight(release.counts, microdata, groups, "ill", "the release", release)


@pytest.fixture
def quick(monkeypatch):
    short_report(monkeypatch)


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """A release of planted codes, its table, and the owner's folder beside it."""
    place = tmp_path_factory.mktemp("trials")
    table = planted()
    pc.write_csv(table, place / "table.csv")
    published().write(place / "out")
    return place


# ---- what is planted is found ----------------------------------------------------------------


@pytest.mark.parametrize("form", ["bucketized", "generalized"])
def test_a_code_that_groups_hide_gives_everybody_away(form):
    """Random worlds are at most 72% sure; whoever learns what a code says is sure of nearly all."""
    made = published(form)
    assert max(v.disclosure.exact for v in made.audit.verdicts) < Fraction(72, 100)
    trial = made.audit.trials[-1]
    assert (trial.by, trial.measured, trial.people) == (("code",), True, 900)
    assert trial.baseline < 0.72
    assert trial.right > 0.95
    assert trial.shares["right"].low > trial.shares["baseline"].high + 0.2
    assert trial.sure > 800
    assert trial.sure_and_right >= 0.95 * trial.sure


def test_bins_hide_what_exact_values_say_and_the_other_way_round():
    """Odd and even codes of which there are many: bins of about equally many people see nothing."""
    random = np.random.default_rng(3)
    code = random.integers(0, 40, 1200)
    parity = pa.table(
        {
            "code": code,
            "age": code,
            "ill": [ILLS[int(c) % 2 + 2 * (i % 2)] for i, c in enumerate(code)],
        }
    )
    slope = random.integers(0, 10**6, 1200)  # nobody is like anybody, but high is not low
    steep = pa.table({"code": slope, "age": slope, "ill": [ILLS[int(s > 500_000)] for s in slope]})
    for table, wins in ((parity, "exact values"), (steep, "bins of numbers")):
        trial = learned_trial(sight(table, [row // 3 for row in range(1200)]), ["code"])
        best = defaultdict(float)
        for one in trial.tried:
            best[one.attacker.split(",")[1].strip() if "," in one.attacker else "trees"] = max(
                best[one.attacker.split(",")[1].strip() if "," in one.attacker else "trees"],
                one.right,
            )
        (loses,) = {"exact values", "bins of numbers"} - {wins}
        assert best[wins] > best[loses] + 0.05, (wins, best)
        assert trial.right >= best[wins] > trial.baseline + 0.05


def test_what_says_nothing_is_not_guessed_better_than_by_the_groups():
    trial = learned_trial(sight(planted(share=0), [row // 3 for row in range(900)]), ["code"])
    assert trial.measured
    assert trial.right < trial.baseline + 0.1
    assert trial.sure <= 45  # a twentieth


# ---- the figure is the same, and counted -----------------------------------------------------


def test_the_same_release_has_the_same_figure_wherever_it_is_asked(written, run):
    """In Python and on the terminal, by the audit that publishes, and by the try of a policy."""
    table = planted()
    made = published()
    (tried,) = [t for t in made.audit.trials if t.by == ("code",) and t.limit == 0.9][-1:]
    reported = fk.learned_report(made, ["code"], people=fk.Microdata(table, SCHEMA))
    opened = fk.learned_report(written / "out", ["code"], people=written / "table.csv")
    keys = {"right", "baseline", "surest", "sure", "sure_and_right", "attacker", "measured"}

    def figures(found):
        return {key: value for key, value in found.to_dict().items() if key in keys}

    assert figures(tried) == figures(reported) == figures(opened)
    assert "seed" not in json.dumps(reported.to_dict())
    (first,) = published(tries=False).audit.trials
    beside = fk.learned_report(made, people=fk.Microdata(table, SCHEMA))
    assert figures(beside) == figures(first)
    code, said = run("learned", written / "out", written / "table.csv", "--by", "code")
    assert code == 0
    assert f"guesses at least {reported.right:.0%}" in said


def test_order_and_names_of_groups_and_rows_change_nothing():
    """What a seed draws: the order of rows, and which number a group has."""
    table, random = planted(share=0.8, people=300), np.random.default_rng(9)
    group, found = np.arange(300) // 3, []
    for _ in range(3):
        trial = learned_trial(sight(table, group.tolist()), ["code"])
        found.append(
            {k: v for k, v in trial.to_dict().items() if k not in ("claim", "tried", "attacker")}
        )
        order, names = random.permutation(300), random.permutation(1000)[:100]
        table = table.take(order)
        group = names[np.unique(group[order], return_inverse=True)[1]]
    for other in found[1:]:
        for key, value in found[0].items():
            if key == "surest":
                assert other[key] == pytest.approx(value, abs=0.02)
            elif key in ("right", "sure", "sure_and_right"):  # ties of guesses, and folds of trees
                assert other[key] == pytest.approx(value, rel=0.02)
            elif key != "shares":
                assert other[key] == value


def test_all_that_is_counted_is_what_brute_force_counts():
    """Person by person, from the posteriors."""
    table = planted(codes=5, people=150, share=0.6, seed=4)
    group = [row // 5 for row in range(150)]
    seen = sight(table, group)
    trial = learned_trial(seen, ["code"], limit=0.6)
    (best,) = [one for one in learnings(seen, ["code"]) if one.attacker == trial.attacker]
    layout, counts, labels = best.layout, seen.counts, best.kinds.labels
    posterior = defaultdict(dict)
    for cell, p in enumerate(best.posteriors.tolist()):
        kind = labels[int(layout.signature[cell])][0]
        value = counts.values[int(layout.value[cell])]
        posterior[int(layout.case[cell]), kind][value] = p
    case_of = {counts.group_label(g): int(layout.case_of[g]) for g in range(counts.n_groups)}
    rows = list(zip(group, table["code"].to_pylist(), table["ill"].to_pylist(), strict=True))
    bags = defaultdict(Counter)
    for g, _, ill in rows:
        bags[g][ill] += 1
    right = sure = both = 0
    for g, code, ill in rows:
        own = posterior[case_of[g], code]
        guess = max(own, key=own.get)
        right += guess == ill
        sure += own[guess] > 0.6
        both += own[guess] > 0.6 and guess == ill
    assert trial.right == pytest.approx(right / 150)
    assert trial.baseline == sum(max(bag.values()) for bag in bags.values()) / 150
    assert (trial.sure, trial.sure_and_right) == (sure, both)
    assert trial.surest == pytest.approx(max(max(own.values()) for own in posterior.values()))
    assert trial.right == max(one.right for one in trial.tried)


def test_an_interval_holds_its_share_and_shrinks_with_people():
    random, widths = np.random.default_rng(5), []
    for groups in (10, 100, 1000):
        sizes = random.integers(2, 6, groups)
        found = Share.of(random.binomial(sizes, 0.7), sizes)
        assert 0 <= found.low <= float(found) <= found.high <= 1
        assert found.people == sizes.sum()
        widths.append(found.high - found.low)
    assert widths == sorted(widths, reverse=True)
    for right in (0, 3):
        found = Share.of(np.full(20, right), np.full(20, 3))
        assert found.low <= found.share <= found.high
        assert 0 < found.high - found.low < 0.3
    inside = 0
    for _ in range(400):
        found = Share.of(random.binomial(4, 0.6, 60), np.full(60, 4))
        inside += found.low <= 0.6 <= found.high
    assert inside >= 370


# ---- without the truth -----------------------------------------------------------------------


def test_without_the_truth_it_is_a_claim(written, run):
    found = fk.learned_report(written / "out", ["code"])
    assert (found.measured, found.sure_and_right, found.shares) == (False, None, {})
    assert "claimed" in repr(found)
    code, said = run("learned", written / "out", "--by", "code")
    assert code == 0
    assert "would claim to be up to" in said
    assert "That is the attacker's claim" in said
    assert "of them rightly" not in said
    best = max(
        learnings(open_published(written / "out").release, ["code"]),
        key=lambda one: one.predicts,
    )
    assert found.attacker == best.attacker


def test_a_table_with_other_values_tells_no_truth():
    table = planted(people=60)
    group = [row // 3 for row in range(60)]
    seen = sight(table, group)
    assert seen.held(["code"]) is not None
    ill = table["ill"].to_pylist()
    for other in (["?"] * 60, ill[1:] + ill[:1]):
        changed = table.set_column(2, "ill", pa.array(other))
        microdata = fk.Microdata(changed, SCHEMA)
        lied = Sight(seen.counts, microdata, seen._groups, "ill", "the release")
        assert lied.held(["code"]) is None
        assert not learned_trial(lied, ["code"]).measured
    # The values of a group, dealt out otherwise, are as good as any that agree with the release.
    dealt = [ill[3 * (row // 3) + (row + 1) % 3] for row in range(60)]
    microdata = fk.Microdata(table.set_column(2, "ill", pa.array(dealt)), SCHEMA)
    assert Sight(seen.counts, microdata, seen._groups, "ill", "x").held(["code"]) is not None


# ---- tries of a policy -----------------------------------------------------------------------


RULES = """[schema]
quasi_identifiers = ["code", "age"]
sensitive = "ill"

[[require]]
facts = {}
below = 0.72

[[try]]
learned = { by = ["code"] }
stop = STOP
"""


@pytest.mark.usefixtures("quick")
def test_a_try_stops_a_publication_and_lets_it_pass(tmp_path, run):
    pc.write_csv(planted(), tmp_path / "table.csv")
    call = [
        "publish",
        tmp_path / "table.csv",
        "-p",
        tmp_path / "policy.toml",
        "-o",
        tmp_path / "out",
    ]
    more = ["--method", "anatomy", "--form", "bucketized", "--seed", "1"]
    (tmp_path / "policy.toml").write_text(RULES.replace("STOP", "0.85"))
    code, said = run(*call, *more)
    assert code == 1
    assert "stopped by a trial: an attacker who learns from the release by code becomes" in said
    assert "the policy stops at 0.85" in said
    assert sorted(path.name for path in tmp_path.iterdir()) == ["policy.toml", "table.csv"]
    pc.write_csv(planted(share=0), tmp_path / "table.csv")
    (tmp_path / "policy.toml").write_text(RULES.replace("STOP", "0.999"))
    code, said = run(*call, *more)
    assert code == 0, said
    assert NOTE in fk.verify(tmp_path / "out").claimed


@pytest.mark.usefixtures("quick")
def test_a_try_stops_python_and_every_sensitive_column_is_tried():
    with pytest.raises(fk.NoSafeRelease, match="stopped by a trial"):
        publish(planted(people=300), policy(stop="0.85"))
    pay = pa.array([f"pay {i % 7}" for i in range(300)])
    table = planted(people=300).append_column("pay", pay)
    for sensitive in (["ill", "pay"], ["pay", "ill"]):
        schema = fk.Schema(quasi_identifiers=["code", "age"], sensitive=sensitive)
        asked = [fk.Requirement(fk.Facts(), "0.9", sensitive=s, knowing=[]) for s in sensitive]
        rules = fk.Policy(asked, schema, tries=[Try(fk.Learned(["code"]), "0.95")])
        with pytest.raises(fk.NoSafeRelease, match="stopped by a trial"):
            fk.publish(table, rules, seed=1)


def test_what_is_learned_is_no_requirement(tmp_path):
    for given in (fk.Learned(["code"]), [(fk.Learned(["code"]), "0.9")]):
        limit = {} if isinstance(given, list) else {"below": "0.9"}
        with pytest.raises(PolicyError, match=r"Learned needs .* no limit is proved.*\[\[try\]\]"):
            fk.Requirement(given, **limit)
    path = tmp_path / "policy.toml"
    path.write_text(
        '[schema]\nquasi_identifiers = ["code"]\nsensitive = "ill"\n'
        '[[require]]\nlearned = { by = ["code"] }\nbelow = 0.9\n'
    )
    with pytest.raises(PolicyError, match=r"\[\[try\]\]"):
        fk.Policy.load(path)
    with pytest.raises(PolicyError, match="is a requirement"):
        Try(fk.Facts())
    with pytest.raises(PolicyError, match="'zip'"):
        policy(by=["zip"])


def rows_with_wards():
    """60 groups of ten, in which the rows of one ward often have one illness."""
    random = np.random.default_rng(0)
    ward, ill = random.choice(list("ABCDEF"), 600), random.integers(0, 40, 600)
    return pa.table({"age": np.repeat(np.arange(60), 10), "ward": ward, "ill": map(str, ill)})


def rows_of_ward(table):
    """How often each illness occurs in the rows of one age and ward."""
    rows = defaultdict(Counter)
    for row in table.to_pylist():
        rows[row["age"], row["ward"]][row["ill"]] += 1
    return rows.values()


@pytest.mark.parametrize("by", [["ward"], ["ward", "age"]])
def test_wards_beside_values_are_read(by, tmp_path):
    """Who knows a ward reads the rows that show it, though the verdict takes nobody to know it."""
    table = rows_with_wards()
    schema = fk.Schema(quasi_identifiers=["age"], sensitive="ill", other=["ward"])
    required = fk.Requirement(fk.Facts(), below=0.5, knowing=[])
    tries = [Try(fk.Learned(by), None)]
    made = fk.publish(table, fk.Policy([required], schema, tries=tries), seed=1)
    made.write(tmp_path / "out")
    read = [*rows_of_ward(made.to_pandas().pipe(pa.Table.from_pandas))]
    right = sum(max(of.values()) for of in read)
    certain = sum(of.total() for of in read if len(of) == 1)
    written = fk.learned_report(tmp_path / "out", by=by, people=table)
    (beside,) = made.audit.trials
    for trial in (written, beside):
        assert round(trial.right * 600) >= right
        assert (trial.sure, trial.sure_and_right) == (certain, certain)
        assert trial.baseline < 0.2  # of groups that no ward divides
    unmeasured = fk.learned_report(made.release, by=by)
    assert (unmeasured.sure, unmeasured.surest) == (certain, 1)
    assert fk.Learned(by).disclosure(made.release).probability == 1
    stopping = fk.Policy([required], schema, tries=[Try(fk.Learned(by), 0.9)])
    with pytest.raises(fk.NoSafeRelease, match=f"by {', '.join(by)} becomes 100.0% sure"):
        fk.publish(table, stopping, seed=1)


def test_shuffled_wards_tell_nothing():
    table = rows_with_wards()
    schema = fk.Schema(quasi_identifiers=["age"], sensitive="ill", other=["ward"])
    options = fk.PublishOptions(unlinked=["ward"])
    policy = fk.Policy([fk.Requirement(fk.Facts(), below=0.5)], schema, options)
    made = fk.publish(table, policy, seed=1)
    trial = fk.learned_report(made, by=["ward"], people=table)
    assert (trial.sure, trial.right < 0.2) == (0, True)


def test_a_try_that_could_not_be_carried_out_is_refused():
    several = fk.Schema(quasi_identifiers=["code"], sensitive="ill", semantics="set", person="name")
    with pytest.raises(PolicyError, match="try: learning takes one value per person"):
        fk.Policy([fk.Requirement(fk.Facts(), "0.9")], several, tries=[Try(fk.Learned(["code"]))])


def test_a_policy_with_tries_is_read_as_it_is_written(tmp_path):
    rules = policy(stop="17/20")
    assert fk.Policy.from_dict(rules.to_dict()).tries == rules.tries
    (tmp_path / "policy.toml").write_text(RULES.replace("STOP", '"17/20"'))
    assert fk.Policy.load(tmp_path / "policy.toml").tries == rules.tries


# ---- who reads what --------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["generalized", "bucketized"])
def test_figures_are_for_the_owner_and_readers_get_a_note(form, tmp_path, run):
    """How many guesses are right is counted in the table: it would confirm what readers guess."""
    table = planted()
    pc.write_csv(table, tmp_path / "table.csv")
    (tmp_path / "policy.toml").write_text(RULES.replace("stop = STOP\n", ""))
    code, said = run(
        "publish", tmp_path / "table.csv", "-p", tmp_path / "policy.toml", "-o", tmp_path / "out",
        "--method", "anatomy", "--form", form, "--seed", "1",
    )  # fmt: skip
    assert code == 0, said
    assert "of them rightly" in said
    assert "guesses at least" in said
    report = (tmp_path / "out/report.html").read_text()
    certificate = (tmp_path / "out/certificate.json").read_text()
    for text in (report, certificate):
        for figure in (
            "of them rightly",
            "guesses at least",
            "right by the groups alone",
            "sure_and",
        ):
            assert figure not in text
    assert NOTE in json.loads(certificate)["notes"]
    assert "trial" not in json.loads(certificate)
    code, said = run("verify", tmp_path / "out")
    assert code == 0
    assert f"The publisher notes, which is not verified: {NOTE}" in said


def test_the_command_measures_with_the_owners_folder_only(written, tmp_path, run):
    import shutil

    alone = tmp_path / "out"
    shutil.copytree(written / "out", alone)
    code, said = run("learned", alone, written / "table.csv", "--by", "code")
    assert code == 2
    assert "members.parquet" in said
    owner = f"{written}/out.owner"
    code, said = run("learned", alone, written / "table.csv", "--by", "code", "--members", owner)
    assert code == 0, said
    assert "of them rightly" in said
    code, said = run(
        "learned", written / "out", written / "table.csv", "--json", tmp_path / "found.json"
    )
    assert code == 0, said
    read = json.loads((tmp_path / "found.json").read_text())
    assert (read["format"], read["measured"], read["at_least"]) == ("foreknow trial", True, True)
    assert read["this_file_is"] == "for the owner only"
    pc.write_csv(planted(seed=2), tmp_path / "other.csv")
    code, said = run("learned", written / "out", tmp_path / "other.csv", "--by", "code")
    assert code == 2
    assert "is not the table" in said


# ---- odd tables ------------------------------------------------------------------------------


def test_several_values_per_person_are_refused(tmp_path, run):
    rows = pa.table(
        {
            "name": [f"p{i // 2}" for i in range(120)],
            "code": [f"{i // 2 % 4}" for i in range(120)],
            "ill": [ILLS[i % 6] for i in range(120)],
        }
    )
    schema = fk.Schema(
        quasi_identifiers=["code"], sensitive="ill", semantics="multiset", person="name"
    )
    made = fk.publish(rows, fk.Policy([fk.Requirement(fk.Facts(), "0.99")], schema), seed=1)
    assert made.audit.trials == ()
    with pytest.raises(fk.InputError, match="one sensitive value per person"):
        fk.learned_report(made.release, ["code"])
    made.write(tmp_path / "out")
    code, said = run("learned", tmp_path / "out", "--by", "code")
    assert code == 2
    assert "one sensitive value per person" in said


def test_without_scikit_learn_it_works_and_trees_are_not_tried(monkeypatch):
    with_it, seen = (sight(planted(people=300), [row // 3 for row in range(300)]) for _ in "ab")

    def missing(name):
        if name.startswith("sklearn"):
            raise ImportError(name)
        return import_module(name)

    assert "trees" in {one.attacker for one in learned_trial(with_it, ["code"]).tried}
    monkeypatch.setattr(attack, "import_module", missing)
    trial = learned_trial(seen, ["code"])
    assert trial.right > 0.9
    assert "trees" not in {one.attacker for one in trial.tried}


def test_libraries_warn_of_nothing():
    """scikit-learn takes values that are nearly as many as people for numbers, and says so."""
    table = planted(people=300)
    table = table.set_column(table.column_names.index("ill"), "ill", pa.array(map(str, range(300))))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        trial = learned_trial(sight(table, [row // 2 for row in range(300)]), ["code"])
    assert "trees" in {one.attacker for one in trial.tried}


@pytest.mark.thinned(2)
@pytest.mark.parametrize(
    "case", ["one group", "pairs", "constant", "missing", "one value", "alone"]
)
def test_odd_tables_are_tried_all_the_same(case):
    n = {"one group": 3, "pairs": 4}.get(case, 60)
    code = ["1" if case == "constant" else f"{i % 5}" for i in range(n)]
    if case == "missing":
        code = [None if i % 5 == 0 else c for i, c in enumerate(code)]
    ill = ["flu" if case == "one value" else ILLS[i % 5 % 4] for i in range(n)]
    table = pa.table({"code": code, "age": list(range(n)), "ill": ill})
    size = {"alone": 1, "one group": 3}.get(case, 2)
    for by in (["code"], ["code", "age"]):
        trial = learned_trial(sight(table, [row // size for row in range(n)]), by)
        assert 0 <= trial.right <= 1
        assert 0 <= trial.surest <= 1
        assert trial.sure_and_right <= trial.sure <= trial.people == n
        assert trial.claim is not None
        assert all(0 <= one.right <= 1 for one in trial.tried)
        if case in ("one value", "alone"):
            assert (trial.right, trial.baseline, trial.surest) == (1, 1, 1)
        if case == "constant" and by == ["code"]:
            assert trial.right == pytest.approx(trial.baseline, abs=0.5)
        assert trial._repr_html_()


def test_no_groups_to_learn_from_is_said():
    seen = sight(planted(people=30), [row // 3 for row in range(30)])
    with pytest.raises(fk.InputError, match="50 groups; name columns by by= to try with fewer"):
        fk.learned_report(seen._release)
    assert fk.audit(seen._release, policy(tries=False)).trials == ()
