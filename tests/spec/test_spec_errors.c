/* What is wrong with a definition is said at its place, once, with a fix. */
#include "tests/test.h"
#include "small_definition.h"

/* One change of the sample definition each, and what the message must say. */
static const struct {
    const char *from, *to;
    const char *place;   /* "LINE:COLUMN" */
    const char *message; /* "path: text" */
    const char *fix;     /* NULL: any */
} mistakes[] = {
    {"benchd.io/v1alpha1", "benchd.io/v1", "1:13", "apiVersion: unknown value 'benchd.io/v1'",
     "did you mean 'benchd.io/v1alpha1'?"},
    {"name: sample", "name: Sample", "3:18", "metadata.name: 'Sample' is not a valid name", NULL},
    {"metadata: {name: sample}", "metadata: {}", "3:1",
     "metadata.name: required field 'name' is missing", "add 'name: ...'"},
    {"batchSize: 64", "batchsize: 64", "9:5", "spec.workload.batchsize: unknown field",
     "did you mean 'batchSize'?"},
    {"batchSize: 64", "batchSize: \"64\"", "9:16",
     "spec.workload.batchSize: must be a whole number, not the string '64'",
     "remove the quotes: 64"},
    {"batchSize: 64", "batchSize: 3000000000", "9:16",
     "spec.workload.batchSize: 3000000000 is out of range: must be 1 to 2147483648", NULL},
    {"kind: Synthetic", "kind: synthetic", "8:21",
     "spec.workload.dataset.kind: unknown value 'synthetic'", "did you mean 'Synthetic'?"},
    {"mode: Sync", "mode: async", "10:37", "spec.workload.exchange.mode: unknown value 'async'",
     "did you mean 'Async'?"},
    {"mode: Sync", "mode: Boundd", "10:37", "spec.workload.exchange.mode: unknown value 'Boundd'",
     "allowed: Sync or Async"},
    {"mode: Sync", "mode: Async, localSteps: 2", "10:44",
     "spec.workload.exchange.localSteps: parameters are averaged over all trainers",
     "remove it, or write mode: Sync"},
    {"wire: FP32", "wire: BF16, localSteps: 2", "10:55",
     "spec.workload.exchange.localSteps: localSteps needs wire FP32", "write wire: FP32"},
    {"wire: FP32", "localSteps: 5", "20:26",
     "spec.measure.warmupSteps: 1 is not a multiple of the 5 steps after which system "
     "'benchworker' exchanges",
     "write warmupSteps: 5"},
    {"wire: FP32", "wire: Fp32", "10:49", "spec.workload.exchange.wire: unknown value 'Fp32'",
     "did you mean 'FP32'? allowed: FP32 or BF16"},
    {"batchSize: 64", "link: {rate: 1gbps}", "9:18",
     "spec.workload.link.rate: '1gbps' is not a rate from 1mbit to 100gbit",
     "write for example 1gbit or 100mbit"},
    {"batchSize: 64", "link: {delay: 1ms}", "9:5",
     "spec.workload.link.rate: required field 'rate' is missing", "add 'rate: 1gbit'"},
    {"batchSize: 64", "link: {rate: 1gbit, delay: 1}", "9:32", "spec.workload.link.delay",
     "write it with a unit, such as 'delay: 1ms'"},
    {"batchSize: 64", "link: {rate: 1gbit, delay: 2s}", "9:32",
     "spec.workload.link.delay: '2s' is not a delay of at most 1s",
     "write for example 1ms or 250us"},
    {"batch_size: [16]", "batch_size: [16], link: [1gbit, 3]", "12:83",
     "spec.sweep.grid.link[1]: a link must have a rate from 1mbit to 100gbit",
     "write 1gbit, 100mbit, \"1gbit 1ms\" or none"},
    {"batchSize: 64", "compute: Emulated", "9:14",
     "spec.workload.compute: compute Emulated needs a trace: the times of the layers",
     "add the times that benchworker bench -o trace prints"},
    {"batchSize: 64",
     "batchSize: 64\n    trace: {layers: [{name: conv1_1, forwardMicroseconds: 1000, "
     "backwardMicroseconds: 3000}]}",
     "10:5", "spec.workload.trace: a trace is of emulated trainers, and these compute",
     "add 'compute: Emulated', or remove it"},
    {"batchSize: 64",
     "compute: Real\n    trace: {layers: [{name: conv1_1, forwardMicroseconds: 1000, "
     "backwardMicroseconds: 3000}]}",
     "10:5", "spec.workload.trace: a trace is of emulated trainers, and these compute",
     "write 'compute: Emulated', or remove it"},
    {"batchSize: 64", "batchSize: 64\n    compute: Emulated\n    trace: {layers: []}", "11:21",
     "spec.workload.trace.layers: the list is empty", NULL},
    {"batchSize: 64",
     "batchSize: 64\n    compute: Emulated\n    trace: {layers: [{name: a, forwardMicroseconds: "
     "1}]}",
     "11:22",
     "spec.workload.trace.layers[0].backwardMicroseconds: required field 'backwardMicroseconds' is "
     "missing",
     NULL},
    {"batchSize: 64",
     "batchSize: 64\n    compute: Emulated\n    trace: {layers: [{name: a, forwardMicroseconds: 0, "
     "backwardMicroseconds: 0}]}",
     "11:21", "spec.workload.trace.layers: all layers together take no time",
     "record them: benchworker bench -o trace"},
    {"batchSize: 64",
     "batchSize: 64\n    compute: Emulated\n    trace: {layers: [{name: a, forwardMicroseconds: 1, "
     "backwardMicroseconds: 1}, {name: a, forwardMicroseconds: 1, backwardMicroseconds: 1}]}",
     "11:89", "spec.workload.trace.layers[1].name: duplicate 'a'", "remove one of them"},
    {"batchSize: 64",
     "batchSize: 64\n    compute: Emulated\n    trace: {jitter: \"0.4\", layers: [{name: a, "
     "forwardMicroseconds: 1, backwardMicroseconds: 1}]}",
     "11:21", "spec.workload.trace.jitter: must be a ratio from 0 to 0.3, not '0.4'",
     "for example, write \"0.02\" for 2%"},
    {"min: 2, order", "min: 2, max: 9, order", "21:21",
     "spec.repeats.max: max without stopWhen: nothing says when a point may stop earlier",
     "add 'stopWhen: {relativeHalfWidth: \"0.02\"}', or remove max"},
    {"min: 2, order", "min: 3, stopWhen: {relativeHalfWidth: \"0.02\"}, order", "21:21",
     "spec.repeats.stopWhen: stopWhen without max: nothing says when to give up",
     "for example, add 'max: 10' to repeats"},
    {"min: 2, order", "min: 9, max: 5, stopWhen: {relativeHalfWidth: \"0.02\"}, order", "21:18",
     "spec.repeats.min: min (9) is above max (5)", "swap them, or raise max"},
    {"min: 2, order", "max: 4, stopWhen: {relativeHalfWidth: \"0.02\"}, order", "21:18",
     "spec.repeats.max: min (5, the default) is above max (4)", "add 'min: 3', or raise max"},
    {"min: 2, order", "min: 2, max: 5, stopWhen: {relativeHalfWidth: \"0.02\"}, order", "21:18",
     "spec.repeats.min: stopWhen needs the interval of the first min trials, and 2 have none",
     "write 3 or more"},
    {"min: 2, order", "min: 3, max: 5, stopWhen: {relativeHalfWidth: 0}, order", "21:59",
     "spec.repeats.stopWhen.relativeHalfWidth: must be a ratio above 0 and at most 1, not '0'",
     "for example, write \"0.02\" for 2%"},
    {"min: 2, order", "min: 3, max: 5, stopWhen: {relativeHalfWidth: 0.020}, order", "21:59",
     "spec.repeats.stopWhen.relativeHalfWidth: must be a whole number or a string, not a decimal",
     "quote the decimal: \"0.02\""},
    {"batchSize: 64", "batchSize: 64\n    flops: {perSample: 9.3e10}", "10:24",
     "spec.workload.flops.perSample: must be a whole number, not a decimal number",
     "write it without a point and an exponent: 93000000000"},
    {"batch_size: [16]", "batch_size: [10O]", "12:64",
     "spec.sweep.grid.batch_size[0]: must be a whole number, not the string '10O'",
     "did you mean 100?"},
    {"batch_size: [16]", "workers: [1]", "12:51",
     "spec.sweep.grid.workers: 'workers' is swept, but no role uses it",
     "remove it; exchange PServer uses no worker"},
    {"batch_size: [16]", "cpu: [a, a]", "12:60", "spec.sweep.grid.cpu[1]: duplicate value a", NULL},
    {"batch_size: [16]", "batch_size: \"16, 32,64\"", "12:63",
     "spec.sweep.grid.batch_size: must be a list", "write 'batch_size: [16, 32, 64]'"},
    {"trainers: [1, 2, 4]", "trainer: [1, 2, 4]", "12:30",
     "spec.sweep.grid.trainer: unknown sweep parameter 'trainer'", "did you mean 'trainers'?"},
    {"    grid: {pservers: [1, 2], trainers: [1, 2, 4], batch_size: [16]}\n",
     "    points: [{pservers: 1, trainers: 1}, {pservers: 2}]\n", "12:42",
     "spec.sweep.points[1]: 'trainers' is missing, but points[0] has it", NULL},
    {"    grid: {pservers: [1, 2], trainers: [1, 2, 4], batch_size: [16]}\n",
     "    points: [{pservers: 1, trainers: 1}, {pservers: 1, trainers: 1}]\n", "12:42",
     "spec.sweep.points[1]: point 1 is a duplicate of point 0", NULL},
    {"    grid: {pservers: [1, 2], trainers: [1, 2, 4], batch_size: [16]}\n",
     "    points: [[1, 2], {pservers: 1, trainers: 1}]\n", "12:14",
     "spec.sweep.points[0]: must be a map, not a list", NULL},
    {"batch_size: [16]}\n", "batch_size: [16]}\n    exclude: [{cpu: 2}]\n", "13:16",
     "spec.sweep.exclude[0].cpu: 'cpu' is not swept", NULL},
    {"name: cpu", "name: threads", "14:11", "spec.parameters[0].name: 'threads' is built in", NULL},
    {"  baseline:", "  - {name: cpu, targets: [{roles: [trainer], env: [A]}]}\n  baseline:",
     "16:12", "spec.parameters[1].name: duplicate 'cpu'", NULL},
    {"[/spec/containers/0/resources/requests/cpu]", "[/spec/a, /spec/containers/0/name/x]", "15:60",
     "spec.parameters[0].targets[0].paths[1]: the template of pserver has no", NULL},
    {"roles: [pserver, trainer]", "roles: [trainer, trainer]", "15:33",
     "spec.parameters[0].targets[0].roles[1]: duplicate 'trainer'", "remove one of them"},
    {"  repeats: {min: 2, order: Interleaved}", "  repeats: {}", "21:12",
     "spec.repeats: the map is empty", "add a field, or remove it"},
    {"steps: 5", "unit: samples", "20:35", "spec.measure.unit: unknown value 'samples'",
     "did you mean 'Samples'? allowed: Samples or Batches"},
    {"roles: [pserver, trainer]", "roles: [worker]", "15:23",
     "spec.parameters[0].targets[0].roles: roles.worker does not exist",
     "write roles that the definition has, such as [pserver]"},
    {"    pserver: {", "    psrver: {", "18:5", "spec.roles.psrver: unknown field",
     "did you mean 'pserver'?"},
    {"kind: SingleNode}", "kind: Point}", "16:3", "spec.baseline.where: baseline kind Point needs",
     "add the values of a point, such as 'where: {NAME: 1}'"},
    {"{name: benchworker, profile: benchworker}]\n  workload:\n    model: vgg16-fluid-fc512",
     "{name: A, profile: none}]\n  workload:\n    model: mine", "5:20", "spec.systems[0].name: 'A'",
     "use 1 to 32"},
    {"batchSize: 64", "batchSize: 99999999999999999999", "9:16",
     "spec.workload.batchSize: unquoted '99999999999999999999' is out of the range",
     "write a smaller number, or put quotes around it"},
    {"steps: 5", "steps: 5, seed: 1", "20:39", "spec.measure.seed: unknown field",
     "it is a field of spec.workload: move it there"},
    {"  measure:", "  name: x\n  measure:", "20:3", "spec.name: unknown field",
     "it is a field of metadata: move it there"},
    {"  measure:", "  apiVersion: x\n  measure:", "20:3", "spec.apiVersion: unknown field",
     "it is a field of the document: move it there"},
    {"  measure:", "  runPolicy: {trialTimeout: 60}\n  measure:", "20:15",
     "spec.runPolicy.trialTimeout: unknown field", "did you mean 'trialTimeoutSeconds'?"},
    {"  measure:", "  runPolicy: {ttlSecondsAfterFinished: 7d}\n  measure:", "20:40",
     "spec.runPolicy.ttlSecondsAfterFinished: must be", "write 'ttlSecondsAfterFinished: 604800'"},
    {"trainers: [1, 2, 4]", "trainers: [1, 20000]", "12:44",
     "spec.sweep.grid.trainers[1]: 20000 is out of range: must be 1 to 10000", NULL},
    {"  measure:", "  files: a.py\n  measure:", "20:10", "spec.files: must be a list, not a string",
     "write it as a list: [...]"},
    {"  - name: cpu", "    name: cpu", "14:5", "spec.parameters: must be a list, not a map",
     "begin each item with '- '"},
    {"[/spec/containers", "[spec/containers", "15:51",
     "spec.parameters[0].targets[0].paths[0]: 'spec/containers/0/resources/requests/cpu' is "
     "not a path",
     NULL},
    {"containers/0/resources", "containers/1/resources", "15:51",
     "spec.parameters[0].targets[0].paths[0]: the template of pserver has no such path", NULL},
    {"from: pservers", "from: pserver", "18:32",
     "spec.roles.pserver.replicas.from: 'pserver' is not swept", "did you mean 'pservers'?"},
    {"from: trainers", "from: threads", "19:32",
     "spec.roles.trainer.replicas.from: 'threads' is not a number of replicas", NULL},
    {"from: trainers", "value: 2", "12:30",
     "spec.sweep.grid.trainers: 'trainers' is swept, but no role uses it", NULL},
    {"{from: trainers}", "3", "19:25", "spec.roles.trainer.replicas: must be a map",
     "write 'replicas: {value: 3}'"},
    {"{name: main}", "{name: main, command: [1]}", "18:102",
     "spec.roles.pserver.template.spec.containers[0].command[0]: must be a string, not a",
     "put quotes around it"},
    {"{name: main}", "{name: main, env: [{name: A, value: true}]}", "18:115",
     "spec.roles.pserver.template.spec.containers[0].env[0].value: must be a string",
     "put quotes around it"},
    {"{name: main}", "{name: main, resources: {requests: {cpu: 4cores}}}", "18:120",
     "spec.roles.pserver.template.spec.containers[0].resources.requests.cpu: '4cores' is not "
     "a Kubernetes quantity",
     NULL},
    {"  repeats:", "  metrics: [{name: M, query: x}]\n  repeats:", "21:20",
     "spec.metrics[0].name: 'M' is not 1 to 16 of a-z, 0-9 and '_'",
     "for example, write sm_active_ratio"},
    {"  repeats:", "  metrics: [{name: mfu, query: x}]\n  repeats:", "21:20",
     "spec.metrics[0].name: benchd makes 'mfu' itself", "use another one"},
    {"  repeats:", "  metrics: [{name: m, query: x}]\n  repeats:", "21:30",
     "spec.metrics[0].query: without $(WINDOW) it reads samples from before the measured steps",
     "for example, write avg(avg_over_time(NAME[$(WINDOW)]))"},
    {"  repeats:",
     "  metrics: [{name: m, query: '[$(WINDOW)]'}, {name: m, query: '[$(WINDOW)]'}]\n  repeats:",
     "21:53", "spec.metrics[1].name: duplicate 'm'", "remove one of them"},
    {"  repeats:", "  thresholds: [{metric: speedup, min: 0.9}]\n  repeats:", "21:39",
     "spec.thresholds[0].min: must be a whole number or a string, not a decimal number",
     "quote the decimal: \"0.9\""},
    {"  repeats:", "  thresholds: [{metric: efficiency, min: 90%}]\n  repeats:", "21:42",
     "spec.thresholds[0].min: must be a number of 0 or more, not '90%'",
     "for example, write \"0.9\" for 90%"},
    {"  repeats:", "  thresholds: [{metric: speedup, min: 1, evaluate: interval}]\n  repeats:",
     "21:52", "spec.thresholds[0].evaluate: unknown value 'interval'",
     "did you mean 'Interval'? allowed: Value or Interval"},
    {"  repeats:", "  thresholds: [{metric: efficiency, max: 90}]\n  repeats:", "21:42",
     "spec.thresholds[0].max: it is a ratio", "write \"0.9\" for 90%"},
    {"  repeats:", "  thresholds: [{metric: timeToAccuracy, max: 90}]\n  repeats:", "21:25",
     "spec.thresholds[0].metric: spec.measure does not say which accuracy",
     "for example, add 'timeToAccuracy: {accuracy: \"0.8\"}' to measure"},
    {"steps: 5}",
     "accuracyAfterTime: {seconds: 9}}\n  thresholds: [{metric: accuracyAfterTime, min: 80}]",
     "21:49", "spec.thresholds[0].min: an accuracy is a ratio, 1 at most", "write \"0.8\" for 80%"},
    {"steps: 5", "timeToAccuracy: 0.8", "20:45",
     "spec.measure.timeToAccuracy: must be a map, not a decimal number",
     "write 'timeToAccuracy: {accuracy: \"0.8\"}'"},
    {"steps: 5", "accuracyAfterTime: 60", "20:48",
     "spec.measure.accuracyAfterTime: must be a map, not a whole number",
     "write 'accuracyAfterTime: {seconds: 60}'"},
    {"steps: 5", "accuracyAfterTime: {seconds: 10m}", "20:58",
     "spec.measure.accuracyAfterTime.seconds: must be a whole number, not the string '10m'",
     "write 'seconds: 600'"},
    /* What is said about measure is not said again about the threshold. */
    {"steps: 5}", "timeToAccuracy: 0.8}\n  thresholds: [{metric: timeToAccuracy, max: 90}]",
     "20:45", "spec.measure.timeToAccuracy: must be a map", NULL},
    {"steps: 5}",
     "timeToAccuracy: {accuracy: \"0.8\"}}\n  thresholds: [{metric: timeToAccuracy, max: 2m}]",
     "21:46", "spec.thresholds[0].max: must be a number of 0 or more, not '2m'",
     "write 'max: 120'"},
    {"steps: 5", "timeToAccuracy: {}", "20:29",
     "spec.measure.timeToAccuracy: exactly one of accuracy and loss is required",
     "write 'timeToAccuracy: {accuracy: \"0.8\"}'"},
    {"steps: 5", "timeToAccuracy: {accuracy: \"0.8\", loss: \"0.2\"}", "20:29",
     "spec.measure.timeToAccuracy: exactly one of accuracy and loss is required",
     "keep one of them and remove the others"},
    {"baseline: {kind: SingleNode}", "baseline: SingleNode", "16:13",
     "spec.baseline: must be a map, not a string", "write 'baseline: {kind: SingleNode}'"},
    {"repeats: {min: 2, order: Interleaved}", "repeats: 5", "21:12",
     "spec.repeats: must be a map, not a whole number", "write 'repeats: {min: 5}'"},
    {"  parameters:\n", "  parameters:\n  - build\n", "14:5",
     "spec.parameters[0]: must be a map, not a string",
     "write '{name: build, targets: [{roles: [ROLE], env: [VARIABLE]}]}'"},
    {"warmupSteps: 1", "warmup: 3", "20:13", "spec.measure.warmup: unknown field",
     "write 'warmupSteps: 3'"},
    {"  measure:", "  workers: [1, 2]\n  measure:", "20:3", "spec.workers: unknown field",
     "write 'sweep: {grid: {workers: [1, 2]}}'"},
    {"profile: benchworker}", "profile: benchworker, env: {A: 1}}", "5:60",
     "spec.systems[0].env: must be a list, not a map", "write 'env: [{name: NAME, value: VALUE}]'"},
    {"profile: benchworker}", "profile: benchworker, env: [A=1]}", "5:61",
     "spec.systems[0].env[0]: must be a map, not a string", "write '{name: NAME, value: VALUE}'"},
    {"profile: benchworker}", "profile: benchworker, command: python3 a.py}", "5:64",
     "spec.systems[0].command: must be a list, not a string", "write 'command: [python3, a.py]'"},
    {"profile: benchworker}",
     "profile: benchworker, log: {scope: Each, "
     "lines: [{kind: Step, pattern: '(?<rate>) x'}]}}",
     "5:61", "spec.systems[0].log.scope: unknown field",
     "write 'scope: Each' in each item of lines"},
    {"  measure:", "  gpus: 4\n  measure:", "20:3", "spec.gpus: unknown field",
     "write 'devices: {value: 4}' in the role that has them"},
    {"trainers}, template: *pod", "trainers}, gpus: 4, template: *pod", "19:43",
     "spec.roles.trainer.gpus: unknown field", "write 'devices: {value: 4}'"},
    {"trainers}, template: *pod", "trainers}, resources: {limits: {}}, template: *pod", "19:43",
     "spec.roles.trainer.resources: unknown field",
     "write 'devices: {value: N}', or limits in a template of the pod"},
    {"  measure:", "  runPolicy: {activeDeadlineSeconds: 4h}\n  measure:", "20:38",
     "spec.runPolicy.activeDeadlineSeconds: must be a whole number, not the string '4h'",
     "write 'activeDeadlineSeconds: 14400'"},
    {"  measure:", "  runPolicy: {deadlineSeconds: 4h}\n  measure:", "20:15",
     "spec.runPolicy.deadlineSeconds: unknown field", "allowed: activeDeadlineSeconds"},
    {"  measure:", "  model: \"a\\e[31mb\\nc\"\n  measure:", "20:3", "spec.model: unknown field",
     "write 'workload: {model: a?[31mb?c}'"},
    {"  measure:", "  timeout: 4h\n  measure:", "20:3", "spec.timeout: unknown field 'timeout'",
     "write 'runPolicy: {activeDeadlineSeconds: 14400}'"},
    {"grid: {pservers: [1, 2],", "grid: {pservers: 1-4,", "12:22",
     "spec.sweep.grid.pservers: must be a list", "write 'pservers: [1, 2, 3, 4]'"},
    {"grid: {pservers: [1, 2],", "grid: {pservers: [1 2],", "12:23",
     "spec.sweep.grid.pservers[0]: must be a whole number",
     "put commas between the values: [1, 2]"},
    {"  measure:", "  runPolicy: {activeDeadlineSeconds: 4w}\n  measure:", "20:38",
     "spec.runPolicy.activeDeadlineSeconds: must be a whole number, not the string '4w'",
     "write a whole number from 1 to"},
    {"  repeats:", "  local: {baseline: SingleNode}\n  repeats:", "21:11",
     "spec.local.baseline: unknown field 'baseline'", "it is a field of spec: move it there"},
    {"pserver: {replicas: {from: pservers},",
     "pserver: {replicas: {from: pservers}, devices: {from: né},", "18:59",
     "spec.roles.pserver.devices.from: 'né' is not a valid parameter name", NULL},
    {"  repeats:", "  local: {measure: {}}\n  repeats:", "21:20",
     "spec.local.measure: the map is empty", "add a field, or remove it"},
    {"  repeats:", "  local: {workload: {exchange: {wire: BF16}}}\n  repeats:", "21:22",
     "spec.local.workload.exchange.kind: required field 'kind' is missing", "add 'kind: ...'"},
    {"  repeats:", "  local: {sweep: {grid: {pservers: [0]}}}\n  repeats:", "21:37",
     "spec.local.sweep.grid.pservers[0]: 0 is out of range", NULL},
    {"profile: benchworker}", "profile: benchworker, patches: [{path: spec/x, value: 1}]}", "5:72",
     "spec.systems[0].patches[0].path: 'spec/x' is not a path into a pod template", NULL},
};

