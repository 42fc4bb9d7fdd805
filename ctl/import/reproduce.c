/* See reproduce.h. */
#include "ctl/import/reproduce.h"

#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "base/text.h"
#include "base/vec_walk.h"
#include "config.h"
#include "ctl/cli/this_machine.h"
#include "host/host.h"

#define TEXT_SIZE 200
#define UNKNOWN "not known"

static void put_fact(struct buf *out, const char *what, const char *recorded, const char *here,
                     size_t *n_differ)
{
    char a[TEXT_SIZE], b[TEXT_SIZE]; /* environments may be anybody's */
    text_put(a, sizeof(a), "%s", recorded);
    text_put(b, sizeof(b), "%s", here);
    const bool is_known = !str_eq(a, UNKNOWN) && !str_eq(b, UNKNOWN);
    if (is_known && str_eq(a, b)) {
        buf_printf(out, "same     %s: %s\n", what, a);
        return;
    }
    (*n_differ)++;
    buf_printf(out, "%s  %s: %s -> %s\n", is_known ? "differs" : "unknown", what, a, b);
}

/* What the replicas said, each text once: "a and b". Owned. */
static char *recorded_of(const json_t *environments, const char *key)
{
    _cleanup_(buf_done) struct buf all = BUF_INIT;
    VEC(const char *) seen = {0};
    size_t i;
    const json_t *entry;
    json_array_foreach (environments, i, entry) {
        const char *text =
            json_string_value(json_object_get(json_object_get(entry, "environment"), key));
        if (text != NULL && !vec_any(&seen, it, str_eq(*it, text))) {
            *vec_push(&seen) = text;
            buf_printf(&all, "%s%s", all.len == 0 ? "" : " and ", text);
        }
    }
    vec_done(&seen);
    return xstrdup(all.len == 0 ? UNKNOWN : buf_cstr(&all));
}

/* The rest of the line that begins with `word`, after blanks and a colon. Owned. */
static char *value_in(const struct buf *text, const char *word)
{
    for (const char *line = buf_cstr(text); line != NULL && *line != '\0';) {
        const char *end = strchr(line, '\n');
        if (str_has_prefix(line, word)) {
            line += strlen(word);
            line += strspn(line, " \t:");
            return xstrndup(line, strcspn(line, "\n"));
        }
        line = end == NULL ? NULL : end + 1;
    }
    return xstrdup(UNKNOWN);
}

static void put_worker(const json_t *environments, const char *worker, struct buf *out,
                       size_t *n_differ)
{
    static const char *const keys[] = {"source", "compiler"};
    char *argv[] = {(char *)worker, (char *)"--version", NULL};
    _cleanup_(buf_done) struct buf version = BUF_INIT;
    (void)host_run(argv, &version); /* what it does not say is not known */
    for (size_t i = 0; i < COUNT_OF(keys); i++) {
        _cleanup_(freep) char *recorded = recorded_of(environments, keys[i]);
        _cleanup_(freep) char *here = value_in(&version, keys[i]);
        put_fact(out, keys[i], recorded, here, n_differ);
    }
}

static void put_machine(const json_t *environments, const struct loaded_run *run, struct buf *out,
                        size_t *n_differ)
{
    static const char *const facts[][2] = {{"cpu model", "cpu_model"}, {"kernel", "kernel"}};
    json_auto_t *here = host_environment("");
    _cleanup_(freep) char *n_recorded =
        run->row.cpus == 0 ? xstrdup(UNKNOWN) : xasprintf("%lld", (long long)run->row.cpus);
    _cleanup_(freep) char *n_here = xasprintf("%lld", (long long)host_cpus());
    put_fact(out, "CPUs", n_recorded, n_here, n_differ);
    for (size_t i = 0; i < COUNT_OF(facts); i++) {
        _cleanup_(freep) char *recorded = recorded_of(environments, facts[i][1]);
        const char *text = json_string_value(json_object_get(here, facts[i][1]));
        put_fact(out, facts[i][0], recorded, text == NULL ? UNKNOWN : text, n_differ);
    }
}

size_t reproduce_describe(const struct archive *a, const struct loaded_run *run, const char *worker,
                          struct buf *out)
{
    const struct buf *text = archive_find(a, "environment.json");
    json_auto_t *environments =
        text->len > ARCHIVE_MAX_JSON_BYTES ? NULL : json_loadb(buf_cstr(text), text->len, 0, NULL);
    size_t n_differ = 0;
    put_fact(out, "benchctl", a->program, "benchctl " BENCHD_VERSION, &n_differ);
    if (worker != NULL) {
        put_worker(environments, worker, out, &n_differ);
        put_machine(environments, run, out, &n_differ);
    } else {
        static const struct {
            const char *what, *key;
        } rows[] = {{"source", "source"}, {"cpu model", "cpu_model"}, {"kernel", "kernel"}};
        for (size_t i = 0; i < COUNT_OF(rows); i++) {
            _cleanup_(freep) char *recorded = recorded_of(environments, rows[i].key);
            char clean[TEXT_SIZE];
            text_put(clean, sizeof(clean), "%s", recorded);
            buf_printf(out,
                       "later    %s: %s -> known when the replicas of the cluster have reported\n",
                       rows[i].what, clean);
        }
    }
    return n_differ;
}
