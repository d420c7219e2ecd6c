/* What the policies of this design keep in a heap.
 *
 * Emitted by heapsmith 0.1.0 from design "default", content hash e72def72db02.
 * Do not edit: change the design, then run: heapsmith generate default -o DIR
 */
#pragma once

struct heap_rooms {
    uint64_t idle_mark; /* committed bytes from which on it looks at its stacks */
    struct opened { uint32_t held; uint8_t missed, refills, freed; } opened[CLASS_COUNT]; /* what it knows of a stack */
};

/* Behind the counters, where only slow paths of the heap's own thread come. */
struct heap_caches {
    uint32_t cached_runs, cached_pages; /* of the run cache: the thread's alone */
    uint32_t cached_most, share_looks; /* pages that it may have by its last look; looks */
    uint64_t run_hits; /* any thread may read it */
    uint64_t cached_run[RUN_CACHE_SLOTS]; /* first page, pages << 32; oldest first */
};
