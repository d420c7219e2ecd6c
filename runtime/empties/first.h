/* Which class begins a pool and a superslab, for walks over all of them. */
#pragma once

#include "empties/empties.h"

/* Does no class before this one share its pool and superslab? */
static inline bool empties_first(unsigned class)
{
    for (unsigned other = 0; other < class; other++)
        if (empties_superslab(other) == empties_superslab(class))
            return false;
    return true;
}
