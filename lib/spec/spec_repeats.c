/* Reading how often each point is measured: repeats, with its rule to stop early; and a confidence,
 * which thresholds have too. See spec_internal.h. */
#include "base/mem.h"
#include "spec/spec_internal.h"
#include "spec/stop_rule.h"

#define REPEATS_MAX 1000

bool spec_read_confidence(struct diags *diags, const struct place *map, const char *fix)
{
    const struct place place = place_get(map, "confidence");
    double level = 0;
    if (!read_number(diags, &place, 0, 1, &level)) {
        return false;
    }
    if (level < THRESHOLD_CONFIDENCE || level > THRESHOLD_CONFIDENCE) {
        reader_complain(diags, &place, fix, "intervals are made for a confidence of 0.95 only");
    }
    return true;
}

static void read_stop_rule(struct reading *r, const struct place *place)
{
    if (!read_map(r->diags, place, FIELDS("*relativeHalfWidth", "confidence"))) {
        return;
    }
    struct stop_rule *rule = &r->spec->stop;
    struct place width = place_get(place, "relativeHalfWidth");
    if (read_number(r->diags, &width, 0, 1, &rule->half_width_ratio)) {
        rule->is_set = rule->half_width_ratio > 0;
        if (!rule->is_set) {
            reader_complain(r->diags, &width, "for example, write 0.02 for 2%",
                            "no number of trials makes an interval without a width");
        }
    }
    (void)spec_read_confidence(r->diags, place,
                               "write 0.95, or remove it"); /* there is one level */
}

/* Both or none of max and stopWhen; and the first stage must give an interval. */
static void check_range(struct reading *r, const struct place *repeats)
{
    struct spec *spec = r->spec;
    struct place min = place_get(repeats, "min");
    struct place max = place_get(repeats, "max");
    struct place stop = place_get(repeats, "stopWhen");
    if (max.node == NULL && stop.node == NULL) {
        return;
    }
    if (stop.node == NULL) {
        reader_complain_key(r->diags, &max,
                            "add 'stopWhen: {relativeHalfWidth: 0.02}', or remove max",
                            "max without stopWhen: nothing says when a point may stop earlier");
    } else if (max.node == NULL) {
        reader_complain_key(r->diags, &stop, "for example, add 'max: 10' to repeats",
                            "stopWhen without max: nothing says when to give up");
    } else if (spec->min_repeats > spec->repeats) {
        _cleanup_(freep) char *fix =
            min.node == NULL ? xasprintf("add 'min: %d', or raise max", STOP_RULE_MIN_TRIALS)
                             : xasprintf("swap them, or raise max");
        reader_complain(r->diags, min.node == NULL ? &max : &min, fix,
                        "min (%lld%s) is above max (%lld)", (long long)spec->min_repeats,
                        min.node == NULL ? ", the default" : "", (long long)spec->repeats);
    } else if (spec->min_repeats < STOP_RULE_MIN_TRIALS && spec->min_repeats < spec->repeats) {
        reader_complain(r->diags, &min, "write 3 or more",
                        "stopWhen needs the interval of the first min trials, and %lld have none",
                        (long long)spec->min_repeats);
    }
}

void spec_read_repeats(struct reading *r)
{
    struct spec *spec = r->spec;
    struct place repeats = place_get(&r->at, "repeats");
    const bool is_map =
        read_map(r->diags, &repeats, FIELDS("min", "max", "stopWhen", "order")); /* noted */
    spec->min_repeats = read_int_or(r->diags, &repeats, "min", 1, REPEATS_MAX, REPEATS_DEFAULT);
    spec->repeats = read_int_or(r->diags, &repeats, "max", 1, REPEATS_MAX, spec->min_repeats);
    spec->order = read_enum_or(r->diags, &repeats, "order", order_kind_names, ORDER_INTERLEAVED);
    if (is_map) {
        struct place stop = place_get(&repeats, "stopWhen");
        read_stop_rule(r, &stop);
        check_range(r, &repeats);
    }
    /* As many at least as at most: nothing can stop. So `--repeats` means what it says. */
    spec->stop.is_set = spec->stop.is_set && spec->min_repeats < spec->repeats;
}
