"""Settings of mimalloc (environment) for traces. Source: mimalloc 2.5.2 and 3.6.0, src/options.c and readme.md."""

from heapsmith.tools.knobs import decay
from heapsmith.tools.knobs.glibc import huge_page_reason
from heapsmith.tools.knobs.knob import Asked, Knob

DELAY_MS = {"mimalloc2": 100, "mimalloc3": 4000}
"""What pages of arenas wait by default: purge_delay times arena_purge_mult, 10 x 10 and 1000 x 4."""
MULTIPLIER = {"mimalloc2": 10, "mimalloc3": 4}
DEFAULT = {"mimalloc2": 10, "mimalloc3": 1000}


def advise(asked: Asked, release: str) -> list[Knob]:
    """Return the settings that the traces give reason for, of `mimalloc2` or `mimalloc3`."""
    knobs = []
    found = decay.advise(asked, DELAY_MS[release])
    if found is not None:
        ms = found.ms if found.ms <= 0 else max(1, found.ms // MULTIPLIER[release])
        default = str(DEFAULT[release])
        if str(ms) != default:
            knobs.append(Knob("MIMALLOC_PURGE_DELAY", str(ms), default, found.reason, found.simulated))
    for reason in huge_page_reason(asked):
        knobs.append(Knob("MIMALLOC_ALLOW_LARGE_OS_PAGES", "1", "0", reason, None))
    return knobs


def shell(knobs: list[Knob]) -> dict[str, str]:
    """Return the variables of the environment."""
    return {one.name: one.value for one in knobs}
