/* What the policies of this design keep in a heap.
 *
 * Emitted by heapsmith 0.1.0 from design "lean", content hash f18ad4c2b357.
 * Do not edit: change the design, then run: heapsmith generate lean -o DIR
 */
#pragma once

struct heap_rooms {
};

/* Behind the counters, where only slow paths of the heap's own thread come. */
struct heap_caches {
};
