"""Published again: nobody twice, all releases are judged and tried as one, and newcomers."""

import csv
import hashlib
import json
import random
import re
import shutil
from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import count
from random import Random

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.cli.conftest import desk as desk
from tests.common import refused

import foreknow as fk
from foreknow.policy.trials import Try
from foreknow_judge.errors import UnsupportedError
from foreknow_judge.files.file_names import CERTIFICATE

ILLS = ["Flu", "Cold", "Asthma", "HIV"]


def register(first, last, ills=ILLS, named="p{}".format, **more):
    """A register of the people from `first` to `last`, who stay as they are in every year."""
    draw = Random(1)
    rows = [
        (named(i), draw.randint(20, 79), draw.choice("fm"), draw.choice(ills)) for i in range(last)
    ]
    columns = map(list, zip(*rows[first:], strict=True))
    table = dict(zip(["pid", "age", "sex", "ill"], columns, strict=True))
    changed = more.pop("changed", [])
    table["ill"][: len(changed)] = changed
    return pa.table({**table, **more})


def policy(*required, **schema):
    roles = {"identifiers": ["pid"], "quasi_identifiers": ["age", "sex"], "sensitive": "ill"}
    return fk.Policy(
        [*required] or [fk.Requirement(fk.Facts(1, 1), below=0.8)], fk.Schema(**{**roles, **schema})
    )


def publish(table, after=(), rules=None, **how):
    return fk.publish(table, rules or policy(), after=after, seed=1, **how)


def both_published(folder, first, second, rules=None, **how):
    """The second of two releases; the first is in `january`, the other in `march`."""
    publish(first, rules=rules, **how).write(folder / "january")
    publication = publish(second, folder / "january", rules, **how)
    publication.write(folder / "march")
    return publication


@pytest.fixture(scope="module")
def two(tmp_path_factory):
    """A release of 300 people and one of 120 newcomers."""
    place = tmp_path_factory.mktemp("published")
    both_published(place, register(0, 300), register(0, 420))
    return place


@pytest.fixture
def january(two, tmp_path):
    """A copy of the first, for this test alone."""
    for name in ("january", "january.owner"):
        shutil.copytree(two / name, tmp_path / name)
    return tmp_path / "january"


@pytest.fixture
def march(two, january):
    """A copy of the second, beside the first."""
    for name in ("march", "march.owner"):
        shutil.copytree(two / name, january.with_name(name))
    return january.with_name("march")


@pytest.mark.complete
def test_newcomers_are_judged_with_all(january, tmp_path):
    private = january.with_name("january.owner") / "owner.json"
    document = json.loads(private.read_text())
    private.write_text(json.dumps({**document, "written": "2025-01-12"}))
    publication = publish(register(100, 420), january)
    assert (publication.since.new, publication.since.stay, publication.since.left) == (
        120,
        200,
        100,
    )
    assert publication.since.changed == 0
    assert publication.counts.n_people == 120
    assert publication.together.safe
    assert publication.together.counts.n_people == 420
    publication.write(tmp_path / "march")
    report = (tmp_path / "march" / "report.html").read_text()
    assert "Published after one earlier release of 300 people" in report
    assert "knows when a person came" in report
    text = json.loads((tmp_path / "march" / CERTIFICATE).read_text())["after"]
    assert [each["people"] for each in text] == [300]
    assert fk.verify(tmp_path / "march").people == 120
    audit = fk.audit([january, tmp_path / "march"], policy())
    assert audit.safe
    assert audit.counts.n_people == 420
    reached = [verdict.reached for verdict in publication.together.verdicts]
    assert [verdict.reached for verdict in audit.verdicts] == reached
    # Sizes and days of releases are said; days and names are not published.
    today = re.search(r"\d{4}-\d\d-\d\d", (tmp_path / "march.owner" / "owner.json").read_text())[0]
    text = f"january (300 people, written on 2025-01-12) and march (120 people, written on {today})"
    assert any(text in note for note in audit.notes)
    assert any(text.partition(" and")[0] in note for note in publication.together.notes)
    for path in (tmp_path / "march").iterdir():
        assert not re.search(rf"2025-01-12|{today}|january", path.read_text())
    private.write_text(json.dumps({**document, "written": "in spring"}))
    audit = fk.audit([january, tmp_path / "march"], policy())
    assert any("january (300 people) and" in note for note in audit.notes)


