/* A record that is rare on the hot path of a recording. */
#include "1_base/spool/records.h"

void hs_put_move(struct writer *w, uint32_t place, uint64_t stamp)
{
    w->place = place;
    put_record(w, SPOOL_MOVED, stamp, place & PLACE_PROCESSOR);
}
