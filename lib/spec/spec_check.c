/* Rules between the fields of a definition. Each checks only what could be read, so that one
 * mistake is reported once. See spec_internal.h. */
#include "base/mem.h"
#include "base/str.h"
#include "doc/json_pointer.h"
#include "spec/profile.h"
#include "spec/spec_internal.h"

static bool has_unknown_name(const struct reading *r, const struct node *map)
{
    return map != NULL && map->kind == NODE_MAP &&
           array_any(map->children, map->n_children, it, !spec_is_known_name(r, (*it)->key));
}

/* If the sweep is missing or has an unknown name, any name may have been meant. */
static bool is_swept_in(const struct reading *r, const char *name)
{
    const struct node *names = spec_swept_names(r);
    return names == NULL || has_unknown_name(r, names) || tree_get(names, name) != NULL;
}

static bool counts_replicas(const char *name)
{
    const struct builtin *builtin = builtin_find(name);
    return builtin == NULL || builtin->counts >= 0;
}

static void check_from(struct reading *r, enum role role)
{
    const char *from = r->spec->roles[role].replicas.from;
    struct place replicas =
        place_get(PLACE(PLACE(&r->at, "roles"), role_to_string(role)), "replicas");
    struct place place = place_get(&replicas, "from");
    if (!counts_replicas(from)) {
        reader_complain(r->diags, &place, "write pservers, trainers or workers",
                        "'%s' is not a number of replicas", from);
        return;
    }
    if (is_swept_in(r, from)) {
        return;
    }
    static const char *const counts[] = {"pservers", "trainers", "workers"};
    const char *meant =
        spec_is_known_name(r, from) ? NULL : suggest_name(from, counts, COUNT_OF(counts));
    _cleanup_(freep) char *fix =
        meant != NULL
            ? xasprintf("did you mean '%s'?", meant)
            : xasprintf("add '%s: [1, 2]' to spec.sweep, or write replicas: {value: 1}", from);
    reader_complain(r->diags, &place, fix,
                    "'%s' is not swept, so the number of replicas is unknown", from);
}

/* May the role take its number of replicas from that name? Also true if the field is invalid, which
 * was reported. */
static bool may_take(struct reading *r, enum role role, const char *name)
{
    const struct place roles = place_get(&r->at, "roles"),
                       place = place_get(&roles, role_to_string(role)),
                       replicas = place_get(&place, "replicas");
    const char *from = tree_get_text(replicas.node, "from");
    return place.node != NULL && (place.node->has_wrong ||
                                  (from != NULL && (str_eq(from, name) || !counts_replicas(from) ||
                                                    !is_swept_in(r, from))));
}

/* What the exchanges of all systems need of a role: the most of it. Where no system could be read,
 * that of the workload. */
static enum exchange_need need_of(const struct reading *r, enum role role)
{
    enum exchange_need most = r->spec->systems.len > 0
                                  ? EXCHANGE_NEEDS_NONE
                                  : exchange_need(r->spec->workload.exchange.kind, role);
    vec_each (const struct system, s, &r->spec->systems) {
        const enum exchange_need need = exchange_need(s->exchange.kind, role);
        most = need > most ? need : most;
    }
    return most;
}

/* "PServer", "None and AllReduce": what the systems have. Owned. */
static char *exchanges_text(const struct reading *r)
{
    struct buf text = BUF_INIT;
    vec_each (const struct system, it, &r->spec->systems) {
        const char *name = exchange_name(&it->exchange, it->exchange.kind);
        const struct system *all = r->spec->systems.items;
        if (!array_any(all, (size_t)(it - all), s,
                       str_eq(exchange_name(&s->exchange, s->exchange.kind), name))) {
            buf_printf(&text, "%s%s", text.len == 0 ? "" : " and ", name);
        }
    }
    const struct exchange *workload = &r->spec->workload.exchange;
    if (text.len == 0) {
        buf_puts(&text, exchange_name(workload, workload->kind));
    }
    return buf_take(&text);
}

/* A count that no role uses would be a column without a meaning. */
static void check_counts_used(struct reading *r)
{
    for (size_t i = 0; i < BUILTIN_COUNT; i++) {
        const char *name = builtins[i].name;
        if (builtins[i].counts < 0 || tree_get(spec_swept_names(r), name) == NULL) {
            continue;
        }
        const enum role counted = (enum role)builtins[i].counts;
        bool is_forbidden = need_of(r, counted) == EXCHANGE_NEEDS_NONE;
        /* A required role that is missing was noted. */
        bool is_used =
            !r->spec->roles[counted].present && need_of(r, counted) == EXCHANGE_NEEDS_SOME;
        for (int role = 0; role < ROLE_COUNT; role++) {
            is_used |= may_take(r, (enum role)role, name);
        }
        if (!is_used) {
            const char *role = role_to_string(counted);
            _cleanup_(freep) char *exchanges = exchanges_text(r);
            _cleanup_(freep) char *fix =
                is_forbidden ? xasprintf("remove it; exchange %s uses no %s", exchanges, role)
                             : xasprintf("write roles.%s.replicas: {from: %s}", role, name);
            _cleanup_(freep) char *message =
                xasprintf("'%s' is swept, but no role uses it for its replicas", name);
            spec_complain_axis(r, name, fix, message);
        }
    }
}

