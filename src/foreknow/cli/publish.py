"""The commands `publish`, `verify`, `evidence` and `demo`: make a release, and judge it."""

from __future__ import annotations

import shlex
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from foreknow.cli.command import command
from foreknow.cli.inputs import (
    Rules,
    attack_on,
    policy_at,
)
from foreknow.cli.options import UNSAFE, Choice, ForwardedOptions, Memory, Only, Quiet, Raw
from foreknow.cli.terminal import console, print_plain, progress, say_readings
from foreknow.publishing.notes import WEIGHTED
from foreknow.wording import unit_counted
from foreknow_judge.errors import InputError
from foreknow_judge.files.printable import encodable, one_line, visible
from foreknow_judge.text import some

if TYPE_CHECKING:
    from rich.console import Console

    from foreknow.policy.policy import Policy


@dataclass(frozen=True)
class Folder:
    """The options that say where a release is written, and what for.

    Parameters
    ----------
    out
        A folder that does not exist yet (default TABLE.release).
    owner
        The new folder for files that only you may see (default OUT.owner).
    key
        Sign with this private Ed25519 key (needs the extra sign).
    dry_run
        Make the release and judge it, but write nothing.
    verbose
        Print how each column was read: as numbers, dates or texts.
    quiet
        Print nothing but errors.
    """

    out: Path | None = None
    owner: Path | None = None
    key: Path | None = None
    dry_run: bool = False
    verbose: bool = False
    quiet: bool = False

    def publish(
        self, table: Path, rules: Policy, policy: Path | None = None, **options: Any
    ) -> None:
        """Publish a table here, and print the audit, the notes and the files.

        `policy` is the path of the policy file, if it has one.
        """
        from foreknow.atomic_files import require_new
        from foreknow.publishing.publish import folders_of
        from foreknow.publishing.publish import publish as make
        from foreknow.publishing.signature import Signer
        from foreknow.result_pages import page_of

        out, owner = folders_of(_release_folder(table, self.out), self.owner)
        # The folders must be new, which is checked before there is work.
        if not self.dry_run:
            require_new(out, owner)
        if self.key is not None:
            Signer(self.key)  # a key that does not do is refused before there is work
        with progress("Reading the table", self.quiet):
            microdata = rules.microdata(table)
            publication = make(microdata, rules, **options)
            if not self.dry_run:
                publication.write(out, owner, key=self.key)
        if self.quiet:
            return
        say_readings(microdata, self.verbose)
        # Published after others: a line on this release first, then all releases together.
        if publication.together is not None:
            console().print(page_of(publication.audit).top())
            print_plain("")
        audit = publication.audit if publication.together is None else publication.together
        console().print(page_of(audit, attack=attack_on([out], policy, rules, table)))
        if publication.together is not None:
            unit = unit_counted(publication.certificate.in_cases)
            counted = some(publication.counts.n_people, unit.singular, unit.plural)
            print_plain(f"{visible(str(publication.since))} The new release has {counted}.")
        for note in publication.certificate.notes:
            if note == WEIGHTED:  # the audit's page says it
                continue
            print_plain(f"{visible(f'Note: {note}')}.")
        for advice in publication.advice:
            print_plain(f"{visible(advice)}.")
        if self.dry_run:
            print_plain("\nNothing was written; without --dry-run it would be, to a folder.")
            return
        self._say_files(out, owner)

    @staticmethod
    def _say_files(out: Path, owner: Path) -> None:
        """Print the files that were written, and what each is for; also those for the owner."""
        from foreknow_judge.files import file_names

        notes = {
            file_names.CERTIFICATE: "what was required and found, for foreknow verify",
            file_names.SIGNATURE: "your signature of it, for foreknow verify --key",
            file_names.CODE_BOOK: "what the columns hold, for other programs",
            file_names.REPORT: "explains the release",
            file_names.MEMBERS: "who is in which group, for foreknow ask and attack",
            file_names.LATTICE: "which generalizations hold the policy, and which not",
            file_names.OWNER: "the key of the source's digest",
            file_names.PRIORS: "the priors that were learned; verify asks for them",
            **dict.fromkeys(
                file_names.NEWCOMERS,
                "the rows published here, for utility and evidence",
            ),
        }
        # The release's own tables, which have no note, come first.
        order = list(notes)
        for folder, begins in ((out, "Written to"), (owner, "For you only, in")):
            print_plain(f"\n{begins} {visible(folder)}:", soft_wrap=True)
            names = sorted(path.name for path in folder.iterdir())
            for name in sorted(names, key=lambda n: order.index(n) if n in order else -1):
                print_plain(f"  {name:<20} {notes.get(name, 'the release')}")


def _release_folder(table: Path, out: Path | None) -> Path:
    """The folder of a release: the one that is named, or else one with the table's name.

    A name that ends with .csv is taken for the folder's without its ending, and that is said.
    """
    from foreknow.data.columns.reading_rules import is_address

    if out is None:
        has_name = not is_address(table) and table.stem not in ("", "-")
        return Path(f"{table.stem}.release" if has_name else "release")
    if out.suffix.lower() == ".csv" and not out.exists():
        folder = out.with_suffix("")
        line = f"A release is a folder, with its table in it: {visible(str(folder))}"
        print(line, file=sys.stderr, flush=True)
        return folder
    return out


