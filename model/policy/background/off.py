"""No helper: flushes alone fill the transfer cache."""

NAME = "off"
DEFAULT = True
OFF = True
