/* A queue for each class. Definitions, taken in by the one kind that has queues. */
#pragma once

bool remote_drain_class(struct heap *heap, unsigned class)
{
    return drain_chain(heap, queue_of(heap, class));
}

/* A chain is whole but for the blocks whose producers are amid an append: the first of them ends it. */
bool remote_drain(struct heap *heap)
{
    bool came = false;
    for (unsigned class = 0; class < CLASS_COUNT; class++) {
        struct queue *queue = queue_of(heap, class);
        for (struct block *before = queue->taken; drain_chain(heap, queue); before = queue->taken) {
            came = true;
            if (before != NULL && queue->taken == before)
                break;
        }
    }
    return came;
}

/* What waits of classes that the program asks for no more goes as others come. */
void remote_before_take(struct heap *heap, unsigned class)
{
    size_t *turn = ((struct queues *)heap->rooms.remote_part)->turn;
    if (*turn == class || !drain_chain(heap, queue_of(heap, (unsigned)*turn)))
        *turn = *turn + 1 < CLASS_COUNT ? *turn + 1 : 0;
}

/* The heap was another thread's, which may have left parts. */
void remote_heap_adopted(struct heap *heap)
{
    remote_drain(heap);
}
