/* A system that makes no more threads. */
#include <errno.h>
#include <pthread.h>

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*start)(void *), void *with)
{
    return EAGAIN;
}
