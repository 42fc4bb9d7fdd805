/* The arguments of `benchctl import LOG...`: which logs belong to which trial of which point. */
#include <inttypes.h>
#include <string.h>

#include "base/parse.h"
#include "base/str.h"
#include "core/link.h"
#include "ctl/import/import.h"
#include "spec/name.h"
#include "spec/spec.h"

#define FIX_FORM                                                                                   \
    "write [NAME=VALUE,..:]FILE[,FILE..], for example trainers=4,batch_size=32:run1.log"

void import_trial_done(struct import_trial *trial)
{
    params_done(&trial->params);
    attempt_row_done(&trial->row);
    vec_each (struct import_log *, l, &trial->logs) {
        import_log_free(*l);
    }
    vec_done(&trial->logs);
}

void import_done(struct import *im)
{
    vec_done_each(&im->trials, import_trial_done);
    json_decref(im->rule_json);
    log_rule_free(im->rule);
    run_def_free(im->def);
}

int64_t import_count(const struct import *im, const struct import_trial *trial)
{
    return params_get(&trial->params, im->count)->i;
}

bool import_is_single(const struct import_trial *trial)
{
    const struct value *pservers = params_get(&trial->params, "pservers");
    return pservers != NULL && pservers->i == 0;
}

/* ---- an argument ---- */

/* A name of the user's own has any text as its value. */
static enum exit_code check_value(const char *pair, const char *name, const struct value *v)
{
    const struct builtin *builtin = builtin_find(name);
    struct link link;
    if (builtin == NULL || (builtin->max == 0 && !v->is_int && link_parse(v->s, &link) == 0)) {
        return EXIT_OK;
    }
    if (builtin->max == 0) {
        return cli_error(EXIT_USAGE, "write for example link=1gbit", "'%s' is not a link", pair);
    }
    const int64_t min = str_eq(name, "pservers") ? 0 : builtin->min; /* 0 is a single node */
    return v->is_int && v->i >= min && v->i <= builtin->max
               ? EXIT_OK
               : cli_error(EXIT_USAGE, FIX_FORM,
                           "'%s': %s must be a whole number from %" PRId64 " to %" PRId64, pair,
                           name, min, builtin->max);
}

/* "NAME=VALUE" into the set, where the name is new. */
static enum exit_code take_pair(const char *pair, struct params *params)
{
    const char *equals = strchr(pair, '=');
    _cleanup_(freep) char *name = equals == NULL ? NULL : xstrndup(pair, (size_t)(equals - pair));
    if (name == NULL || !sweep_name_is_valid(name) || equals[1] == '\0') {
        return cli_error(EXIT_USAGE, FIX_FORM, "'%s' is not NAME=VALUE", pair);
    }
    if (params_get(params, name) != NULL) {
        return cli_error(EXIT_USAGE, "give each name one value", "'%s': %s has a value already",
                         pair, name);
    }
    struct value v = {0};
    v.is_int = parse_i64(equals + 1, &v.i) == 0;
    v.s = v.is_int ? NULL : (char *)equals + 1; /* params_set copies it */
    const enum exit_code code = check_value(pair, name, &v);
    if (code == EXIT_OK) {
        params_set(params, name, &v);
    }
    return code;
}

/* The length of "NAME=VALUE,..", which a colon ends; 0 if the argument has none. A file name may
 * have an equals sign or a colon, but not both like this: "./a=b:c" is one. */
static size_t values_len(const char *word)
{
    const char *colon = strchr(word, ':'), *equals = strchr(word, '=');
    if (colon == NULL || equals == NULL || equals > colon) {
        return 0;
    }
    _cleanup_(freep) char *name = xstrndup(word, (size_t)(equals - word));
    return sweep_name_is_valid(name) ? (size_t)(colon - word) : 0;
}

static enum exit_code take_trial(const char *word, struct import_trial *trial)
{
    enum exit_code code = EXIT_OK;
    const size_t len = values_len(word);
    _cleanup_(freep) char *text = xstrdup(word);
    char *values = len == 0 ? NULL : text, *files = len == 0 ? text : text + len + 1;
    text[len] = len == 0 ? text[0] : '\0';
    for (const char *pair; code == EXIT_OK && (pair = strsep(&values, ",")) != NULL;) {
        code = take_pair(pair, &trial->params);
    }
    for (const char *file; code == EXIT_OK && (file = strsep(&files, ",")) != NULL;) {
        if (file[0] == '\0') {
            return cli_error(EXIT_USAGE, FIX_FORM, "'%s': a file has no name", word);
        }
        *vec_push(&trial->logs) = import_log_new(file);
    }
    return code;
}

/* ---- all of them ---- */

/* One log may be that of all trainers; else there is one for each. */
static enum exit_code check_count(const struct import *im, struct import_trial *trial)
{
    const struct value n = {.is_int = true, .i = (int64_t)trial->logs.len};
    const struct value *said = params_get(&trial->params, im->count);
    const char *path = trial->logs.items[0]->path;
    if (said == NULL) {
        params_set(&trial->params, im->count, &n);
    } else if (n.i > 1 && n.i != said->i) {
        return cli_error(EXIT_USAGE, "give one file for each, or one for all",
                         "'%s': %" PRId64 " files, but %s=%" PRId64, path, n.i, im->count, said->i);
    }
    return !import_is_single(trial) || import_count(im, trial) == 1
               ? EXIT_OK
               : cli_error(EXIT_USAGE,
                           "give it trainers=1, or leave out pservers where no log has servers",
                           "'%s': pservers=0 is the single-trainer baseline", path);
}

/* Points of one sweep have the same names. */
static enum exit_code check_names(const struct import_trial *a, const struct import_trial *b)
{
    const bool b_has_more = b->params.list.len > a->params.list.len;
    const struct import_trial *more = b_has_more ? b : a, *less = b_has_more ? a : b;
    const struct param *missing =
        vec_find(&more->params.list, it, params_get(&less->params, it->name) == NULL);
    return missing == NULL
               ? EXIT_OK
               : cli_error(EXIT_USAGE, "give every file the same names",
                           "'%s' has no value of %s, but '%s' has one", less->logs.items[0]->path,
                           missing->name, more->logs.items[0]->path);
}

enum exit_code import_take_trials(struct import *im)
{
    enum exit_code code = EXIT_OK;
    bool has_workers = false, has_trainers = false;
    for (size_t i = 0; i < im->cli->args.n_words && code == EXIT_OK; i++) {
        struct import_trial *trial = vec_push(&im->trials);
        *trial = (struct import_trial){0};
        code = take_trial(im->cli->args.words[i], trial);
        has_workers |= params_get(&trial->params, "workers") != NULL;
        has_trainers |= params_get(&trial->params, "trainers") != NULL;
    }
    if (code == EXIT_OK && has_workers && has_trainers) {
        return cli_error(EXIT_USAGE, "use one of the two names",
                         "these logs have trainers and workers");
    }
    im->count = has_workers ? "workers" : "trainers";
    for (size_t i = 0; i < im->trials.len && code == EXIT_OK; i++) {
        code = check_count(im, &im->trials.items[i]);
        code = code == EXIT_OK ? check_names(im->trials.items, &im->trials.items[i]) : code;
    }
    return code;
}
