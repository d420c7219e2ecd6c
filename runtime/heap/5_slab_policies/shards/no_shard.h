/* A heap has no shard: its classes have. */
#pragma once
