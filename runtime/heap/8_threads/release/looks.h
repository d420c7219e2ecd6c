/* Release: looks at what is empty. */
#pragma once

void release_slow_path(void);