TEST(reports_what_is_wrong)
{
    size_t n_failed = 0;
    for (size_t i = 0; i < N_ROWS(mistakes); i++) {
        _cleanup_(freep) char *text = definition_with(mistakes[i].from, mistakes[i].to);
        _cleanup_(freep) char *errors = definition_errors(text, NULL);
        _cleanup_(freep) char *start =
            xasprintf("f.yaml:%s: error: %s", mistakes[i].place, mistakes[i].message);
        _cleanup_(freep) char *fix =
            xasprintf("\n  fix: %s", mistakes[i].fix == NULL ? "" : mistakes[i].fix);
        if (strstr(errors, start) == NULL ||
            (mistakes[i].fix != NULL && strstr(errors, fix) == NULL) ||
            strstr(errors, "\n1 error in f.yaml\n") == NULL) {
            n_failed++;
            print_message("# row %zu '%s' -> '%s'\nexpected one error: %s%s\ngot:\n%s", i,
                          mistakes[i].from, mistakes[i].to, start,
                          mistakes[i].fix == NULL ? "" : fix, errors);
        }
    }
    assert_int_equal(n_failed, 0);
}

/* As the API server counts them, whatever bytes they have. */
TEST(lengths_are_of_characters)
{
    static const struct {
        const char *unit;
        size_t n;
        bool is_right;
    } rows[] = {{"x", 1024, true},  {"x", 1025, false}, {"é", 1024, true},
                {"é", 1025, false}, {"名", 1024, true}, {"名", 1025, false}};
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        _cleanup_(buf_done) struct buf line = BUF_INIT;
        buf_puts(&line, "description: ");
        for (size_t k = 0; k < rows[i].n; k++) {
            buf_puts(&line, rows[i].unit);
        }
        buf_puts(&line, "\n  repeats:");
        _cleanup_(freep) char *text = definition_with("repeats:", buf_cstr(&line));
        _cleanup_(freep) char *errors = definition_errors(text, NULL);
        if (rows[i].is_right ? errors[0] != '\0'
                             : strstr(errors, "is longer than 1024 characters") == NULL) {
            fail_msg("row %zu: got '%s'", i, errors);
        }
    }
}

