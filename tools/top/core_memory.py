"""The memory of a program in its core file (core(5)), and what the file says of the program and its end."""

import mmap
import struct
from bisect import bisect_right
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, NamedTuple, cast

from elftools.common.exceptions import ELFError
from elftools.elf.constants import P_FLAGS
from elftools.elf.elffile import ELFFile
from elftools.elf.segments import NoteSegment

from heapsmith.model.constants import TRACE_MAGIC
from heapsmith.model.errors import BadInput
from heapsmith.tools.common.process_memory import MAGIC, PAGE, Memory

REGISTERS = [
    *("r15", "r14", "r13", "r12", "rbp", "rbx", "r11", "r10", "r9", "r8"),
    *("rax", "rcx", "rdx", "rsi", "rdi", "orig_rax", "rip", "cs", "eflags", "rsp"),
]
"""The general registers in their order (user_regs_struct of the kernel's headers)."""

AT_REGISTERS = 112
"""Where they begin in NT_PRSTATUS (struct elf_prstatus)."""
WITH_ADDRESS = (4, 5, 7, 8, 11)
"""Signals whose siginfo_t has the address of the fault (sigaction(2)): SIGILL, SIGTRAP, SIGBUS, SIGFPE, SIGSEGV."""
SI_KERNEL = 0x80
"""Of codes between 0 and this one the address is known; others are of kill(2), or of an address that is none."""
WANTED = "expected the core file of an x86-64 process (of a crash under `ulimit -c unlimited`, coredumpctl dump)"

KINDS = (
    (TRACE_MAGIC, "a trace", "`trace info`, `sites`, `simulate` and others"),
    (b"heap profile:", "a heap profile", "`profile` and `trace synth`"),
    (b"\x1f\x8b", "compressed", "`gunzip`"),
    (b"(\xb5/\xfd", "compressed", "`unzstd`"),
)
"""How files begin that may be taken for core files, what they are, and who reads them."""


class Segment(NamedTuple):
    """Memory [begin, end), of which the first `held` bytes are in the core file, at `offset`; is_code: it can run."""

    begin: int
    end: int
    offset: int
    held: int
    is_code: bool


class Mapped(NamedTuple):
    """A mapping [begin, end) of a file, from `offset` on."""

    begin: int
    end: int
    offset: int
    file: str


