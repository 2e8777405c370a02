"""Every fault can be planted, and is noticed by a test that is named beside it."""

from datetime import date
from pathlib import Path

import pytest
from tests.faults.faults import FAULTS, FaultError
from tests.faults.plant import edited
from tests.faults.runner import ROOT, noticed

of_each = pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
# By day one of these shows that the runner works: they are noticed within seconds.
QUICK = ["unseen-marks", "refused-shuffled-known", "window-others", "rule-spelt-otherwise"]
FILES = sorted({name for fault in FAULTS.values() for name in fault.among.split()})


def source_of(fault):
    """The source of the module that holds a fault."""
    module = fault.place.partition(":")[0]
    return (ROOT / "src" / f"{module.replace('.', '/')}.py").read_text("utf-8")


@of_each
def test_it_can_be_planted(fault):
    compile(edited(source_of(fault), fault), fault.place, "exec", dont_inherit=True)
    assert [path for path in fault.tests if not Path(ROOT, path).is_file()] == []


def test_no_two_are_alike():
    assert len({(fault.place, fault.text, fault.instead) for fault in FAULTS.values()}) >= 60


@pytest.mark.parametrize("changed", [{"text": "no such text"}, {"place": "verdict:Limit.gone"}])
def test_a_stale_fault_is_refused(changed):
    fault = FAULTS["limit-reached"]
    with pytest.raises(FaultError, match=r"^limit-reached: .* (times|gone)"):
        edited(source_of(fault), fault._replace(**changed))


def test_one_is_noticed_today():
    name = QUICK[date.today().toordinal() % len(QUICK)]
    assert noticed(FAULTS[name]).by is not None


def without_a_fault(name):
    """What fails in a file of tests when a text is replaced by itself."""
    fault = FAULTS["limit-reached"]
    return noticed(fault._replace(instead=fault.text, among=name)).by


def test_what_is_right_passes():
    assert without_a_fault("adversaries/test_conformance") is None


@pytest.mark.slow
@pytest.mark.parametrize("name", FILES)
def test_file_passes_without_a_fault(name):
    assert without_a_fault(name) is None


@pytest.mark.slow
@of_each
def test_it_is_noticed(fault):
    assert noticed(fault).by is not None
