"""No growth: each superslab is made usable by calls of its own."""

NAME = "off"
DEFAULT = True
OFF = True
