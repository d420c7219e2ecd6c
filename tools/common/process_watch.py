"""Watches the processes of a command while it runs: which of them have a library, and which did the work."""

import os
import threading
import time
from array import array
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from heapsmith.tools.common import elf
from heapsmith.tools.common.obstacles import why_image, why_libc
from heapsmith.tools.common.orphans import Orphans
from heapsmith.tools.common.other_memory import OTHER_BYTES, HeapsmithBytes
from heapsmith.tools.common.preload import safe_name
from heapsmith.tools.common.processes import Running, descendants
from heapsmith.tools.common.served_share import CHANGED, NOT_LOADED, OTHER_RIGHTS, OVERWRITTEN, OWN_MALLOC, Image

if TYPE_CHECKING:  # the module needs numpy, which not each command that watches imports
    from heapsmith.tools.common.resident_series import Looks, Series

FIRST_S, GROWTH, LONGEST_S = 0.0002, 1.3, 0.02
"""The time from one look to the next: short at first, because many commands are."""
SHARE_OF_TIME = 0.02
FREE_S = 0.02
"""The most of a processor's time that the looks may take, and seconds of it that they may take before."""
SURE_S = 0.02
"""After this much processor time since the first look the loader has done its work."""
_TICK_S, _PAGE = 1 / os.sysconf("SC_CLK_TCK"), os.sysconf("SC_PAGE_SIZE")
_AT_SECURE = 23


class _Facts(NamedTuple):
    """What /proc/PID/stat says.

    stack: where it begins, which tells a program from the next that exec(2) starts; 0 while exec works, and of another
    user's process.
    """

    ended: bool
    parent: int
    started: int
    stack: int
    cpu_s: float
    name: str


class _Seen:
    """A program in a process: a new one begins with each exec."""

    def __init__(self, pid: int, facts: _Facts, exe: str, by: str, cpu_before_s: float) -> None:
        self.pid, self.own_pid, self.parent = pid, _own_pid(pid), facts.parent
        self.stack, self.by, self.before_s = facts.stack, by, cpu_before_s
        self.exe, self.name = exe, facts.name
        self.cpu_s, self.rss, self.anonymous = 0.0, 0, 0
        self.first_s = facts.cpu_s - cpu_before_s  # a part may be of the program before
        self.has: bool | None = None
        self.why = ""
        self.given, self.beside = HeapsmithBytes(), (0, 0)
        self.series: Series | None = None


