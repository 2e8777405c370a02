"""Completion: the script by which a shell completes words, shown or installed."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import click
from click.shell_completion import (
    CompletionItem,
    ShellComplete,
    add_completion_class,
    get_completion_class,
    split_arg_string,
)

from foreknow_judge.errors import InputError

# Where each shell reads what is to be done when it starts.
_STARTS = {
    "bash": ".bashrc",
    "zsh": ".zshrc",
    "fish": ".config/fish/config.fish",
    "pwsh": ".config/powershell/Microsoft.PowerShell_profile.ps1",
}
COMPLETE = "_FOREKNOW_COMPLETE"  # the variable by which a shell asks how words go on
_USED = "the shell that is used"
SHELL: dict[str, Any] = {"is_flag": False, "flag_value": _USED, "metavar": "[SHELL]"}


@add_completion_class
class PowerShell(ShellComplete):
    """Completion for PowerShell, as Click has it for other shells."""

    name = "pwsh"
    source_template = """\
Register-ArgumentCompleter -Native -CommandName %(prog_name)s -ScriptBlock {
    param($word, $command, $cursor)
    $Env:%(complete_var)s = "pwsh_complete"
    $Env:COMP_WORDS = $command.ToString()
    $Env:COMP_CWORD = $word
    %(prog_name)s | ForEach-Object {
        [System.Management.Automation.CompletionResult]::new($_, $_, "ParameterValue", $_)
    }
    $Env:%(complete_var)s = ""
}
"""

    def get_completion_args(self) -> tuple[list[str], str]:
        """Whole words, and the one that is being written."""
        begun = os.environ["COMP_CWORD"]
        words = split_arg_string(os.environ["COMP_WORDS"])[1:]
        return words[:-1] if begun else words, begun

    def format_completion(self, item: CompletionItem) -> str:
        """A line for each."""
        return str(item.value)


def script(app: click.Command, shell: str) -> str:
    """The script that makes a shell complete words."""
    completion = get_completion_class(_shell_named(shell))
    assert completion is not None
    return completion(app, {}, "foreknow", COMPLETE).source()


def install(app: click.Command, shell: str) -> str:
    """Have a shell run the completion script when it starts; return a line on what was written."""
    shell = _shell_named(shell)
    script_path = Path.home() / ".config" / "foreknow" / f"completion.{shell}"
    starts = Path.home() / _STARTS[shell]
    line = f'{"." if shell == "pwsh" else "source"} "{script_path}"'
    for path in (script_path, starts):
        path.parent.mkdir(parents=True, exist_ok=True)
    script_path.write_text(script(app, shell), encoding="utf-8")
    # A second time nothing is added.
    before = starts.read_text(encoding="utf-8") if starts.exists() else ""
    if line not in before.splitlines():
        with starts.open("a", encoding="utf-8") as file:
            file.write(f"\n{line}\n")
    return f"Written to {script_path}, which {starts} runs. It works from the next {shell} on."


def _shell_named(shell: str) -> str:
    """The shell of a name; an error if it is not known."""
    if shell == _USED:
        shell = Path(os.environ.get("SHELL", "pwsh" if os.name == "nt" else "")).name
    shell = {"powershell": "pwsh"}.get(shell, shell)
    if shell not in _STARTS:
        raise InputError(f"say which shell it is for: {', '.join(_STARTS)}")
    return shell
