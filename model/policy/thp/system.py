"""The system's own setting: the library says nothing about huge pages."""

from typing import Any

from heapsmith.model.policy.thp import common

NAME = "system"
DEFAULT = True
huge_runs, beyond_small_pages = common.no_runs, common.nothing_beyond


def files(design: Any) -> dict[str, str]:
    """Return the headers of the row by what they are for."""
    return {"runs": "unadvised_runs"}
