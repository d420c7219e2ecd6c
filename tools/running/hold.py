"""Holds a process where none of its threads is in a function of a library, by ptrace(2): no call is under way then.

A thread is in the library if its next instruction is there, or if the library made the system call or the call of the C
library that it is in, as the innermost return address on its stack says.
"""

import ctypes
import errno
import os
import signal
import struct
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from heapsmith.model.errors import Missing
from heapsmith.tools.common.process_memory import Gone, Memory
from heapsmith.tools.top.core_memory import REGISTERS

_SEIZE, _INTERRUPT, _CONTINUE, _STEP, _DETACH, _REGISTERS = 0x4206, 0x4207, 7, 9, 17, 12
_STOPPED = 128
"""The event of a thread that is held by none of its signals (PTRACE_EVENT_STOP)."""
_WALL = 0x40000000
_STATE = struct.Struct("<27Q")
"""struct user_regs_struct."""
_RIP, _RSP, _RDI, _CALL = (REGISTERS.index(name) for name in ("rip", "rsp", "rdi", "orig_rax"))

_STACK_WORDS = 64
"""Of the functions of the C library that a generated library calls, none has a longer frame."""
_FUTEX, _RESTART = 202, 219
"""A wait with a limit that was interrupted goes on as restart_syscall(2), with its registers as they were."""
_C_LIBRARY = ("libc.", "libc-", "libpthread", "ld-", "ld.", "[vdso]")

PATIENCE_S = 10.0
"""How long a thread may take to be held, or to leave the library."""
_DOUBT_S = 0.2
"""How long a thread is let go on whose stack alone says that it is in the library: a word there may be an old one.

Counted from when all are held for the first time, which takes long on a busy machine."""
_STEP_S = 0.0001
_MOST_STEPS = 300
"""Instructions that a thread is led on one by one: a call that takes no slow path has fewer."""
_LOOKS = 200
"""Looks whether a thread has made its step, before it is taken to wait for another."""
_OUTSIDE, _PERHAPS, _INSIDE = range(3)

_libc = ctypes.CDLL(None, use_errno=True)
_libc.ptrace.restype = ctypes.c_long
_libc.ptrace.argtypes = (ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p)


class Code(NamedTuple):
    """A library in memory: all of it [begin, end), and the spans of code.

    own: its own, of which the functions that are rarely called are one; c_library: of the C library and of the kernel's
    page of functions; others: of all other code.
    """

    begin: int
    end: int
    own: list[tuple[int, int]]
    c_library: list[tuple[int, int]]
    others: list[tuple[int, int]]

    def holds(self, address: int) -> bool:
        """Whether this is an address of the library's code."""
        return _is_in(address, self.own)


def code_of(pid: int, function: int) -> tuple[Code, str]:
    """The library that has a function, and its file. Gone if there is none."""
    lines = [line.split(maxsplit=5) for line in Path(f"/proc/{pid}/maps").read_text(errors="replace").splitlines()]
    spans = [tuple(int(end, 16) for end in words[0].split("-")) for words in lines]
    files = [words[5] if len(words) > 5 else "" for words in lines]
    own = next((at for at, (begin, end) in enumerate(spans) if begin <= function < end), None)
    if own is None:
        raise Gone(f"no code at {function:#x}")
    first = last = own
    while first > 0 and files[first - 1] == files[own]:
        first -= 1
    while last + 1 < len(spans) and spans[last + 1][0] == spans[last][1] and files[last + 1] in (files[own], ""):
        last += 1
    found = Code(spans[first][0], spans[last][1], [], [], [])
    for span, words, file in zip(spans, lines, files, strict=True):
        if "x" in words[1]:
            is_named = file.rpartition("/")[2].startswith(_C_LIBRARY)
            its = found.own if file == files[own] else found.c_library if is_named else found.others
            its.append((span[0], span[1]))
    return found, files[own]


