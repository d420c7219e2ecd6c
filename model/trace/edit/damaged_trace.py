"""A damaged trace: its frames as far as they can be found, and what lies between them."""

from collections.abc import Iterator
from contextlib import suppress
from typing import NamedTuple

from heapsmith.model.trace.codec import Damage
from heapsmith.model.trace.frames import CHUNK_TAG, FOOTER_TAG, Footer, Frame, TraceFile

_WINDOW = 1 << 20


class Gap(NamedTuple):
    """Bytes of which no frame can be made."""

    offset: int
    end: int
    damage: str


def frames_and_gaps(file: TraceFile) -> Iterator[Frame | Gap]:
    """Yield the frames of a damaged trace in order, and the gaps between them, through the footer's or to the end.

    A frame's head is believed if the next frame begins where the head says, or if the checksum is right. Behind a
    head that is wrong, the search for a tag with a right checksum goes on byte by byte.
    """
    at, number = file.first_frame, 0
    while at < file.size:
        frame, damage = _believed(file, at, number)
        if frame is None:
            following = _next_sound(file, at + 1, number)
            end = following.offset if following else file.size
            yield Gap(at, end, damage)
            at = end
            continue
        yield frame
        if frame.tag == FOOTER_TAG:
            return
        at, number = frame.end, number + 1


def _believed(file: TraceFile, at: int, number: int) -> tuple[Frame | None, str]:
    """Return the frame there, or why there is none."""
    try:
        frame = file.frame(at, number)
    except Damage as damage:
        return None, str(damage)
    with suppress(Damage):
        if frame.tag == CHUNK_TAG and file.frame(frame.end, number + 1):
            return frame, ""
    return (frame, "") if _is_sound(file, frame) else (None, f"{frame.name}: neither whole nor followed by a frame")


def _is_sound(file: TraceFile, frame: Frame) -> bool:
    with suppress(Damage):
        file.footer(frame) if frame.tag == FOOTER_TAG else file.chunk(frame)
        return True
    return False


def _next_sound(file: TraceFile, start: int, number: int) -> Frame | None:
    """Return the first frame from `start` on whose content is right; None if there is none."""
    for at in _tags(file, start):
        with suppress(Damage):
            frame = file.frame(at, number)
            if _is_sound(file, frame):
                return frame
    return None


def _tags(file: TraceFile, start: int) -> Iterator[int]:
    """Yield where a tag of a frame stands, from `start` on."""
    overlap = len(CHUNK_TAG) - 1
    for first in range(start, file.size, _WINDOW):
        text = file.read(first, _WINDOW + overlap)
        at = -1
        while True:
            found = [place for tag in (CHUNK_TAG, FOOTER_TAG) if 0 <= (place := text.find(tag, at + 1)) < _WINDOW]
            if not found:
                break
            at = min(found)
            yield first + at


def footer_of(file: TraceFile, last: Frame | Gap | None) -> tuple[Footer | None, str | None]:
    """Return the footer, by the trailer or as the last frame, and what is wrong with the end of the file."""
    try:
        return file.footer(file.footer_frame()), None
    except Damage as damage:
        wrong = str(damage)
    with suppress(Damage):
        if isinstance(last, Frame) and last.tag == FOOTER_TAG:
            return file.footer(last), wrong
    return None, f"{wrong}; the footer is lost"
