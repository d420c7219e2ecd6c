"""No rounding allowance: a miss goes to the store."""

NAME = "off"
DEFAULT = True
OFF = True
