/* Templates and environments of replicas, see replica_spec.h. The order of the environment is that
 * of docs/contracts/environment.md. */
#include "pod/replica_spec.h"

#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/parse.h"
#include "base/str.h"
#include "base/texts.h"
#include "core/address_list.h"
#include "core/json_field.h"
#include "doc/json_pointer.h"
#include "spec/job_template.h"
#include "spec/profile.h"
#include "spec/system_template.h"

#define RESERVED_PREFIX "BENCHD_"

/* "--model" takes the value as the next word, "--model=" joins it. */
static void add_option(json_t *template, const char *option, const struct value *value)
{
    _cleanup_(buf_done) struct buf text = BUF_INIT;
    value_format(value, &text);
    _cleanup_(freep) char *word = expand_escape(buf_cstr(&text));
    json_t *container = template_container(template);
    json_t *args = json_object_get(container, "args");
    if (!json_is_array(args)) {
        args = json_array();
        (void)json_object_set_new(container, "args", args); /* fails without memory only */
    }
    if (option[0] != '\0' && option[strlen(option) - 1] == '=') {
        _cleanup_(freep) char *joined = xasprintf("%s%s", option, word);
        (void)json_array_append_new(args, json_string(joined)); /* as above */
    } else {
        (void)json_array_append_new(args, json_string(option)); /* as above */
        (void)json_array_append_new(args, json_string(word));   /* as above */
    }
}

static int apply_parameter(json_t *template, const struct parameter *parameter, enum role role,
                           const struct value *value, struct err *err)
{
    const json_t *target, *item;
    size_t i, k;
    json_array_foreach (parameter->targets, i, target) {
        if (!is_for_role(target, role)) {
            continue;
        }
        json_array_foreach (json_object_get(target, "args"), k, item) {
            add_option(template, json_string_value(item), value);
        }
        json_array_foreach (json_object_get(target, "paths"), k, item) {
            const int r =
                json_pointer_set_new(template, json_string_value(item), value_to_json(value), err);
            if (r < 0) {
                return err_wrap(err, r, "template of %s: parameter '%s'", role_to_string(role),
                                parameter->name);
            }
        }
    }
    return 0;
}

int replica_template_render(const struct run_def *def, const struct point *point, enum role role,
                            json_t **ret, struct err *err)
{
    const struct system *system = &def->spec->systems.items[point->system];
    json_auto_t *template = NULL;
    int r;
    if (system->job != NULL) {
        r = job_point_template(def->spec, point, role, &template, err);
        if (r == 0) { /* without one: a single container, of which nothing is known */
            *ret = take_ptr(template) ?: json_pack("{s{s[{}]}}", "spec", "containers");
        }
        return r;
    }
    r = system_template(def->spec, system, role, &template, err);
    if (r < 0) {
        return err_wrap(err, r, "system '%s': template of %s", system->name, role_to_string(role));
    }
    vec_each (const struct param, it, &point->params.list) {
        const struct parameter *parameter = spec_find_parameter(def->spec, it->name);
        r = parameter == NULL ? 0 : apply_parameter(template, parameter, role, &it->value, err);
        if (r < 0) {
            return r;
        }
    }
    *ret = take_ptr(template);
    return 0;
}

static int add_words(struct texts *words, const json_t *container, const char *key, struct err *err)
{
    const json_t *list = json_object_get(container, key);
    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *word = json_string_value(json_array_get(list, i));
        if (word == NULL) {
            return err_set(err, EINVAL, "%s[%zu] of container 0 is not a string", key, i);
        }
        *vec_push(&words->list) = xstrdup(word);
    }
    return 0;
}

