"""ParameterServerStrategy: trainers and servers, each with a tf.distribute.Server. Trainer 0 also coordinates. The parameter servers are
asynchronous, as TensorFlow's always are: no trainer waits for another, and a step is one of every trainer."""
import json
import os
import socket
import sys
import threading
import time


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


def timed_steps(done, training):
    """(ns, loss) of each step of (ns, loss) of what the trainers did: the n-th of every trainer is done when n of each are."""
    return sorted(done)[training - 1::training]


def coordinate(tf, replica, make, dataset, cluster, mails):
    """Lets all trainers train, and reports to them what they did."""
    resolver = tf.distribute.cluster_resolver.SimpleClusterResolver(
        tf.train.ClusterSpec(cluster), rpc_layer="grpc")
    strategy = tf.distribute.ParameterServerStrategy(resolver)
    with strategy.scope():
        update = make()
    coordinator = tf.distribute.coordinator.ClusterCoordinator(strategy)

    @tf.function
    def step(iterator):
        return strategy.run(update, next(iterator))

    iterator = iter(coordinator.create_per_worker_dataset(dataset))

    def run(steps):
        """(ns since the begin, loss) of each: a value is there when its whole step is over, the update included, and not when its loss is known."""
        begin_ns = time.monotonic_ns()
        values = [coordinator.schedule(step, (iterator,)) for _ in range(steps * replica.training)]
        losses = (float(value.fetch()) for value in values)
        done = [(time.monotonic_ns() - begin_ns, loss) for loss in losses]
        coordinator.join()
        return done, time.monotonic_ns() - begin_ns

    run(replica.warmup_steps)
    for mail in mails:
        mail.send("begin")
    done, duration_ns = run(replica.steps)
    steps = timed_steps(done, replica.training)
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


def serve(tf, replica, make, dataset):
    """A trainer or pserver of several. make() -> update, dataset() -> endless batches, which each trainer makes for itself."""
    config = json.loads(os.environ["TF_CONFIG"])
    cluster, task = config["cluster"], config["task"]
    limits = tf.compat.v1.ConfigProto(intra_op_parallelism_threads=replica.threads,
                                      inter_op_parallelism_threads=replica.training + 1)
    server = tf.distribute.Server(tf.train.ClusterSpec(cluster), task["type"], task["index"], config=limits, start=True)
    if task["type"] == "worker" and task["index"] == 0:
        mails = [Mail(tf, f"grpc://{address}", job, i) for job, i, address in others_first(cluster)]
        threading.Thread(target=end_with, daemon=True, args=(
            replica, lambda: coordinate(tf, replica, make, dataset, cluster, mails))).start()
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
