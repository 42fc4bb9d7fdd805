/* Leader election, see lease.h. */
#include "kube/lease.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "base/mem.h"
#include "kube/json.h"
#include "kube/retry.h"
#include "base/rfc3339.h"

#define S_NS INT64_C(1000000000)
#define NS_PER_MS INT64_C(1000000)
#define JITTER 0.2
#define AT_ONCE_MAX                                                                                \
    3 /* requests in a row without a pause: renew, then create or read again, renew */
#define SKEW_MIN_MS 2500 /* a Date header has whole seconds, and was on its way */
#define ADDRESS "benchd.io/address"
#define READ_KEY "benchd.io/read-key"
#define READ_KEY_MAX 128

enum step { STEP_GET, STEP_CREATE, STEP_UPDATE };

struct kube_lease {
    char *ns, *name, *identity, *address, *read_key; /* the last two may be NULL */
    int64_t duration_ns, renew_deadline_ns, retry_ns;
    uint64_t jitter;

    enum kube_lease_state state;
    enum step step; /* the next one, or the one in flight */
    bool is_in_flight;
    bool is_releasing; /* kube_lease_release was called */
    int64_t due_ns;
    int64_t sent_ns;      /* of the latest request */
    int64_t sent_unix_ms; /* the same by the local clock */
    int64_t skew_ms;      /* by how much the server's clock is ahead of the local one */
    unsigned at_once;     /* requests in a row without a pause */
    int64_t renewed_ns;   /* when the last successful renewal was sent */
    /* The oldest date that the server can know: of that renewal, and of those sent since (their
     * answers may be lost). 0: no renewal has succeeded. */
    int64_t oldest_unix_ns;

    json_t *seen;        /* the object as last received, NULL: unknown */
    int64_t observed_ns; /* when its record was last seen to change */
    struct err error;
};

struct kube_lease *kube_lease_new(const struct kube_lease_params *params)
{
    struct kube_lease *l = xnew(struct kube_lease);
    const int64_t duration_ns = params->duration_ns == 0 ? 15 * S_NS : params->duration_ns;
    *l = (struct kube_lease){
        .ns = xstrdup(params->ns),
        .name = xstrdup(params->name),
        .identity = xstrdup(params->identity),
        .address = xstrdup_or_null(params->address),
        .read_key = xstrdup_or_null(params->read_key),
        .duration_ns = duration_ns,
        .renew_deadline_ns = duration_ns / 3 * 2,
        .retry_ns = params->retry_ns == 0 ? 2 * S_NS : params->retry_ns,
        .jitter = params->seed,
        .due_ns = INT64_MIN,
    };
    assert(l->renew_deadline_ns < l->duration_ns && l->retry_ns < l->renew_deadline_ns);
    return l;
}

void kube_lease_free(struct kube_lease *l)
{
    if (l == NULL) {
        return;
    }
    json_decref(l->seen);
    free(l->ns);
    free(l->name);
    free(l->identity);
    free(l->address);
    free(l->read_key);
    free(l);
}

int64_t kube_lease_request_timeout_ns(const struct kube_lease *l)
{
    return l->renew_deadline_ns / 2;
}

static const json_t *spec_of(const json_t *lease)
{
    return json_object_get(lease, "spec");
}

const char *kube_lease_holder(const struct kube_lease *l)
{
    const char *holder = json_string_value(json_object_get(spec_of(l->seen), "holderIdentity"));
    return holder == NULL ? "" : holder;
}

/* How long the holder may be silent: from the record, or `otherwise_s` if that is out of range. */
static int64_t duration_s_of(const json_t *lease, int64_t otherwise_s)
{
    const json_int_t s =
        json_integer_value(json_object_get(spec_of(lease), "leaseDurationSeconds"));
    return s > 0 && s <= KUBE_LEASE_MAX_S ? s : otherwise_s;
}

static bool is_ours(const struct kube_lease *l)
{
    return strcmp(kube_lease_holder(l), l->identity) == 0;
}

enum kube_lease_state kube_lease_state(struct kube_lease *l, int64_t now_ns)
{
    if (l->state == KUBE_LEASE_LEADER && now_ns - l->renewed_ns >= l->renew_deadline_ns) {
        l->state = KUBE_LEASE_LOST;
        if (l->error.code == 0) {
            (void)err_set(&l->error, ETIMEDOUT, "lease '%s': not renewed for %" PRId64 " s",
                          l->name, (now_ns - l->renewed_ns) / S_NS);
        }
    }
    return l->state;
}

