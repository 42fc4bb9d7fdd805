/* See import_args.h. */
#include "ctl/import/import_args.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/mem.h"
#include "base/parse.h"
#include "base/str.h"
#include "core/link.h"
#include "spec/builtin.h"
#include "spec/name.h"

static const char *const fix_form =
    "write [NAME=VALUE,..:]FILE[,FILE..], for example trainers=4,batch_size=32:run1.log";

struct parsing {
    const char **ret_fix;
    struct err *err;
};

void import_trials_done(struct import_trials *trials)
{
    vec_each (struct import_trial, it, &trials->list) {
        params_done(&it->params);
        vec_free(&it->files);
    }
    vec_done(&trials->list);
}

/* ---- NAME=VALUE ---- */

static int check_value(const struct parsing *p, const char *pair, const char *name,
                       const struct value *v)
{
    const struct builtin *builtin = builtin_find(name);
    if (builtin == NULL) {
        return 0; /* of a name of the user's own: any text */
    }
    struct link link;
    if (builtin->max == 0) {
        *p->ret_fix = "write for example link=1gbit";
        return !v->is_int && link_parse(v->s, &link) == 0
                   ? 0
                   : err_set(p->err, EINVAL, "'%s': '%s' is not a link", pair, name);
    }
    const int64_t min = str_eq(name, "pservers") ? 0 : builtin->min; /* 0: on a single node */
    if (!v->is_int || v->i < min || v->i > builtin->max) {
        *p->ret_fix = fix_form;
        return err_set(p->err, EINVAL,
                       "'%s': %s must be a whole number from %" PRId64 " to %" PRId64, pair, name,
                       min, builtin->max);
    }
    return 0;
}

/* "NAME=VALUE" into the set, where the name is new. */
static int take_pair(const struct parsing *p, const char *pair, struct params *params)
{
    const char *equals = strchr(pair, '=');
    _cleanup_(freep) char *name = equals == NULL ? NULL : xstrndup(pair, (size_t)(equals - pair));
    if (name == NULL || !sweep_name_is_valid(name) || equals[1] == '\0') {
        *p->ret_fix = fix_form;
        return err_set(p->err, EINVAL, "'%s' is not NAME=VALUE", pair);
    }
    if (params_get(params, name) != NULL) {
        *p->ret_fix = "give each name one value; --set is for all files";
        return err_set(p->err, EINVAL, "'%s': %s has a value already", pair, name);
    }
    struct value v = {.s = xstrdup(equals + 1)};
    v.is_int = parse_i64(v.s, &v.i) == 0;
    if (v.is_int) {
        free(v.s);
        v.s = NULL;
    }
    const int r = check_value(p, pair, name, &v);
    if (r >= 0) {
        params_set(params, name, &v);
    }
    free(v.s);
    return r;
}

/* The length of "NAME=VALUE,..", which a colon ends; 0: the argument has none. A file name may have
 * an equals sign or a colon, but not both like this: "./a=b:c" is one. */
static size_t values_len(const char *word)
{
    const char *colon = strchr(word, ':'), *equals = strchr(word, '=');
    if (colon == NULL || equals == NULL || equals > colon) {
        return 0;
    }
    _cleanup_(freep) char *name = xstrndup(word, (size_t)(equals - word));
    return sweep_name_is_valid(name) ? (size_t)(colon - word) : 0;
}

/* ---- an argument ---- */

static int take_values(const struct parsing *p, const char *text, size_t len, struct params *params)
{
    int r = 0;
    for (size_t at = 0; at < len && r >= 0;) {
        const char *comma = memchr(text + at, ',', len - at);
        const size_t end = comma == NULL ? len : (size_t)(comma - text);
        _cleanup_(freep) char *pair = xstrndup(text + at, end - at);
        r = take_pair(p, pair, params);
        at = end + 1;
    }
    return r;
}

static int take_files(const struct parsing *p, const char *word, const char *text,
                      struct import_trial *trial)
{
    for (const char *at = text;; at++) {
        const size_t len = strcspn(at, ",");
        if (len == 0) {
            *p->ret_fix = fix_form;
            return err_set(p->err, EINVAL, "'%s': a file has no name", word);
        }
        *vec_push(&trial->files) = xstrndup(at, len);
        at += len;
        if (*at == '\0') {
            return 0;
        }
    }
}

static int take_trial(const struct parsing *p, const char *word, const char *const *sets,
                      size_t n_sets, struct import_trial *trial)
{
    int r = 0;
    for (size_t i = 0; i < n_sets && r >= 0; i++) {
        r = take_pair(p, sets[i], &trial->params);
    }
    const size_t len = values_len(word);
    if (r >= 0) {
        r = take_values(p, word, len, &trial->params);
    }
    return r < 0 ? r : take_files(p, word, len == 0 ? word : word + len + 1, trial);
}

