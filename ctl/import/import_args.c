/* See import_args.h. */
#include "ctl/import/import_args.h"

#include <inttypes.h>
#include <string.h>

#include "base/mem.h"
#include "base/parse.h"
#include "base/str.h"
#include "base/vec_walk.h"
#include "core/link.h"
#include "ctl/cli/cli.h"
#include "spec/spec.h"
#include "spec/name.h"

static const char *const fix_form =
    "write [NAME=VALUE,..:]FILE[,FILE..], for example trainers=4,batch_size=32:run1.log";

void import_trials_done(struct import_trials *trials)
{
    vec_each (struct import_trial, it, &trials->list) {
        params_done(&it->params);
        vec_free(&it->files);
    }
    vec_done(&trials->list);
}

/* ---- NAME=VALUE ---- */

static enum exit_code check_value(const char *pair, const char *name, const struct value *v)
{
    const struct builtin *builtin = builtin_find(name);
    if (builtin == NULL) {
        return EXIT_OK; /* of a name of the user's own: any text */
    }
    struct link link;
    if (builtin->max == 0) {
        return !v->is_int && link_parse(v->s, &link) == 0
                   ? EXIT_OK
                   : cli_error(EXIT_USAGE, "write for example link=1gbit",
                               "'%s': '%s' is not a link", pair, name);
    }
    const int64_t min = str_eq(name, "pservers") ? 0 : builtin->min; /* 0: on a single node */
    if (!v->is_int || v->i < min || v->i > builtin->max) {
        return cli_error(EXIT_USAGE, fix_form,
                         "'%s': %s must be a whole number from %" PRId64 " to %" PRId64, pair, name,
                         min, builtin->max);
    }
    return EXIT_OK;
}

/* "NAME=VALUE" into the set, where the name is new. */
static enum exit_code take_pair(const char *pair, struct params *params)
{
    const char *equals = strchr(pair, '=');
    _cleanup_(freep) char *name = equals == NULL ? NULL : xstrndup(pair, (size_t)(equals - pair));
    if (name == NULL || !sweep_name_is_valid(name) || equals[1] == '\0') {
        return cli_error(EXIT_USAGE, fix_form, "'%s' is not NAME=VALUE", pair);
    }
    if (params_get(params, name) != NULL) {
        return cli_error(EXIT_USAGE, "give each name one value; --set is for all files",
                         "'%s': %s has a value already", pair, name);
    }
    struct value v = {.s = xstrdup(equals + 1)};
    v.is_int = parse_i64(v.s, &v.i) == 0;
    if (v.is_int) {
        free(v.s);
        v.s = NULL;
    }
    const enum exit_code code = check_value(pair, name, &v);
    if (code == EXIT_OK) {
        params_set(params, name, &v);
    }
    free(v.s);
    return code;
}

/* The length of "NAME=VALUE,..", which a colon ends; 0: the argument has none. A file name may have
 * an equals sign or a colon, but not both like this: "./a=b:c" is one. */
static size_t values_len(const char *word)
{
    const char *colon = strchr(word, ':'), *equals = strchr(word, '=');
    if (colon == NULL || equals == NULL || equals > colon) {
        return EXIT_OK;
    }
    _cleanup_(freep) char *name = xstrndup(word, (size_t)(equals - word));
    return sweep_name_is_valid(name) ? (size_t)(colon - word) : 0;
}

/* ---- an argument ---- */

/* "NAME=VALUE,..": its first `len` characters. */
static enum exit_code take_values(const char *text, size_t len, struct params *params)
{
    enum exit_code code = EXIT_OK;
    _cleanup_(freep) char *pairs = xstrndup(text, len);
    char *rest = pairs;
    for (const char *pair; code == EXIT_OK && (pair = strsep(&rest, ",")) != NULL;) {
        const bool is_after_last = rest == NULL && pair[0] == '\0'; /* a comma may end them */
        code = is_after_last ? code : take_pair(pair, params);
    }
    return code;
}

static enum exit_code take_files(const char *word, const char *text, struct import_trial *trial)
{
    _cleanup_(freep) char *files = xstrdup(text);
    char *rest = files;
    for (const char *file; (file = strsep(&rest, ",")) != NULL;) {
        if (file[0] == '\0') {
            return cli_error(EXIT_USAGE, fix_form, "'%s': a file has no name", word);
        }
        *vec_push(&trial->files) = xstrdup(file);
    }
    return EXIT_OK;
}

