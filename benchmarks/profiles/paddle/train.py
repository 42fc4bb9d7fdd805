"""VGG16 (Fluid, FC 512) in PaddlePaddle: dynamic graph, Adam, synthetic CIFAR-10 shapes. Reads BENCHD_*, prints
records.

The model `fleetx` is train_fleetx.py. With exchange AllReduce each replica is a rank of DataParallel over gloo, and reads PADDLE_*
too (profile.yaml). A rank alone is the plain network: it has no peer to exchange with."""
import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import benchd_replica as benchd  # noqa: E402
import data_parallel  # noqa: E402


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
    if os.environ.get("BENCHD_MODEL") == "fleetx":
        import train_fleetx
        return train_fleetx.main()
    replica = benchd.Replica(exchanges=("None", "AllReduce"), roles=("trainer", "worker"))
    replica.limit_threads()
    os.environ["PADDLE_DISTRI_BACKEND"] = "gloo"
    import paddle
    paddle.set_device("cpu")
    paddle.seed(replica.seed)
    replica.start("PaddlePaddle", paddle.__version__, layout="NCHW")
    model = data_parallel.distribute(paddle, build(paddle), replica)
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
