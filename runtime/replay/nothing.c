/* A library that defines nothing: the loader of a program that a preloaded library cannot serve finds this one in its
 * place, and has nothing to complain of (tools/common/preload.py). */
typedef int heapsmith_nothing; /* ISO C wants a declaration */
