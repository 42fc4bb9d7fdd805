/* Finds, lists, loads, deletes and cancels the runs and benchmarks of the namespace. See
 * cluster_internal.h. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "ctl/cluster/cluster_internal.h"
#include "ctl/runs/object.h"
#include "kube/json.h"

/* The index of the object that was created last; -1 if none exists. */
static int find_newest(const json_t *items)
{
    int newest = -1;
    size_t i;
    const json_t *object;
    json_array_foreach (items, i, object) {
        if (newest < 0 || object_created_unix_ms(object) >
                              object_created_unix_ms(json_array_get(items, (size_t)newest))) {
            newest = (int)i;
        }
    }
    return newest;
}

/* RUN by the end of its name or as the latest, among the objects. */
static enum exit_code find_in_list(struct cluster *c, const char *what, const struct err *not_found,
                                   json_t **ret)
{
    json_auto_t *list = NULL;
    struct err err = {0};
    int r = cluster_get_list(c, &kube_benchmark_runs, c->ns, &list, &err);
    if (r < 0) {
        return cluster_error(r, &err);
    }
    const json_t *items = json_object_get(list, "items");
    const size_t n = json_array_size(items);
    _cleanup_(freep) const char **names = xnew_array(const char *, n + 1);
    for (size_t i = 0; i < n; i++) {
        names[i] = kube_json_metadata(json_array_get(items, i), "name");
    }
    enum exit_code code;
    const struct run_names among = {names, n, find_newest(items), not_found->msg, c->backend.where};
    const int found = run_word_find(c->backend.cli, what, &among, &code);
    if (found >= 0) {
        *ret = json_incref(json_array_get(items, (size_t)found));
    }
    return code;
}

/* The CRDs are not installed, so a list would fail, too. */
static bool is_missing_kind(const struct cluster_answer *a)
{
    return a->r == -ENOENT && !a->is_status;
}

/* By its full name. *ret_answer is the caller's. */
static int get_object(struct cluster *c, const char *name, struct cluster_answer *ret_answer,
                      json_t **ret)
{
    struct kube_request req;
    kube_request_get(&kube_benchmark_runs, c->ns, name, &req);
    int r = cluster_call(c, c->client, &req, ret_answer);
    return r < 0 ? r
                 : kube_json_load(buf_cstr(&ret_answer->body), ret_answer->body.len, ret,
                                  &ret_answer->err);
}

/* The result of get_object; without an object of that name, a run whose name ends with it. */
static enum exit_code check_object(struct cluster *c, const char *name, int r,
                                   const struct cluster_answer *a, json_t **ret)
{
    if (r == -ENOENT && !is_missing_kind(a)) {
        struct err err = {0};
        (void)err_set(&err, ENOENT, "there is no run '%s' in namespace '%s'", name, c->ns);
        return find_in_list(c, name, &err, ret);
    }
    return r < 0 ? cluster_error(r, &a->err) : EXIT_OK;
}

enum exit_code cluster_find_object(struct cluster *c, const char *what, json_t **ret)
{
    _cleanup_(cluster_answer_done) struct cluster_answer a = {0};
    const char *name = run_word_name(what);
    const int r = get_object(c, name, &a, ret);
    return check_object(c, name, r, &a, ret);
}

static int by_age(const void *a, const void *b)
{
    const struct run_row *x = &((const struct listed *)a)->row;
    const struct run_row *y = &((const struct listed *)b)->row;
    const int newer =
        (y->created_unix_ms > x->created_unix_ms) - (y->created_unix_ms < x->created_unix_ms);
    return newer != 0 ? newer : strcmp(x->name, y->name);
}

static int add(struct listing *list, const json_t *object, const struct list_wanted *wanted,
               struct err *err)
{
    struct listed l = {0};
    if (wanted->is_benchmarks) {
        l.object = object_plain_benchmark(object);
        l.row.name = xstrdup(kube_json_metadata(object, "name"));
        l.row.created_unix_ms = object_created_unix_ms(object);
    } else {
        const int r = object_read_row(object, &l.row, err);
        if (r < 0) {
            return r;
        }
    }
    *vec_push(&list->items) = l;
    return 0;
}

