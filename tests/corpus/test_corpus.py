"""A fixed corpus of small tables, policies, methods and seeds gives what it gave before.

What a case gives is plain values, so that a rebuild of the code can be held against what the code
gave before, byte for byte. Messages are left out on purpose: only the kind of an error counts.
``python -m tests.corpus.test_corpus`` writes digests.json anew, only on purpose.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import io
import json
import os
import tempfile
from fractions import Fraction
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pc
import pytest

import foreknow as fk

N_CASES = 200
_DISEASES = ["flu", "cancer", "AIDS", "asthma", "mumps"]
_SEVERITY = ["none", "mild", "moderate", "severe"]
_LIMITS = ["1/3", "1/2", "3/5", "2/3", "3/4", "4/5", "9/10", "1"]
_SEVERAL = ["mondrian", "mondrian-1"]  # serve people with several values, too
_METHODS = {
    "mondrian": {},
    "mondrian-1": {"cuts": 1},
    "fulldomain": {},
    "fulldomain-share": {"suppression": "1/10"},
    "fulldomain-minimal": {"find": "minimal"},
    "fulldomain-height": {"objective": "height"},
    "anatomy": {"l": 2},
    "streamliner-rda": {"l": 2, "variant": "rda"},
    "streamliner-ria": {"l": 2, "variant": "ria"},
    "streamliner-gda": {"l": 2, "variant": "gda"},
    "streamliner-gsa": {"l": 2, "variant": "gsa"},
    "safe": {},
    "naive": {},
    "jump": {},
    "art": {},
}


def outcome(number: int) -> dict[str, object]:
    """Everything that comes of one case, as plain values."""
    random = np.random.default_rng([20_261_122, number])
    semantics = ["single", "single", "single", "set", "multiset"][int(random.integers(5))]
    table, schema = _table(random, semantics)
    results: dict[str, object] = {"semantics": semantics, "people": table.num_rows}
    for i in range(5):
        results[f"publish {i}"] = _attempt(_publish, random, table, schema)
    results["groups"] = _attempt(_groups, random, table, schema)
    return json.loads(json.dumps(results, default=str))


def digest(value: object) -> str:
    """A short digest of plain values."""
    text = json.dumps(value, sort_keys=True, ensure_ascii=False)
    return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()


def digests(number: int) -> dict[str, str]:
    """A digest of each part of what comes of a case."""
    return {part: digest(found) for part, found in outcome(number).items()}


def _attempt(run, *arguments):
    """What a run gives, or the kind of its error."""
    try:
        return run(*arguments)
    except fk.ForeknowError as error:
        return {"error": type(error).__name__}


# ---- tables -------------------------------------------------------------------------------------


def _table(random, semantics):
    n = int(random.integers(4, 41))
    columns = {
        "age": random.integers(18, 80, n).tolist(),
        "zip": [f"{x:05d}" for x in random.choice([10115, 10117, 10243, 12047, 20095], n)],
        "sex": random.choice(["F", "M"], n).tolist(),
        "job": [None if x == 3 else "abc"[x] for x in random.integers(0, 4, n)],
        "born": [dt.date(1950, 1, 1) + dt.timedelta(int(d)) for d in random.integers(0, 9999, n)],
        "severity": random.choice(_SEVERITY, n).tolist(),
    }
    known = {
        "age": fk.Intervals([5, 10, 20]),
        "zip": fk.Mask(5),
        "born": fk.DateLevels(),
        "severity": fk.Ordered(_SEVERITY),
    }
    chosen = random.permutation(list(columns))[: int(random.integers(1, 4))].tolist()
    hierarchies = {name: known[name] for name in chosen if name in known and random.random() < 0.6}
    weights = random.dirichlet(np.full(len(_DISEASES), 2.0))
    draw = lambda size: random.choice(_DISEASES, size, p=weights).tolist()  # noqa: E731
    values = {name: columns[name] for name in chosen}
    if semantics == "single":
        values["disease"] = draw(n)
    else:
        held = [draw(int(random.integers(0, 4))) for _ in range(n)]
        held = [sorted(set(some)) if semantics == "set" else some for some in held]
        held[0] = held[0] or ["flu"]
        values["disease"] = pa.array(held, pa.list_(pa.string()))
    values["note"] = [f"n{i % 7}" for i in range(n)]
    schema = fk.Schema(
        quasi_identifiers=chosen,
        sensitive="disease",
        semantics=semantics,
        hierarchies=hierarchies,
        other=["note"] if random.random() < 0.3 else [],
    )
    return pa.table(values), schema


def _adversary(random, method, several):
    if method in ("safe", "naive", "jump"):
        return fk.Facts(l=int(random.integers(2)))
    if method in ("anatomy", "streamliner"):
        return fk.Facts()  # they promise nothing of any other
    kind = random.choice(["facts", "facts", "facts", "implications", "negations"])
    kind = "facts" if several else kind
    a, b, c = (int(x) for x in random.choice(3, 3, p=[0.6, 0.3, 0.1]))
    return {
        "facts": lambda: fk.Facts(l=a, k=b, m=c),
        "implications": lambda: fk.Implications(k=a),
        "negations": lambda: fk.Negations(k=a),
    }[kind]()


def _policy(random, schema, method, options):
    required = []
    for i in range(int(random.integers(1, 3))):
        limit = _LIMITS[int(random.integers(len(_LIMITS)))]
        about = {"excluded": ["flu"]} if random.random() < 0.3 else {}
        required.append(
            fk.Requirement(
                _adversary(random, method, schema.semantics != "single"),
                below=limit,
                name=f"r{i}",
                knowing=[],
                **about,
            )
        )
    return fk.Policy(required, schema, options)


# ---- what comes of them -------------------------------------------------------------------------


def _publish(random, table, schema):
    methods = list(_METHODS) if schema.semantics == "single" else _SEVERAL
    method = methods[int(random.integers(len(methods)))]
    name, settings = method.partition("-")[0], dict(_METHODS[method])
    if "suppression" in settings:
        settings["suppression"] = 0.1
    form = ["generalized", "generalized", "bucketized"][int(random.integers(3))]
    form = "bucketized" if name in ("anatomy",) else form
    kind = ["csv", "parquet"][int(random.integers(2))]
    seed = int(random.integers(1000))
    options = fk.PublishOptions(
        method=name,
        form=form,
        format=kind,
        labels=_insisted(schema),
        settings={name: settings} if settings else {},
    )
    said = {"method": method, "form": form}
    try:
        if name == "art":
            policy = _art_policy(random, table, schema, options)
        else:
            policy = _policy(random, schema, name, options)
        publication = fk.publish(fk.Microdata(table, schema), policy, seed=seed)
    except fk.ForeknowError as error:
        return {**said, "error": type(error).__name__}
    certificate = publication.certificate
    said["tables"] = {part: _csv(rows) for part, rows in publication.tables.items()}
    said["verdicts"] = _verdicts(publication.audit)
    said["certificate"] = [
        certificate.people,
        certificate.n_groups,
        certificate.minimal,
        [[f.get("below", f.get("at_most")), f["exact"], f["safe"]] for f in certificate.findings],
    ]
    with tempfile.TemporaryDirectory() as folder:
        written = publication.write(Path(folder) / "out")
        said["files"] = sorted(written.files)
        if kind == "csv":
            said["digests"] = dict(written.files)
        said["check"] = written.check(Path(folder) / "out")
    return said


def _insisted(schema):
    """Texts of few people each are listed, since the tables are that small."""
    texts = {"zip", "sex", "job", "severity"}.intersection(schema.quasi_identifiers)
    return dict.fromkeys(texts.difference(schema.hierarchies), "exact")


def _art_policy(random, table, schema, options):
    attribute = schema.quasi_identifiers[0]
    frame = _chances(random, attribute, table)
    priors = fk.Priors(frame, semantics="joint")
    return fk.Policy([fk.Requirement(priors, at_most="97/100")], schema, options)


def _chances(random, attribute, table):
    """Priors by one attribute: a row for each of its values and each disease."""
    known = sorted({str(x) for x in table[attribute].to_pylist() if x is not None})
    weights = random.integers(1, 9, (len(known), len(_DISEASES)))
    return pa.table(
        {
            attribute: [row for row in known for _ in _DISEASES],
            "value": _DISEASES * len(known),
            "probability": [str(Fraction(int(w), int(row.sum()))) for row in weights for w in row],
        }
    )


def _verdicts(audit):
    return [
        [
            v.safe,
            str(v.disclosure.exact),
            str(v.disclosure.value),
            f"{v.disclosure.probability:.12g}",
        ]
        for v in audit.verdicts
    ]


def _csv(rows):
    out = io.BytesIO()
    plain = pa.table({name: rows[name].cast(pa.string()) for name in rows.column_names})
    pc.write_csv(plain, out)
    return out.getvalue().decode()


def _groups(random, table, schema):
    """Disclosures, skylines, curves and utility of groups at random."""
    microdata = fk.Microdata(table, schema)
    _, groups = np.unique(random.integers(0, 4, microdata.n_people), return_inverse=True)
    counts = microdata.counts(groups)
    said = {}
    for l in range(3):  # noqa: E741
        for k in range(3):
            m = (l + k) % 3
            said[f"facts {l} {k} {m}"] = _exacts(fk.Facts(l=l, k=k, m=m), counts)
    said["skylines"] = str(fk.knowledge_skylines(counts, confidence=0.8))
    if counts.semantics == "single":
        for k in range(4):
            said[f"implications {k}"] = _exacts(fk.Implications(k=k), counts)
            said[f"negations {k}"] = _exacts(fk.Negations(k=k), counts)
    return said


def _exacts(adversary, counts):
    return {str(v): str(d.exact) for v, d in adversary.disclosures(counts).items()}


if __name__ == "__main__":
    found = {str(number): digests(number) for number in range(N_CASES)}
    path = Path(__file__).with_name("digests.json")
    path.write_text(json.dumps(found, indent=0) + "\n", "utf-8")


# what the fixed corpus gives today is what it gave before, byte for byte where a seed fixes it.

KNOWN = json.loads((Path(__file__).with_name("digests.json")).read_text("utf-8"))
NIGHTLY = os.environ.get("FOREKNOW_NIGHTLY") == "1"


def test_the_corpus_is_whole():
    assert sorted(map(int, KNOWN)) == list(range(N_CASES))


@pytest.mark.parametrize("number", range(0, N_CASES, 1 if NIGHTLY else 40))
def test_case_gives_what_it_gave(number):
    assert digests(number) == KNOWN[str(number)]
