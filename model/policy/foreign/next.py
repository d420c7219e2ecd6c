"""Next: free() passes a block of another malloc to the free() of the next library loaded."""

NAME = "next"
