/* Numbers of k8s.io/api/core/v1/generated.proto, see pod_shape.h. */
#include "run/pods/pod_shape.h"

/* ---- the template ---- */

static const struct kube_proto_shape volume_mount = {{
    {1, KUBE_PROTO_TEXT, "name", .has_empty = true},
}};

static const struct kube_proto_shape resources = {{
    {1, KUBE_PROTO_AMOUNTS, "limits"},
}};

/* Without env, which has thousands of addresses. */
static const struct kube_proto_shape container = {{
    {1, KUBE_PROTO_TEXT, "name", .has_empty = true},
    {8, KUBE_PROTO_OBJECT, "resources", .shape = &resources},
    {9, KUBE_PROTO_OBJECT, "volumeMounts", .shape = &volume_mount, .is_list = true},
}};

static const struct kube_proto_shape spec = {{
    {2, KUBE_PROTO_OBJECT, "containers", .shape = &container, .is_list = true},
    {10, KUBE_PROTO_TEXT, "nodeName"},
}};

/* ---- the status ---- */

static const struct kube_proto_shape condition = {{
    {1, KUBE_PROTO_TEXT, "type", .has_empty = true},
    {2, KUBE_PROTO_TEXT, "status", .has_empty = true},
    {5, KUBE_PROTO_TEXT, "reason"},
    {6, KUBE_PROTO_TEXT, "message"},
}};

static const struct kube_proto_shape waiting = {{
    {1, KUBE_PROTO_TEXT, "reason"},
    {2, KUBE_PROTO_TEXT, "message"},
}};

static const struct kube_proto_shape running = {{
    {1, KUBE_PROTO_TIME, "startedAt"},
}};

static const struct kube_proto_shape terminated = {{
    {1, KUBE_PROTO_INTEGER, "exitCode", .has_empty = true},
    {2, KUBE_PROTO_INTEGER, "signal"},
    {3, KUBE_PROTO_TEXT, "reason"},
    {4, KUBE_PROTO_TEXT, "message"},
    {5, KUBE_PROTO_TIME, "startedAt"},
    {6, KUBE_PROTO_TIME, "finishedAt"},
}};

static const struct kube_proto_shape container_state = {{
    {1, KUBE_PROTO_OBJECT, "waiting", .shape = &waiting},
    {2, KUBE_PROTO_OBJECT, "running", .shape = &running},
    {3, KUBE_PROTO_OBJECT, "terminated", .shape = &terminated},
}};

static const struct kube_proto_shape container_status = {{
    {1, KUBE_PROTO_TEXT, "name", .has_empty = true},
    {2, KUBE_PROTO_OBJECT, "state", .shape = &container_state},
    {5, KUBE_PROTO_INTEGER, "restartCount", .has_empty = true},
    {6, KUBE_PROTO_TEXT, "image", .has_empty = true},
    {7, KUBE_PROTO_TEXT, "imageID", .has_empty = true},
    {8, KUBE_PROTO_TEXT, "containerID"},
}};

static const struct kube_proto_shape status = {{
    {1, KUBE_PROTO_TEXT, "phase"},
    {2, KUBE_PROTO_OBJECT, "conditions", .shape = &condition, .is_list = true},
    {3, KUBE_PROTO_TEXT, "message"},
    {4, KUBE_PROTO_TEXT, "reason"},
    {6, KUBE_PROTO_TEXT, "podIP"},
    {8, KUBE_PROTO_OBJECT, "containerStatuses", .shape = &container_status, .is_list = true},
    {10, KUBE_PROTO_OBJECT, "initContainerStatuses", .shape = &container_status, .is_list = true},
}};

const struct kube_proto_shape pod_shape = {{
    {1, KUBE_PROTO_OBJECT, "metadata", .shape = &kube_proto_metadata},
    {2, KUBE_PROTO_OBJECT, "spec", .shape = &spec},
    {3, KUBE_PROTO_OBJECT, "status", .shape = &status},
}};
