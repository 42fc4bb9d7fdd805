/* The words of a definition's enums, see spec_names.h. */
#include "spec/spec_names.h"

const char *const sweep_kind_names[] = {"grid", "zip", "points"};
const char *const dataset_kind_names[] = {"Synthetic", "Cifar10", "Idx"};
const char *const baseline_kind_names[] = {"SingleNode", "Point"};
const char *const order_kind_names[] = {"Interleaved", "Sequential"};
const char *const on_trial_failure_names[] = {"Retry", "Skip", "Stop"};
const char *const metric_names[] = {"throughput", "speedup", "efficiency", "timeToAccuracy",
                                    "accuracyAfterTime"};
const char *const clean_pod_policy_names[] = {"All", "Running", "None", "OnSuccess"};
const char *const addressing_names[] = {"Auto", "Dns", "Ip"};
