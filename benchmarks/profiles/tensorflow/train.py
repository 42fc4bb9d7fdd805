"""VGG16 (Fluid, FC 512) in TensorFlow: one graph, NHWC, oneDNN, fused batch norm and fused Adam, synthetic CIFAR-10
shapes. Reads BENCHD_*, prints records.

train.py [--precision fp32|bf16]      bf16: as mixed_bfloat16, weights stay fp32

With exchange AllReduce the workers are a MultiWorkerMirroredStrategy (gRPC rings), with PServer the trainers and pservers
a ParameterServerStrategy; both read TF_CONFIG too. The parameter servers are asynchronous, as TensorFlow's always are:
no trainer waits for another, and a step is one of every trainer. Trainer 0 also coordinates."""
import argparse
import json
import os
import pathlib
import socket
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import benchd_replica as benchd  # noqa: E402


def own_variable(tf, value):
    """One that replicas of a strategy need not have in common."""
    return tf.Variable(value, synchronization=tf.VariableSynchronization.ON_READ,
                       aggregation=tf.VariableAggregation.ONLY_FIRST_REPLICA)


class Network:
    """Parameters and the forward pass, in tf.nn: what Keras adds costs time that is not TensorFlow's."""

    def __init__(self, tf, precision, seed):
        self.tf, self.dtype = tf, tf.bfloat16 if precision == "bf16" else tf.float32
        self.random = tf.random.Generator.from_seed(seed)
        self.params, self.running, self.stacks = [], [], []
        channels = 3
        for stack in benchd.STACKS:
            convs = []
            for width, drop in stack:
                weight = self.random.normal((3, 3, channels, width), 0, benchd.conv_std(channels))
                convs.append((*self.variables(weight, width), *self.norm(width), drop))
                channels = width
            self.stacks.append(convs)
        self.fc1 = (*self.dense(channels, benchd.WIDTH), *self.norm(benchd.WIDTH))
        self.fc2 = self.dense(benchd.WIDTH, benchd.WIDTH)
        self.fc3 = self.dense(benchd.WIDTH, benchd.CLASSES)

    def variables(self, weight, width):
        made = [self.tf.Variable(weight), self.tf.Variable(self.tf.zeros(width))]
        self.params += made
        return made

    def dense(self, n_in, n_out):
        bound = benchd.xavier_bound(n_in, n_out)
        return self.variables(self.random.uniform((n_in, n_out), -bound, bound), n_out)

    def norm(self, width):
        made = [self.tf.Variable(self.tf.ones(width)), self.tf.Variable(self.tf.zeros(width))]
        running = [own_variable(self.tf, self.tf.zeros(width)), own_variable(self.tf, self.tf.ones(width))]
        self.params += made
        self.running += running
        return [*made, running]

    def norm_relu(self, y, gamma, beta, running):
        tf = self.tf
        y, mean, variance = tf.compat.v1.nn.fused_batch_norm(y, gamma, beta, epsilon=benchd.BN_EPSILON)
        for old, new in zip(running, (mean, variance)):
            old.assign_sub((1 - benchd.BN_KEEP) * (old - new))
        return tf.nn.relu(y)

    def cast(self, x):
        return self.tf.cast(x, self.dtype)

    def drop(self, y, rate):
        return self.tf.nn.dropout(y, rate) if rate else y

    def linear(self, x, weight, bias):
        return self.tf.nn.bias_add(self.tf.matmul(x, self.cast(weight)), self.cast(bias))

    def loss(self, x, labels):
        tf = self.tf
        y = self.cast(x)
        for stack in self.stacks:
            for weight, bias, gamma, beta, running, drop in stack:
                y = tf.nn.bias_add(tf.nn.conv2d(y, self.cast(weight), 1, "SAME"), self.cast(bias))
                y = self.drop(self.norm_relu(y, gamma, beta, running), drop)
            y = tf.nn.max_pool2d(y, 2, 2, "VALID")
        y = self.drop(tf.reshape(y, (-1, 1, 1, y.shape[-1])), benchd.HEAD_DROPOUT)
        weight, bias, gamma, beta, running = self.fc1
        y = self.linear(y[:, 0, 0, :], weight, bias)[:, None, None, :]
        y = self.drop(self.norm_relu(y, gamma, beta, running)[:, 0, 0, :], benchd.HEAD_DROPOUT)
        logits = tf.cast(self.linear(self.linear(y, *self.fc2), *self.fc3), tf.float32)
        return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits))


