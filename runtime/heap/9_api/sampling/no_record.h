/* A library that cannot be recorded while it runs. */
#pragma once

#define RECORD_VIEW /* nothing of a recording */
