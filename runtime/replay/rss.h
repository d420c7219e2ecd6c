/* The samples of RSS at moments of the trace, and at the trace's peak of live bytes. */
#pragma once

#include "replay.h"

/* Before the streams begin: each moment awaits the streams that have a sample of it. */
void rss_await(struct replay *r);

/* The position at which the stream reaches its next moment; NEVER: nowhere. */
uint64_t rss_next_sample(const struct worker *w);

/* The stream is at its next moment, or at the trace's peak. */
void rss_sample(struct worker *w, bool at_peak);