/* Is it of a trainer where workers train, or the reverse? */
static bool is_misnamed(const struct reading *r, const struct place *roles, enum role role)
{
    const enum role other = role == ROLE_WORKER ? ROLE_TRAINER : ROLE_WORKER;
    return role != ROLE_PSERVER && need_of(r, role) == EXCHANGE_NEEDS_NONE &&
           tree_get(roles->node, role_to_string(role)) != NULL &&
           tree_get(roles->node, role_to_string(other)) == NULL;
}

static void check_superfluous(struct reading *r, const struct place *place, bool is_misnamed)
{
    const bool is_worker = str_eq(place->key, role_to_string(ROLE_WORKER));
    const char *kind = exchange_kind_names[is_worker ? EXCHANGE_ALL_REDUCE : EXCHANGE_PSERVER];
    _cleanup_(freep) char *exchanges = exchanges_text(r);
    _cleanup_(freep) char *other =
        xasprintf("rename it to '%s'", role_to_string(is_worker ? ROLE_TRAINER : ROLE_WORKER));
    _cleanup_(freep) char *fix = xasprintf("%s, or write exchange: {kind: %s}",
                                           is_misnamed ? other : "remove the role", kind);
    reader_complain_key(r->diags, place, fix,
                        "exchange %s uses no %s; roles.%s requires exchange %s", exchanges,
                        place->key, place->key, kind);
}

static void check_missing(struct reading *r, const struct place *place, enum role role)
{
    const struct system *system = vec_find(
        &r->spec->systems, it, exchange_need(it->exchange.kind, role) == EXCHANGE_NEEDS_SOME);
    const struct exchange *exchange =
        system != NULL ? &system->exchange : &r->spec->workload.exchange;
    _cleanup_(freep) char *fix =
        xasprintf("add '%s: {replicas: {from: %ss}}'", place->key, place->key);
    reader_complain(r->diags, place, fix, "exchange %s requires roles.%s",
                    exchange_name(exchange, exchange->kind), place->key);
}

/* The roles that the exchanges of all systems connect. One that is misnamed, or has a name that no
 * role has, is one mistake. */
static void check_needs(struct reading *r, const struct place *roles)
{
    const bool may_be_meant = is_misnamed(r, roles, ROLE_TRAINER) ||
                              is_misnamed(r, roles, ROLE_WORKER) ||
                              array_any(roles->node->children, roles->node->n_children, it,
                                        str_index((*it)->key, role_names, ROLE_COUNT) < 0);
    for (enum role role = 0; role < ROLE_LAUNCHER; role++) {
        const struct place place = place_get(roles, role_to_string(role));
        const enum exchange_need need = need_of(r, role);
        if (place.node != NULL && need == EXCHANGE_NEEDS_NONE) {
            check_superfluous(r, &place, is_misnamed(r, roles, role));
        } else if (place.node == NULL && need == EXCHANGE_NEEDS_SOME && !may_be_meant) {
            check_missing(r, &place, role);
        }
    }
    const struct place worker = place_get(roles, role_to_string(ROLE_WORKER));
    const struct system *other =
        vec_find(&r->spec->systems, it, it->exchange.kind == EXCHANGE_OTHER);
    if (other != NULL && (worker.node == NULL) == (tree_get(roles->node, "trainer") == NULL)) {
        reader_complain(r->diags, &worker,
                        "for example, write 'worker: {replicas: {from: workers}}'",
                        "exchange %s requires exactly one of roles.trainer and roles.worker",
                        other->exchange.other);
    }
}

static void check_roles(struct reading *r)
{
    const struct spec *spec = r->spec;
    struct place roles = place_get(&r->at, "roles");
    for (int role = 0; role < ROLE_COUNT; role++) {
        if (spec->roles[role].replicas.from != NULL) {
            check_from(r, (enum role)role);
        }
    }
    if (!r->is_exchange_wrong && roles.node != NULL && roles.node->kind == NODE_MAP) {
        check_needs(r, &roles);
        check_counts_used(r);
    }
}

/* The programs of benchworker and of profiles with a program train batches of this size. Others
 * have one of their own: while it is not known, their figures are steps/s, unless they print
 * samples/s. */
