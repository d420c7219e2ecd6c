/* The samples of RSS at moments of the trace, and at the trace's peak of live bytes. */
#pragma once

#include "replay.h"

/* Before the streams begin: count the streams that will come to each moment. */
void rss_prepare(struct replay *r);

/* The position at which the stream reaches its next moment; NEVER: nowhere. */
uint64_t rss_next_sample(const struct worker *w);

/* The instants for which this stream is to sample here: those of the moments that it reaches as the last one. */
uint64_t rss_instants(struct worker *w);

/* Sample, for as many instants. */
void rss_sample(struct replay *r, uint64_t instants, bool at_peak);
