"""The numbers of the levels of fronts below level 0, by class and depth: what `levels` of the state has."""

DEEPEST = 3
"""Levels below level 0, at most."""

LEVEL_NUMBERS = 6
KIND, CAPACITY, OUT, UP, AT, APART = range(LEVEL_NUMBERS)
"""Numbers of a level. AT: its first block, in slots from the front's first. APART: 1 with counts of its own."""

NO_LEVEL, STACK, RING, LIST, BUMP = range(5)
"""The kinds of levels."""
