/* The objects of a run beside its pods. */
#include "tests/test.h"
#include "pod/body.h"

#include "base/base64.h"
#include "pod/ssh_key.h"
#include "body_fixture.h"

/* The whole of it: a selector that is too wide would be accepted, too. */
TEST(policy)
{
    static const char selector[] = "{\"matchLabels\":{\"app.kubernetes.io/managed-by\":\"benchd\","
                                   "\"benchd.io/run\":\"sample-1\"}}";
    _cleanup_(run_def_freep) struct run_def *def = make_run("spec:", "spec:");
    _cleanup_(json_decrefp) json_t *body = pod_policy_body(def);
    expect(body, "apiVersion", "networking.k8s.io/v1");
    expect(body, "kind", "NetworkPolicy");
    expect(body, "metadata/name", "sample-1-0f4c1de2");
    expect(body, "metadata/ownerReferences/0/uid", UID);
    _cleanup_(freep) char *expected =
        xasprintf("{\"podSelector\":%s,\"policyTypes\":[\"Ingress\",\"Egress\"],"
                  "\"ingress\":[{\"from\":[{\"podSelector\":%s}]}],"
                  "\"egress\":[{\"to\":[{\"podSelector\":%s}]},"
                  "{\"ports\":[{\"port\":53,\"protocol\":\"UDP\"},"
                  "{\"port\":53,\"protocol\":\"TCP\"},"
                  "{\"port\":5353,\"protocol\":\"UDP\"},"
                  "{\"port\":5353,\"protocol\":\"TCP\"}],\"to\":[{\"namespaceSelector\":{}},"
                  "{\"ipBlock\":{\"cidr\":\"169.254.20.10/32\"}}]}]}",
                  selector, selector, selector);
    _cleanup_(freep) char *spec = json_dumps(json_object_get(body, "spec"), JSON_COMPACT);
    assert_string_equal(spec, expected);
}

/* What DNS needs to answer for p0t0a1-trainer-1.<service>. */
TEST(slice)
{
    _cleanup_(run_def_freep) struct run_def *def = make_run("spec:", "spec:");
    json_t *slice = pod_slice_body(def, 0, false);
    const struct replica_id id = {{.number = 1}, ROLE_TRAINER, 1};
    pod_slice_add(slice, &id, "10.0.0.7");
    expect(slice, "apiVersion", "discovery.k8s.io/v1");
    expect(slice, "kind", "EndpointSlice");
    expect(slice, "metadata/name", "sample-1-0f4c1de2-0");
    expect(slice, "metadata/ownerReferences/0/uid", UID);
    char *of = NULL;
    json_unpack(slice, "{s:{s:{s:s}}}", "metadata", "labels", "kubernetes.io/service-name", &of);
    assert_string_equal(of, "sample-1-0f4c1de2");
    expect(slice, "addressType", "IPv4");
    expect(slice, "ports/0/port", "7164");
    expect(slice, "endpoints/0/addresses/0", "10.0.0.7");
    expect(slice, "endpoints/0/hostname", "p0t0a1-trainer-1");
    expect(slice, "endpoints/0/conditions/ready", "true");
    json_decref(slice);
    slice = pod_slice_body(def, 2, true);
    expect(slice, "metadata/name", "sample-1-0f4c1de2-2-v6");
    expect(slice, "addressType", "IPv6");
    expect(slice, "endpoints", "[]");
    json_decref(slice);
}

TEST(service_and_secret)
{
    _cleanup_(run_def_freep) struct run_def *def = make_run("spec:", "spec:");
    _cleanup_(json_decrefp) json_t *service = pod_service_body(def);
    expect(service, "metadata/name", "sample-1-0f4c1de2");
    expect(service, "metadata/ownerReferences/0/uid", UID);
    expect(service, "spec/clusterIP", "None");
    expect(service, "spec/selector", ""); /* its addresses are ours to write */
    expect(service, "spec/ports/0/port", "7164");

    static const struct {
        const char *secret, *base64;
    } cases[] = {
        {"", ""}, {"f", "Zg=="}, {"fo", "Zm8="}, {"foo", "Zm9v"}, {"\xff\xfe\xfd", "//79"}};
    for (size_t i = 0; i < N_ROWS(cases); i++) {
        json_t *secret = pod_secret_body(def, (const unsigned char *)cases[i].secret,
                                         strlen(cases[i].secret), NULL);
        expect(secret, "metadata/name", "sample-1-0f4c1de2-key");
        expect(secret, "data/key", cases[i].base64);
        expect(secret, "immutable", "true");
        json_decref(secret);
    }
}

/* The keys of runs with a launcher, and where pods find them. */
TEST(a_run_with_a_launcher_has_ssh_keys)
{
    static const struct ssh_key ssh = {.seed = {1}, .public = {2}};
    _cleanup_(run_def_freep) struct run_def *def = make_run("spec:", "spec:");
    json_t *secret = pod_secret_body(def, (const unsigned char *)"f", 1, &ssh);
    expect(secret, "data/key", "Zg==");
    _cleanup_(freep) char *public = ssh_key_public_dup(&ssh);
    _cleanup_(freep) char *private = ssh_key_private_dup(&ssh);
    _cleanup_(freep) char *public64 = base64_dup(public, strlen(public));
    _cleanup_(freep) char *private64 = base64_dup(private, strlen(private));
    expect(secret, "data/id_ed25519.pub", public64);
    expect(secret, "data/id_ed25519", private64);
    json_decref(secret);

    struct point *point = &def->matrix.points[trainer.attempt.point];
    const struct gang_addresses addresses = {.is_pods = true};
    for (uint32_t n = 0; n < 2; n++) {
        _cleanup_(json_decrefp) json_t *pod;
        point->replicas[ROLE_LAUNCHER] = n;
        assert_int_equal(pod_body(def, &trainer, &addresses, POD_BY_DNS, &pod, NULL), 0);
        _cleanup_(freep) char *text = json_dumps(pod, JSON_COMPACT);
        static const char var[] =
            "{\"name\":\"BENCHD_SSH_KEY_FILE\",\"value\":\"/var/run/benchd/id_ed25519\"}";
        assert_int_equal(strstr(text, var) != NULL, n);
        assert_null(strstr(text, public64)); /* what is secret is in no pod */
    }
}