bool kube_lease_may_write(struct kube_lease *l, int64_t now_ns)
{
    return kube_lease_state(l, now_ns) == KUBE_LEASE_LEADER && !l->is_releasing;
}

const struct err *kube_lease_error(const struct kube_lease *l)
{
    return l->error.code == 0 ? NULL : &l->error;
}

/* The object to write: the one seen last or a new one, with this holder identity. */
static json_t *make_object(const struct kube_lease *l, const char *holder, int64_t unix_ms)
{
    json_t *lease = l->seen == NULL ? json_pack("{s:s, s:s, s:{s:s, s:s}}", "apiVersion",
                                                "coordination.k8s.io/v1", "kind", "Lease",
                                                "metadata", "name", l->name, "namespace", l->ns)
                                    : json_deep_copy(l->seen);
    json_t *metadata = json_object_get(lease, "metadata");
    if (!json_is_object(json_object_get(metadata, "annotations"))) {
        json_object_set_new(metadata, "annotations", json_object());
    }
    json_t *annotations = json_object_get(metadata, "annotations");
    if (l->address != NULL) {
        json_object_set_new(annotations, ADDRESS, json_string(l->address));
    }
    if (l->read_key != NULL) {
        json_object_set_new(annotations, READ_KEY, json_string(l->read_key));
    } else { /* of a holder that asked for one; absent is fine */
        (void)json_object_del(annotations, READ_KEY);
    }
    if (!json_is_object(json_object_get(lease, "spec"))) {
        json_object_set_new(lease, "spec", json_object());
    }
    json_t *spec = json_object_get(lease, "spec");
    char now[RFC3339_MICRO_SIZE];
    rfc3339_format_micro(unix_ms + l->skew_ms, now);
    if (holder[0] != '\0' && !(l->seen != NULL && is_ours(l))) {
        const json_int_t before = json_integer_value(json_object_get(spec, "leaseTransitions"));
        json_object_set_new(spec, "acquireTime", json_string(now));
        json_object_set_new(spec, "leaseTransitions",
                            json_integer(l->seen == NULL ? 0 : before + 1));
    }
    json_object_set_new(spec, "holderIdentity", json_string(holder));
    json_object_set_new(spec, "renewTime", json_string(now));
    json_object_set_new(spec, "leaseDurationSeconds",
                        json_integer(holder[0] == '\0' ? 1 : l->duration_ns / S_NS));
    return lease;
}

static void make_request(const struct kube_lease *l, enum step step, const char *holder,
                         int64_t unix_ms, struct kube_request *ret)
{
    if (step == STEP_GET) {
        kube_request_get(&kube_leases, l->ns, l->name, ret);
    } else {
        json_auto_t *object = make_object(l, holder, unix_ms);
        if (step == STEP_CREATE) {
            kube_request_create(&kube_leases, l->ns, object, KUBE_WRITE, ret);
        } else {
            kube_request_update(&kube_leases, l->ns, object, ret);
        }
    }
    ret->priority = KUBE_URGENT;
}

bool kube_lease_next(struct kube_lease *l, int64_t now_ns, int64_t unix_ms,
                     struct kube_request *ret_request, int64_t *ret_deadline_ns)
{
    *ret_deadline_ns = INT64_MAX;
    if (kube_lease_state(l, now_ns) == KUBE_LEASE_LOST) {
        return false;
    }
    if (l->state == KUBE_LEASE_LEADER) {
        *ret_deadline_ns = l->renewed_ns + l->renew_deadline_ns;
    }
    if (l->is_in_flight || (l->is_releasing && l->state != KUBE_LEASE_LEADER)) {
        return false;
    }
    if (now_ns < l->due_ns) {
        *ret_deadline_ns = l->due_ns < *ret_deadline_ns ? l->due_ns : *ret_deadline_ns;
        return false;
    }
    make_request(l, l->step, l->is_releasing ? "" : l->identity, unix_ms, ret_request);
    const int64_t date_ns = (unix_ms + l->skew_ms) * NS_PER_MS;
    if (l->step != STEP_GET && date_ns < l->oldest_unix_ns) { /* our clock was set back */
        l->oldest_unix_ns = date_ns;
    }
    l->is_in_flight = true;
    l->sent_ns = now_ns;
    l->sent_unix_ms = unix_ms;
    return true;
}

