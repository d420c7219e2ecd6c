/* Samples are switched on and off: by an option when the library is loaded, by the program, and by a signal. */
#pragma once

#include "1_base/cold.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

COLD bool sampling_told(uint64_t mean); /* as hs_sampling_set; false: no such mean */

/* The mean of samples that are switched on where none were taken before; 0: that of the design. False: no such mean. */
COLD bool sampling_switches(uint64_t mean);
/* Samples are taken no more; or where none are, they are again, with the mean that they had. Async-signal-safe. */
COLD void sampling_switch(void);

/* The same for the requests of one thread of the process alone, by gettid(2), or of all: 0. 0, or -1 with errno: EINVAL for a mean
 * above SAMPLE_MOST_BYTES, ESRCH if there is no such thread. */
__attribute__((visibility("default"))) COLD int hs_sample(size_t mean, int thread);
