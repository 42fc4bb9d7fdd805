/* The words of a definition's enums, see spec.h. */
#include "spec/spec_names.h"

const char *const sweep_kind_names[] = {"grid", "zip", "points"};
const char *const dataset_kind_names[] = {"Synthetic", "Cifar10", "Idx"};
const char *const baseline_kind_names[] = {"SingleNode", "Point"};
const char *const order_kind_names[] = {"Interleaved", "Sequential"};
const char *const on_trial_failure_names[] = {"Retry", "Skip", "Stop"};
const char *const metric_names[] = {"throughput", "speedup", "efficiency"};
const char *const clean_pod_policy_names[] = {"All", "Running", "None", "OnSuccess"};
const char *const addressing_names[] = {"Auto", "Dns", "Ip"};

const char *sweep_kind_to_string(enum sweep_kind kind)
{
    return sweep_kind_names[kind];
}

const char *dataset_kind_to_string(enum dataset_kind kind)
{
    return dataset_kind_names[kind];
}

const char *baseline_kind_to_string(enum baseline_kind kind)
{
    return baseline_kind_names[kind];
}

const char *order_kind_to_string(enum order_kind kind)
{
    return order_kind_names[kind];
}

const char *on_trial_failure_to_string(enum on_trial_failure policy)
{
    return on_trial_failure_names[policy];
}

const char *metric_to_string(enum metric metric)
{
    return metric_names[metric];
}

const char *clean_pod_policy_to_string(enum clean_pod_policy policy)
{
    return clean_pod_policy_names[policy];
}

const char *addressing_to_string(enum addressing addressing)
{
    return addressing_names[addressing];
}
