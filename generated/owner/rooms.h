/* What the policies of this design keep in a heap.
 *
 * Emitted by heapsmith 0.1.0 from design "owner", content hash dc44d90fd7fa.
 * Do not edit: change the design, then run: heapsmith generate owner -o DIR
 */
#pragma once

struct heap_rooms {
};
