/* What points divide by, as a table; see layout.h. */

#include "report/layout.h"
#include "report/table.h"

#define MAX_LISTED 6 /* points in a cell; more are counted */

/* "0, 2, 4", of the points that divide by `base`. */
static void put_users(const struct result *r, uint32_t base, struct buf *out)
{
    uint32_t n = 0;
    result_each_swept (p, r) {
        if (!p->point->baseline_excluded && p->point->baseline_index == base && ++n <= MAX_LISTED) {
            buf_printf(out, "%s%u", n == 1 ? "" : ", ", p->point->index);
        }
    }
    if (n > MAX_LISTED) {
        buf_printf(out, " and %u more", n - MAX_LISTED);
    }
}

static void add_row(struct table *t, const struct result *r, uint32_t base)
{
    const struct point_result *p = &r->points[base];
    _cleanup_(buf_done) struct buf what = BUF_INIT, users = BUF_INIT;
    result_describe_replicas(r, p->point, &what);
    put_users(r, base, &users);
    table_number(t, "POINT", "%u", base);
    table_text(t, "WHAT", "%s", buf_cstr(&what));
    table_figure(t, "THROUGHPUT", &p->throughput);
    table_interval(t, "95% INTERVAL", &p->throughput);
    table_number(t, "TRIALS", "%zu/%zu", p->n_succeeded, p->n_trials);
    table_text(t, "OF POINTS", "%s", buf_cstr(&users));
    table_end_row(t);
}

struct table *layout_baselines(const struct layout *l)
{
    if (l->own_baselines) {
        return NULL;
    }
    const struct result *r = l->result;
    _cleanup_(freep) bool *seen = xnew_array(bool, r->def->matrix.n_points);
    struct table *t = table_new();
    result_each_swept (p, r) {
        const uint32_t base = p->point->baseline_index;
        if (!p->point->baseline_excluded && !seen[base]) {
            seen[base] = true;
            add_row(t, r, base);
        }
    }
    return t;
}
