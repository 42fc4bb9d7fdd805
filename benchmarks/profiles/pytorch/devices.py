"""Where the networks of this profile compute: on a GPU if PyTorch sees one, else on the CPU."""
import os
import sys

PRECISIONS = ("fp32", "tf32", "bf16")


def launch(replica):
    """With several devices a replica (GPUS) this process becomes torchrun, which starts this program for each of them; what torchrun
    started returns at once."""
    n = replica.number("GPUS", 1)
    if n == 1 or "TORCHELASTIC_RUN_ID" in os.environ:
        return
    nodes = ["--standalone"] if replica.training == 1 else [
        "--nnodes", str(replica.training), "--node-rank", str(replica.index), "--master-addr", os.environ["MASTER_ADDR"],
        "--master-port", os.environ["MASTER_PORT"]]
    os.execv(sys.executable, [sys.executable, "-m", "torch.distributed.run", *nodes, "--nproc-per-node", str(n), *sys.argv])


def choose(torch):
    """A rank's GPU is that of its number on its machine. A pod with one GPU has number 0 only."""
    n = torch.cuda.device_count()
    if n == 0:
        return torch.device("cpu")
    return torch.device("cuda", int(os.environ.get("LOCAL_RANK") or os.environ.get("RANK") or 0) % n)


def facts(torch, device):
    """Of the start record."""
    if device.type == "cpu":
        return {"cpu_features": torch.backends.cpu.get_cpu_capability()}
    nccl = ".".join(map(str, torch.cuda.nccl.version()))
    return {"accelerator": torch.cuda.get_device_name(device), "cuda": torch.version.cuda, "nccl": nccl}


def set_precision(torch, device, precision, replica):
    """fp32 is fp32 on a GPU, too: without this cuDNN rounds what it multiplies to tf32."""
    if precision == "tf32" and device.type == "cpu":
        replica.fail(2, "precision tf32: PyTorch sees no GPU, and CPUs have no tf32")
    torch.backends.cudnn.allow_tf32 = torch.backends.cuda.matmul.allow_tf32 = precision == "tf32"


def connect(torch, device):
    """Makes the group of all ranks."""
    if device.type == "cpu":
        torch.distributed.init_process_group("gloo")
    else:
        torch.cuda.set_device(device)
        torch.distributed.init_process_group("nccl", device_id=device)
