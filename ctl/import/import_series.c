/* See import_series.h. Edge file: lists folders. */
#include "ctl/import/import_series.h"

#include <errno.h>
#include <glob.h>
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "base/vec_walk.h"
#include "core/json_field.h"
#include "base/whole_file.h"
#include "spec/spec.h"

#define LOGS "/*/results/*/*/result_[0-9]*.txt"
#define SYSTEM_BYTES_MAX ((size_t)1 << 20)

static void entry_done(struct mlperf_entry *e)
{
    vec_done_each(&e->trials, import_trial_done);
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
    const int64_t all =
        count_of(system, "number_of_nodes") * count_of(system, "accelerators_per_node");
    e->accelerators = all <= SPEC_MAX_IMPORTED ? all : 0;
}

/* ---- folders ---- */

/* The n-th part of a path; owned. */
static char *part_of(const char *path, int n)
{
    for (; n > 0; n--) {
        path = strchr(path, '/') + 1;
    }
    return xstrndup(path, strcspn(path, "/"));
}

static void add_entry(const char *folder, const char *log, struct mlperf_round *round)
{
    const char *rest = log + strlen(folder) + 1;
    struct mlperf_entry *e = vec_push(&round->entries);
    *e = (struct mlperf_entry){.submitter = part_of(rest, 0),
                               .system = part_of(rest, 2), /* after "results" */
                               .benchmark = part_of(rest, 3)};
    _cleanup_(freep) char *about =
        xasprintf("%s/%s/systems/%s.json", folder, e->submitter, e->system);
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
static int select_named(struct mlperf_round *round, const char *const *names, size_t n_names,
                        struct err *err)
{
    for (size_t i = 0; i < n_names; i++) {
        if (!vec_any(&round->entries, it, has_name(it, names[i]))) {
            return err_set(err, EINVAL, "no submitter, system or benchmark is '%s'", names[i]);
        }
    }
    size_t n_selected = 0;
    vec_each (struct mlperf_entry, e, &round->entries) {
        if (n_names == 0 || array_any(names, n_names, it, has_name(e, *it))) {
            round->entries.items[n_selected++] = *e;
        } else {
            entry_done(e);
        }
    }
    round->entries.len = n_selected;
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
        return err_set(err, r == GLOB_NOMATCH ? ENOENT : EIO, "no log in %s", &LOGS[1]);
    }
    qsort(found.gl_pathv, found.gl_pathc, sizeof(found.gl_pathv[0]), compare_paths);
    for (size_t i = 0; i < found.gl_pathc; i++) {
        const char *path = found.gl_pathv[i];
        const size_t len = (size_t)(file_last_part(path) - path); /* of the folder */
        if (i == 0 || strncmp(path, found.gl_pathv[i - 1], len) != 0) {
            add_entry(folder, path, round);
        }
        struct import_trial *trial = vec_push(&round->entries.items[round->entries.len - 1].trials);
        *trial = (struct import_trial){0};
        *vec_push(&trial->logs) = import_log_new(path);
    }
    globfree(&found);
    return 0;
}

/* ---- series ---- */

static int compare_entries(const void *a, const void *b)
{
    const struct mlperf_entry *x = a, *y = b;
    const int by_series = strcmp(x->series, y->series);
    const int64_t by_size = x->accelerators - y->accelerators;
    return by_series != 0               ? by_series
           : x->is_alone != y->is_alone ? x->is_alone - y->is_alone
           : by_size != 0               ? (by_size > 0 ? 1 : -1)
                                        : strcmp(x->system, y->system);
}

size_t mlperf_series_end(const struct mlperf_round *round, size_t begin)
{
    const struct mlperf_entry *const all = round->entries.items;
    size_t end = begin + 1;
    while (end < round->entries.len && !all[end].is_alone &&
           str_eq(all[end].series, all[begin].series)) {
        end++;
    }
    return end;
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
    if (r < 0 || (r = select_named(ret, names, n_names, err)) < 0) {
        return r;
    }
    vec_each (struct mlperf_entry, e, &ret->entries) {
        e->series = xasprintf("%s\n%s\n%s\n%s\n%s", e->benchmark, e->submitter,
                              said(e, "accelerator"), said(e, "framework"), said(e, "cpu_model"));
    }
    vec_each (struct mlperf_entry, e, &ret->entries) {
        e->is_alone = vec_any(&ret->entries, it,
                              it != e && it->accelerators == e->accelerators &&
                                  str_eq(it->series, e->series));
    }
    qsort(ret->entries.items, ret->entries.len, sizeof(struct mlperf_entry), compare_entries);
    return 0;
}