/* ---- all of them ---- */

/* Trainers or workers: one name for the run. */
static int find_count(const struct parsing *p, struct import_trials *trials)
{
    bool has_trainers = false, has_workers = false;
    vec_each (const struct import_trial, it, &trials->list) {
        has_trainers |= params_get(&it->params, "trainers") != NULL;
        has_workers |= params_get(&it->params, "workers") != NULL;
    }
    if (has_trainers && has_workers) {
        *p->ret_fix = "use one of the two names";
        return err_set(p->err, EINVAL, "these logs have trainers and workers");
    }
    trials->count = has_workers ? "workers" : "trainers";
    return 0;
}

/* One log may be that of all trainers; else there is one for each. */
static int count_files(const struct parsing *p, const struct import_trials *trials,
                       struct import_trial *trial)
{
    const struct value n = {.is_int = true, .i = (int64_t)trial->files.len};
    const struct value *said = params_get(&trial->params, trials->count);
    if (said == NULL) {
        params_set(&trial->params, trials->count, &n);
    } else if (said->i < 1 || (n.i > 1 && n.i != said->i)) {
        *p->ret_fix = "give one file for each, or one for all";
        return err_set(p->err, EINVAL, "'%s': %" PRId64 " files, but %s=%" PRId64,
                       trial->files.items[0], n.i, trials->count, said->i);
    }
    return 0;
}

bool import_trial_is_single(const struct import_trials *trials, const struct import_trial *trial)
{
    const struct value *pservers = params_get(&trial->params, "pservers");
    return pservers != NULL && pservers->i == 0 &&
           params_get(&trial->params, trials->count)->i == 1;
}

static int check_servers(const struct parsing *p, const struct import_trials *trials,
                         const struct import_trial *trial)
{
    const struct value *pservers = params_get(&trial->params, "pservers");
    if (pservers != NULL && pservers->i == 0 && !import_trial_is_single(trials, trial)) {
        *p->ret_fix = "give it trainers=1, or leave out pservers where no log has servers";
        return err_set(p->err, EINVAL, "'%s': pservers=0 is the single-trainer baseline",
                       trial->files.items[0]);
    }
    return 0;
}

/* Points of one sweep have the same names. */
static int check_names(const struct parsing *p, const struct import_trials *trials)
{
    const struct import_trial *first = trials->list.items;
    vec_each (const struct import_trial, it, &trials->list) {
        const struct import_trial *more = it->params.list.len > first->params.list.len ? it : first;
        const struct import_trial *less = more == it ? first : it;
        vec_each (const struct param, param, &more->params.list) {
            if (params_get(&less->params, param->name) == NULL) {
                *p->ret_fix = "give every file the same names";
                return err_set(p->err, EINVAL, "'%s' has no value of %s, but '%s' has one",
                               less->files.items[0], param->name, more->files.items[0]);
            }
        }
    }
    return 0;
}

static int check_stdin(const struct parsing *p, const struct import_trials *trials)
{
    size_t n = 0;
    vec_each (const struct import_trial, it, &trials->list) {
        vec_each (char *const, file, &it->files) {
            n += str_eq(*file, IMPORT_STDIN);
        }
    }
    if (n > 1) {
        *p->ret_fix = "give the others as files";
        return err_set(p->err, EINVAL, "'-' stands for standard input, which can be read once");
    }
    return 0;
}

int import_trials_parse(const char *const *words, size_t n_words, const char *const *sets,
                        size_t n_sets, struct import_trials *ret, const char **ret_fix,
                        struct err *err)
{
    const struct parsing p = {ret_fix, err};
    struct import_trials trials = {0};
    int r = 0;
    for (size_t i = 0; i < n_words && r >= 0; i++) {
        struct import_trial *trial = vec_push(&trials.list);
        *trial = (struct import_trial){0};
        r = take_trial(&p, words[i], sets, n_sets, trial);
    }
    if (r >= 0) {
        r = find_count(&p, &trials);
    }
    for (size_t i = 0; i < trials.list.len && r >= 0; i++) {
        r = count_files(&p, &trials, &trials.list.items[i]);
        r = r < 0 ? r : check_servers(&p, &trials, &trials.list.items[i]);
    }
    if (r >= 0 && (r = check_names(&p, &trials)) >= 0) {
        r = check_stdin(&p, &trials);
    }
    if (r < 0) {
        import_trials_done(&trials);
        return r;
    }
    *ret = trials;
    return 0;
}
