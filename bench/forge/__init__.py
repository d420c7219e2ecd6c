"""The forge: from a command to a library made for it."""