static enum exit_code find_wanted(struct cluster *c, const struct list_wanted *wanted,
                                  const char *name, json_t **ret)
{
    struct err err = {0};
    if (!wanted->is_benchmarks) {
        return cluster_find_object(c, name, ret);
    }
    const int r = cluster_get_object(c, &kube_benchmarks, name, ret, &err);
    return r < 0 ? cluster_error(r, &err) : EXIT_OK;
}

enum exit_code cluster_list(struct backend *b, const struct list_wanted *wanted,
                            struct listing *ret)
{
    struct cluster *c = (struct cluster *)b;
    struct err err = {0};
    int r = 0;
    for (size_t i = 0; i < wanted->n_names && r >= 0; i++) {
        json_auto_t *object = NULL;
        const enum exit_code code = find_wanted(c, wanted, wanted->names[i], &object);
        if (code != EXIT_OK) {
            return code;
        }
        r = add(ret, object, wanted, &err);
    }
    json_auto_t *list = NULL;
    if (wanted->n_names == 0) {
        r = cluster_get_list(c, wanted->is_benchmarks ? &kube_benchmarks : &kube_benchmark_runs,
                             c->ns, &list, &err);
    }
    size_t i;
    const json_t *object;
    json_array_foreach (json_object_get(list, "items"), i, object) {
        if ((r = add(ret, object, wanted, &err)) < 0) {
            break;
        }
    }
    if (!wanted->is_benchmarks && wanted->n_names == 0 && ret->items.len > 0) {
        qsort(ret->items.items, ret->items.len, sizeof(ret->items.items[0]), by_age);
    }
    return r < 0 ? cluster_error(r, &err) : EXIT_OK;
}

/* What the object says, for when benchd cannot be asked. */
static void load_object(json_t *object, struct loaded_run *ret)
{
    struct err err;
    *ret = (struct loaded_run){0};
    if (object_read_row(object, &ret->row, &err) >= 0) {
        ret->object = json_incref(object);
    }
}

/* After the object's time to live benchd still has the results, under the run's full name. */
static bool load_kept(struct cluster *c, const char *name, struct loaded_run *ret)
{
    struct err err;
    bool is_dead;
    return cluster_reach_benchd(c, &is_dead, &err) >= 0 &&
           cluster_load_file(c, name, NULL, ret, &err) >= 0;
}

enum exit_code cluster_load_run(struct backend *b, const char *what, struct loaded_run *ret)
{
    struct cluster *c = (struct cluster *)b;
    _cleanup_(cluster_answer_done) struct cluster_answer a = {0};
    json_auto_t *object = NULL;
    const char *name = run_word_name(what);
    int r = get_object(c, name, &a, &object);
    const bool is_kept = r == -ENOENT && !is_missing_kind(&a) && load_kept(c, name, ret);
    enum exit_code code = is_kept ? EXIT_OK : check_object(c, name, r, &a, &object);
    if (is_kept || code != EXIT_OK) {
        return code;
    }
    struct err err = {0};
    struct run_status status;
    object_read_status(object, &status);
    code = cluster_find_benchd(c);
    r = code == EXIT_OK
            ? cluster_load_file(c, kube_json_metadata(object, "name"), &status, ret, &err)
            : 0;
    if (r >= 0 && code == EXIT_OK) {
        ret->object = json_incref(object);
    } else {
        load_object(object, ret);
        /* benchd may not know a run yet that was just created, or that it did not accept. */
        const bool is_new = (r == -ENOENT && !run_phase_is_final(ret->row.status.phase)) ||
                            r == CLUSTER_NOT_ACCEPTED;
        code = code != EXIT_OK || is_new ? code : cluster_error(r, &err);
    }
    return code;
}

enum exit_code cluster_get_log(struct backend *b, const struct loaded_run *run,
                               const struct replica_id *id, struct buf *out)
{
    struct cluster *c = (struct cluster *)b;
    _cleanup_(freep) char *path = cluster_api_path(
        run->row.name, "/logs?point=%u&trial=%u&attempt=%u&role=%s&index=%u", id->attempt.point,
        id->attempt.trial, id->attempt.number, role_to_string(id->role), id->index);
    _cleanup_(cluster_answer_done) struct cluster_answer a = {0};
    struct err err;
    const int r = cluster_api_call(c, path, &a, &err);
    if (r < 0) {
        return cluster_error(r, &err);
    }
    buf_append(out, a.body.data, a.body.len);
    return EXIT_OK;
}

