"""Counting "slow": the counters of docs/machine.md section 10 without the hit path."""

NAME = "slow"
DEFAULT = True
OFF = True
COUNTS_HITS = False