/* The pause counts from the latest request: a request that timed out has used it up. */
static void plan_later(struct kube_lease *l, enum step step)
{
    l->step = step;
    l->due_ns = l->sent_ns + kube_jitter(&l->jitter, l->retry_ns, JITTER);
    l->at_once = 0;
}

/* At most AT_ONCE_MAX times in a row: no answer may cause a busy loop. */
static void plan_at_once(struct kube_lease *l, enum step step)
{
    if (l->at_once >= AT_ONCE_MAX) {
        plan_later(l, step);
        return;
    }
    l->step = step;
    l->due_ns = l->sent_ns;
    l->at_once++;
}

/* The date of the last renewal; 0: unknown. */
static int64_t renew_time_ns(const json_t *lease)
{
    const char *text = json_string_value(json_object_get(spec_of(lease), "renewTime"));
    int64_t unix_ns;
    return text == NULL || rfc3339_parse(text, strlen(text), &unix_ns) < 0 ? 0 : unix_ns;
}

/* A change of the record, not of the object, shows that the holder is alive: others may edit
 * annotations. */
static void see(struct kube_lease *l, int64_t now_ns, json_t *lease)
{
    if (l->seen == NULL || !json_equal(spec_of(l->seen), spec_of(lease))) {
        l->observed_ns = now_ns;
    }
    json_decref(l->seen);
    l->seen = json_incref(lease);
}

static void learn_skew(struct kube_lease *l, int64_t now_ns, const struct kube_response *res)
{
    if (res->date_unix_ms >= 0) {
        const int64_t took_ms = (now_ns - l->sent_ns) / (S_NS / 1000);
        const int64_t ahead_ms = res->date_unix_ms - l->sent_unix_ms;
        const bool is_right = ahead_ms > -SKEW_MIN_MS && ahead_ms < took_ms + SKEW_MIN_MS;
        l->skew_ms = is_right ? 0 : ahead_ms;
    }
}

/* The server has forgotten a renewal that it acknowledged: its state comes from a backup. Versions
 * may have gone back with it, and watches from a version that is not reached again say nothing. A
 * new process lists. */
static bool is_restored(const struct kube_lease *l)
{
    const int64_t found_ns = renew_time_ns(l->seen);
    return l->state == KUBE_LEASE_LEADER && found_ns != 0 && found_ns < l->oldest_unix_ns;
}

static void after_get(struct kube_lease *l, int64_t now_ns)
{
    if (l->state == KUBE_LEASE_LEADER && !is_ours(l)) {
        l->state = KUBE_LEASE_LOST;
        (void)err_set(&l->error, ESTALE, "lease '%s': '%s' holds it now", l->name,
                      kube_lease_holder(l));
        return;
    }
    if (is_restored(l)) {
        l->state = KUBE_LEASE_LOST;
        (void)err_set(
            &l->error, ESTALE,
            "lease '%s': the API server has forgotten the latest renewals (a backup of etcd "
            "was restored?)",
            l->name);
        return;
    }
    const int64_t held_ns = duration_s_of(l->seen, l->duration_ns / S_NS) * S_NS;
    if (kube_lease_holder(l)[0] == '\0' || is_ours(l) || now_ns >= l->observed_ns + held_ns) {
        plan_at_once(l, STEP_UPDATE);
    } else {
        plan_later(l, STEP_GET);
    }
}

static void take_object(struct kube_lease *l, int64_t now_ns, const struct kube_response *res)
{
    json_t *lease;
    int r = kube_json_load(res->body, res->body_len, &lease, &l->error);
    if (r == 0 && !json_is_object(spec_of(lease))) {
        json_decref(lease);
        r = err_set(&l->error, EPROTO, "the answer is not a Lease");
    }
    if (r < 0) {
        (void)err_wrap(&l->error, r, "lease '%s'", l->name);
        plan_later(l, STEP_GET);
        return;
    }
    see(l, now_ns, lease);
    json_decref(lease);
    l->error = (struct err){0};
    if (l->step == STEP_GET) {
        after_get(l, now_ns);
        return;
    }
    l->state = l->is_releasing && !is_ours(l) ? KUBE_LEASE_FOLLOWER : KUBE_LEASE_LEADER;
    l->renewed_ns = l->sent_ns;
    l->oldest_unix_ns = renew_time_ns(l->seen);
    /* A release does not wait until the next renewal is due. */
    (l->is_releasing ? plan_at_once : plan_later)(l, STEP_UPDATE);
}

