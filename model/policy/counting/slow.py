"""Counting "slow": the counters of docs/machine.md without the hit path."""

NAME = "slow"
DEFAULT = True
OFF = True
COUNTS_HITS = False