/* A pod without a command runs that of its image. */
static int add_profile_command(struct texts *words, const struct system *system, enum role role,
                               bool is_pod, struct err *err)
{
    if (str_eq(system->profile, PROFILE_NATIVE)) {
        *vec_push(&words->list) = xstrdup("benchworker");
        *vec_push(&words->list) = xstrdup(role_to_string(role));
        return 0;
    }
    vec_each (char *const, word, &system->commands[role].list) {
        *vec_push(&words->list) = xstrdup(*word);
    }
    if (words->list.len == 0 && !is_pod && system->job == NULL) {
        return err_set(err, EINVAL, "system '%s': profile '%s' has no command for role %s",
                       system->name, system->profile, role_to_string(role));
    }
    return 0;
}

/* Container 0's command, or the profile's own, then container 0's arguments. */
static int build_argv(const json_t *container, const struct system *system, enum role role,
                      bool is_pod, char ***ret, struct err *err)
{
    _cleanup_(texts_done) struct texts words = {0};
    int r = add_words(&words, container, "command", err);
    if (r == 0 && words.list.len == 0) {
        r = add_profile_command(&words, system, role, is_pod, err);
    }
    r = r < 0 ? r : add_words(&words, container, "args", err);
    if (r == 0) {
        *vec_push(&words.list) = NULL;
        *ret = words.list.items;
        words = (struct texts){0};
    }
    return r;
}

struct env {
    VEC(struct replica_var) list;
};

/* A value of benchd's own, which nothing in it may change. */
static void env_set(struct env *env, const char *name, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
static void env_set(struct env *env, const char *name, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    *vec_push(&env->list) = (struct replica_var){xstrdup(name), xvasprintf(fmt, ap), false};
    va_end(ap);
}

static void env_done(struct env *env)
{
    vec_each (struct replica_var, it, &env->list) {
        free(it->name);
        free(it->value);
    }
    vec_done(&env->list);
}

/* Plain entries only: valueFrom needs a cluster. The contract's names are not the template's. */
static int expand_template_env(struct texts *env, const json_t *container, struct err *err)
{
    const json_t *list = json_object_get(container, "env");
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *item = json_array_get(list, i);
        const char *name = json_string_value(json_object_get(item, "name"));
        const json_t *value = json_object_get(item, "value");
        if (name == NULL || (value != NULL && !json_is_string(value))) {
            return err_set(err, EINVAL, "env[%zu] of container 0 needs a name and a string value",
                           i);
        }
        bool is_plain = json_object_get(item, "valueFrom") == NULL;
        if (is_plain && !str_has_prefix(name, RESERVED_PREFIX)) {
            _cleanup_(freep) char *text =
                expand(value == NULL ? "" : json_string_value(value), env);
            expand_env_set(env, name, text);
        }
    }
    return 0;
}

static void add_identity(struct env *env, const struct run_def *def, const struct point *point,
                         const struct replica_id *id)
{
    env_set(env, "BENCHD_RUN", "%s", def->name);
    env_set(env, "BENCHD_POINT", "%u", id->attempt.point);
    env_set(env, "BENCHD_TRIAL", "%u", id->attempt.trial);
    env_set(env, "BENCHD_ATTEMPT", "%u", id->attempt.number);
    env_set(env, "BENCHD_ROLE", "%s", role_to_string(id->role));
    env_set(env, "BENCHD_INDEX", "%u", id->index);
    env_set(env, "BENCHD_PSERVERS", "%u", point->replicas[ROLE_PSERVER]);
    env_set(env, "BENCHD_TRAINERS", "%u", point->replicas[ROLE_TRAINER]);
    env_set(env, "BENCHD_WORKERS", "%u", point->replicas[ROLE_WORKER]);
}

/* Which programs get a pattern (core/address_list.h): benchworker, which reads it, unless the list
 * is short, because an older build reads lists; others where a list is long. A kernel takes no
 * string of more than 128 KiB, and lists in the pods of a gang grow with its square. */
static bool has_pattern(bool is_native, uint32_t n, const struct buf *list)
{
    return is_native ? n > ADDRESS_LIST_NATIVE_MAX : list->len > ADDRESS_LIST_MAX_BYTES;
}

