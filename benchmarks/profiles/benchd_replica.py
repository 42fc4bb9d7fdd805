"""What the training scripts of foreign systems share: BENCHD_* in, records on stdout out.

docs/contracts/environment.md and record.md say what they mean. A script makes a Replica, builds its network, and gives
train() a function that does one step and returns its loss. numpy is imported late, so that thread variables can be set
before."""
import base64
import hashlib
import json
import math
import os
import pathlib
import platform
import re
import resource
import select
import shutil
import socket
import struct
import subprocess
import sys
import threading
import time

EXIT_USAGE = 2
# Variables by which libraries choose their code; a start record lists those that are set.
LIBRARY_SETTINGS = ("MKL_DEBUG_CPU_TYPE", "MKL_ENABLE_INSTRUCTIONS", "OPENBLAS_CORETYPE", "ONEDNN_MAX_CPU_ISA")
MODEL = "vgg16-fluid-fc512"
# Convolutions of MODEL: channels out and dropout after each, by stack; a 2x2 max pool ends a stack.
STACKS = (((64, .3), (64, 0)), ((128, .4), (128, 0)), ((256, .4), (256, .4), (256, 0)),
          ((512, .4), (512, .4), (512, 0)), ((512, .4), (512, .4), (512, 0)))
HEAD_DROPOUT = .5
WIDTH, CLASSES = 512, 10
BN_EPSILON, BN_KEEP = 1e-5, .9  # running = .9 * running + .1 * batch
LEARNING_RATE, BETA1, BETA2, ADAM_EPSILON = 1e-3, .9, .999, 1e-8
POOL_SAMPLES = 512  # distinct synthetic samples, at least


def conv_std(channels_in):
    """Of the normal distribution that a 3x3 convolution's weights start from."""
    return math.sqrt(2 / (9 * channels_in))


def xavier_bound(n_in, n_out):
    """Of the uniform distribution that a dense layer's weights start from."""
    return math.sqrt(6 / (n_in + n_out))


def _first_line(path, start=""):
    try:
        for line in pathlib.Path(path).read_text(encoding="utf-8", errors="replace").splitlines():
            if line.startswith(start):
                return line.split(":", 1)[-1].strip()
    except OSError:
        pass  # not on this machine: the environment then lacks the key
    return None


def library_settings(cpuinfo="/proc/cpuinfo"):
    """{variable: value} by which a library computes as fast on this CPU as it can.

    MKL until 2020 takes its slowest code on a CPU that is not Intel's, whatever it can: this lets it use AVX2. Later versions do not read the
    variable. `script/bench peers check` measures each profile with and without."""
    flags = (_first_line(cpuinfo, "flags") or "").split()
    return {"MKL_DEBUG_CPU_TYPE": "5"} if _first_line(cpuinfo, "vendor_id") != "GenuineIntel" and "avx2" in flags else {}


def _gpu_driver():
    """"nvidia 535.104.05": what the module of the kernel says."""
    for module in ("nvidia", "amdgpu"):
        version = _first_line(f"/sys/module/{module}/version")
        if version is not None:
            return f"{module} {version}"
    return None


def _nics(root="/sys/class/net"):
    """"eth0 25000 Mbit/s, ib0": as lib/host/host.c does; the second one does not say how fast it is."""
    found = []
    for path in sorted(pathlib.Path(root).glob("*")):
        if path.name != "lo" and not path.name.startswith("veth"):
            speed = _first_line(path / "speed") or ""
            found.append(f"{path.name} {speed} Mbit/s" if speed.isdecimal() and int(speed) > 0 else path.name)
    return ", ".join(found) or None


def _gpu_topology():
    """What `nvidia-smi topo -m` prints: which GPUs and cards are how near to each other."""
    if shutil.which("nvidia-smi") is None:
        return None
    try:
        done = subprocess.run(["nvidia-smi", "topo", "-m"], capture_output=True, text=True, timeout=30, check=True)
    except (OSError, subprocess.SubprocessError):
        return None  # no GPU can be asked
    return re.sub(r"\x1b\[\d*m", "", done.stdout).expandtabs().strip("\n")[:8192] or None