def test_changes_of_every_column_count(january, tmp_path):
    publication = publish(register(0, 420, changed=["New illness"] * 50), [january])
    assert publication.since.changed == 50
    assert "New illness" not in publication.counts.values
    assert "at least 50 of them have another value now" in str(publication.since)
    both = [fk.Requirement(fk.Facts(), below=0.9, sensitive=s, knowing=[]) for s in ("ill", "pay")]
    rules, pay = policy(*both, sensitive=["ill", "pay"]), ["low", "high", "middle"] * 140
    publish(register(0, 300, pay=pay[:300]), rules=rules).write(tmp_path / "paid")
    changed = register(0, 420, changed=["New illness"] * 50, pay=["None"] * 20 + pay[20:])
    for table, ill, paid, said in (
        (changed, 50, 20, "at least 50 of them have another value now (ill 50, pay 20)."),
        (register(0, 420, pay=pay), 0, 0, "The other 300 are in earlier releases, and are not"),
    ):
        since = publish(table, tmp_path / "paid", rules).since
        assert (since.changed, since.changed_columns) == (ill, (("ill", ill), ("pay", paid)))
        assert said in str(since)


# ---- who is new ----------------------------------------------------------------------------------


def test_too_few_newcomers(march, january):
    with pytest.raises(fk.NoSafeRelease, match="Nobody is new"):
        publish(register(0, 300), january)
    with pytest.raises(fk.InputError, match="was published after another release"):
        publish(register(0, 500), march)
    assert publish(register(0, 500), [january, march]).since.new == 80
    shutil.rmtree(march)
    with pytest.raises(fk.InputError, match=r"3 of 303 people are new .* wait for more"):
        publish(register(0, 303), january)
    strict = policy(fk.Requirement(fk.Facts(1, 1), below=0.45, values=["HIV"]))
    with pytest.raises(
        fk.NoSafeRelease, match="january, which was published before, does not"
    ) as caught:
        publish(register(0, 900), january, strict)
    lines = [line.split("#")[0].strip() for line in caught.value.way_out]
    (limit,) = [line.removeprefix("below = ") for line in lines if line.startswith("below = ")]
    looser = policy(fk.Requirement(fk.Facts(1, 1), below=limit, values=["HIV"]))
    assert publish(register(0, 900), january, looser).together.safe  # as the way out says


def test_identifiers_match_people(january, tmp_path):
    table = register(0, 420)
    names = [None, *table["pid"].to_pylist()[1:]]
    code = table.append_column("code", [[f"c{i}" for i in range(420)]])
    for own, rules, said in (
        (table, policy(identifiers=[]), "is no identifier in the schema"),
        (table.set_column(0, "pid", [names]), policy(), "'pid'"),
        (code, policy(identifiers=["pid", "code"]), "all name people"),
        (table, policy(unit="row"), "nothing says whose they are"),
    ):
        with pytest.raises(fk.InputError, match=said):
            publish(own, january, rules)
    publish(register(0, 300), rules=policy(identifiers=[])).write(tmp_path / "nameless")
    with pytest.raises(fk.InputError, match="without identifiers"):
        publish(table, tmp_path / "nameless")
    publish(table.set_column(0, "pid", [[None, *names[:-1]]])).write(tmp_path / "some")
    with pytest.raises(fk.InputError, match="'pid'"):
        publish(register(0, 500), tmp_path / "some")


@pytest.mark.parametrize("way", ["schema", "record"])
def test_person_is_named_afterwards(way, tmp_path):
    """Two columns name people, which nobody asked about in the first year."""
    codes = [[f"c{i}" for i in range(420)]]
    table, rules = register(0, 420).append_column("code", codes), ["pid", "code"]
    publish(table.slice(0, 300), rules=policy(identifiers=rules)).write(tmp_path / "first")
    later = policy(identifiers=rules, person="code" if way == "schema" else None)
    if way == "record":
        with pytest.raises(fk.InputError, match="by person = 'pid' in the schema; or for good"):
            publish(table, tmp_path / "first", later)
        record = tmp_path / "first.owner" / "owner.json"
        record.write_text(record.read_text().replace('"person": null', '"person": "pid"'))
        later = policy(identifiers=rules, person="pid")
    assert publish(table, tmp_path / "first", later).release.counts.n_people == 120


LARGE = 10**16


