/* Prewarm "off": a new heap is empty. */
#pragma once

enum { PREWARM_FILLS = 0 }; /* a new heap's fronts may hold blocks */
