"""The files that a gate rests on: grants signed by real keys, links that lead nowhere, YAML that says two things."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from calibrant.authority.grants import UNSIGNED, Approvals, GrantReading, read_grant
from calibrant.errors import InputError
from calibrant.runs.gatefiles import approvals_under, policies_around, read_grant_file, read_if_there, read_policy
from tests.authority import rigs
from tests.authority.keys import NOW, Key, make_key
from tests.runs.projects import Made, made

WHOLE = rigs.rig()


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Key]:
    folder = tmp_path_factory.mktemp("keys")
    return {name: make_key(folder, name) for name in ("ann", "ann-laptop", "ben", "cem", "mallory")}


class Signed:
    """A project with a grant and a list of allowed signers."""

    def __init__(self, folder: Path, keys: dict[str, Key]) -> None:
        self.made = made(folder)
        self.keys = keys
        self.path = folder / "grants" / "release.yaml"
        self.rig = WHOLE
        self.allow("ann", "ben", "cem")

    def allow(self, *names: str, options: str = "", **other: str) -> None:
        """Let each name sign with the key of that name; ``other`` gives names other keys."""
        lines = [f"{name} {options} {self.keys[name].public}\n" for name in names]
        lines += [f"{name} {options} {self.keys[key].public}\n" for name, key in other.items()]
        self.made.write("allowed_signers", "".join(lines))

    def grant(self, **fields: Any) -> None:
        """Write the grant as a person does, in YAML."""
        given = rigs.grant(self.rig, **fields).to_dict()
        self.made.write("grants/release.yaml", "".join(f"{name}: {_yaml(value)}\n" for name, value in given.items()))

    def sign(self, name: str, message: bytes | None = None, **how: Any) -> None:
        signature = self.keys[name].sign(self.path.read_bytes() if message is None else message, **how)
        self.path.with_name(f"release.yaml.{name}.sig").write_bytes(signature)

    def read(self, at: datetime = NOW) -> GrantReading:
        file = read_grant_file(self.path)
        assert file is not None
        return read_grant(file.grant, self.rig, at, approvals=approvals_under(self.made.project, file, at))

    def why(self, at: datetime = NOW) -> str:
        """Why the grant is not matched."""
        found = self.read(at)
        assert found.status == "mismatched"
        return "\n".join(found.reasons)


def _yaml(value: Any) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(str, value))}]"
    return "null" if value is None else str(value)


@pytest.fixture
def signed(tmp_path: Path, keys: dict[str, Key]) -> Signed:
    project = Signed(tmp_path, keys)
    project.grant()
    return project


def test_a_grant_that_its_approver_signed_matches(signed: Signed) -> None:
    signed.sign("ann")
    assert signed.read() == GrantReading("matched")


def test_one_signature_may_lie_in_the_file_without_a_name(signed: Signed, keys: dict[str, Key]) -> None:
    signed.path.with_name("release.yaml.sig").write_bytes(keys["ann"].sign(signed.path.read_bytes()))
    assert signed.read().status == "matched"


def test_without_a_list_of_signers_nobody_has_to_sign(signed: Signed) -> None:
    (signed.made.root / "allowed_signers").unlink()
    assert signed.read().status == "matched"


# --- who did not sign -----------------------------------------------------------------------------------------------

BAD: dict[str, tuple[Callable[[Signed], None], str]] = {
    "unsigned": (lambda s: None, "It is not signed, and the project has allowed_signers"),
    "deleted": (lambda s: (s.sign("ann"), _delete(s))[1], "It is not signed"),
    "a stranger": (lambda s: s.sign("mallory"), "is not among the allowed signers"),
    "another approver": (lambda s: s.sign("ben"), 'signed by "ben", who is not one of its approvers'),
    "another namespace": (lambda s: s.sign("ann", namespace="git"), 'made for the namespace "git", not for'),
    "other bytes": (lambda s: s.sign("ann", s.path.read_bytes() + b"#\n"), "does not fit"),
    "edited afterwards": (lambda s: (s.sign("ann"), _edit(s))[1], "does not fit"),
    "line ends changed afterwards": (lambda s: (s.sign("ann"), _crlf(s))[1], "does not fit"),
    "another grant": (lambda s: s.sign("ann", b"schema: calibrant.authority-grant.v1\n"), "does not fit"),
    "a revoked key": (lambda s: (s.sign("ann"), _revoke(s, "ann"))[1], "is revoked"),
    "a key that was valid until yesterday": (
        lambda s: (s.sign("ann"), s.allow("ann", options='valid-before="20260228Z"'))[1],
        "no line of the allowed signers allows it",
    ),
    "a key that is valid from tomorrow": (
        lambda s: (s.sign("ann"), s.allow("ann", options='valid-after="20260302Z"'))[1],
        "no line of the allowed signers allows it",
    ),
    "a key that was not yet valid when it was given": (
        lambda s: (s.sign("ann"), s.allow("ann", options='valid-after="20260301Z"'))[1],
        "no line of the allowed signers allows it",
    ),
    "a key for another namespace": (
        lambda s: (s.sign("ann"), s.allow("ann", options='namespaces="git"'))[1],
        "no line of the allowed signers allows it",
    ),
    "nobody allowed": (lambda s: (s.sign("ann"), s.made.write("allowed_signers", "# nobody\n"))[0], "not among the"),
}


def _delete(s: Signed) -> None:
    s.path.with_name("release.yaml.ann.sig").unlink()


def _edit(s: Signed) -> None:
    s.path.write_bytes(s.path.read_bytes().replace(b"I read the study", b"I wrote the study"))


def _crlf(s: Signed) -> None:
    s.path.write_bytes(s.path.read_bytes().replace(b"\n", b"\r\n"))


def _revoke(s: Signed, name: str) -> None:
    s.made.write("revoked_signers", s.keys[name].public + "\n")


@pytest.mark.parametrize("attack", BAD)
def test_a_grant_that_nobody_rightly_signed_is_nobodys(signed: Signed, attack: str) -> None:
    act, told = BAD[attack]
    act(signed)
    said = signed.why()
    assert told in said
    assert 'It takes 1 signed approval of "ann"; 0 count.' in said


# --- several people -------------------------------------------------------------------------------------------------


def several(signed: Signed, **fields: Any) -> Signed:
    signed.grant(approvers=("ann", "ben", "cem"), approvals=2, **fields)
    return signed


@pytest.mark.parametrize(
    ("names", "enough"),
    [((), False), (("ann",), False), (("ann", "ben"), True), (("ben", "cem"), True), (("ann", "mallory"), False)],
)
def test_two_of_three(signed: Signed, names: tuple[str, ...], enough: bool) -> None:
    several(signed)
    for name in names:
        signed.sign(name)
    assert (signed.read().status == "matched") is enough
    if not enough:
        assert 'It takes 2 signed approvals of "ann", "ben", "cem"' in signed.why()


def test_one_person_with_two_keys_is_one_person(signed: Signed, keys: dict[str, Key]) -> None:
    several(signed)
    both = f"ann {keys['ann'].public}\nann {keys['ann-laptop'].public}\nben {keys['ben'].public}\n"
    signed.made.write("allowed_signers", both)
    signed.sign("ann")
    signed.sign("ann-laptop")
    assert "; 1 count." in signed.why()
    signed.sign("ben")
    assert signed.read().status == "matched"


def test_one_key_under_two_names_is_one_person(signed: Signed, keys: dict[str, Key]) -> None:
    several(signed)
    signed.allow(ann="ann", ben="ann")
    signed.sign("ann")
    assert "; 1 count." in signed.why()


def test_one_signature_in_two_files_is_one_approval(signed: Signed) -> None:
    several(signed)
    signed.sign("ann")
    ours = signed.path.with_name("release.yaml.ann.sig").read_bytes()
    signed.path.with_name("release.yaml.ben.sig").write_bytes(ours + ours)
    assert "; 1 count." in signed.why()


def test_a_policy_that_asks_for_more_approvals_than_the_grant_is_kept_to(signed: Signed) -> None:
    signed.rig = rigs.rig(policy=rigs.policy(approvals=2))
    signed.grant(approvers=("ann", "ben"))
    signed.sign("ann")
    assert "It takes 2 signed approvals" in signed.why()
    signed.sign("ben")
    assert signed.read().status == "matched"


def test_signatures_of_another_grant_beside_it_are_not_taken_for_its_own(signed: Signed) -> None:
    signed.path.with_name("release.yaml-old.sig").write_bytes(signed.keys["ann"].sign(signed.path.read_bytes()))
    assert "It is not signed" in signed.why()


# --- lists that are not there ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["allowed_signers", "revoked_signers"])
def test_a_list_that_is_a_link_to_nowhere_is_not_taken_for_no_list(signed: Signed, name: str) -> None:
    """Otherwise whoever moves its target away makes unsigned grants, or revoked keys, count again."""
    signed.sign("ann")
    path = signed.made.root / name
    path.unlink(missing_ok=True)
    path.symlink_to(signed.made.root / "gone")
    with pytest.raises(InputError, match=name):
        signed.read()


@pytest.mark.parametrize("name", ["allowed_signers", "revoked_signers"])
def test_a_list_that_the_project_file_names_has_to_be_there(signed: Signed, name: str) -> None:
    signed.sign("ann")
    signed.made.gates({}, **{name: "people/list"})
    with pytest.raises(InputError) as refused:
        signed.read()
    assert f"{name}: found" in str(refused.value)
    assert "calibrant.yaml" in str(refused.value)


def test_a_list_with_a_line_that_cannot_be_read_is_refused_with_its_line(signed: Signed) -> None:
    signed.made.write("allowed_signers", "# people\nann ssh-ed25519 notakey\n")
    with pytest.raises(InputError, match="allowed_signers:2"):
        signed.read()


def test_a_signature_that_cannot_be_read_is_refused_with_its_file(signed: Signed) -> None:
    signed.path.with_name("release.yaml.ann.sig").write_text("-----BEGIN PGP SIGNATURE-----\n")
    with pytest.raises(InputError, match=r"release\.yaml\.ann\.sig:1"):
        signed.read()


# --- the grant as a file --------------------------------------------------------------------------------------------


def test_a_grant_is_read_once(signed: Signed, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was signed is what was understood, whoever swaps the file in between."""
    signed.sign("ann")
    file = read_grant_file(signed.path)
    assert file is not None
    signed.path.write_bytes(file.data.replace(b"ann", b"eve"))
    assert approvals_under(signed.made.project, file, NOW) == Approvals(True, frozenset({"ann"}))
    assert file.grant.approver == "ann"