def _series(step_ns):
    """Step times as docs/contracts/summary.md packs them."""
    k = max(1, math.ceil(len(step_ns) / 1000))
    groups = [step_ns[i:i + k] for i in range(0, len(step_ns), k)]
    codes = [round(2048 * math.log2(max(1, sum(g) / len(g)) / 1000)) for g in groups]
    least = min(codes)
    packed = struct.pack(f"<{len(codes)}H", *(min(c - least, 65535) for c in codes))
    return {"k": k, "n": len(codes), "min": least, "data": base64.b64encode(packed).decode("ascii")}


def _known(loss):
    """JSON has no NaN."""
    return loss if math.isfinite(loss) else None


class Meeting:
    """Of all trainers, over TCP, for systems without a barrier of their own: trainer 0 listens at its address, and lets all go when all
    have come. `addresses`: "host:port,..." of the trainers, by index."""

    LIMIT_S = 600.  # in which the others start

    def __init__(self, replica, addresses):
        self.n, self.index, self.peer, self.has_come = replica.training, replica.index, None, False
        host, port = addresses.split(",")[0].rsplit(":", 1)
        self.first = host.strip("[]"), int(port)
        self.mine, self.all = threading.Semaphore(0), threading.Semaphore(0)
        if self.index == 0 and self.n > 1:
            threading.Thread(target=self._serve, args=(self._until(self._listen),), daemon=True).start()

    def _until(self, connect):
        """The name of a pod may not be known yet, and trainer 0 may not be there."""
        end_s = time.monotonic() + self.LIMIT_S
        while True:
            try:
                return connect()
            except OSError:
                if time.monotonic() > end_s:
                    raise
                time.sleep(.02)

    def _listen(self):
        return socket.create_server(self.first, family=socket.getaddrinfo(*self.first)[0][0], backlog=self.n)

    def _serve(self, server):
        while True:
            peers = [server.accept()[0] for _ in range(self.n - 1)]
            self.mine.acquire()  # this trainer has come, too
            for peer in peers:
                peer.sendall(b"!")
                peer.close()
            self.all.release()

    def _come(self):
        self.has_come = True
        if self.index == 0:
            self.mine.release()
        else:
            self.peer = self._until(lambda: socket.create_connection(self.first, self.LIMIT_S))

    def is_over(self):
        """Says once that this trainer has come, and from then on whether all have."""
        return self.n == 1 or self._wait(0)

    def meet(self):
        """Returns when all have come."""
        while self.n > 1 and not self._wait(self.LIMIT_S):
            pass

    def _wait(self, limit_s):
        if not self.has_come:
            self._come()
        if self.index == 0:
            over = self.all.acquire(timeout=limit_s) if limit_s else self.all.acquire(blocking=False)
        else:
            over = bool(select.select([self.peer], [], [], limit_s)[0])
            if over and self.peer.recv(1) != b"!":
                raise ConnectionError("trainer 0 has ended")
        self.has_come = self.has_come and not over
        return over


