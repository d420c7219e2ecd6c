"""The file around the chunks: header, frames with checksums, footer, trailer (docs/trace.md 3)."""

import os
import stat
import struct
import zlib
from collections.abc import Iterator
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple, Self, TypeVar

import msgspec
import zstandard

from heapsmith.model.constants import TRACE_MAGIC
from heapsmith.model.errors import BadInput, WrongKind
from heapsmith.model.trace.codec import COLUMNS, FREE_SITE, PROCESSOR, SITE, U32, Column, Damage, decode, decode_site
from heapsmith.model.trace.events import Chunk
from heapsmith.model.trace.kinds import Count, Kinds
from heapsmith.model.trace.stacks import Stacks

MAGIC = TRACE_MAGIC
VERSION = 1
MAX_CHUNK_EVENTS = 1 << 20
CHUNK_TAG, FOOTER_TAG = b"CHNK", b"FOOT"
_PROLOGUE = struct.Struct("<8sIII")  # magic, version, length and CRC-32 of the header
_FRAME = struct.Struct("<4sIII")  # tag, payload bytes, events, CRC-32 of the payload
_TRAILER = struct.Struct("<QI4s")  # offset of the footer's frame, CRC-32 of these 8 bytes, tag
_TRAILER_TAG = b"HST."

Metadata = TypeVar("Metadata")


class Header(msgspec.Struct, frozen=True):
    """The origin of a trace, and the layout of its frames."""

    command: list[str]  # the recorded program and its arguments, if any
    source: str  # origin: "recorder", "rep", ...
    chunk_events: int  # events per frame; the last may have fewer
    columns: list[Column]

    @property
    def has_sites(self) -> bool:
        """Whether the events have a column `site`."""
        return SITE in self.columns

    @property
    def has_free_sites(self) -> bool:
        """Whether the sites of frees are there too."""
        return FREE_SITE in self.columns

    @property
    def has_processors(self) -> bool:
        """Whether the events have a column `processor`."""
        return PROCESSOR in self.columns


class Touched(msgspec.Struct, frozen=True):
    """Large blocks of one power of two of bytes, up to the next, when they were freed or resized."""

    bytes: Count
    blocks: Count  # that were looked at
    pages: Count  # their whole pages
    touched: Count  # of these, the resident pages (mincore(2))


class Samples(msgspec.Struct, frozen=True):
    """What a recorder sampled beside the events; times in nanoseconds."""

    touched: list[Touched]
    resident: list[tuple[Count, Count]]  # time since the first event, and resident bytes of the process
    resident_peak: Count
    processor: list[tuple[Count, Count]]  # by thread: time from first to last sample, processor time in it
    kinds: Kinds | None = None  # what was resident by kind

    def shares(self) -> list[float]:
        """Return the part of its life in which each thread ran, at most 1."""
        return [min(1.0, ran / max(1, lasted)) for lasted, ran in self.processor]


class Footer(msgspec.Struct, frozen=True):
    """The totals of a complete trace."""

    events: Count
    chunks: Count
    threads: Count
    max_blocks: Count  # size of the space of block numbers = peak number of live blocks
    drops: Count = 0  # events lost while recording
    foreign_frees: Count = 0  # frees of blocks older than the recording; not events
    salvaged: str | None = None  # the damage that ended a recovered trace; its drops are unknown
    samples: Samples | None = None
    stacks: Stacks | None = None  # of the column `site`
    extra: dict[str, Any] = {}  # the source's own figures, such as the recorder's cost

    def lines(self, name: str) -> list[str]:
        """Return the lines of a field of `extra`, which any program may have written."""
        value = self.extra.get(name)
        return [str(line) for line in value] if isinstance(value, list) else []

    @property
    def sample_rate(self) -> float:
        """The share of the program's blocks that the trace has, by its field of `extra`: 1 of most traces."""
        rate = self.extra.get("sample_rate")
        return float(rate) if isinstance(rate, int | float) and 0 < rate <= 1 else 1.0


class Frame(NamedTuple):
    """A frame's head and place; offsets and lengths in bytes."""

    number: int  # number of the chunk; for the footer: the number of chunks
    tag: bytes
    length: int
    events: int
    crc: int
    offset: int

    @property
    def name(self) -> str:
        """The frame's name in a message."""
        return f"chunk {self.number}" if self.tag == CHUNK_TAG else "footer"

    @property
    def end(self) -> int:
        """The offset behind the frame."""
        return self.offset + _FRAME.size + self.length


def prologue(header: Header) -> bytes:
    """Return magic, version and header: the first bytes of a trace."""
    text = msgspec.json.encode(header)
    return _PROLOGUE.pack(MAGIC, VERSION, len(text), zlib.crc32(text)) + text


def frame_bytes(tag: bytes, payload: bytes, events: int = 0) -> bytes:
    """Return the frame of an encoded chunk, or of a footer."""
    return _FRAME.pack(tag, len(payload), events, zlib.crc32(payload)) + payload


def epilogue(footer: Footer, offset: int) -> bytes:
    """Return the last bytes of a trace: the footer's frame, from `offset` on, and trailer."""
    place = struct.pack("<Q", offset)
    trailer = _TRAILER.pack(offset, zlib.crc32(place), _TRAILER_TAG)
    return frame_bytes(FOOTER_TAG, msgspec.json.encode(footer)) + trailer


def _metadata(text: bytes, kind: type[Metadata]) -> Metadata:
    """Return the header or footer of this JSON; Damage if it is invalid."""
    try:
        return msgspec.json.decode(text, type=kind)
    except RecursionError:
        raise Damage("JSON nested too deeply") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise Damage(str(error)) from None