@pytest.mark.parametrize(
    ("first", "second", "same"),
    [
        (int, str, True),
        (int, float, False),
        (str, " {}".format, False),
        (str, "{}.0".format, False),
        (str, "0{}".format, False),
        ("p{}".format, "P{}".format, False),
        ("p{}".format, "p{} ".format, False),
        ("p{}".format, "\ufeffp{}".format, False),
        (lambda i: LARGE + 100 * i, lambda i: float(LARGE + 100 * i), False),
    ],
)
def test_identifiers_that_are_written_otherwise(first, second, same, tmp_path):
    january, march = tmp_path / "january", tmp_path / "march"
    publish(register(0, 300, named=first)).write(january)
    if same:
        assert publish(register(0, 420, named=second), january).since.new == 120
        return
    with pytest.raises(fk.InputError, match="look like one person"):
        publish(register(0, 420, named=second), january)
    publish(register(0, 330, named=second)).write(march)
    with pytest.raises(fk.InputError, match="look like one person"):
        fk.audit([january, march], policy())


def test_newcomers_in_two_spellings(january):
    again = register(400, 401, named="P{} ".format)
    with pytest.raises(fk.InputError, match="look like one, and would be counted as two"):
        publish(pa.concat_tables([register(0, 410), again]), january)


@pytest.mark.complete
def test_near_names_are_mentioned(tmp_path):
    rows = register(0, 300, named="P-p{}".format), register(299, 420, named="Pp{}".format)
    result = both_published(tmp_path, *rows)
    assert result.since.alike == (("P-p299", "Pp299"),)
    text = "names in two releases, such as"
    both = [tmp_path / "january", tmp_path / "march"]
    assert any(text in note for note in result.together.notes)
    assert any(text in note for note in fk.audit(both, policy()).notes)
    assert not any(text in note for note in fk.audit(both[0], policy()).notes)
    assert "p299" not in (tmp_path / "march" / "report.html").read_text()


# ---- who is forgotten ----------------------------------------------------------------------------


def test_forgotten_people_are_known_again(january, tmp_path):
    fk.forget(january, ["p7", "p8"])
    members = january.with_name("january.owner") / "members.parquet"
    assert b"p7" not in members.read_bytes()
    publication = publish(register(0, 420), january)
    assert (publication.since.new, publication.since.stay) == (120, 300)
    publication.write(tmp_path / "march")
    fk.forget(tmp_path / "march", "p350")
    assert fk.audit([january, tmp_path / "march"], policy()).counts.n_people == 420
    publish(register(0, 300)).write(tmp_path / "anew")
    both = [january, tmp_path / "anew"]
    assert fk.together(both).counts.n_people == 300  # and not 302
    fk.forget(tmp_path / "anew", "p1")
    with pytest.raises(fk.InputError, match="by two keys"):
        fk.together(both)
    hashed = next(name for name in fk.named_release(january).members.names if name[0] != "p")
    for name, said in (("p9999", "'p9999'"), (hashed, "was forgotten already")):
        with pytest.raises(fk.InputError, match=said):
            fk.forget(january, name)
    for content in ("{", "[]", '{"digest_key": 5}'):
        (january.with_name("january.owner") / "owner.json").write_text(content)
        with pytest.raises(fk.InputError, match="with the key by which people are forgotten"):
            fk.forget(january, "p9")


def test_keys_of_other_releases(january, tmp_path):
    publish(register(0, 300)).write(tmp_path / "other")
    fk.forget(january, "p7")
    private = january.with_name("january.owner") / "owner.json"
    shutil.copy(tmp_path / "other.owner" / "owner.json", private)
    with pytest.raises(fk.InputError, match="another key than that by which people"):
        publish(register(0, 420), january)


def test_forgotten_numbers_in_any_spelling(tmp_path):
    publish(register(0, 300, named=int)).write(tmp_path / "january")
    fk.forget(tmp_path / "january", [str(i) for i in range(300)])
    publication = publish(register(0, 420, named=float), tmp_path / "january")
    assert (publication.since.new, publication.since.stay) == (120, 300)


def test_forgotten_people_are_still_found(january, tmp_path):
    publish(register(299, 600)).write(tmp_path / "march")
    for is_forgotten in (False, True):
        if is_forgotten:
            fk.forget(january, "p299")
        with pytest.raises(fk.InputError, match=r"'january'.*'march'"):
            publish(register(0, 900), [january, tmp_path / "march"])


def test_two_tries_cross(march, january, tmp_path):
    """The second is refused where the first lies beside; moved away, it may be out nevertheless."""
    with pytest.raises(fk.InputError, match=r"march' was published after january, .*120 people of"):
        publish(register(0, 450), january)
    aside = tmp_path / "aside"
    aside.mkdir()
    for name in ("march", "march.owner"):
        shutil.move(tmp_path / name, aside)
    publish(register(0, 450), january).write(tmp_path / "two")
    each = [january, aside / "march", tmp_path / "two"]
    with pytest.raises(fk.NotSettled):
        fk.audit(each, policy())
    with pytest.raises(fk.InputError, match="a person is to be published once"):
        publish(register(0, 600), each)


