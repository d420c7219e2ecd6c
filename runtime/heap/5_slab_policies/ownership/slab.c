/* Ownership "slab": the pools and superslabs of all heaps. */
#include "5_slab_policies/ownership/ownership.h"

struct vacancy hs_vacancy[VACANCY_PLACES];
