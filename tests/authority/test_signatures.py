"""Signatures: what ssh-keygen makes counts, what it refuses does not, and nothing that was touched passes."""

from __future__ import annotations

import base64
import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calibrant.authority.keys import LEAST_RSA, MOST_RSA, read_key, verify
from calibrant.authority.signatures import (
    LONGEST_FILE,
    NAMESPACE,
    Checked,
    approvers,
    check_signatures,
    read_signatures,
)
from calibrant.authority.signers import Signer, read_allowed_signers
from calibrant.errors import InputError, Where
from tests.authority import sk
from tests.authority.keys import (
    KINDS,
    NOW,
    Key,
    Oracle,
    armored,
    blob_of,
    line_of,
    make_key,
    mpint,
    parts_of,
    put_together,
    string,
    to_be_signed,
)

VECTORS = json.loads((Path(__file__).parents[1] / "vectors" / "sshsig.json").read_text(encoding="utf-8"))
MESSAGE = b"metric: grounded\napprover: alice@example.com\nrationale: \xc3\xbc\n"
FILE = Where("grants/release.yaml.sig")
ALICE, BOB = "alice@example.com", "bob@example.com"


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Key]:
    """One key of each kind, and two more."""
    folder = tmp_path_factory.mktemp("keys")
    made = {name: make_key(folder, name, name) for name in KINDS}
    return made | {name: make_key(folder, name) for name in ("second", "third")}


@pytest.fixture
def oracle(tmp_path: Path) -> Oracle:
    return Oracle(tmp_path)


def check(
    signature: bytes,
    signers: str | bytes | tuple[Signer, ...],
    message: bytes = MESSAGE,
    at: datetime = NOW,
    revoked: frozenset[str] = frozenset(),
    **more: str,
) -> tuple[Checked, ...]:
    """The bytes of a ``.sig`` file against the bytes of a file of signers."""
    if not isinstance(signers, tuple):
        data = signers.encode() if isinstance(signers, str) else signers
        signers = read_allowed_signers(data, Where("allowed_signers"))
    read = read_signatures(signature, FILE)
    return check_signatures(message, read, signers=signers, revoked=revoked, at=at, **more)


def reason_of(*arguments: object, **more: object) -> str:
    """Why the one signature does not count."""
    (one,) = check(*arguments, **more)  # type: ignore[arg-type]
    assert (one.accepted, one.principals, one.approver, one.lines) == (False, (), None, ())
    assert one.reason
    return one.reason


def trouble(data: bytes) -> str:
    with pytest.raises(InputError) as caught:
        read_signatures(data, FILE)
    assert str(caught.value).startswith("grants/release.yaml.sig")
    return str(caught.value)


# --- what counts ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("hashed", ["sha512", "sha256"])
def test_a_signature_by_ssh_keygen_counts(kind: str, hashed: str, keys: dict[str, Key], oracle: Oracle) -> None:
    key = keys[kind]
    signature, signers = key.sign(MESSAGE, f"-Ohashalg={hashed}"), f"{ALICE} {key.public}\n"
    (one,) = check(signature, signers)
    assert (one.accepted, one.reason, one.principals, one.approver) == (True, None, (ALICE,), ALICE)
    assert one.signature.hash_algorithm == hashed
    assert one.signature.fingerprint == key.fingerprint
    assert one.signature.public_key == key.wire
    assert oracle.verify(MESSAGE, signature, signers, ALICE)
    assert oracle.find_principals(signature, signers) == [ALICE]


@pytest.mark.parametrize("vector", VECTORS["vectors"], ids=lambda vector: vector["name"])
def test_the_kept_vectors_give_what_they_gave(vector: dict[str, object]) -> None:
    assert isinstance(vector["signature"], str)
    message, signers = VECTORS["message"].encode(), f"{ALICE} {vector['public_key']}\n"
    (one,) = check(vector["signature"].encode(), signers, message)
    assert one.accepted is vector["counts"], one.reason
    assert vector["ssh_keygen_accepts"] or not vector["counts"]
    assert not check(vector["signature"].encode(), signers, message + b" ")[0].accepted


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("rsa1024", "RSA keys of 1024 bits"),
        ("dsa", "ssh-dss (DSA)"),
        ("certificate", 'certificates ("ssh-ed25519-cert-v01@openssh.com")'),
        ("sk-ed25519 flags 0", "nobody touched it"),
        ("sk-ecdsa flags 0", "nobody touched it"),
    ],
)
def test_what_never_counts_is_refused_by_name_though_ssh_keygen_takes_it(name: str, told: str) -> None:
    (vector,) = (v for v in VECTORS["vectors"] if v["name"] == name)
    signers = f"{ALICE} {vector['public_key']}\n"
    assert told in reason_of(vector["signature"].encode(), signers, VECTORS["message"].encode())


