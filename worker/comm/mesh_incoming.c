/* What comes from one peer: where the numbers of each step land, and that they are added while the cache holds them. See mesh.h. */
#include <inttypes.h>

#include "worker/comm/mesh.h"
#include "worker/tensor/accumulate.h"

#define CHUNK_FLOATS (MESH_CHUNK_BYTES / sizeof(float))

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

struct collective_step mesh_step_at(const struct mesh *m, uint32_t i, size_t *ret_at)
{
    const struct mesh_row *row = &m->row;
    *ret_at = i / row->n_plan * row->segment;
    return collective_step_at(row->way, m->params.n_ranks, mesh_self(m),
                              least(row->n - *ret_at, row->segment), i % row->n_plan);
}

/* Where the numbers of step i land, and what is added to them. */
static void begin_step(struct mesh *m, uint32_t i)
{
    size_t at;
    const struct collective_step step = mesh_step_at(m, i, &at);
    float *to = m->row.to + at;
    const float *own = step.adds_own ? m->row.from + at : to;
    struct mesh_incoming in = {
        .peer = &m->peers[step.from],
        .i = i,
        .end = m->incoming.end,
        .type = step.adds ? FRAME_GRADIENT : FRAME_PARAMS,
        .to = to + step.receive.at,
        .add = step.adds ? own + step.receive.at : NULL,
        .landing = to + step.receive.at,
        .at = step.receive.at,
        .n = step.receive.n,
    };
    const bool is_in_place = in.add == in.to;
    /* What is still being sent must not change (doubling): all of it lands beside. */
    in.adds_late = is_in_place && step.send.at == step.receive.at && step.send.n > 0;
    in.lands_in_chunk = is_in_place && !in.adds_late;
    if (is_in_place) {
        in.landing = m->landing;
    }
    m->incoming = in;
}

/* From step i on to one of which something is still to come, or to the last. */
static void begin_from(struct mesh *m, uint32_t i)
{
    begin_step(m, i);
    while (m->incoming.n == 0 && m->incoming.i + 1 < m->incoming.end) {
        begin_step(m, m->incoming.i + 1);
    }
}

void mesh_expect(struct mesh *m, uint32_t i, uint32_t end)
{
    m->incoming.end = end;
    begin_from(m, i);
}

void *mesh_place(struct mesh *m, const struct mesh_peer *p, const struct frame *f, struct err *err)
{
    struct mesh_incoming *in = &m->incoming;
    const uint64_t segment = m->step + (in->peer == NULL ? 0 : in->i / m->row.n_plan);
    const size_t left = in->peer == p ? in->n - in->n_done : 0, n = least(left, CHUNK_FLOATS);
    if (n == 0 || f->type != in->type || f->step != segment || f->slice != in->n_frames ||
        f->message != (uint32_t)m->message || f->offset != in->at + in->n_done ||
        f->payload_len != n * sizeof(float)) {
        (void)err_set(err, EPROTO,
                      "%s of segment %" PRIu64 ", number %" PRIu32 ", offset %" PRIu64 ", %" PRIu32
                      " bytes, of a message of %" PRIu32 " numbers; expected segment %" PRIu64
                      ", number %" PRIu32 ", offset %zu, %zu bytes, of %zu numbers",
                      frame_type_to_string(f->type), f->step, f->slice, f->offset, f->payload_len,
                      f->message, segment, in->n_frames, in->at + in->n_done, n * sizeof(float),
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
    in->n_added = n;
}

void mesh_part(struct mesh *m, size_t n_bytes)
{
    add(&m->incoming, n_bytes / sizeof(float));
}

bool mesh_arrived(struct mesh *m)
{
    struct mesh_incoming *in = &m->incoming;
    const size_t n = least(in->n - in->n_done, CHUNK_FLOATS);
    add(in, n);
    in->n_done += n;
    in->n_frames++;
    if (in->n_done == in->n && in->i + 1 < in->end) {
        begin_from(m, in->i + 1);
    }
    return in->n_done == in->n;
}