static void add_addresses(struct env *env, const struct point *point, const struct replica_id *id,
                          const struct gang_addresses *addresses, bool is_native)
{
    static const char *const names[ROLE_COUNT] = {
        [ROLE_PSERVER] = "BENCHD_PSERVER_ADDRS",
        [ROLE_TRAINER] = "BENCHD_TRAINER_ADDRS",
        [ROLE_WORKER] = "BENCHD_WORKER_ADDRS",
        [ROLE_LAUNCHER] = "BENCHD_LAUNCHER_ADDRS",
    };
    for (int role = 0; role < ROLE_COUNT; role++) {
        if (addresses->of_role[role] == NULL || point->replicas[role] == 0) {
            continue;
        }
        _cleanup_(buf_done) struct buf list = BUF_INIT;
        const uint32_t n = point->replicas[role];
        address_list_write(addresses->of_role[role], n, &list);
        if (has_pattern(is_native, n, &list)) {
            buf_clear(&list);
            address_list_write_pattern(addresses->of_role[role], n, &list);
        }
        env_set(env, names[role], "%s", buf_cstr(&list));
    }
    bool is_known = addresses->of_role[id->role] != NULL && !addresses->is_pods;
    if (is_known) {
        env_set(env, "BENCHD_LISTEN", "%s", addresses->of_role[id->role][id->index]);
    } else {
        env_set(env, "BENCHD_LISTEN", "[::]:%d", POD_PORT);
    }
}

static void add_workload(struct env *env, const struct spec *spec, const struct point *point)
{
    static const char *const schemes[DATASET_COUNT] = {
        [DATASET_SYNTHETIC] = "synthetic", [DATASET_CIFAR10] = "cifar10", [DATASET_IDX] = "idx"};
    const struct workload *w = &spec->workload;
    env_set(env, "BENCHD_MODEL", "%s", w->model);
    env_set(env, "BENCHD_DATA", "%s%s%s",
            w->dataset == DATASET_OTHER ? w->dataset_other : schemes[w->dataset],
            w->dataset_path != NULL ? ":" : "", w->dataset_path != NULL ? w->dataset_path : "");
    if (point->batch_size > 0) {
        env_set(env, "BENCHD_BATCH_SIZE", "%lld", (long long)point->batch_size);
    }
    env_set(env, "BENCHD_THREADS", "%lld", (long long)point->threads);
    env_set(env, "BENCHD_SEED", "%llu", (unsigned long long)w->seed);
    env_set(env, "BENCHD_EXCHANGE", "%s", point_exchange_name(spec, point));
    const struct exchange exchange = point_exchange(spec, point);
    if (exchange.wire != EXCHANGE_WIRE_FP32) { /* pods of other runs stay as they are */
        env_set(env, "BENCHD_WIRE", "%s", exchange_wire_names[exchange.wire]);
    }
    if (point->server_threads > 0) {
        env_set(env, "BENCHD_SERVER_THREADS", "%u", point->server_threads);
    }
    if (!exchange_mode_eq(&exchange.mode, &EXCHANGE_MODE_SYNC)) {
        char text[EXCHANGE_MODE_TEXT_MAX];
        exchange_mode_text(&exchange.mode, text);
        env_set(env, "BENCHD_MODE", "%s", text);
    }
    if (exchange.transport != EXCHANGE_TRANSPORT_AUTO) { /* the same */
        env_set(env, "BENCHD_TRANSPORT", "%s", exchange_transport_names[exchange.transport]);
    }
    env_set(env, "BENCHD_WARMUP_STEPS", "%lld", (long long)spec->warmup_steps);
    env_set(env, "BENCHD_STEPS", "%lld", (long long)spec->steps);
}

/* Only of trainers and workers, and only where they do not compute: pods of other
 * runs stay as they are. */
