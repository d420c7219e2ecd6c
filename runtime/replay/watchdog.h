/* Ends a process whose threads make no progress, as the replayer and the driver of verify are. */
#pragma once

#include <stdint.h>

/* From now on: `stuck` is called, in a signal handler, once `progress` has stayed the same for limit_ms (0: never) and the
 * process has touched hardly a page for the first time meanwhile. Another call begins anew. */
void watchdog_start(uint64_t limit_ms, uint64_t (*progress)(void), void (*stuck)(void));

/* Until the next start. */
void watchdog_stop(void);
