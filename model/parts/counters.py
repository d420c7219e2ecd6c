"""The names of what the heap counts: counters of docs/machine.md, and work that no counter tells."""


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


TOTALS = _words("""
    superslabs slabs releases released_bytes heaps adoptions run_reuse run_grow run_extend
    run_free run_hit run_spill huge_map huge_unmap huge_remap realloc_in_place realloc_moved
    committed committed_peak learned_up learned_down huge_reuse
    background_steps background_blocks superslabs_unmapped superslabs_reused superslabs_late
    hit2 hit3 sampled sampled_bytes sampled_freed
""")
"""The global counters of docs/machine.md."""

TOTAL_FIELDS = {name: {"slabs": "slabs_made", "heaps": "heaps_made"}.get(name, name) for name in TOTALS}
"""The fields of the totals in `scalars`: `slabs` and `heaps` are names of arrays."""

COUNTS = _words("""
    hit0 hit1 refill refilled push spill flush flushed direct carve reuse acquire retire remote
    drained transfer_in transfer_out transfer_back
""")
"""The counters per class of docs/machine.md."""

STAGES = _words("own same other claim superslab none")
"""Where the slab of an acquire comes from, by the number of the stage; a take may acquire none (`own`)."""

PATHS = _words("""
    retire give batch_take batch_keep remote_put remote_drain run_take run_give run_extend run_spill
    huge_take huge_give huge_resize heap_start heap_end prewarm background look
""")
"""What a lock is taken for, besides takes and acquires."""

LOCKS = (*(f"take.{stage}" for stage in STAGES), *(f"acquire.{stage}" for stage in STAGES[1:]), *PATHS)
"""The counters of docs/machine-rooms.md, 'locks', that the model tells."""

LOCK_FIELDS = {name: f"locks_{name.replace('.', '_')}" for name in LOCKS}
"""Their fields in `scalars`."""

UNTOLD_LOCKS = ("ask", "other")
"""The counters of locks of which only the library knows; behind LOCKS in its order."""

WORK = (
    "callocs",
    "reallocs",
    "large_resizes",  # reallocs of large blocks that may stay in place
    "aligned",
    "aligned_steps",  # classes that aligned requests look at
    "sized_frees",
    "above",  # small requests beyond the direct table
    "asked_lines",  # lines of 64 bytes that new blocks and grown blocks add
    "cleared_bytes",  # bytes that calloc clears
    "copied_bytes",  # bytes that realloc copies
    "runs_looked_at",  # runs in run caches that a search rejects
    "runs_freed",  # runs that the program frees
    "run_links",  # free runs linked to a bin or unlinked
    "run_extents",  # extents of free runs that a reuse or a release looks at
    "visits",  # slabs that takes visit
    "slabs_looked_at",  # slabs that slab choice looks at in a search
    "words",  # words of marks that takes look at
    "gives",  # calls that give blocks to slabs; an array stack gives neighbours in one call
    "given",  # blocks that these calls give
    "slab_adds",  # slabs that become available
    "slab_removes",  # slabs that are available no longer
    "exits",  # exits of threads with a heap
    "probes",  # system calls of frees that ask about a page
    "lend_looks",  # fronts of larger classes that an empty front looks at
    "stacks_moved",  # compact ones that outgrew their slots
    "stacks_looked_at",  # by a heap that has grown, for stacks whose blocks nobody uses
    "huge_looked_at",  # mappings in the huge cache that a search looks at
    "huge_moved",  # mappings that move down in it since an older mapping left
    "clock_reads",  # of the system's clock
    "site_looks",  # at the call of an allocation, for its group
    "memory_calls",  # system calls that commit, advise on huge pages, or release the live map
)
"""The library's work that costs instructions and that no counter tells, for the cost model. Work on
the hit path is counted only with a listener (model/memory/touches.py).
"""
