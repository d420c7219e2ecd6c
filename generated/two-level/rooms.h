/* What the policies of this design keep in a heap.
 *
 * Emitted by heapsmith 0.1.0 from design "two-level", content hash a71557685b7a.
 * Do not edit: change the design, then run: heapsmith generate two-level -o DIR
 */
#pragma once

struct heap_rooms {
};
