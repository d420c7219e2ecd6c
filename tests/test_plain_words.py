"""Turns that a reader must read twice are in no page, docstring, message or comment."""

import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = ("model", "codegen", "tools", "src/heapsmith", "bench", "runtime", "templates", "docs", "ci")
ENDINGS = {".py", ".c", ".h", ".j2", ".md", ".toml"}
TURNS = {
    r"\bso many [a-z]+\b(?! that)": "a number without a name; expected its name, or how many there are",
    r"\breturn how many\.|: how many\.": "a count without a noun; expected what is counted",
    r"^/\* (Of (one|it|them|those|such|any other)\b|It |They )": "a function's comment whose subject is a pronoun",
}


def turns(text: str) -> Iterator[str]:
    """The turns in a text, with what is expected in their place."""
    for turn, why in TURNS.items():
        for found in re.finditer(turn, text, re.IGNORECASE | re.MULTILINE):
            yield f"line {text.count(chr(10), 0, found.start()) + 1}: {found[0]!r}: {why}"


def test_no_text_has_a_turn_that_hides_its_noun() -> None:
    found = [
        f"{path.relative_to(ROOT)}: {turn}"
        for folder in FOLDERS
        for path in sorted((ROOT / folder).rglob("*"))
        if path.suffix in ENDINGS and not path.is_symlink()
        for turn in turns(path.read_text())
    ]
    assert found == []


def test_turns_are_noticed() -> None:
    text = "Room for so many words\nTake blocks; return how many.\n/* Of one with this top. */\n/* It is freed. */\n"
    assert [turn.partition(":")[0] for turn in turns(text)] == ["line 1", "line 2", "line 3", "line 4"]
    assert list(turns("/* The slot of a stack. */ so many blocks that it fails; return their number.")) == []
