"""VGG16 (Fluid, FC 512) in PaddlePaddle Fluid 1.8 itself: the network of benchmark/cluster/vgg16/vgg16_fluid.py (2018) and Fluid's own
parameter servers, Adam, synthetic CIFAR-10 shapes. Reads BENCHD_*, PADDLE_TRAINER_ENDPOINTS and PADDLE_PSERVERS_IP_PORT_LIST, prints records.

A trainer with servers is one of theirs, Sync or Async; without servers it is the plain network. Python 3.7 and 3.8, which Fluid has
wheels for, read this file: nothing newer."""
import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import benchd_replica as benchd  # noqa: E402

SERVERS = "PADDLE_PSERVERS_IP_PORT_LIST"


def build(fluid):
    """-> the loss."""
    layers, init = fluid.layers, fluid.initializer
    x = layers.data("pixel", [3, 32, 32], dtype="float32")
    label = layers.data("label", [1], dtype="int64")

    def norm(y):
        return layers.batch_norm(y, act="relu", momentum=benchd.BN_KEEP, epsilon=benchd.BN_EPSILON)

    def drop(y, share):
        return layers.dropout(y, share, dropout_implementation="upscale_in_train") if share else y

    channels = 3
    for stack in benchd.STACKS:
        for width, share in stack:
            normal = fluid.ParamAttr(initializer=init.Normal(0., benchd.conv_std(channels)))
            x = drop(norm(layers.conv2d(x, width, 3, padding=1, param_attr=normal)), share)
            channels = width
        x = layers.pool2d(x, 2, "max", 2)
    x = norm(layers.fc(drop(x, benchd.HEAD_DROPOUT), benchd.WIDTH))
    x = layers.fc(drop(x, benchd.HEAD_DROPOUT), benchd.WIDTH)
    return layers.mean(layers.softmax_with_cross_entropy(layers.fc(x, benchd.CLASSES), label))


def distribute(fluid, optimizer, loss, replica, mode):
    """-> Fluid's fleet, which has cut the program into that of a trainer and those of the servers. The parts of an asynchronous one need
    its communicator, which DistributeTranspiler by itself does not start."""
    from paddle.fluid.incubate.fleet.base import role_maker
    from paddle.fluid.incubate.fleet.parameter_server.distribute_transpiler import fleet
    from paddle.fluid.incubate.fleet.parameter_server.distribute_transpiler.distributed_strategy import StrategyFactory
    role = role_maker.Role.SERVER if replica.role == "pserver" else role_maker.Role.WORKER
    fleet.init(role_maker.UserDefinedRoleMaker(current_id=replica.index, role=role, worker_num=replica.training,
                                               server_endpoints=os.environ[SERVERS].split(",")))
    strategy = StrategyFactory.create_sync_strategy() if mode == "Sync" else StrategyFactory.create_async_strategy()
    fleet.distributed_optimizer(optimizer, strategy).minimize(loss)
    return fleet


def main():
    replica = benchd.Replica(exchanges=("None", "PServer"), roles=("trainer", "pserver"))
    mode = os.environ.get("BENCHD_MODE", "Sync")
    if mode not in ("Sync", "Async"):
        replica.fail(benchd.EXIT_USAGE, f"BENCHD_MODE is '{mode}'; this profile has 'Sync', 'Async' only")
    replica.limit_threads()
    os.environ["CPU_NUM"] = "1"  # replicas of the network in this process
    from paddle import fluid
    import paddle
    fluid.default_main_program().random_seed = fluid.default_startup_program().random_seed = replica.seed
    replica.start("PaddlePaddle Fluid", paddle.__version__, layout="NCHW")
    loss = build(fluid)
    optimizer = fluid.optimizer.Adam(benchd.LEARNING_RATE, benchd.BETA1, benchd.BETA2, benchd.ADAM_EPSILON)
    executor = fluid.Executor(fluid.CPUPlace())
    fleet = None
    if SERVERS in os.environ:
        fleet = distribute(fluid, optimizer, loss, replica, mode)
        if replica.role == "pserver":
            fleet.init_server()
            fleet.run_server()  # until every trainer has said that it is done
            return
        fleet.init_worker()
        executor.run(fleet.startup_program)
        program = fleet.main_program
    else:
        optimizer.minimize(loss)
        executor.run(fluid.default_startup_program())
        program = fluid.default_main_program()

    def step(x, labels):
        return executor.run(program, feed={"pixel": x, "label": labels}, fetch_list=[loss])[0][0]

    # Fluid's own barriers exist in synchronous mode only, and the clocks of asynchronous trainers must start together, too.
    meeting = benchd.Meeting(replica, os.environ.get("PADDLE_TRAINER_ENDPOINTS", ":0"))
    replica.train(step, [(x, labels.reshape(-1, 1)) for x, labels in replica.batches()], meet=meeting.meet)
    if fleet is not None:
        fleet.stop_worker()


if __name__ == "__main__":
    main()
