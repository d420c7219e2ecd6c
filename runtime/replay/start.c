/* heapsmith-start DESCRIPTION ERRORS: become the program that the pipe DESCRIPTION describes (become.h). If it cannot be
 * executed, the number of the error goes to the descriptor ERRORS. Python itself cannot pass on entries of the environment that
 * are malformed or occur twice. */
#include <stdlib.h>
#include <unistd.h>

#include "become.h"

int main(int argc, char **argv)
{
    struct start start;
    if (argc != 3 || !start_read(atoi(argv[1]), &start))
        return 2;
    start_become(&start, atoi(argv[2]));
}
