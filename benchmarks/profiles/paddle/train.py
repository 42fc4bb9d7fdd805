"""VGG16 (Fluid, FC 512) in PaddlePaddle: dynamic graph, Adam, synthetic CIFAR-10 shapes. Reads BENCHD_*, prints
records."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import benchd_replica as benchd  # noqa: E402


def build(paddle):
    nn, init = paddle.nn, paddle.nn.initializer
    layers, channels = [], 3
    for stack in benchd.STACKS:
        for width, drop in stack:
            normal = paddle.ParamAttr(initializer=init.Normal(0.0, benchd.conv_std(channels)))
            layers += [nn.Conv2D(channels, width, 3, padding=1, weight_attr=normal),
                       nn.BatchNorm2D(width, momentum=benchd.BN_KEEP, epsilon=benchd.BN_EPSILON), nn.ReLU()]
            layers += [nn.Dropout(drop)] if drop else []
            channels = width
        layers.append(nn.MaxPool2D(2, 2))

    def dense(n_in, n_out):
        return nn.Linear(n_in, n_out, weight_attr=paddle.ParamAttr(initializer=init.XavierUniform()))

    width = benchd.WIDTH
    head = [nn.Flatten(), nn.Dropout(benchd.HEAD_DROPOUT), dense(channels, width),
            nn.BatchNorm1D(width, momentum=benchd.BN_KEEP, epsilon=benchd.BN_EPSILON), nn.ReLU(),
            nn.Dropout(benchd.HEAD_DROPOUT), dense(width, width), dense(width, benchd.CLASSES)]
    return nn.Sequential(*layers, *head)


def main():
    replica = benchd.Replica()
    replica.limit_threads()
    import paddle
    paddle.set_device("cpu")
    paddle.seed(replica.seed)
    replica.start("PaddlePaddle", paddle.__version__, layout="NCHW")
    model = build(paddle)
    model.train()
    adam = paddle.optimizer.Adam(benchd.LEARNING_RATE, benchd.BETA1, benchd.BETA2, benchd.ADAM_EPSILON,
                                 parameters=model.parameters())

    def step(x, labels):
        loss = paddle.nn.functional.cross_entropy(model(x), labels)
        loss.backward()
        adam.step()
        adam.clear_grad()
        return float(loss)

    replica.train(step, [(paddle.to_tensor(x), paddle.to_tensor(labels)) for x, labels in replica.batches()])


if __name__ == "__main__":
    main()