def test_a_link_to_a_grant_is_worth_what_is_in_it_and_signed_beside_it(signed: Signed) -> None:
    signed.sign("ann")
    elsewhere = signed.made.root / "elsewhere.yaml"
    elsewhere.symlink_to(signed.path)
    file = read_grant_file(elsewhere)
    assert file is not None
    assert approvals_under(signed.made.project, file, NOW) == Approvals(True)


def test_a_grant_that_is_a_link_to_nowhere_cannot_be_read(tmp_path: Path) -> None:
    path = tmp_path / "grant.yaml"
    assert read_grant_file(path) is None
    path.symlink_to(tmp_path / "gone")
    with pytest.raises(InputError, match=r"grant\.yaml"):
        read_grant_file(path)
    with pytest.raises(InputError, match=r"grant\.yaml"):
        read_if_there(made(tmp_path).project, "grant.yaml", type(WHOLE.policy))


BASE = "".join(f"{name}: {_yaml(value)}\n" for name, value in rigs.grant(WHOLE).to_dict().items())

TRICKS = {
    "a key twice": (BASE + "approver: mallory\n", "twice"),
    "a key twice, escaped": (BASE + '"approve\\x72": mallory\n', "twice"),
    "a merge": ("base: &b {approver: mallory}\n<<: *b\n" + BASE, "unknown key"),
    "a tag": (BASE.replace("metric: ", "metric: !!python/name:os.system "), "tag"),
    "two documents": (BASE + "---\n" + BASE, "one document"),
    "a digest as a number": (
        BASE.replace(rigs.grant(WHOLE).decision_policy_sha256, "1" * 64),
        "decision_policy_sha256: found the integer",
    ),
    "an upper-case digest": (
        BASE.replace(rigs.grant(WHOLE).decision_policy_sha256, rigs.grant(WHOLE).decision_policy_sha256.upper()),
        "64 lower-case hexadecimal digits",
    ),
    "a time without a zone": (BASE.replace("12:00:00.000000Z", "12:00:00"), "a time without a zone"),
    "another kind of record": (BASE.replace("authority-grant", "claim"), "found a claim; expected an authority grant"),
    "a later version": (BASE.replace("authority-grant.v1", "authority-grant.v2"), "another version"),
    "nothing": ("", "an empty file"),
    "a list": ("- 1\n", "a map"),
    "approvals as text": (BASE.replace("approvals: 1", "approvals: '1'"), "approvals"),
    "yes for a name": (BASE.replace("approver: ann", "approver: [yes]"), "approver"),
}


