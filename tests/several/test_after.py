"""Published again: people of earlier releases are not published twice, and all is judged as one."""

import hashlib
import json
import random
import re
import shutil
from dataclasses import replace
from itertools import count
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.cli.desk import Desk
from tests.refusals import refused

import foreknow as fk
from foreknow_judge.errors import UnsupportedError
from foreknow_judge.file_names import CERTIFICATE

ILLS = ["Flu", "Cold", "Asthma", "HIV"]


def register(first, last, seed=1, ills=ILLS):
    """A register of the people from `first` to `last`, who stay as they are in every year."""
    random_ = random.Random(seed)
    everybody = [
        (f"p{i}", random_.randint(20, 79), random_.choice("fm"), random_.choice(ills))
        for i in range(last)
    ]
    columns = zip(*everybody[first:], strict=True)
    return pa.table(dict(zip(["pid", "age", "sex", "ill"], map(list, columns), strict=True)))


def policy(*required, **schema):
    roles = {"identifiers": ["pid"], "quasi_identifiers": ["age", "sex"], "sensitive": "ill"}
    return fk.Policy(
        [*required] or [fk.Requirement(fk.Facts(1, 1), below=0.8)], fk.Schema(**{**roles, **schema})
    )


@pytest.fixture(scope="module")
def published(tmp_path_factory):
    """A folder with a release of 300 people, and what its owner has of it."""
    place = tmp_path_factory.mktemp("published")
    fk.publish(register(0, 300), policy(), seed=1).write(place / "january")
    return place


@pytest.fixture
def january(published, tmp_path):
    """A copy of it, for this test alone."""
    return Path(shutil.copytree(published, tmp_path, dirs_exist_ok=True)) / "january"


@pytest.mark.complete
def test_newcomers_are_published_and_all_are_judged_as_one(january, tmp_path):
    made = fk.publish(register(100, 420), policy(), after=january, seed=1)
    assert (made.since.new, made.since.stay, made.since.left) == (120, 200, 100)
    assert made.since.changed == 0
    assert made.counts.n_people == 120
    assert made.together.safe
    assert made.together.counts.n_people == 420
    made.write(tmp_path / "march")
    report = (tmp_path / "march" / "report.html").read_text()
    assert "Published after one earlier release of 300 people" in report
    assert "knows when a person came" in report
    said = json.loads((tmp_path / "march" / CERTIFICATE).read_text())["after"]
    assert [each["people"] for each in said] == [300]
    assert fk.verify(tmp_path / "march").people == 120
    both = fk.audit([january, tmp_path / "march"], policy())
    assert both.safe
    assert both.counts.n_people == 420
    assert [verdict.reached for verdict in both.verdicts] == [
        verdict.reached for verdict in made.together.verdicts
    ]
    said = r"january \(300 people, written on \d{4}-\d\d-\d\d\) and march \(120 people, "
    assert any(re.search(said, note) for note in both.notes)


def test_those_who_have_another_value_now_are_counted_and_stay_as_they_were(january):
    table = register(0, 420)
    ills = table.column("ill").to_pylist()
    ills[:50] = ["New illness"] * 50
    table = table.set_column(3, "ill", [ills])
    made = fk.publish(table, policy(), after=[january], seed=1)
    assert made.since.changed == 50
    assert "New illness" not in made.counts.values
    assert "at least 50 of them have another value now" in str(made.since)


def test_changes_of_every_column_count(tmp_path):
    def table(last, ill=(), pay=()):
        rows = register(0, last)
        ills = [*ill, *rows.column("ill").to_pylist()[len(ill) :]]
        pays = [*pay, *(["low", "high", "middle"] * last)[len(pay) : last]]
        return rows.set_column(3, "ill", [ills]).append_column("pay", [pays])

    both = [fk.Requirement(fk.Facts(), below=0.9, sensitive=s, knowing=[]) for s in ("ill", "pay")]
    rules = policy(*both, sensitive=["ill", "pay"])
    fk.publish(table(300), rules, seed=1).write(tmp_path / "january")
    changed = table(420, ["New illness"] * 50, ["None"] * 20)
    since = fk.publish(changed, rules, after=tmp_path / "january", seed=1).since
    assert (since.changed, since.changed_columns) == (50, (("ill", 50), ("pay", 20)))
    assert "at least 50 of them have another value now (ill 50, pay 20)." in str(since)
    same = fk.publish(table(420), rules, after=tmp_path / "january", seed=1).since
    assert (same.changed, same.changed_columns) == (0, (("ill", 0), ("pay", 0)))
    assert "The other 300 are in earlier releases, and not published anew." in str(same)


