/* See prose.h. */
#include "report/prose.h"

#include <math.h>

#include "base/str.h"
#include "base/vec_walk.h"
#include "core/environment.h"
#include "result/number.h"
#include "spec/profile.h"

#define MAX_COMMAND_WORDS 6

/* ---- what a system is ---- */

/* The part of an absolute path after its last folder: "train.py" of "/srv/train.py",
 * "data/" of "/srv/data/". */
static const char *without_folders(const char *word)
{
    const char *base = word;
    for (const char *at = word; word[0] == '/' && *at != '\0'; at++) {
        if (*at == '/' && at[1] != '/' && at[1] != '\0') {
            base = at + 1;
        }
    }
    return base;
}

/* "mpirun python train.py": files without their folders. */
static void put_command(const struct command *command, struct buf *out)
{
    for (size_t i = 0; i < command->words.len && i < MAX_COMMAND_WORDS; i++) {
        const char *word = command->words.items[i];
        buf_printf(out, "%s%s", i == 0 ? "" : " ", without_folders(word));
    }
    buf_puts(out, command->words.len > MAX_COMMAND_WORDS ? " ..." : "");
}

/* The first measured point of the system that exchanges something, else its
 * first; NULL: it has none. */
static const struct point_result *point_of(const struct result *r, uint32_t system)
{
    const struct point_result *found = NULL;
    result_each_swept (p, r) {
        if (p->point->system == system &&
            (found == NULL || (found->n_succeeded == 0 && p->n_succeeded > 0))) {
            found = p;
        }
    }
    return found;
}

/* Of the replicas of this point and of all of its system; nothing where they differ, or where one
 * is the default for a command that may never read it. */
static void put_threads(const struct result *r, const struct point *first, struct buf *out)
{
    const struct launch *all = &r->def->spec->systems.items[first->system].all_roles;
    if (all->command.words.len > 0 && first->threads == 1) {
        return;
    }
    if (swept_any(r, p, p->point->system == first->system && p->point->threads != first->threads)) {
        return;
    }
    const long long n = (long long)first->threads;
    buf_printf(out, "; %lld thread%s a %s", n, plural(n),
               role_to_string(point_training_role(first)));
}

/* How many replicas of the system's succeeded trials have this entry, or NO_HARDWARE. */
static size_t count_replicas(const struct result *r, uint32_t system, size_t hardware)
{
    const struct hardware *h = hardware == NO_HARDWARE ? &r->silent : &r->hardware.items[hardware];
    return system < h->of_system.len ? h->of_system.items[system] : 0;
}

/* "; PyTorch 2.15.0", as its replicas said. */
static void put_builds(const struct result *r, uint32_t system, struct buf *out)
{
    for (size_t i = 0; i < r->hardware.len; i++) {
        if (r->hardware.items[i].build != NULL && count_replicas(r, system, i) > 0) {
            buf_printf(out, "; %s", r->hardware.items[i].build);
        }
    }
}

/* "; fp32 in this run", as its first replica that says a precision said it; the description has all
 * that the program could. */
static void put_precision(const struct point_result *p, struct buf *out)
{
    point_each_replica (it, p) {
        json_auto_t *environment = environment_parse(it->row->environment_json);
        const char *precision = environment_text(environment, "precision");
        if (precision != NULL) {
            buf_printf(out, "; %s in this run", precision);
            return;
        }
    }
}

/* "; loss 2.375 in the first measured step of a trial, 2.250 in its last", of the first replica
 * that says it: whoever compares systems sees that all of them compute one. */
static void put_loss(const struct point_result *p, struct buf *out)
{
    point_each_replica (it, p) {
        const struct summary *s = &it->summary;
        if (it->has_summary && isfinite(s->loss_first) && isfinite(s->loss_last)) {
            buf_puts(out, "; loss ");
            number_format(s->loss_first, out);
            buf_puts(out, " in the first measured step of a trial, ");
            number_format(s->loss_last, out);
            buf_puts(out, " in its last");
            return;
        }
    }
}

static void put_exchange(const struct spec *spec, const struct point *point, struct buf *out)
{
    char suffix[EXCHANGE_SUFFIX_MAX];
    exchange_suffix(&spec->systems.items[point->system].exchange, suffix);
    if (point->exchange == EXCHANGE_NONE) {
        buf_puts(out, "; no exchange of gradients");
        return;
    }
    buf_printf(out, "; gradients by %s%s",
               point->exchange == EXCHANGE_PSERVER      ? "parameter servers"
               : point->exchange == EXCHANGE_ALL_REDUCE ? "all-reduce among workers"
                                                        : point_exchange_name(spec, point),
               suffix);
}

