"""Read `__init__.pyi` for the documentation: a name of it that is also a package is the package."""

from typing import Any

import griffe


class KeepPackages(griffe.Extension):
    """Leave out the names of a stub that would take the place of a package beside it."""

    def on_module_members(self, *, mod: griffe.Module, **_: Any) -> None:
        """Drop `utility = utility_report`, as there is also the package `foreknow.utility`."""
        if mod.filepath.suffix == ".pyi":
            for name in list(mod.members):
                if (mod.filepath.parent / name / "__init__.py").is_file():
                    mod.del_member(name)
