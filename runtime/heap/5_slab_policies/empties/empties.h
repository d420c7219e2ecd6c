/* Empties: which classes an empty slab and a superslab serve: those with one place among the vacancies. */
#pragma once

#include <stdbool.h>

#include "plan.h"

unsigned empties_place(unsigned class); /* the first class with this place */
bool empties_reused(void);              /* do the slabs of the pools serve again? */
