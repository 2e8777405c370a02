"""What other tests have from here: it moved to `tests/judge/test_priors.py`."""

from tests.judge.test_priors import written as written
