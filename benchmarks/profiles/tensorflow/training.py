"""What the programs of this profile share: how TensorFlow starts, layers, a step, and its forms of workers that exchange gradients."""
import os
import sys

import benchd_replica as benchd


def prepare(replica):
    """Before TensorFlow is imported, which reads these once. By itself it leaves oneDNN off on CPUs without AVX-512 VNNI; on an AMD
    EPYC with AVX2 it trains VGG16 2.7 times as fast with it."""
    replica.limit_threads()
    for name, value in (("TF_ENABLE_ONEDNN_OPTS", "1"), ("TF_CPP_MIN_LOG_LEVEL", "2"), ("CUDA_VISIBLE_DEVICES", "")):
        os.environ.setdefault(name, value)


def load(replica):
    """TensorFlow, with the threads and the seed of the replica."""
    prepare(replica)
    sys.path.remove(os.path.dirname(benchd.__file__))  # its folder jax would be JAX for Keras
    import tensorflow as tf
    tf.config.threading.set_intra_op_parallelism_threads(replica.threads)
    # A worker that waits for others holds one thread; with one alone no thread would answer them.
    is_alone = replica.training == 1 and replica.exchange != "PServer"
    tf.config.threading.set_inter_op_parallelism_threads(1 if is_alone else replica.training + 1)
    tf.random.set_seed(replica.seed)
    return tf


def start(tf, replica, *words, **facts):
    replica.start("TensorFlow", tf.__version__, *words, layout="NHWC", onednn=os.environ["TF_ENABLE_ONEDNN_OPTS"], **facts)


def own_variable(tf, value):
    """One that replicas of a strategy need not have in common."""
    return tf.Variable(value, synchronization=tf.VariableSynchronization.ON_READ,
                       aggregation=tf.VariableAggregation.ONLY_FIRST_REPLICA)


class Layers:
    """Parameters and layers of a network in tf.nn: what Keras adds costs time that is not TensorFlow's."""

    def __init__(self, tf, seed):
        self.tf, self.random, self.params = tf, tf.random.Generator.from_seed(seed), []

    def variable(self, value):
        self.params.append(self.tf.Variable(value))
        return self.params[-1]

    def norm(self, width):
        """Of a batch: gamma, beta, and the running mean and variance, which are no parameters."""
        tf = self.tf
        running = [own_variable(tf, tf.zeros(width)), own_variable(tf, tf.ones(width))]
        return [self.variable(tf.ones(width)), self.variable(tf.zeros(width)), running]

    def normalise(self, y, gamma, beta, running, trains=True):
        fused = self.tf.compat.v1.nn.fused_batch_norm
        if not trains:
            return fused(y, gamma, beta, *running, epsilon=benchd.BN_EPSILON, is_training=False)[0]
        y, *now = fused(y, gamma, beta, epsilon=benchd.BN_EPSILON)
        for old, new in zip(running, now):
            old.assign_sub((1 - benchd.BN_KEEP) * (old - new))
        return y


def state(tf, params):
    """A variable for each parameter, where that is: an update is one operation with both."""
    made = []
    for param in params:
        with tf.distribute.get_strategy().extended.colocate_vars_with(param):
            made.append(tf.Variable(tf.zeros_like(param)))
    return made


def sgd(tf, params, momentum, decay, nesterov=False, rate=None):
    """The arithmetic of torch.optim.SGD. The rate is that of all steps, or each step has its own."""
    speeds = state(tf, params)

    def apply(gradients, rate=rate):
        for param, speed, gradient in zip(params, speeds, gradients):
            with tf.device(param.device):  # a server's: the parameter does not travel once more
                tf.raw_ops.ResourceApplyMomentum(var=param.handle, accum=speed.handle, lr=rate, momentum=momentum,
                                                 grad=gradient + decay * param, use_nesterov=nesterov)
    return apply


def make_update(tf, network, apply, combine=lambda gradients: gradients):
    """One step: forward, backward, `combine` and `apply` for gradients. Not a graph yet."""
    def update(x, labels, *rate):
        with tf.GradientTape() as tape:
            loss = network.loss(x, labels)
        apply(combine(tape.gradient(loss, network.params)), *rate)
        return loss

    return update


def workers(tf, replica):
    """A strategy, and what makes the mean of all workers' gradients."""
    if replica.training == 1 or replica.exchange != "AllReduce":
        return tf.distribute.get_strategy(), lambda gradients: gradients
    options = tf.distribute.experimental.CommunicationOptions(
        implementation=tf.distribute.experimental.CommunicationImplementation.RING)
    return (tf.distribute.MultiWorkerMirroredStrategy(communication_options=options),
            lambda gradients: tf.distribute.get_replica_context().all_reduce(tf.distribute.ReduceOp.MEAN, gradients))


def graph(tf, strategy, function):
    """The function as a graph, run by this worker; what it returns there."""
    run = tf.function(lambda *args: strategy.run(function, args), reduce_retracing=True)
    return lambda *args: strategy.experimental_local_results(run(*args))[0]
