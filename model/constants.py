"""Constants of the machine that no design chooses; bytes unless the name says otherwise."""

PAGE = 4096
HUGE_PAGE = 1 << 21
RUN_BINS = 128
RUN_BEST_OF = 32
"""Free runs of a bin, from its head, that an allocation compares."""
RUN_CACHE_SLOTS = 16
"""Runs that a heap's run cache holds at most."""
TRANSFER_BATCHES = 8
"""At most so many batches of a class wait: more hardly helped the handover programs of the benchmark."""
TRANSFER_IDLE = 16
"""So many flushes of a class without a refill between them, and its batches go to the store."""
BUDGET_GROWTH = 4
"""Bytes by which a release budget grows for each byte needed again: a larger step needs fewer page faults to learn how
much a program needs."""
