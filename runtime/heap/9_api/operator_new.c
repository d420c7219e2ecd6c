/* What C++'s operators leave to the next definition of the same operator: a request that malloc does not serve. */
#include "9_api/operator_new.h"
#include "1_base/definitions.h"
#include "1_base/text.h"

#include <stdlib.h>
#include <unistd.h>

typedef void *(*plain_new)(size_t bytes);

/* Also that of a C++ library outside the global scope, which a plug-in of a C program brought. */
void *hs_next_operator(const char *name)
{
    void *found = definition_next(name).function;
    if (found != NULL)
        return found;
    char line[TEXT_LINE];
    struct text out = text_to(STDERR_FILENO, line, sizeof line);
    text_string(&out, "heapsmith: operator new: out of memory, and no C++ library to throw std::bad_alloc\n");
    text_end(&out);
    abort();
}

GATE void *new_elsewhere(size_t bytes)
{
    return ((plain_new)hs_next_operator("_Znwm"))(bytes);
}
