"""Temporary."""

from foreknow.auditing import *  # noqa
from foreknow.auditing import Audit, Verdict, audit, group_name, as_json  # noqa
