/* Ownership "slab": the pools and superslabs of all heaps. */
#include "5_slab_policies/ownership/slab.h"

struct vacancy hs_vacancy[VACANCY_PLACES];