def test_every_earlier_release_is_named(january, tmp_path):
    fk.publish(register(0, 420), policy(), after=january, seed=1).write(tmp_path / "march")
    with pytest.raises(fk.InputError, match="was published after another release"):
        fk.publish(register(0, 500), policy(), after=tmp_path / "march")
    made = fk.publish(register(0, 500), policy(), after=[january, tmp_path / "march"])
    assert made.since.new == 80


def test_nobody_is_new(january):
    with pytest.raises(fk.NoSafeRelease, match="Nobody is new"):
        fk.publish(register(0, 300), policy(), after=january)


def test_too_few_are_new_for_their_labels(january):
    with pytest.raises(fk.InputError, match=r"3 of 303 people are new .* wait for more"):
        fk.publish(register(0, 303), policy(), after=january)


def test_too_few_are_new(tmp_path):
    required = policy(fk.Requirement(fk.KAnonymity(5)), quasi_identifiers=["age"])
    fk.publish(register(0, 300), required, seed=1).write(tmp_path / "january")
    with pytest.raises(fk.NoSafeRelease, match="3 of 303 people are new") as caught:
        fk.publish(register(0, 303), required, after=tmp_path / "january")
    assert any("wait for more" in line for line in caught.value.way_out)


def test_people_are_matched_by_an_identifier_alone(january):
    table = register(0, 420)
    with pytest.raises(fk.InputError, match="is no identifier in the schema"):
        fk.publish(table, policy(identifiers=[]), after=january)
    names = [None, *table.column("pid").to_pylist()[1:]]
    with pytest.raises(fk.InputError, match="'pid'"):
        fk.publish(table.set_column(0, "pid", [names]), policy(), after=january)


def test_a_table_without_identifiers_cannot_be_followed(tmp_path):
    fk.publish(register(0, 300), policy(identifiers=[]), seed=1).write(tmp_path / "january")
    with pytest.raises(fk.InputError, match="without identifiers"):
        fk.publish(register(0, 420), policy(), after=tmp_path / "january")


def test_a_number_and_a_text_name_one_person(tmp_path):
    table = named(lambda name: int(name[1:]), register(0, 300))
    fk.publish(table, policy(), seed=1).write(tmp_path / "january")
    table = named(lambda name: name[1:], register(0, 420))
    assert fk.publish(table, policy(), after=tmp_path / "january").since.new == 120


def test_an_earlier_release_that_does_not_hold_the_policy_is_named(january):
    strict = policy(fk.Requirement(fk.Facts(1, 1), below=0.45, values=["HIV"]))
    with pytest.raises(fk.NoSafeRelease, match="january, which was published before, does not"):
        fk.publish(register(0, 900), strict, after=january)


def test_links_are_judged_over_all_releases(tmp_path):
    """Each holds 3/4 by itself: 0.720 and 0.701; what one tells helps in the other: 4/5."""
    number = count()

    def table(bag):
        ills = [ill for ill, times in bag.items() for _ in range(times)]
        names = [f"p{next(number)}" for _ in ills]
        return pa.table(
            {"pid": names, "age": [30] * len(ills), "sex": ["f"] * len(ills), "ill": ills}
        )

    required = policy(fk.Requirement(fk.Facts(1, 0, 1), below="3/4", values=["v"]))
    first = table({"v": 2, "o": 7, "x": 1})
    made = fk.publish(first, required, seed=1)
    assert round(made.audit.verdicts[0].probability, 3) == 0.72
    made.write(tmp_path / "january")
    second = table({"v": 10, **{f"o{i}": 1 for i in range(10)}})
    alone = fk.publish(second, required, seed=1)
    assert round(alone.audit.verdicts[0].probability, 3) == 0.701
    with pytest.raises(fk.NoSafeRelease, match=re.escape("together do not hold")):
        fk.publish(second, required, after=tmp_path / "january", seed=1)


