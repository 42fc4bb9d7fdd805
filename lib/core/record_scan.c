/* Steps and summaries as record.c writes them, read without a tree: a controller reads one
 * for each step of each replica, a table one for each replica of each trial. Everything else
 * is left to record_read.c, and so is every error. The keys must have record.c's order; so
 * none can be there twice. */
#include "core/record_internal.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "core/json_scan.h"
#include "core/series.h"

enum kind { U32, U64, TIME, NUMBER, FLAG, PHASES, DIGEST, LAST, PROBE, NOISE, TRANSPORT, SERIES };

struct field {
    const char *key;
    enum kind kind;
    bool is_required;
    size_t offset;
};

#define OF(type, member) offsetof(struct type, member)
/* clang-format off */
static const struct field step_fields[] = {
    {"step", U32, true, OF(record_step, step)},
    {"warmup", FLAG, false, OF(record_step, warmup)},
    {"t_ns", TIME, true, OF(record_step, t_ns)},
    {"step_ns", TIME, true, OF(record_step, step_ns)},
    {"samples", U32, true, OF(record_step, samples)},
    {"loss", NUMBER, false, OF(record_step, loss)},
    {"phase_ns", PHASES, false, OF(record_step, phase_ns)},
    {"bytes_tx", U64, false, OF(record_step, bytes_tx)},
    {"bytes_rx", U64, false, OF(record_step, bytes_rx)},
};
static const struct field summary_fields[] = {
    {"samples", U64, true, OF(summary, samples)},
    {"duration_ns", TIME, true, OF(summary, duration_ns)},
    {"steps", U32, true, OF(summary, steps)},
    {"phase_ns", PHASES, false, OF(summary, phase_ns)},
    {"bytes_tx", U64, false, OF(summary, bytes_tx)},
    {"bytes_rx", U64, false, OF(summary, bytes_rx)},
    {"loss_first", NUMBER, false, OF(summary, loss_first)},
    {"loss_last", NUMBER, false, OF(summary, loss_last)},
    {"throttled_ns", TIME, false, OF(summary, throttled_ns)},
    {"throttled_periods", U64, false, OF(summary, throttled_periods)},
    {"max_rss_bytes", U64, false, OF(summary, max_rss_bytes)},
    {"cpu_ns", TIME, false, OF(summary, cpu_ns)},
    {"environment_digest", DIGEST, false, OF(summary, environment_digest)},
    {"last", LAST, false, OF(summary, last)},
    {"noise", NOISE, false, OF(summary, noise)},
    {"transport", TRANSPORT, false, OF(summary, transport)},
    {"series", SERIES, false, 0},
};
static const struct field last_fields[] = {
    {"trainer", U32, true, OF(summary_last, trainer)},
    {"steps", U32, true, OF(summary_last, steps)},
    {"wait_ns", TIME, true, OF(summary_last, wait_ns)},
};
static const struct field probe_fields[] = {
    {"spins_per_s", U64, true, OF(noise_probe, spins_per_s)},
    {"copy_bytes_per_s", U64, true, OF(noise_probe, copy_bytes_per_s)},
};
static const struct field noise_fields[] = {
    {"before", PROBE, false, OF(noise, before)},
    {"after", PROBE, false, OF(noise, after)},
    {"busy_ns", TIME, false, OF(noise, busy_ns)},
    {"steal_ns", TIME, false, OF(noise, steal_ns)},
    {"cpu_run_ns", TIME, false, OF(noise, cpu_run_ns)},
    {"cpu_wait_ns", TIME, false, OF(noise, cpu_wait_ns)},
    {"launcher", FLAG, false, OF(noise, by_launcher)},
};
/* clang-format on */
#define COUNT(fields) (sizeof(fields) / sizeof((fields)[0]))

static bool read_u32(struct json_scan *s, uint32_t *ret)
{
    int64_t i;
    if (!json_scan_int(s, &i) || i < 0 || i > UINT32_MAX) {
        return false;
    }
    *ret = (uint32_t)i;
    return true;
}

static bool read_count(struct json_scan *s, int64_t *ret)
{
    return json_scan_int(s, ret) && *ret >= 0;
}

static bool read_phases(struct json_scan *s, int64_t phase_ns[PHASE_COUNT])
{
    struct json_span key;
    int i = 0, r;
    if (!json_scan_open(s)) {
        return false;
    }
    while ((r = json_scan_next(s, &key)) > 0) {
        while (i < PHASE_COUNT && !json_span_is(&key, phase_to_string((enum phase)i))) {
            i++;
        }
        if (i == PHASE_COUNT || !read_count(s, &phase_ns[i++])) {
            return false;
        }
    }
    return r == 0;
}

static bool read_digest(struct json_scan *s, char **ret)
{
    struct json_span text;
    if (json_scan_null(s)) {
        return true;
    }
    if (!json_scan_text(s, &text) || text.len != RECORD_DIGEST_CHARS) {
        return false;
    }
    char digest[RECORD_DIGEST_CHARS + 1] = "";
    memcpy(digest, text.text, text.len);
    if (!record_is_digest(digest)) {
        return false;
    }
    *ret = xstrdup(digest);
    return true;
}

static bool read_transport(struct json_scan *s, enum exchange_transport *ret)
{
    struct json_span text;
    if (!json_scan_text(s, &text)) {
        return false;
    }
    for (int t = EXCHANGE_TRANSPORT_AUTO + 1; t < EXCHANGE_TRANSPORT_COUNT; t++) {
        if (json_span_is(&text, exchange_transport_names[t])) {
            *ret = (enum exchange_transport)t;
            return true;
        }
    }
    return false;
}

