/* Numbered locks. */
#include "2_system/numbered_locks.h"

#include "2_system/held_over_fork.h"

void hs_lock_number(unsigned number)
{
    take_lock(&hs_numbered[number].lock);
}

void hs_unlock_number(unsigned number)
{
    leave_lock(&hs_numbered[number].lock);
}

bool hs_holds_number(unsigned number)
{
    return hs_forking || lock_mine(&hs_numbered[number].lock);
}