# ---- folders that are not named, or lost ---------------------------------------------------------


@pytest.mark.parametrize("after", [True, False])
def test_lost_owner_folders_are_refused(after, january, tmp_path):
    """Whom march shows is not known, so all of them would be published twice."""
    march, owner, kept = tmp_path / "march", tmp_path / "march.owner", tmp_path / "kept"
    everybody = register(0, 700)
    publish(register(300 * (not after), 420), [january] if after else ()).write(march)
    kept.mkdir()
    owner.rename(kept / "owner")
    said = "was published after january" if after else "has the same columns"
    with pytest.raises(fk.InputError, match=f"march' {said}.*Put back the owner's folder"):
        publish(everybody, january)
    march.rename(kept / "march")
    rest = everybody.take([*range(300), *range(420, 700)])
    assert publish(rest, january).since.new == 280
    (kept / "march").rename(march)
    (kept / "owner").rename(owner)
    assert publish(everybody, [january, march]).since.new == 280
    shutil.move(tmp_path / "january.owner", kept / "first")
    for call in (
        lambda: publish(everybody, [january, march]),
        lambda: fk.audit([january] * 2, policy()),
    ):
        with pytest.raises(fk.InputError, match="put the owner's folder back beside it") as caught:
            call()
        assert "--members" not in str(caught.value)


def test_owner_folders_that_tell_nothing(march, january, tmp_path):
    shutil.copytree(january, tmp_path / "copy")  # a copy of what is named has no owner's folder
    path = tmp_path / "january.owner" / "members.parquet"
    shutil.copy(path, tmp_path / "march.owner")
    with pytest.raises(fk.InputError, match="parquet' does not tell who is in it"):
        publish(register(0, 500), january)
    shutil.rmtree(march)
    assert publish(register(0, 500), january).since.new == 200
    # Whom a file lacks would be new, and published twice.
    pq.write_table(pq.read_table(path).slice(5), path)
    with pytest.raises(fk.InputError, match="have not as many people as in the release"):
        publish(register(0, 420), january)


def test_drafts_without_names_are_refused(january, tmp_path):
    publish(register(0, 420), rules=policy(identifiers=[])).write(tmp_path / "draft")
    with pytest.raises(fk.InputError, match="draft' has the same columns, was not named"):
        publish(register(0, 500), january)
    shutil.rmtree(tmp_path / "draft")
    other = {"identifiers": [], "sensitive": "sex", "quasi_identifiers": ["age"]}
    rules = policy(fk.Requirement(fk.GroupSize(2)), **other)
    publish(register(0, 420), rules=rules).write(tmp_path / "others")
    assert publish(register(0, 500), january).since.new == 200


# ---- judged together -----------------------------------------------------------------------------

# Each holds 3/4 by itself: 0.720 and 0.701; what one tells helps in the other: 4/5.
LINKS = fk.Requirement(fk.Facts(1, 0, 1), below="3/4", values=["v"])
FEW, MANY = {"v": 2, "o": 7, "x": 1}, {"v": 10, **dict.fromkeys("abcdefghij", 1)}


def tables_of(*bags):
    """Tables of further people each, who are alike."""
    number, tables = count(), []
    for bag in bags:
        ills = [ill for ill, times in bag.items() for _ in range(times)]
        names = [f"p{next(number)}" for _ in ills]
        known = {"age": [30] * len(ills), "sex": ["f"] * len(ills)}
        tables.append(pa.table({"pid": names, **known, "ill": ills}))
    return tables


@pytest.mark.parametrize("places", [("january",), ("the new release",), ("a/rel", "b/rel")])
def test_links_span_all_releases(places, tmp_path):
    """Names of folders make no two groups one; the verifier finds what a publisher denies."""
    rules = policy(LINKS)
    *tables, last = tables_of(FEW, *[{"z": 3, "y": 3}] * (len(places) - 1), MANY)
    before, texts = [], []
    for place, table in zip(places, tables, strict=True):
        (tmp_path / place).parent.mkdir(exist_ok=True)
        publication = publish(table, before, rules)
        publication.write(tmp_path / place)
        before.append(tmp_path / place)
        digest = hashlib.sha256((tmp_path / place / CERTIFICATE).read_bytes()).hexdigest()
        texts.append({"certificate": digest, "people": table.num_rows})
    first, alone = (publish(own, rules=rules) for own in (tables[0], last))
    assert round(first.audit.verdicts[0].probability, 3) == 0.72
    assert round(alone.audit.verdicts[0].probability, 3) == 0.701
    with pytest.raises(fk.NoSafeRelease, match=re.escape("together do not hold")):
        publish(last, before, rules)
    forged = replace(alone.certificate, after=tuple(texts))
    replace(alone, certificate=forged).write(tmp_path / "last")
    with pytest.raises(fk.InputError, match="together: "):
        fk.verify(tmp_path / "last", after=before)


