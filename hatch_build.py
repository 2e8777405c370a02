"""What a package page shows: the README, whose links lead there from anywhere, and addresses.

Where the source lives is said when a package is built to be published, and stands in no file:

    FOREKNOW_ADDRESS=https://example.org/foreknow python -m build

Links of the README to files of the source begin with it. Without it they are plain text, since a
package page has no such files; pictures are left out.
"""

import os
import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

_LINK = re.compile(r"(!?)\[([^\]]*)\]\((?!https?:|#)([^)\s]+)\)")


def page(readme: str, address: str, version: str) -> str:
    """The README as a package page shows it."""

    def link(found: re.Match[str]) -> str:
        picture, text, target = found.groups()
        if not address:
            return "" if picture else text
        kind = "raw" if picture else "blob"
        return f"{picture}[{text}]({address}/{kind}/v{version}/{target})"

    return _LINK.sub(link, readme)


class PackagePage(MetadataHookInterface):
    """The README and the addresses of a package."""

    PLUGIN_NAME = "custom"

    def update(self, metadata: dict[str, Any]) -> None:
        """Set what is dynamic in ``pyproject.toml``, beside the version."""
        address = os.environ.get("FOREKNOW_ADDRESS", "").rstrip("/")
        said = (Path(self.root) / "src/foreknow_judge/_version.py").read_text(encoding="utf-8")
        version = re.search(r'"([^"]+)"', said.partition("__version__")[2])
        readme = (Path(self.root) / "README.md").read_text(encoding="utf-8")
        text = page(readme, address, version[1] if version else "")
        metadata["readme"] = {"content-type": "text/markdown", "text": text}
        if address:
            files = {
                "Documentation": "docs",
                "Changelog": "CHANGELOG.md",
                "Security": "SECURITY.md",
            }
            blob = f"{address}/blob/v{version[1] if version else ''}"
            metadata["urls"] = {
                "Source": address,
                "Issues": f"{address}/issues",
                **{name: f"{blob}/{path}" for name, path in files.items()},
            }