def make_update(tf, network, combine=lambda gradients: gradients):
    """One step: forward, backward, `combine` for gradients, Adam. Not a graph yet."""
    state = [(tf.Variable(tf.zeros_like(p)), tf.Variable(tf.zeros_like(p))) for p in network.params]
    powers = [own_variable(tf, 1.0), own_variable(tf, 1.0)]

    def update(x, labels):
        with tf.GradientTape() as tape:
            loss = network.loss(x, labels)
        gradients = combine(tape.gradient(loss, network.params))
        powers[0].assign(powers[0] * benchd.BETA1)
        powers[1].assign(powers[1] * benchd.BETA2)
        for param, grad, (m, v) in zip(network.params, gradients, state):
            tf.raw_ops.ResourceApplyAdam(
                var=param.handle, m=m.handle, v=v.handle, beta1_power=powers[0].read_value(),
                beta2_power=powers[1].read_value(), lr=benchd.LEARNING_RATE, beta1=benchd.BETA1, beta2=benchd.BETA2,
                epsilon=benchd.ADAM_EPSILON, grad=tf.cast(grad, tf.float32))
        return loss

    return update


def make_step(tf, network):
    return tf.function(make_update(tf, network))


def tensors(tf, replica):
    return [(tf.constant(x.transpose(0, 2, 3, 1)), tf.constant(labels)) for x, labels in replica.batches()]


def train_mirrored(tf, replica, precision):
    """A worker of several: gradients are the mean of all workers'."""
    options = tf.distribute.experimental.CommunicationOptions(
        implementation=tf.distribute.experimental.CommunicationImplementation.RING)
    strategy = tf.distribute.MultiWorkerMirroredStrategy(communication_options=options)

    def combine(gradients):
        return tf.distribute.get_replica_context().all_reduce(tf.distribute.ReduceOp.MEAN, gradients)

    with strategy.scope():
        update = make_update(tf, Network(tf, precision, replica.seed), combine)
    step = tf.function(lambda x, labels: strategy.run(update, (x, labels)))
    replica.train(lambda x, labels: strategy.experimental_local_results(step(x, labels))[0], tensors(tf, replica))


class Mail:
    """Texts from the coordinator to each server of the cluster, through a queue that the server has."""

    def __init__(self, tf, target, job, task):
        self.tf, self.graph = tf, tf.Graph()
        with self.graph.as_default(), tf.device(f"/job:{job}/task:{task}"):
            queue = tf.queue.FIFOQueue(4, tf.string, shared_name="benchd")
            self.text = tf.compat.v1.placeholder(tf.string, ())
            self.put, self.get = queue.enqueue(self.text), queue.dequeue()
        self.session = tf.compat.v1.Session(target, graph=self.graph)

    def send(self, text):
        self.session.run(self.put, {self.text: text})

    def wait(self):
        return self.session.run(self.get).decode("utf-8")


def others_first(cluster):
    """(job, index, address) of all, trainer 0 at the end: it coordinates, and ends when it has read its own mail. Whoever
    came after it might wait for a mail that is never sent."""
    tasks = [(job, i, address) for job, addresses in cluster.items() for i, address in enumerate(addresses)]
    return sorted(tasks, key=lambda task: task[:2] == ("worker", 0))


def outlive(address, limit_s=30.0):
    """Returns when no process listens there any more. A mail is sent when its reader has answered, and a reader that ended
    before would let trainer 0 wait for ever."""
    host, port = address.rsplit(":", 1)
    end_s = time.monotonic() + limit_s
    while time.monotonic() < end_s:
        try:
            socket.create_connection((host.strip("[]"), int(port)), timeout=2).close()
        except OSError:
            return
        time.sleep(0.1)


def timed_steps(stamps, losses, training, begin_s):
    """(ns since the begin, loss) of each step: the n-th of every trainer is done when n of each are."""
    done = sorted(zip(stamps, losses))
    return [(int((done[i + training - 1][0] - begin_s) * 1e9), done[i + training - 1][1])
            for i in range(0, len(done), training)]


