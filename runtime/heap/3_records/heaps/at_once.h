/* Stacks are filled without a look at whether they are open. */
#pragma once

enum { OPEN_AT_ONCE = CLASS_COUNT };
