/* Reading the systems of a definition, and what their profiles can do. See spec_internal.h. */

#include "base/mem.h"
#include "base/str.h"
#include "doc/openapi_check.h"
#include "spec/log_rule.h"
#include "spec/profile.h"
#include "spec/spec_internal.h"

/* benchd knows the shipped profiles. What others say benchctl fills in. */
static void refuse_unknown(struct reading *r, const struct place *item, const char *name)
{
    if (name != NULL && r->profiles == NULL && r->is_new && !str_eq(name, PROFILE_NATIVE) &&
        !profile_is_shipped(name) && tree_get(item->node, "rendezvous") == NULL &&
        tree_get(item->node, "job") == NULL) {
        reader_complain(r->diags, PLACE(item, "profile"),
                        "start the run with benchctl, which fills in the profile's variables, or "
                        "write 'rendezvous: [...]', [] for no variables",
                        "benchd has no profile '%s', so processes would not find each other", name);
    }
}

/* The profile's name; noted when there is no such profile. NULL: absent or wrong. */
static const char *read_profile(struct reading *r, const struct place *item)
{
    struct place place = place_get(item, "profile");
    if (r->profiles == NULL || !place_is_good(&place)) {
        const bool is_name = !place_is_good(&place) || schema_check_value(r->diags, &place);
        const char *name = is_name ? place_text(item, "profile") : NULL;
        refuse_unknown(r, item, name);
        return name;
    }
    VEC(const char *) names = {0};
    *vec_push(&names) = PROFILE_NATIVE;
    vec_each (struct profile *, it, &r->profiles->list) {
        *vec_push(&names) = (*it)->name;
    }
    const int known = schema_check_word(r->diags, &place, names.items, names.len);
    const char *name = known < 0 ? NULL : names.items[known];
    vec_done(&names);
    return name;
}

void spec_read_systems(struct reading *r)
{
    place_items (item, &r->at, "systems") {
        const char *name = place_text(&item, "name");
        const char *profile = read_profile(r, &item);
        if (name == NULL) {
            continue;
        }
        struct system *system = vec_push(&r->spec->systems);
        *system = (struct system){
            .name = xstrdup(name),
            .item = item.index,
            .profile = xstrdup(profile == NULL ? "" : profile), /* wrong: noted */
            .log = log_rule_of_system(r->diags, &item),
        };
        if (place_get(&item, "job").node == NULL) {
            system->launch = tree_to_json(item.node);
        }
        system->has_launcher = place_is_good(PLACE(PLACE(&item, "roles"), "launcher"));
        spec_read_job(r, &item, system);
        struct role_spec *launcher = &r->spec->roles[ROLE_LAUNCHER];
        launcher->present |= system->has_launcher;
        launcher->replicas.value = 1;
        rendezvous_read(r->diags, &item, &system->rendezvous);
    }
}

static void set_labels(struct spec *spec)
{
    const struct exchange_mode *first =
        spec->systems.len == 0 ? NULL : &spec->systems.items[0].exchange.mode;
    const bool differ = vec_any(&spec->systems, it, !exchange_mode_eq(&it->exchange.mode, first));
    vec_each (struct system, s, &spec->systems) {
        char mode[EXCHANGE_MODE_TEXT_MAX];
        exchange_mode_text(&s->exchange.mode, mode);
        s->label = differ && !exchange_mode_eq(&s->exchange.mode, &EXCHANGE_MODE_SYNC)
                       ? xasprintf("%s (%s)", s->name, mode)
                       : xstrdup(s->name);
    }
}

void spec_read_system_exchanges(struct reading *r)
{
    const struct exchange *workload = &r->spec->workload.exchange;
    const struct node *list = place_get(&r->at, "systems").node;
    r->is_exchange_wrong |= list == NULL || r->spec->systems.len < list->n_children; /* noted */
    vec_each (struct system, system, &r->spec->systems) {
        struct place item = place_item(PLACE(&r->at, "systems"), system->item);
        struct place own = place_get(&item, "exchange");
        if (own.node == NULL) {
            system->exchange = *workload;
            system->exchange.other = xstrdup_or_null(workload->other);
        } else {
            r->is_exchange_wrong |= !spec_read_exchange(
                r, &own, str_eq(system->profile, PROFILE_NATIVE), &system->exchange);
        }
        spec_check_exchange(r, &item, system);
    }
    set_labels(r->spec);
}

/* A list of flags where none is set does not restrict. */
static bool allows(const bool *flags, size_t n, size_t i)
{
    return !array_any(flags, n, it, *it) || (i < n && flags[i]);
}

static void check_system(struct reading *r, const struct place *place, const struct profile *p,
                         const struct exchange *exchange)
{
    const struct workload *w = &r->spec->workload;
    if (!allows(p->exchanges, EXCHANGE_COUNT, exchange->kind)) {
        bool is_alone = p->exchanges[EXCHANGE_NONE];
        reader_complain(r->diags, place,
                        is_alone ? "remove the system, or write exchange: {kind: None}"
                                 : "remove the system, or write exchange: {kind: PServer}",
                        "profile '%s' does not support exchange %s%s", p->name,
                        exchange_name(exchange, exchange->kind),
                        is_alone ? "; it trains on a single node only" : "");
    }
    if (!allows(p->datasets, DATASET_COUNT, w->dataset)) {
        reader_complain(r->diags, place, "remove the system, or choose another dataset",
                        "profile '%s' does not support dataset %s", p->name,
                        workload_dataset_name(w));
    }
    if (w->model != NULL && p->models.list.len > 0 &&
        !vec_any(&p->models.list, it, str_eq(*it, w->model))) {
        reader_complain(r->diags, place,
                        "choose another model, or for a program of your own a profile without "
                        "models, such as torchrun",
                        "profile '%s' does not support model '%s'", p->name, w->model);
    }
}

void spec_check_systems(struct reading *r)
{
    vec_each (const struct system, system, &r->spec->systems) {
        struct place item = place_item(PLACE(&r->at, "systems"), system->item);
        const struct place launcher = place_get(PLACE(&item, "roles"), "launcher");
        /* It speaks for the whole gang, which benchworker's trainers do for themselves. */
        if (launcher.node != NULL && str_eq(system->profile, PROFILE_NATIVE)) {
            reader_complain_key(r->diags, &launcher, "remove it",
                                "a system with profile " PROFILE_NATIVE " has no launcher");
        }
        const struct profile *profile = profiles_find(r->profiles, system->profile);
        if (profile != NULL) {
            check_system(r, PLACE(&item, "profile"), profile, &system->exchange);
        }
    }
}
