"""Measurements that are kept, and from measurements to ratios, bars and text."""
import argparse
import dataclasses
import json
import operator
import os
import statistics

SIGNS = {">=": operator.ge, "<=": operator.le, "<": operator.lt}


@dataclasses.dataclass(frozen=True)
class Row:
    """What is measured: a system in a precision."""
    system: str
    precision: str = "fp32"

    def __str__(self):
        return f"{self.system} {self.precision}"


@dataclasses.dataclass
class Sample:
    """One row, once: one process at one batch in one round. `isa` is "" or a limit such as "avx2"."""
    row: Row
    batch: int
    round: int
    isa: str
    samples_per_s: float
    samples_per_cpu_s: float
    max_rss_bytes: int
    others_core: float
    others_machine: float


@dataclasses.dataclass
class Spread:
    median: float
    least: float
    most: float

    @classmethod
    def of(cls, values):
        return cls(statistics.median(values), min(values), max(values))

    def text(self, digits=2):
        return f"{self.median:.{digits}f} ({self.least:.{digits}f}-{self.most:.{digits}f})"


@dataclasses.dataclass
class Bar:
    """What must be reached. `sign` is >=, <= or <. Without a value it was asked for and not measured: missed."""
    what: str
    value: Spread | None
    bar: float
    sign: str = ">="

    @property
    def is_reached(self):
        if self.value is None:
            return False
        return SIGNS[self.sign](self.value.median, self.bar)

    def text(self):
        value = "not measured" if self.value is None else self.value.text()
        return f"{'reached' if self.is_reached else 'MISSED ':7}  {self.what}: {value} {self.sign} {self.bar:g}"


def conclude(bars):
    """Prints them, and how many were reached; the exit code."""
    for bar in bars:
        print(bar.text())
    n_reached = sum(bar.is_reached for bar in bars)
    print(f"reached {n_reached} of {len(bars)}")
    return 0 if n_reached == len(bars) else 1


def rate(sample, by):
    return sample.samples_per_s if by == "wall" else sample.samples_per_cpu_s


def choose_clock(samples, quiet_share):
    """wall where the core was ours, else CPU time: decided by the load of others, never by a result."""
    return "wall" if statistics.median(s.others_core for s in samples) <= quiet_share else "cpu"


def rounds(samples):
    """{round: {row: sample}}"""
    by_round = {}
    for sample in samples:
        by_round.setdefault(sample.round, {})[sample.row] = sample
    return by_round


def ratios(samples, ours, peers, by):
    """Of each round that has ours and a peer: our rate over the best of these peers, in the same round."""
    found = []
    for rows in rounds(samples).values():
        others = [rate(rows[peer], by) for peer in peers if peer in rows]
        if ours in rows and others:
            found.append(rate(rows[ours], by) / max(others))
    return found


def rss_ratios(samples, ours, peer):
    return [rows[ours].max_rss_bytes / rows[peer].max_rss_bytes for rows in rounds(samples).values()
            if ours in rows and peer in rows]


def table(header, lines):
    """Columns: the first to the left, the others to the right."""
    rows = [header, *lines]
    widths = [max(len(row[i]) for row in rows) for i in range(len(header))]
    return "\n".join("   ".join(cell.ljust(width) if i == 0 else cell.rjust(width)
                                for i, (cell, width) in enumerate(zip(row, widths))).rstrip() for row in rows)


def check_files(*paths):
    """OSError where one cannot be written: now, not after an hour of measuring. None: not asked for."""
    for path in paths:
        if path:
            with open(path, "a", encoding="utf-8"):
                pass


def read_kept(path):
    """What FILE has from earlier calls, an object of JSON a line. None: not asked for."""
    if not path or not os.path.exists(path):
        return []
    with open(path, encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def keep(path, measurement):
    """Adds one. None: not asked for."""
    if path:
        with open(path, "a", encoding="utf-8") as file:
            file.write(json.dumps(measurement) + "\n")


def mib(value):
    return f"{value / 2**20:.0f} MiB"


def rows_text(samples, ours, by):
    """The table of one batch: a line a row, ours first."""
    lines = []
    for row in dict.fromkeys(s.row for s in samples):
        mine = [s for s in samples if s.row == row]
        over = ratios(samples, ours, [row], by) if row != ours else []
        lines.append([str(row), Spread.of([s.samples_per_s for s in mine]).text(1),
                      Spread.of([s.samples_per_cpu_s for s in mine]).text(1),
                      Spread.of(over).text() if over else "", mib(statistics.median(s.max_rss_bytes for s in mine))])
    return table(["ROW", "SAMPLES/S", "SAMPLES/CPU-S", f"OURS / IT ({by})", "PEAK RSS"], lines)


def names_of(known):
    """Reads an option's value: some of the known names, with commas between them."""
    def read(text):
        names = text.split(",")
        unknown = sorted(set(names) - set(known))
        if unknown:
            raise argparse.ArgumentTypeError(f"no such system: {', '.join(unknown)}; there are: {', '.join(known)}")
        return names
    return read