def test_releases_are_verified_together(march, january, tmp_path):
    verification = fk.verify(march, after=january)
    assert verification.after == (("january", 300),)
    assert "publisher's word" in verification.summary()
    notes = fk.audit([january, march], policy()).notes
    for page in (" ".join(notes), " ".join(verification.summary().split())):
        assert "knows when a person came" in page
    with refused("not-asked-for", fk.InputError, key="after"):
        fk.verify(january, after=march)
    both = [january, march]
    publication = publish(register(0, 500), both)
    publication.write(tmp_path / "may")
    with pytest.raises(fk.InputError, match="name all of them"):
        fk.verify(tmp_path / "may", after=january)
    assert len(fk.verify(tmp_path / "may", after=both).after) == 2
    first, second = publication.certificate.after
    for place, (after, given) in enumerate(
        (([second], march), ([{**first, "people": 7}], january))
    ):
        forged = replace(publication.certificate, after=tuple(after))
        replace(publication, certificate=forged).write(tmp_path / str(place))
        with pytest.raises(fk.InputError, match=r"does not name|other people than"):
            fk.verify(tmp_path / str(place), after=given)
    twice = replace(publication.certificate, after=({**first, "people": 7}, first))
    with pytest.raises(fk.InputError, match="named twice"):
        replace(publication, certificate=twice).write(tmp_path / "twice")


def test_an_earlier_lie_is_found(march, january):
    """Both certificates are changed, so that the later one names the earlier as it is."""
    earlier, later = january / CERTIFICATE, march / CERTIFICATE
    lie = json.loads(earlier.read_text("utf-8"))
    lie["findings"][0]["value"] = "nobody's"
    earlier.write_text(json.dumps(lie), "utf-8")
    document = json.loads(later.read_text("utf-8"))
    document["after"][0]["certificate"] = hashlib.sha256(earlier.read_bytes()).hexdigest()
    later.write_text(json.dumps(document), "utf-8")
    with pytest.raises(fk.InputError, match="january: "):
        fk.verify(march, after=january)


def test_releases_of_everybody_are_refused(january):
    """In Python and in a certificate, with one code."""
    for after in (january, None):
        with refused("whole-after", UnsupportedError) as caught:
            publish(register(0, 420), after, whole=True)
        assert "leave whole out" in str(caught.value)
    path = january / CERTIFICATE
    path.write_text(json.dumps({**json.loads(path.read_text()), "cohort": "cohort"}))
    with pytest.raises(UnsupportedError, match="leave whole out"):
        fk.verify(january)


def test_recognition_needs_one_release(tmp_path):
    """One of each age in each release: two who look alike are not in one of them."""
    ages, ills = [20 + i % 8 for i in range(16)], ILLS * 4
    names = [f"p{i}" for i in range(16)]
    table = pa.table({"pid": names, "age": ages, "sex": ["f"] * 16, "ill": ills})
    loose = policy(fk.Requirement(fk.Facts(), below=0.9))
    both_published(tmp_path, table.slice(0, 8), table, loose, form="bucketized")
    rules = policy(fk.Requirement(fk.KAnonymity(2)))
    audit = fk.audit([tmp_path / "january", tmp_path / "march"], rules)
    assert not audit.safe
    assert audit.verdicts[0].reached == 1
    assert audit.scope.exact == ("age", "sex")
    alike = fk.together([tmp_path / "january", tmp_path / "march"]).alike()
    assert {*alike.counts.sizes.tolist()} == {1}


# ---- trials --------------------------------------------------------------------------------------


TRIED_ILLS = ["Flu", "Cold"]


def wave(first, last, turned, people=None):
    """Jobs go with illnesses, the other way round where it is `turned`; not at all if None."""
    random_ = random.Random(first)
    rows = []
    for i in range(first, last):
        job = random_.choice(["clerk", "driver"])
        tied = turned is not None and random_.random() < 0.9
        ill = TRIED_ILLS[(job == "clerk") != turned] if tied else random_.choice(TRIED_ILLS)
        rows.append((f"p{i}", job, 20 + i % 50, ill))
    columns = zip(*rows[:people], strict=True)
    return pa.table(dict(zip(["pid", "job", "age", "ill"], map(list, columns), strict=True)))


