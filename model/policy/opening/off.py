"""Off: an array stack keeps blocks from its first miss or free on."""

NAME = "off"
DEFAULT = True
OFF = True
