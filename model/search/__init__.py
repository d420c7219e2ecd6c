"""Search: the design of the least cost for a trace, with a reason for each number."""

MOST_CLASSES = 48
"""The size classes that a search allows, unless the caller says otherwise."""
