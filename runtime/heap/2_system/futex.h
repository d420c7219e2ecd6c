/* futex(2): its operations between threads of one process. Not by the kernel's header, which a C library need not bring. */
#pragma once

enum { FUTEX_WAIT_HERE = 0 | 128, FUTEX_WAKE_HERE = 1 | 128 };