@contextmanager
def held(pid: int, memory: Memory, code: Code) -> Iterator[None]:
    """Hold all threads of a process outside the library, for the time of the block.

    Gone if the process ends; Missing if it may not be held, or if a thread stays in the library.
    """
    threads = _Threads(pid)
    try:
        deadline = time.monotonic() + PATIENCE_S
        while threads.hold_new(deadline) or threads.let_out(memory, code, deadline):
            pass
        yield
    finally:
        threads.release()


class _Threads:
    """Threads that are held, and the signal that each is to get when it goes on."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._signals: dict[int, int] = {}
        self._gone: set[int] = set()
        self._stepped: set[int] = set()
        self._doubt_ends: float | None = None

    def hold_new(self, deadline: float) -> bool:
        """Hold the threads that are not held yet; whether there were any."""
        try:
            found = {int(name) for name in os.listdir(f"/proc/{self._pid}/task")} - self._signals.keys() - self._gone
        except OSError:
            raise Gone(f"process {self._pid}") from None
        fresh = [thread for thread in sorted(found) if self._seize(thread)]
        for thread in fresh:
            _ptrace(_INTERRUPT, thread)
        for thread in fresh:
            self._wait(thread, deadline)
        if not self._signals:
            raise Gone(f"process {self._pid}")
        return bool(found)

    def _seize(self, thread: int) -> bool:
        error = _ptrace(_SEIZE, thread)
        if error == 0:
            self._signals[thread] = 0
            return True
        if error == errno.ESRCH or _has_ended(self._pid, thread):
            self._gone.add(thread)
            return False
        raise Missing(
            f"process {self._pid}: it may not be held ({os.strerror(error)}): it needs the same user, and no debugger "
            "or strace on it; see ptrace(2)"
        )

    def _wait(self, thread: int, deadline: float) -> None:
        """Until the thread is held."""
        while True:
            try:
                found, status = os.waitpid(thread, os.WNOHANG | _WALL)
            except ChildProcessError:
                found, status = thread, 0
            if found and os.WIFSTOPPED(status):
                if self._note(thread, status):
                    return
                continue
            if found:
                del self._signals[thread]
                self._gone.add(thread)
                return
            if time.monotonic() > deadline:
                raise Missing(
                    f"process {self._pid}: its thread {thread} cannot be held: it is in an uninterruptible call"
                )
            time.sleep(_STEP_S)

    def _note(self, thread: int, status: int) -> bool:
        """Keep the signal that stopped a thread; the trap of a step is none of its own.

        False: an interrupt was told first, and the trap waits. The program would die of it: the thread goes on to it.
        """
        is_stop = status >> 16 == _STOPPED
        self._signals[thread] = 0 if is_stop or status >> 8 == signal.SIGTRAP else os.WSTOPSIG(status)
        if not is_stop or thread not in self._stepped or not _trap_waits(self._pid, thread):
            return True
        _ptrace(_CONTINUE, thread)
        return False

    def let_out(self, memory: Memory, code: Code, deadline: float) -> bool:
        """Let the threads that are in the library go on, step by step or else for a moment; whether there were any."""
        if self._doubt_ends is None:
            self._doubt_ends = time.monotonic() + _DOUBT_S
        doubted = _PERHAPS if time.monotonic() < self._doubt_ends else _INSIDE
        inside = [thread for thread in self._signals if _place(thread, memory, code) >= doubted]
        if inside and time.monotonic() > deadline:
            raise Missing(f"process {self._pid}: its thread {inside[0]} stays in a call of malloc or free")
        slow = [thread for thread in inside if not self._stepped_out(thread, memory, code, deadline)]
        for thread in slow:
            _ptrace(_CONTINUE, thread, self._signals[thread])
        if slow:
            time.sleep(_STEP_S)
        for thread in slow:
            _ptrace(_INTERRUPT, thread)
        for thread in slow:
            self._wait(thread, deadline)
        return bool(inside)

    def _stepped_out(self, thread: int, memory: Memory, code: Code, deadline: float) -> bool:
        """Lead a thread out of the library; False if it waits for another, or has further to go."""
        self._stepped.add(thread)
        for _ in range(_MOST_STEPS):
            if self._signals[thread] or _ptrace(_STEP, thread) != 0:
                return False
            for _ in range(_LOOKS):
                found, status = os.waitpid(thread, os.WNOHANG | _WALL)
                if found:
                    break
            else:
                _ptrace(_INTERRUPT, thread)
                self._wait(thread, deadline)
                return False
            if not os.WIFSTOPPED(status):
                del self._signals[thread]
                self._gone.add(thread)
                return True
            if not self._note(thread, status):
                self._wait(thread, deadline)
            if _place(thread, memory, code) == _OUTSIDE:
                return True
        return False

    def release(self) -> None:
        """Let all go on. The main thread is the last: if all were killed, it is reaped after the others."""
        for thread in sorted(self._signals, reverse=True):
            if _ptrace(_DETACH, thread, self._signals[thread]) != errno.ESRCH:
                continue
            _ptrace(_INTERRUPT, thread)  # it is not stopped: it was let out, or was killed
            for _ in range(_LOOKS):
                with suppress(ChildProcessError):
                    found, status = os.waitpid(thread, os.WNOHANG | _WALL)
                    if found and (not os.WIFSTOPPED(status) or self._note(thread, status)):
                        break
                time.sleep(_STEP_S)
            _ptrace(_DETACH, thread, self._signals[thread])


def _has_ended(pid: int, thread: int) -> bool:
    """Whether a thread has ended and only its number is left, as of a main thread that ended before the others."""
    try:
        state = Path(f"/proc/{pid}/task/{thread}/stat").read_text(errors="replace").rpartition(")")[2].split()[0]
    except OSError:
        return True
    return state in "ZX"


def _trap_waits(pid: int, thread: int) -> bool:
    """Whether a SIGTRAP waits for a thread (proc_pid_status(5))."""
    try:
        text = Path(f"/proc/{pid}/task/{thread}/status").read_text(errors="replace")
    except OSError:
        return False
    return bool(int(text.partition("SigPnd:")[2].split()[0], 16) >> signal.SIGTRAP - 1 & 1)


def _ptrace(request: int, thread: int, data: int | ctypes.Array[ctypes.c_char] = 0) -> int:
    """The error's number; 0: none."""
    given = ctypes.cast(data, ctypes.c_void_p) if isinstance(data, ctypes.Array) else ctypes.c_void_p(data)
    return 0 if _libc.ptrace(request, thread, None, given) == 0 else ctypes.get_errno()