static bool needs_batch(const struct reading *r, const struct system *system)
{
    const struct profile *p = profiles_find(r->profiles, system->profile);
    return str_eq(system->profile, PROFILE_NATIVE) ||
           system_names(system, "$(BENCHD_BATCH_SIZE)") ||
           (p != NULL && array_any(p->commands, ROLE_COUNT, it, it->list.len > 0));
}

/* Fields that need a log rule in each system. */
static void check_logs(struct reading *r)
{
    const struct spec *spec = r->spec;
    const struct system *system = vec_find(&spec->systems, it, it->log == NULL);
    struct place workload = place_get(&r->at, "workload");
    const struct place scope = place_get(&workload, "batchScope");
    const bool is_shared = spec->workload.batch_scope == BATCH_OF_JOB;
    if (system != NULL && (is_shared || spec->ends_after_steps)) {
        reader_complain(r->diags, is_shared ? &scope : PLACE(PLACE(&r->at, "measure"), "until"),
                        "remove the line, or add 'log' to the system",
                        "system '%s' has no log rule: it writes records, which count its own steps "
                        "and samples",
                        system->name);
    } else if (is_shared && spec->workload.batch_size == 0 && !is_swept_in(r, "batch_size")) {
        reader_complain(r->diags, &scope, "add 'batchSize: 64', or sweep batch_size",
                        "the batch of the job is unknown");
    }
}

static void check_batch_size(struct reading *r)
{
    struct place workload = place_get(&r->at, "workload");
    struct place place = place_get(&workload, "batchSize");
    const struct system *system = vec_find(&r->spec->systems, it, needs_batch(r, it));
    if (workload.node != NULL && place.node == NULL && !is_swept_in(r, "batch_size") &&
        system != NULL && !spec_is_imported(r->spec)) { /* a log may not say it */
        reader_complain(
            r->diags, &place, "add 'batchSize: 64', or sweep batch_size",
            "system '%s' needs a batch size: required field 'batchSize' is missing, and "
            "batch_size is not swept",
            system->name);
    }
}

static void check_swept(struct reading *r, const struct place *where)
{
    if (where->node == NULL || where->node->kind != NODE_MAP) {
        return;
    }
    place_each (child, where) {
        bool is_known = spec_is_known_name(r, child.key); /* else it was noted when it was read */
        if (is_known && !is_swept_in(r, child.key)) {
            _cleanup_(freep) char *fix =
                xasprintf("use a swept parameter, or add '%s' to the sweep", child.key);
            reader_complain_key(r->diags, &child, fix, "'%s' is not swept", child.key);
        }
    }
}

static void check_wheres(struct reading *r)
{
    check_swept(r, PLACE(PLACE(&r->at, "baseline"), "where"));
    place_items (item, &r->at, "thresholds") {
        check_swept(r, PLACE(&item, "where"));
    }
    place_items (exclude, PLACE(&r->at, "sweep"), "exclude") {
        check_swept(r, &exclude);
    }
}

/* Tries a path on a copy of the template, so that a bad path fails now and not in a run. */
static bool can_set(const struct role_spec *role, const char *path, struct err *err)
{
    json_auto_t *template = json_deep_copy(role->template);
    return template == NULL || json_pointer_set_new(template, path, json_integer(0), err) == 0;
}

static void check_target(struct reading *r, const struct place *place)
{
    const struct node *own = tree_get(r->at.node, "roles");
    const bool is_known = own != NULL && !own->has_wrong && own->n_children > 0; /* else noted */
    bool roles[ROLE_COUNT] = {0};
    place_flags(place, "roles", role_names, ROLE_COUNT, roles);
    for (int role = 0; role < ROLE_COUNT; role++) {
        const struct role_spec *spec = &r->spec->roles[role];
        const char *name = role_to_string((enum role)role);
        if (roles[role] && !spec->present && is_known) {
            _cleanup_(freep) char *fix = xasprintf(
                "write roles that the definition has, such as [%s]", own->children[0]->key);
            reader_complain(r->diags, PLACE(place, "roles"), fix, "roles.%s does not exist", name);
        }
        place_items (path, place, "paths") {
            struct err err;
            if (roles[role] && place_is_good(&path) && !can_set(spec, path.node->s, &err)) {
                reader_complain(r->diags, &path, "use a path that the template has",
                                "the template of %s has no such path: %s", name, err.msg);
                return; /* the other role's is most likely the same */
            }
        }
    }
}

static void check_targets(struct reading *r)
{
    place_items (parameter, &r->at, "parameters") {
        place_items (target, &parameter, "targets") {
            check_target(r, &target);
        }
    }
}

void spec_check(struct reading *r)
{
    check_roles(r);
    spec_check_systems(r);
    spec_check_launches(r);
    check_batch_size(r);
    check_logs(r);
    spec_check_compute(r);
    spec_check_modes(r);
    check_wheres(r);
    check_targets(r);
}
