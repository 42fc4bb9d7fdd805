/* See import_series.h. Edge file: lists folders. */
#include "ctl/import/import_series.h"

#include <errno.h>
#include <glob.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "base/vec_walk.h"
#include "core/json_field.h"
#include "ctl/cli/whole_file.h"
#include "spec/spec.h"

#define LOGS "/*/results/*/*/result_[0-9]*.txt"
#define SYSTEM_BYTES_MAX ((size_t)1 << 20)

static void log_done(struct mlperf_log *log)
{
    free(log->path);
    import_log_free(log->log);
    import_end_done(&log->end);
}

void mlperf_entry_forget(struct mlperf_entry *e)
{
    vec_done_each(&e->logs, log_done);
}

static void entry_done(struct mlperf_entry *e)
{
    mlperf_entry_forget(e);
    free(e->submitter);
    free(e->system);
    free(e->benchmark);
    free(e->series);
    json_decref(e->environment);
}

void mlperf_round_done(struct mlperf_round *round)
{
    vec_done_each(&round->entries, entry_done);
}

/* ---- what a system is ---- */

/* 0: it does not say a whole number. */
static int64_t count_of(const json_t *system, const char *key)
{
    const double n = mllog_number(json_object_get(system, key));
    return n >= 1 && n <= SPEC_MAX_IMPORTED && n == floor(n) ? (int64_t)n : 0;
}

static json_t *text_of(const json_t *system, const char *key)
{
    const char *text = json_string_value(json_object_get(system, key));
    return json_text_or_null(text == NULL || text[0] == '\0' ? NULL : text);
}

/* A file that is absent or no JSON says nothing. */
static void read_system(const char *path, struct mlperf_entry *e)
{
    _cleanup_(buf_done) struct buf raw = BUF_INIT, text = BUF_INIT;
    struct err err = {0};
    if (file_read(path, SYSTEM_BYTES_MAX, &raw, &err) >= 0) {
        buf_put_utf8(&text, buf_cstr(&raw), SYSTEM_BYTES_MAX);
    }
    json_auto_t *system = json_loads(buf_cstr(&text), 0, NULL);
    e->environment = JSON_OBJECT_OF({"accelerator", text_of(system, "accelerator_model_name")},
                                    {"framework", text_of(system, "framework")},
                                    {"cpu_model", text_of(system, "host_processor_model_name")},
                                    {"system", json_text_or_null(e->system)});
    e->nodes = count_of(system, "number_of_nodes");
    const int64_t all = e->nodes * count_of(system, "accelerators_per_node");
    e->accelerators = all <= SPEC_MAX_IMPORTED ? all : 0;
}

/* ---- folders ---- */

/* Cuts off the last part of a path; borrowed. */
static const char *cut_last(char *path)
{
    char *slash = strrchr(path, '/');
    *slash = '\0';
    return slash + 1;
}

static void add_entry(struct mlperf_round *round, const char *path)
{
    _cleanup_(freep) char *rest = xstrdup(path);
    struct mlperf_entry *e = vec_push(&round->entries);
    *e = (struct mlperf_entry){0};
    (void)cut_last(rest); /* the log itself */
    e->benchmark = xstrdup(cut_last(rest));
    e->system = xstrdup(cut_last(rest));
    (void)cut_last(rest); /* "results" */
    _cleanup_(freep) char *about = xasprintf("%s/systems/%s.json", rest, e->system);
    e->submitter = xstrdup(cut_last(rest));
    read_system(about, e);
}

/* result_2 is before result_10. */
static int compare_paths(const void *a, const void *b)
{
    return strverscmp(*(const char *const *)a, *(const char *const *)b);
}

static bool has_name(const struct mlperf_entry *e, const char *name)
{
    return str_eq(e->submitter, name) || str_eq(e->system, name) || str_eq(e->benchmark, name);
}

/* Without names, all of them. */
static int keep_named(struct mlperf_round *round, const char *const *names, size_t n_names,
                      struct err *err)
{
    for (size_t i = 0; i < n_names; i++) {
        if (!vec_any(&round->entries, it, has_name(it, names[i]))) {
            return err_set(err, EINVAL, "no submitter, system or benchmark is '%s'", names[i]);
        }
    }
    size_t n_kept = 0;
    vec_each (struct mlperf_entry, e, &round->entries) {
        if (n_names == 0 || array_any(names, n_names, it, has_name(e, *it))) {
            round->entries.items[n_kept++] = *e;
        } else {
            entry_done(e);
        }
    }
    round->entries.len = n_kept;
    return 0;
}