class Watch:
    """The processes of a command, as far as looks have seen them.

    library: the file that they ought to have mapped, and that gives the word in LD_PRELOAD its name. others: the
    same for programs of other C libraries.
    """

    def __init__(self, library: Path, command: str, *others: Path) -> None:
        self._library = library
        self._files = [_mapped(file) for file in (library, *others)]
        self._preloaded, self._command = os.fsencode(safe_name(library)), Path(command).name
        self._seen: dict[tuple[int, int], list[_Seen]] = {}
        self._alive: set[int] = set()
        self.looks: Looks | None = None  # at what is resident
        self._own, self._programs = "", 0
        self._began = int(time.clock_gettime(time.CLOCK_BOOTTIME) / _TICK_S)  # as /proc/PID/stat has it

    def look(self, root: int, orphans: Orphans | None = None, *, with_root: bool) -> bool:
        """Look once at all processes below `root`, at orphans, and at those seen earlier that have another parent now.

        Whether there is a new program.
        """
        if not with_root and not self._own:
            self._own = _link(root, "exe")
        before = self._programs
        pids = dict.fromkeys([*([root] if with_root else []), *descendants(root), *self._alive])
        for orphan in orphans.alive() if orphans is not None else []:
            pids |= dict.fromkeys([orphan, *descendants(orphan)])
        self._alive = {pid for pid in pids if self._lives(pid)}
        return self._programs > before

    def _lives(self, pid: int) -> bool:
        """Look at a process; False of one that has ended."""
        with suppress(OSError, ValueError, IndexError):
            return self._look_at(pid)
        return False

    def images(self) -> list[Image]:
        """What was seen."""
        return [
            Image(one.pid, one.name, one.cpu_s, one.rss, one.anonymous, one.has, one.why, one.own_pid, one.beside)
            for programs in self._seen.values()
            for one in programs
        ]

    def looked(self) -> list[tuple[int, int, "Series"]]:
        """The series of looks at each program, in order of time, after the pid by which its process knows itself and
        its pid here; also those without looks.
        """
        programs = [one for its in self._seen.values() for one in its]
        found = [(one.own_pid, one.pid, one.series) for one in programs if one.series is not None]
        return sorted(found, key=lambda one: one[2].looks[0].begin_ns if one[2].looks else one[2].seen_ns)

    def going_on(self) -> list[Running]:
        """The processes with the library that began after the watch and that no process of this program is above."""
        ours, found = _link(os.getpid(), "exe"), []
        for process in Path("/proc").glob("[0-9]*"):
            with suppress(OSError, ValueError, IndexError):  # it ended, or is another user's
                facts = _facts(pid := int(process.name))
                if facts.ended or facts.started < self._began or not self._is_in((process / "maps").read_bytes()):
                    continue
                if not any(_link(above, "exe") == ours for above in _above(facts.parent)):
                    found.append(Running(pid, facts.name))
        return sorted(found, key=lambda one: one.pid)

    def _look_at(self, pid: int) -> bool:
        seen_ns = time.monotonic_ns()
        facts = _facts(pid)
        if facts.ended:
            return False
        programs = self._seen.setdefault((pid, facts.started), [])
        exe = _link(pid, "exe")
        if programs and _is_begun_by(programs[-1], exe):
            programs[-1].stack, programs[-1].name, programs[-1].exe = facts.stack, facts.name, exe or programs[-1].exe
        if exe == self._own != "":  # the launcher, before it becomes the command
            return True
        if not programs or facts.stack not in (0, programs[-1].stack) or exe not in ("", programs[-1].exe):
            before = programs[-1].before_s + programs[-1].cpu_s if programs else 0.0
            by = _called(programs[-1]) if programs else self._name_of(facts.parent) or self._command
            self._programs += 1
            programs.append(_Seen(pid, facts, exe, by, before))
        one = programs[-1]
        one.cpu_s = max(one.cpu_s, facts.cpu_s - one.before_s)
        resident, shared = map(int, Path(f"/proc/{pid}/statm").read_bytes().split()[1:3])
        one.rss = max(one.rss, resident * _PAGE)
        anonymous = (resident - shared) * _PAGE
        one.anonymous = max(one.anonymous, anonymous)
        if one.has is None:
            self._find(one)
        if one.has and anonymous > max(OTHER_BYTES, one.beside[0]):
            given = one.given.read(pid, anonymous)
            one.beside = one.beside if given is None else (anonymous, given)
        if one.has and self.looks is not None:
            one.series = one.series or self.looks.begin()
            with suppress(Exception):  # a look decides neither whether a process is there nor whether the watch goes on
                self.looks.look(pid, one.series, resident * _PAGE, seen_ns)
        return True

    def _name_of(self, pid: int) -> str:
        return next((_called(programs[-1]) for (other, _), programs in self._seen.items() if other == pid), "")

    def _find(self, one: _Seen) -> None:
        """Whether the program has the library in effect, as soon as that is known, and why not."""
        try:
            maps = Path(f"/proc/{one.pid}/maps").read_bytes()
        except PermissionError:
            one.has, one.why = _unreadable(one.pid)
            return
        if not maps:
            return
        if self._is_in(maps):
            if image := _image(one.pid):
                one.has, one.why = not image.malloc, OWN_MALLOC if image.malloc else ""
        elif b"/libc.so.6" in maps or b"/libc-2" in maps or one.cpu_s - one.first_s > SURE_S:
            one.has, one.why = False, self._why(one)
        elif reason := _why_file(one.pid, self._library):
            one.has, one.why = False, reason

    def _is_in(self, maps: bytes) -> bool:
        """Whether the library is mapped; seen from another root its folder is another."""
        return any(
            number in line or line.endswith(path)
            for number, path in self._files
            for line in maps.splitlines()
            if path.rpartition(b"/")[2] in line
        )

    def _why(self, one: _Seen) -> str:
        """Why a program that runs now was started without the library."""
        if reason := _why_file(one.pid, self._library):
            return reason
        if _is_secure(one.pid):
            return OTHER_RIGHTS
        if reason := self._why_its_origin(one):
            return reason
        entries = Path(f"/proc/{one.pid}/environ").read_bytes().split(b"\0")
        if len(entries) > 1 and b"=" not in entries[0]:
            return OVERWRITTEN
        value = next((entry for entry in entries if entry.startswith(b"LD_PRELOAD=")), None)
        if value is None or self._preloaded not in value:
            return f"{CHANGED} {'without LD_PRELOAD' if value is None else 'with another LD_PRELOAD'} by {one.by}"
        user = Path(f"/proc/{one.pid}").stat().st_uid
        return f"{NOT_LOADED}, {f'as user {user}' if user != os.geteuid() else 'perhaps from another root'}"

    def _why_its_origin(self, one: _Seen) -> str:
        """Why the program of which this is a fork has no library; a server's worker may overwrite its environment."""
        of_parent = [
            other for (pid, _), programs in self._seen.items() if pid == one.parent for other in programs if other.why
        ]
        return next((other.why for other in of_parent if (other.stack, other.exe) == (one.stack, one.exe)), "")


