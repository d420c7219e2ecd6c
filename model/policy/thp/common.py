"""What rows of huge pages share: a row with none, and the rule for superslabs."""

from typing import Any

from heapsmith.model.constants import HUGE_PAGE
from heapsmith.model.errors import Refusal


def no_runs(design: Any, fills: bool) -> bool:
    """Return False: no pages of the run span are asked for."""
    return False


def nothing_beyond(plan: Any, superslabs: int, run_span_bytes: int, fills: bool) -> tuple[int, int]:
    """Return no bytes."""
    return 0, 0


def why_not_short(design: Any) -> Refusal | None:
    """Return why superslabs are too short for huge pages, or None."""
    if design.superslab_bytes >= HUGE_PAGE:
        return None
    least = f"expected {HUGE_PAGE} or more"
    words = f"superslab_bytes: {design.superslab_bytes} cannot go with thp '{design.thp}'; {least}"
    return Refusal(words, ("superslab_bytes", "thp"))