class Replica:
    """This process as the contract describes it."""

    def __init__(self, environ=None, exchanges=("None",), roles=("trainer",)):
        """`exchanges` and `roles`: what the script can do."""
        env = os.environ if environ is None else environ
        self.role, self.index = env.get("BENCHD_ROLE", "trainer"), int(env.get("BENCHD_INDEX", "0"))
        self.attempt = int(env.get("BENCHD_ATTEMPT", "0"))
        self.batch = int(env.get("BENCHD_BATCH_SIZE", "32"))
        self.threads = int(env.get("BENCHD_THREADS", "1"))
        self.seed = int(env.get("BENCHD_SEED", "1"))
        self.warmup_steps, self.steps = int(env.get("BENCHD_WARMUP_STEPS", "2")), int(env.get("BENCHD_STEPS", "8"))
        self.summary_file = env.get("BENCHD_SUMMARY_FILE")
        self.exchange = env.get("BENCHD_EXCHANGE", "None")
        # How many processes train, each on data of its own: the workers, or the trainers of parameter servers.
        self.training = int(env.get("BENCHD_WORKERS", "0")) or int(env.get("BENCHD_TRAINERS", "1"))
        # Processes of one replica, as torchrun starts them: they share its batch, and the first of them speaks.
        self.processes, self.rank, self.speaks = 1, self.index, True
        if "TORCHELASTIC_RUN_ID" in env and "GPUS" in env:
            self.processes, self.rank, self.training = int(env["LOCAL_WORLD_SIZE"]), int(env["RANK"]), int(env["WORLD_SIZE"])
            self.speaks = env["LOCAL_RANK"] == "0"
            self.batch = max(1, self.batch // self.processes)
        self.environment = {}
        for name, known in (("BENCHD_MODEL", (MODEL,)), ("BENCHD_DATA", ("synthetic",)), ("BENCHD_EXCHANGE", exchanges),
                            ("BENCHD_ROLE", roles)):
            if env.get(name, known[0]) not in known:
                has = "', '".join(known)
                self.fail(EXIT_USAGE, f"{name} is '{env[name]}'; this profile has '{has}' only")

    def choice(self, name, known):
        """What the environment says, or the first of those that are known."""
        value = os.environ.get(name, known[0])
        if value not in known:
            has = "', '".join(known)
            self.fail(EXIT_USAGE, f"{name} is '{value}'; this script has '{has}' only")
        return value

    def number(self, name, default, least=1):
        """What the environment says, or the default."""
        text = os.environ.get(name, str(default))
        if not text.isdecimal() or int(text) < least:
            self.fail(EXIT_USAGE, f"{name} is '{text}'; write a number of {least} or more")
        return int(text)

    def limit_threads(self):
        """Before the framework is imported: its libraries read these once. A variable of a library that is set stays."""
        for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
            os.environ[name] = str(self.threads)
        for name, value in library_settings().items():
            os.environ.setdefault(name, value)

    def emit(self, kind, **fields):
        record = {"benchd": 1, "type": kind, "role": self.role, "index": self.index, "attempt": self.attempt, **fields}
        line = json.dumps(record, allow_nan=False)
        if self.speaks or kind == "error":
            print(line, flush=True)
        return line

    def fail(self, code, message):
        self.emit("error", code=code, peer=None, message=message)
        print(f"error: {message}", file=sys.stderr)
        sys.exit(code)

    def start(self, framework, version, precision="fp32", **more):
        uname = platform.uname()
        script = pathlib.Path(sys.argv[0])
        facts = {
            "host": uname.node, "kernel": uname.release, "build": f"{framework} {version}", "framework": framework,
            "framework_version": version, "precision": precision, "python": platform.python_version(),
            "script_sha256": hashlib.sha256(script.read_bytes()).hexdigest() if script.is_file() else None,
            "cpu_model": _first_line("/proc/cpuinfo", "model name"),
            "clock_source": _first_line("/sys/devices/system/clocksource/clocksource0/current_clocksource"),
            "cpu_governor": _first_line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
            "library_settings": " ".join(f"{name}={os.environ[name]}" for name in LIBRARY_SETTINGS if os.environ.get(name)) or None,
            "gpu_driver": _gpu_driver(), "gpu_topology": _gpu_topology(), "nics": _nics(),
            "numa_nodes": _first_line("/sys/devices/system/node/online"),
            "cpuset": _first_line("/proc/self/status", "Cpus_allowed_list"), "threads": self.threads, "model": MODEL,
            "seed": self.seed, **more}
        self.environment = {key: value for key, value in facts.items() if value is not None}
        self.emit("start", environment=self.environment)

    def batches(self):
        """Synthetic batches, each ready in memory: x (N, 3, 32, 32) in [0, 1) and labels (N)."""
        import numpy
        random = numpy.random.default_rng([self.seed, self.rank] if self.rank else self.seed)
        return [(random.random((self.batch, 3, 32, 32), dtype=numpy.float32),
                 random.integers(0, CLASSES, self.batch)) for _ in range(math.ceil(POOL_SAMPLES / self.batch))]

    def train(self, step, batches, meet=lambda: None):
        """step(x, labels) -> loss. Warm-up, measured steps, summary. meet() returns when all replicas have called it; then the clock
        starts."""
        times, losses = [], []
        begin_ns = cpu_ns = 0
        for i in range(-self.warmup_steps, self.steps):
            if i == 0:
                meet()
                begin_ns, cpu_ns = time.monotonic_ns(), time.process_time_ns()
            start_ns = time.monotonic_ns()
            loss = float(step(*batches[i % len(batches)]))
            end_ns = time.monotonic_ns()
            known = _known(loss)
            fields = {"samples": self.batch * self.processes, "step_ns": end_ns - start_ns, "loss": known}
            if i < 0:
                self.emit("step", step=i + self.warmup_steps, warmup=True, t_ns=0, **fields)
            else:
                self.emit("step", step=i, t_ns=end_ns - begin_ns, **fields)
                times.append(end_ns - start_ns)
                losses.append(known)
        self._summarise(time.monotonic_ns() - begin_ns, time.process_time_ns() - cpu_ns, times, losses)

    def train_as_fleetx(self, step, who, meet=lambda: None, is_over=lambda: True, tests=1, test=None):
        """step() -> loss. Warm-up without a word, then a line a step as FleetX's trainers print it, for the log rule
        `fleetx`: `who` is "epoch id: 0" (collective) or "worker_index: 3" (with servers).

        The rule adds the rates of trainers, so their windows must be the same. meet() returns when all trainers have called it: then
        the clocks start. A trainer that does not wait for others in its steps asks is_over() after them: until all trainers have made
        theirs it trains on, and these steps count. The window has `tests` parts. Between them the clock is stopped, and no trainer
        trains: test() -> AUC."""
        for _ in range(self.warmup_steps):
            step()
        i, took_s = 0, 0.
        for part in range(1, tests + 1):
            meet()
            began = time.monotonic() - took_s
            while i < self.steps * part // tests or not is_over():
                loss = float(step())
                i += 1
                took_s = time.monotonic() - began
                print(f"{who}, step{i}, train_loss: {loss:.6f}, total time cost = {took_s:.6f}, step per second: "
                      f"{i / took_s:.6f}, speed: {i / took_s:.6f}", flush=True)
            if test is not None:
                print(f"{who}, epoch: {part}, test_auc: {test():.6f} after {took_s:.6f} s", flush=True)

    def report(self, duration_ns, cpu_ns, steps):
        """Steps that somebody else measured: (ns since the begin, loss) of each, in the order of time."""
        times, losses, before_ns = [], [], 0
        for i, (t_ns, loss) in enumerate(steps):
            known = _known(loss)
            self.emit("step", step=i, t_ns=t_ns, samples=self.batch, step_ns=t_ns - before_ns, loss=known)
            times.append(t_ns - before_ns)
            losses.append(known)
            before_ns = t_ns
        self._summarise(duration_ns, cpu_ns, times, losses)

    def _summarise(self, duration_ns, cpu_ns, times, losses):
        canonical = json.dumps(self.environment, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        line = self.emit(
            "summary", samples=self.batch * self.processes * self.steps, duration_ns=duration_ns, steps=self.steps,
            loss_first=losses[0], loss_last=losses[-1],
            max_rss_bytes=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
            environment_digest=hashlib.sha256(canonical.encode("utf-8")).hexdigest(), series=_series(times),
            cpu_ns=cpu_ns)
        if self.summary_file and self.speaks:
            pathlib.Path(self.summary_file).write_text(line + "\n", encoding="utf-8")
