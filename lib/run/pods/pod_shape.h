/* What a watch of pods reads where the server writes protobuf: what pod_prune keeps,
 * and what it decides by. */
#pragma once

#include "kube/proto.h"

extern const struct kube_proto_shape pod_shape;
