"""Huge cache: freed huge mappings that wait for another request (docs/machine-rooms.md).

The row in use gives NUMBERS: `huge_kept_mappings` and `huge_kept_bytes`, the most that wait;
`huge_delay`, in freed huge blocks; and `huge_slack_percent`.
"""

from heapsmith.model.compile.dispatch import rows_of

ROWS = rows_of(__name__, __path__)