def _place(thread: int, memory: Memory, code: Code) -> int:
    """Whether a thread that is held is in a call of the library.

    Of code that the C library runs, the innermost return address into other code tells who called it.
    """
    raw = ctypes.create_string_buffer(_STATE.size)
    if _ptrace(_REGISTERS, thread, raw) != 0:  # it was killed
        return _OUTSIDE
    state = _STATE.unpack(raw.raw)
    if code.holds(state[_RIP]):
        return _INSIDE
    if not _is_in(state[_RIP], code.c_library):
        return _OUTSIDE
    if state[_CALL] in (_FUTEX, _RESTART):
        return _INSIDE if code.begin <= state[_RDI] < code.end else _OUTSIDE
    words = memory.some(state[_RSP], 8 * _STACK_WORDS)
    for (word,) in struct.iter_unpack("<Q", words[: len(words) // 8 * 8]):
        is_own = code.holds(word)
        if (is_own or _is_in(word, code.others)) and _returns(memory, word):
            return _PERHAPS if is_own else _OUTSIDE
    return _OUTSIDE


def _is_in(address: int, spans: list[tuple[int, int]]) -> bool:
    return any(begin <= address < end for begin, end in spans)


def _returns(memory: Memory, address: int) -> bool:
    """Whether a call stands before an address: with its distance, or by a register or a word of memory."""
    before = memory.some(address - 7, 7).rjust(7, b"\0")
    return before[2] == 0xE8 or 0xFF in (before[0], before[1], before[4], before[5])
