/* What a watch of pods reads where the server writes protobuf: what pod/facts.h has, and
 * what it is decided by. The tree of it lives until the facts are decoded. */
#pragma once

#include "kube/proto.h"

extern const struct kube_proto_shape pod_shape;