def test_the_example_of_the_protocol_is_of_a_draft_and_cannot_be_read(oracle: Oracle) -> None:
    """It has no hash algorithm: what should be one is the signature."""
    assert "the hash algorithm that is not UTF-8" in trouble(VECTORS["example"].encode())
    assert not oracle.holds(b"", VECTORS["example"].encode(), "foo")


@pytest.mark.parametrize("make", [sk.ed25519, sk.ecdsa])
@pytest.mark.parametrize("flags", [0, 1, 4, 5])
def test_a_security_key_counts_where_it_was_touched(make: object, flags: int, oracle: Oracle) -> None:
    wire, signature = make(MESSAGE, flags)  # type: ignore[operator]
    signers = f"{ALICE} {line_of(wire)}\n"
    assert check(signature, signers)[0].accepted is bool(flags & sk.TOUCHED)
    assert oracle.verify(MESSAGE, signature, signers, ALICE), "the software stands in for a token rightly"


def test_a_security_keys_application_flags_and_counter_are_signed() -> None:
    wire, signature = sk.ed25519(MESSAGE)
    kind, point = "sk-ssh-ed25519@openssh.com", wire[-32 - 8 : -8]
    assert wire == string(kind) + string(point) + string("ssh:")
    other = string(kind) + string(point) + string("ssh:other")
    value = parts_of(signature)[-1]
    assert "does not fit" in reason_of(put_together(other, value), f"{ALICE} {line_of(other)}\n")
    for at in (-5, -1):
        changed = bytearray(value)
        changed[at] ^= 4
        assert "does not fit" in reason_of(put_together(wire, bytes(changed)), f"{ALICE} {line_of(wire)}\n")


def test_several_blocks_are_read_in_order_with_carriage_returns_and_empty_lines(keys: dict[str, Key]) -> None:
    first, second = keys["ed25519"].sign(MESSAGE), keys["second"].sign(MESSAGE)
    signers = f"{ALICE} {keys['ed25519'].public}\n{BOB} {keys['second'].public}\n"
    for data in (first + second, first + b"\n\n" + second + b"\n", (first + second).replace(b"\n", b"\r\n")):
        checked = check(data, signers)
        assert [one.approver for one in checked] == [ALICE, BOB]
        assert [one.signature.number for one in checked] == [1, 2]
        assert approvers(checked) == {ALICE, BOB}


def test_a_refused_signature_does_not_take_the_others_with_it(keys: dict[str, Key]) -> None:
    data = keys["ed25519"].sign(b"other") + keys["second"].sign(MESSAGE)
    checked = check(data, f"{ALICE} {keys['ed25519'].public}\n{BOB} {keys['second'].public}\n")
    assert [one.accepted for one in checked] == [False, True]
    assert approvers(checked) == {BOB}


# --- attacks --------------------------------------------------------------------------------------------------------


def test_a_signature_for_another_namespace(keys: dict[str, Key], oracle: Oracle) -> None:
    key, signers = keys["ed25519"], f"{ALICE} {keys['ed25519'].public}\n"
    signature = key.sign(MESSAGE, namespace="git")
    assert reason_of(signature, signers) == 'it was made for the namespace "git", not for "calibrant-grant"'
    assert not oracle.verify(MESSAGE, signature, signers, ALICE)
    assert check(signature, signers, namespace="git")[0].accepted
    relabelled = put_together(key.wire, parts_of(signature)[-1], namespace=NAMESPACE)
    assert "does not fit" in reason_of(relabelled, signers)
    assert not oracle.holds(MESSAGE, relabelled)


@pytest.mark.parametrize(
    "other",
    [MESSAGE + b"\n", MESSAGE[:-1], MESSAGE.replace(b"\n", b"\r\n"), b"\xef\xbb\xbf" + MESSAGE, b"", b"\0" + MESSAGE],
    ids=["longer", "shorter", "CRLF", "BOM", "empty", "NUL"],
)
@pytest.mark.parametrize("kind", ["ed25519", "ecdsa256", "rsa2048"])
def test_a_signature_over_other_bytes(other: bytes, kind: str, keys: dict[str, Key], oracle: Oracle) -> None:
    signature, signers = keys[kind].sign(MESSAGE), f"{ALICE} {keys[kind].public}\n"
    assert "it was made over other bytes" in reason_of(signature, signers, other)
    assert not oracle.verify(other, signature, signers, ALICE)


def test_a_key_that_nobody_listed(keys: dict[str, Key], oracle: Oracle) -> None:
    signature, signers = keys["second"].sign(MESSAGE), f"{ALICE} {keys['ed25519'].public}\n"
    told = f"the key {keys['second'].fingerprint} is not among the allowed signers"
    assert reason_of(signature, signers) == told
    assert reason_of(signature, "") == told
    assert not oracle.verify(MESSAGE, signature, signers, ALICE)
    assert oracle.holds(MESSAGE, signature), "it is only unknown"


