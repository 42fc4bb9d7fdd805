/* What a pod template may not have, and what only looks like it. */
#include "tests/test.h"
#include "spec/system_template.h"

#include <errno.h>

#include "base/str.h"
#include "doc/tree.h"

/* "path: message; fix", "" for a good template. */
static const char *check(const char *metadata, const char *spec, const char *container)
{
    static char said[600];
    static const struct tree_limits limits = TREE_LIMITS_DEFAULT;
    _cleanup_(freep) char *text = xasprintf(
        "{metadata: {%s}, spec: {%s containers: [{%s name: main}]}}", metadata, spec, container);
    struct node *root;
    struct diags diags = {0};
    assert_int_equal(tree_parse(text, strlen(text), &limits, &root, &diags), 0);
    json_t *template = tree_to_json(root);
    tree_free(root);
    struct template_problem problem;
    const int r = template_rules_check(template, &problem);
    json_decref(template);
    assert_true(r == 0 || r == -EINVAL);
    said[0] = '\0';
    if (r < 0) {
        text_put(said, sizeof(said), "%s: %s; %s", problem.path, problem.message, problem.fix);
    }
    return said;
}

TEST(refuses)
{
    static const struct {
        const char *metadata, *spec, *container, *message;
    } cases[] = {
        {"", "restartPolicy: OnFailure,", "",
         "spec.restartPolicy: must be Never (got OnFailure); remove it"},
        {"", "hostname: x,", "", "spec.hostname: benchd sets it itself"},
        {"", "terminationGracePeriodSeconds: 301,", "",
         "spec.terminationGracePeriodSeconds: must be from 0 to 300"},
        {"", "terminationGracePeriodSeconds: -1,", "",
         "spec.terminationGracePeriodSeconds: must be from 0 to 300"},
        {"", "terminationGracePeriodSeconds: soon,", "",
         "spec.terminationGracePeriodSeconds: must be from 0 to 300"},
        {"", "subdomain: x,", "", "spec.subdomain: benchd sets it itself"},
        {"", "automountServiceAccountToken: true,", "",
         "spec.automountServiceAccountToken: benchd sets it"},
        {"", "enableServiceLinks: true,", "", "spec.enableServiceLinks: benchd sets it itself"},
        {"", "volumes: [{name: benchd-key, emptyDir: {}}],", "",
         "spec.volumes[0].name: 'benchd-key' is reserved"},
        {"", "", "terminationMessagePolicy: File,",
         "terminationMessagePolicy: must be FallbackToLogsOnError (got File)"},
        {"", "", "volumeMounts: [{name: x, mountPath: /var/run/benchd}],",
         "volumeMounts[0].mountPath: '/var/run/benchd' is reserved"},
        {"name: x", "", "", "metadata.name: benchd sets it itself"},
        {"labels: [a]", "", "", "metadata.labels: must be a map"},
        {"annotations: a", "", "", "metadata.annotations: must be a map"},
        {"", "securityContext: [],", "", "spec.securityContext: must be a map"},
        {"", "", "securityContext: x,", "spec.containers[0].securityContext: must be a map"},
        {"", "initContainers: [x],", "", "spec.initContainers[0]: must be a map"},
        {"", "initContainers: [null],", "", "spec.initContainers[0]: must be a map"},
        {"", "initContainers: [{name: a, securityContext: 1}],", "",
         "spec.initContainers[0].securityContext: must be a map"},
        {"", "volumes: {},", "", "spec.volumes: must be a list"},
        {"", "", "volumeMounts: x,", "spec.containers[0].volumeMounts: must be a list"},
        {"labels: {benchd.io/run: x}", "", "",
         "metadata.labels.benchd.io/run: the label is reserved"},
        {"labels: {benchd.io/run: }", "", "", "metadata.labels.benchd.io/run: the label is"},
        {"labels: {app.kubernetes.io/managed-by: x}", "", "", "is reserved for benchd"},
        {"labels: {app.kubernetes.io/name: benchd}", "", "", "is reserved for benchd"},
        /* What is benchd's own: its identity, its results, the keys of runs. */
        {"", "serviceAccountName: benchd,", "",
         "spec.serviceAccountName: 'benchd' is benchd's own"},
        {"", "serviceAccount: lab-benchd,", "", "spec.serviceAccount: 'lab-benchd' is benchd's"},
        {"", "volumes: [{name: a}, {name: b, persistentVolumeClaim: {claimName: benchd}}],", "",
         "spec.volumes[1].persistentVolumeClaim.claimName: 'benchd' is benchd's own; use another"},
        {"", "volumes: [{name: b, secret: {secretName: benchd-s3}}],", "",
         "spec.volumes[0].secret.secretName: 'benchd-s3' is benchd's own"},
        {"", "volumes: [{name: b, secret: {secretName: other-1-0f4c1de2-key}}],", "",
         "secretName: 'other-1-0f4c1de2-key' has the name of a run's key"},
        {"",
         "volumes: [{name: b, projected: {sources: [{configMap: {name: c}}, "
         "{serviceAccountToken: {path: t}}]}}],",
         "", "spec.volumes[0].projected.sources[1].serviceAccountToken: a replica gets no token"},
        {"", "volumes: [{name: b, projected: {sources: [{podCertificate: {keyType: ED25519}}]}}],",
         "", "spec.volumes[0].projected.sources[0].podCertificate: a replica gets no token"},
        {"", "volumes: [{name: b, projected: {sources: [{tomorrow: {}}]}}],", "",
         "spec.volumes[0].projected.sources[0].tomorrow: a replica may not have a volume"},
        {"", "volumes: [{name: b, hostPath: {path: /var/lib}}],", "",
         "spec.volumes[0].hostPath: a replica may not have a volume of this kind; use a "
         "persistentVolumeClaim"},
        {"", "volumes: [{name: a}, {name: b, tomorrow: {}}],", "", "spec.volumes[1].tomorrow: "},
        {"",
         "volumes: [{name: b, ephemeral: {volumeClaimTemplate: {spec: {dataSource: {kind: "
         "PersistentVolumeClaim, name: benchd}}}}}],",
         "",
         "spec.volumes[0].ephemeral.volumeClaimTemplate.spec.dataSource: a replica may not copy a "
         "volume"},
        {"",
         "volumes: [{name: b, ephemeral: {volumeClaimTemplate: {spec: {dataSourceRef: {kind: "
         "VolumeSnapshot, name: s}}}}}],",
         "", "spec.volumes[0].ephemeral.volumeClaimTemplate.spec.dataSourceRef: a replica may not"},
        {"",
         "volumes: [{name: b, csi: {driver: d, nodePublishSecretRef: {name: a-12345678-key}}}],",
         "", "spec.volumes[0].csi.nodePublishSecretRef.name: 'a-12345678-key' has the name"},
        {"", "imagePullSecrets: [{name: mine}, {name: a-12345678-key}],", "",
         "spec.imagePullSecrets[1].name: 'a-12345678-key' has the name of a run's key"},
        {"", "imagePullSecrets: [{name: benchd-pull}],", "", "'benchd-pull' is benchd's own"},
        {"", "priorityClassName: system-node-critical,", "",
         "spec.priorityClassName: this class is for parts of the cluster"},
        {"", "nodeName: n1,", "",
         "spec.nodeName: a pod with a node's name goes past the scheduler"},
        {"", "volumes: [{name: b, projected: {sources: [{secret: {name: a-12345678-key}}]}}],", "",
         "spec.volumes[0].projected.sources[0].secret.name: 'a-12345678-key' has the name"},
        {"", "", "envFrom: [{configMapRef: {name: a}}, {secretRef: {name: benchd}}],",
         "spec.containers[0].envFrom[1].secretRef.name: 'benchd' is benchd's own"},
        {"",
         "initContainers: [{name: i, env: [{name: A, valueFrom: {secretKeyRef: {name: "
         "a-12345678-key, key: key}}}]}],",
         "", "spec.initContainers[0].env[0].valueFrom.secretKeyRef.name: 'a-12345678-key'"},
        {"", "ephemeralContainers: [{name: i, envFrom: [{secretRef: {name: benchd-a}}]}],", "",
         "spec.ephemeralContainers[0].envFrom[0].secretRef.name: 'benchd-a' is benchd's own"},
        {"", "volumes: [{name: d, configMap: {name: lab-benchd}}],", "",
         "spec.volumes[0].configMap.name: 'lab-benchd' is benchd's own"},
        {"", "volumes: [{name: b, projected: {sources: [{configMap: {name: benchd-a}}]}}],", "",
         "spec.volumes[0].projected.sources[0].configMap.name: 'benchd-a' is benchd's own"},
        {"", "", "envFrom: [{configMapRef: {name: benchd}}],",
         "spec.containers[0].envFrom[0].configMapRef.name: 'benchd' is benchd's own"},
        {"", "", "env: [{name: A, valueFrom: {configMapKeyRef: {name: benchd, key: k}}}],",
         "spec.containers[0].env[0].valueFrom.configMapKeyRef.name: 'benchd' is benchd's own"},
        {"", "volumes: [{name: b, persistentVolumeClaim: {claimName: a-12345678-key}}],", "",
         "claimName: 'a-12345678-key' has the name of a run's key"},
    };
    for (size_t i = 0; i < N_ROWS(cases); i++) {
        const char *said = check(cases[i].metadata, cases[i].spec, cases[i].container);
        if (strstr(said, cases[i].message) == NULL) {
            fail_msg("expected '%s', got '%s'", cases[i].message, said);
        }
    }
}

