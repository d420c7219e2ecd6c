"""Replays of a trace: scripts, rounds under several mallocs, instructions and system calls."""
