"""docs/tuning.md, docs/report.md, docs/live.md: the figures of their rules are the constants of the code."""

import re
from pathlib import Path

import pytest

from heapsmith.codegen.verify import CHECK_EVERY
from heapsmith.model.predict import history
from heapsmith.model.search import (
    capacities,
    choice,
    choice_worth,
    confirm,
    exact,
    explore,
    front_budget,
    gain,
    outcome_store,
    tune,
    unseen,
)
from heapsmith.tools.common import ratios
from heapsmith.tools.sites import advice

DOCS = Path(__file__).resolve().parent.parent / "docs"
SAID = {
    "tuning": (
        f"({tune.SECONDS:.0f} seconds for a trace of a million events, with the root of their number, at least "
        f"{tune.LEAST_SECONDS:.0f}, at most {tune.MOST_SECONDS:.0f})",
        f"up to {100 * choice.TIME_SLACK - 100:.0f} % more time where this is at most {100 * choice.RUN_SLACK:.1f} %",
        f"for the {outcome_store.MOST_FILES} latest traces",
        f"of {2 * unseen.LEAST_OPERATIONS:,} operations to {unseen.MOST_EVENTS // 10**6} million events",
        f"average may be {unseen.PART_SLACK} of the base's",
        f"one block of each of {len(unseen.START_SIZES)} sizes: its process may have {unseen.START_RATIO} times",
        f"cost the score no more than {100 * choice_worth.MARGIN:.1f} %",
        f"up to {confirm.FINALISTS - 1}, beside the base",
        f"peak or the average is less by {100 * gain.LEAST:.0f} %",
        f"twice the standard error in replays, or by {100 * gain.LEAST_TIME:.0f} % as predicted",
        f"misses of all capacities up to {capacities.LEVELS}",
        f"({exact.BUDGETS[0]}) of the peak live bytes, a quarter of that and a sixteenth",
        f"A front that the trace never overflows gets room for at least {front_budget.LEAST_ROOM} blocks",
        f"walks the whole heap every {CHECK_EVERY:,} events",
    ),
    "explain/search": (f"prices the best {('seven', 'eight', 'nine')[explore.BATCH - 7]}",),
    "report": (
        f"at most {history.PIXELS} points",
        f"at most {history.COLUMNS} rows",
        f"{100 * advice.LEAST_SHARE:.0f} % of its committed bytes and {advice.LEAST_BYTES >> 10} KiB or more",
    ),
    "compare": (f"CPU time and peak RSS are at most {100 * ratios.NARROW:.0f} % wide",),
}


@pytest.mark.parametrize(("page", "said"), [(page, one) for page, every in SAID.items() for one in every])
def test_the_figure_is_the_constant(page: str, said: str) -> None:
    assert re.sub(r" 0(\.\d+)(?![\d %])", r" \1", said) in " ".join((DOCS / f"{page}.md").read_text().split())


def test_budgets_are_a_whole_a_quarter_and_a_sixteenth() -> None:
    assert exact.BUDGETS == (1.0, 1 / 4, 1 / 16)