/* Of a stored definition nobody knows the profiles, and yet not every text is a name. */
TEST(a_profile_has_a_name)
{
    _cleanup_(freep) char *text = definition_with("profile: benchworker", "profile: Torch Run");
    _cleanup_(freep) char *errors = definition_errors(text, NULL);
    assert_non_null(strstr(errors, "spec.systems[0].profile: 'Torch Run' is not a valid name"));
}

/* Everything in it would be wrong: that it is something else is the one thing to say. */
#define EMULATED                                                                                   \
    "batchSize: 64\n    compute: Emulated\n    trace: {layers: [{name: conv1_1, "                  \
    "forwardMicroseconds: 1000, backwardMicroseconds: 3000}]}\n"

/* What an emulated trainer cannot be combined with. */
TEST(emulation_has_limits)
{
    static const struct {
        const char *from, *to, *expected; /* NULL: it can */
    } rows[] = {
        {"steps: 5", "steps: 999", NULL},
        {"steps: 5", "steps: 1000",
         "spec.measure.steps: 1 warm-up and 1000 measured steps; compute Emulated takes at most "
         "1000"},
        {"batch_size: [16]", "batch_size: [16, 32]",
         "spec.sweep.grid.batch_size: batch_size is swept, but the times of the trace are those of "
         "one"},
        {"batch_size: [16]", "threads: [1, 2]", "spec.sweep.grid.threads: threads is swept"},
        {"grid: {pservers: [1, 2], trainers: [1, 2, 4], batch_size: [16]}",
         "points: [{pservers: 1, trainers: 1, batch_size: 8}, {pservers: 1, trainers: 2, "
         "batch_size: "
         "9}]",
         "spec.sweep.points: batch_size is swept"},
        {"profile: benchworker}]", "profile: benchworker}, {name: other, profile: pytorch}]",
         "spec.workload.compute: compute Emulated: only benchworker's trainers and workers can be "
         "emulated, and system 'other' has profile 'pytorch'"},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        _cleanup_(freep) char *emulated = definition_with("batchSize: 64\n", EMULATED);
        const char *at = strstr(emulated, rows[i].from);
        assert_non_null(at);
        _cleanup_(freep) char *text = xasprintf("%.*s%s%s", (int)(at - emulated), emulated,
                                                rows[i].to, at + strlen(rows[i].from));
        _cleanup_(freep) char *errors = definition_errors(text, NULL);
        const char *want = rows[i].expected;
        if (want == NULL ? errors[0] != '\0' : strstr(errors, want) == NULL) {
            fail_msg("row %zu\nexpected: %s\ngot:\n%s", i, want == NULL ? "nothing" : want, errors);
        }
    }
}