@pytest.mark.parametrize("form", ["generalized", "bucketized"])
def test_every_form_is_followed(form, tmp_path):
    rules = policy()
    fk.publish(register(0, 300), rules, form=form, seed=1).write(tmp_path / "january")
    made = fk.publish(register(0, 420), rules, after=tmp_path / "january", form=form, seed=1)
    assert made.together.counts.n_people == 420
    made.write(tmp_path / "march")
    assert fk.audit([tmp_path / "january", tmp_path / "march"], rules).safe


def test_somebody_who_is_forgotten_is_known_again(january, tmp_path):
    fk.forget(january, ["p7", "p8"])
    members = january.with_name("january.owner") / "members.parquet"
    assert b"p7" not in members.read_bytes()
    made = fk.publish(register(0, 420), policy(), after=january, seed=1)
    assert (made.since.new, made.since.stay) == (120, 300)
    made.write(tmp_path / "march")
    fk.forget(tmp_path / "march", "p350")
    assert fk.audit([january, tmp_path / "march"], policy()).counts.n_people == 420
    fk.publish(register(0, 300), policy(), seed=2).write(tmp_path / "anew")
    both = fk.together([january, tmp_path / "anew"])
    assert both.counts.n_people == 300  # and not 302
    fk.forget(tmp_path / "anew", "p1")
    with pytest.raises(fk.InputError, match="by two keys"):
        fk.together([january, tmp_path / "anew"])


def test_nobody_is_forgotten_who_is_not_there(january):
    with pytest.raises(fk.InputError, match="'p9999'"):
        fk.forget(january, "p9999")


def test_nobody_else_is_suggested(tmp_path):
    """To forget somebody cannot be undone, and numbers that look alike are other people."""
    padded = named(lambda name: f"{int(name[1:]):08}", register(0, 300))
    fk.publish(padded, policy(), seed=1).write(tmp_path / "january")
    release = fk.named_release(tmp_path / "january")

    def said(call, *name):
        with pytest.raises(fk.InputError) as caught:
            call(*name)
        return str(caught.value).partition("did you mean ")[2]

    for name, meant in (("100", "'00000100'?"), ("9100", ""), ("00010009", ""), ("Tim", "")):
        assert said(lambda name: fk.forget(tmp_path / "january", name), name) == meant
        assert said(lambda name: fk.Statements().posterior(release, name, "Flu"), name) == meant
        assert said(release.members.group_of, name) == meant
    called = named(lambda name: {"p1": "Tom"}.get(name, name), register(0, 300))
    fk.publish(called, policy(), seed=1).write(tmp_path / "names")
    assert said(lambda name: fk.forget(tmp_path / "names", name), "Tim") == ""
    assert said(lambda name: fk.forget(tmp_path / "names", name), "TOM") == "'Tom'?"
    assert said(fk.named_release(tmp_path / "names").members.group_of, "Tim") == "'Tom'?"


@pytest.mark.parametrize("other", [" {}", "{}.0", "0{}"])
def test_identifiers_that_are_written_otherwise_are_refused(other, tmp_path):
    table = named(lambda name: name[1:], register(0, 300))
    fk.publish(table, policy(), seed=1).write(tmp_path / "january")
    changed = named(lambda name: other.format(name[1:]), register(0, 420))
    with pytest.raises(fk.InputError, match="look like one person"):
        fk.publish(changed, policy(), after=tmp_path / "january")


def test_releases_are_verified_together(january, tmp_path):
    made = fk.publish(register(0, 420), policy(), after=january, seed=1)
    made.write(tmp_path / "march")
    found = fk.verify(tmp_path / "march", after=january)
    assert found.after == (("january", 300),)
    assert [each.reached for each in found.together] == [
        verdict.reached for verdict in made.together.verdicts
    ]
    assert "publisher's word" in found.summary()
    for page in (" ".join(made.together.notes), " ".join(found.summary().split())):
        assert "knows when a person came" in page
    with refused("not-asked-for", fk.InputError, key="after"):
        fk.verify(january, after=tmp_path / "march")
    both = [january, tmp_path / "march"]
    fk.publish(register(0, 500), policy(), after=both).write(tmp_path / "may")
    with pytest.raises(fk.InputError, match="name all of them"):
        fk.verify(tmp_path / "may", after=january)
    assert len(fk.verify(tmp_path / "may", after=both).after) == 2


