/* The stop of all streams at the trace's peak of live bytes (--bytes). */
#pragma once

#include "replay.h"

/* A stream has performed as many events as it has up to and with the one of the peak. */
void peak_reached(struct worker *w);
