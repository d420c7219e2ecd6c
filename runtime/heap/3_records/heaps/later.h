/* Stacks open with their first block: but the first class's, whose slots begin at slot + 1, so that it would look open and have
 * no room. */
#pragma once

enum { OPEN_AT_ONCE = 1 };
