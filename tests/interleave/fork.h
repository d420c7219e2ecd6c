/* fork as the runtime sees it, for cases that take in locks.c: what it does before, and after in the parent or the child. */
#pragma once

#include "explore.h"

static void fork_once(bool as_child)
{
    before_fork();
    if (as_child) {
        go_alone();
        after_fork_in_child();
    } else {
        after_fork();
    }
}