static enum exit_code take_trial(const char *word, const char *const *sets, size_t n_sets,
                                 struct import_trial *trial)
{
    enum exit_code code = EXIT_OK;
    for (size_t i = 0; i < n_sets && code == EXIT_OK; i++) {
        code = take_pair(sets[i], &trial->params);
    }
    const size_t len = values_len(word);
    code = code == EXIT_OK ? take_values(word, len, &trial->params) : code;
    return code == EXIT_OK ? take_files(word, len == 0 ? word : word + len + 1, trial) : code;
}

/* ---- all of them ---- */

/* Trainers or workers: one name for the run. */
static enum exit_code find_count(struct import_trials *trials)
{
    const bool has_workers = vec_any(&trials->list, it, params_get(&it->params, "workers") != NULL);
    if (has_workers && vec_any(&trials->list, it, params_get(&it->params, "trainers") != NULL)) {
        return cli_error(EXIT_USAGE, "use one of the two names",
                         "these logs have trainers and workers");
    }
    trials->count = has_workers ? "workers" : "trainers";
    return EXIT_OK;
}

/* One log may be that of all trainers; else there is one for each. */
static enum exit_code count_files(const struct import_trials *trials, struct import_trial *trial)
{
    const struct value n = {.is_int = true, .i = (int64_t)trial->files.len};
    const struct value *said = params_get(&trial->params, trials->count);
    if (said == NULL) {
        params_set(&trial->params, trials->count, &n);
    } else if (said->i < 1 || (n.i > 1 && n.i != said->i)) {
        return cli_error(EXIT_USAGE, "give one file for each, or one for all",
                         "'%s': %" PRId64 " files, but %s=%" PRId64, trial->files.items[0], n.i,
                         trials->count, said->i);
    }
    return EXIT_OK;
}

bool import_trial_is_single(const struct import_trials *trials, const struct import_trial *trial)
{
    const struct value *pservers = params_get(&trial->params, "pservers");
    return pservers != NULL && pservers->i == 0 &&
           params_get(&trial->params, trials->count)->i == 1;
}

static enum exit_code check_servers(const struct import_trials *trials,
                                    const struct import_trial *trial)
{
    const struct value *pservers = params_get(&trial->params, "pservers");
    if (pservers != NULL && pservers->i == 0 && !import_trial_is_single(trials, trial)) {
        return cli_error(EXIT_USAGE,
                         "give it trainers=1, or leave out pservers where no log has servers",
                         "'%s': pservers=0 is the single-trainer baseline", trial->files.items[0]);
    }
    return EXIT_OK;
}

/* Points of one sweep have the same names. */
static enum exit_code check_names(const struct import_trials *trials)
{
    const struct import_trial *first = trials->list.items;
    vec_each (const struct import_trial, it, &trials->list) {
        const struct import_trial *more = it->params.list.len > first->params.list.len ? it : first;
        const struct import_trial *less = more == it ? first : it;
        vec_each (const struct param, param, &more->params.list) {
            if (params_get(&less->params, param->name) == NULL) {
                return cli_error(EXIT_USAGE, "give every file the same names",
                                 "'%s' has no value of %s, but '%s' has one", less->files.items[0],
                                 param->name, more->files.items[0]);
            }
        }
    }
    return EXIT_OK;
}

static enum exit_code check_stdin(const struct import_trials *trials)
{
    size_t n = 0;
    vec_each (const struct import_trial, it, &trials->list) {
        n += vec_sum(&it->files, file, (size_t)str_eq(*file, IMPORT_STDIN));
    }
    return n <= 1 ? EXIT_OK
                  : cli_error(EXIT_USAGE, "give the others as files",
                              "'-' stands for standard input, which can be read once");
}

enum exit_code import_trials_parse(const char *const *words, size_t n_words,
                                   const char *const *sets, size_t n_sets,
                                   struct import_trials *ret)
{
    enum exit_code code = EXIT_OK;
    for (size_t i = 0; i < n_words && code == EXIT_OK; i++) {
        struct import_trial *trial = vec_push(&ret->list);
        *trial = (struct import_trial){0};
        code = take_trial(words[i], sets, n_sets, trial);
    }
    code = code == EXIT_OK ? find_count(ret) : code;
    for (size_t i = 0; i < ret->list.len && code == EXIT_OK; i++) {
        code = count_files(ret, &ret->list.items[i]);
        code = code == EXIT_OK ? check_servers(ret, &ret->list.items[i]) : code;
    }
    code = code == EXIT_OK ? check_names(ret) : code;
    return code == EXIT_OK ? check_stdin(ret) : code;
}
