"""Silent: a fault in the heap's code ends the program as any other does."""

NAME = "silent"
DEFAULT = True
OFF = True
