/* What comes from one peer in a step: where it lands, and that it is added while the cache
 * holds it. See mesh.h. */
#include <inttypes.h>

#include "worker/comm/link/crc32c.h"
#include "worker/comm/collective/mesh.h"
#include "worker/tensor/accumulate.h"

void *mesh_place(void *mesh, struct conn *c, const struct frame *f, struct err *err)
{
    struct mesh *m = mesh;
    struct mesh_incoming *in = &m->incoming;
    const size_t left = in->peer == meet_peer_of(c) ? in->n - in->n_done : 0, n = mesh_chunk(left);
    if (n == 0 || f->type != in->type || f->step != m->step || f->slice != in->n_frames ||
        f->message != (uint32_t)m->message || f->offset != in->at + in->n_done ||
        f->payload_len != n * sizeof(float)) {
        (void)err_set(err, EPROTO,
                      "%s of segment %" PRIu64 ", number %" PRIu32 ", offset %" PRIu64 ", %" PRIu32
                      " bytes, of a message of %" PRIu32 " numbers; expected segment %" PRIu64
                      ", number %" PRIu32 ", offset %zu, %zu bytes, of %zu numbers",
                      frame_type_to_string(f->type), f->step, f->slice, f->offset, f->payload_len,
                      f->message, m->step, in->n_frames, in->at + in->n_done, n * sizeof(float),
                      m->message);
        return NULL;
    }
    in->n_added = 0;
    return in->landing + (in->lands_in_chunk ? 0 : in->n_done);
}

/* Adds to what has come of this chunk, up to n floats of it. */
static void add(struct mesh_incoming *in, size_t n)
{
    if (in->add == NULL || in->adds_late || n <= in->n_added) {
        return;
    }
    const size_t at = in->n_done + in->n_added, count = n - in->n_added;
    if (in->lands_in_chunk) {
        grad_add(in->to + at, in->landing + in->n_added, count); /* `to` has this rank's numbers */
    } else {
        grad_add(in->to + at, in->add + at, count);
    }
    if (in->is_passed_on) {
        in->crc = crc32c(in->crc, in->to + at, count * sizeof(float));
    }
    in->n_added = n;
}

void mesh_part(void *mesh, struct conn *c, size_t n_bytes)
{
    struct mesh *m = mesh;
    (void)c; /* it is that of m->incoming */
    add(&m->incoming, n_bytes / sizeof(float));
}

bool mesh_arrived(struct mesh *m, const struct frame *f)
{
    struct mesh_incoming *in = &m->incoming;
    const size_t n = mesh_chunk(in->n - in->n_done);
    add(in, n);
    if (in->add == NULL) {
        in->crc = f->payload_crc; /* it was right */
    }
    in->n_done += n;
    in->n_frames++;
    return in->n_done == in->n;
}
