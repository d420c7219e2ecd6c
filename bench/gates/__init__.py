"""Gates: programs that the Makefile runs, and that fail when the libraries lose a property."""