@pytest.mark.parametrize("trick", TRICKS)
def test_a_grant_that_could_be_read_two_ways_is_refused_with_its_line(trick: str, tmp_path: Path) -> None:
    text, told = TRICKS[trick]
    path = tmp_path / "grant.yaml"
    path.write_text(text)
    with pytest.raises(InputError) as refused:
        read_grant_file(path)
    assert told in str(refused.value)
    assert str(path) in str(refused.value)


@pytest.mark.parametrize("change", [lambda d: b"\xef\xbb\xbf" + d, lambda d: d.replace(b"\n", b"\r\n")])
def test_a_grant_with_a_mark_or_other_line_ends_says_the_same(change: Callable[[bytes], bytes], tmp_path: Path) -> None:
    path = tmp_path / "grant.yaml"
    path.write_bytes(change(BASE.encode()))
    file = read_grant_file(path)
    assert file is not None
    assert file.grant == rigs.grant(WHOLE)


# --- policies -------------------------------------------------------------------------------------------------------


def test_the_policies_around_a_folder_are_those_of_its_project(tmp_path: Path) -> None:
    project = made(tmp_path)
    project.policy("nightly", threshold=0.3)
    project.gates({}, {"id": "nightly", "policy": "policies/nightly.json"}, {"id": "again"})
    found = policies_around(tmp_path / "boards")
    assert sorted(policy.id for policy in found.values()) == ["nightly", "release"]
    assert all(digest == policy.digest() for digest, policy in found.items())


def test_there_are_none_without_a_project(tmp_path: Path) -> None:
    assert policies_around(tmp_path) == {}


def test_a_policy_that_is_not_there_names_the_gate_that_wants_it(tmp_path: Path) -> None:
    project: Made = made(tmp_path)
    project.gates({}, {"id": "nightly", "policy": "policies/nightly.json"})
    with pytest.raises(InputError) as refused:
        read_policy(project.project, 1)
    assert "calibrant.yaml: gates[1].policy: found" in str(refused.value)
    assert "no file" in str(refused.value)


def test_unsigned_is_what_there_is_without_a_list(tmp_path: Path) -> None:
    project = made(tmp_path)
    path = tmp_path / "grant.yaml"
    path.write_text(BASE)
    file = read_grant_file(path)
    assert file is not None
    assert approvals_under(project.project, file, NOW + timedelta(days=1)) == UNSIGNED