void kube_lease_answer(struct kube_lease *l, int64_t now_ns, const struct kube_response *res)
{
    if (!l->is_in_flight) {
        return; /* of no request */
    }
    l->is_in_flight = false;
    if (kube_lease_state(l, now_ns) == KUBE_LEASE_LOST) {
        return; /* the answer is too late */
    }
    learn_skew(l, now_ns, res);
    struct kube_request req;
    make_request(l, l->step, l->identity, 0, &req); /* only for its name in messages */
    struct err error = {0};
    const int r = kube_check(&req, res, &error);
    kube_request_done(&req);
    if (r == 0) {
        take_object(l, now_ns, res);
        return;
    }
    if (r == -ENOENT) { /* it never existed, or somebody deleted it */
        json_decref(l->seen);
        l->seen = NULL;
        if (l->is_releasing) {
            l->state = KUBE_LEASE_FOLLOWER;
        } else if (l->step == STEP_CREATE) { /* the namespace does not exist */
            l->error = error;
            plan_later(l, STEP_CREATE);
        } else {
            plan_at_once(l, STEP_CREATE);
        }
        return;
    }
    l->error = error;
    const bool was_overtaken = r == -ESTALE || r == -EEXIST;
    if (was_overtaken && l->state == KUBE_LEASE_LEADER) {
        plan_at_once(l, STEP_GET);
    } else {
        plan_later(l, STEP_GET);
    }
}

int64_t kube_lease_skew_ms(const struct kube_lease *l)
{
    return l->skew_ms;
}

void kube_lease_release(struct kube_lease *l, int64_t now_ns)
{
    l->is_releasing = true;
    l->due_ns = now_ns;
    l->at_once = 0;
    if (l->state == KUBE_LEASE_LEADER && l->seen == NULL && !l->is_in_flight) {
        l->state = KUBE_LEASE_FOLLOWER; /* there is no Lease to release */
    }
}

bool kube_lease_is_released(struct kube_lease *l, int64_t now_ns)
{
    return l->is_releasing && !l->is_in_flight && kube_lease_state(l, now_ns) != KUBE_LEASE_LEADER;
}

static const char *annotation_of(const json_t *lease, const char *key)
{
    const json_t *metadata = json_object_get(lease, "metadata");
    return json_string_value(json_object_get(json_object_get(metadata, "annotations"), key));
}

int kube_lease_read(const json_t *lease, int64_t server_unix_ms, char **ret_address,
                    struct err *err)
{
    const json_t *spec = spec_of(lease);
    const char *name = kube_json_metadata(lease, "name");
    if (!json_is_object(spec)) {
        return err_set(err, EPROTO, "the answer is not a Lease");
    }
    const char *holder = json_string_value(json_object_get(spec, "holderIdentity"));
    if (holder == NULL || holder[0] == '\0') {
        return err_set(err, ENOENT, "nobody holds the lease '%s'", name);
    }
    const int64_t renewed_ns = renew_time_ns(lease);
    if (renewed_ns == 0) {
        return err_set(err, EPROTO, "the lease '%s' was never renewed", name);
    }
    const int64_t duration_ms = duration_s_of(lease, 0) * 1000;
    const int64_t age_ms = server_unix_ms - renewed_ns / 1000000;
    if (server_unix_ms >= 0 && age_ms < -duration_ms) {
        return err_set(err, ESTALE,
                       "'%s' renewed the lease '%s' with a clock that was %" PRId64
                       " s ahead of the API server's clock",
                       holder, name, -age_ms / 1000);
    }
    if (age_ms > duration_ms) {
        return err_set(err, ESTALE, "'%s' last renewed the lease '%s' %" PRId64 " s ago", holder,
                       name, age_ms / 1000);
    }
    const char *address = annotation_of(lease, ADDRESS);
    *ret_address = xstrdup(address == NULL ? "service" : address);
    return 0;
}

const char *kube_lease_read_key(const json_t *lease)
{
    const char *key = annotation_of(lease, READ_KEY);
    const size_t len = key == NULL ? 0 : strlen(key);
    /* It becomes part of a header: a user who can write the Lease must not be able
     * to add another header. */
    const bool is_key = len > 0 && len <= READ_KEY_MAX && strspn(key, "0123456789abcdef") == len;
    return is_key ? key : NULL;
}
