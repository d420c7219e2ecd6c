"""The reference pages: each command, each field and each kind has its text, and a stale page is noticed."""

from pathlib import Path

import msgspec
import pytest

from heapsmith.bench.gates import reference
from heapsmith.commands.man import commands
from heapsmith.model import policy
from heapsmith.model.design.design import Design
from heapsmith.model.errors import CheckFailed


def test_the_pages_are_those_of_the_source() -> None:
    assert reference.main(check=True) == 0


def test_a_stale_page_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("commands.md", "design-fields.md"):
        (tmp_path / name).write_text((reference.DOCS / name).read_text())
    monkeypatch.setattr(reference, "DOCS", tmp_path)
    assert reference.main(check=True) == 0
    (tmp_path / "design-fields.md").write_text("# The fields of a design\n")
    with pytest.raises(CheckFailed, match=r"docs/design-fields\.md: differs"):
        reference.main(check=True)


def test_every_field_and_every_value_is_explained() -> None:
    page = (reference.DOCS / "design-fields.md").read_text()
    for field in msgspec.structs.fields(Design):
        assert f"\n## `{field.name}`\n" in page
    assert "| - | " not in page  # a field of a table without a text
    for field, rows in policy.TABLES.items():
        section = page.partition(f"\n## `{field}`\n")[2].partition("\n## ")[0]
        stated = [row.NAME for row in rows if f"`{row.NAME}` |" in section or "Values: integer." in section]
        assert len(stated) >= len(rows) - (5 if field == "front" else 0), field  # of fronts five are parts of `levels`


def test_every_command_has_its_options() -> None:
    page = (reference.DOCS / "commands.md").read_text()
    for words in [("heapsmith",), *commands()[1]]:
        assert f"\n## {' '.join(words)}\n" in page
    assert "| `--hold-out TRACE` |" in page
