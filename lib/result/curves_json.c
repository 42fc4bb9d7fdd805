/* See figure_json.h. Keys have the contract's order. */
#include "result/figure_json.h"

#include "core/json_field.h"

/* An end at infinity is null if none exists. */
static json_t *range_to_json(const struct scaling_range *x)
{
    return JSON_OBJECT_OF({"value", json_number_or_null(x->value)},
                          {"low", json_number_or_null(x->low)},
                          {"high", json_number_or_null(x->high)});
}

static json_t *fit_to_json(const struct scaling_fit *f)
{
    const bool is_fitted = f->gap == SCALING_FITTED;
    json_t *parameters = json_object();
    for (size_t i = 0; i < f->n_coefficients && is_fitted; i++) {
        json_object_set_new(parameters, f->parameters[i].name,
                            range_to_json(&f->parameters[i].range));
    }
    return JSON_OBJECT_OF({"model", json_string("USL")},
                          {"state", json_string(scaling_gap_names[f->gap])},
                          {"holds", json_boolean(scaling_fit_holds(f))}, {"parameters", parameters},
                          {"deviation", is_fitted ? json_real(f->deviation) : json_null()},
                          {"misfitP", is_fitted ? json_number_or_null(f->misfit_p) : json_null()});
}

static json_t *peak_to_json(const struct curve *c)
{
    return json_object_add(range_to_json(&c->peak.at),
                           JSON_MEMBERS({"within", json_boolean(c->peak.is_within)},
                                        {"limit", json_number_or_null(c->peak.limit)}));
}

static json_t *loss_to_json(const struct curve_loss *loss)
{
    const struct figure kept = {.estimate = loss->kept, .unit = "ratio", .scope = "replica"};
    return JSON_OBJECT_OR_NULL(
        loss->from != NULL, {"fromPoint", json_count(loss->from->point->index)},
        {"toPoint", json_count(loss->to->point->index)}, {"kept", figure_to_json(&kept)},
        {"phase", json_text_or_null(loss->has_phases ? loss->phase : NULL)},
        {"phaseNs", loss->has_phases ? json_real(loss->phase_ns) : json_null()},
        {"stepNs", loss->has_phases ? json_real(loss->step_ns) : json_null()});
}

json_t *curve_to_json(const struct result *r, const struct curve *c)
{
    const struct point *first = c->points.items[0]->point;
    const bool has_usl = scaling_fit_holds(&c->usl);
    json_t *parameters = json_object();
    vec_each (const char *const, name, &r->curves.names) {
        const struct value *v = params_get(&first->params, *name);
        json_object_set_new(parameters, *name, v == NULL ? json_null() : value_to_json(v));
    }
    return JSON_OBJECT_OF(
        {"system", json_string(r->def->spec->systems.items[first->system].name)},
        {"parameters", parameters},
        {"points", JSON_ARRAY_OF(vec_each (const struct point_result *const, p, &c->points),
                                 json_count((*p)->point->index))},
        {"single", c->single == NULL ? json_null() : json_count(c->single->point->index)},
        {"sizes", json_count(c->n_sizes)}, {"sizesFitted", json_count(c->n_trusted)},
        {"scaling", json_text_or_null(curve_scaling_names[c->scaling])},
        {"models", json_pack("[o]", fit_to_json(&c->usl))},
        {"peak", has_usl ? peak_to_json(c) : json_null()}, {"biggestLoss", loss_to_json(&c->loss)});
}
