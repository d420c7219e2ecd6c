"""Search: the design of the least cost for a trace, with a reason for each number."""

from typing import Literal

Favour = Literal["balanced", "time", "memory"]
"""What counts most among designs that no other beats in all objectives."""

MOST_CLASSES = 48
"""The size classes that a search allows, unless the caller says otherwise."""