def test_a_listed_key_put_into_somebody_elses_signature(keys: dict[str, Key], oracle: Oracle) -> None:
    signers = f"{ALICE} {keys['ed25519'].public}\n"
    stolen = put_together(keys["ed25519"].wire, parts_of(keys["second"].sign(MESSAGE))[-1])
    assert "not with the key that it names" in reason_of(stolen, signers)
    assert not oracle.verify(MESSAGE, stolen, signers, ALICE)


def test_a_revoked_key(keys: dict[str, Key], oracle: Oracle) -> None:
    key = keys["ed25519"]
    signature, signers = key.sign(MESSAGE), f"{ALICE} {key.public}\n"
    assert (
        reason_of(signature, signers, revoked=frozenset({key.fingerprint})) == f"the key {key.fingerprint} is revoked"
    )
    assert not oracle.verify(MESSAGE, signature, signers, ALICE, revoked=key.public + "\n")
    assert check(signature, signers, revoked=frozenset({keys["second"].fingerprint}))[0].accepted
    assert oracle.verify(MESSAGE, signature, signers, ALICE, revoked=keys["second"].public + "\n")


@pytest.mark.parametrize(
    ("options", "at", "told"),
    [
        ('valid-after="20260301120000Z"', NOW, None),
        ('valid-before="20260301120000Z"', NOW, None),
        ('valid-after="20260301120001Z"', NOW, "valid from 2026-03-01 12:00:01 UTC"),
        ('valid-before="20260301115959Z"', NOW, "was valid until 2026-03-01 11:59:59 UTC"),
        ('valid-after="20260301Z",valid-before="20260302Z"', NOW, None),
        ('valid-after="202603011200Z"', NOW - timedelta(seconds=1), "was not yet at 2026-03-01 11:59:59 UTC"),
        ('valid-after="20260301Z",valid-before="20260302Z"', NOW + timedelta(days=1), "no longer"),
        (f'namespaces="git,{NAMESPACE}"', NOW, None),
        ('namespaces="calibrant-*"', NOW, None),
        ('namespaces="*,!calibrant-grant"', NOW, "not for"),
        ('namespaces="git"', NOW, 'for the namespaces "git", not for "calibrant-grant"'),
        ('namespaces="Calibrant-Grant"', NOW, "not for"),
        ('NAMESPACES="calibrant-grant",Valid-After="20200101z"', NOW, None),
        ("cert-authority", NOW, "certificate authority"),
    ],
)
def test_what_a_line_allows(options: str, at: datetime, told: str | None, keys: dict[str, Key], oracle: Oracle) -> None:
    key = keys["ed25519"]
    signature, signers = key.sign(MESSAGE), f"{ALICE} {options} {key.public}\n"
    (one,) = check(signature, signers, at=at)
    assert one.accepted is oracle.verify(MESSAGE, signature, signers, ALICE, at=at)
    assert one.accepted if told is None else told in (one.reason or "")
    assert told is None or (one.reason or "").startswith("no line of the allowed signers allows it; line 1: ")


def test_the_instant_is_the_callers_and_has_a_zone(keys: dict[str, Key]) -> None:
    with pytest.raises(ValueError, match="naive"):
        check(keys["ed25519"].sign(MESSAGE), "", at=datetime(2026, 3, 1))


def test_a_fraction_after_the_end_is_after_the_end(keys: dict[str, Key]) -> None:
    signers = f'{ALICE} valid-before="20260301120000Z" {keys["ed25519"].public}\n'
    late = NOW + timedelta(microseconds=1)
    assert "no longer" in reason_of(keys["ed25519"].sign(MESSAGE), signers, at=late)


def test_somebody_elses_principal(keys: dict[str, Key], oracle: Oracle) -> None:
    signature, signers = keys["ed25519"].sign(MESSAGE), f"{ALICE} {keys['ed25519'].public}\n"
    assert f'the key is that of "{ALICE}", not of "{BOB}"' in reason_of(signature, signers, principal=BOB)
    assert not oracle.verify(MESSAGE, signature, signers, BOB)
    assert check(signature, signers, principal=ALICE)[0].accepted


def test_a_key_that_is_listed_twice_counts_where_one_line_allows_it(keys: dict[str, Key], oracle: Oracle) -> None:
    key = keys["ed25519"].public
    signers = f'{ALICE} valid-before="20200101Z" {key}\n{BOB} namespaces="git" {key}\nrelease {key}\n'
    signature = keys["ed25519"].sign(MESSAGE)
    (one,) = check(signature, signers)
    assert one.principals == ("release",)
    assert [line.line for line in one.lines] == [3]
    assert one.approver == ALICE, "one key is one person, whatever the lines call it"
    for principal, allowed in ((ALICE, False), (BOB, False), ("release", True)):
        assert check(signature, signers, principal=principal)[0].accepted is allowed
        assert oracle.verify(MESSAGE, signature, signers, principal) is allowed
    told = reason_of(signature, "".join(signers.splitlines(keepends=True)[:2]))
    assert "line 1: the key was valid until" in told and "line 2: the key is for the namespaces" in told


