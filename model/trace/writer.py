"""Writing traces: gather events into frames, check them, rename the file (docs/trace.md)."""

import os
from contextlib import suppress
from pathlib import Path
from typing import Any, Self

import numpy as np
import zstandard

from heapsmith.model.errors import BadInput
from heapsmith.model.trace.codec import COLUMNS, ZSTD_LEVEL, encode
from heapsmith.model.trace.events import CHUNK_EVENTS, Chunk, Rules, join
from heapsmith.model.trace.frames import CHUNK_TAG, MAX_CHUNK_EVENTS, Footer, Header, epilogue, frame_bytes, prologue

_FOOTER_FIELDS = {"drops", "foreign_frees", "salvaged", "samples"}


class TraceWriter:
    """Writes a trace under a temporary name beside `path`; closing renames it. Context manager.

    Leaving the context closes the trace. An exception removes the temporary file and leaves `path`
    as it was. The rules check every event, so that no invalid trace is ever written. Raises
    BadInput if the file cannot be written or an event breaks a rule.
    """

    def __init__(self, path: str | Path, *, command: list[str], source: str, chunk_events: int = CHUNK_EVENTS) -> None:
        self.path = Path(path)
        if not 0 < chunk_events <= MAX_CHUNK_EVENTS:
            raise ValueError(f"chunk_events: expected 1 to {MAX_CHUNK_EVENTS}, got {chunk_events}")
        self._temporary = self.path.with_name(f".{self.path.name}.{os.getpid()}")
        self._chunk_events = chunk_events
        self._rules = Rules()
        self._pending: list[Chunk] = []
        self._pending_events = 0
        self._chunks = 0
        self._slot = np.zeros(0, np.int32)
        self._zstd = zstandard.ZstdCompressor(level=ZSTD_LEVEL)
        if self.path.is_dir():
            raise BadInput(f"{path}: cannot write the trace: it is a directory")
        try:
            self._file = self._temporary.open("wb")
        except OSError as error:
            raise self._cannot_write(error) from None
        self._write(prologue(Header(command, source, chunk_events, COLUMNS)))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is not None:
            self._abandon()
        elif not self._file.closed:
            try:
                self.close()
            except BaseException:
                self._abandon()
                raise

    def append(self, chunk: Chunk) -> None:
        """Add any number of events; the writer gathers them into frames of `chunk_events`."""
        self._pending.append(chunk.checked())
        self._pending_events += chunk.op.size
        if self._pending_events >= self._chunk_events:
            events = join(self._pending)
            whole = events.op.size - events.op.size % self._chunk_events
            for first in range(0, whole, self._chunk_events):
                self._write_chunk(events.part(first, first + self._chunk_events))
            self._pending = [events.part(whole, events.op.size)]
            self._pending_events = events.op.size - whole

    def close(self, extra_footer: dict[str, Any] | None = None) -> Footer:
        """Complete the trace and give it its name; return the footer.

        `extra_footer`: drops, foreign_frees, salvaged and samples become fields of the footer, all else its
        `extra`.
        """
        try:
            if self._pending_events:
                self._write_chunk(join(self._pending))
            given, rules = extra_footer or {}, self._rules
            named = {name: given[name] for name in _FOOTER_FIELDS & given.keys()}
            extra = {name: value for name, value in given.items() if name not in _FOOTER_FIELDS}
            footer = Footer(rules.events, self._chunks, rules.threads, rules.blocks, **named, extra=extra)
            self._write(epilogue(footer, self._file.tell()))
            self._file.close()
            self._temporary.replace(self.path)
        except OSError as error:
            raise self._cannot_write(error) from None
        return footer

    def _write_chunk(self, chunk: Chunk) -> None:
        breach = self._rules.breach(chunk)
        if breach:
            raise BadInput(f"{self.path}: not written: chunk {self._chunks}: {breach}")
        if self._slot.size < self._rules.blocks:
            self._slot = np.zeros(2 * self._rules.blocks, np.int32)
        self._write(frame_bytes(CHUNK_TAG, encode(chunk, self._slot, self._zstd), chunk.op.size))
        self._chunks += 1

    def _write(self, data: bytes) -> None:
        try:
            self._file.write(data)
        except OSError as error:
            raise self._cannot_write(error) from None

    def _cannot_write(self, error: OSError) -> BadInput:
        return BadInput(f"{self.path}: cannot write the trace: {error.strerror}")

    def _abandon(self) -> None:
        with suppress(OSError):  # a full disk: buffered bytes cannot be written either
            self._file.close()
        self._temporary.unlink(missing_ok=True)