/* benchd knows a run by its full name, also after its object's time to live. */
enum exit_code cluster_get_file(struct backend *b, const char *what,
                                const struct run_file_parts *parts, const char *path)
{
    struct cluster *c = (struct cluster *)b;
    const char *args = parts->without_logs ? "" : "?logs=true";
    json_auto_t *object = NULL;
    struct err err = {0};
    enum exit_code code = cluster_find_benchd(c);
    if (code != EXIT_OK) {
        return code;
    }
    int r = cluster_fetch_file(c, run_word_name(what), args, path, &err);
    if (r == -ENOENT && (code = cluster_find_object(c, what, &object)) == EXIT_OK) {
        r = cluster_fetch_file(c, kube_json_metadata(object, "name"), args, path, &err);
    }
    return code == EXIT_OK && r < 0 ? cluster_error(r, &err) : code;
}

/* The object has changed, but no benchd acts on it. */
static void note_absence(struct cluster *c, bool is_delete)
{
    struct err why = {0};
    if (cluster_benchd_is_dead(c, &why)) {
        cli_note(c->backend.cli, "benchd is not running in namespace '%s' (%s): %s", c->ns, why.msg,
                 is_delete ? "the results of this run are erased later"
                           : "the run is cancelled when benchd is back");
    }
}

/* Asks benchd to erase the results at once when the object is deleted. */
static int ask_to_erase(struct cluster *c, const char *name, const char *uid, struct err *err)
{
    struct kube_request req;
    json_auto_t *answer = NULL;
    json_auto_t *patch = json_pack("{s:{s:{s:s}}}", "metadata", "annotations",
                                   KUBE_ERASE_ANNOTATION, KUBE_ERASE_NOW);
    kube_request_merge_patch(&kube_benchmark_runs, c->ns, name, uid, patch, &req);
    return cluster_get(c, &req, &answer, err);
}

/* Deletes or cancels the run that `what` means. */
static enum exit_code change_run(struct backend *b, const char *what, bool is_delete,
                                 char **ret_name)
{
    struct cluster *c = (struct cluster *)b;
    json_auto_t *object = NULL, *answer = NULL;
    const enum exit_code code = cluster_find_object(c, what, &object);
    if (code != EXIT_OK) {
        return code;
    }
    const char *name = kube_json_metadata(object, "name");
    const char *uid = kube_json_metadata(object, "uid");
    struct kube_request req;
    struct run_status status;
    object_read_status(object, &status);
    if (!is_delete && run_phase_is_final(status.phase) && status.phase != RUN_CANCELLED) {
        return cli_error(EXIT_USAGE, NULL, "run/%s has already ended: %s", name,
                         run_phase_to_string(status.phase));
    }
    if (is_delete) {
        kube_request_delete(&kube_benchmark_runs, c->ns, name, uid, -1, &req);
    } else {
        json_auto_t *patch = json_pack("{s:{s:b}}", "spec", "cancel", 1);
        kube_request_merge_patch(&kube_benchmark_runs, c->ns, name, uid, patch, &req);
    }
    struct err err = {0};
    int r = is_delete ? ask_to_erase(c, name, uid, &err) : 0;
    if (r < 0) {
        kube_request_done(&req);
    } else {
        r = cluster_get(c, &req, &answer, &err);
    }
    if (is_delete && r == -ENOENT) {
        r = 0; /* it existed: our first answer was lost, or somebody else was faster */
    }
    if (r >= 0) {
        *ret_name = xstrdup(name);
        note_absence(c, is_delete);
    }
    return r < 0 ? cluster_error(r, &err) : EXIT_OK;
}

enum exit_code cluster_delete_run(struct backend *b, const char *what, char **ret_name)
{
    return change_run(b, what, true, ret_name);
}

enum exit_code cluster_cancel_run(struct backend *b, const char *what, char **ret_name)
{
    return change_run(b, what, false, ret_name);
}

/* benchd sends a run whole. */
enum exit_code cluster_load_figures(struct backend *b, const char *what,
                                    const struct loaded_run *like, struct loaded_run *ret)
{
    (void)like;
    return cluster_load_run(b, what, ret);
}
