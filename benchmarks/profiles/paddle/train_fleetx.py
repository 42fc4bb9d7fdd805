"""The collective workloads of FleetX in PaddlePaddle: dynamic graph, synthetic data, one process or DataParallel over gloo.
train.py starts it for the model `fleetx`. Prints the lines of FleetX's trainer, for the log rule `fleetx`. Reads BENCHD_*, and what
a sweep may have as an axis:

    NET     resnet50, vgg16 (no batch norm, two layers of 4096), bert-base, bert-large or transformer-base
    SIZE    full: images of 224 pixels, sequences of 128 (BERT) or 256 tokens (Transformer).
            small: images of 64 pixels; four layers 256 wide, 8,000 words, sequences of 64. For a machine without GPUs

Settings of FleetX: images by Momentum 0.9 with L2 of 1e-4; BERT by Adam, 15% of the words masked, and whether two sentences
follow each other; Transformer by Adam (0.9, 0.997). A sample is an image, a sequence, or a pair of them."""
import math
import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import benchd_replica as benchd  # noqa: E402
import data_parallel  # noqa: E402

SIZES = ("full", "small")
PIXELS = {"full": 224, "small": 64}
CLASSES = 1000
# Layers, width, heads, words, length of a sequence.
TEXTS = {
    ("bert-base", "full"): (12, 768, 12, 30522, 128), ("bert-large", "full"): (24, 1024, 16, 30522, 128),
    ("transformer-base", "full"): (6, 512, 8, 37000, 256), (None, "small"): (4, 256, 4, 8000, 64)}
MASKED = .15
SMOOTHING = .1


def text_sizes(net, size):
    return TEXTS.get((net, size)) or TEXTS[None, size]


# ---- networks: each a Layer whose forward is the loss of a batch ----

def classifier(paddle, net):
    """25,557,032 (ResNet-50) or 138,357,544 (VGG16) parameters."""
    functional = paddle.nn.functional

    class Classifier(paddle.nn.Layer):
        def __init__(self):
            super().__init__()
            self.net = getattr(paddle.vision.models, net)(num_classes=CLASSES)

        def forward(self, x, labels):
            return functional.cross_entropy(self.net(x), labels)
    return Classifier()


def bert(paddle, sizes):
    """BERT as it is trained first: masked words and next sentence. 110,106,428 parameters (base)."""
    nn, functional = paddle.nn, paddle.nn.functional
    layers, width, heads, words, length = sizes

    class Bert(nn.Layer):
        def __init__(self):
            super().__init__()
            self.words, self.kinds = nn.Embedding(words, width), nn.Embedding(2, width)
            self.places = nn.Embedding(max(length, 512), width)
            self.start = nn.Sequential(nn.LayerNorm(width), nn.Dropout(.1))
            layer = nn.TransformerEncoderLayer(width, heads, 4 * width, dropout=.1, activation="gelu")
            self.encoder = nn.TransformerEncoder(layer, layers)
            self.pool = nn.Sequential(nn.Linear(width, width), nn.Tanh(), nn.Linear(width, 2))
            self.guess = nn.Sequential(nn.Linear(width, width), nn.GELU(), nn.LayerNorm(width))
            self.bias = self.create_parameter([words], is_bias=True)

        def forward(self, tokens, kinds, masked, truths, follows):
            y = self.words(tokens) + self.kinds(kinds) + self.places(paddle.arange(length).unsqueeze(0))
            y = self.encoder(self.start(y))
            hidden = self.guess(paddle.gather(y.reshape([-1, width]), masked))
            scores = paddle.matmul(hidden, self.words.weight, transpose_y=True) + self.bias
            return functional.cross_entropy(scores, truths) + functional.cross_entropy(self.pool(y[:, 0]), follows)
    return Bert()


def waves(numpy, length, width):
    """What is added to a word for its place: (length, width)."""
    rates = numpy.exp(numpy.arange(0, width, 2) * (-math.log(10000.) / width))
    angles = numpy.arange(length)[:, None] * rates[None]
    return numpy.stack([numpy.sin(angles), numpy.cos(angles)], 2).reshape(length, width).astype(numpy.float32)


