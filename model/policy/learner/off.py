"""No learner: each front keeps the capacity that the design states."""

NAME = "off"
DEFAULT = True
OFF = True