def policy_that_tries(stop=None, tried=True):
    schema = fk.Schema(identifiers=["pid"], quasi_identifiers=["job", "age"], sensitive="ill")
    required = [fk.Requirement(fk.Facts(), below="3/4")]
    return fk.Policy(required, schema, tries=[Try(fk.Learned(["job"]), stop)] if tried else [])


@cache
def first_of_all(form):
    """The release of the first wave, on which nothing is tried yet."""
    return fk.publish(wave(0, 300, False), policy_that_tries(tried=False), form=form, seed=1)


def pair(tmp_path, form="generalized", stop=None, people=None, turned=True):
    """Two waves with the opposite tie; the second table has so many of the first one's people."""
    first, second = wave(0, 300, False), wave(300, 600, turned)
    first_of_all(form).write(tmp_path / "january")
    table = pa.concat_tables([first.slice(0, people), second])
    return fk.publish(table, policy_that_tries(stop), after=tmp_path / "january", form=form, seed=1)


@pytest.mark.complete
def test_arrival_times_are_tried(tmp_path):
    result = pair(tmp_path, "bucketized")
    (trial,) = result.together.trials
    assert trial.by == ("job", "cohort")  # all together tell nothing: the waves cancel
    assert (trial.people, trial.measured) == (600, True)
    assert trial.right > 0.8
    assert trial.surest > 0.85
    result.write(tmp_path / "march")
    both = [tmp_path / "january", tmp_path / "march"]
    (trial,) = fk.audit(both, policy_that_tries()).trials
    assert trial.by == ("job", "cohort")
    (found,) = fk.audit(both, policy_that_tries(tried=False)).trials
    assert any("cohort" in own.by for own in found.tried)


def test_trials_on_all_releases_stop(tmp_path):
    """Of the second wave by itself nobody learns much; of the first, with which it is judged."""
    for name in "ab":
        (tmp_path / name).mkdir()
    result = pair(tmp_path / "a", turned=None)
    assert result.audit.trials[0].surest < 0.8 < result.together.trials[0].surest
    with pytest.raises(fk.NoSafeRelease, match="learns from the release and from january by"):
        pair(tmp_path / "b", stop=0.8, people=200, turned=None)


def test_wards_of_then_are_read(tmp_path):
    """Everybody has moved to another ward since; the rows of january show the one of then."""

    def table(first, last, moved):
        ill = [f"ill {i % 7}" for i in range(first, last)]
        ward = [f"w{(i + moved) % 7}" for i in range(first, last)]
        names = [f"p{i}" for i in range(first, last)]
        rows = {"pid": names, "age": [20 + i % 60 for i in range(first, last)], "ill": ill}
        return pa.table({**rows, "ward": ward})

    schema = fk.Schema(
        identifiers=["pid"], quasi_identifiers=["age"], sensitive="ill", other=["ward"]
    )
    required = [fk.Requirement(fk.Facts(), below="1/2", knowing=[])]
    plain = fk.Policy(required, schema)
    fk.publish(table(0, 420, 0), plain, seed=1).write(tmp_path / "january")
    tried = fk.Policy(required, schema, tries=[Try(fk.Learned(["ward"]), None)])
    everybody = pa.concat_tables([table(0, 420, 1), table(420, 840, 0)])
    publication = fk.publish(everybody, tried, after=tmp_path / "january", seed=1)
    (trial,) = publication.together.trials
    assert (trial.people, trial.measured, trial.surest) == (840, False, 1)


# ---- newcomers -----------------------------------------------------------------------------------


COLUMNS = ["who", "age", "zip", "pay", "ill"]
SCHEMA = {
    "identifiers": ["who"],
    "quasi_identifiers": ["age", "zip"],
    "sensitive": ["ill", "pay"],
    "types": {"pay": "number"},
    "reading": {"decimal": ",", "missing": ["k.A."]},
}
REQUIRE = [
    {"sensitive": "ill", "facts": {}, "below": 0.8, "knowing": []},
    {"sensitive": "pay", "facts": {}, "below": 0.8, "knowing": []},
]
POLICY = {"schema": SCHEMA, "require": REQUIRE}


