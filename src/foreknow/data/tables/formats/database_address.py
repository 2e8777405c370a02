"""Address: of a database, as libpq takes it; and what may be said of one, which is no password."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote

# An address is read in one way only: a sign that has a meaning in it must be written as %40.
# As a Path it has one slash; anything like one may hold a password, whoever could open it.
# So may one that lacks its slashes, and the other form that libpq takes: password=... host=...
_LOOKS = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+)(?=:/|:[^/:]*:.*@):/*(.*)", re.DOTALL)
_WORDS = re.compile(r"((?:ssl)?password\s*=\s*)(?:'(?:[^'\\]|\\.)*'|[^'\s]\S*)", re.DOTALL)
_HOST = r"(?:\[[0-9A-Fa-f:.]*\]|[^:/?#@\[\],\s]*)(?::\d*)?"
_REST = re.compile(
    rf"(?:(?P<who>[^/?#@\[\]]*)@)?(?P<place>{_HOST}(?:,{_HOST})*(?:/[^?#@\[\]]*)?)"
    r"(?:\?(?P<query>[^?#@]*))?",
    re.DOTALL,
)
_ODD = re.compile(r"%(?![0-9A-Fa-f]{2})|%00")
_SECRET = re.compile(r"(?:^|&)((?:ssl)?password=[^&]*)")

ADVICE = (
    "in a user name, a password and after ?, write % as %25, / as %2F, ? as %3F, # as %23, @ as "
    "%40, [ as %5B and ] as %5D; a port is a number"
)


class Address(NamedTuple):
    """The parts of the address of a database."""

    scheme: str
    who: str  # the user, and perhaps a password
    place: str  # the host and the database
    query: str  # the settings after the question mark

    @property
    def secrets(self) -> list[str]:
        """The texts in it that nobody is to read."""
        _, colon, password = self.who.partition(":")
        passwords = [password] if colon else []
        for assignment in _SECRET.findall(self.query):
            passwords.append(assignment.partition("=")[2])
        # Messages may show a password as it is in the address, or decoded.
        texts = {*passwords, *map(unquote, passwords)}
        return sorted(filter(None, texts), key=len)


def read_address(source: str | Path) -> Address | None:
    """The parts of an address; None for a text that is none, or can be read in two ways."""
    matched = _LOOKS.fullmatch(str(source))
    if matched is None:
        return None
    scheme, rest = matched.groups()
    # The folder of a socket may stand where the host would.
    match = _REST.fullmatch(rest)
    # A "%" must begin an escaped sign, or the address could be read in two ways.
    if match is None or _ODD.search(rest):
        return None
    return Address(scheme, match["who"] or "", match["place"], match["query"] or "")


def spoken(source: str | Path) -> str:
    """The name of a source for messages: an address without user and password.

    >>> spoken("postgresql://me:secret@localhost/clinic?table=a"), spoken("people.csv")
    ('postgresql://localhost/clinic?table=a', 'people.csv')
    >>> spoken("postgresql://me:sec/ret@localhost/clinic")
    'postgresql://...'
    >>> spoken("host=localhost password='sec ret'"), spoken("postgres:me:secret@localhost/clinic")
    ('host=localhost password=...', 'postgres://localhost/clinic')
    """
    matched = _LOOKS.fullmatch(str(source))
    if matched is None:
        return _WORDS.sub(r"\1...", str(source))
    scheme, _ = matched.groups()
    address = read_address(source)
    # An address that cannot be read may hold a password anywhere.
    if address is None:
        return f"{scheme}://..."
    query = "&".join(setting for setting in address.query.split("&") if not _SECRET.match(setting))
    public = f"{address.scheme}://{address.place}"
    return f"{public}?{query}" if query else public


def hidden(text: str, secrets: Iterable[str]) -> str:
    """A text in which addresses with a password are replaced as `spoken` writes them.

    `secrets` are those in which such addresses may stand, perhaps after an equals sign.

    >>> hidden("'mysql:/me:a@b@host' does not exist", ["mysql://me:a@b@host"])
    "'mysql://...' does not exist"
    """
    for secret in secrets:
        _, _, after_equals = secret.partition("=")
        for address in (secret, after_equals):
            public_address = spoken(address)
            if public_address == address:
                continue
            # As a Path, an address has one slash; and messages may show its repr.
            for form in (address, str(Path(address))):
                text = text.replace(form, public_address)
                text = text.replace(repr(form)[1:-1], public_address)
    return text
