"""README.md on a real node without benchd: the definition of "Your own script", whose template says nothing, runs in the cluster that
"In a cluster" installs.

The commands of both sections are typed as they are, but for the build, the tables of a local run, and the push of images. `python3 train.py` is
no PyTorch here, in the image and on this machine: a shell script that prints lines like those of the page, and its image starts as root."""
import re
import statistics

import mkimage
import own_scripts
import tap
from user import shell, typed

PAGE = (tap.ROOT / "README.md").read_text(encoding="utf-8")
IMAGE = "docker.io/registry/ddp:1"   # as containerd names registry/ddp:1
# As in scripts with DistributedDataParallel, rank 0 alone prints, when it has met the other. It also says who it is, and what it may do.
PROGRAM = """#!/bin/sh
say() { if [ "$RANK" = 0 ]; then echo "$@"; fi; }
if [ "$RANK" = 1 ]; then
    until busybox nc "$MASTER_ADDR" "$MASTER_PORT" </dev/null; do sleep 0.1; done 2>/dev/null
elif [ "$WORLD_SIZE" = 2 ]; then
    busybox nc -l -p "$MASTER_PORT" </dev/null
fi
say user "$(id -u)" $(grep -E '^(NoNewPrivs|CapBnd|Seccomp):' /proc/self/status)
now() { read -r up _ </proc/uptime; echo "${up%.*}${up#*.}"; }  # hundredths of a second
last=$(now)
for it in $(seq -w 5 5 100); do
    sleep 0.1
    before=$last last=$(now)
    say "it 0$it/0100 | loss=2.$it | took $(((last - before) * 2)).0ms/it"
done
"""


def section(heading):
    """The commands of the section's blocks, without their comments."""
    text = PAGE.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    found = [step.command for step in typed.steps(text)]
    if not found:
        lines = "".join(re.findall(r"(?ms)^```\n(.*?)^```", text)).splitlines()
        found = [re.sub(r" +# .*", "", line) for line in lines]
    return found


def make_shell(node):
    folder = node.dir / "readme"
    sh = shell(node, "readme", [tap.ROOT / "manifests"], HOME=str(folder), XDG_DATA_HOME=str(folder / "data"))
    (folder / "train.py").write_text("import torch.distributed\n", encoding="ascii")   # init reads it
    python = node.dir / "readme-programs" / "python3"
    python.write_text(PROGRAM, encoding="ascii")
    python.chmod(0o755)
    return sh


def type_all(t, sh, commands):
    """The lines that the last command prints."""
    lines = []
    for command in commands:
        sh.type(command)
        lines = list(sh.lines())
        print("".join(f"# {line}\n" for line in (f"$ {command}", *lines)), end="", flush=True)
        t.equal(0, sh.code, command)
    return lines


def check(t, node):
    """Of a node that has the image of benchd."""
    own, cluster = section("Your own script"), section("In a cluster")
    t.equal((["benchctl", "benchctl", "benchctl"], ["kubectl", "kubectl", "kubectl", "benchctl"]),
            tuple([command.split()[0] for command in commands] for commands in (own, cluster)), "the commands of both sections")
    node.load_archive(mkimage.make_busybox(IMAGE, node.dir / "ddp.tar", ["/bin/sh"], {"/bin/python3": PROGRAM.encode()}))
    node.local_volume("readme")
    with make_shell(node) as sh:
        printed = type_all(t, sh, own[:2] + cluster)
        rows = [line.split()[:2] for line in printed if re.match(r" +[12] +\d", line)]
        logs = [["\n".join(type_all(t, sh, [f"benchctl logs latest --point {point} --trial {trial}"])) for trial in range(3)] for point in (0, 1)]
        said = [statistics.median(map(own_scripts.rate_of_ddp, of_point)) for of_point in logs]
        t.ok(said[0] < 1650 and [size for size, _ in rows] == ["1", "2"] and
             all(abs(float(rate) / each / n - 1) < 0.005 for n, (_, rate), each in zip((1, 2), rows, said)),
             "each worker reads 32 samples in 20 ms and more, as its lines say", (rows, said))
        t.match(rf"user {mkimage.USER} CapBnd: 0+ NoNewPrivs: 1 Seccomp: 2\n", logs[0][0], "its program has no rights")
    level = node.cluster.kubectl("get", "namespace", "benchd", "-o", r"jsonpath={.metadata.labels.pod-security\.kubernetes\.io/enforce}").stdout
    t.equal("restricted", level, "the namespace enforces what the template does not mention")
