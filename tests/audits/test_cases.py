"""Audits as cases: a table, a policy, and what each door says of it; read from TOML files.

In a table, a text has one value for each letter. `says` has a door and what comes of it: "safe",
"unsafe", the highest chance ("reaches 1/2"), the code of a refusal ("code no-rules") or a part of
its words. What `publish` writes by the policy is read by `verify`, by an audit of the `folder`, and
by one of its table alone (`csv`). With a `reader`, doors judge by that policy, and the other one is
the publisher's. EACH stands for each of a list, or `names` for those of each row; `every` holds for
all cases of a file.
"""

import json
import tomllib
from pathlib import Path

import pyarrow as pa
import pytest

import foreknow as fk

FOLDER = Path(__file__).with_name("cases")


def expanded(case):
    """The same case for each of what it is about."""
    text = json.dumps({name: own for name, own in case.items() if name not in ("each", "names")})
    names = case.get("names", ["EACH"])
    for row in case.get("each", [[]]):
        filled = text
        for name, own in zip(names, row if isinstance(row, list) else [row], strict=False):
            filled = filled.replace(f'"{name}"', json.dumps(own))
            if isinstance(own, str):
                filled = filled.replace(name, json.dumps(own)[1:-1])
        yield json.loads(filled)


def cases():
    """Every case of the files, by the file and what it shows."""
    for path in sorted(FOLDER.glob("*.toml")):
        document = tomllib.loads(path.read_text("utf-8"))
        for case in document["case"]:
            for number, one in enumerate(expanded({**document.get("every", {}), **case})):
                yield pytest.param(one, id=f"{path.stem}: {one['why'][:60]} {number}")


def policy_of(tables):
    """The policy of a case or of its reader."""
    tables = {"require": [], **tables}
    if "asked" in tables:
        tables["require"] = [{**tables["asked"], **tables["also"]}]
    return fk.Policy.from_dict({name: tables[name] for name in tables if name in POLICY})


POLICY = ("schema", "require", "publish")


class Doors:
    """A case, and the folder that was published of it."""

    def __init__(self, case, folder):
        self.case, self.folder = case, folder
        columns = case.get("table", {}).items()
        self.table = pa.table({name: [*own] for name, own in columns})
        if "bags" in case:
            self.table = fk.GroupCounts.from_bags(case["bags"])
        self.reader = {**case, **case.get("reader", {})}

    def policy(self):
        policy_of(self.reader)

    def audit(self):
        return fk.audit(self.table, policy_of(self.reader), learned=False)

    def ledger(self):
        return policy_of(self.reader).ledger(self.table.values)

    def publish(self):
        return fk.publish(self.table, policy_of(self.reader), seed=1, learned=False).audit

    def written(self):
        """The folder, which is made once."""
        if not self.folder.exists():
            made = fk.publish(self.table, policy_of(self.case), seed=1, learned=False)
            made.write(self.folder)
        return self.folder

    def verify(self):
        folder = self.written()
        return (
            fk.verify(folder, policy_of(self.reader))
            if "reader" in self.case
            else fk.verify(folder)
        )

    def folder_audited(self):
        return fk.audit(self.written(), policy_of(self.reader), learned=False)

    def csv(self):
        return fk.audit(self.written() / "release.csv", policy_of(self.reader), learned=False)


def reached(said):
    """The highest chance of an audit or a verification."""
    if not isinstance(said, fk.Audit):
        return said.findings[0].reached
    verdict = said.verdicts[0]
    return verdict.disclosure.exact if verdict.reached is None else verdict.reached


@pytest.mark.parametrize("case", [*cases()])
def test_every_door_says_it(case, tmp_path):
    doors = Doors(case, tmp_path / "out")
    for door, expected in case["says"].items():
        judge = doors.folder_audited if door == "folder" else getattr(doors, door)
        if expected in ("safe", "unsafe"):
            assert getattr(judge(), "safe", True) is (expected == "safe"), door
        elif expected.startswith("reaches ") and "," not in expected:
            assert str(reached(judge())) == expected.removeprefix("reaches "), door
        else:
            with pytest.raises(fk.ForeknowError) as caught:
                judge()
            code = f"code {getattr(caught.value, 'code', None)}"
            for part in expected.split(" .* "):
                assert part in (code, str(caught.value)) or part in str(caught.value), door
