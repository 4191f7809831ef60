"""The vectors are what the code gives, and the comparison can fail."""

from __future__ import annotations

from pathlib import Path

from tests.vectors import rebuild


def test_the_kept_vectors_are_what_the_code_gives() -> None:
    assert not rebuild.differences(rebuild.rebuilt())


def test_files_that_nobody_rebuilds_say_where_they_come_from() -> None:
    assert not rebuild.without_source()


def test_a_changed_and_a_missing_file_are_told_with_what_differs(tmp_path: Path) -> None:
    changed = tmp_path / "changed.json"
    changed.write_text('{\n "a": 1\n}\n')
    told = rebuild.differences(iter([(changed, '{\n "a": 2\n}\n'), (tmp_path / "missing.json", "{}\n")]))
    assert len(told) == 2
    assert '- "a": 1' in told[0] and '+ "a": 2' in told[0] and "+{}" in told[1]


def test_a_file_without_source_is_told(tmp_path: Path) -> None:
    (tmp_path / "bare.json").write_text("{}")
    (tmp_path / "sourced.json").write_text('{"source": "RFC 1"}')
    assert rebuild.without_source(tmp_path) == ["bare.json"]
