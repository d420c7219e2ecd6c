"""Gates: programs that the Makefile runs and that fail when a property of the libraries is lost."""
