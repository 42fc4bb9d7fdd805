"""VGG16 (Fluid, FC 512) in TensorFlow: one graph, NHWC, oneDNN, fused batch norm and fused Adam, synthetic CIFAR-10
shapes. Reads BENCHD_*, prints records.

train.py [--precision fp32|bf16]      bf16: as mixed_bfloat16, weights stay fp32

With exchange AllReduce the workers are a MultiWorkerMirroredStrategy (gRPC rings), with PServer the trainers and pservers
an asynchronous ParameterServerStrategy (servers.py); both read TF_CONFIG too.

The model `imagenet` is train_imagenet.py, resnet20 to resnet56 are train_mlbench.py."""
import argparse
import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import benchd_replica as benchd  # noqa: E402
import servers  # noqa: E402
import training  # noqa: E402


class Network(training.Layers):
    """Parameters and the forward pass."""

    def __init__(self, tf, precision, seed):
        super().__init__(tf, seed)
        self.dtype, self.stacks = tf.bfloat16 if precision == "bf16" else tf.float32, []
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
        return [self.variable(weight), self.variable(self.tf.zeros(width))]

    def dense(self, n_in, n_out):
        bound = benchd.xavier_bound(n_in, n_out)
        return self.variables(self.random.uniform((n_in, n_out), -bound, bound), n_out)

    def norm_relu(self, y, *norm):
        return self.tf.nn.relu(self.normalise(y, *norm))

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


def adam(tf, params):
    moments = list(zip(training.state(tf, params), training.state(tf, params)))
    powers = [training.own_variable(tf, 1.0), training.own_variable(tf, 1.0)]

    def apply(gradients):
        powers[0].assign(powers[0] * benchd.BETA1)
        powers[1].assign(powers[1] * benchd.BETA2)
        for param, grad, (m, v) in zip(params, gradients, moments):
            tf.raw_ops.ResourceApplyAdam(
                var=param.handle, m=m.handle, v=v.handle, beta1_power=powers[0].read_value(),
                beta2_power=powers[1].read_value(), lr=benchd.LEARNING_RATE, beta1=benchd.BETA1, beta2=benchd.BETA2,
                epsilon=benchd.ADAM_EPSILON, grad=tf.cast(grad, tf.float32))
    return apply


def tensors(tf, replica):
    return [(tf.constant(x.transpose(0, 2, 3, 1)), tf.constant(labels)) for x, labels in replica.batches()]


def main():
    if os.environ.get("BENCHD_MODEL") == "imagenet":
        import train_imagenet
        return train_imagenet.main()
    if os.environ.get("BENCHD_MODEL", "").startswith("resnet"):
        import train_mlbench
        return train_mlbench.main()
    parser = argparse.ArgumentParser()
    parser.add_argument("--precision", choices=("fp32", "bf16"), default="fp32")
    args = parser.parse_args()
    replica = benchd.Replica(exchanges=("None", "AllReduce", "PServer"), roles=("trainer", "worker", "pserver"))
    tf = training.load(replica)
    training.start(tf, replica, args.precision)
    strategy, mean = training.workers(tf, replica)

    def make():
        network = Network(tf, args.precision, replica.seed)
        return training.make_update(tf, network, adam(tf, network.params), mean)

    def dataset():
        xs, labels = zip(*tensors(tf, replica))
        return tf.data.Dataset.from_tensor_slices((tf.stack(xs), tf.stack(labels))).repeat()

    if replica.exchange == "PServer":
        servers.serve(tf, replica, make, dataset)
    with strategy.scope():
        update = make()
    replica.train(training.graph(tf, strategy, update), tensors(tf, replica))


if __name__ == "__main__":
    main()