class CoreMemory(Memory):
    """The memory in a core file. Pages that a core leaves out, since files have them, are read from these files.

    Raises BadInput where the file is no core, is cut short, or where a mapped file has changed since.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            with path.open("rb") as file:
                self._bytes = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        except (OSError, ValueError) as error:  # the latter: it is empty
            raise BadInput(f"{path}: {getattr(error, 'strerror', None) or error}; {WANTED}") from None
        try:
            self._parse()
        except (ELFError, struct.error, UnicodeDecodeError, KeyError) as error:
            raise BadInput(f"{path}: {error}; {WANTED}") from None
        last = max(self.segments, key=lambda one: one.offset + one.held, default=None)
        if last is not None and last.offset + last.held > len(self._bytes):
            missing = last.offset + last.held - len(self._bytes)
            raise BadInput(f"{path}: it is cut short by {missing:,} bytes; expected a whole core file")
        self._files: dict[str, mmap.mmap | None] = {}

    def _parse(self) -> None:
        self.program, self.signal, self.fault = "", 0, None
        self.threads: list[dict[str, int]] = []
        self.mapped: list[Mapped] = []
        if not self._bytes[: len(MAGIC)] == MAGIC:
            raise ELFError(self._other())
        elf = ELFFile(cast("IO[bytes]", self._bytes))
        if elf["e_type"] != "ET_CORE":
            raise ELFError("is a program or a library")
        if elf["e_machine"] != "EM_X86_64":
            raise ELFError(f"is of another processor ({elf['e_machine']})")
        found = list(elf.iter_segments())
        self.segments = sorted(
            Segment(
                *(one["p_vaddr"], one["p_vaddr"] + one["p_memsz"], one["p_offset"], one["p_filesz"]),
                is_code=bool(one["p_flags"] & P_FLAGS.PF_X),
            )
            for one in found
            if one["p_type"] == "PT_LOAD"
        )
        self._begins = [one.begin for one in self.segments]
        for notes in (one for one in found if isinstance(one, NoteSegment)):
            for note in notes.iter_notes():
                self._note(note)

    def _other(self) -> str:
        """What a file is that is no ELF file."""
        for begin, kind, readers in KINDS:
            if self._bytes[: len(begin)] == begin:
                return f"is {kind}, which {readers} can read"
        return "is another kind of file"

    def _note(self, note: Any) -> None:
        kind, raw = note["n_type"], note["n_descdata"]
        if kind == "NT_PRPSINFO":
            self.program = note["n_desc"]["pr_psargs"].rstrip(b"\0 ").decode(errors="replace")
        elif kind == "NT_PRSTATUS":
            words = struct.unpack_from(f"<{len(REGISTERS)}Q", raw, AT_REGISTERS)
            self.threads.append(dict(zip(REGISTERS, words, strict=True)))
            self.signal = self.signal or int.from_bytes(raw[12:14], "little")
        elif kind == "NT_SIGINFO":
            number, _, code = struct.unpack_from("<iii", raw)
            if self.fault is None and number in WITH_ADDRESS and 0 < code < SI_KERNEL:
                (self.fault,) = struct.unpack_from("<Q", raw, 16)
        elif kind == "NT_FILE":
            page = note["n_desc"]["page_size"]
            names = [name.decode(errors="replace") for name in note["n_desc"]["filename"]]
            rows = note["n_desc"]["Elf_Nt_File_Entry"]
            self.mapped = [
                Mapped(row["vm_start"], row["vm_end"], row["page_offset"] * page, name)
                for row, name in zip(rows, names, strict=True)
            ]

    def objects(self) -> Iterator[int]:
        """Where each file is mapped whose beginning is; a segment's, where the core does not name its files."""
        yield from (one.begin for one in self.mapped if one.offset == 0) if self.mapped else self._begins

    def holds(self, address: int) -> bool:
        """Whether the program had memory there."""
        return self._segment(address) is not None

    def file_of(self, address: int) -> str | None:
        """The file that was mapped there."""
        return next((one.file for one in self.mapped if one.begin <= address < one.end), None)

    def maps(self) -> str:
        """The code of files that the program had mapped, as /proc/PID/maps says it (proc(5))."""
        found = ((one, self._segment(one.begin)) for one in self.mapped)
        return "".join(
            f"{one.begin:x}-{one.end:x} r-xp {one.offset:x} 00:00 0 {one.file}\n"
            for one, segment in found
            if segment and segment.is_code
        )

    def _segment(self, address: int) -> Segment | None:
        index = bisect_right(self._begins, address) - 1
        found = self.segments[index] if index >= 0 else None
        return found if found and address < found.end else None

    def some(self, address: int, count: int) -> bytes:
        """The bytes from an address on, fewer where the memory ends."""
        parts = []
        while count > 0 and (segment := self._segment(address)):
            inside = address - segment.begin
            if inside < segment.held:
                wide = min(count, segment.held - inside)
                part = self._bytes[segment.offset + inside : segment.offset + inside + wide]
            elif self.file_of(address) is not None:
                part = self._of_file(address, min(count, segment.end - address))
            else:  # nobody wrote there
                part = bytes(min(count, segment.end - address))
            if not part:
                break
            parts.append(part)
            address, count = address + len(part), count - len(part)
        return b"".join(parts)

    def _of_file(self, address: int, count: int) -> bytes:
        """Bytes that the core leaves out, since nobody changed them: those of the mapped file."""
        for one in self.mapped:
            if one.begin <= address < one.end:
                inside = one.offset + address - one.begin
                found = self._file(one.file)
                return found[inside : inside + min(count, one.end - address)] if found else b""
        return b""

    def _file(self, name: str) -> mmap.mmap | None:
        """A mapped file; None if it is not there. Its first page is in the core, and must be that of the file."""
        if name not in self._files:
            found = _opened(Path(name))
            self._files[name] = found
            if found is not None and any(self._differs(one, found) for one in self.mapped if one.file == name):
                raise BadInput(f"{self.path}: {name} has changed since; expected the file that the program had mapped")
        return self._files[name]

    def _differs(self, one: Mapped, found: mmap.mmap) -> bool:
        """Whether the first page of a file, as the core has it, is another: it has the build's id as a rule."""
        segment = self._segment(one.begin)
        if one.offset or segment is None or segment.held < PAGE or found[: len(MAGIC)] != MAGIC:
            return False
        return self._bytes[segment.offset : segment.offset + PAGE] != found[:PAGE]


def _opened(path: Path) -> mmap.mmap | None:
    """A regular file that is not empty, mapped; else None."""
    try:
        if not path.is_file():  # a device may have no end
            return None
        with path.open("rb") as file:
            return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except (OSError, ValueError):
        return None
