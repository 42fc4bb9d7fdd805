"""A page of the documents as its reader types it: the commands of its blocks, what they print by the page, and a shell to type into."""
import dataclasses
import re
import subprocess

END = "-- end --"


@dataclasses.dataclass
class Step:
    command: str
    told: list        # the lines that it prints; a line of three dots stands for any lines
    is_beside: bool   # typed in another terminal, while the command before goes on


def steps(text):
    """The commands of a page's blocks, lines that begin with "$ ", in their order. One may go on behind a backslash. A block without a command
    goes on with what was printed before; a block is typed beside if the text above it says "In another terminal"."""
    found = []
    text = re.sub(r"^```\w+\n.*?^```$", "", text, flags=re.M | re.S)   # files
    parts = re.split(r"^```\n(.*?)^```", text, flags=re.M | re.S)
    for above, block in zip(parts[::2], parts[1::2]):
        is_beside = "In another terminal" in above
        step = next((step for step in reversed(found) if not step.is_beside), None)
        lines = iter(block.splitlines())
        for line in lines:
            if line.startswith("$ "):
                command = line[2:]
                while command.endswith("\\"):
                    command = command[:-1] + next(lines).strip()
                step = Step(command, [], is_beside)
                found.append(step)
            elif step is not None:
                step.told.append(line)
    return found


def rough(line):
    """Without what differs between machines and runs: a machine with more CPUs has no rehearsal, and no column for it."""
    line = re.sub(r" +RUN$", "", line)
    line = re.sub(r"\b(vgg16-pserver-sweep-|train-|passes-sh-|fit-)[a-z0-9]{5}\b", r"\1NAME", line)
    line = re.sub(r"\b(benchd-)[a-z0-9]+-[a-z0-9]{5}\b", r"\1POD", line)
    line = re.sub(r"\b(?:\d+[smhd]){2,}\b", "#", line)
    return re.sub(r"-?\d[\d.,:]*(?:(?:ms|[smhd%x])\b|[%x])?", "#", re.sub(r"\s+", " ", line.strip()))


def is_like(told, printed):
    """Whether the lines are as the page has them."""
    if not told:
        return not printed
    if told[0].strip() == "...":
        return any(is_like(told[1:], printed[i:]) for i in range(len(printed) + 1))
    return bool(printed) and rough(told[0]) == rough(printed[0]) and is_like(told[1:], printed[1:])


def difference(told, printed):
    return "the page says:\n" + "\n".join(told) + "\nprinted was:\n" + "\n".join(printed)


class Shell:
    """A shell that lives as long as its reader. After type(), lines() has what the command prints, until it ends with `code`."""

    def __init__(self, command=(), **options):
        self.process = subprocess.Popen([*command, "bash", "--norc"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                        text=True, **options)
        self.code = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait()

    def type(self, command):
        self.process.stdin.write(f"{{ {command}\n}} </dev/null; code=$?; echo; echo {END} $code\n")
        self.process.stdin.flush()

    def lines(self):
        """Each line when it is there, but for an empty last one."""
        self.code, kept = None, None
        for line in self.process.stdout:
            if line.startswith(END):
                self.code = int(line.split()[-1])
                break
            if kept is not None:
                yield kept
            kept = line.rstrip("\n")
        if kept:
            yield kept
