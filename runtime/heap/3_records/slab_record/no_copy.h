/* A slab's record holds no number of its class. */
#pragma once

struct slab_numbers {
};
