"""Write what the corpus gives to digests.json: ``python -m tests.corpus``, only on purpose."""

import json
from pathlib import Path

from tests.corpus.cases import N_CASES, digests

found = {str(number): digests(number) for number in range(N_CASES)}
Path(__file__).with_name("digests.json").write_text(json.dumps(found, indent=0) + "\n", "utf-8")
