"""Call sites: which code the memory is for, what leaks, how two traces differ, and what to do."""