static void add_emulation(struct env *env, const struct workload *w, enum role role)
{
    if (w->compute == COMPUTE_EMULATED && (role == ROLE_TRAINER || role == ROLE_WORKER)) {
        _cleanup_(freep) char *trace = trace_text(&w->trace);
        env_set(env, "BENCHD_COMPUTE", "%s", compute_names[w->compute]);
        env_set(env, "BENCHD_TRACE", "%s", trace);
        env_set(env, "BENCHD_JITTER", "%.17g", w->trace.jitter_ratio);
    }
}

static void add_params(struct env *env, const struct point *point)
{
    vec_each (const struct param, it, &point->params.list) {
        _cleanup_(freep) char *capitals = text_capitals(it->name);
        _cleanup_(freep) char *name = xasprintf("BENCHD_PARAM_%s", capitals);
        _cleanup_(buf_done) struct buf value = BUF_INIT;
        value_format(&it->value, &value);
        env_set(env, name, "%s", buf_cstr(&value));
    }
}

/* A request, as text or number; without one the limit, as Kubernetes takes it. Neither: 0. */
static int read_request(const json_t *container, const char *key,
                        int (*parse)(const char *, int64_t *), int64_t *ret, struct err *err)
{
    const json_t *resources = json_object_get(container, "resources");
    const char *kind = "requests";
    const json_t *value = json_object_get(json_object_get(resources, kind), key);
    *ret = 0;
    if (value == NULL) {
        kind = "limits";
        value = json_object_get(json_object_get(resources, kind), key);
    }
    if (value == NULL) {
        return 0;
    }
    _cleanup_(freep) char *text = json_is_string(value) ? xstrdup(json_string_value(value))
                                                        : json_dumps(value, JSON_ENCODE_ANY);
    if (text == NULL || parse(text, ret) < 0) {
        return err_set(err, EINVAL,
                       "container 0: resources.%s.%s: '%s' is not a Kubernetes quantity", kind, key,
                       text == NULL ? "?" : text);
    }
    return 0;
}

static void add_launch_env(struct env *env, const json_t *launch)
{
    const json_t *item;
    size_t i;
    json_array_foreach (json_object_get(launch, "env"), i, item) {
        *vec_push(&env->list) = (struct replica_var){
            xstrdup(fact_text(item, "name")), xstrdup(fact_text(item, "value")), .expands = true};
    }
}

/* Variables that a parameter targets. */
static void add_param_env(struct env *env, const struct spec *spec, const struct point *point,
                          enum role role)
{
    const json_t *target, *name;
    size_t i, k;
    vec_each (const struct param, it, &point->params.list) {
        const struct parameter *parameter = spec_find_parameter(spec, it->name);
        _cleanup_(buf_done) struct buf value = BUF_INIT;
        value_format(&it->value, &value);
        json_array_foreach (parameter == NULL ? NULL : parameter->targets, i, target) {
            json_array_foreach (json_object_get(target, "env"), k, name) {
                if (is_for_role(target, role)) {
                    env_set(env, json_string_value(name), "%s", buf_cstr(&value));
                }
            }
        }
    }
}

static struct rendezvous_member rendezvous_member(const struct run_def *def,
                                                  const struct point *point,
                                                  const struct replica_id *id,
                                                  const struct gang_addresses *addresses,
                                                  const struct env *env)
{
    struct rendezvous_member member = {.role = id->role,
                                       .index = id->index,
                                       .run = def->name,
                                       .replicas = point->replicas,
                                       .of_role = (char *const *const *)addresses->of_role,
                                       .listen = ""};
    vec_each (const struct replica_var, it, &env->list) {
        if (str_eq(it->name, "BENCHD_LISTEN")) {
            member.listen = it->value;
        }
    }
    return member;
}

static void add_rendezvous(struct env *env, const struct run_def *def, const struct point *point,
                           const struct replica_id *id, const struct gang_addresses *addresses)
{
    const struct system *system = &def->spec->systems.items[point->system];
    const struct rendezvous_member member = rendezvous_member(def, point, id, addresses, env);
    vec_each (const struct rendezvous_var, it, &system->rendezvous.vars) {
        if (rendezvous_applies(it, &member)) {
            _cleanup_(freep) char *value = rendezvous_value(it, &member);
            env_set(env, it->name, "%s", value);
        }
    }
}

