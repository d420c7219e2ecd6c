"""A program under mallocs with and without their settings, interleaved, and what the settings gain."""

import os
from collections.abc import Sequence
from typing import Literal

import msgspec

from heapsmith.tools.common.ratios import Ratio
from heapsmith.tools.common.rounds import Progress, Stop, quiet
from heapsmith.tools.compare.measure import MeasureTable, Ratios, measure, ratios
from heapsmith.tools.knobs.advice import Advice, adviser, merged
from heapsmith.tools.knobs.knob import Knob
from heapsmith.tools.peers.peers import Library

Verdict = Literal["gains", "loses", "trades", "gains nothing"]


class Effect(msgspec.Struct, frozen=True):
    """Settings of a malloc against the same malloc without them. ratios: with / without, round by round."""

    library: str
    settings: str
    ratios: Ratios
    verdict: Verdict


class Measured(msgspec.Struct, frozen=True):
    """The table of all rows, and the effect of each row with settings."""

    table: MeasureTable
    effects: list[Effect]


def verdict(found: Ratios) -> Verdict:
    """Return what the intervals of CPU time and memory say; below 1 is a gain."""
    series: list[Ratio] = [found.cpu, found.peak_rss, found.average_rss]
    gains, losses = any(one.is_less() for one in series), any(one.is_more() for one in series)
    if gains and losses:
        return "trades"
    return "gains" if gains else "loses" if losses else "gains nothing"


def measure_settings(
    command: list[str], advice: Sequence[Advice], *, each: bool, stop: Stop, progress: Progress = quiet
) -> Measured:
    """Run the command under each malloc as it is and with its settings; `each`: with each setting alone too.

    Mallocs without settings are left out. Raises what `measure` raises, and CheckFailed for a command that fails.
    """
    wanted = {one.library: one for one in advice if one.knobs}

    def variants(library: Library) -> list[Library]:
        one = wanted[library.name]
        rows = [library, _with(library, one.library, one.knobs, "all settings")]
        if each and len(one.knobs) > 1:
            rows += [_with(library, one.library, [knob], knob.name) for knob in one.knobs]
        return rows

    table = measure(command, list(wanted), stop=stop, variants=variants, must_succeed=True, progress=progress)
    rows = {row.library: row for row in table.rows}
    effects = []
    for row in table.rows:
        name, colon, settings = row.library.partition(": ")
        if colon:
            found = ratios(row.runs, rows[name].runs)
            effects.append(Effect(name, settings, found, verdict(found)))
    return Measured(table, effects)


def _with(library: Library, name: str, knobs: list[Knob], what: str) -> Library:
    """Return the malloc with these settings, behind those of the caller's environment."""
    settings = merged(name, adviser(name).shell(knobs), os.environ)
    return msgspec.structs.replace(library, name=f"{name}: {what}", settings=settings)
