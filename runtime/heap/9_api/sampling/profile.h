/* The profile of the samples, as a text that pprof reads too (docs/live.md has its lines). Async-signal-safe. */
#pragma once

#include "9_api/sampling/draws.h"
#include "9_api/sampling/samples.h"
#include "9_api/sampling/switch.h"

#include <stdbool.h>

enum { TAKES_SAMPLES = 1 };

#define SAMPLES_VIEW                                                                                      \
    ADDRESS("samples", hs_samples) FIELD(samples, changes) FIELD(samples, tables) FIELD(samples, sites)     \
        NUMBER("samples_bytes", sizeof(struct samples)) NUMBER("MOST_SAMPLES", MOST_SAMPLES)                \
        NUMBER("SAMPLE_PLACES", SAMPLE_PLACES) NUMBER("MOST_SITES", MOST_SITES)                             \
        NUMBER("sample_bytes", sizeof(struct sample)) NUMBER("site_bytes", sizeof(struct sample_site))      \
        ADDRESS("sample_mean", hs_sample_mean) ADDRESS("sample_thread", hs_sample_thread)                   \
        NUMBER("SAMPLE_MOST_BYTES", SAMPLE_MOST_BYTES)

/* Writes all of it; false, with errno, if the system refuses. */
COLD bool profile_write(int fd);

/* Writes the profile of the calling process to a file, whole or not at all; %p in its name is the process. 0, or -1 with errno:
 * EBUSY while another thread writes one, EAGAIN in a signal handler that interrupted the table of samples. */
__attribute__((visibility("default"))) COLD int hs_profile_dump(const char *path);