TEST(workers_are_emulated)
{
    static const struct {
        const char *transport, *expected; /* "": it can */
    } rows[] = {
        {"Auto", ""},
        {"TCP", ""},
        {"NCCL", "spec.workload.compute: compute Emulated exchanges over TCP, because its trainers "
                 "stand for machines of their own, and system 'benchworker' asks for NCCL"},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        _cleanup_(freep) char *text = xasprintf(
            "apiVersion: benchd.io/v1alpha1\nkind: Benchmark\nmetadata: {name: sample}\nspec:\n"
            "  systems: [{name: benchworker, profile: benchworker}]\n"
            "  workload: {model: vgg16-fluid-fc512, batchSize: 16,\n"
            "    exchange: {kind: AllReduce, transport: %s}, compute: Emulated,\n"
            "    trace: {layers: [{name: conv1_1, forwardMicroseconds: 1, backwardMicroseconds: "
            "3}]}}\n"
            "  baseline: {kind: Point, where: {workers: 1}}\n"
            "  sweep: {grid: {workers: [1, 2]}}\n  roles: {worker: {replicas: {from: workers}}}\n",
            rows[i].transport);
        _cleanup_(freep) char *errors = definition_errors(text, NULL);
        if (rows[i].expected[0] == '\0' ? errors[0] != '\0'
                                        : strstr(errors, rows[i].expected) == NULL) {
            fail_msg("row %zu\nexpected: %s\ngot:\n%s", i, rows[i].expected, errors);
        }
    }
}

