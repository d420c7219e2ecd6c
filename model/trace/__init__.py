"""Trace: the recorded events of a program, read, written, imported and described in constant memory."""