class TraceFile:
    """An open trace, frame by frame; checks bytes, not events. Context manager.

    Raises BadInput if the path cannot be read, is not a trace or has another version. The methods
    raise Damage.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self._file = path.open("rb")
        except OSError as error:
            raise BadInput(f"{path}: cannot read the trace: {error.strerror}") from None
        try:
            status = os.fstat(self._file.fileno())
            if not stat.S_ISREG(status.st_mode):
                raise BadInput(f"{path}: a trace must be a regular file")
            self.size = status.st_size
            self.header, self.first_frame = self._read_header()
        except BaseException:
            self._file.close()
            raise
        self._zstd = zstandard.ZstdDecompressor()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file; no method can read it any more."""
        self._file.close()

    def read(self, offset: int, length: int) -> bytes:
        """Return the bytes from `offset` on, fewer than `length` only at the end."""
        self._file.seek(offset)
        return self._file.read(length)

    def _read_header(self) -> tuple[Header, int]:
        """Return the header and the offset of the first frame."""
        head = self.read(0, _PROLOGUE.size)
        if not head:
            raise WrongKind(f"{self.path}: is empty; expected a trace")
        if not head.startswith(MAGIC):
            raise WrongKind(f"{self.path}: not a heapsmith trace: it does not begin with the magic bytes")
        if len(head) < _PROLOGUE.size:
            raise BadInput(f"{self.path}: truncated in the header")
        _, version, length, crc = _PROLOGUE.unpack(head)
        if version != VERSION:
            raise BadInput(f"{self.path}: a trace of version {version}; expected version {VERSION}")
        text = self.read(_PROLOGUE.size, min(length, self.size))
        if len(text) < length:
            raise BadInput(f"{self.path}: truncated in the header")
        if zlib.crc32(text) != crc:
            raise BadInput(f"{self.path}: the header does not match its checksum")
        return self._parse_header(text), _PROLOGUE.size + length

    def _parse_header(self, text: bytes) -> Header:
        try:
            header = _metadata(text, Header)
        except Damage as damage:
            raise BadInput(f"{self.path}: header: {damage}") from None
        for column in COLUMNS:
            if column not in header.columns:
                raise BadInput(f"{self.path}: header: expected a column {column}")
        if header.columns[0] != COLUMNS[0]:
            raise BadInput(f"{self.path}: header: expected column op first")
        if not 0 < header.chunk_events <= MAX_CHUNK_EVENTS:
            raise BadInput(f"{self.path}: header: chunk_events: expected 1 to {MAX_CHUNK_EVENTS}")
        return header

    def frame(self, offset: int, number: int) -> Frame:
        """Return the frame at `offset`, which lies wholly in the file; `number` as in Frame."""
        head = self.read(offset, _FRAME.size)
        if len(head) < _FRAME.size:
            raise Damage(f"chunk {number}: truncated")
        tag, length, events, crc = _FRAME.unpack(head)
        frame = Frame(number, tag, length, events, crc, offset)
        most = {CHUNK_TAG: self.header.chunk_events, FOOTER_TAG: 0}.get(tag)
        if most is None:
            raise Damage(f"chunk {number}: no frame begins at byte {offset}")
        if frame.end > self.size:
            raise Damage(f"{frame.name}: truncated")
        if events > most:
            raise Damage(f"{frame.name}: {events} events; expected at most {most}")
        return frame

    def frames(self) -> Iterator[Frame]:
        """Yield all frames through the footer's, in order, from their heads only."""
        offset = self.first_frame
        for number in count():
            frame = self.frame(offset, number)
            yield frame
            if frame.tag == FOOTER_TAG:
                return
            offset = frame.end

    def _payload(self, frame: Frame) -> bytes:
        payload = self.read(frame.offset + _FRAME.size, frame.length)
        if zlib.crc32(payload) != frame.crc:
            raise Damage("checksum mismatch")
        return payload

    def chunk(self, frame: Frame) -> Chunk:
        """Return the events of a frame with CHUNK_TAG."""
        try:
            return decode(self._payload(frame), frame.events, self.header.columns, self._zstd)
        except Damage as damage:
            raise Damage(f"{frame.name}: {damage}") from None

    def site(self, frame: Frame, chunk: Chunk) -> U32:
        """Return the site of each event of a frame whose events are `chunk`; 0 where the trace has none."""
        try:
            return decode_site(self._payload(frame), chunk.op, self.header.columns, self._zstd)
        except Damage as damage:
            raise Damage(f"{frame.name}: {damage}") from None

    def footer(self, frame: Frame) -> Footer:
        """Return the content of a frame with FOOTER_TAG."""
        try:
            footer = _metadata(self._payload(frame), Footer)
        except Damage as damage:
            raise Damage(f"{frame.name}: {damage}") from None
        room = (frame.offset - self.first_frame) // _FRAME.size * self.header.chunk_events
        if not max(footer.threads, footer.max_blocks) <= footer.events <= room:
            raise Damage(
                f"{frame.name}: {footer.events} events, {footer.threads} threads and {footer.max_blocks} blocks; "
                f"expected at most {room} events, and at most as many threads and blocks as events"
            )
        return footer

    def footer_frame(self) -> Frame:
        """Return the footer's frame, as the trailer gives it; its number is unknown."""
        trailer = self.read(max(0, self.size - _TRAILER.size), _TRAILER.size)
        if len(trailer) < _TRAILER.size or not trailer.endswith(_TRAILER_TAG):
            raise Damage("trailer: missing")
        offset, crc, _ = _TRAILER.unpack(trailer)
        if zlib.crc32(trailer[:8]) != crc:
            raise Damage("trailer: checksum mismatch")
        with suppress(Damage):
            frame = self.frame(offset, -1)
            if frame.tag == FOOTER_TAG and frame.end + _TRAILER.size == self.size:
                return frame
        raise Damage("trailer: does not lead to the footer")
