/* Ownership "superslab": the table of owners, before it is reserved. */
#include "ownership/superslab.h"

struct heap **hs_owners;
