"""Task 1a of mlbench in TensorFlow, one process or a MultiWorkerMirroredStrategy (gRPC rings, TF_CONFIG); mlbench_resnet.py has the task,
and what the environment may ask for. train.py starts it for the models resnet20, resnet32, resnet44 and resnet56, and those with -v2. The
network is that of the profile pytorch, with the same distributions of initial weights; other numbers are drawn from them. A step is one
graph, so the times of its parts are not known; the first epoch has the time of making the graph."""
import math

import benchd_replica as benchd  # train.py made both known
import mlbench_resnet as task
import training


class Network(training.Layers):
    """A list of functions (y, trains) -> y, NHWC; see resnet() of the profile pytorch."""

    def __init__(self, tf, options, seed):
        super().__init__(tf, seed)
        self.is_v2, channels = options.is_v2, options.width
        self.layers = [self.conv(3, channels), *(() if self.is_v2 else [self.active(channels)])]
        for stage in range(3):
            for i in range(options.blocks):
                self.layers.append(self.block(channels, options.width << stage, 2 if stage and i == 0 else 1))
                channels = options.width << stage
        self.layers += [self.active(channels)] if self.is_v2 else []
        bound = 1 / math.sqrt(channels)
        self.dense = [self.variable(self.random.uniform(shape, -bound, bound)) for shape in ((channels, task.CLASSES), (task.CLASSES,))]

    def conv(self, channels, out, stride=1):
        weight = self.variable(self.random.normal((3, 3, channels, out), 0, benchd.conv_std(channels)))
        return lambda y, _: self.tf.nn.conv2d(y, weight, stride, [[0, 0], [1, 1], [1, 1], [0, 0]])

    def normed(self, width):
        norm = self.norm(width)
        return lambda y, trains: self.normalise(y, *norm, trains)

    def active(self, width):
        normed = self.normed(width)
        return lambda y, trains: self.tf.nn.relu(normed(y, trains))

    def block(self, channels, out, stride):
        tf = self.tf
        body = [*([self.active(channels)] if self.is_v2 else ()), self.conv(channels, out, stride), self.active(out), self.conv(out, out),
                *(() if self.is_v2 else [self.normed(out)])]

        def run(y, trains):
            shortcut = tf.pad(y[:, ::stride, ::stride, :], ((0, 0), (0, 0), (0, 0), (0, out - channels)))
            y = self.chain(body, y, trains) + shortcut
            return y if self.is_v2 else tf.nn.relu(y)
        return run

    @staticmethod
    def chain(layers, y, trains):
        for layer in layers:
            y = layer(y, trains)
        return y

    def logits(self, x, trains):
        tf, (weight, bias) = self.tf, self.dense
        return tf.matmul(tf.reduce_mean(self.chain(self.layers, x, trains), (1, 2)), weight) + bias

    def loss(self, x, labels):
        tf = self.tf
        return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=self.logits(x, True)))

    def count_right(self, x, labels):
        return self.tf.math.count_nonzero(self.tf.argmax(self.logits(x, False), 1) == labels)


class Trainer(task.Trainer):
    def __init__(self, tf, replica, options):
        self.tf = tf
        strategy, mean = training.workers(tf, replica)
        with strategy.scope():
            network = Network(tf, options, replica.seed)
            sgd = training.sgd(tf, network.params, task.MOMENTUM, task.WEIGHT_DECAY, nesterov=True)
        self.update, self.right, self.total = (training.graph(tf, strategy, function) for function in (
            training.make_update(tf, network, sgd, mean), network.count_right, lambda values: mean([values * replica.training])))

    def sum(self, *values):
        return self.total(self.tf.constant(values, self.tf.float64))[0].numpy().tolist()

    def tensors(self, x, labels):
        return self.tf.constant(x.transpose(0, 2, 3, 1)), self.tf.constant(labels)

    def step(self, rate, x, labels):
        return float(self.update(*self.tensors(x, labels), self.tf.constant(rate, self.tf.float32)))

    def count_right(self, x, labels):
        return int(self.right(*self.tensors(x, labels)))


def main():
    replica = task.new_replica()
    options = task.Options(replica)
    tf = training.load(replica)
    print(f"TensorFlow {tf.__version__}", flush=True)
    import numpy
    Trainer(tf, replica, options).train(replica, options, task.Samples(numpy, replica, options))