static bool read_key(struct json_scan *s, const char *wanted)
{
    struct json_span key;
    return json_scan_next(s, &key) > 0 && json_span_is(&key, wanted);
}

static bool read_series(struct json_scan *s, struct summary *ret)
{
    struct series head = {0};
    struct json_span data, key;
    int64_t n, min;
    if (!json_scan_open(s) || !read_key(s, "k") || !read_u32(s, &head.k) || head.k == 0 ||
        !read_key(s, "n") || !json_scan_int(s, &n) || n < 1 || n > SERIES_MAX ||
        !read_key(s, "min") || !json_scan_int(s, &min) || min < -RECORD_SERIES_MIN_LIMIT ||
        min > RECORD_SERIES_MIN_LIMIT || !read_key(s, "data") || !json_scan_text(s, &data) ||
        json_scan_next(s, &key) != 0) {
        return false;
    }
    head.n = (uint32_t)n;
    head.min = (int32_t)min;
    if (series_decode(&head, data.text, data.len, &ret->series_us) < 0) {
        return false;
    }
    ret->series_k = head.k;
    ret->n_series = head.n;
    return true;
}

static bool read_fields(struct json_scan *s, const struct field *fields, size_t n, void *object);

/* A summary has both times, how long the threads ran and how long they waited, or neither. */
static bool read_noise(struct json_scan *s, struct noise *ret)
{
    const int64_t not_said = -1;
    ret->cpu_wait_ns = not_said;
    if (!json_scan_open(s) || !read_fields(s, noise_fields, COUNT(noise_fields), ret) ||
        ret->steal_ns > ret->busy_ns) {
        return false;
    }
    if (ret->cpu_run_ns == 0) {
        ret->cpu_wait_ns = ret->cpu_wait_ns == not_said ? 0 : ret->cpu_wait_ns;
        return ret->cpu_wait_ns == 0;
    }
    return ret->cpu_wait_ns != not_said;
}

static bool read_field(struct json_scan *s, const struct field *f, void *object)
{
    void *at = (char *)object + f->offset;
    int64_t count;
    switch (f->kind) {
    case U32:
        return read_u32(s, at);
    case U64:
        if (!read_count(s, &count)) {
            return false;
        }
        *(uint64_t *)at = (uint64_t)count;
        return true;
    case TIME:
        return read_count(s, at);
    case NUMBER:
        return json_scan_number(s, at);
    case FLAG:
        return json_scan_bool(s, at);
    case PHASES:
        return read_phases(s, at);
    case DIGEST:
        return read_digest(s, at);
    case LAST:
        return json_scan_open(s) && read_fields(s, last_fields, COUNT(last_fields), at);
    case PROBE:
        return json_scan_open(s) && read_fields(s, probe_fields, COUNT(probe_fields), at);
    case NOISE:
        return read_noise(s, at);
    case TRANSPORT:
        return read_transport(s, at);
    case SERIES:
        return read_series(s, object);
    }
    return false;
}

/* The rest of the object that is open. */
static bool read_fields(struct json_scan *s, const struct field *fields, size_t n, void *object)
{
    struct json_span key;
    size_t i = 0;
    int r;
    while ((r = json_scan_next(s, &key)) > 0) {
        while (i < n && !json_span_is(&key, fields[i].key)) {
            if (fields[i++].is_required) {
                return false;
            }
        }
        if (i == n || !read_field(s, &fields[i++], object)) {
            return false;
        }
    }
    for (; i < n; i++) {
        if (fields[i].is_required) {
            return false;
        }
    }
    return r == 0;
}

static bool read_role(struct json_scan *s, enum role *ret)
{
    struct json_span text;
    if (!json_scan_text(s, &text)) {
        return false;
    }
    for (enum role role = 0; role < ROLE_COUNT; role++) {
        if (json_span_is(&text, role_to_string(role))) {
            *ret = role;
            return true;
        }
    }
    return false;
}

static bool read_all(struct json_scan *s, struct record *ret)
{
    int64_t version;
    struct json_span type;
    struct record_who *who = &ret->who;
    if (!json_scan_open(s) || !read_key(s, "benchd") || !json_scan_int(s, &version) ||
        version != RECORD_VERSION || !read_key(s, "type") || !json_scan_text(s, &type) ||
        !read_key(s, "role") || !read_role(s, &who->role) || !read_key(s, "index") ||
        !read_u32(s, &who->index) || !read_key(s, "attempt") || !read_u32(s, &who->attempt)) {
        return false;
    }
    if (json_span_is(&type, record_type_to_string(RECORD_STEP))) {
        ret->type = RECORD_STEP;
        ret->step.loss = NAN;
        return read_fields(s, step_fields, COUNT(step_fields), &ret->step);
    }
    if (json_span_is(&type, record_type_to_string(RECORD_SUMMARY))) {
        ret->type = RECORD_SUMMARY;
        ret->summary.loss_first = ret->summary.loss_last = NAN;
        return read_fields(s, summary_fields, COUNT(summary_fields), &ret->summary);
    }
    return false;
}

bool record_scan(const char *line, size_t len, struct record *ret)
{
    struct record record = {.type = RECORD_STEP};
    const char newline = len > 0 && line[len - 1] == '\n';
    struct json_scan s = {line, line + len - (newline ? 1 : 0)};
    if (!read_all(&s, &record) || !json_scan_is_over(&s)) {
        record_done(&record);
        return false;
    }
    *ret = record;
    return true;
}