@pytest.mark.parametrize(
    ("value", "told"),
    [
        (string("rsa-sha2-512") + string(b"x" * 64), 'its algorithm is "rsa-sha2-512"'),
        (string("ecdsa-sha2-nistp256") + string(b"x" * 64), 'its algorithm is "ecdsa-sha2-nistp256"'),
        (string("sk-ssh-ed25519@openssh.com") + string(b"x" * 64) + b"\1\0\0\0\0", "its algorithm is"),
        (string("ssh-ed25519") + string(b"x" * 64), "does not fit"),
        (string("ssh-ed25519") + string(b"x" * 65), "does not fit"),
        (string("ssh-ed25519") + string(b""), "does not fit"),
        (string("ssh-ed25519") + string(b"x" * 64) + b"\1\0\0\0\0", "5 bytes left over"),
        (string("ssh-ed25519") + b"\xff\xff\xff\xff", "of 4294967295 bytes where 0 are left"),
        (string("none"), 'its algorithm is "none"'),
        (b"", "it holds the length of the algorithm"),
    ],
)
def test_algorithm_confusion(value: bytes, told: str, keys: dict[str, Key], oracle: Oracle) -> None:
    signature, signers = put_together(keys["ed25519"].wire, value), f"{ALICE} {keys['ed25519'].public}\n"
    assert told in reason_of(signature, signers)
    assert not oracle.verify(MESSAGE, signature, signers, ALICE)


def rsa_signature(algorithm: str, bits: int = 2048, used: str | None = None) -> tuple[bytes, bytes]:
    """A new RSA key in wire form, and its armored signature that says ``algorithm`` and uses the hash ``used``."""
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives.asymmetric import padding, rsa

    private = rsa.generate_private_key(65537, bits)
    numbers = private.public_key().public_numbers()
    wire = string("ssh-rsa") + mpint(numbers.e) + mpint(numbers.n)
    name = used or algorithm
    digest = hashes.SHA1() if name == "ssh-rsa" else hashes.SHA256() if name == "rsa-sha2-256" else hashes.SHA512()
    value = private.sign(to_be_signed(MESSAGE), padding.PKCS1v15(), digest)
    return wire, put_together(wire, string(algorithm) + string(value))


@pytest.mark.parametrize(
    ("algorithm", "used", "told"),
    [
        ("ssh-rsa", None, "it was made with SHA-1 (ssh-rsa), which can be forged"),
        ("ssh-rsa", "rsa-sha2-512", "SHA-1"),
        ("rsa-sha2-512", "ssh-rsa", "does not fit"),
        ("rsa-sha2-512", "rsa-sha2-256", "does not fit"),
        ("rsa-sha2-256", "rsa-sha2-512", "does not fit"),
        ("ssh-rsa-sha256@ssh.com", None, "its algorithm is"),
        ("rsa-sha2-256", None, None),
        ("rsa-sha2-512", None, None),
    ],
)
def test_rsa_with_sha_1_and_with_another_hash_than_it_says(
    algorithm: str, used: str | None, told: str | None, oracle: Oracle
) -> None:
    wire, signature = rsa_signature(algorithm, used=used)
    signers = f"{ALICE} {line_of(wire)}\n"
    (one,) = check(signature, signers)
    assert one.accepted if told is None else told in (one.reason or "")
    assert oracle.verify(MESSAGE, signature, signers, ALICE) is (told is None)


@pytest.mark.parametrize("hashed", ["md5", "sha1", "sha384", "SHA512", "sha512,sha256", ""])
def test_other_hashes(hashed: str, keys: dict[str, Key], oracle: Oracle) -> None:
    good = keys["ed25519"].sign(MESSAGE)
    signature = put_together(keys["ed25519"].wire, parts_of(good)[-1], hashed=hashed)
    signers = f"{ALICE} {keys['ed25519'].public}\n"
    assert "sha512 and sha256 are accepted" in reason_of(signature, signers)
    assert not oracle.verify(MESSAGE, signature, signers, ALICE)


@pytest.mark.parametrize("bits", [1024, LEAST_RSA - 8])
def test_short_rsa_keys(bits: int) -> None:
    wire, signature = rsa_signature("rsa-sha2-512", bits)
    assert f"RSA keys of {bits} bits are not accepted" in reason_of(signature, f"{ALICE} {line_of(wire)}\n")


