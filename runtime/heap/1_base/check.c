/* The end of a checked build that finds an equation broken. */
#include "1_base/check.h"

#include "1_base/text.h"

#include <stdlib.h>
#include <unistd.h>

void hs_broken(const char *equation)
{
    char line[TEXT_LINE];
    struct text out = text_to(STDERR_FILENO, line, sizeof line);
    text_string(&out, "heapsmith: this does not hold: ");
    text_string(&out, equation);
    text_string(&out, "\n");
    text_end(&out);
    abort();
}