def test_what_releases_tell_together_is_found_by_the_verifier(tmp_path):
    """As above, each holds 3/4 and both together do not; here a publisher says that they do."""
    required = policy(fk.Requirement(fk.Facts(1, 0, 1), below="3/4", values=["v"]))
    bags = {"v": 2, "o": 7, "x": 1}, {"v": 10, **dict.fromkeys("abcdefghij", 1)}
    tables = []
    for first, bag in zip((0, 50), bags, strict=True):
        ills = [ill for ill, times in bag.items() for _ in range(times)]
        names = [f"p{first + i}" for i in range(len(ills))]
        known = {"age": [30] * len(ills), "sex": ["f"] * len(ills)}
        tables.append(pa.table({"pid": names, **known, "ill": ills}))
    fk.publish(tables[0], required, seed=1).write(tmp_path / "january")
    made = fk.publish(tables[1], required, seed=1)
    digest = hashlib.sha256((tmp_path / "january" / CERTIFICATE).read_bytes()).hexdigest()
    said = replace(made.certificate, after=({"certificate": digest, "people": 10},))
    replace(made, certificate=said).write(tmp_path / "march")
    with pytest.raises(fk.InputError, match="together: "):
        fk.verify(tmp_path / "march", after=tmp_path / "january")


def test_an_earlier_lie_is_found(january, tmp_path):
    """Both certificates are changed, so that the later one names the earlier as it is."""
    fk.publish(register(0, 420), policy(), after=january, seed=1).write(tmp_path / "march")
    earlier, later = january / CERTIFICATE, tmp_path / "march" / CERTIFICATE
    lie = json.loads(earlier.read_text("utf-8"))
    lie["findings"][0]["value"] = "nobody's"
    earlier.write_text(json.dumps(lie), "utf-8")
    said = json.loads(later.read_text("utf-8"))
    said["after"][0]["certificate"] = hashlib.sha256(earlier.read_bytes()).hexdigest()
    later.write_text(json.dumps(said), "utf-8")
    with pytest.raises(fk.InputError, match="january: "):
        fk.verify(tmp_path / "march", after=january)


@pytest.mark.thinned(2)
@pytest.mark.parametrize("form", ["generalized", "bucketized"])
@pytest.mark.parametrize(
    "required",
    [
        fk.Requirement(fk.Facts(1, 2, 1), below=0.95),
        fk.Requirement(fk.LDiversity(2, kind="distinct")),
        fk.Requirement(fk.GroupSize(2)),
        fk.Requirement(fk.TCloseness(0.9, distance="equal")),
    ],
)
def test_the_verifier_finds_what_the_audit_finds_of_all(form, required, tmp_path):
    rules = policy(required)
    fk.publish(register(0, 300), rules, form=form, seed=1).write(tmp_path / "january")
    made = fk.publish(register(0, 420), rules, after=tmp_path / "january", form=form, seed=1)
    made.write(tmp_path / "march")
    found = fk.verify(tmp_path / "march", after=tmp_path / "january").together
    assert [each.reached for each in found] == [each.reached for each in made.together.verdicts]


def named(form, table):
    """The same table with its people called otherwise."""
    names = [form(name) for name in table.column("pid").to_pylist()]
    return table.set_column(0, "pid", [names])


@pytest.mark.parametrize("form", [str.upper, "{} ".format, lambda name: f"\ufeff{name}"])
def test_releases_whose_people_are_written_otherwise_are_not_judged_together(form, tmp_path):
    fk.publish(register(0, 300), policy(), seed=1).write(tmp_path / "january")
    fk.publish(named(form, register(0, 330)), policy(), seed=2).write(tmp_path / "march")
    with pytest.raises(fk.InputError, match="look like one person"):
        fk.audit([tmp_path / "january", tmp_path / "march"], policy())


def test_somebody_in_two_releases_is_found_though_one_has_forgotten_them(january, tmp_path):
    fk.publish(register(299, 600), policy(), seed=2).write(tmp_path / "march")
    both = [january, tmp_path / "march"]
    for _ in range(2):
        with pytest.raises(fk.InputError, match=r"'january'.*'march'"):
            fk.publish(register(0, 900), policy(), after=both)
        if _ == 0:
            fk.forget(january, "p299")