TEST(another_kind_is_one_problem)
{
    static const struct {
        const char *head, *message, *fix;
    } rows[] = {
        {"apiVersion: kubeflow.org/v1\nkind: PyTorchJob\n",
         "f.yaml:2:7: error: kind: a PyTorchJob is not a Benchmark",
         "benchctl init --profile torchrun "},
        {"apiVersion: kubeflow.org/v2beta1\nkind: MPIJob\n",
         "f.yaml:2:7: error: kind: a MPIJob is not a Benchmark", "benchctl init --profile none "},
        {"apiVersion: benchd.io/v1alpha1\nkind: BenchmarkRun\n",
         "f.yaml:2:7: error: kind: a BenchmarkRun is one run of a Benchmark", "spec.benchmarkRef"},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        _cleanup_(freep) char *text =
            xasprintf("%sspec: {runPolicy: {cleanPodPolicy: None}}\n", rows[i].head);
        _cleanup_(freep) char *errors = definition_errors(text, NULL);
        assert_non_null(strstr(errors, rows[i].message));
        assert_non_null(strstr(errors, rows[i].fix));
        assert_non_null(strstr(errors, "\n1 error in f.yaml\n"));
    }
}

/* A misspelt key is not missing, too; another one is. */
TEST(a_misspelt_field_is_one_problem)
{
    static const struct {
        const char *from, *to;
        const char *messages[2];
        const char *end;
    } rows[] = {
        {"\nspec:",
         "\nspce:",
         {"error: spce: unknown field 'spce'", "fix: did you mean 'spec'?"},
         "\n1 error in f.yaml\n"},
        {"name: sample",
         "nmae: sample",
         {"error: metadata.nmae: unknown field 'nmae'", "fix: did you mean 'name'?"},
         "\n1 error in f.yaml\n"},
        {"name: sample",
         "label: sample",
         {"error: metadata.label: unknown field 'label'",
          "error: metadata.name: required field 'name' is missing"},
         "\n2 errors in f.yaml\n"},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        _cleanup_(freep) char *text = definition_with(rows[i].from, rows[i].to);
        _cleanup_(freep) char *errors = definition_errors(text, NULL);
        for (size_t k = 0; k < 2; k++) {
            if (strstr(errors, rows[i].messages[k]) == NULL) {
                fail_msg("'%s' is not in %s", rows[i].messages[k], errors);
            }
        }
        if (strstr(errors, rows[i].end) == NULL) {
            fail_msg("%s", errors);
        }
    }
}