const char *const pipe_sharers[] = {"mpirun", "mpiexec", "horovodrun", "nproc", NULL};

/* Python holds back up to 8 KiB of what it prints to a pipe, and a program that prints a line a
 * second would show nothing for minutes. Other programs do not read the variable. A value of the
 * definition counts. */
static void add_unbuffered(struct env *env, const struct system *system, const json_t *container)
{
    static const char name[] = UNBUFFERED;
    if (system->has_launcher ||
        array_any(pipe_sharers, COUNT_OF(pipe_sharers) - 1, it, system_names(system, *it))) {
        return;
    }
    const json_t *list = json_object_get(container, "env");
    bool is_set = vec_any(&env->list, it, str_eq(it->name, name));
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *own = json_object_get(json_array_get(list, i), "name");
        is_set = is_set || str_eq(json_string_value(own), name);
    }
    if (!is_set) {
        env_set(env, name, "1");
    }
}

/* What benchd and the definition add to the template's environment, in the order of
 * docs/contracts/environment.md. */
static struct env own_env(const struct run_def *def, const struct point *point,
                          const struct replica_id *id, const struct gang_addresses *addresses,
                          bool is_native)
{
    const struct system *system = &def->spec->systems.items[point->system];
    struct env env = {0};
    add_identity(&env, def, point, id);
    add_addresses(&env, point, id, addresses, is_native);
    add_workload(&env, def->spec, point);
    add_emulation(&env, &def->spec->workload, id->role);
    add_params(&env, point);
    add_rendezvous(&env, def, point, id, addresses);
    add_launch_env(&env, system->launch);
    add_launch_env(&env, system_launch(system, id->role));
    add_param_env(&env, def->spec, point, id->role);
    return env;
}

/* The environment as a process gets it: each value with the variables before it, the last of a name
 * counts. */
static int expand_all(const struct env *own, const json_t *container, struct texts *ret,
                      struct err *err)
{
    const int r = expand_template_env(ret, container, err);
    if (r < 0) {
        return r;
    }
    vec_each (const struct replica_var, it, &own->list) {
        _cleanup_(freep) char *text = it->expands ? expand(it->value, ret) : xstrdup(it->value);
        expand_env_set(ret, it->name, text);
    }
    return 0;
}

/* The kernel starts no program with a longer "NAME=value". */
static int check_sizes(const struct texts *env, struct err *err)
{
    vec_each (char *const, it, &env->list) {
        const size_t len = strlen(*it);
        if (len > REPLICA_VAR_MAX_BYTES) {
            return err_set(
                err, EINVAL,
                "variable %.*s has %zu bytes and may have %zu with its name; measure fewer "
                "replicas, or write a rendezvous without a list of addresses",
                (int)strcspn(*it, "="), *it, len, REPLICA_VAR_MAX_BYTES);
        }
    }
    return 0;
}

static char **expand_words(char *const *words, const struct texts *env)
{
    struct texts expanded = {0};
    for (; *words != NULL; words++) {
        *vec_push(&expanded.list) = expand(*words, env);
    }
    *vec_push(&expanded.list) = NULL;
    return expanded.list.items;
}

static int build_process(const struct run_def *def, const struct point *point,
                         const struct gang_addresses *addresses, const json_t *container,
                         struct replica_spec *spec, struct err *err)
{
    const struct system *system = &def->spec->systems.items[point->system];
    int r = build_argv(container, system, spec->id.role, addresses->is_pods, &spec->words, err);
    if (r < 0) {
        return r;
    }
    const bool is_native = str_eq(system->profile, PROFILE_NATIVE) &&
                           json_array_size(json_object_get(container, "command")) == 0;
    struct env own = own_env(def, point, &spec->id, addresses, is_native);
    if (!is_native) {
        add_unbuffered(&own, system, container);
    }
    spec->env = own.list.items;
    spec->n_env = own.list.len;
    _cleanup_(texts_done) struct texts env = {0};
    r = expand_all(&own, container, &env, err);
    r = r < 0 ? r : check_sizes(&env, err);
    if (r < 0) {
        return r;
    }
    spec->argv = expand_words(spec->words, &env);
    *vec_push(&env.list) = NULL;
    spec->envp = env.list.items;
    env = (struct texts){0};
    return 0;
}

