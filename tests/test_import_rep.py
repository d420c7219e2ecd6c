"""Malloc-lab text: what it becomes, and each way in which it can be wrong, by line."""

import io
import os
import random
import re
from pathlib import Path

import pytest

from heapsmith.model.errors import BadInput
from heapsmith.model.trace.imports.formats import import_trace
from heapsmith.model.trace.reader import TraceReader, print_events, verify


def imported(tmp_path: Path, text: str) -> list[str]:
    """The events that the text becomes, as print_events writes them."""
    (tmp_path / "t.rep").write_text(text)
    import_trace(tmp_path / "t.rep", tmp_path / "t.hst", "rep")
    out = io.StringIO()
    print_events(tmp_path / "t.hst", out)
    return out.getvalue().splitlines()


def test_operations_become_events(tmp_path: Path) -> None:
    text = "20000\n4\n9\n1\na 0 512\na 3 0\nr 0 640\nf 3\na 1 128\nr 1 0\n\na 3 7\r\na 2 1\nf 0\n"
    assert imported(tmp_path, text) == [
        "0 0 0 malloc 0 512 -",
        "1 0 0 malloc 1 0 -",
        "2 0 0 realloc 0 640 -",
        "3 0 0 free 1 - -",
        "4 0 0 malloc 1 128 -",
        "5 0 0 free 1 - -",
        "6 0 0 malloc 1 7 -",
        "7 0 0 malloc 2 1 -",
        "8 0 0 free 0 - -",
    ]
    with TraceReader(tmp_path / "t.hst") as trace:
        assert (trace.header.source, trace.header.command) == ("rep", [])
        assert (trace.footer.events, trace.footer.max_blocks, trace.footer.threads) == (9, 3, 1)
        assert trace.footer.extra == {
            "suggested_heap_bytes": 20000,
            "weight": 1,
            "inexact": ["no times: all events are at time 0", "no threads: all events are by thread 0"],
        }
    assert verify(tmp_path / "t.hst").live_at_end == 2


def test_the_most_recently_freed_block_number_is_reused_first(tmp_path: Path) -> None:
    events = imported(tmp_path, "0\n5\n7\n0\na 0 1\na 1 1\na 2 1\nf 1\nf 0\na 3 1\na 4 1\n")
    assert [event.split()[4] for event in events] == ["0", "1", "2", "1", "0", "0", "1"]


def test_no_operations(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"t\.rep: has no calls of malloc or free; expected malloc-lab text"):
        imported(tmp_path, "0\n0\n0\n0\n")


@pytest.mark.parametrize("seed", range(3))
def test_sizes_follow_ids(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    lines: list[str] = []
    live: list[int] = []
    for name in range(70_000):
        while live and rng.random() < 0.5:
            lines.append(f"f {live.pop(rng.randrange(len(live)))}")
        lines.append(f"a {name} {name}")
        live.append(name)
    events = imported(tmp_path, f"1\n70000\n{len(lines)}\n1\n" + "\n".join(lines) + "\n")
    held: dict[str, str] = {}
    for event, line in zip(events, lines, strict=True):
        _, _, _, op, block, size, _ = event.split()
        if op == "malloc":
            held[block] = size
        assert line == (f"a {size} {size}" if op == "malloc" else f"f {held.pop(block)}")


HEADER = "100\n3\n2\n1\n"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "ends before the suggested heap size"),
        ("100\n3\n2\n", "ends before the weight"),
        (
            "100\n3\nx\n1\n",
            "line 3: number of operations: expected a whole number from 0 to 9223372036854775807, got 'x'",
        ),
        ("100 3 2 1\na 0 8\nf 0\n", "line 1: suggested heap size: expected one number, got 4 fields"),
        (HEADER + "a 0 8\nx 0\n", "line 6: unknown operation 'x'; expected a, r or f"),
        (HEADER + "a 0\nf 0\n", "line 5: expected 3 fields, got 2"),
        (HEADER + "a 0 8\nf 0 8\n", "line 6: expected 2 fields, got 3"),
        (HEADER + "a 3 8\nf 0\n", "line 5: id 3: the header says 3 ids"),
        (HEADER + "a -1 8\nf 0\n", "line 5: id: expected a whole number from 0 to 9223372036854775807, got '-1'"),
        (HEADER + "a 0 8.5\nf 0\n", "line 5: size: expected a whole number"),
        (
            HEADER + "a 0 9223372036854775808\nf 0\n",
            "line 5: size: expected a whole number from 0 to 9223372036854775807",
        ),
        (HEADER + "a 0 8\nf 1\n", "line 6: free of id 1, which is not live"),
        (HEADER + "r 0 8\nf 0\n", "line 5: realloc of id 0, which is not live"),
        (HEADER + "a 0 8\n\na 0 8\n", "line 7: allocation of id 0, which is live"),
        (HEADER + "a 0 8\nf 0\nf 0\n", "line 7: more operations than the 2 that the header says"),
        ("100\n3\n3\n1\na 0 8\nf 0\nf 0\n", "line 7: free of id 0, which is not live"),
        ("100\n3\n3\n1\na 0 8\nr 0 0\nf 0\n", "line 7: free of id 0, which is not live"),
        (HEADER + "a 0 8\n", "ends after 1 operations; the header says 2"),
        (HEADER + "a 0 " + "8" * 300 + "\nf 0\n", "line 5: longer than 200 bytes"),
        ("\x00\x01 binary", "line 1: suggested heap size: expected one number"),
    ],
)
def test_what_is_wrong_is_named_by_line(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "t.rep"
    path.write_text(text)
    with pytest.raises(BadInput, match="^" + re.escape(f"{path}: {words}")):
        import_trace(path, tmp_path / "t.hst", "rep")
    assert os.listdir(tmp_path) == ["t.rep"]


def test_no_such_file(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"t\.rep: cannot read the file: No such file or directory"):
        import_trace(tmp_path / "t.rep", tmp_path / "t.hst", "rep")
