"""ResNet-50 and Inception v3 of tf.keras.applications, as of the published tf_cnn_benchmarks: SGD with momentum, one process or a
ParameterServerStrategy. train.py starts it for the model `imagenet`. Reads BENCHD_*, and what imagenet_data.py has; prints records. With
servers, TF_CONFIG too.

Keras's ResNet-50 has the stride in the first convolution of a block, as the benchmark of 2017; that of the profile pytorch has it in the
second."""
import imagenet_data as task  # train.py made it known
import servers
import training

NETWORKS = {"resnet50": "ResNet50", "inception3": "InceptionV3"}


class Network:
    def __init__(self, tf, options):
        build = getattr(tf.keras.applications, NETWORKS[options.net])
        self.tf, self.model = tf, build(weights=None, input_shape=(options.size, options.size, 3), classifier_activation=None)
        self.params = [variable.value for variable in self.model.trainable_variables]

    def loss(self, x, labels):
        logits = self.model(x, training=True)
        return self.tf.reduce_mean(self.tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits))


def decode(tf, size, content, numbers):
    """A random part of a JPEG file, scaled, flipped and normalised. A function of Python could not run in another trainer's process."""
    area, down, right, flip = tf.unstack(numbers)
    image = tf.io.decode_jpeg(content, 3)
    whole = tf.cast(tf.shape(image)[:2], tf.float32)
    part = tf.math.ceil(whole * tf.sqrt(task.LEAST_AREA + (1 - task.LEAST_AREA) * area))
    top, left = tf.unstack(tf.cast((whole - part) * tf.stack([down, right]), tf.int32))
    height, width = tf.unstack(tf.cast(part, tf.int32))
    scaled = tf.image.resize(image[top:top + height, left:left + width], (size, size), antialias=True)  # as Pillow's
    return (tf.where(flip < .5, scaled, scaled[:, ::-1]) - task.MEAN) / task.STD


def batches(tf, options, files):
    """Endless; real images are decoded when a step asks for its batch."""
    batch, size = options.replica.batch, options.size
    if options.data == "synthetic":
        x = tf.random.normal((batch, size, size, 3)), tf.random.uniform((batch,), 0, task.CLASSES, tf.int32)
        return tf.data.Dataset.from_tensors(x).repeat()
    paths = tf.constant([str(path) for path in files])

    def example(_):
        """All trainers get this graph. Without a seed each has numbers of its own."""
        numbers = tf.raw_ops.RandomUniform(shape=(6,), dtype=tf.float32)
        path = paths[tf.cast(numbers[0] * len(files), tf.int32)]
        content = tf.io.read_file(path)
        tf.debugging.Assert(tf.io.is_jpeg(content), [path, "cannot be decoded as JPEG"])
        return decode(tf, size, content, numbers[1:5]), tf.cast(numbers[5] * task.CLASSES, tf.int32)

    ahead = tf.data.Options()
    ahead.experimental_optimization.inject_prefetch = False
    return tf.data.Dataset.counter().map(example).batch(batch, drop_remainder=True).with_options(ahead)


def main():
    options = task.Options("PServer", "pserver")
    replica = options.replica
    tf = training.load(replica)
    files = []
    if options.data == "real" and replica.role == "trainer":
        files = options.files(lambda pixels: tf.io.encode_jpeg(pixels, quality=task.QUALITY).numpy())
    training.start(tf, replica, **options.facts())

    def make():
        network = Network(tf, options)
        sgd = training.sgd(tf, network.params, task.MOMENTUM, task.WEIGHT_DECAY, rate=task.RATE)
        return training.make_update(tf, network, sgd)

    if replica.exchange == "PServer":
        servers.serve(tf, replica, make, lambda: batches(tf, options, files))
    update, ready = make(), iter(batches(tf, options, files))
    replica.train(tf.function(lambda: update(*next(ready))), [()])
