"""No segregation: the size alone tells the class."""

NAME = "off"
DEFAULT = True
OFF = True
