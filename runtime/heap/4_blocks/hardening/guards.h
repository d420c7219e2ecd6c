/* Guards: HUGE_GUARD_BYTES of address space before and behind each huge block that no access may touch. */
#pragma once

enum { HUGE_GUARD_BYTES = 1 << 20 };
