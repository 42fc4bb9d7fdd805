"""VGG16 (Fluid, FC 512) in TensorFlow: one graph, NHWC, oneDNN, fused batch norm and fused Adam, synthetic CIFAR-10
shapes. Reads BENCHD_*, prints records.

train.py [--precision fp32|bf16]      bf16: as mixed_bfloat16, weights stay fp32"""
import argparse
import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import benchd_replica as benchd  # noqa: E402


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
        running = [self.tf.Variable(self.tf.zeros(width)), self.tf.Variable(self.tf.ones(width))]
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


def make_step(tf, network):
    state = [(tf.Variable(tf.zeros_like(p)), tf.Variable(tf.zeros_like(p))) for p in network.params]
    powers = [tf.Variable(1.0), tf.Variable(1.0)]

    @tf.function
    def step(x, labels):
        with tf.GradientTape() as tape:
            loss = network.loss(x, labels)
        powers[0].assign(powers[0] * benchd.BETA1)
        powers[1].assign(powers[1] * benchd.BETA2)
        for param, grad, (m, v) in zip(network.params, tape.gradient(loss, network.params), state):
            tf.raw_ops.ResourceApplyAdam(
                var=param.handle, m=m.handle, v=v.handle, beta1_power=powers[0].value(), beta2_power=powers[1].value(),
                lr=benchd.LEARNING_RATE, beta1=benchd.BETA1, beta2=benchd.BETA2, epsilon=benchd.ADAM_EPSILON,
                grad=tf.cast(grad, tf.float32))
        return loss

    return step


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--precision", choices=("fp32", "bf16"), default="fp32")
    args = parser.parse_args()
    replica = benchd.Replica()
    replica.limit_threads()
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
    import tensorflow as tf
    tf.config.threading.set_intra_op_parallelism_threads(replica.threads)
    tf.config.threading.set_inter_op_parallelism_threads(1)
    tf.random.set_seed(replica.seed)
    replica.start("TensorFlow", tf.__version__, args.precision, layout="NHWC")
    network = Network(tf, args.precision, replica.seed)
    step = make_step(tf, network)
    replica.train(step, [(tf.constant(x.transpose(0, 2, 3, 1)), tf.constant(labels)) for x, labels in replica.batches()])


if __name__ == "__main__":
    main()
