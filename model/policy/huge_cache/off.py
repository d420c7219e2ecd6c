"""No huge cache: a freed huge block is unmapped at once."""

NAME = "off"
DEFAULT = True
OFF = True