def transformer(paddle, sizes):
    """Vaswani et al. 2017; one table of words for source, target and scores. 63,084,544 parameters (base)."""
    import numpy
    nn, functional = paddle.nn, paddle.nn.functional
    layers, width, heads, words, length = sizes

    class Transformer(nn.Layer):
        def __init__(self):
            super().__init__()
            normal = paddle.ParamAttr(initializer=nn.initializer.Normal(0., width ** -.5))
            self.words, self.drop = nn.Embedding(words, width, weight_attr=normal), nn.Dropout(.1)
            self.net = nn.Transformer(width, heads, layers, layers, 4 * width, dropout=.1)
            self.places = paddle.to_tensor(waves(numpy, length, width)).unsqueeze(0)
            self.later = self.net.generate_square_subsequent_mask(length)

        def embed(self, tokens):
            return self.drop(self.words(tokens) * math.sqrt(width) + self.places)

        def forward(self, source, target, following):
            y = self.net(self.embed(source), self.embed(target), tgt_mask=self.later)
            scores = paddle.matmul(y, self.words.weight, transpose_y=True).reshape([-1, words])
            truths = functional.label_smooth(functional.one_hot(following.reshape([-1]), words), epsilon=SMOOTHING)
            return functional.cross_entropy(scores, truths, soft_label=True)
    return Transformer()


def build(paddle, net, size):
    if net in ("resnet50", "vgg16"):
        return classifier(paddle, net)
    return (transformer if net == "transformer-base" else bert)(paddle, text_sizes(net, size))


# ---- data and optimizers ----

def arrays(numpy, random, net, size, batch):
    """One batch, as forward takes it."""
    if net in ("resnet50", "vgg16"):
        x = random.standard_normal((batch, 3, PIXELS[size], PIXELS[size]), numpy.float32)
        return x, random.integers(0, CLASSES, batch)
    _, _, _, words, length = text_sizes(net, size)
    tokens = random.integers(0, words, (batch, length))
    if net == "transformer-base":
        return tokens, random.integers(0, words, (batch, length)), random.integers(0, words, (batch, length))
    kinds = numpy.repeat(numpy.arange(length)[None] >= length // 2, batch, 0).astype(numpy.int64)
    masked = numpy.sort(random.choice(batch * length, max(1, round(MASKED * batch * length)), replace=False))
    return tokens, kinds, masked, random.integers(0, words, len(masked)), random.integers(0, 2, batch)


def optimizer(paddle, net, model):
    if net in ("resnet50", "vgg16"):
        return paddle.optimizer.Momentum(1e-4, .9, parameters=model.parameters(), weight_decay=1e-4)
    if net == "transformer-base":
        return paddle.optimizer.Adam(1e-4, .9, .997, 1e-9, parameters=model.parameters())
    return paddle.optimizer.Adam(1e-4, parameters=model.parameters())


def main():
    known = {key: value for key, value in os.environ.items() if key != "BENCHD_MODEL"}
    replica = benchd.Replica(known, exchanges=("None", "AllReduce"), roles=("trainer", "worker"))
    net = replica.choice("NET", ("resnet50", "vgg16", "bert-base", "bert-large", "transformer-base"))
    size = replica.choice("SIZE", SIZES)
    replica.limit_threads()
    os.environ["PADDLE_DISTRI_BACKEND"] = "gloo"
    import numpy
    import paddle
    paddle.set_device("cpu")
    paddle.seed(replica.seed)
    model = build(paddle, net, size)
    count = sum(math.prod(p.shape) for p in model.parameters() if not p.stop_gradient)
    replica.start("PaddlePaddle", paddle.__version__, model=net, size=size, parameters=count)
    model = data_parallel.distribute(paddle, model, replica)
    model.train()
    update = optimizer(paddle, net, model)
    random = numpy.random.default_rng([replica.seed, replica.index])
    batch = [paddle.to_tensor(x) for x in arrays(numpy, random, net, size, replica.batch)]

    def step():
        loss = model(*batch)
        loss.backward()
        update.step()
        update.clear_grad()
        return loss

    replica.train_as_fleetx(step, "epoch id: 0", paddle.distributed.barrier if replica.training > 1 else lambda: None)


if __name__ == "__main__":
    main()
