/* See body_fixture.h. */
#include "tests/test.h"
#include "body_fixture.h"

#include "base/str.h"
#include "small_definition.h"

const struct replica_id trainer = {{0, 1, 2}, ROLE_TRAINER, 0};

struct run_def *make_run_of(struct spec *spec_take)
{
    return run_def_of(spec_take, &(struct run_def_params){.name = "sample-1", .uid = UID});
}

struct run_def *make_run(const char *from, const char *to)
{
    _cleanup_(freep) char *text = definition_with(from, to);
    return make_run_of(definition_load(text, NULL));
}

json_t *make_pod(const struct run_def *def, enum pod_naming naming)
{
    static char *pservers[] = {"p0t1a2-pserver-0.s:7164"};
    static char *trainers[] = {"p0t1a2-trainer-0.s:7164"};
    struct gang_addresses addresses = {
        .of_role =
            {[ROLE_PSERVER] = pservers, [ROLE_TRAINER] = naming == POD_BY_DNS ? trainers : NULL},
        .is_pods = true,
    };
    json_t *pod;
    struct err err = {0};
    if (pod_body(def, &trainer, &addresses, naming, &pod, &err) < 0) {
        fail_msg("%s", err.msg);
    }
    return pod;
}

/* What a path leads to; the caller's. */
static char *at(const json_t *value, const char *path)
{
    _cleanup_(freep) char *copy = xstrdup(path);
    char *save = NULL;
    for (char *key = strtok_r(copy, "/", &save); key != NULL; key = strtok_r(NULL, "/", &save)) {
        value = json_is_array(value) ? json_array_get(value, (size_t)(key[0] - '0'))
                                     : json_object_get(value, key);
    }
    if (json_is_string(value)) {
        return xstrdup(json_string_value(value));
    }
    char *text = value == NULL ? NULL : json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT);
    return text == NULL ? xstrdup("") : text;
}

void expect(const json_t *value, const char *path, const char *expected)
{
    _cleanup_(freep) char *got = at(value, path);
    if (!str_eq(got, expected)) {
        fail_msg("%s: expected '%s', got '%s'", path, expected, got);
    }
}

const char *env_of(const json_t *pod, const char *name)
{
    const json_t *containers = json_object_get(json_object_get(pod, "spec"), "containers");
    const json_t *list = json_object_get(json_array_get(containers, 0), "env");
    const char *found = NULL;
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *item = json_array_get(list, i);
        if (str_eq(json_string_value(json_object_get(item, "name")), name)) {
            assert_null(found); /* each name once */
            found = json_string_value(json_object_get(item, "value"));
        }
    }
    return found;
}

bool identify(const struct run_def *def, json_t *pod, struct replica_id *ret)
{
    _cleanup_(freep) struct pod_facts *facts = pod_facts_decode(pod);
    return pod_identify(def, facts, ret);
}
