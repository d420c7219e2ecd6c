"""Becomes a program in a process just forked: by execve(2) itself, for Python's own changes the environment."""

import ctypes
import os
import signal
from collections.abc import Callable, Collection, Sequence
from typing import NamedTuple

CANNOT_EXEC = 127
_CLONE_NEWNS, _MS_BIND, _MS_REC, _MS_SLAVE = 0x20000, 0x1000, 0x4000, 0x80000
_C = ctypes.CDLL(None, use_errno=True)
_DEFAULT, _IGNORE = (ctypes.c_void_p(int(how)) for how in (signal.SIG_DFL, signal.SIG_IGN))
_ROOT, _FILE = b"/", b"/etc/ld.so.preload"


class Image(NamedTuple):
    """What a process becomes, as runtime/replay/become.h has it for the launcher.

    closed: standard streams to close. preload_file: stands in place of /etc/ld.so.preload for the program and its
    children; empty: none does.
    """

    program: bytes
    arguments: Sequence[bytes]
    environment: Sequence[bytes]
    closed: Collection[int]
    ignored: Collection[int]
    preload_file: bytes


def becoming(image: Image, mask: Collection[int], error_pipe: int) -> Callable[[], None]:
    """What the forked process is to call; other threads may have run at the fork, so all is made ready here.

    `mask`: the signals that it blocks then. If it cannot become the program, it ends, and the number of the error
    goes to the pipe, which a successful exec closes: below 0 if it is of the mount of preload_file.
    """
    actions = [(number, _IGNORE if number in image.ignored else _DEFAULT) for number in signal.valid_signals()]
    arguments, environment = _array(image.arguments), _array(image.environment)

    def become() -> None:
        for number, action in actions:
            _C.signal(number, action)
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        sign = -1
        if not image.preload_file or _preload_everywhere(image.preload_file):
            for stream in image.closed:
                _C.close(stream)
            _C.execve(image.program, arguments, environment)
            sign = 1
        os.write(error_pipe, (sign * ctypes.get_errno()).to_bytes(4, "little", signed=True))
        os._exit(CANNOT_EXEC)

    return become


def _array(strings: Sequence[bytes]) -> "ctypes.Array[ctypes.c_char_p]":
    """The pointers to these strings, and a null pointer."""
    return (ctypes.c_char_p * (len(strings) + 1))(*strings, None)


def _preload_everywhere(file: bytes) -> bool:
    """A mount is seen by this process and its children alone, and ends with the last of them."""
    slave, bind = ctypes.c_ulong(_MS_REC | _MS_SLAVE), ctypes.c_ulong(_MS_BIND)
    return not (
        _C.unshare(_CLONE_NEWNS) or _C.mount(None, _ROOT, None, slave, None) or _C.mount(file, _FILE, None, bind, None)
    )
