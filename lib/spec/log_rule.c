/* See log_rule.h. */
#include "spec/log_rule.h"

#include "base/mem.h"
#include "base/str.h"
#include "logparse/shipped_rules.h"

static struct log_rule *find_shipped(struct diags *d, const struct place *place, const char *name)
{
    struct log_rule *rule = log_shipped_load(name);
    if (rule == NULL) {
        _cleanup_(freep) char *fix = embedded_fix(log_shipped, log_shipped_count, name,
                                                  "write a rule, {lines: [...]}, or one of ");
        reader_complain(d, place, fix, "no log rule '%s' ships", name);
    }
    return rule;
}

struct log_rule *log_rule_of_system(struct diags *diags, const struct place *system)
{
    struct place place = place_get(system, "log");
    if (place.node == NULL) {
        return NULL;
    }
    if (place.node->kind == NODE_STRING) {
        return find_shipped(diags, &place, place.node->s);
    }
    if (place.node->kind != NODE_MAP) {
        reader_complain(diags, &place, "write the name of a rule, or {lines: [...]}",
                        "must be a name or a map, not %s", node_kind_to_string(place.node->kind));
        return NULL;
    }
    return log_rule_read(diags, &place);
}

bool log_rule_is_unnamed(const struct log_rule *rule)
{
    return rule != NULL && str_eq(rule->name, LOG_RULE_UNNAMED);
}

bool log_rule_counts_warmup(const struct log_rule *rule)
{
    return rule != NULL &&
           vec_all(&rule->lines, line,
                   line->kind != LOG_KIND_STEP || (line->skip.kind == LOG_SKIP_DEFAULT &&
                                                   !log_pattern_has(line->pattern, LOG_STEP)));
}

struct log_parser_params log_rule_params(const struct run_def *def, const struct replica_id *id)
{
    if (id->attempt.point >= def->matrix.n_points) {
        return (struct log_parser_params){0}; /* a pod of somebody else may have any number */
    }
    const struct point *point = &def->matrix.points[id->attempt.point];
    return (struct log_parser_params){
        .rule = def->spec->systems.items[point->system].log,
        .role = id->role,
        .batch_size = point->worker_batch,
        .warmup_steps = def->spec->warmup_steps,
        .end_steps = def->spec->ends_after_steps ? def->spec->steps : 0,
        .trainers = point->replicas[point_training_role(point)],
    };
}
