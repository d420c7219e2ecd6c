/* Superslabs are resident as a whole. */
#pragma once

enum { SPARES = false };
