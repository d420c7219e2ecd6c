"""Tables on a terminal: they fit its width, no word and no figure is broken, every cell is there."""

from collections.abc import Callable

import pytest
from conftest import Answer
from hypothesis import given, settings
from hypothesis import strategies as st

from heapsmith.tools.common.tables import Words, text

pytestmark = pytest.mark.quick

WIDE = Words(
    "a title of a few words",
    ("design", "committed peak", "<about", "time to glibc"),
    [
        ("default", "12.3 MiB", "for programs that nobody has looked at", "1.00x"),
        ("lean", "9.9 MiB", "small slabs", "0.97x ±2%"),
    ],
)


def test_a_table_that_fits_is_left_as_it_is() -> None:
    assert text(WIDE, 80).splitlines() == [
        "a title of a few words",
        "design   committed peak  about                                   time to glibc",
        "-------  --------------  --------------------------------------  -------------",
        "default        12.3 MiB  for programs that nobody has looked at          1.00x",
        "lean            9.9 MiB  small slabs                                 0.97x ±2%",
    ]


def test_headers_of_figures_are_folded_before_texts() -> None:
    assert text(WIDE, 71).splitlines()[1:] == [
        "         committed                                            time to",
        "design        peak  about                                       glibc",
        "-------  ---------  --------------------------------------  ---------",
        "default   12.3 MiB  for programs that nobody has looked at      1.00x",
        "lean       9.9 MiB  small slabs                             0.97x ±2%",
    ]


def test_rows_and_columns_are_exchanged_where_that_is_shorter() -> None:
    figures = Words("", ("design", *(f"counter {i}" for i in range(8))), [("a", *"12345678"), ("b", *"23456789")])
    assert text(figures, 22).splitlines()[:3] == ["design     a  b", "---------  -  -", "counter 0  1  2"]


def test_many_rows_and_columns_become_parts() -> None:
    squares = [[f"row {i}", *(f"{i * j:,}" for j in range(12))] for i in range(30)]
    lines = text(Words("", ("number", *(f"times {j}" for j in range(12))), squares), 80).splitlines()
    assert len(lines) == 2 * 32 + 1
    assert sum(line.startswith("row 7 ") for line in lines) == 2


WORD = st.text("abcdef0123456789.,%±", min_size=1, max_size=9)
PHRASE = st.lists(WORD, min_size=1, max_size=4).map(" ".join)


@st.composite
def tables(draw: st.DrawFn) -> Words:
    names = draw(st.lists(PHRASE, min_size=2, max_size=9))
    texts = draw(st.lists(st.booleans(), min_size=len(names), max_size=len(names)))
    columns = [("<" if is_text else "") + name for name, is_text in zip(names, texts, strict=True)]
    rows = draw(st.lists(st.lists(PHRASE, min_size=len(names), max_size=len(names)), min_size=1, max_size=8))
    return Words(draw(PHRASE), columns, rows)


@pytest.mark.thorough
@settings(deadline=None)
@given(tables(), st.integers(1, 120))
@pytest.mark.slow
def test_what_is_drawn_is_whole_and_fits(words: Words, width: int) -> None:
    lines = text(words, width).splitlines()
    is_text = [index == 0 or name.startswith("<") for index, name in enumerate(words.columns)]
    padded = [f" {line} " for line in lines]
    for row in words.rows:
        for cell, folds in zip(row, is_text, strict=True):
            for piece in cell.split() if folds else [cell]:
                assert any(f" {piece} " in line for line in padded), piece
    assert all(line == line.rstrip() for line in lines)

    def least(*cells: str) -> int:
        return max(len(word) for cell in cells for word in cell.split())

    label, *others = (
        max(least(name.lstrip("<")), *(least(row[i]) if is_text[i] else len(row[i]) for row in words.rows))
        for i, name in enumerate(words.columns)
    )
    if label + 2 + max(others) <= width:  # a column beside the labels fits
        assert all(len(line) <= max(width, least(words.title)) for line in lines)


@pytest.mark.thorough
@pytest.mark.parametrize("width", [60, 80, 100, 200])
@pytest.mark.slow
def test_what_commands_print_fits(call: Callable[..., Answer], monkeypatch: pytest.MonkeyPatch, width: int) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    for words in (["designs"], ["design", "show", "default"], ["doctor"]):
        assert max(map(len, call(*words).out.splitlines())) <= width
