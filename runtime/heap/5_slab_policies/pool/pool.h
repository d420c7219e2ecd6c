/* Pool: how heaps take slabs out of pools and superslabs, shared or their own, and what they lock for that. */
#pragma once

#include "2_system/locks.h"
#include "5_slab_policies/ownership/ownership.h"
#include "5_slab_policies/remote/remote.h"
#include "moments.h"

#include POOL_LISTS
#include POOL_SUPERSLABS
