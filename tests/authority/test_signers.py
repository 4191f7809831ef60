"""Allowed signers and revoked keys: read as ssh-keygen reads them, or refused with the line and what to do."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from calibrant.authority.signers import (
    LONGEST_FILE,
    Signer,
    matches,
    names_nobody,
    people,
    read_allowed_signers,
    read_revoked,
)
from calibrant.errors import InputError, Where
from tests.authority.keys import NOW, Key, Oracle, line_of, make_key, mpint, ssh_keygen, string

FILE = Where("allowed_signers")
MESSAGE = b"approved\n"
BOM = b"\xef\xbb\xbf"


@pytest.fixture(scope="module")
def key(tmp_path_factory: pytest.TempPathFactory) -> Key:
    return make_key(tmp_path_factory.mktemp("keys"), "key")


@pytest.fixture(scope="module")
def signature(key: Key) -> bytes:
    return key.sign(MESSAGE)


@pytest.fixture
def oracle(tmp_path: Path) -> Oracle:
    return Oracle(tmp_path)


KEY = "ssh-ed25519 " + line_of(string("ssh-ed25519") + string(bytes(range(32)))).split()[1]
"""A key whose other half nobody has."""


def one(text: str | bytes) -> Signer:
    """The one line of a file."""
    (signer,) = read_allowed_signers(text.encode() if isinstance(text, str) else text, FILE)
    return signer


def trouble(text: str | bytes) -> str:
    with pytest.raises(InputError) as caught:
        read_allowed_signers(text.encode() if isinstance(text, str) else text, FILE)
    return str(caught.value)


# --- lines that are read --------------------------------------------------------------------------------------------


def test_a_plain_line(key: Key) -> None:
    assert one(f"alice@example.com {key.public}\n") == Signer(
        ("alice@example.com",), None, None, None, "ssh-ed25519", key.wire, key.fingerprint, 1
    )


@pytest.mark.parametrize(
    ("line", "principals", "namespaces"),
    [
        ("alice KEY", ("alice",), None),
        ("  \talice \t KEY\ta comment with blanks # and more", ("alice",), None),
        ("alice,bob@example.com KEY", ("alice", "bob@example.com"), None),
        ("*@example.com,!eve@example.com KEY", ("*@example.com", "!eve@example.com"), None),
        ('"alice" KEY', ("alice",), None),
        ('"Alice Example,bob" KEY', ("Alice Example", "bob"), None),
        ('alice namespaces="calibrant-grant" KEY', ("alice",), ("calibrant-grant",)),
        ('alice namespaces="git,calibrant-*,!x" KEY c', ("alice",), ("git", "calibrant-*", "!x")),
        ('alice namespaces="two words,calibrant-grant" KEY', ("alice",), ("two words", "calibrant-grant")),
        ('alice NameSpaces="calibrant-grant" KEY', ("alice",), ("calibrant-grant",)),
        ('alice valid-after="20200101Z",namespaces="calibrant-grant" KEY', ("alice",), ("calibrant-grant",)),
        ("émile@example.com KEY", ("émile@example.com",), None),
        ("ssh-ed25519@example.com KEY", ("ssh-ed25519@example.com",), None),
    ],
)
def test_lines_mean_what_they_mean_to_ssh_keygen(
    line: str,
    principals: tuple[str, ...],
    namespaces: tuple[str, ...] | None,
    key: Key,
    signature: bytes,
    oracle: Oracle,
) -> None:
    text = line.replace("KEY", key.public)
    for data in (text, text + "\n", text + "\r\n", f"# a comment\n\n \t\n{text}\n#\n"):
        signer = one(data)
        assert (signer.principals, signer.namespaces, signer.public_key) == (principals, namespaces, key.wire)
        assert signer.line == data.split("\n").index(text + "\r" * ("\r" in data)) + 1
        for who in (*signer.names, "somebody@example.com", "eve@example.com", "other"):
            allowed = signer.why_not(namespace="calibrant-grant", at=NOW, principal=who) is None
            assert allowed is oracle.verify(MESSAGE, signature, data, who), who


def test_a_byte_order_mark_and_carriage_returns_are_read(key: Key) -> None:
    data = BOM + f"alice {key.public}\r\n# a comment\r\n\r\nbob {KEY}\r\n".encode()
    assert [(signer.principals, signer.line) for signer in read_allowed_signers(data, FILE)] == [
        (("alice",), 1),
        (("bob",), 4),
    ]
    assert read_allowed_signers(BOM, FILE) == read_allowed_signers(b"", FILE) == ()


@pytest.mark.parametrize(
    ("written", "moment"),
    [
        ("20260301Z", datetime(2026, 3, 1, tzinfo=UTC)),
        ("20260301z", datetime(2026, 3, 1, tzinfo=UTC)),
        ("202603011230Z", datetime(2026, 3, 1, 12, 30, tzinfo=UTC)),
        ("20260301123045Z", datetime(2026, 3, 1, 12, 30, 45, tzinfo=UTC)),
        ("20240229Z", datetime(2024, 2, 29, tzinfo=UTC)),
        ("99991231235959Z", datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC)),
    ],
)
def test_instants_are_those_of_ssh_keygen(
    written: str, moment: datetime, key: Key, signature: bytes, oracle: Oracle
) -> None:
    for option in ("valid-after", "valid-before"):
        text = f'alice {option}="{written}" {key.public}\n'
        signer = one(text)
        assert getattr(signer, option.replace("-", "_")) == moment
        for at in (moment, moment.replace(second=moment.second ^ 1)):
            allowed = signer.why_not(namespace="calibrant-grant", at=at) is None
            assert allowed is oracle.verify(MESSAGE, signature, text, "alice", at=at)


def test_a_certificate_authority_is_understood_and_never_counts() -> None:
    signer = one(f"*@example.com cert-authority {KEY}\n")
    assert signer.cert_authority
    assert "certificates are not supported" in str(signer.refused)
    assert signer.why_not(namespace="calibrant-grant", at=NOW) == signer.refused
    assert people([signer]) == {}


@pytest.mark.parametrize(
    ("wire", "told"),
    [
        (string("ssh-dss") + b"anything", "ssh-dss (DSA)"),
        (string("ssh-rsa") + mpint(65537) + mpint((1 << 1023) + 1), "RSA keys of 1024 bits"),
        (string("ssh-ed25519-cert-v01@openssh.com") + b"x", "certificates"),
        (string("sk-ecdsa-sha2-nistp256-cert-v01@openssh.com") + b"x", "certificates"),
    ],
)
def test_kinds_of_key_that_never_count_do_not_spoil_the_file(wire: bytes, told: str) -> None:
    refused, good = read_allowed_signers(f"alice {line_of(wire)}\nbob {KEY}\n".encode(), FILE)
    assert told in str(refused.refused)
    assert refused.why_not(namespace="calibrant-grant", at=NOW) == refused.refused
    assert good.refused is None


# --- lines that are refused -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "told"),
    [
        (KEY, "Write in front whose key it is"),
        ("alice", "a line without a key"),
        ("alice ssh-ed25519", "no key after it"),
        ("alice ssh-ed25519 AAAA*", "not base64"),
        ("alice ssh-ed25519 AAAA=", "base64"),
        ("alice ssh-ed25519 " + "A" * 44, "a key"),
        (f"alice ssh-rsa {KEY.split()[1]}", 'a key of type "ssh-ed25519" after the type ssh-rsa'),
        (f"alice {KEY[:-4]}", "of 32 bytes where"),
        (f"alice {line_of(string('ssh-ed25519') + string(bytes(32)) + b'x')}", "1 bytes left over"),
        (f"alice ssh-ed448 {KEY.split()[1]}", "where the key's type should be"),
        (f"alice, {KEY}", '""'),
        (f",alice {KEY}", '""'),
        (f"! {KEY}", '"!"'),
        (f"!alice {KEY}", "which is nobody"),
        (f"alice,!alice {KEY}", "which is nobody"),
        (f"*,!* {KEY}", "which is nobody"),
        (f"alice@a*,!alice@a* {KEY}", "which is nobody"),
        (f'"alice {KEY}', "a quotation mark"),
        (f'"alice"bob {KEY}', "a quotation mark"),
        (f'al"ice {KEY}', "al"),
        (f'"alice, bob" {KEY}', "no blank"),
        (f"{'a' * 1001} {KEY}", "names or patterns"),
        (f"alice\u200b {KEY}", "cannot be seen"),
        (f"alice\u202eecila {KEY}", "cannot be seen"),
        (f"alice\u00a0 {KEY}", "cannot be seen"),
        (f"alice\0 {KEY}", "cannot be seen"),
        (f"alice\v {KEY}", "cannot be seen"),
        (f"alice\x85mallory {KEY}", "cannot be seen"),
        (f"alice\u2028mallory {KEY}", "cannot be seen"),
        (f"# a comment\rmallory {KEY}", "a carriage return inside a line"),
        (f"alice namespaces=git {KEY}", "in quotation marks"),
        (f'alice namespaces="git {KEY}', "a quotation mark without its other half"),
        (f'alice namespaces="git\\" {KEY}', "a quotation mark without its other half"),
        (f'alice namespaces="" {KEY}', "names or patterns"),
        (f'alice namespaces="git, file" {KEY}', "no blank"),
        (f'alice namespaces="git",namespaces="x" {KEY}', "the option namespaces twice"),
        (f"alice cert-authority,CERT-AUTHORITY {KEY}", "the option cert-authority twice"),
        (f'alice namespaces="git",,valid-after="20200101Z" {KEY}', "a comma"),
        (f'alice namespaces="git", {KEY}', "options among"),
        (f'alice namespaces="git" valid-after="20200101Z" {KEY}', "where the key's type should be"),
        (f'alice cert-authority="yes" {KEY}', "options among"),
        (f"alice namespaces {KEY}", "options among"),
        (f"alice no-touch-required {KEY}", "options among"),
        (f'alice valid-afterwards="20200101Z" {KEY}', "options among"),
        (f'alice valid-after="20200101" {KEY}', "Add Z: without it the machine's zone decides."),
        (f'alice valid-before="202001011200" {KEY}', "Add Z"),
        (f'alice valid-after="2020-01-01Z" {KEY}', "YYYYMMDDZ"),
        (f'alice valid-after="20200101T120000Z" {KEY}', "YYYYMMDDZ"),
        (f'alice valid-after="20200101+0100" {KEY}', "YYYYMMDDZ"),
        (f'alice valid-after="٢٠٢٠٠١٠١Z" {KEY}', "YYYYMMDDZ"),
        (f'alice valid-after="20200230Z" {KEY}', "which no calendar or clock has"),
        (f'alice valid-after="202001012460Z" {KEY}', "which no calendar or clock has"),
        (f'alice valid-after="20200101125960Z" {KEY}', "which no calendar or clock has"),
        (f'alice valid-after="19691231Z" {KEY}', "before 1970"),
        (f'alice valid-after="20200102Z",valid-before="20200101Z" {KEY}', "not later than valid-after"),
        (f'alice valid-after="20200101Z",valid-before="20200101Z" {KEY}', "not later than valid-after"),
    ],
)
def test_lines_that_are_refused(line: str, told: str) -> None:
    text = trouble(f"# first\n{line}\n")
    assert told in text
    assert text.startswith("allowed_signers:2: ")
    assert text.isprintable()


def test_bytes_that_are_not_utf_8_are_told_with_their_line(key: Key) -> None:
    text = trouble(f"alice {key.public}\n".encode() + b"# J\xfcrgen\n")
    assert text.startswith("allowed_signers:2: ") and "not UTF-8" in text
    assert "not UTF-8" in trouble(f"alice {key.public}\n".encode("utf-16"))


def test_every_line_that_cannot_be_read_is_told() -> None:
    text = trouble(f'alice\nbob {KEY}\ncarol valid-after="20200101" {KEY}\n')
    assert [line.partition(": ")[0] for line in text.splitlines()] == ["allowed_signers:1", "allowed_signers:3"]
    assert "allowed_signers:3: valid-after: " in text


def test_an_endless_file_is_refused() -> None:
    assert "bytes" in trouble(b"\n" * (LONGEST_FILE + 1))


def test_a_time_without_a_zone_would_depend_on_the_machine(key: Key, signature: bytes, oracle: Oracle) -> None:
    """Why it is refused: ssh-keygen answers differently in two zones."""
    signers = f'alice valid-after="202603011200" {key.public}\n'
    path, sig = oracle.folder / "signers", oracle.folder / "sig"
    path.write_text(signers)
    sig.write_bytes(signature)
    said = {
        zone: ssh_keygen(
            *("-Y", "verify", "-n", "calibrant-grant", "-I", "alice", "-Overify-time=20260301120000Z"),
            *("-f", path, "-s", sig),
            given=MESSAGE,
            zone=zone,
        ).returncode
        == 0
        for zone in ("UTC-3", "UTC+3")
    }
    assert said == {"UTC-3": True, "UTC+3": False}
    assert "Add Z" in trouble(signers)


# --- revoked keys ---------------------------------------------------------------------------------------------------


def revoked_trouble(data: str | bytes) -> str:
    with pytest.raises(InputError) as caught:
        read_revoked(data.encode() if isinstance(data, str) else data, Where("revoked_keys"))
    assert str(caught.value).startswith("revoked_keys")
    return str(caught.value)


def test_revoked_keys_are_keys_or_fingerprints(key: Key, signature: bytes, oracle: Oracle) -> None:
    assert read_revoked(b"", FILE) == frozenset()
    listed = f"# gone\n\n  {key.public} a comment\r\n"
    for data in (listed.encode(), BOM + listed.encode(), f"{key.fingerprint} # lost\n".encode()):
        assert read_revoked(data, FILE) == {key.fingerprint}
    assert read_revoked(f"{key.public}\n{KEY}\n".encode(), FILE) > {key.fingerprint}
    assert not oracle.verify(MESSAGE, signature, f"alice {key.public}\n", "alice", revoked=listed)


def test_a_binary_list_is_refused_with_what_to_do(key: Key, tmp_path: Path) -> None:
    krl = tmp_path / "krl"
    assert ssh_keygen("-k", "-f", krl, key.path.with_suffix(".pub")).returncode == 0
    text = revoked_trouble(krl.read_bytes())
    assert "a binary key revocation list (KRL)" in text and "List the keys themselves" in text


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("alice " + KEY, "Leave out what stands before the key"),
        ("SHA256:short", "a fingerprint such as SHA256:"),
        ("MD5:00:11:22:33:44:55:66:77:88:99:aa:bb:cc:dd:ee:ff", "a fingerprint such as SHA256:"),
        ("ssh-ed25519", "no key after it"),
        ("ssh-ed25519 AAAA", "a public key of type ssh-ed25519"),
        ("ssh-ed25519-cert-v01@openssh.com AAAA", "List the key that the certificate is for"),
        ("everything", "a public key as in a .pub file"),
    ],
)
def test_revoked_lines_that_are_refused(line: str, told: str, key: Key, signature: bytes, oracle: Oracle) -> None:
    """A list that cannot be read revokes everything for ssh-keygen; here it is an error."""
    text = revoked_trouble(f"{KEY}\n{line}\n")
    assert told in text and text.startswith("revoked_keys:2: ")
    if not line.startswith("ssh-ed25519-cert"):
        assert not oracle.verify(MESSAGE, signature, f"a {key.public}\n", "a", revoked=f"{line}\n")


def test_a_weak_key_can_be_revoked_all_the_same() -> None:
    wire = string("ssh-rsa") + mpint(65537) + mpint((1 << 1023) + 1)
    assert len(read_revoked(line_of(wire).encode(), FILE)) == 1


# --- patterns and people --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("patterns", "text", "fits"),
    [
        ("alice", "alice", True),
        ("alice", "Alice", False),
        ("*", "", True),
        ("*", "anybody", True),
        ("?", "a", True),
        ("?", "", False),
        ("?", "é", False),
        ("??", "é", True),
        ("a*b*c", "aXXbYYc", True),
        ("a*b*c", "aXXbYY", False),
        ("*a", "aaab", False),
        ("*a?", "aaab", True),
        ("**a", "xa", True),
        ("*@example.com,!eve@*", "eve@example.com", False),
        ("!eve@*,*@example.com", "bob@example.com", True),
        ("!eve@*,*@example.com", "eve@example.com", False),
        ("!*", "anybody", False),
        ("[ab]", "a", False),
        ("a.c", "abc", False),
    ],
)
def test_patterns_fit_as_they_do_for_ssh_keygen(
    patterns: str, text: str, fits: bool, key: Key, signature: bytes, oracle: Oracle
) -> None:
    assert matches(patterns.split(","), text) is fits
    assert oracle.verify(MESSAGE, signature, f"{patterns} {key.public}\n", text) is fits


def test_a_pattern_takes_no_longer_for_many_stars() -> None:
    assert not matches(["*a" * 400 + "b"], "a" * 1000)


_SHORT = st.text("ab*?", max_size=6)


@given(_SHORT, st.text("ab", max_size=6))
def test_patterns_fit_what_a_plain_definition_says(pattern: str, text: str) -> None:
    def fits(pattern: str, text: str) -> bool:
        if not pattern:
            return not text
        if pattern[0] == "*":
            return any(fits(pattern[1:], text[at:]) for at in range(len(text) + 1))
        return bool(text) and pattern[0] in ("?", text[0]) and fits(pattern[1:], text[1:])

    assert matches([pattern], text) is fits(pattern, text)


_LINES = st.lists(
    st.tuples(st.lists(st.sampled_from(["a", "A", "b", "c", "*", "b*"]), min_size=1, max_size=3), st.integers(0, 3)),
    max_size=6,
)


def _signers(lines: list[tuple[list[str], int]]) -> list[Signer]:
    return [
        Signer(tuple(names), None, None, None, "ssh-ed25519", bytes([number]), f"SHA256:{number}", at)
        for at, (names, number) in enumerate(lines, 1)
    ]


@given(_LINES)
def test_people_are_the_parts_that_names_and_keys_hold_together(lines: list[tuple[list[str], int]]) -> None:
    signers = _signers(lines)
    called = people(signers)
    assert called.keys() == {signer.fingerprint for signer in signers}
    for one in signers:
        for other in signers:
            shared = {name.casefold() for name in one.names} & {name.casefold() for name in other.names}
            if shared or one.fingerprint == other.fingerprint:
                assert called[one.fingerprint] == called[other.fingerprint]
    named = {name.casefold() for signer in signers for name in signer.names}
    assert len({who for who in called.values() if not names_nobody(who)}) <= len(named)
    for signer in signers:
        assert names_nobody(called[signer.fingerprint]) is not any(
            other.names for other in signers if other.fingerprint == signer.fingerprint
        )


@given(_LINES, st.data())
def test_a_further_line_never_makes_more_people_of_the_same_keys(
    lines: list[tuple[list[str], int]], data: st.DataObject
) -> None:
    further = data.draw(_LINES)
    keys = {signer.fingerprint for signer in _signers(lines) if signer.names}
    before, after = people(_signers(lines)), people(_signers(lines + further))
    assert len({after[key] for key in keys}) <= len({before[key] for key in keys})


# --- anything at all ------------------------------------------------------------------------------------------------


@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    for read in (read_allowed_signers, read_revoked):
        try:
            read(data, FILE)
        except InputError:
            continue


_WORDS = ["alice", "*", "!", ",", " ", "\t", '"', "\\", '\\"', "=", "#", "\r", "\n", "\ufeff", "é"]
_LONGER = ['namespaces="calibrant-*"', 'valid-after="', "20200101Z", "cert-authority", KEY, f"alice {KEY}\n", "ssh-rsa"]
_PIECES = st.lists(st.sampled_from([*_WORDS, *_LONGER]), max_size=10)


@given(_PIECES)
def test_any_pieces_of_lines_are_read_or_refused(pieces: list[str]) -> None:
    data = "".join(pieces).encode()
    try:
        signers = read_allowed_signers(data, FILE)
    except InputError:
        return
    assert all(signer.line <= data.count(b"\n") + 1 for signer in signers)


_PRINCIPALS = st.lists(
    st.sampled_from(["alice", "bob", "*", "al?ce", "!alice", "!b*", "!eve"]), min_size=1, max_size=3
).map(",".join)
_NAMESPACES = [
    'namespaces="calibrant-grant"',
    'namespaces="git,calibrant-*"',
    'namespaces="!git,*"',
    'namespaces="git"',
]
_TIMES = [
    'valid-after="20260301Z"',
    'valid-after="20270301Z"',
    'valid-before="20260302Z"',
    'Valid-Before="202602010000Z"',
]
_OPTION = st.sampled_from([*_NAMESPACES, *_TIMES])
_LINE = st.tuples(
    _PRINCIPALS | _PRINCIPALS.map('"{}"'.format),
    st.lists(_OPTION, max_size=2, unique_by=lambda option: option[:10].lower()).map(",".join),
    st.sampled_from(["KEY", "KEY", KEY]),
    st.sampled_from(["", "a comment", '"', "#"]),
)


@settings(max_examples=40)
@given(
    lines=st.lists(_LINE, min_size=1, max_size=3),
    blank=st.sampled_from([" ", "\t", "  "]),
    end=st.sampled_from(["\n", "\r\n"]),
)
def test_what_a_file_allows_is_what_it_allows_for_ssh_keygen(
    lines: list[tuple[str, ...]],
    blank: str,
    end: str,
    key: Key,
    signature: bytes,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    data = "".join(blank.join(filter(None, line)).replace("KEY", key.public) + end for line in lines)
    try:
        signers = read_allowed_signers(data.encode(), FILE)
    except InputError as trouble:
        told = str(trouble)
        assume("which is nobody" not in told and "not later than" not in told)
        raise
    own = [signer for signer in signers if signer.public_key == key.wire]
    oracle = Oracle(tmp_path_factory.mktemp("oracle"))
    for who in ("alice", "bob"):
        allowed = any(signer.why_not(namespace="calibrant-grant", at=NOW, principal=who) is None for signer in own)
        assert allowed is oracle.verify(MESSAGE, signature, data, who)


def test_what_ssh_keygen_takes_and_is_refused_here(key: Key, signature: bytes, oracle: Oracle) -> None:
    """What docs/reference/signatures.md says of ssh-keygen is so."""
    for text, who in (
        (f"bob {key.public}\nalice\n", "bob"),
        (f"bob\u200b {key.public}\n", "bob\u200b"),
        (f'"bob, alice" {key.public}\n', "bob"),
        (f'al"ice" {key.public}\n', "alice"),
    ):
        assert oracle.verify(MESSAGE, signature, text, who)
        assert trouble(text)


def test_what_ssh_keygen_refuses_and_is_read_here(key: Key, signature: bytes, oracle: Oracle) -> None:
    marked = BOM + f"alice {key.public}\n".encode()
    assert one(marked).names == ("alice",)
    assert not oracle.verify(MESSAGE, signature, marked, "alice")
    other = "SHA256:" + "A" * 43
    assert read_revoked(other.encode(), FILE) == {other}
    assert not oracle.verify(MESSAGE, signature, f"alice {key.public}\n", "alice", revoked=other + "\n")