def _mapped(file: Path) -> tuple[bytes, bytes]:
    """How /proc/PID/maps shows a file: its number and its path (proc_pid_maps(5))."""
    return b" %d " % file.stat().st_ino, os.fsencode(file.resolve()).replace(b"\n", rb"\012")


def _is_begun_by(one: _Seen, exe: str) -> bool:
    """Whether exec was still at work as a program was seen first, and the same exec has begun what is there now.

    Then its stack was not there or began elsewhere (exec moves it once more), and its name may have been that of the
    program before.
    """
    return (exe in ("", one.exe) or not one.exe) and (not one.stack or one.has is None)


def _called(one: _Seen) -> str:
    """What a program is called: by its file where it was only seen to begin, when the name may be another's."""
    return one.name if one.has is not None or not one.exe else Path(one.exe).name


def _facts(pid: int) -> _Facts:
    head, _, rest = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")
    words, name = rest.split(), head.partition(b"(")[2].decode(errors="replace")
    ticks = (int(words[11]) + int(words[12])) * _TICK_S
    finer = 0.0
    with suppress(OSError):  # not in every kernel; of the first thread alone
        finer = int(Path(f"/proc/{pid}/schedstat").read_bytes().split()[0]) / 1e9
    return _Facts(words[0] in (b"Z", b"X"), int(words[1]), int(words[19]), int(words[25]), max(ticks, finer), name)


def _above(pid: int) -> Iterator[int]:
    """A process, its parent, and so on."""
    while pid > 0:
        yield pid
        pid = _facts(pid).parent


def _own_pid(pid: int) -> int:
    """The process id by which the process knows itself."""
    lines = Path(f"/proc/{pid}/status").read_bytes().splitlines()
    seen_from = next((line for line in lines if line.startswith(b"NSpid:")), b"")
    return int(seen_from.split()[-1]) if seen_from else pid  # the innermost namespace is last


def _link(pid: int, name: str) -> str:
    try:
        return os.readlink(f"/proc/{pid}/{name}")
    except OSError:
        return ""


def _why_file(pid: int, library: Path) -> str | None:
    if image := _image(pid):
        reason = why_image(image) or why_libc(image, library)
        return f"it is {reason}" if reason else OWN_MALLOC if image.malloc else None
    return None


def _image(pid: int) -> elf.Image | None:
    return elf.image_of(Path(f"/proc/{pid}/exe"))


def _is_secure(pid: int) -> bool:
    """Whether the loader is in secure-execution mode (AT_SECURE of getauxval(3))."""
    with suppress(OSError):
        vector = array("L", Path(f"/proc/{pid}/auxv").read_bytes())
        return (_AT_SECURE, 1) in zip(vector[::2], vector[1::2], strict=False)
    return False


def _unreadable(pid: int) -> tuple[bool | None, str]:
    """What is known of a process that this user may not look into."""
    with suppress(OSError):
        if Path(f"/proc/{pid}").stat().st_uid != os.geteuid():
            return False, OTHER_RIGHTS
    return None, ""


@contextmanager
def watching(watch: Watch | None, root: int, orphans: Orphans | None = None, *, with_root: bool) -> Iterator[None]:
    """Look at the processes below `root`, and at `root` too if that is the program, until the block ends."""
    if watch is None:
        yield
        return
    looks = partial(watch.look, root, *([orphans] if orphans is not None else []), with_root=with_root)
    looks()
    ends = threading.Event()
    thread = threading.Thread(target=_looks, args=(looks, ends), daemon=True)
    thread.start()
    try:
        yield
    finally:
        ends.set()
        thread.join()


def _looks(look: Callable[[], bool], ends: threading.Event) -> None:
    """Look often after each new program, as long as the looks have taken little time."""
    begun, wait_s = time.monotonic(), FIRST_S
    while not ends.wait(wait_s):
        is_new = look()
        allowed_s = FREE_S + SHARE_OF_TIME * (time.monotonic() - begun)
        wait_s = FIRST_S if is_new else min(LONGEST_S, wait_s * GROWTH)
        if time.thread_time() > allowed_s:
            wait_s = LONGEST_S