@pytest.mark.parametrize("places", [("the new release",), ("a/rel", "b/rel"), ("this release",)])
def test_names_of_folders_make_no_two_groups_one(places, tmp_path):
    """The cohorts that hold 3/4 each and not together, in folders that are called alike."""
    required = policy(fk.Requirement(fk.Facts(1, 0, 1), below="3/4", values=["v"]))
    bags = [{"v": 2, "o": 7, "x": 1}, {"z": 3, "y": 3}][: len(places)]
    bags.append({"v": 10, **dict.fromkeys("abcdefghij", 1)})
    first, tables = 0, []
    for bag in bags:
        ills = [ill for ill, times in bag.items() for _ in range(times)]
        names = [f"p{first + i}" for i in range(len(ills))]
        known = {"age": [30] * len(ills), "sex": ["f"] * len(ills)}
        tables.append(pa.table({"pid": names, **known, "ill": ills}))
        first += 100
    before = []
    for place, table in zip(places, tables[:-1], strict=True):
        (tmp_path / place).parent.mkdir(exist_ok=True)
        made = fk.publish(table, required, after=before, seed=1)
        made.write(tmp_path / place)
        before.append(tmp_path / place)
    with pytest.raises(fk.NoSafeRelease, match="together do not hold"):
        fk.publish(tables[-1], required, after=before, seed=1)
    made = fk.publish(tables[-1], required, seed=1)
    said = tuple(
        {
            "certificate": hashlib.sha256((place / CERTIFICATE).read_bytes()).hexdigest(),
            "people": table.num_rows,
        }
        for place, table in zip(before, tables, strict=False)
    )
    replace(made, certificate=replace(made.certificate, after=said)).write(tmp_path / "last")
    with pytest.raises(fk.InputError, match="together: "):
        fk.verify(tmp_path / "last", after=before)


def test_people_without_an_identifier_cannot_be_followed(tmp_path):
    table = register(0, 300)
    names = [None, None, *table.column("pid").to_pylist()[2:]]
    unnamed = table.set_column(0, "pid", [names])
    fk.publish(unnamed, policy(), seed=1).write(tmp_path / "january")
    with pytest.raises(fk.InputError, match="'pid'"):
        fk.publish(register(0, 420), policy(), after=tmp_path / "january")


def test_a_forgotten_person_is_known_however_the_name_is_written(tmp_path):
    numbers = named(lambda name: int(name[1:]), register(0, 300))
    fk.publish(numbers, policy(), seed=1).write(tmp_path / "january")
    fk.forget(tmp_path / "january", [str(i) for i in range(300)])
    floats = named(lambda name: float(name[1:]), register(0, 420))
    made = fk.publish(floats, policy(), after=tmp_path / "january")
    assert (made.since.new, made.since.stay) == (120, 300)
    hashed = next(iter(fk.named_release(tmp_path / "january").members.names))
    with pytest.raises(fk.InputError, match="was forgotten already"):
        fk.forget(tmp_path / "january", hashed)


@pytest.mark.parametrize("content", ["{", "[]", '{"digest_key": 5}'])
def test_an_owners_key_that_cannot_be_read_is_no_bug(content, january):
    (january.with_name("january.owner") / "owner.json").write_text(content)
    with pytest.raises(fk.InputError, match="with the key by which people are forgotten"):
        fk.forget(january, "p7")


def test_who_is_recognized_by_exact_columns_is_recognized_in_one_release(tmp_path):
    """One of each age in each release: two who look alike are not in one of them."""
    rows = [(f"p{i}", 20 + i % 8, "f", ILLS[i % 4]) for i in range(16)]
    columns = dict(
        zip(["pid", "age", "sex", "ill"], map(list, zip(*rows, strict=True)), strict=True)
    )
    table, loose = pa.table(columns), policy(fk.Requirement(fk.Facts(), below=0.9))
    how = {"form": "bucketized", "seed": 1}
    fk.publish(table.slice(0, 8), loose, **how).write(tmp_path / "january")
    fk.publish(table, loose, after=tmp_path / "january", **how).write(tmp_path / "march")
    asked = policy(fk.Requirement(fk.KAnonymity(2)))
    both = fk.audit([tmp_path / "january", tmp_path / "march"], asked)
    assert not both.safe
    assert both.verdicts[0].reached == 1
    assert both.scope.exact == ("age", "sex")
    alike = fk.together([tmp_path / "january", tmp_path / "march"]).alike()
    assert set(alike.counts.sizes.tolist()) == {1}


