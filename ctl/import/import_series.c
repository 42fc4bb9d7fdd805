/* See import_series.h. Edge file: lists folders. */
#include "ctl/import/import_series.h"

#include <errno.h>
#include <glob.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "base/parse.h"
#include "base/str.h"
#include "base/vec_walk.h"
#include "ctl/cli/whole_file.h"
#include "spec/spec.h"

#define LOGS "/*/results/*/*/result_[0-9]*.txt"
#define SYSTEM_BYTES_MAX ((size_t)1 << 20)

static void entry_done(struct mlperf_entry *e)
{
    char *const texts[] = {e->submitter, e->system, e->benchmark, e->accelerator,
                           e->framework, e->cpu,    e->series};
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        free(texts[i]);
    }
    texts_done(&e->logs);
}

void mlperf_round_done(struct mlperf_round *round)
{
    vec_done_each(&round->entries, entry_done);
}

/* ---- what a system is ---- */

/* A whole number, or a text that holds one; 0: neither. */
static int64_t count_of(const json_t *system, const char *key)
{
    const json_t *value = json_object_get(system, key);
    const char *said = json_string_value(value);
    int64_t n = (int64_t)fmin(json_number_value(value), 1e9); /* 0 of what is no number */
    if (said != NULL) {
        _cleanup_(freep) char *text = xstrndup(said, strcspn(said, " "));
        n = parse_i64(text, &n) < 0 ? 0 : n;
    }
    return n >= 1 && n <= SPEC_MAX_IMPORTED ? n : 0;
}

static char *text_of(const json_t *system, const char *key)
{
    const char *text = json_string_value(json_object_get(system, key));
    return text == NULL || text[0] == '\0' ? NULL : xstrdup(text);
}

/* A file that is absent or no JSON says nothing. */
static void read_system(const char *path, struct mlperf_entry *e)
{
    _cleanup_(buf_done) struct buf raw = BUF_INIT, text = BUF_INIT;
    struct err err = {0};
    if (file_read(path, SYSTEM_BYTES_MAX, &raw, &err) < 0) {
        return;
    }
    buf_put_utf8(&text, buf_cstr(&raw), SYSTEM_BYTES_MAX);
    json_auto_t *system = json_loads(buf_cstr(&text), 0, NULL);
    e->accelerator = text_of(system, "accelerator_model_name");
    e->framework = text_of(system, "framework");
    e->cpu = text_of(system, "host_processor_model_name");
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

static void add_log(struct mlperf_round *round, const char *path)
{
    _cleanup_(freep) char *rest = xstrdup(path);
    (void)cut_last(rest); /* the log itself */
    const char *benchmark = cut_last(rest), *system = cut_last(rest);
    (void)cut_last(rest); /* "results" */
    _cleanup_(freep) char *about = xasprintf("%s/systems/%s.json", rest, system);
    const char *submitter = cut_last(rest);
    struct mlperf_entry *e =
        round->entries.len == 0 ? NULL : &round->entries.items[round->entries.len - 1];
    if (e == NULL || !str_eq(e->submitter, submitter) || !str_eq(e->system, system) ||
        !str_eq(e->benchmark, benchmark)) {
        e = vec_push(&round->entries);
        *e = (struct mlperf_entry){.submitter = xstrdup(submitter),
                                   .system = xstrdup(system),
                                   .benchmark = xstrdup(benchmark)};
        read_system(about, e);
    }
    *vec_push(&e->logs.list) = xstrdup(path);
}

/* result_2 is before result_10. */
static int compare_paths(const void *a, const void *b)
{
    return strverscmp(*(const char *const *)a, *(const char *const *)b);
}

int mlperf_round_read(const char *folder, struct mlperf_round *ret, struct err *err)
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
        return err_set(err, r == GLOB_NOMATCH ? ENOENT : EIO, "%s: no log in %s", folder, LOGS + 1);
    }
    qsort(found.gl_pathv, found.gl_pathc, sizeof(found.gl_pathv[0]), compare_paths);
    *ret = (struct mlperf_round){0};
    for (size_t i = 0; i < found.gl_pathc; i++) {
        add_log(ret, found.gl_pathv[i]);
    }
    globfree(&found);
    return 0;
}

/* ---- names ---- */

static bool has_name(const struct mlperf_entry *e, const char *name)
{
    return str_eq(e->submitter, name) || str_eq(e->system, name) || str_eq(e->benchmark, name);
}

