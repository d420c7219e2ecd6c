"""Headers and footers of any JSON and any bytes behind valid checksums: a trace is read, or one line says why not."""

import io
import json
import re
import struct
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from traces import random_trace

from heapsmith.model.errors import BadInput, CheckFailed
from heapsmith.model.trace import frames
from heapsmith.model.trace.reader import TraceReader, print_events, salvage, verify
from heapsmith.model.trace.stats import trace_info
from heapsmith.tools.replay.script import write_script

Json = Any

NUMBERS = st.one_of(
    st.integers(-(2**70), 2**70), st.sampled_from([0, 1, -1, 10**7, 10**9, 2**31, 2**63, 10**30]), st.floats()
)
VALUES = st.recursive(
    NUMBERS | st.none() | st.booleans() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)
DEEP = [b"[" * 100_000, b'{"new":' * 100_000, b"1" * 5000]


@pytest.fixture(scope="module")
def parts(tmp_path_factory: pytest.TempPathFactory) -> tuple[bytes, bytes, bytes]:
    """Header, chunks and footer of a trace of 95 events."""
    path = random_trace(tmp_path_factory.mktemp("metadata") / "t.hst", 95, 1, chunk_events=20)
    data = path.read_bytes()
    with TraceReader(path) as trace:
        first, footer = trace.file.first_frame, list(trace.file.frames())[-1]
    return data[20:first], data[first : footer.offset], data[footer.offset + 16 : footer.end]


def assembled(header: bytes, chunks: bytes, footer: bytes) -> bytes:
    """The file of these parts, all its checksums right."""
    data = struct.pack("<8sIII", frames.MAGIC, frames.VERSION, len(header), zlib.crc32(header)) + header + chunks
    place = struct.pack("<Q", len(data))
    data += struct.pack("<4sIII", frames.FOOTER_TAG, len(footer), 0, zlib.crc32(footer)) + footer
    return data + place + struct.pack("<I4s", zlib.crc32(place), b"HST.")


def assert_read_or_refused(path: Path) -> None:
    """Whoever reads the trace does so, or raises an error with a line that names the file."""
    readers: list[Callable[[Path], object]] = [
        verify,
        trace_info,
        lambda path: print_events(path, io.StringIO()),
        lambda path: salvage(path, path.with_name("salvaged.hst")),
        lambda path: write_script(path, path.with_name("script")),
    ]
    for read in readers:
        said = None
        try:
            read(path)
        except (BadInput, CheckFailed) as error:  # CheckFailed: no event precedes the damage
            said = str(error)
        assert said is None or re.fullmatch(f"{re.escape(str(path))}: [^\n]+", said)


@pytest.mark.thorough
@settings(max_examples=200, deadline=None)
@given(data=st.data())
def test_any_json(data: st.DataObject, parts: tuple[bytes, bytes, bytes], tmp_path_factory: Any) -> None:
    header, chunks, footer = parts
    which = data.draw(st.sampled_from(["header", "footer"]))
    stated: dict[str, Json] = json.loads(header if which == "header" else footer)
    for name in data.draw(st.lists(st.sampled_from(sorted(stated)), min_size=1, max_size=3, unique=True)):
        stated[name] = data.draw(VALUES)
    text = json.dumps(stated).encode()
    path = tmp_path_factory.getbasetemp() / "any.hst"
    path.write_bytes(assembled(text, chunks, footer) if which == "header" else assembled(header, chunks, text))
    assert_read_or_refused(path)


@settings(max_examples=200, deadline=None)
@given(data=st.data())
def test_any_bytes(data: st.DataObject, parts: tuple[bytes, bytes, bytes], tmp_path_factory: Any) -> None:
    header, chunks, footer = parts
    which = data.draw(st.sampled_from(["header", "footer"]))
    text = header if which == "header" else footer
    at = data.draw(st.integers(0, len(text)))
    new = data.draw(st.binary(min_size=1, max_size=4) | st.sampled_from(DEEP))
    text = text[:at] + new + text[at + data.draw(st.integers(0, 8)) :]
    path = tmp_path_factory.getbasetemp() / "any.hst"
    path.write_bytes(assembled(text, chunks, footer) if which == "header" else assembled(header, chunks, text))
    assert_read_or_refused(path)


@pytest.mark.parametrize(
    ("which", "text", "words"),
    [
        ("header", DEEP[1], "nested too deeply"),
        ("footer", DEEP[1], "nested too deeply"),
        ("header", b'{"command":["\xff"]}', "(utf|UTF)-8"),
        ("footer", b'{"salvaged":"\xff"}', "(utf|UTF)-8"),
        ("footer", b'{"events":-1}', "Expected `int` >= 0"),
        ("header", b"", "truncated"),
    ],
)
def test_what_the_line_says(
    parts: tuple[bytes, bytes, bytes], tmp_path: Path, which: str, text: bytes, words: str
) -> None:
    header, chunks, footer = parts
    path = tmp_path / "t.hst"
    path.write_bytes(assembled(text, chunks, footer) if which == "header" else assembled(header, chunks, text))
    with pytest.raises(BadInput, match=f"^{path}: {which}: .*{words}"):
        verify(path)


@pytest.mark.parametrize(
    "change", [{"max_blocks": 10**9}, {"threads": 10**9}, {"events": 10**12, "max_blocks": 10**12}]
)
def test_a_footer_that_asks_for_too_much_memory(
    parts: tuple[bytes, bytes, bytes], tmp_path: Path, change: dict[str, int]
) -> None:
    header, chunks, footer = parts
    path = tmp_path / "t.hst"
    path.write_bytes(assembled(header, chunks, json.dumps(json.loads(footer) | change).encode()))
    with pytest.raises(BadInput, match="expected at most"):
        trace_info(path)
