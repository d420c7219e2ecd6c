"""No populating: the program's first touch of each page is a page fault."""

NAME = "off"
DEFAULT = True
OFF = True
