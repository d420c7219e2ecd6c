"""The memory of a process, written from outside: where there is nothing any more, and where another program is."""

import os
import subprocess

import pytest

from heapsmith.tools.common.process_memory import Gone, ProcessMemory


def test_a_write_is_to_the_program_that_was_there() -> None:
    """Not to one that the process begins later, though it has the same number, nor to one that has ended."""
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(["sh", "-c", "read line; exec cat"], text=True, **pipes) as process:  # type: ignore[call-overload]
        with ProcessMemory(process.pid, writes=True) as memory:
            place = next(memory.objects())
            begin = memory.read(place, 4)
            memory.write(place, begin)
            for unmapped in (8, 1 << 62):
                with pytest.raises(Gone):
                    memory.write(unmapped, begin)
            process.stdin.write("go on\nnext\n")
            process.stdin.flush()
            assert process.stdout.readline() == "next\n"
            with pytest.raises(Gone):
                memory.write(place, begin)
        with ProcessMemory(process.pid, writes=True) as memory:
            place = next(memory.objects())
            memory.write(place, memory.read(place, 4))
            process.stdin.close()
            os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
            with pytest.raises(Gone):
                memory.write(place, begin)
        process.wait()
        with pytest.raises(Gone):
            ProcessMemory(process.pid, writes=True)