def test_a_chain_with_a_hole_is_not_verified(january, tmp_path):
    fk.publish(register(0, 420), policy(), after=january, seed=1).write(tmp_path / "march")
    both = [january, tmp_path / "march"]
    made = fk.publish(register(0, 550), policy(), after=both, seed=1)
    for after in (made.certificate.after[1:], ({**made.certificate.after[0], "people": 7},)):
        place = tmp_path / f"forged{len(list(tmp_path.iterdir()))}"
        replace(made, certificate=replace(made.certificate, after=after)).write(place)
        given = both[1] if after == made.certificate.after[1:] else both[0]
        with pytest.raises(fk.InputError, match=r"does not name|other people than"):
            fk.verify(place, after=given)


def test_a_release_named_twice_contradicts(january, tmp_path):
    made = fk.publish(register(0, 420), policy(), after=january, seed=1)
    (entry,) = made.certificate.after
    forged = replace(made.certificate, after=({**entry, "people": 7}, entry))
    with pytest.raises(fk.InputError, match="named twice"):
        replace(made, certificate=forged).write(tmp_path / "march")


def test_cases_and_several_identifiers_are_not_followed(january):
    table = register(0, 420).append_column("code", [[f"c{i}" for i in range(420)]])
    with pytest.raises(fk.InputError, match="all name people"):
        fk.publish(table, policy(identifiers=["pid", "code"]), after=january)
    with pytest.raises(fk.InputError, match="may have several cases"):
        fk.publish(table, policy(unit="row"), after=january)


def test_an_owners_file_from_which_people_were_taken_is_refused(january):
    """Whom it lacks would be new, and published twice."""
    path = january.with_name("january.owner") / "members.parquet"
    rows = pq.read_table(path)
    pq.write_table(rows.slice(5), path)
    with pytest.raises(fk.InputError, match="have not as many people as in the release"):
        fk.publish(register(0, 420), policy(), after=january)


@pytest.mark.complete
def test_sizes_and_days_of_cohorts_are_said_and_days_are_not_published(january, tmp_path):
    private = january.with_name("january.owner") / "owner.json"
    kept = json.loads(private.read_text())
    private.write_text(json.dumps({**kept, "written": "2025-01-12"}))
    made = fk.publish(register(0, 420), policy(), after=january, seed=1)
    made.write(tmp_path / "march")
    both = fk.audit([january, tmp_path / "march"], policy())
    today = re.search(r"\d{4}-\d\d-\d\d", (tmp_path / "march.owner" / "owner.json").read_text())
    said = "january (300 people, written on 2025-01-12)"
    assert any(said in note for note in made.together.notes)
    assert any(f"march (120 people, written on {today[0]})" in note for note in both.notes)
    for path in (tmp_path / "march").iterdir():
        assert not re.search(rf"2025-01-12|{today[0]}|january", path.read_text())
    private.write_text(json.dumps({**kept, "written": "in spring"}))
    both = fk.audit([january, tmp_path / "march"], policy())
    assert any("january (300 people) and" in note for note in both.notes)


def test_a_release_beside_that_was_not_named_is_pointed_at(january, tmp_path, caplog):
    both = [january, tmp_path / "march"]
    fk.publish(register(0, 420), policy(), after=january, seed=1).write(tmp_path / "march")
    others = policy(fk.Requirement(fk.GroupSize(2)), sensitive="sex", quasi_identifiers=["age"])
    fk.publish(register(0, 500), others, seed=1).write(tmp_path / "other columns")
    (tmp_path / "empty.owner").mkdir()
    made = fk.publish(register(0, 500), policy(), after=january, seed=1)
    assert made.since.beside == (("march", 120),)
    assert "march, which was not named, shows 120 of those who are new" in caplog.text
    assert "Look at march, which was not named: it shows 120 of those" in str(made.since)
    fk.forget(tmp_path / "march", "p350")
    assert fk.publish(register(0, 500), policy(), after=january, seed=1).since.beside == (
        ("march", 120),
    )
    assert fk.publish(register(0, 500), policy(), after=both, seed=1).since.beside == ()