static int list_logs(const char *folder, struct mlperf_round *round, struct err *err)
{
    struct buf pattern = BUF_INIT;
    for (const char *at = folder; *at != '\0'; at++) { /* a name may have what a pattern has */
        buf_printf(&pattern, "\\%c", *at);
    }
    buf_puts(&pattern, LOGS);
    glob_t found = {0};
    const int r = glob(buf_cstr(&pattern), GLOB_NOSORT, NULL, &found);
    buf_done(&pattern);
    if (r != 0) {
        return err_set(err, r == GLOB_NOMATCH ? ENOENT : EIO, "no log in %s", LOGS + 1);
    }
    qsort(found.gl_pathv, found.gl_pathc, sizeof(found.gl_pathv[0]), compare_paths);
    for (size_t i = 0; i < found.gl_pathc; i++) {
        const char *path = found.gl_pathv[i];
        const size_t len = (size_t)(file_last_part(path) - path); /* of the folder */
        if (i == 0 || strncmp(path, found.gl_pathv[i - 1], len) != 0) {
            add_entry(round, path);
        }
        *vec_push(&round->entries.items[round->entries.len - 1].logs) =
            (struct mlperf_log){.path = xstrdup(path)};
    }
    globfree(&found);
    return 0;
}

/* ---- series ---- */

static int compare_entries(const void *a, const void *b)
{
    const struct mlperf_entry *x = a, *y = b;
    const int by_series = strcmp(x->series, y->series);
    const int by_size = (x->accelerators > y->accelerators) - (x->accelerators < y->accelerators);
    return by_series != 0 ? by_series : by_size != 0 ? by_size : strcmp(x->system, y->system);
}

static void sort(struct mlperf_round *round)
{
    qsort(round->entries.items, round->entries.len, sizeof(struct mlperf_entry), compare_entries);
}

/* The name of a system without its counts, "4xXE9680x8H100" of 4 nodes: "XE9680x8H100". Owned. */
static char *countless(const struct mlperf_entry *e)
{
    _cleanup_(freep) char *nodes = xasprintf("%" PRId64, e->nodes);
    _cleanup_(freep) char *all = xasprintf("%" PRId64, e->nodes == 1 ? 1 : e->accelerators);
    const char *const counts[] = {nodes, all};
    _cleanup_(buf_done) struct buf name = BUF_INIT;
    for (const char *at = e->system; *at != '\0';) {
        const size_t digits = strspn(at, "0123456789"), len = digits == 0 ? 1 : digits;
        const bool is_count = str_index_n(at, digits, counts, COUNT_OF(counts)) >= 0;
        buf_append(&name, is_count ? "#" : at, is_count ? 1 : len);
        at += len;
    }
    const char *text = buf_cstr(&name);
    return xstrdup(text + (str_has_prefix(text, "#x") ? 2 : 0));
}

size_t mlperf_series_end(const struct mlperf_round *round, size_t begin)
{
    const struct mlperf_entry *const all = round->entries.items;
    size_t end = begin + 1;
    while (end < round->entries.len && str_eq(all[end].series, all[begin].series)) {
        end++;
    }
    return end;
}

/* Of each series in which a size occurs twice, the entries are kept apart by more of their
 * names. */
static void split_doubled(struct mlperf_round *round, char *(*name_of)(const struct mlperf_entry *))
{
    struct mlperf_entry *const all = round->entries.items;
    for (size_t i = 0, end; i < round->entries.len; i = end) {
        bool is_doubled = false;
        end = mlperf_series_end(round, i);
        for (size_t k = i + 1; k < end; k++) {
            is_doubled |= all[k].accelerators > 0 && all[k].accelerators == all[k - 1].accelerators;
        }
        for (size_t k = i; is_doubled && k < end; k++) {
            _cleanup_(freep) char *before = all[k].series, *name = name_of(&all[k]);
            all[k].series = xasprintf("%s\n%s", before, name);
        }
    }
    sort(round);
}

static char *full_name(const struct mlperf_entry *e)
{
    return xstrdup(e->system);
}

static const char *said(const struct mlperf_entry *e, const char *key)
{
    const char *text = json_string_value(json_object_get(e->environment, key));
    return text == NULL ? "" : text;
}

int mlperf_round_read(const char *folder, const char *const *names, size_t n_names,
                      struct mlperf_round *ret, struct err *err)
{
    *ret = (struct mlperf_round){0};
    int r = list_logs(folder, ret, err);
    if (r < 0 || (r = keep_named(ret, names, n_names, err)) < 0) {
        return r;
    }
    vec_each (struct mlperf_entry, e, &ret->entries) {
        e->series = xasprintf("%s\n%s\n%s\n%s\n%s", e->benchmark, e->submitter,
                              said(e, "accelerator"), said(e, "framework"), said(e, "cpu_model"));
    }
    sort(ret);
    split_doubled(ret, countless);
    split_doubled(ret, full_name);
    return 0;
}
