"""VGG16 (Fluid, FC 512) in PyTorch, for the programs that train it: train.py and train_mpi.py."""
import benchd_replica as benchd  # whoever starts made it known
import devices


def build(torch, dropout=True):
    """The network with the initial weights of the original (torch.manual_seed decides)."""
    nn = torch.nn
    layers, channels = [], 3
    for stack in benchd.STACKS:
        for width, drop in stack:
            conv = nn.Conv2d(channels, width, 3, padding=1)
            nn.init.normal_(conv.weight, 0, benchd.conv_std(channels))
            nn.init.zeros_(conv.bias)
            layers += [conv, nn.BatchNorm2d(width, benchd.BN_EPSILON, 1 - benchd.BN_KEEP), nn.ReLU(inplace=True)]
            layers += [nn.Dropout(drop)] if drop and dropout else []
            channels = width
        layers.append(nn.MaxPool2d(2))
    width = benchd.WIDTH
    head = [nn.Dropout(benchd.HEAD_DROPOUT if dropout else 0), nn.Linear(channels, width),
            nn.BatchNorm1d(width, benchd.BN_EPSILON, 1 - benchd.BN_KEEP), nn.ReLU(inplace=True),
            nn.Dropout(benchd.HEAD_DROPOUT if dropout else 0), nn.Linear(width, width), nn.Linear(width, benchd.CLASSES)]
    for layer in head:
        if isinstance(layer, nn.Linear):
            nn.init.xavier_uniform_(layer.weight)
            nn.init.zeros_(layer.bias)
    return nn.Sequential(*layers, nn.Flatten(), *head)


def optimizer(torch, model):
    return torch.optim.Adam(model.parameters(), lr=benchd.LEARNING_RATE, betas=(benchd.BETA1, benchd.BETA2),
                            eps=benchd.ADAM_EPSILON, fused=True)


def distribute(torch, model, replica, device):
    """The network whose gradients are the mean of all ranks'. Each rank has batch statistics of its own, as in Fluid."""
    if replica.training == 1:
        return model
    devices.connect(torch, device)
    torch.manual_seed(replica.seed + replica.index)  # dropout: each rank its own
    # What a rank waits for in its first step is the others' start: not part of a warm-up.
    torch.distributed.barrier()
    return torch.nn.parallel.DistributedDataParallel(model, broadcast_buffers=False, gradient_as_bucket_view=True)