@command("foreknow.publishing.publish:publish")
def publish(
    table: Raw,
    *,
    rules: Rules,
    folder: Folder,
    choice: Choice,
    memory: Memory = None,
    forwarded: Annotated[ForwardedOptions, Only(("seed", "engine", "after", "whole"))],
) -> None:
    """Make a release that the policy allows, with a certificate.

    Writes the folder OUT: the release, certificate.json, datapackage.json and report.html. All of
    it may be published. Writes the folder OUT.owner, for you only: the key of the source's digest,
    who is in which group, and what the method reports about the table.
    """
    from foreknow.data.tables.formats.databases import limit_memory

    limit_memory(memory)
    folder.publish(table, choice.over(rules.rules(table)), rules.policy, **forwarded)


@command("foreknow.written_releases.members:forget")
def forget(
    folder: Annotated[Path, "A folder of foreknow publish."],
    *,
    person: Annotated[list[str], "The name of somebody as it prints; may be repeated."],
    members: Path | None = None,
) -> None:
    """Erase names of people from the owner's file of a release, and still recognize them.

    Each name is replaced by a hash with the owner's key, so that nobody who comes back is published
    twice. The file newcomers.csv, which copies rows of the table, is removed.

    Parameters
    ----------
    members
        The owner's members.parquet (default FOLDER.owner/members.parquet).
    """
    from foreknow.written_releases.members import forget as erase

    erase(folder, person, members=members)


@command("foreknow.publishing.verification:verify")
def verify(
    certificate: Annotated[Path, "The certificate.json of a release, or its folder."],
    release: Annotated[Path | None, "The release or its folder; beside it when left out."] = None,
    *,
    policy: Path | None = None,
    evidence: Path | None = None,
    quiet: Quiet = False,
    forwarded: ForwardedOptions,
) -> int:
    """Judge a written release afresh and compare it with its certificate.

    The certificate is not trusted: the printed figures are computed from the files. With --key, the
    owner of that key must have signed certificate.json.

    Parameters
    ----------
    evidence
        A page of foreknow evidence, signed with the same key.
    """
    from foreknow_judge.files.file_names import OWNER

    if release is not None and (release / OWNER).is_file():
        raise InputError(
            f"{visible(str(release))} is for you only, and is not verified: foreknow verify "
            f"{visible(shlex.quote(str(certificate)))}"
        )
    return verify_release(certificate, release, policy, evidence, quiet, **forwarded)


def verify_release(
    certificate: Path,
    release: Path | None = None,
    policy: Path | None = None,
    evidence: Path | None = None,
    quiet: bool = False,
    key: Path | None = None,
    after: list[Path] | None = None,
    **options: Any,
) -> int:
    """Judge a release afresh, print what was found, and return the exit code.

    `certificate` may be the folder or a file of the release; `key` is the public key of who must
    have signed; `evidence` is a page signed by the same key.
    """
    from rich.console import Console

    from foreknow.publishing.signature import check_signature
    from foreknow.publishing.verification import judge, load_signed
    from foreknow.result_pages import page_of
    from foreknow_judge.files.file_names import CERTIFICATE

    # The certificate may be named by its folder, or by any file beside it.
    if certificate.is_dir():
        certificate = certificate / CERTIFICATE
    elif certificate.suffix != ".json" and certificate.with_name(CERTIFICATE).is_file():
        certificate = certificate.with_name(CERTIFICATE)  # a file of the release
    if evidence is not None:
        if key is None:
            raise InputError("--evidence checks a signature; add --key FILE, the public key")
        check_signature(evidence, key)
    signed_certificate, _ = load_signed(certificate, key)
    loaded_policy = None if policy is None else policy_at(policy)
    with progress("Judging the release afresh", quiet):
        release_path = release or certificate.parent
        verification, problems = judge(
            signed_certificate, release_path, loaded_policy, **options, after=after
        )
    for problem in problems:
        _say_line(Console(stderr=True), problem, "bold red")
    if verification is not None and not problems and not quiet:
        console().print(
            page_of(verification, attack=attack_on([certificate.parent], policy, loaded_policy))
        )
        if loaded_policy is not None and loaded_policy.tries:
            arguments = shlex.join([str(certificate.parent), "TABLE", "--policy", str(policy)])
            _say_line(
                console(),
                f"The trials of {policy} were not run; to run them: foreknow learned {arguments}",
            )
        signed = []
        for path in (certificate, evidence):
            if path is not None:
                signed.append(path.name)
        signed += verification.unchanged
        if key is not None:
            _say_line(console(), f"Signed by the owner of {key.name}: {', '.join(signed)}.")
    return UNSAFE if problems else 0


@command()
def demo(
    folder: Annotated[Path, "Where to write; must not exist."] = Path("foreknow-demo"),
    *,
    seed: Annotated[int | None, "A seed for the order of rows."] = None,
) -> int:
    """Run the main job on the bundled sample, end to end: publish, audit, verify."""
    from foreknow import sample
    from foreknow.policy.policy import Policy
    from foreknow_judge.files.file_names import CERTIFICATE

    for name, path in (("Table: ", sample.table_path()), ("Policy:", sample.policy_path())):
        print_plain(f"{name} {path}", soft_wrap=True)
    print_plain("")
    rules = Policy.load(sample.policy_path())
    Folder(folder).publish(sample.table_path(), rules, sample.policy_path(), seed=seed)
    print_plain("")
    return verify_release(folder / CERTIFICATE, folder)


def _say_line(say: Console, text: str, style: str = "") -> None:
    """Print one line that may quote anybody's file."""
    line = encodable(one_line(text), say.encoding)
    say.print(line, style=style, markup=False, highlight=False, soft_wrap=True)
