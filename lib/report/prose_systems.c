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

/* "mpirun python train.py" */
static void put_command(const struct command *command, struct buf *out)
{
    for (size_t i = 0; i < command->words.len && i < MAX_COMMAND_WORDS; i++) {
        buf_printf(out, "%s%s", i == 0 ? "" : " ", command->words.items[i]);
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

static void put_exchange(const struct spec *spec, const struct point *point, struct buf *out)
{
    char suffix[EXCHANGE_SUFFIX_MAX];
    exchange_suffix(&spec->systems.items[point->system].exchange, suffix);
    if (system_is_copies(&spec->systems.items[point->system])) {
        buf_puts(out, "; several workers are independent copies, which exchange nothing");
        return;
    }
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

void prose_systems_put(const struct layout *l, uint32_t at, struct buf *out)
{
    const struct result *r = l->result;
    const struct system *system = &r->def->spec->systems.items[at];
    const char *description = profile_describe(system->profile);
    if (description != NULL) {
        buf_puts(out, description);
    } else {
        buf_printf(out, "the profile %s", system->profile);
    }
    if (system->all_roles.command.words.len > 0) {
        buf_puts(out, "; command: ");
        put_command(&system->all_roles.command, out);
    }
    if (system->all_roles.image != NULL) {
        buf_printf(out, "; image %s", system->all_roles.image);
    }
    const struct point_result *p = point_of(r, at);
    if (p != NULL) {
        put_exchange(r->def->spec, p->point, out);
        put_precision(p, out);
    }
}