def test_an_endless_rsa_key() -> None:
    wire = string("ssh-rsa") + mpint(65537) + mpint((1 << MOST_RSA) + 1)
    assert "16385 bits are not accepted" in str(read_key(wire).refused)


def test_an_rsa_value_without_its_zeros_in_front_counts_as_it_does_for_ssh_keygen(oracle: Oracle) -> None:
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives.asymmetric import padding, rsa

    private = rsa.generate_private_key(65537, 2048)
    numbers = private.public_key().public_numbers()
    wire = string("ssh-rsa") + mpint(numbers.e) + mpint(numbers.n)
    messages = (b"%d" % number for number in range(100_000))
    signed = ((m, private.sign(to_be_signed(m), padding.PKCS1v15(), hashes.SHA512())) for m in messages)
    message, value = next((m, value) for m, value in signed if value[0] == 0)
    signature = put_together(wire, string("rsa-sha2-512") + string(value.lstrip(b"\0")))
    signers = f"{ALICE} {line_of(wire)}\n"
    assert check(signature, signers, message)[0].accepted
    assert oracle.verify(message, signature, signers, ALICE)


def test_ecdsa_numbers_in_another_form(keys: dict[str, Key]) -> None:
    key = keys["ecdsa256"]
    value = parts_of(key.sign(MESSAGE))[-1]
    kind = string("ecdsa-sha2-nistp256")
    numbers = value[len(kind) + 4 :]
    size = int.from_bytes(numbers[:4])
    r, s = numbers[4 : 4 + size], numbers[8 + size :]
    signers = f"{ALICE} {key.public}\n"

    def put(r: bytes, s: bytes, after: bytes = b"") -> bytes:
        return put_together(key.wire, kind + string(string(r) + string(s) + after))

    assert check(put(r, s), signers)[0].accepted
    assert "the number r that is not a positive" in reason_of(put(b"\0" + r, s), signers)
    assert "the number s that is not a positive" in reason_of(put(r, b"\xff" + s), signers)
    assert "the number s that is not a positive" in reason_of(put(r, b""), signers)
    assert "1 bytes left over" in reason_of(put(r, s, b"\0"), signers)
    assert "does not fit" in reason_of(put(s, r), signers)


# --- damaged files --------------------------------------------------------------------------------------------------


def test_files_that_hold_no_signature(keys: dict[str, Key]) -> None:
    good = keys["ed25519"].sign(MESSAGE)
    begin, *middle, end, _ = good.split(b"\n")
    assert "expected the line -----BEGIN SSH SIGNATURE-----" in trouble(b"")
    assert "sig:1" in trouble(b"not a signature\n")
    assert "sig:1" in trouble(b"\n" + good)
    assert "sig:1" in trouble(b"\xef\xbb\xbf" + good)
    assert "sig:1" in trouble(good.replace(b"SSH", b"PGP"))
    assert "expected the line -----END SSH SIGNATURE-----" in trouble(b"\n".join([begin, *middle]))
    assert "expected the line -----END SSH SIGNATURE-----" in trouble(b"\n".join([begin, *middle, begin, *middle, end]))
    assert f"sig:{len(middle) + 3}" in trouble(good + b"and more\n")
    assert f"sig:{len(middle) + 2}" in trouble(good[:-1] + b" \n")
    assert "sig:1" in trouble(good.decode().encode("utf-16"))
    assert "1048577 bytes" in trouble(b"\n" * (LONGEST_FILE + 1))


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda text: text[:-1], "not base64, or is cut short"),
        (lambda text: text[:-4], "where"),
        (lambda text: text[: len(text) // 2 // 4 * 4], "where"),
        (lambda text: text + b"AAAA", "base64"),
        (lambda text: base64.b64encode(base64.b64decode(text) + b"more"), "4 bytes left over"),
        (lambda text: text + b"====", "base64"),
        (lambda text: b"*" + text[1:], "base64"),
        (lambda text: text[:8] + b" " + text[8:], "base64"),
        (lambda text: b"", "the word SSHSIG"),
    ],
)
def test_truncated_and_altered_armor(change: object, told: str, keys: dict[str, Key]) -> None:
    begin, *middle, end, _ = keys["second"].sign(MESSAGE).split(b"\n")
    text = change(b"".join(middle))  # type: ignore[operator]
    assert told in trouble(b"\n".join([begin, text, end, b""]))