def coordinate(tf, replica, precision, cluster, mails):
    """Lets all trainers train, and reports to them what they did."""
    resolver = tf.distribute.cluster_resolver.SimpleClusterResolver(
        tf.train.ClusterSpec(cluster), rpc_layer="grpc")
    strategy = tf.distribute.ParameterServerStrategy(resolver)
    with strategy.scope():
        update = make_update(tf, Network(tf, precision, replica.seed))
    coordinator = tf.distribute.coordinator.ClusterCoordinator(strategy)
    xs, ys = zip(*tensors(tf, replica))

    def dataset():
        return tf.data.Dataset.from_tensor_slices((tf.stack(xs), tf.stack(ys))).repeat()

    @tf.function
    def step(iterator):
        loss = strategy.run(update, next(iterator))
        with tf.control_dependencies([loss]):
            return loss, tf.timestamp()

    iterator = iter(coordinator.create_per_worker_dataset(dataset))

    def run(steps):
        values = [coordinator.schedule(step, (iterator,)) for _ in range(steps * replica.training)]
        coordinator.join()
        return values

    run(replica.warmup_steps)
    for mail in mails:
        mail.send("begin")
    begin_ns, begin_s = time.monotonic_ns(), time.time()
    values = run(replica.steps)
    duration_ns = time.monotonic_ns() - begin_ns
    fetched = [value.fetch() for value in values]
    steps = timed_steps([float(stamp) for _, stamp in fetched], [float(loss) for loss, _ in fetched], replica.training,
                        begin_s)
    for mail in mails:
        mail.send(json.dumps({"duration_ns": duration_ns, "steps": steps}))


def end_with(replica, work):
    """A thread's mistake ends the process: it would not be noticed."""
    try:
        work()
    except BaseException as error:
        try:
            replica.fail(1, f"the coordinator failed: {error}"[:2000])
        finally:
            os._exit(1)


def serve(tf, replica, precision):
    """A trainer or pserver of several."""
    import threading
    config = json.loads(os.environ["TF_CONFIG"])
    cluster, task = config["cluster"], config["task"]
    limits = tf.compat.v1.ConfigProto(intra_op_parallelism_threads=replica.threads,
                                      inter_op_parallelism_threads=replica.training + 1)
    server = tf.distribute.Server(tf.train.ClusterSpec(cluster), task["type"], task["index"], config=limits, start=True)
    if task["type"] == "worker" and task["index"] == 0:
        mails = [Mail(tf, f"grpc://{address}", job, i) for job, i, address in others_first(cluster)]
        threading.Thread(target=end_with, daemon=True, args=(
            replica, lambda: coordinate(tf, replica, precision, cluster, mails))).start()
    mail = Mail(tf, server.target, task["type"], task["index"])
    mail.wait()
    cpu_ns = time.process_time_ns()
    done = json.loads(mail.wait())
    if replica.role != "pserver":
        replica.report(done["duration_ns"], time.process_time_ns() - cpu_ns, done["steps"])
    sys.stdout.flush()
    if (task["type"], task["index"]) != ("worker", 0):
        outlive(cluster["worker"][0])
    os._exit(0)  # a server of TensorFlow cannot be stopped


def prepare(replica):
    """Before TensorFlow is imported, which reads these once. By itself it leaves oneDNN off on CPUs without AVX-512 VNNI; on an AMD
    EPYC with AVX2 it trains this network 2.7 times as fast with it."""
    replica.limit_threads()
    for name, value in (("TF_ENABLE_ONEDNN_OPTS", "1"), ("TF_CPP_MIN_LOG_LEVEL", "2"), ("CUDA_VISIBLE_DEVICES", "")):
        os.environ.setdefault(name, value)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--precision", choices=("fp32", "bf16"), default="fp32")
    args = parser.parse_args()
    replica = benchd.Replica(exchanges=("None", "AllReduce", "PServer"), roles=("trainer", "worker", "pserver"))
    prepare(replica)
    import tensorflow as tf
    tf.config.threading.set_intra_op_parallelism_threads(replica.threads)
    # A worker that waits for others holds one thread; with one alone no thread would answer them.
    is_alone = replica.training == 1 and replica.exchange != "PServer"
    tf.config.threading.set_inter_op_parallelism_threads(1 if is_alone else replica.training + 1)
    tf.random.set_seed(replica.seed)
    replica.start("TensorFlow", tf.__version__, args.precision, layout="NHWC", onednn=os.environ["TF_ENABLE_ONEDNN_OPTS"])
    if replica.exchange == "PServer":
        serve(tf, replica, args.precision)
    elif replica.training > 1 and replica.exchange == "AllReduce":
        train_mirrored(tf, replica, args.precision)
    else:
        replica.train(make_step(tf, Network(tf, args.precision, replica.seed)), tensors(tf, replica))


if __name__ == "__main__":
    main()
