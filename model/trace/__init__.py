"""Trace: the recorded events of a program: read, write, import and describe them."""