/* The name of some entry that was probably meant; owned; NULL: none. */
static char *suggest(const struct mlperf_round *round, const char *name)
{
    VEC(const char *) all = {0};
    vec_each (const struct mlperf_entry, e, &round->entries) {
        const char *const names[] = {e->submitter, e->system, e->benchmark};
        for (size_t i = 0; i < COUNT_OF(names); i++) {
            if (!vec_any(&all, it, str_eq(*it, names[i]))) {
                *vec_push(&all) = names[i];
            }
        }
    }
    const char *meant = str_suggest(name, all.items, all.len);
    vec_done(&all);
    return meant == NULL ? NULL : xasprintf("did you mean '%s'?", meant);
}

int mlperf_round_keep(struct mlperf_round *round, const char *const *names, size_t n_names,
                      char **ret_fix, struct err *err)
{
    for (size_t i = 0; i < n_names; i++) {
        if (!vec_any(&round->entries, it, has_name(it, names[i]))) {
            *ret_fix = suggest(round, names[i]);
            return err_set(err, EINVAL, "no submitter, system or benchmark is '%s'", names[i]);
        }
    }
    size_t n_kept = 0;
    vec_each (struct mlperf_entry, e, &round->entries) {
        bool is_kept = n_names == 0;
        for (size_t i = 0; i < n_names; i++) {
            is_kept |= has_name(e, names[i]);
        }
        if (is_kept) {
            round->entries.items[n_kept++] = *e;
        } else {
            entry_done(e);
        }
    }
    round->entries.len = n_kept;
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

/* The name of a system without its counts, "4xXE9680x8H100" of 4 nodes: "XE9680x8H100". */
static void put_countless(const struct mlperf_entry *e, struct buf *out)
{
    _cleanup_(freep) char *nodes = xasprintf("%" PRId64, e->nodes);
    _cleanup_(freep) char *all = xasprintf("%" PRId64, e->nodes == 1 ? 1 : e->accelerators);
    const char *const counts[] = {nodes, all};
    struct buf name = BUF_INIT;
    for (const char *at = e->system; *at != '\0';) {
        const size_t len = strspn(at, "0123456789");
        if (str_index_n(at, len, counts, COUNT_OF(counts)) >= 0) {
            buf_putc(&name, '#');
        } else {
            buf_append(&name, at, len == 0 ? 1 : len);
        }
        at += len == 0 ? 1 : len;
    }
    const char *text = buf_cstr(&name);
    buf_puts(out, text + (str_has_prefix(text, "#x") ? 2 : 0));
    buf_done(&name);
}

/* Of each series in which a size occurs twice, the entries are kept apart by more of their
 * names. */
static void split_doubled(struct mlperf_round *round, bool with_counts)
{
    struct mlperf_entry *const all = round->entries.items;
    for (size_t i = 0, end; i < round->entries.len; i = end) {
        bool is_doubled = false;
        for (end = i + 1; end < round->entries.len && str_eq(all[end].series, all[i].series);
             end++) {
            is_doubled |= all[end].accelerators == all[end - 1].accelerators;
        }
        for (size_t k = end; is_doubled && k-- > i;) { /* the first one's text is compared above */
            struct buf series = BUF_INIT;
            buf_printf(&series, "%s\n", all[k].series);
            if (with_counts) {
                buf_puts(&series, all[k].system);
            } else {
                put_countless(&all[k], &series);
            }
            free(all[k].series);
            all[k].series = buf_take(&series);
        }
    }
    qsort(all, round->entries.len, sizeof(all[0]), compare_entries);
}

void mlperf_round_split(struct mlperf_round *round)
{
    vec_each (struct mlperf_entry, e, &round->entries) {
        const char *of[] = {e->accelerator, e->framework, e->cpu};
        struct buf series = BUF_INIT;
        buf_printf(&series, "%s\n%s", e->benchmark, e->submitter);
        for (size_t i = 0; i < COUNT_OF(of); i++) {
            buf_printf(&series, "\n%s", of[i] == NULL ? "" : of[i]);
        }
        e->series = buf_take(&series);
    }
    qsort(round->entries.items, round->entries.len, sizeof(struct mlperf_entry), compare_entries);
    split_doubled(round, false);
    split_doubled(round, true);
}
