"""What `heapsmith knobs` prints for people."""

from typing import TYPE_CHECKING

from heapsmith.api import show
from heapsmith.bench.common.tables import draw

if TYPE_CHECKING:
    from heapsmith.bench.knobs.advice import Advised
    from heapsmith.bench.knobs.measure import Measured


def advised(found: "Advised") -> None:
    """The settings of each malloc with their reasons, then the lines for a shell."""
    for one in found.advice:
        for knob in one.knobs:
            said = f" Simulated: {knob.simulated}." if knob.simulated else " Not simulated: measure it."
            show.prose(f"{one.library}: {knob.name}={knob.value} (default {knob.default}): {knob.reason}.{said}")
        if not one.knobs:
            show.prose(f"{one.library}: nothing to set; these traces give no reason to leave its defaults.")
    for lack in found.lacks:
        show.prose(f"The traces have {lack}. What needs them is not advised.")
    if lines := [line for one in found.advice for line in one.lines()]:
        show.line()
        for line in lines:
            show.line(line)


def measured(found: "Measured") -> None:
    """The table of all runs, then what each set of settings does."""
    from heapsmith.bench.report import measurements

    show.line()
    draw(measurements.measured(found.table))
    for warning in measurements.notes(found.table):
        show.prose(warning)
    show.line()
    for effect in found.effects:
        figures = ", ".join(f"{name} {ratio.words()}" for name, ratio in effect.ratios.items())
        show.prose(f"{effect.library} with {effect.settings}: {effect.verdict}: {figures} of those without.")
    for line in measurements.other_memory(found.table):
        show.prose(line)
