/* Foreign pointers, policy trust: free() takes each block that does not begin a page for a small block of this heap. A block
 * of another malloc breaks the heap. So the library serves benchmarks alone, and only where they ask for it. */
#include "9_api/foreign/trust.h"

#include "8_threads/large.h"
#include "3_records/span.h"
#include "1_base/text.h"

#include SAMPLING_ROW

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void foreign_free_paged(void *block)
{
    if (in_slab_span(block))
        hs_free_small(block);
    else if (block != NULL) {
        sampling_frees(block);
        hs_large_free(block);
    }
}

__attribute__((visibility("default"))) extern const char heapsmith_no_strangers[]; /* tells the driver of verify to free no stranger */
const char heapsmith_no_strangers[] = "each free";

__attribute__((constructor)) static void refuse(void)
{
    const char *asked = getenv("HEAPSMITH_BENCHFAST");
    if (asked != NULL && strcmp(asked, "1") == 0)
        return;
    char line[TEXT_LINE];
    struct text out = text_to(STDERR_FILENO, line, sizeof line);
    text_string(&out, "heapsmith: this library checks no free() (foreign = \"trust\") and serves benchmarks alone: "
                      "set HEAPSMITH_BENCHFAST=1\n");
    text_end(&out);
    _exit(3);
}
