"""The parameter server workloads of FleetX on PaddlePaddle's own servers, the model `fleetx`: tables of rows on the servers, which Paddle's
Fleet makes of a static graph. Reads BENCHD_*, what PaddleCloudRoleMaker reads, and what a sweep may have as an axis:

    NET        ctr, word2vec (fleetx_data.py, which has their data)
    UPDATE     geo (Geo-SGD: a trainer trains a copy, and sends its changes after GEO_STEPS steps), or async: the
               servers apply gradients as they arrive. Not sync: Fleet 2.6 starts no communicator for it, and the trainer dies of signal 11
               in the operator send_barrier, also when it trains from a data set
    GEO_STEPS  default 100
    SIZE       full: 1,000,001 features; 350,000 words of 300 numbers. small: 10,001 and 64 wide layers; 10,000 of 32

Trainers print the lines of FleetX's trainer, for the log rule `fleetx`. They do not print an AUC: a program that only reads the servers'
tables would have to be cut by Fleet once more. A trainer without servers keeps the tables itself."""
import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import benchd_replica as benchd  # noqa: E402
import fleetx_data  # noqa: E402

NETS = {"ctr": fleetx_data.Ctr, "word2vec": fleetx_data.Word2Vec}
# Without these flags Paddle's client adds up the gradients of 13 steps before it sends them. With the rates of the networks, training then
# diverges.
SEND_EACH_STEP = " ".join(f"-pserver_push_{kind}_merge_limit=0 -pserver_async_push_{kind}_interval_ms=1" for kind in ("dense", "sparse"))
COLUMNS = {"ctr": fleetx_data.SLOTS, "word2vec": 2 + fleetx_data.NEGATIVES}


def build(paddle, net, name, columns):
    """-> (the loss, the inputs' names in the order of draw())."""
    static, nn = paddle.static, paddle.nn.functional
    ids = static.data("ids", [None, columns], "int64")
    truths = static.data("truths", [None, 1 if name == "ctr" else 1 + fleetx_data.NEGATIVES], "float32")
    start = paddle.ParamAttr(name="rows", initializer=paddle.nn.initializer.Uniform(-.5 / net.width, .5 / net.width))

    def rows_of(k):
        """Of one column: the servers' tables ask for (n, 1)."""
        column = paddle.slice(ids, [1], [k], [k + 1])
        return paddle.reshape(static.nn.embedding(column, size=[net.rows, net.width], is_sparse=True, param_attr=start), [-1, net.width])

    rows = [rows_of(k) for k in range(columns)]
    if name == "word2vec":
        scores = paddle.concat([paddle.sum(row * rows[0], axis=1, keepdim=True) for row in rows[1:]], axis=1)
        names = ["ids", "truths"]
    else:
        x = paddle.concat([static.data("numbers", [None, fleetx_data.NUMBERS], "float32"), *rows], axis=1)
        for width in net.layers:
            x = static.nn.fc(x, width, activation="relu")
        scores = static.nn.fc(x, 1)
        names = ["ids", "truths", "numbers"]
    loss = nn.binary_cross_entropy_with_logits(scores, truths, reduction="sum")
    return loss / paddle.cast(paddle.shape(ids)[0], "float32"), names


def distribute(paddle, net, batch, geo_steps):
    """Returns Fleet and its optimizer. With 0 steps training is asynchronous. Whatever the optimizer is, the servers update rows by Adam
    unless the table names another rule. The trainer multiplies gradients by its batch, so the rate is divided by it."""
    from paddle.distributed import fleet
    fleet.init(fleet.PaddleCloudRoleMaker(is_collective=False))
    strategy = fleet.DistributedStrategy()
    strategy.a_sync, strategy.a_sync_configs = True, {"k_steps": geo_steps}
    if geo_steps == 0:
        strategy.fleet_desc_configs = {"use_cvm": False, "rows": {
            "sparse_optimizer": "naive", "sparse_learning_rate": net.rate / batch, "sparse_initial_range": .5 / net.width,
            "sparse_embedx_dim": net.width - 1, "sparse_embedx_threshold": 0}}
    return fleet, fleet.distributed_optimizer(paddle.optimizer.SGD(net.rate), strategy)


def start_async(paddle, fleet, meet):
    """-> a function that fetches the dense parameters: Fleet does it by itself only in training from a data set."""
    from paddle.distributed.ps.utils.public import get_the_one_recv_context
    runtime = fleet.fleet._runtime_handle
    runtime.ps_desc_builder.ps_desc.init_gflags = SEND_EACH_STEP
    fleet.init_worker()
    meet()  # trainer 0 has sent the first parameters
    tables = get_the_one_recv_context(runtime.context)

    def fetch():
        for table, names in tables.items():
            runtime._worker.pull_dense_params(paddle.static.global_scope(), table, names)
    return fetch


def main():
    known = {key: value for key, value in os.environ.items() if key != "BENCHD_MODEL"}
    replica = benchd.Replica(known, exchanges=("None", "PServer"), roles=("trainer", "pserver"))
    name, size = replica.choice("NET", list(NETS)), replica.choice("SIZE", ("full", "small"))
    update, geo_steps = replica.choice("UPDATE", ("geo", "async")), replica.number("GEO_STEPS", 100)
    replica.limit_threads()
    os.environ["CPU_NUM"] = "1"  # replicas of the network in this process
    import numpy
    import paddle
    paddle.enable_static()
    paddle.seed(replica.seed)
    net = NETS[name](numpy, size)
    replica.start("PaddlePaddle", paddle.__version__, model=name, size=size, update=update)
    random = numpy.random.default_rng([replica.seed, replica.index])
    fleet = None
    main_program, start_program = paddle.static.Program(), paddle.static.Program()
    with paddle.static.program_guard(main_program, start_program):
        loss, names = build(paddle, net, name, COLUMNS[name])
        if "PADDLE_PSERVERS_IP_PORT_LIST" in os.environ:
            fleet, optimizer = distribute(paddle, net, replica.batch, geo_steps if update == "geo" else 0)
        else:
            optimizer = paddle.optimizer.SGD(net.rate)
        optimizer.minimize(loss)
        # Fleet puts programs in their place that send and receive; those that were built train without the servers.
        main_program, start_program = loss.block.program, paddle.static.default_startup_program()
    if replica.role == "pserver":
        fleet.init_server()
        fleet.run_server()  # benchd ends it when the trainers have ended
        return
    executor = paddle.static.Executor(paddle.CPUPlace())
    executor.run(start_program)
    meeting = benchd.Meeting(replica, os.environ["PADDLE_TRAINER_ENDPOINTS"])
    fetch = None
    if fleet is not None and update == "async":
        fetch = start_async(paddle, fleet, meeting.meet)
    elif fleet is not None:
        fleet.init_worker()

    def step():
        if fetch is not None:
            fetch()
        feed = dict(zip(names, net.draw(random, replica.batch)))
        return float(executor.run(main_program, feed=feed, fetch_list=[loss])[0])

    replica.train_as_fleetx(step, f"worker_index: {replica.index}", meeting.meet, is_over=meeting.is_over)
    if fleet is not None:
        fleet.stop_worker()


if __name__ == "__main__":
    main()