def lost(folder):
    """Take away the owner's folder of a release; what gives it back."""
    owner, kept = folder.with_name(f"{folder.name}.owner"), folder.parent / "kept" / "owner"
    kept.parent.mkdir()
    owner.rename(kept)
    return lambda: kept.rename(owner)


@pytest.mark.parametrize("after", [True, False])
def test_lost_owner_folders_are_refused(after, january, tmp_path):
    """Whom march shows is not known, so all of them would be published twice."""
    march, everybody = tmp_path / "march", register(0, 700)
    earlier = {"after": january} if after else {}
    fk.publish(register(300 * (not after), 420), policy(), seed=1, **earlier).write(march)
    give_back = lost(march)
    said = "was published after january" if after else "has the same columns"
    with pytest.raises(fk.InputError, match=f"march' {said}.*Put back the owner's folder"):
        fk.publish(everybody, policy(), after=january, seed=1)
    march.rename(tmp_path / "kept" / "march")
    rest = everybody.take([*range(300), *range(420, 700)])
    assert fk.publish(rest, policy(), after=january, seed=1).since.new == 280
    (tmp_path / "kept" / "march").rename(march)
    give_back()
    assert fk.publish(everybody, policy(), after=[january, march], seed=1).since.new == 280


def test_owner_folders_that_tell_nothing(january, tmp_path):
    fk.publish(register(0, 420), policy(), after=january, seed=1).write(tmp_path / "march")
    shutil.copytree(january, tmp_path / "copy")  # a copy of what is named has no owner's folder
    shutil.copy(
        tmp_path / "january.owner/members.parquet", tmp_path / "march.owner/members.parquet"
    )
    with pytest.raises(fk.InputError, match="parquet' does not tell who is in it"):
        fk.publish(register(0, 500), policy(), after=january)
    shutil.rmtree(tmp_path / "march")
    assert fk.publish(register(0, 500), policy(), after=january, seed=1).since.new == 200


def test_drafts_without_names_are_refused(january, tmp_path):
    fk.publish(register(0, 420), policy(identifiers=[]), seed=1).write(tmp_path / "draft")
    with pytest.raises(fk.InputError, match="draft' has the same columns, was not named"):
        fk.publish(register(0, 500), policy(), after=january)
    other = {"identifiers": [], "sensitive": "sex", "quasi_identifiers": ["age"]}
    shutil.rmtree(tmp_path / "draft")
    others = policy(fk.Requirement(fk.GroupSize(2)), **other)
    fk.publish(register(0, 420), others, seed=1).write(tmp_path / "others")
    assert fk.publish(register(0, 500), policy(), after=january, seed=1).since.new == 200


@pytest.mark.complete
def test_names_that_differ_by_hyphens_alone_are_said_beside_the_verdict(tmp_path):
    fk.publish(named("P-{}".format, register(0, 300)), policy(), seed=1).write(tmp_path / "january")
    made = fk.publish(
        named("P{}".format, register(299, 420)), policy(), after=tmp_path / "january", seed=1
    )
    assert made.since.alike == (("P-p299", "Pp299"),)
    said = "names in two releases, such as"
    assert any(said in note for note in made.together.notes)
    made.write(tmp_path / "march")
    both = [tmp_path / "january", tmp_path / "march"]
    assert any(said in note for note in fk.audit(both, policy()).notes)
    assert "p299" not in (tmp_path / "march" / "report.html").read_text()
    assert not any(said in note for note in fk.audit(both[0], policy()).notes)


def test_a_large_number_is_one_number_however_it_is_written(tmp_path):
    whole = named(lambda name: 10**16 + 100 * int(name[1:]), register(0, 300))
    fk.publish(whole, policy(), seed=1).write(tmp_path / "january")
    floats = named(lambda name: float(10**16 + 100 * int(name[1:])), register(0, 420))
    with pytest.raises(fk.InputError, match="look like one person"):
        fk.publish(floats, policy(), after=tmp_path / "january", seed=1)


