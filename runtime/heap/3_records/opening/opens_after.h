/* With which miss a stack opens. */
#pragma once

extern const uint32_t hs_opens_after[CLASS_COUNT]; /* 0: at once */