TEST(reports_all_at_once)
{
    _cleanup_(freep) char *text =
        definition_with("batchSize: 64", "batchSize: 0\n    turbo: 1\n    seed: -1");
    _cleanup_(freep) char *errors = definition_errors(text, NULL);
    assert_non_null(strstr(errors, "f.yaml:9:16: error: spec.workload.batchSize: 0 is out"));
    assert_non_null(strstr(errors, "f.yaml:10:5: error: spec.workload.turbo: unknown field"));
    assert_non_null(strstr(errors, "f.yaml:11:11: error: spec.workload.seed: -1 is out"));
    assert_non_null(strstr(errors, "\n3 errors in f.yaml\n"));
}

/* A name that is not known hides no mistake in its values, nor one that it looks like in those. */
TEST(values_of_an_unknown_name_are_checked)
{
    static const struct {
        const char *name, *fix, *of_value;
    } rows[] = {
        {"trainer: [1, 0]", "did you mean 'trainers'?", "trainer[1]: 0 is out of range"},
        {"trainer: 4", "did you mean 'trainers'?", "trainer: must be a list"},
        {"mem: [1.5]", "declare 'mem' in spec.parameters",
         "mem[0]: must be a whole number or a string"},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        _cleanup_(freep) char *text = definition_with("trainers: [1, 2, 4]", rows[i].name);
        _cleanup_(freep) char *errors = definition_errors(text, NULL);
        if (strstr(errors, "unknown sweep parameter") == NULL ||
            strstr(errors, rows[i].fix) == NULL || strstr(errors, rows[i].of_value) == NULL ||
            strstr(errors, "\n2 errors in f.yaml\n") == NULL) {
            fail_msg("row %zu:\n%s", i, errors);
        }
    }
    _cleanup_(freep) char *excluded =
        definition_with("batch_size: [16]}\n", "batch_size: [16]}\n    exclude: [{trainer: x}]\n");
    _cleanup_(freep) char *errors = definition_errors(excluded, NULL);
    assert_non_null(strstr(errors, "unknown sweep parameter 'trainer'"));
    assert_non_null(strstr(errors, "spec.sweep.exclude[0].trainer: must be a whole number"));
}