def test_base64_has_one_form(keys: dict[str, Key], oracle: Oracle) -> None:
    """Bits that stand for nothing would let a changed file pass for the same signature."""
    good = keys["ed25519"].sign(MESSAGE)
    begin, *middle, end, _ = good.split(b"\n")
    text = b"".join(middle).rstrip(b"=")
    padding = -len(text) % 4
    assert padding, "this kind of signature ends in such bits"
    alphabet = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
    last = alphabet[alphabet.index(text[-1:]) + 1 : alphabet.index(text[-1:]) + 2]
    changed = b"\n".join([begin, text[:-1] + last + b"=" * padding, end, b""])
    assert "bits that stand for nothing" in trouble(changed)
    assert blob_of(changed) == blob_of(good)
    assert not oracle.holds(MESSAGE, changed)


@pytest.mark.parametrize("kind", ["ed25519", "ecdsa384", "rsa2048"])
def test_huge_and_short_lengths_and_bytes_left_over(kind: str, keys: dict[str, Key], oracle: Oracle) -> None:
    key = keys[kind]
    signature = key.sign(MESSAGE)
    blob, value = blob_of(signature), parts_of(signature)[-1]
    for length in (b"\xff\xff\xff\xff", b"\x7f\xff\xff\xff", b"\x00\x00\x00\x00"):
        broken = armored(blob[:10] + length + blob[14:])
        assert trouble(broken)
        assert not oracle.holds(MESSAGE, broken)
    assert "1 bytes left over after the signature" in trouble(put_together(key.wire, value, after=b"\0"))
    assert "1 bytes left over after the key" in trouble(put_together(key.wire + b"\0", value))
    assert "version 2" in trouble(put_together(key.wire, value, version=2))
    assert "version 0" in trouble(put_together(key.wire, value, version=0))
    assert "reserved" in trouble(put_together(key.wire, value, reserved=b"x"))
    assert "empty namespace" in trouble(put_together(key.wire, value, namespace=""))
    assert "not UTF-8" in trouble(put_together(key.wire, value, namespace=b"\xff"))
    assert "cannot be printed" in trouble(put_together(key.wire, value, namespace=NAMESPACE + "\0"))
    assert "SSHSIG" in trouble(armored(b"SSHSIH" + blob[6:]))
    assert "the word SSHSIG" in trouble(armored(b"SSH"))


def test_keys_that_are_none() -> None:
    value = string("ssh-ed25519") + string(b"x" * 64)
    point = b"\x04" + bytes(64)
    for key, told in (
        (b"", "the length of the key's type"),
        (string("ssh-ed25519") + string(b"x" * 31), "none of Ed25519"),
        (string("ecdsa-sha2-nistp256") + string("nistp256") + string(point), "none of nistp256"),
        (string("ecdsa-sha2-nistp256") + string("nistp256") + string(b"\x02" + bytes(31) + b"\1"), "in full"),
        (string("ecdsa-sha2-nistp256") + string("nistp384") + string(point), 'the curve "nistp384"'),
        (string("ssh-rsa") + mpint(65537) + string(b"\0" + mpint(1 << 2047)[4:]), "the modulus that is not"),
        (string("ssh-rsa") + mpint(2) + mpint((1 << 2047) + 1), "no RSA key"),
        (string("sk-ssh-ed25519@openssh.com") + string(b"x" * 32), "the length of the application"),
    ):
        assert told in trouble(put_together(key, value))


def test_kinds_of_key_that_nobody_knows_are_read_and_never_count() -> None:
    wire = string("ssh-mldsa-87") + string(b"x" * 100)
    signature = put_together(wire, string("ssh-mldsa-87") + string(b"y"))
    assert 'keys of type "ssh-mldsa-87" are not supported' in reason_of(signature, "")


def test_a_message_from_outside_cannot_move_a_terminal(keys: dict[str, Key]) -> None:
    wire = string("\x1b[2J") + string(b"x")
    assert "\x1b" not in trouble(put_together(wire, b""))
    assert "\x1b" not in trouble(b"\x1b[2J\n")


# --- nothing that was touched passes --------------------------------------------------------------------------------


@settings(max_examples=150)
@given(st.data())
def test_flipping_any_byte_of_signature_or_message_never_verifies(keys: dict[str, Key], data: st.DataObject) -> None:
    key = keys[data.draw(st.sampled_from(sorted(KINDS)))]
    signature = _signed(key)
    signers = read_allowed_signers(f"* {key.public}\n".encode(), Where())
    part = data.draw(st.sampled_from(["file", "blob", "message"]))
    original = {"file": signature, "blob": blob_of(signature), "message": MESSAGE}[part]
    at, by = data.draw(st.integers(0, len(original) - 1)), data.draw(st.integers(1, 255))
    changed = original[:at] + bytes([original[at] ^ by]) + original[at + 1 :]
    message = changed if part == "message" else MESSAGE
    file = changed if part == "file" else armored(changed) if part == "blob" else signature
    try:
        read = read_signatures(file, FILE)
    except InputError:
        return
    checked = check_signatures(message, read, signers=signers, revoked=frozenset(), at=NOW)
    assert not any(one.accepted for one in checked)
    assert approvers(checked) == frozenset()


