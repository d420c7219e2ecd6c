/* Nothing: the driver for musl is linked with this file's library, in whose place the loader finds the one under test.
 *
 * The loader of musl gives thread-local data of the initial-exec model to what a program is linked with alone. The C
 * library is named before, so that the driver's own malloc stays that of musl. */
typedef int undertest;
