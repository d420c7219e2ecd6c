/* Rounding "off": a block is of the class of its request. */
#pragma once

enum { FRONTS_LEND = 0 };