/* After an override it may be of values that are gone; see test_spec.c. */
TEST(an_exclusion_without_a_point)
{
    static const struct {
        const char *from, *to, *expected;
    } rows[] = {
        {"batch_size: [16]}\n", "batch_size: [16]}\n    exclude: [{trainers: 4}, {trainers: 3}]\n",
         "f.yaml:13:30: error: spec.sweep.exclude[1]: excludes no point"},
        {"  repeats:",
         "  local: {sweep: {grid: {trainers: [1]}, exclude: [{trainers: 4}]}}\n  repeats:",
         "f.yaml:21:52: error: spec.local.sweep.exclude[0]: excludes no point"},
        {"batch_size: [16]}\n",
         "batch_size: [16]}\n    exclude: [{trainers: 4}]\n  local: {sweep: {grid: {trainers: "
         "[1]}}}\n",
         NULL},
        {"trainers: [1, 2, 4], batch_size: [16]}\n",
         "trainers: [2], batch_size: [16]}\n    exclude: [{trainers: 1}]\n", NULL},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        _cleanup_(freep) char *text = definition_with(rows[i].from, rows[i].to);
        _cleanup_(freep) char *errors =
            definition_errors(text, &(struct spec_overrides){.is_as_written = true});
        if (rows[i].expected == NULL ? *errors != '\0' : strstr(errors, rows[i].expected) == NULL) {
            fail_msg("row %zu:\n%s", i, errors);
        }
    }
}

