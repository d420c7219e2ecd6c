"""Load from other programs and other virtual machines on the processors during a measurement."""

import os
import resource
import time
from pathlib import Path
from typing import NamedTuple

TOO_MUCH = 0.10
"""Processors taken by others, on average, above which a row gets a note."""

STAT = Path("/proc/stat")


class Clocks(NamedTuple):
    """Clock readings at one moment, or differences between two readings, in ns.

    `own` is the CPU time of this process and of the descendants that it waited for. `busy` and
    `stolen` are sums over all processors, as the kernel counts them (proc_stat(5)): in clock ticks,
    mostly of 10 ms.
    """

    wall_ns: int = 0
    own_ns: int = 0
    busy_ns: int = 0
    stolen_ns: int = 0

    @classmethod
    def now(cls, stat: Path = STAT) -> "Clocks":
        """Read the clocks; busy is user, which includes guests, nice, system, irq and softirq."""
        user, nice, system, _, _, irq, softirq, steal = map(int, stat.read_text().split(maxsplit=9)[1:9])
        tick_ns = 10**9 // os.sysconf("SC_CLK_TCK")
        used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
        own = sum(one.ru_utime + one.ru_stime for one in used)
        busy = user + nice + system + irq + softirq
        return cls(time.monotonic_ns(), round(own * 1e9), busy * tick_ns, steal * tick_ns)

    def since(self, before: "Clocks") -> "Clocks":
        """The difference to an earlier reading."""
        return Clocks(*(now - then for now, then in zip(self, before, strict=True)))

    def others(self) -> float:
        """Processors that other programs kept busy, on average: 0.5 is half a processor."""
        return max(0, self.busy_ns - self.own_ns) / max(1, self.wall_ns)

    def stolen(self) -> float:
        """Processors that the hypervisor gave to other machines, on average."""
        return self.stolen_ns / max(1, self.wall_ns)

    def note(self) -> str:
        """A warning if others took too much, else empty."""
        shares = ((self.others(), "busy with other programs"), (self.stolen(), "stolen by the hypervisor"))
        found = [f"{share:.2f} processors were {what}" for share, what in shares if share > TOO_MUCH]
        return " and ".join(found)
