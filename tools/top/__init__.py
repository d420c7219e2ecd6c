"""Looking at a running process under a generated library, from outside: `heapsmith top`."""