/* What of the definition says which program a system runs, and in which environment. Owned. */
static json_t *program_of(const struct spec *spec, const struct system *system, bool with_env)
{
    static const char *const others[] = {"name", "log", "exchange", "rendezvous", "job"};
    json_t *list = json_object_get(json_object_get(spec->definition, "spec"), "systems");
    json_t *program = json_deep_copy(json_array_get(list, system->item)), *role;
    const char *key;
    for (size_t i = 0; i < COUNT_OF(others); i++) {
        (void)json_object_del(program, others[i]); /* it may be missing, as env */
    }
    (void)(with_env ? 0 : json_object_del(program, "env"));
    json_object_foreach (json_object_get(program, "roles"), key, role) {
        (void)(with_env ? 0 : json_object_del(role, "env"));
    }
    return program;
}

static bool is_same_program(const struct spec *spec, const struct system *a, const struct system *b,
                            bool with_env)
{
    json_auto_t *x = program_of(spec, a, with_env), *y = program_of(spec, b, with_env);
    return json_equal(x, y) != 0;
}

/* The first system before this one that runs the same program; NULL: none does. A patch may name
 * another image or command. */
static const struct system *same_program(const struct spec *spec, const struct system *system)
{
    return array_find(spec->systems.items, system->patches.len > 0 ? 0 : system->item, it,
                      is_same_program(spec, it, system, false));
}

void prose_systems_put(const struct layout *l, uint32_t at, struct buf *out)
{
    const struct result *r = l->result;
    const struct system *system = &r->def->spec->systems.items[at];
    const struct system *twin = same_program(r->def->spec, system);
    const char *description = profile_describe(system->profile);
    if (twin != NULL) {
        buf_printf(out, "the same program as %s%s", twin->name,
                   is_same_program(r->def->spec, twin, system, true)
                       ? ""
                       : ", with other environment variables");
    } else if (description != NULL) {
        buf_puts(out, description);
    } else {
        buf_printf(out, "the profile %s", system->profile);
    }
    if (twin == NULL && system->all_roles.command.words.len > 0) {
        buf_puts(out, "; command: ");
        put_command(&system->all_roles.command, out);
    }
    if (twin == NULL && system->all_roles.image != NULL) {
        buf_printf(out, "; image %s", system->all_roles.image);
    }
    const struct point_result *p = point_of(r, at);
    if (p != NULL) {
        put_exchange(r->def->spec, p->point, out);
        put_threads(r, p->point, out);
    }
    put_builds(r, at, out);
    if (p != NULL) {
        put_precision(p, out);
        put_loss(p, out);
    }
}

/* ---- where systems ran ---- */

size_t prose_systems_put_users(const struct layout *l, size_t hardware, struct buf *out)
{
    const struct result *r = l->result;
    size_t n = 0;
    const char *separator = "";
    for (size_t i = 0; i < r->def->spec->systems.len; i++) {
        const size_t n_own = count_replicas(r, (uint32_t)i, hardware);
        if (n_own > 0) {
            buf_printf(out, "%s%s", separator, r->def->spec->systems.items[i].name);
            separator = ", ";
        }
        n += n_own;
    }
    return n;
}

/* ---- what belongs to one machine ---- */

static bool is_local_file(const char *word)
{
    static const char *const everywhere[] = {"/bin/", "/usr/", "/sbin/", "/lib/", "/dev/"};
    return word[0] == '/' && word[1] != '\0' &&
           !array_any(everywhere, COUNT_OF(everywhere), it, str_has_prefix(word, *it));
}

void prose_systems_put_local(const struct spec *spec, struct buf *out)
{
    const char *separator = "";
    vec_each (const struct system, system, &spec->systems) {
        const struct launch *launch = &system->all_roles;
        /* In a container, a path is one of its image. */
        if (launch->image == NULL && (vec_any(&launch->command.words, w, is_local_file(*w)) ||
                                      vec_any(&launch->args.words, w, is_local_file(*w)))) {
            buf_printf(out, "%s%s", separator, system->name);
            separator = ", ";
        }
    }
}
