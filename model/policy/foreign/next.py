"""Next: a block of another malloc handed to free() goes to the free() of the next library in the search order."""

NAME = "next"
