/* The last line of a program whose misuse the heap has seen. */
#include "4_blocks/hardening/hardening.h"

#include "1_base/text.h"

#include <stdlib.h>
#include <unistd.h>

void hs_misuse(const char *fault, const void *block)
{
    char line[TEXT_LINE];
    struct text out = text_to(STDERR_FILENO, line, sizeof line);
    text_string(&out, "heapsmith: ");
    text_string(&out, fault);
    text_string(&out, ": ");
    text_hex(&out, (uintptr_t)block, 2 * sizeof block);
    text_string(&out, "\n");
    text_end(&out);
    abort();
}
