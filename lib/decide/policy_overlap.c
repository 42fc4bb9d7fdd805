/* See policy_overlap.h. */
#include "decide/policy_overlap.h"

#include <math.h>

#include "base/str.h"

#define LAST_OF_SECOND_MS 999
/* Lines of a program that buffers its output come at its end, all at once: no begin follows. */
#define STEPS_MIN_MS 1000
#define NEVER (INT64_MAX / 2) /* times are added to it */

/* What the times of all that lead and have begun have in common. */
struct common {
    uint32_t n;                                  /* of them */
    const struct observed_replica *late, *early; /* NULL: none */
    int64_t from_ms, to_ms;                      /* the last begin, the first end */
    bool has_steps;                              /* the measured steps of some are known: */
    int64_t longest_ms;                          /* of these, else of all; at least that */
};

static int64_t seen_to_ms(const struct observed_replica *r)
{
    return r->ended_unix_ms != 0 ? r->ended_unix_ms : NEVER;
}

static void add(struct common *c, const struct observed_replica *r)
{
    const bool has_to = r->measured_to_unix_ms != 0;
    const bool has_from = r->measured_from_unix_ms != 0 &&
                          r->measured_to_unix_ms - r->measured_from_unix_ms >= STEPS_MIN_MS;
    const bool has_steps = has_from && has_to, has_dates = !has_steps && r->finished_unix_ms != 0;
    const int64_t end_ms = has_dates ? r->finished_unix_ms + LAST_OF_SECOND_MS : seen_to_ms(r);
    const int64_t from_ms = has_from ? r->measured_from_unix_ms : r->started_unix_ms;
    const int64_t to_ms = has_to ? r->measured_to_unix_ms : end_ms;
    const int64_t least_ms = to_ms - from_ms - (has_dates ? 2 * LAST_OF_SECOND_MS : 0);
    if (c->n == 0 || from_ms > c->from_ms) {
        c->late = r;
        c->from_ms = from_ms;
    }
    if (c->n++ == 0 || to_ms < c->to_ms) {
        c->early = r;
        c->to_ms = to_ms;
    }
    if (has_steps > c->has_steps || (has_steps == c->has_steps && least_ms > c->longest_ms)) {
        c->has_steps = has_steps;
        c->longest_ms = least_ms;
    }
}

static bool is_apart(const struct common *c)
{
    const struct observed_replica *late = c->late, *early = c->early;
    if (late == early || str_eq_or_null(late->node, early->node)) {
        return late != early && c->from_ms > c->to_ms;
    }
    const bool saw_both_run = late->seen_unix_ms < seen_to_ms(early) &&
                              late->seen_unix_ms < seen_to_ms(late) &&
                              early->seen_unix_ms < seen_to_ms(early);
    return c->from_ms > c->to_ms + (saw_both_run ? OVERLAP_CLOCKS_MS : 0);
}

static void put_apart(const struct common *c, int64_t first_ms, struct overlap *ret)
{
    const struct observed_replica *late = ret->late = c->late, *early = ret->early = c->early;
    ret->is_for_room = late->asked_unix_ms != 0 && late->started_unix_ms > c->to_ms &&
                       late->asked_unix_ms + LAST_OF_SECOND_MS < c->to_ms;
    text_put(ret->words, sizeof(ret->words),
             "%s/%u: measured from %.1f s on and %s/%u until %.1f s (since the first start), so "
             "they did not measure together",
             role_to_string(late->id.role), late->id.index, (double)(c->from_ms - first_ms) / 1e3,
             role_to_string(early->id.role), early->id.index, (double)(c->to_ms - first_ms) / 1e3);
}

void overlap_find(const struct observed_replica *replicas, size_t n,
                  const struct attempt_id *attempt, const uint32_t sizes[static ROLE_COUNT],
                  struct overlap *ret)
{
    struct common c = {0};
    int64_t first_ms = NEVER, last_ms = 0;
    uint32_t n_leading = 0, n_succeeded = 0;
    bool has_unstarted = false;
    *ret = (struct overlap){.start_spread_s = NAN, .shared_ratio = NAN};
    for (size_t i = 0; i < n; i++) {
        const struct observed_replica *r = &replicas[i];
        const int64_t start_ms = r->started_unix_ms;
        if (!attempt_id_eq(&r->id.attempt, attempt)) {
            continue;
        }
        has_unstarted |= start_ms == 0;
        first_ms = start_ms != 0 && start_ms < first_ms ? start_ms : first_ms;
        last_ms = start_ms > last_ms ? start_ms : last_ms;
        if (role_leads(r->id.role, sizes)) {
            n_leading++;
            n_succeeded += r->state == REPLICA_SUCCEEDED;
            if (r->seen_unix_ms != 0) {
                add(&c, r);
            }
        }
    }
    ret->start_spread_s = has_unstarted ? NAN : (double)(last_ms - first_ms) / 1e3;
    ret->is_whole = n_leading > 0 && n_succeeded == n_leading && !is_apart(&c);
    if (is_apart(&c)) {
        put_apart(&c, first_ms, ret);
    } else if (ret->is_whole && c.n > 1 && c.longest_ms > 0) {
        const double shared_ms = (double)(c.to_ms - c.from_ms);
        ret->shared_ratio = fmin(1, fmax(0, shared_ms / (double)c.longest_ms));
    }
}