TEST(wrong_options_name_themselves)
{
    static const char grid[] = "grid: {pservers: [1, 2], trainers: [1, 2, 4], batch_size: [16]}";
    static const char points[] = "points: [{pservers: 1, trainers: 1}, {pservers: 1, trainers: 2}, "
                                 "{pservers: 2, trainers: 4}]";
    static const struct {
        const char *sweep, *set;
        int64_t steps, repeats;
        const char *expected;
    } rows[] = {
        {grid, "pservers=x", 0, 0,
         "--set pservers=x: error: spec.sweep.grid.pservers[0]: must be a whole number, not the "
         "string 'x'"},
        {grid, "pservers=1O", 0, 0, "  fix: did you mean 10?"},
        {grid, "pservers=", 0, 0, "--set pservers=: error: the name or the value is missing"},
        {grid, "pservers", 0, 0, "--set pservers: error: '=' is missing"},
        {grid, "pservers=1,,2", 0, 0,
         "--set pservers=1,,2: error: spec.sweep.grid.pservers[1]: must be a whole number"},
        {grid, "pservers=1,1", 0, 0,
         "--set pservers=1,1: error: spec.sweep.grid.pservers[1]: duplicate value 1"},
        {grid, "pserver=1", 0, 0,
         "--set pserver=1: error: spec.sweep.grid.pserver: unknown sweep parameter 'pserver'"},
        {grid, "spec.measure.steps=5", 0, 0, "  fix: write a swept name, such as workers; other"},
        {grid, "trainers=99999999999999999999", 0, 0, "--set trainers=99999999999999999999: error"},
        {grid, "trainers=012", 0, 0, "--set trainers=012: error: spec.sweep.grid.trainers[0]"},
        {points, "trainers=2,3", 0, 0,
         "--set trainers=2,3: error: no point has trainers=3\n  fix: choose values of "},
        {points, "trainers=8", 0, 0,
         "--set trainers=8: error: no point has trainers=8\n"
         "  fix: choose values of the list, or --set all names of its points for others\n"},
        {points, "batch_size=16", 0, 0, "--set batch_size=16: error: no point has batch_size=16\n"},
        {grid, NULL, 2000000, 0,
         "--steps 2000000: error: spec.measure.steps: 2000000 is out of range"},
        {grid, NULL, 0, 1001, "--repeats 1001: error: spec.repeats.min: 1001 is out of range"},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        _cleanup_(freep) char *text = definition_with(grid, rows[i].sweep);
        _cleanup_(tree_freep) struct node *fields = option_fields(rows[i].steps, rows[i].repeats);
        struct spec_overrides overrides = {
            .sets = &rows[i].set, .n_sets = rows[i].set != NULL, .fields = fields};
        _cleanup_(freep) char *errors = definition_errors(text, &overrides);
        if (strstr(errors, rows[i].expected) == NULL ||
            strstr(errors, "\n1 error on the command line\n") == NULL) {
            fail_msg("row %zu\nexpected: %s\ngot:\n%s", i, rows[i].expected, errors);
        }
    }
}

TEST(an_override_hides_no_mistake)
{
    static const char *const sets[] = {"trainers=1"};
    static const struct spec_overrides ways[] = {{0}, {.local = true}, {.sets = sets, .n_sets = 1}};
    _cleanup_(freep) char *text =
        definition_with("  sweep:\n    grid: {pservers: [1, 2], trainers: [1, 2, 4],",
                        "  local: {sweep: {grid: {trainers: [1]}}}\n  sweep:\n    grid: {pservers: "
                        "[1], trainers: [0],");
    for (size_t i = 0; i < N_ROWS(ways); i++) {
        _cleanup_(freep) char *errors = definition_errors(text, &ways[i]);
        assert_non_null(
            strstr(errors, "f.yaml:13:38: error: spec.sweep.grid.trainers[0]: 0 is out"));
        assert_non_null(strstr(errors, "\n1 error in f.yaml\n"));
    }
}
