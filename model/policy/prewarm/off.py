"""No prewarm: a front fills at its first refill, and a slab is acquired when a take needs it."""

NAME = "off"
DEFAULT = True
OFF = True
