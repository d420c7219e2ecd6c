/* The malloc family of a library that cannot be recorded while it runs: that of api.c. */
#pragma once
