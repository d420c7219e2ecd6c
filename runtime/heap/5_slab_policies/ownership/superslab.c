/* Ownership "superslab": the table of owners, before it is reserved. */
#include "5_slab_policies/ownership/superslab.h"

struct heap **hs_owners;
