"""Finds a command's own malloc: glibc's, or another malloc to compare beside glibc's."""

import os
import subprocess
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import msgspec

from heapsmith.codegen.toolchain import Tool
from heapsmith.model.errors import BadInput
from heapsmith.tools.common.preload import for_all
from heapsmith.tools.common.program_start import Start
from heapsmith.tools.common.replay_tools import runtime_tool
from heapsmith.tools.compare.launched import launch
from heapsmith.tools.peers.peers import GLIBC, Library, find_library, is_c_library

VARIABLE = "HEAPSMITH_WHOSE_MALLOC"
"""Names the file that the probe writes to (`runtime/replay/whose_malloc.c`)."""


class OwnMalloc(NamedTuple):
    """The sources of malloc in a command's processes, except the C library.

    `objects`: paths of shared objects. `inside`: paths of executables that define malloc, which no
    preloaded library replaces. `operators`: one of `objects` also provides operator new.
    """

    objects: list[str]
    inside: list[str]
    operators: bool

    def glibc(self) -> Library:
        """The C library's malloc; preloaded, with libstdc++'s operators, beside another malloc."""
        return self.of_glibc(find_library(GLIBC))

    def of_glibc(self, library: Library) -> Library:
        """The library; if it is glibc, with settings or without, with what `glibc` preloads."""
        standard = ("libstdc++.so.6", "libc.so.6") if self.operators else ("libc.so.6",)
        is_beside_others = library.path is None and self.objects
        return msgspec.structs.replace(library, standard=standard) if is_beside_others else library

    def baselines(self) -> list[Library]:
        """The rows for glibc in a comparison: glibc, and the command's malloc if it differs."""
        names = ", ".join(Path(path).name for path in self.objects + self.inside)
        own = [Library(f"own ({names})", None, is_own=True)] if names else []
        return own if self.inside and not self.objects else [self.glibc(), *own]

    def note(self) -> str:
        """A warning of executables in which no library replaces malloc, else empty."""
        return f"no preloaded library replaces the malloc inside {', '.join(self.inside)}" if self.inside else ""


def probe_tool() -> Tool:
    """The probe, which looks for malloc's place."""
    flags = ("-shared", "-fPIC", "-fvisibility=hidden")
    return runtime_tool("whose-malloc.so", "whose_malloc.c", "../heap/1_base/definitions.c", flags=flags)


def own_malloc(start: Start, folder: Path, *, limit_s: float | None = None) -> OwnMalloc:
    """Run the program once with the probe preloaded.

    `folder` is for the probe's file. A command that cannot be executed has no malloc of its own.
    Raises Missing without a compiler, CheckFailed for a run that exceeds `limit_s`.
    """
    listing = folder / "whose-malloc"
    listing.write_bytes(b"")
    probe = for_all(probe_tool().ready()).word
    preloads = [path for path in (start.variables().get("LD_PRELOAD", ""), probe) if path]
    probed = start._replace(added={**start.added, "LD_PRELOAD": ":".join(preloads), VARIABLE: str(listing)})
    void = subprocess.DEVNULL
    with suppress(BadInput):
        launch(probed, folder / "report", limit_s, stdout=void, stderr=void)
    strings = os.fsdecode(listing.read_bytes()).split("\0")
    images = list(zip(*[iter(strings)] * 3, strict=False))  # nothing follows the last null byte
    own = [image for image in images if not is_c_library(image[0])]
    objects = [malloc for malloc, _, _ in own if malloc]
    return OwnMalloc(
        objects=list(dict.fromkeys(objects)),
        inside=list(dict.fromkeys(program for malloc, _, program in own if not malloc)),
        operators=any(operators in objects for _, operators, _ in own),
    )
