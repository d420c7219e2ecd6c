"""Writing traces: gather events into frames, check them, rename the file (docs/trace.md)."""

import os
from contextlib import suppress
from pathlib import Path
from typing import Any, Self

import numpy as np
import zstandard

from heapsmith.model.errors import BadInput
from heapsmith.model.files import STANDARD
from heapsmith.model.trace.codec import COLUMNS, FREE_SITE, PROCESSOR, SITE, U32, ZSTD_LEVEL, encode
from heapsmith.model.trace.events import CHUNK_EVENTS, Chunk, Rules, join
from heapsmith.model.trace.frames import CHUNK_TAG, MAX_CHUNK_EVENTS, Footer, Header, epilogue, frame_bytes, prologue

_FOOTER_FIELDS = {"drops", "foreign_frees", "salvaged", "samples", "stacks"}


class TraceWriter:
    """Writes a trace under a temporary name beside `path`; closing renames it. Context manager.

    The path `-` is standard output, where the trace grows as it is written: a reader knows by the trailer that
    it is whole.
    Leaving the context closes the trace. An exception removes the temporary file and leaves `path`
    as it was. The rules check every event, so that no invalid trace is ever written. Raises
    BadInput if the file cannot be written or an event breaks a rule. processors: the trace has the
    column `processor`; without it the processors of events are dropped. sites: the trace has the
    column `site`; closing then takes the `stacks`. free_sites: it has `free_site` too.
    """

    def __init__(
        self,
        path: str | Path,
        *,
        command: list[str],
        source: str,
        chunk_events: int = CHUNK_EVENTS,
        processors: bool = False,
        sites: bool = False,
        free_sites: bool = False,
    ) -> None:
        self.path = Path(path)
        if not 0 < chunk_events <= MAX_CHUNK_EVENTS:
            raise ValueError(f"chunk_events: expected 1 to {MAX_CHUNK_EVENTS}, got {chunk_events}")
        is_stream = str(path) == STANDARD
        self._temporary = None if is_stream else self.path.with_name(f".{self.path.name}.{os.getpid()}")
        self._bytes = 0
        self._chunk_events = chunk_events
        self._rules = Rules()
        self._pending: list[Chunk] = []
        self._pending_sites: list[U32] | None = [] if sites else None
        self._pending_events = 0
        self._chunks = 0
        self._slot = np.zeros(0, np.int32)
        self._zstd = zstandard.ZstdCompressor(level=ZSTD_LEVEL)
        if self._temporary and self.path.is_dir():
            raise BadInput(f"{path}: cannot write the trace: it is a directory")
        try:
            self._file = self._temporary.open("wb") if self._temporary else os.fdopen(os.dup(1), "wb")
        except OSError as error:
            raise self._cannot_write(error) from None
        asked = ((PROCESSOR, processors), (SITE, sites), (FREE_SITE, sites and free_sites))
        self._further = [column for column, is_there in asked if is_there]
        self._write(prologue(Header(command, source, chunk_events, [*COLUMNS, *self._further])))

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

    @property
    def events(self) -> int:
        """How many events were appended."""
        return self._rules.events + self._pending_events

    def append(self, chunk: Chunk, site: U32 | None = None) -> None:
        """Add any number of events; the writer gathers them into frames of `chunk_events`.

        site: the column of these events, for a writer with `sites`.
        """
        self._pending.append(chunk.checked())
        self._pending_events += chunk.op.size
        if self._pending_sites is not None:
            self._pending_sites.append(np.zeros(chunk.op.size, np.uint32) if site is None else site)
        if self._pending_events >= self._chunk_events:
            whole = self._pending_events - self._pending_events % self._chunk_events
            self._flush(whole)

    def _flush(self, stop: int) -> None:
        """Write the first `stop` of the pending events, frame by frame, and keep the others."""
        events = join(self._pending)
        sites = None if self._pending_sites is None else np.concatenate(self._pending_sites)
        for first in range(0, stop, self._chunk_events):
            last = min(first + self._chunk_events, stop)
            self._write_chunk(events.part(first, last), None if sites is None else sites[first:last])
        self._pending, self._pending_events = [events.part(stop, events.op.size)], events.op.size - stop
        if sites is not None:
            self._pending_sites = [sites[stop:]]

    def close(self, extra_footer: dict[str, Any] | None = None) -> Footer:
        """Complete the trace and give it its name; return the footer.

        `extra_footer`: drops, foreign_frees, salvaged, samples and stacks become fields of the footer, all else its
        `extra`.
        """
        try:
            if self._pending_events:
                self._flush(self._pending_events)
            given, rules = extra_footer or {}, self._rules
            named = {name: given[name] for name in _FOOTER_FIELDS & given.keys()}
            extra = {name: value for name, value in given.items() if name not in _FOOTER_FIELDS}
            footer = Footer(rules.events, self._chunks, rules.threads, rules.blocks, **named, extra=extra)
            self._write(epilogue(footer, self._bytes))
            self._file.close()
            if self._temporary:
                self._temporary.replace(self.path)
        except BrokenPipeError:
            raise
        except OSError as error:
            raise self._cannot_write(error) from None
        return footer

    def _write_chunk(self, chunk: Chunk, site: U32 | None) -> None:
        breach = self._rules.breach(chunk)
        if breach:
            raise BadInput(f"{self.path}: not written: chunk {self._chunks}: {breach}")
        if self._slot.size < self._rules.blocks:
            self._slot = np.zeros(2 * self._rules.blocks, np.int32)
        payload = encode(chunk, self._slot, self._zstd, site, self._further)
        self._write(frame_bytes(CHUNK_TAG, payload, chunk.op.size))
        self._chunks += 1

    def _write(self, data: bytes) -> None:
        try:
            self._file.write(data)
            self._bytes += len(data)
        except BrokenPipeError:  # the reader of standard output has enough
            raise
        except OSError as error:
            raise self._cannot_write(error) from None

    def _cannot_write(self, error: OSError) -> BadInput:
        return BadInput(f"{self.path}: cannot write the trace: {error.strerror}")

    def _abandon(self) -> None:
        with suppress(OSError):  # a full disk: buffered bytes cannot be written either
            self._file.close()
        if self._temporary:
            self._temporary.unlink(missing_ok=True)
