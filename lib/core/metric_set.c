/* See metric_set.h. */
#include "core/metric_set.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/str.h"

const char *const metric_names_made[] = {"tflops", "mfu", FLOPS_CPU_PEAK, NULL};

bool metric_name_is_valid(const char *name)
{
    const size_t len = strlen(name);
    return len > 0 && len <= METRIC_NAME_MAX &&
           strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_") == len;
}

static void metric_done(struct metric_value *m)
{
    free(m->name);
}

void metrics_done(struct metrics *m)
{
    vec_done_each(&m->list, metric_done);
}

static struct metric_value *find(const struct metrics *m, const char *name)
{
    return vec_find(&m->list, it, str_eq(it->name, name));
}

void metrics_set(struct metrics *m, const char *name, double value)
{
    struct metric_value *known = find(m, name);
    if (!isfinite(value)) {
        return;
    }
    if (known == NULL) {
        known = vec_push(&m->list);
        known->name = xstrdup(name);
    }
    known->value = value;
}

void metrics_merge(struct metrics *m, const struct metrics *more)
{
    vec_each (const struct metric_value, it, &more->list) {
        if (find(m, it->name) != NULL || m->list.len < METRICS_MAX) {
            metrics_set(m, it->name, it->value);
        }
    }
}

double metrics_get(const struct metrics *m, const char *name)
{
    const struct metric_value *known = find(m, name);
    return known == NULL ? NAN : known->value;
}

void metrics_add(struct metrics *m, const char *name, double value)
{
    const struct metric_value *known = find(m, name);
    metrics_set(m, name, value + (known == NULL ? 0 : known->value));
}

const char *metric_unit(const char *name)
{
    static const struct {
        const char *end, *unit;
    } units[] = {
        {"tflops", "TFLOP/s"}, {"mfu", "ratio"},    {"_ratio", "ratio"},
        {"_s", "s"},           {"_j", "J"},         {"_w", "W"},
        {"_mhz", "MHz"},       {"_bytes", "bytes"}, {"_errors", "errors"},
    };
    const size_t len = strlen(name);
    for (size_t i = 0; i < COUNT_OF(units); i++) {
        const size_t end = strlen(units[i].end);
        if (len >= end && str_eq(name + len - end, units[i].end)) {
            return units[i].unit;
        }
    }
    return "";
}

json_t *metrics_to_json(const struct metrics *m)
{
    json_t *o = m->list.len == 0 ? NULL : json_object();
    vec_each (const struct metric_value, it, &m->list) {
        json_object_set_new(o, it->name, json_real(it->value));
    }
    return o;
}

int metrics_from_json(const json_t *object, size_t most, struct metrics *ret, struct err *err)
{
    const char *name;
    json_t *value;
    if (!json_is_object(object) || json_object_size(object) > most) {
        return err_set(err, EPROTO, "it is not an object of at most %zu numbers", most);
    }
    json_object_foreach ((json_t *)object, name, value) {
        if (!metric_name_is_valid(name)) {
            return err_set(err, EPROTO, "a name is not 1 to %d of a-z, 0-9 and '_'",
                           METRIC_NAME_MAX);
        }
        if (!json_is_number(value)) {
            return err_set(err, EPROTO, "'%s' is not a number", name);
        }
        metrics_set(ret, name, json_number_value(value));
    }
    return 0;
}
