"""Replaying a trace: its script, rounds against several mallocs, instructions and system calls."""
