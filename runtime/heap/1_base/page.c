/* How long a page is, where systems differ in that. */
#include "1_base/page.h"

#if PAGES_VARY
#include "1_base/text.h"

#include "plan.h"

#include <stdlib.h>
#include <sys/auxv.h>
#include <unistd.h>

/* Slabs are whole pages. Where pages that no access may touch bound the slots of classes, these are the shortest. */
enum {
    MOST_OF_SLABS = (size_t)SLAB_BYTES < MOST_PAGE_BYTES ? SLAB_BYTES : MOST_PAGE_BYTES,
    MOST_SERVED = GUARD_SLOTS > 0 ? LEAST_PAGE_BYTES : MOST_OF_SLABS,
};

unsigned hs_page_shift = 12;

static COLD void refuse_page(size_t bytes)
{
    char line[TEXT_LINE];
    struct text out = text_to(STDERR_FILENO, line, sizeof line);
    text_string(&out, "heapsmith: this system has pages of ");
    text_number(&out, bytes);
    text_string(&out, " bytes, and this library is for pages of at most ");
    text_number(&out, MOST_SERVED);
    text_string(&out, "\n");
    text_end(&out);
    abort();
}

void page_learn(void)
{
    size_t bytes = getauxval(AT_PAGESZ);
    if (bytes > MOST_SERVED)
        refuse_page(bytes);
    hs_page_shift = (unsigned)__builtin_ctzl(bytes);
}
#endif