int replica_spec_build(const struct run_def *def, const struct replica_id *id,
                       const struct gang_addresses *addresses, struct replica_spec *ret,
                       struct err *err)
{
    const struct point *point = &def->matrix.points[id->attempt.point];
    json_auto_t *template = NULL;
    int r = replica_template_render(def, point, id->role, &template, err);
    if (r < 0) {
        return r;
    }
    const json_t *container = template_container(template);
    struct replica_spec spec = {.id = *id, .log = log_rule_params(def, id)};
    r = build_process(def, point, addresses, container, &spec, err);
    r = r < 0 ? r : read_request(container, "cpu", parse_cpu_millicores, &spec.cpu_millicores, err);
    r = r < 0 ? r : read_request(container, "memory", parse_mem_bytes, &spec.mem_bytes, err);
    if (r < 0) {
        replica_spec_done(&spec);
        return err_wrap(err, r, "template of %s", role_to_string(id->role));
    }
    *ret = spec;
    return 0;
}

void replica_spec_done(struct replica_spec *spec)
{
    str_list_free(spec->words);
    str_list_free(spec->argv);
    str_list_free(spec->envp);
    struct env env = {.list = {.items = spec->env, .len = spec->n_env}};
    env_done(&env);
    *spec = (struct replica_spec){0};
}

/* ---- $(NAME) ---- */

/* The entry of that name, and where in it the value begins; NULL: not set. */
static char **find(const struct texts *env, const char *name, size_t len)
{
    return vec_find(&env->list, it, strncmp(*it, name, len) == 0 && (*it)[len] == '=');
}

void expand_env_set(struct texts *env, const char *name, const char *value)
{
    char **old = find(env, name, strlen(name));
    if (old == NULL) {
        old = vec_push(&env->list);
    } else {
        free(*old);
    }
    *old = xasprintf("%s=%s", name, value);
}

/* What follows a dollar: a second one, a reference, or anything else. Returns its end. */
static const char *put_reference(const char *at, const struct texts *env, struct buf *out)
{
    const char *end = *at == '(' ? strchr(at, ')') : NULL;
    if (*at == '$') {
        buf_putc(out, '$');
        return at + 1;
    }
    if (end == NULL) {
        buf_putc(out, '$');
        return at; /* an unfinished reference, or a dollar before something else */
    }
    const size_t len = (size_t)(end - at) - 1;
    char **entry = find(env, at + 1, len);
    if (entry == NULL) {
        buf_printf(out, "$(%.*s)", (int)len, at + 1);
    } else {
        buf_puts(out, *entry + len + 1);
    }
    return end + 1;
}

/* With `env` references are replaced, without it they are escaped. */
static char *rewrite(const char *text, const struct texts *env)
{
    struct buf out = BUF_INIT;
    while (*text != '\0') {
        const size_t plain = strcspn(text, "$");
        buf_append(&out, text, plain);
        text += plain;
        if (*text == '$' && env != NULL) {
            text = put_reference(text + 1, env, &out);
        } else if (*text == '$') {
            buf_puts(&out, text[1] == '(' || text[1] == '$' ? "$$" : "$");
            text++;
        }
    }
    return out.data == NULL ? xstrdup("") : buf_take(&out);
}

char *expand(const char *text, const struct texts *env)
{
    return rewrite(text, env);
}

char *expand_escape(const char *text)
{
    return rewrite(text, NULL);
}
