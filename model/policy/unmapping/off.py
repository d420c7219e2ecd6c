"""No unmapping: a superslab stays mapped; release alone gives pages back."""

NAME = "off"
DEFAULT = True
OFF = True