TEST(needs_a_container)
{
    _cleanup_(json_decrefp) json_t *template = json_pack("{s:{s:[]}}", "spec", "containers");
    struct template_problem problem;
    assert_int_equal(template_rules_check(template, &problem), -EINVAL);
    assert_string_equal(problem.path, "spec.containers");
}

TEST(takes_what_only_looks_like_it)
{
    static const char *const specs[] = {
        "restartPolicy: Never, automountServiceAccountToken: false, enableServiceLinks: false,",
        "restartPolicy: , hostname: , volumes: , securityContext: ,",
        "automountServiceAccountToken: , enableServiceLinks: ,",
        "serviceAccountName: trainers,",
        "serviceAccountName: benchdata,",
        "serviceAccountName: mybenchd,",
        "volumes: [{name: d, persistentVolumeClaim: {claimName: imagenet}}],",
        "volumes: [{name: d, secret: {secretName: s3-key}}],",
        "volumes: [{name: d, secret: {secretName: a-0f4c1de-key}}],",
        "volumes: [{name: d, secret: {secretName: a-0f4c1deg-key}}],",
        "volumes: [{name: d, secret: {secretName: 0f4c1de2-key}}],",
        "volumes: [{name: d, configMap: {name: benchdata}}],",
        "volumes: [{name: d, projected: {sources: [{secret: {name: mine}}]}}],",
        "volumes: [{name: d, emptyDir: {medium: Memory}}, {name: e, downwardAPI: {}}, {name: f}],",
        "volumes: [{name: d, image: {reference: r/data:1}}, {name: e, hostPath: }],",
        "volumes: [{name: d, csi: {driver: d, nodePublishSecretRef: {name: mine}}}],",
        "volumes: [{name: d, ephemeral: {volumeClaimTemplate: {spec: {dataSource: }}}}],",
        "volumes: [{name: d, projected: {sources: [{configMap: {}}, {clusterTrustBundle: {}}]}}],",
        "volumes: [{name: d, projected: {sources: [{downwardAPI: {}}]}}],",
        "imagePullSecrets: [{name: mine}],",
        "priorityClassName: batch, nodeName: ,",
        "terminationGracePeriodSeconds: 300,",
        "terminationGracePeriodSeconds: 0,",
        "terminationGracePeriodSeconds: ,",
    };
    for (size_t i = 0; i < N_ROWS(specs); i++) {
        assert_string_equal(check("labels: {app.kubernetes.io/managed-by: benchd}", specs[i], ""),
                            "");
    }
}
