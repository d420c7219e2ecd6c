"""An input file of an import: unpacked on the way, read in pieces, its faults named by record."""

import gzip
import io
import sys
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NoReturn, Self

import zstandard

from heapsmith.model.errors import BadInput, Missing
from heapsmith.model.files import STANDARD
from heapsmith.model.trace.imports.builder import MAX

HEAD_BYTES = 1 << 16
LINE_BYTES = 1 << 20
_PIECE_BYTES = 1 << 18
_DAMAGE = (EOFError, zlib.error, zstandard.ZstdError, zipfile.BadZipFile, NotImplementedError)


class Source:
    """A file to import; `-` is standard input. gzip, zstd, LZ4 and a zip of one file are unpacked. Context manager."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.name = "standard input" if str(path) == STANDARD else str(path)
        with self.naming():
            self._raw: Any = sys.stdin.buffer
            if str(path) != STANDARD:
                self._raw = path.open("rb")
            try:
                self.size = self._raw.seek(0, io.SEEK_END) if self._raw.seekable() else 0
                if self._raw.seekable():
                    self._raw.seek(0)
                self.stream = io.BufferedReader(_unpacked(self, self._raw), HEAD_BYTES)
                self.head = self.stream.peek(HEAD_BYTES)[:HEAD_BYTES]
            except BaseException:
                self._raw.close()
                raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._raw.close()

    @property
    def done(self) -> int:
        """The bytes of the file that were read; of standard input 0."""
        return int(self._raw.tell()) if self.size and not self._raw.closed else 0

    @contextmanager
    def naming(self) -> Iterator[None]:
        """Make errors of the system and of damaged archives BadInput with the file."""
        try:
            yield
        except _DAMAGE as error:
            raise BadInput(f"{self.name}: cannot be unpacked: {first_line(error)}") from None
        except OSError as error:
            raise BadInput(f"{self.name}: cannot read the file: {error.strerror or first_line(error)}") from None

    def read(self, count: int) -> bytes:
        """Return the next bytes; fewer only at the file's end."""
        with self.naming():
            return self.stream.read(count)

    def piece(self, most: int) -> bytes:
        """Return some of the next bytes, as many as one read gives; none only at the file's end."""
        with self.naming():
            return self.stream.read1(most)

    def lines(self, longest: int = LINE_BYTES) -> Iterator[tuple[int, bytes]]:
        """Yield the lines with their numbers, counted from 1, without white space at the ends; not blank ones."""
        with self.naming():
            for number, line in enumerate(iter(lambda: self.stream.readline(longest), b""), 1):
                if len(line) == longest and not line.endswith(b"\n"):
                    self.bad(f"line {number}", f"longer than {longest} bytes")
                text = line.strip()
                if text:
                    yield number, text

    def bad(self, where: str, what: str) -> NoReturn:
        """Raise BadInput for a record: its place, what was expected and found."""
        raise BadInput(f"{self.name}: {where}: {what}")

    def integer(self, line: int, text: bytes, name: str, base: int = 10) -> int:
        """Return the number from 0 to MAX that a field of a line has; `base` 16 takes 0x too."""
        try:
            value = int(text, base)
        except ValueError:
            value = -1
        if not 0 <= value <= MAX or b"_" in text:
            self.bad(f"line {line}", f"{name}: expected a whole number from 0 to {MAX}, got {shown(text)}")
        return value

    def product(self, line: int, count: int, size: int) -> int:
        """Return the product of two numbers of a line, at most MAX."""
        if count * size > MAX:
            self.bad(f"line {line}", f"expected a product of at most {MAX}, got {count} times {size}")
        return count * size


def first_line(error: Exception) -> str:
    """Return the first line of what an error says."""
    return str(error).strip().partition("\n")[0]


def shown(text: bytes) -> str:
    """Return bytes of a file for a message."""
    return repr(text[:40].decode("utf-8", "backslashreplace"))


class _Unpacked(io.RawIOBase):
    """The bytes that `read` returns; it raises EOFError at a wrong end."""

    def __init__(self, read: Callable[[], bytes]) -> None:
        self._read = read
        self._piece = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._piece:
            piece = self._read()
            if not piece:
                return 0
            self._piece = memoryview(piece)
        count = min(len(buffer), len(self._piece))
        buffer[:count] = self._piece[:count]
        self._piece = self._piece[count:]
        return count


def _unpacked(source: Source, raw: Any) -> Any:
    """Return the unpacked bytes of a file as a raw stream."""
    magic = raw.peek(4)[:4]
    if magic[:2] == b"\x1f\x8b":
        return gzip.GzipFile(fileobj=raw)
    if magic == b"\x28\xb5\x2f\xfd":
        return _Unpacked(_pieces(raw, lambda: zstandard.ZstdDecompressor().decompressobj(), "a zstd frame").__next__)
    if magic == b"\x04\x22\x4d\x18":
        return _Unpacked(_pieces(raw, lz4().frame.LZ4FrameDecompressor, "an LZ4 frame").__next__)
    if magic == b"PK\x03\x04":
        return _one_member(source, raw)
    return raw


def _pieces(packed: Any, new: Callable[[], Any], name: str) -> Iterator[bytes]:
    """Yield the content of all frames, then b""; EOFError for a frame that does not end.

    new: makes what unpacks a frame.
    """
    frame, rest = new(), b""
    started = False
    while piece := rest or packed.read(_PIECE_BYTES):
        if frame.eof:
            frame, started = new(), False
        started = True
        yield from filter(None, _contents(frame, piece))
        rest = frame.unused_data if frame.eof else b""
    if started and not frame.eof:
        raise EOFError(f"it ends within {name}")
    yield b""


def _contents(frame: Any, piece: bytes) -> Iterator[bytes]:
    """Yield what a piece of a frame unpacks to: of LZ4 little at a time, since memray's files end with many zeros."""
    if not hasattr(frame, "needs_input"):
        yield frame.decompress(piece)
        return
    try:
        yield frame.decompress(piece, max_length=_PIECE_BYTES)
        while not frame.needs_input and not frame.eof:
            yield frame.decompress(b"", max_length=_PIECE_BYTES)
    except RuntimeError as error:
        raise EOFError(first_line(error)) from None


def lz4() -> Any:
    """Return the package lz4; Missing without it."""
    if find_spec("lz4") is None:
        raise Missing("files in LZ4, as those of memray are, need the package lz4: pip install 'heapsmith[imports]'")
    import lz4.block
    import lz4.frame

    return lz4


def _one_member(source: Source, packed: Any) -> Any:
    if not packed.seekable():
        raise BadInput(f"{source.name}: a zip cannot be read from a pipe")
    archive = zipfile.ZipFile(packed)
    members = [member for member in archive.infolist() if not member.is_dir()]
    if len(members) != 1:
        raise BadInput(f"{source.name}: expected a zip of one file, found {len(members)} files")
    if members[0].flag_bits & 1:
        raise BadInput(f"{source.name}: expected a zip without a password")
    return archive.open(members[0])
