/* What slabs hold: bytes committed to them, and bytes of the blocks that left them. */
#include "2_system/locks.h"
#include "5_slab_policies/pool/pool.h"
#include "6_slabs/slabs.h"
#include "3_records/span.h"

/* Committed to slabs that no class has had yet: on huge pages they come a superslab at a time. */
static size_t committed_ahead(void)
{
    size_t bytes = 0;
    for (struct heap *heap = &hs_no_heap; heap != NULL; heap = vacancies_after(heap))
        for (unsigned place = 0; place < VACANCY_PLACES; place++) {
            const struct superslab *superslab = &vacancies_of(heap)[place].superslab;
            for (size_t slab = superslab_next(superslab); slab < superslab->end; slab += SLAB_BYTES)
                bytes += slab_record(slab >> SLAB_SHIFT)->unmapped ? 0 : word_look(&slab_record(slab >> SLAB_SHIFT)->committed);
        }
    return bytes;
}

void slabs_census(size_t *slab_bytes, size_t *out_bytes)
{
    *out_bytes = 0;
    hs_lock_pool();
    count_locks(LOCKS_OTHER);
    *slab_bytes = committed_ahead();
    for (const struct slab *slab = __atomic_load_n(&hs_last_slab, __ATOMIC_ACQUIRE); slab != NULL; slab = slab->earlier) {
        *slab_bytes += word_look(&slab->committed);
        uint16_t class = __atomic_load_n(&slab->class, __ATOMIC_RELAXED);
        *out_bytes += (size_t)word_look(&slab->out) * hs_class[class].stride;
    }
    hs_unlock_pool();
}
