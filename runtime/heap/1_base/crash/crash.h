/* Crash: what the library says of a fault in its own code. */
#pragma once

#include CRASH_ROW
