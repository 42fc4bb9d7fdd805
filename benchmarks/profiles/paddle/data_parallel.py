"""How the ranks of this profile exchange gradients, for train.py and train_fleetx.py."""


def distribute(paddle, model, replica):
    """The network whose gradients are the mean of all ranks'. Each rank has batch statistics of its own, as in Fluid."""
    if replica.training == 1:
        return model
    paddle.distributed.init_parallel_env()
    paddle.seed(replica.seed + replica.index)  # dropout: each rank its own
    # What a rank waits for in its first step is the others' start: not part of a warm-up.
    paddle.distributed.barrier()
    return paddle.DataParallel(model)