def drawn(size):
    draw = random.Random(4)
    return [
        [
            f"p{i}",
            str(draw.randint(20, 60)),
            draw.choice(["k.A.", "10", "20"]),
            f"{draw.randint(10, 12)},{draw.randint(0, 9)}0",
            draw.choice("abcd"),
        ]
        for i in range(size)
    ]


def write_table(path, rows, encoding="utf-8"):
    with path.open("w", encoding=encoding, newline="") as file:
        csv.writer(file, delimiter=";").writerows([COLUMNS, *rows])
    return path


def test_label_of_missing_stays(tmp_path):
    """What an earlier release shows for a missing number is no number, by whatever policy."""

    def made(first, pays, missing, **how):
        rows = [{"who": f"p{first + i}", "q": "a", "pay": pay} for i, pay in enumerate(pays)]
        schema = {"identifiers": ["who"], "quasi_identifiers": ["q"], "sensitive": "pay"}
        schema |= {"types": {"pay": "number"}, "missing": missing}
        policy = {"schema": schema, "require": [{"facts": {}, "below": 1}]}
        policy["publish"] = {"labels": {"q": "exact"}}
        return fk.publish(pa.Table.from_pylist(rows), policy, seed=1, **how)

    made(0, [10, 20, None], {"label": "unknown"}).write(tmp_path / "january")
    for missing in ("drop", {"label": "none"}):
        with pytest.raises(fk.InputError, match=r'say missing = \{ label = "unknown" \}'):
            made(3, [10, 30], missing, after=[tmp_path / "january"])
    march = made(3, [10, 30], {"label": "unknown"}, after=[tmp_path / "january"])
    assert march.together.verdicts[0].reached == Fraction(1, 2)


def test_owner_gets_rows_of_newcomers(tmp_path):
    rows = drawn(160)
    first = write_table(tmp_path / "first.csv", rows[:90])
    second = write_table(tmp_path / "second.csv", rows)
    fk.publish(first, POLICY, seed=1).write(tmp_path / "january")
    fk.publish(second, POLICY, seed=1, after=[tmp_path / "january"]).write(tmp_path / "march")
    assert not (tmp_path / "january.owner" / "newcomers.csv").exists()
    newcomers = tmp_path / "march.owner" / "newcomers.csv"
    with newcomers.open(encoding="utf-8", newline="") as file:
        written = [[cell or "k.A." for cell in row] for row in csv.reader(file, delimiter=";")]
    assert written == [COLUMNS, *rows[90:]]
    assert not list((tmp_path / "march").glob("newcomers*"))
    fk.utility_report(tmp_path / "march", newcomers, policy=POLICY)
    fk.evidence_report(tmp_path / "march", newcomers, policy=POLICY)
    other = write_table(tmp_path / "other.csv", [*rows[:90], *rows[91:], ["x", *rows[90][1:]]])
    with pytest.raises(fk.InputError, match="of its owner's folder"):
        fk.evidence_report(tmp_path / "march", other, policy=POLICY)


def test_new_cases_are_no_people(desk):
    cases = [f"p{i // 2},{i % 9},{'abc'[i % 3]}" for i in range(60)]
    for year, rows in (("first", cases[:40]), ("second", cases)):
        desk.put(f"{year}.csv", "\n".join(["pid,age,ill", *rows]) + "\n")
    schema = {"identifiers": ["pid"], "quasi_identifiers": ["age"], "sensitive": "ill"}
    schema |= {"person": "pid", "unit": "row"}
    rules = {"schema": schema, "require": [{"facts": {"k": 0}, "below": 0.9}]}
    fk.Policy.from_dict(rules).save("cases.toml")
    publishing = "publish", "--policy", "cases.toml"
    desk.says(*publishing, "first.csv", "--out", "one")
    said = desk.says(*publishing, "second.csv", "--out", "two", "--after", "one")
    assert "10 of 30 people are new" in said
    assert "The new release has 20 cases." in said


