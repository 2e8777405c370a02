"""The folder of a release: it holds the certified files, and nothing else that may be data."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from foreknow_judge.certificate import Certificate, digest_of, files_of
from foreknow_judge.errors import InputError
from foreknow_judge.files.file_names import CODE_BOOK, LATTICE, MEMBERS, OWNER, PRIORS, REPORT

FOR_THE_OWNER = frozenset((LATTICE, OWNER, PRIORS, MEMBERS))


# Documents may lie beside a release; every other file may be a table.
_SUFFIXES = "md rst pdf png jpg jpeg svg sig asc cff toml"
_DOCUMENTS = (
    "readme license licence copying notice authors changelog citation .ds_store desktop.ini "
    ".gitignore .gitattributes"
)
_TABLES = ("release", "people", "sensitive")


def paths_of(folders: Any) -> list[Path]:
    """The folders of releases that `after` names, as a list."""
    listed = folders if isinstance(folders, (list, tuple)) else [folders]
    for folder in listed:
        if not isinstance(folder, (str, Path)):
            raise InputError("wrong-after", folder)
    return [Path(folder) for folder in listed]


def names_apart(names: Sequence[str], *taken_names: str) -> list[str]:
    """Distinct names for releases: a repeated or taken name gets a number.

    >>> names_apart(["rel", "rel", "this"], "this")
    ['rel', 'rel (2)', 'this (2)']
    """
    distinct_names: list[str] = []
    for name in names:
        candidate, number = name, 1
        while candidate in (*distinct_names, *taken_names):
            number += 1
            candidate = f"{name} ({number})"
        distinct_names.append(candidate)
    return distinct_names


def uncertified(folder: Path, names_beside: Sequence[str]) -> Iterator[str]:
    """Yield messages about files beside a release that may be data and were not judged.

    `names_beside` are names of files and folders in `folder`. A folder has one message at most.
    """
    known_names = {REPORT, *FOR_THE_OWNER}
    for name in names_beside:
        path = folder / name
        inside = path.is_dir() and not path.is_symlink()
        files = [] if inside else [path]
        for directory, _, file_names in os.walk(path) if inside else ():
            files += map(Path(directory).joinpath, file_names)
        for file in files:
            if file.name == MEMBERS:  # the worst: it says who is in which group
                yield (
                    f"{file.relative_to(folder)} lies in the folder of the release, and says who "
                    "is in which group: it is for the owner only; move it elsewhere"
                )
                break
            if (inside or name not in known_names) and not _is_document(file):
                yield (
                    f"{str(file.relative_to(folder))!r} lies beside the release, is no document "
                    "such as README.md, and is not certified: nothing has judged it; move it "
                    "elsewhere"
                )
                break


def changed_files(
    certificate: Certificate,
    paths: Mapping[str, list[Path]],
    opened_paths: Mapping[Path, Path],
    release: Path,
) -> Iterator[str]:
    """Yield messages about files whose digests are not the certified ones.

    `paths` are the files of each table; `opened_paths` has for each a path that stays the file that
    was opened. Only the file that was named as the `release` may be a link.
    """
    for table, part_paths in paths.items():
        names = files_of(table, certificate.format, certificate.files)
        yield from strange_parts(part_paths[0].parent, names)
        for name, path in zip(names, part_paths, strict=True):
            if path.is_symlink() and path is not release:
                yield f"{path.name} is a link, and no file of the folder"
            yield from _not_as_certified(opened_paths[path], certificate.files[name])


def _not_as_certified(path: Path, digest: str) -> Iterator[str]:
    if digest_of(path) != digest:
        yield f"{path.name} is not the file that was certified (digest differs)"


def wrong_companions(
    certificate: Certificate, release: Path, folder: Path, names_beside: Sequence[str]
) -> Iterator[str]:
    """Yield messages if the report or the code book is missing or not as certified.

    Both belong to the folder of a release; `names_beside` are the names of other files there.
    """
    for name, digest in ((REPORT, certificate.report), (CODE_BOOK, certificate.code_book)):
        path = folder / name
        # A single file may be judged without its folder.
        if digest is None or (release.is_file() and name not in names_beside):
            continue
        if path.is_symlink():
            yield f"{name} is a link, and no file of the folder"
        elif not path.is_file():
            yield f"{name} is missing, which was certified; it belongs to the release"
        else:
            yield from _not_as_certified(path, digest)


def _is_document(path: Path) -> bool:
    """True if a name is that of a document, and not of a part of a release."""
    name = path.name.lower()
    stem, *suffixes = name.split(".")
    is_document = bool(suffixes) and suffixes[-1] in _SUFFIXES.split()
    return name in _DOCUMENTS.split() or (stem not in _TABLES and is_document)


def strange_parts(folder: Path, names: Sequence[str]) -> Iterator[str]:
    """Yield messages about files in a folder of parts of a table that are none of its parts.

    Programs that read such a folder take every file, so another one would be read as data.
    """
    part_names = {name.partition("/")[2] for name in names}
    if part_names == {""} or not folder.is_dir():  # the table is one file
        return
    if folder.is_symlink():
        yield f"{folder.name} is a link, and no folder of parts"
    strange = sorted(path.name for path in folder.iterdir() if path.name not in part_names)
    if strange:
        yield (
            f"{folder.name}/{strange[0]} lies among the parts of a table, and is not certified: "
            "nothing has judged it; move it elsewhere"
        )
