"""The progress line: only on terminals, only after a while, never left behind."""

import io
import logging
import time

import pytest
from rich.console import Console

from foreknow.report.console import progress


@pytest.fixture
def terminal():
    return Console(file=io.StringIO(), force_terminal=True, width=60)


def shown(console):
    return console.file.getvalue()


def await_shown(console, text):
    """Wait until a thread has drawn it."""
    until = time.monotonic() + 60
    while text not in shown(console):
        assert time.monotonic() < until, f"{text!r} is not shown"
        time.sleep(0.01)


def test_the_latest_message_is_shown_and_vanishes(terminal):
    log = logging.getLogger("foreknow.somewhere")
    before = logging.getLogger("foreknow").handlers[:]
    with progress("Publishing", console=terminal, delay=0):
        log.info("counted %d groups[red]", 12)
        await_shown(terminal, "Publishing: counted 12 groups[red]")
    assert shown(terminal).rstrip().endswith("\x1b[2K")  # the line is erased
    assert logging.getLogger("foreknow").handlers == before
    assert logging.getLogger("foreknow").level == logging.NOTSET
    assert logging.getLogger("foreknow").propagate


def test_quick_work_stays_quiet(terminal):
    with progress("Publishing", console=terminal):
        logging.getLogger("foreknow").info("quick")
    assert shown(terminal) == ""


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_an_error_passes_through_and_leaves_nothing_behind(terminal, error):
    def broken():
        with progress("Publishing", console=terminal, delay=0):
            await_shown(terminal, "Publishing")
            raise error

    with pytest.raises(error):
        broken()
    assert not logging.getLogger("foreknow").handlers
    size = len(shown(terminal))
    time.sleep(0.15)
    assert len(shown(terminal)) == size
    assert shown(terminal).endswith("\x1b[2K") or "\x1b[?25h" in shown(terminal)


def test_nothing_where_standard_error_is_no_terminal(capsys):
    with progress("Publishing", delay=0):
        logging.getLogger("foreknow").info("unseen")
        time.sleep(0.1)
    assert capsys.readouterr() == ("", "")


def test_warnings_go_where_they_would_have_gone_and_infos_do_not(terminal, caplog):
    with progress("Publishing", console=terminal):
        logging.getLogger("foreknow").info("inner")
        logging.getLogger("foreknow").warning("outer")
    assert [record.getMessage() for record in caplog.records] == ["outer"]