def test_a_release_of_everybody_is_refused(january, tmp_path):
    """In Python and in a certificate, with one code."""
    for after in (january, None):
        with pytest.raises(UnsupportedError, match="leave whole out") as caught:
            fk.publish(register(0, 420), policy(), after=after, whole=True)
        assert caught.value.code == "whole-after"
    path = january / "certificate.json"
    certificate = json.loads(path.read_text())
    path.write_text(json.dumps({**certificate, "cohort": "cohort"}))
    with pytest.raises(UnsupportedError, match="leave whole out"):
        fk.verify(january)


def test_the_command_line_says_new_people_and_all_apart(january, tmp_path, monkeypatch, capsys):
    desk = Desk(tmp_path, monkeypatch, capsys)
    place = tmp_path / "table.parquet"
    pq.write_table(register(0, 420), place)
    rules = tmp_path / "policy.toml"
    rules.write_text(
        '[schema]\nidentifiers = ["pid"]\nquasi_identifiers = ["age", "sex"]\nsensitive = "ill"\n'
        "[[require]]\nfacts = { l = 1, k = 1 }\nbelow = 0.8\n"
    )
    out = str(tmp_path / "march")
    given = ["--policy", str(rules), "--out", out, "--after", str(january)]
    said = desk.says("publish", place, *given[:3], f"{out} of new people", *given[4:])
    headlines = re.findall(r"(\S+) (\d+) people in \d+ groups", said)
    assert headlines == [("release", "120"), ("together:", "420")]
    assert "Written is a release of 120 people." in said
    assert fk.verify(f"{out} of new people", after=january).people_of_all == 420
    given[3] = str(tmp_path / "all")
    code, _, told = desk.run("publish", place, *given, "--whole")
    assert code == 2
    assert "leave whole out" in told
    assert not (tmp_path / "all").exists()


def test_values_that_were_escaped_are_the_same_values_in_all_releases(tmp_path):
    """An apostrophe before what looks like a formula is no part of the value."""
    rules = policy(fk.Requirement(fk.Facts(1), below=0.8, values=["=HIV"]))
    table, how = register(0, 420, ills=["=HIV", "Flu", "Cold"]), {"escape_formulas": True}
    fk.publish(table.slice(0, 300), rules, seed=1, **how).write(tmp_path / "january")
    made = fk.publish(table, rules, after=tmp_path / "january", seed=1, **how)
    assert {*made.together.counts.values} == {"=HIV", "Flu", "Cold"}
    made.write(tmp_path / "march")
    both = fk.together([tmp_path / "january", tmp_path / "march"])
    assert {*both.counts.values} == {"=HIV", "Flu", "Cold"}


@pytest.mark.parametrize("secret", [{"any_of": "virus"}, {"at_level": 1}])
def test_a_set_has_the_values_of_all_releases(secret, tmp_path):
    """New people lack some of what its name stands for, and the verifier counts it all the same."""
    ills = ["B20", "B24", "Flu", "Cold", "Asthma", "Cough"]
    kinds = [[ill, "virus" if ill[0] == "B" else f"other {i % 2}"] for i, ill in enumerate(ills)]
    tree = fk.Tree(kinds)
    rules = policy(fk.Requirement(fk.Facts(1), below="0.9", **secret), hierarchies={"ill": tree})
    fk.publish(register(0, 300, ills=ills), rules, seed=1).write(tmp_path / "january")
    table = register(300, 420, ills=[ill for ill in ills if ill != "B24"])
    made = fk.publish(table, rules, after=tmp_path / "january", seed=1)
    made.write(tmp_path / "march")
    fk.verify(tmp_path / "march")
    found = fk.verify(tmp_path / "march", after=tmp_path / "january").together
    assert [each.reached for each in found] == [each.reached for each in made.together.verdicts]


def test_two_tries_of_the_same_new_people_cross(january, tmp_path):
    for name, people in (("one", 420), ("two", 450)):
        made = fk.publish(register(0, people), policy(), after=january, seed=1)
        made.write(tmp_path / name)
    each = [january, tmp_path / "one", tmp_path / "two"]
    with pytest.raises(fk.NotSettled):
        fk.audit(each, policy())
    with pytest.raises(fk.InputError, match="a person is to be published once"):
        fk.publish(register(0, 600), policy(), after=each)