def test_measures_take_the_published_table(tmp_path):
    """Each figure is that of the newcomers' own rows."""
    rows = drawn(400)
    first = write_table(tmp_path / "first.csv", rows[:150])
    second = write_table(tmp_path / "second.csv", [*rows[150:], *rows[:150]])
    third = write_table(tmp_path / "third.csv", rows[151:])
    fk.publish(first, POLICY, seed=1).write(tmp_path / "january")
    publication = fk.publish(second, POLICY, seed=1, after=[tmp_path / "january"])
    publication.write(tmp_path / "march")
    march, newcomers = tmp_path / "march", tmp_path / "march.owner" / "newcomers.csv"

    def measured(release, table):
        return (
            fk.utility_report(release, table, policy=POLICY).to_dict()["query_errors"],
            fk.learned_report(release, ["age"], people=table, policy=POLICY).right,
        )

    by_rows = measured(march, newcomers)
    for release in (march, publication):
        assert measured(release, second) == by_rows
    assert fk.evidence_report(march, second, policy=POLICY).same_source
    named = fk.named_release(march, microdata=fk.Microdata(second, fk.Schema(**SCHEMA)))
    assert named.counts.n_people == 250
    with pytest.raises(fk.InputError, match="is not the table"):
        fk.learned_report(march, people=third, policy=POLICY)
    with pytest.raises(fk.InputError, match="is not the table"):
        fk.evidence_report(march, third, policy=POLICY)
    fk.forget(march, "p390")
    assert measured(march, second) == by_rows


def linked_years(folder, below, method="mondrian", seed=None, then=None):
    """The second of two releases, of which a link from the new ward 1 to the old group says much.

    The old group has 6 v of 20, of whom 9 others can be ruled out; ward 1 has 8 of 20. `then` is
    the limit of the first.
    """
    old = ["v"] * 6 + ["w"] * 9 + [*"abcde"]
    ill = [*old, *"vvvvvvvv", *"abcdefghijkl", *"abcdefghijklabcdefgh"]
    rows = {"pin": [f"p{row}" for row in range(60)], "ward": ["1"] * 40 + ["2"] * 20, "ill": ill}
    table = pa.table(rows)
    schema = fk.Schema(identifiers=["pin"], quasi_identifiers=["ward"], sensitive="ill")
    policies = [
        fk.Policy([fk.Requirement(fk.Facts(1, 0, 1), below=limit, values=["v"])], schema)
        for limit in (then or below, below)
    ]
    how = {"method": method, "seed": seed}
    fk.publish(table.slice(0, 20), policies[0], out=str(folder / "old"), **how)
    return fk.publish(table, policies[1], after=str(folder / "old"), out=str(folder / "new"), **how)


@pytest.mark.parametrize(("below", "n_groups"), [("65/100", 1), ("67/100", 2)])
def test_links_between_releases_are_searched(tmp_path, below, n_groups):
    """Who has v in a new group says something of a person in an old one, and of no other.

    A link from ward 1 to the old group reaches 2/3, where each release by itself stays below 0.64.
    With both new wards in one group the old release is the worst.
    """
    made = linked_years(tmp_path, below)
    assert len(made.groups) == n_groups
    reached = made.together.verdicts[0].disclosure.exact
    assert reached == (Fraction(2, 3) if n_groups == 2 else Fraction(114, 179))
    fk.verify(tmp_path / "new", after=[tmp_path / "old"])


@pytest.mark.parametrize(("below", "said"), [("65/100", "not judged"), ("67/100", "as required")])
def test_first_searches_are_proved(tmp_path, below, said):
    """Whether newcomers are searched again depends on their values: no proof is about that."""
    made = linked_years(tmp_path, below, "decoy", seed=3)
    assert made.certificate.scope["method"] == said
    fk.verify(tmp_path / "new", after=[tmp_path / "old"])
    newcomers = tmp_path / "new.owner" / "newcomers.parquet"
    if said == "as required":
        assert not fk.attack(newcomers, release=tmp_path / "new").breaches
    else:
        with pytest.raises(fk.InputError, match="its groups were searched again"):
            fk.attack(newcomers, release=tmp_path / "new")


def test_later_searches_are_not_attacked(tmp_path):
    linked_years(tmp_path, "65/100")
    with pytest.raises(fk.InputError, match="searched again by stricter limits"):
        fk.attack(tmp_path / "new.owner" / "newcomers.parquet", release=tmp_path / "new")


@pytest.mark.parametrize(("below", "is_said"), [("67/100", True), ("65/100", False)])
def test_earlier_limits_are_mentioned(tmp_path, below, is_said):
    """A laxer limit of the second release lets the people of the first exceed theirs, 0.65."""
    made = linked_years(tmp_path, below, then="65/100")
    (note,) = (note for note in made.certificate.notes if "published after" in note)
    assert ("what an earlier one required beyond this was not judged" in note) == is_said
    as_then = made.audit.policy.to_dict()["require"][0] | {"below": "65/100"}
    policy = fk.Policy.from_dict({**made.audit.policy.to_dict(), "require": [as_then]})
    assert fk.audit([tmp_path / "old", tmp_path / "new"], policy).safe != is_said