@pytest.mark.parametrize("kind", ["ed25519", "ecdsa256"])
def test_no_bit_of_the_file_can_be_flipped(kind: str, keys: dict[str, Key]) -> None:
    """Every bit of every byte, one at a time."""
    signature = _signed(keys[kind])
    signers = read_allowed_signers(f"* {keys[kind].public}\n".encode(), Where())
    passed = []
    for at in range(len(signature) * 8):
        changed = bytearray(signature)
        changed[at // 8] ^= 1 << at % 8
        try:
            read = read_signatures(bytes(changed), FILE)
        except InputError:
            continue
        checked = check_signatures(MESSAGE, read, signers=signers, revoked=frozenset(), at=NOW)
        passed += [at for one in checked if one.accepted]
    assert passed == []


_SIGNED: dict[Path, bytes] = {}


def _signed(key: Key) -> bytes:
    if key.path not in _SIGNED:
        _SIGNED[key.path] = key.sign(MESSAGE)
    return _SIGNED[key.path]


@given(st.data())
def test_flipping_any_byte_of_the_listed_key_never_verifies(keys: dict[str, Key], data: st.DataObject) -> None:
    key = keys[data.draw(st.sampled_from(sorted(KINDS)))]
    at, by = data.draw(st.integers(0, len(key.wire) - 1)), data.draw(st.integers(1, 255))
    changed = key.wire[:at] + bytes([key.wire[at] ^ by]) + key.wire[at + 1 :]
    try:
        signers = read_allowed_signers(
            f"* {key.public.split()[0]} {line_of(string('x') + changed)[2:]}\n".encode(), Where()
        )
    except InputError:
        signers = ()
    checked = check(_signed(key), signers)
    assert not checked[0].accepted


@given(st.binary(max_size=400))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    for attempt in (data, armored(data), armored(b"SSHSIG\0\0\0\1" + data)):
        try:
            read = read_signatures(attempt, FILE)
        except InputError:
            continue
        checked = check_signatures(b"", read, signers=(), revoked=frozenset(), at=NOW)
        assert not any(one.accepted for one in checked)


_FIELDS = st.one_of(
    st.binary(max_size=80),
    st.sampled_from(["ssh-ed25519", "ssh-rsa", "rsa-sha2-512", "ecdsa-sha2-nistp256", "nistp256", "sha512"]).map(
        str.encode
    ),
)


@given(st.lists(_FIELDS, max_size=4), st.lists(_FIELDS, max_size=3), st.binary(max_size=3))
def test_any_fields_in_a_good_frame_are_read_or_refused(key: list[bytes], value: list[bytes], after: bytes) -> None:
    file = put_together(b"".join(map(string, key)), b"".join(map(string, value)) + after)
    try:
        read = read_signatures(file, FILE)
    except InputError:
        return
    (one,) = check_signatures(b"", read, signers=(), revoked=frozenset(), at=NOW)
    assert not one.accepted


def test_the_arithmetic_alone_says_what_holds(keys: dict[str, Key]) -> None:
    key = keys["ed25519"]
    value = parts_of(key.sign(MESSAGE))[-1]
    assert verify(read_key(key.wire), value, to_be_signed(MESSAGE)) is None
    assert "does not fit" in str(verify(read_key(key.wire), value, MESSAGE))


# --- counting people ------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def signed_by_three(keys: dict[str, Key]) -> bytes:
    return b"".join(_signed(keys[name]) for name in ("ed25519", "second", "third"))


@pytest.mark.parametrize(
    ("first", "second", "third", "people"),
    [
        ("alice", "bob", "carol", {"alice", "bob", "carol"}),
        ("alice", "alice", "alice", {"alice"}),
        ("alice", "Alice", "ALICE", {"alice"}),
        ("alice,bob", "carol", "dave", {"alice", "carol", "dave"}),
        ("alice,bob", "bob,carol", "carol", {"alice"}),
        ("alice,bob", "alice", "bob", {"alice"}),
        ("alice", "*", "*@example.com", {"alice"}),
        ("*", "*@example.com", "a*", {"*"}),
        ("alice,*", "bob,*", "*", {"alice", "bob"}),
        ("alice,!bob", "bob", "*,!bob", {"alice", "bob"}),
        ("caf\u00e9", "cafe\u0301", "x", {"caf\u00e9", "x"}),
        ("\ufb01na", "fina", "x", {"\ufb01na", "x"}),
    ],
)
def test_people_are_counted_not_keys(
    first: str, second: str, third: str, people: set[str], keys: dict[str, Key], signed_by_three: bytes
) -> None:
    lines = zip((first, second, third), ("ed25519", "second", "third"), strict=True)
    signers = "".join(f"{principals} {keys[name].public}\n" for principals, name in lines)
    checked = check(signed_by_three, signers)
    assert all(one.accepted for one in checked)
    assert approvers(checked) == people
    assert approvers((*checked, *checked)) == people


def test_names_that_a_line_joins_are_one_person_though_that_line_is_past(keys: dict[str, Key]) -> None:
    signers = (
        f'alice@work,alice@home valid-before="20200101Z" {keys["third"].public}\n'
        f"alice@work {keys['ed25519'].public}\nalice@home {keys['second'].public}\n"
    )
    both = _signed(keys["ed25519"]) + _signed(keys["second"])
    assert approvers(check(both, signers)) == {"alice@work"}
    assert approvers(check(both, signers.partition("\n")[2])) == {"alice@work", "alice@home"}


def test_one_key_on_two_lines_joins_them(keys: dict[str, Key]) -> None:
    signers = "".join(
        f"{name} {keys[key].public}\n" for name, key in (("a", "ed25519"), ("b", "ed25519"), ("b", "second"))
    )
    assert approvers(check(_signed(keys["ed25519"]) + _signed(keys["second"]), signers)) == {"a"}


def test_a_certificate_authoritys_line_joins_nobody(keys: dict[str, Key]) -> None:
    signers = (
        f"alice,bob cert-authority {keys['third'].public}\n"
        f"alice {keys['ed25519'].public}\nbob {keys['second'].public}\n"
    )
    assert approvers(check(_signed(keys["ed25519"]) + _signed(keys["second"]), signers)) == {"alice", "bob"}


@pytest.mark.parametrize(
    ("lines", "among", "counted"),
    [
        (("alice", "bob", "carol"), ("alice", "bob"), {"alice", "bob"}),
        (("alice", "bob", "carol"), ("dave",), set()),
        (("alice", "bob", "carol"), (), set()),
        (("*", "bob", "carol"), ("alice",), {"alice"}),
        (("*", "*", "*"), ("alice", "bob"), {"alice"}),
        (("*", "alice", "*"), ("alice", "bob"), {"alice"}),
        (("bob,*", "alice", "x"), ("alice", "bob"), {"alice", "bob"}),
        (("alice,bob", "bob", "x"), ("alice", "bob"), {"alice"}),
        (("Alice", "bob", "x"), ("alice", "bob"), {"bob"}),
        (("*,!alice", "x", "y"), ("alice", "bob"), {"bob"}),
    ],
)
def test_among_those_who_may_approve_only_they_count(
    lines: tuple[str, ...],
    among: tuple[str, ...],
    counted: set[str],
    keys: dict[str, Key],
    signed_by_three: bytes,
    oracle: Oracle,
) -> None:
    names = ("ed25519", "second", "third")
    signers = "".join(f"{who} {keys[name].public}\n" for who, name in zip(lines, names, strict=True))
    assert approvers(check(signed_by_three, signers), among) == counted
    for name in counted:
        assert any(oracle.verify(MESSAGE, _signed(keys[key]), signers, name) for key in names), name


def test_what_is_refused_approves_nothing(keys: dict[str, Key]) -> None:
    checked = check(_signed(keys["ed25519"]), f"alice {keys['ed25519'].public}\n", b"other")
    assert approvers(checked) == approvers(checked, ["alice"]) == frozenset()
    assert approvers(()) == frozenset()


def test_git_signs_in_this_format_too(keys: dict[str, Key], oracle: Oracle) -> None:
    """What git puts under a commit differs in its namespace alone."""
    commit = b"tree 4b825dc642cb6eb9a060e54bf8d69288fbee4904\n\nmessage\n"
    signature = keys["ed25519"].sign(commit, namespace="git")
    signers = f'* namespaces="git" {keys["ed25519"].public}\n'
    assert check(signature, signers, commit, namespace="git", at=datetime(2026, 1, 1, tzinfo=UTC))[0].accepted
    assert oracle.verify(commit, signature, signers, ALICE, namespace="git")


# --- where ssh-keygen is laxer --------------------------------------------------------------------------------------


def test_what_ssh_keygen_takes_in_the_form_and_is_refused_here(keys: dict[str, Key], oracle: Oracle) -> None:
    """What docs/reference/signatures.md says of ssh-keygen is so: what no signature covers could be changed there."""
    key, signers = keys["ed25519"], f"{ALICE} {keys['ed25519'].public}\n"
    value = parts_of(_signed(key))[-1]
    begin, first, *rest = _signed(key).split(b"\n")
    for laxly in (
        put_together(key.wire, value, version=0),
        put_together(key.wire, value, reserved=b"anything"),
        b"\n".join([begin, first[:10] + b" " + first[10:], *rest]),
    ):
        assert oracle.verify(MESSAGE, laxly, signers, ALICE)
        assert trouble(laxly)
