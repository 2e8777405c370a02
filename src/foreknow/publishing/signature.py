"""Signatures: detached Ed25519 signatures of files, which show who vouches for them.

A signature lies beside its file as 64 bytes in ``FILE.sig``, which other programs check as well:
``openssl pkeyutl -verify -pubin -inkey public.pem -rawin -in FILE -sigfile FILE.sig``. The
certificate holds the digests of the tables, so its signature covers a whole release.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

from foreknow.toml import read_text
from foreknow_judge.errors import CertificateError, InputError

SUFFIX = ".sig"
_LENGTH = 64
_MOST_BYTES = 1 << 20


def signature_of(path: Path) -> Path:
    """The path of the signature of a file."""
    return path.with_name(f"{path.name}{SUFFIX}")


class Signer:
    """Signs files with a private key.

    Parameters
    ----------
    key : path
        A private Ed25519 key without a password, in PEM or OpenSSH form, such as
        ``openssl genpkey -algorithm ed25519 -out key.pem`` makes one.

    Raises
    ------
    InputError
        If it is not such a key, or the package `cryptography` is not installed.
    """

    def __init__(self, key: str | Path) -> None:
        self._key = _private(Path(key))

    def sign(self, content: bytes) -> bytes:
        """The signature of some bytes."""
        return bytes(self._key.sign(content))

    def sign_file(self, path: Path) -> Path:
        """Write the signature of a file beside it, and return its path."""
        target = signature_of(path)
        target.write_bytes(self.sign(path.read_bytes()))
        return target


def check_signature(path: Path, key: str | Path, content: bytes | None = None) -> None:
    """Check that a file is, byte for byte, what the owner of a key signed.

    Parameters
    ----------
    path : path
        Its signature lies beside it.
    key : path
        The public Ed25519 key of the signer, in PEM or OpenSSH form.
    content : bytes, optional
        The content of the file, if it was read already.

    Raises
    ------
    CertificateError
        If there is no signature, or it does not match these bytes and this key.
    InputError
        If the key is of another kind, or the package `cryptography` is not installed.
    """
    public, signature_path = _public(Path(key)), signature_of(path)
    if not path.is_file():
        raise CertificateError(f"there is no file {str(path)!r}")
    if not signature_path.is_file():
        raise CertificateError(
            f"{path.name} is not signed: there is no {signature_path.name} beside it; leave out "
            "--key to verify it without"
        )
    with signature_path.open("rb") as file:
        signature = file.read(_LENGTH + 1)  # one more, to see that it is longer
    if len(signature) != _LENGTH:
        raise CertificateError(
            f"{signature_path.name} is no Ed25519 signature: it has not {_LENGTH} bytes"
        )
    wrong = import_module("cryptography.exceptions").InvalidSignature
    try:
        public.verify(signature, path.read_bytes() if content is None else content)
    except wrong:
        raise CertificateError(
            f"{path.name} is not what the owner of {Path(key).name} signed: it was changed "
            "afterwards, or signed with another key"
        ) from None


def _private(path: Path) -> Any:
    """The private key in a file, in PEM or SSH form; refuses public keys and passwords."""
    text, serialization, kinds = _read_key(path)
    if b"PUBLIC KEY" in text or text.startswith(b"ssh-"):
        raise InputError(f"--key: {str(path)!r} is a public key; to sign takes the private one")
    load = serialization.load_pem_private_key
    if b"OPENSSH PRIVATE KEY" in text:
        load = serialization.load_ssh_private_key
    try:
        key = load(text, None)
    except TypeError:  # a password is asked for, and None was given
        raise InputError(
            f"--key: {str(path)!r} has a password; write it without one into a file that only you "
            "can read, such as by openssl pkey -in KEY -out OTHER"
        ) from None
    except Exception:  # the package has its own errors, for example for unknown formats
        raise InputError(
            f"--key: {str(path)!r} is no private key in PEM form; one is made by openssl genpkey "
            "-algorithm ed25519 -out key.pem"
        ) from None
    return _of_our_kind(key, kinds.Ed25519PrivateKey, path)


def _public(path: Path) -> Any:
    """The public key in a file, in PEM or SSH form; refuses private keys."""
    text, serialization, kinds = _read_key(path)
    if b"PRIVATE KEY" in text:
        raise InputError(
            f"--key: {str(path)!r} is a private key; who signed keeps it, and gives you the public "
            "one: openssl pkey -in key.pem -pubout"
        )
    load = serialization.load_pem_public_key
    if text.startswith(b"ssh-"):
        load = serialization.load_ssh_public_key
    try:
        key = load(text)
    except Exception:  # the package has its own errors
        raise InputError(
            f"--key: {str(path)!r} is no public key in PEM form; the owner of the private one "
            "makes it by openssl pkey -in key.pem -pubout"
        ) from None
    return _of_our_kind(key, kinds.Ed25519PublicKey, path)


def _of_our_kind(key: Any, kind: Any, path: Path) -> Any:
    if not isinstance(key, kind):
        kind_name = type(key).__name__.lstrip("_").removesuffix("Key")
        kind_name = kind_name.removesuffix("Private").removesuffix("Public")
        raise InputError(f"--key: {str(path)!r} is a key of {kind_name}; only Ed25519 is supported")
    return key


def _read_key(path: Path) -> tuple[bytes, Any, Any]:
    """The content of a key file, and two modules of `cryptography`: readers, and kinds of keys."""
    text = read_text(path, _MOST_BYTES, InputError, f"--key: {str(path)!r}").strip()
    try:
        serialization = import_module("cryptography.hazmat.primitives.serialization")
        kinds = import_module("cryptography.hazmat.primitives.asymmetric.ed25519")
    except ImportError:
        raise InputError('signatures need a package: pip install ".[sign]" in a clone') from None
    return text.encode(), serialization, kinds
