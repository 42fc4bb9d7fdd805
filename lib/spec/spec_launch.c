/* What a system has of its own: image, command, args, env, patches, and the same for single roles.
 * It stays JSON; here is what only shows when everything is read. See spec_internal.h. */

#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "core/json_field.h"
#include "spec/profile.h"
#include "spec/spec_internal.h"
#include "spec/system_template.h"

/* Of docs/contracts/environment.md, without BENCHD_ in front. */
static const char *const variables[] = {
    "RUN",           "POINT",         "TRIAL",        "ATTEMPT",        "ROLE",
    "INDEX",         "PSERVERS",      "TRAINERS",     "WORKERS",        "LISTEN",
    "MODEL",         "DATA",          "THREADS",      "SEED",           "EXCHANGE",
    "MODE",          "TRANSPORT",     "WIRE",         "STEPS",          "COMPUTE",
    "BATCH_SIZE",    "TRACE",         "JITTER",       "WARMUP_STEPS",   "ARENA_FD",
    "SECRET_FD",     "SECRET_FILE",   "SSH_KEY_FILE", "SUMMARY_FILE",   "RENDEZVOUS_S",
    "PSERVER_ADDRS", "TRAINER_ADDRS", "WORKER_ADDRS", "LAUNCHER_ADDRS", "PEER_TIMEOUT_S",
    "SERVER_THREADS"};

/* The variable that was meant; NULL: the name is that of one, or is nothing like one, as in a
 * command of a shell. */
static const char *meant_variable(const char *name)
{
    const bool is_ours = str_has_prefix(name, "BENCHD_");
    const char *rest = name + (is_ours ? strlen("BENCHD_") : 0);
    const char *same = array_find_item(variables, COUNT_OF(variables), it, str_eq(it, rest)),
               *longer = array_find_item(variables, COUNT_OF(variables), it,
                                         strlen(rest) > 2 && str_has_prefix(it, rest));
    if (is_ours && (same != NULL || str_has_prefix(rest, "PARAM_"))) {
        return NULL;
    }
    return same != NULL     ? same
           : longer != NULL ? longer
           : is_ours        ? str_suggest(rest, variables, COUNT_OF(variables))
                            : NULL;
}

/* $(NAME) in the words of a command, which would reach the program as it is. */
static void check_variables(struct reading *r, const struct place *item,
                            const struct system *system, const json_t *container, const char *field)
{
    const json_t *env = json_object_get(container, "env");
    struct place place = place_get(item, field);
    size_t i;
    json_t *word;
    json_array_foreach (json_object_get(container, field), i, word) {
        const char *at = json_string_value(word);
        while (at != NULL && (at = strstr(at, "$(")) != NULL) {
            const size_t len = strspn(at + 2, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789");
            _cleanup_(freep) char *name = xstrndup(at + 2, len);
            const bool is_escaped = at != json_string_value(word) && at[-1] == '$';
            const bool is_known = fact_find(env, "name", name) != NULL ||
                                  vec_any(&system->rendezvous.vars, it, str_eq(it->name, name));
            const char *meant =
                at[2 + len] != ')' || is_escaped || is_known ? NULL : meant_variable(name);
            if (meant != NULL) {
                _cleanup_(freep) char *fix = xasprintf("write $(BENCHD_%s)", meant);
                reader_complain(r->diags, place.node == NULL ? item : &place, fix,
                                "there is no variable $(%s): the program would get these letters",
                                name);
                return;
            }
            at += 2;
        }
    }
}

/* The template of that role with the system's own on top; what cannot be, or must not be, is noted
 * at the patch or the role. */
static void check_template(struct reading *r, const struct place *item, const struct system *system,
                           enum role role)
{
    struct place patches = place_get(item, "patches");
    struct err err;
    json_auto_t *template = NULL;
    if (system_template(r->spec, system, role, &template, &err) < 0) {
        reader_complain(r->diags, &patches, "use paths that the template has",
                        "the template of %s has no such path: %s", role_to_string(role), err.msg);
        return;
    }
    check_variables(r, item, system, template_container(template), "command");
    check_variables(r, item, system, template_container(template), "args");
    struct template_problem problem;
    const bool is_own =
        json_object_get(system->launch, "patches") != NULL || r->spec->roles[role].template == NULL;
    if (is_own && template_rules_check(template, &problem) < 0) {
        reader_complain(r->diags, &patches, problem.fix, "template of %s: %s: %s",
                        role_to_string(role), problem.path, problem.message);
    }
}

static bool has_command(const struct reading *r, const struct system *system,
                        const struct profile *profile, enum role role)
{
    json_auto_t *template = NULL;
    /* What is wrong with the template was noted. */
    return profile->commands[role].list.len > 0 ||
           system_template(r->spec, system, role, &template, NULL) < 0 ||
           template_has_command(template);
}

static void check_commands(struct reading *r, const struct place *item, const struct system *system)
{
    const struct profile *profile = profiles_find(r->profiles, system->profile);
    const struct node *command = tree_get(item->node, "command");
    if (command != NULL && (command->kind != NODE_SEQ || command->has_wrong)) {
        return; /* that was noted */
    }
    for (enum role role = 0; profile != NULL && role < ROLE_COUNT; role++) {
        if (spec_system_has_role(r->spec, system, role) && !has_command(r, system, profile, role)) {
            reader_complain(r->diags, item, "for example, add 'command: [python3, train.py]'",
                            "system '%s' has no command for role %s", system->name,
                            role_to_string(role));
            return; /* the other roles' is most likely missing for the same reason */
        }
    }
}

static void check_launch(struct reading *r, const struct place *item, const struct system *system)
{
    struct place roles = place_get(item, "roles");
    size_t n_before = r->diags->list.len;
    for (enum role role = 0; role < ROLE_COUNT; role++) {
        struct place own = place_get(&roles, role_to_string(role));
        if (own.node != NULL && !r->spec->roles[role].present) {
            reader_complain_key(r->diags, &own, "remove it, or add the role to spec.roles",
                                "spec.roles.%s does not exist", role_to_string(role));
        } else if (own.node != NULL && !spec_system_has_role(r->spec, system, role)) {
            const struct exchange *exchange = &system->exchange;
            reader_complain_key(r->diags, &own, "remove it", "exchange %s uses no %s",
                                exchange_name(exchange, exchange->kind), role_to_string(role));
        } else if (spec_system_has_role(r->spec, system, role) && r->diags->list.len == n_before) {
            check_template(r, item, system, role);
        }
    }
    check_commands(r, item, system);
}

void spec_check_launches(struct reading *r)
{
    vec_each (const struct system, system, &r->spec->systems) {
        struct place item = place_item(PLACE(&r->at, "systems"), system->item);
        if (system->job != NULL) {
            spec_check_job(r, &item, system);
        } else {
            check_launch(r, &item, system);
        }
    }
}
