#!/usr/bin/env python3
"""script/bench faults: gangs in which one thing goes wrong at a random moment. Does one hang, is a healthy peer named, or a
wrong sum taken for a right one?

Each trial is a gang of real processes with real connections and small arrays (bench/fault_trial.c): parameter servers and trainers,
or a ring of workers, each with the optimiser of its part. One of them is killed, stopped, paused, stuck, gives up, or loses a connection; or nothing happens. Every worker checks all
parameters after each step. The seed and the number of a trial say what happens in it, so each can be repeated: --trial NUMBER.

With --json FILE each trial is a line of FILE, and trials that are in FILE already are not run again.
Ends with "reached N of M"; exit 1 where a bar is missed."""
import argparse
import collections
import itertools
import json
import os
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile
import time

import entry
from figures import Bar, Spread, conclude, keep, read_kept, table

ROOT = pathlib.Path(__file__).resolve().parent.parent
PROGRAM = os.environ.get("FAULT_TRIAL", str(ROOT / "build" / "bench" / "fault_trial"))
MEET_S = 2        # FAULT_GANG_MEET_NS
SILENCE_S = 6     # after which a peer is lost, unless --silence-s sets another limit
LATE_MS = 2000    # a process that fails while others still join waits so long to report it
PROGRAM_S = 120   # the program ends its gang after 60 s itself
WRONG = 99        # FAULT_GANG_WRONG
LOST, DATA, RESOURCE = 11, 10, 13  # enum exit_code
KILLED = -9
POLL_S = 0.02
# How often each is drawn, and within how many seconds all others are out.
FAULTS = {"none": (1, None), "kill": (4, 2), "stop": (2, 10), "pause": (2, None), "cut": (2, 2), "abandon": (2, 2), "stick": (1, 10)}
HARMLESS = ("none", "pause")
OF_WORKERS = ("abandon", "stick")  # what a main thread does, or does not
FAMILIES = ("pserver", "ring")
KINDS = ("hangs", "wrong sums", "healthy peers named", "other ends", "late")


def parse(argv):
    parser = argparse.ArgumentParser(prog="script/bench faults", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=1000, metavar="N", help="how many (default 1000)")
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="of all that is random (default 1)")
    parser.add_argument("--jobs", type=int, default=6, metavar="N", help="trials at a time (default 6; most of them wait)")
    parser.add_argument("--family", choices=FAMILIES, action="append", help="only this one; more than once: these")
    parser.add_argument("--late-s", type=float, default=0, metavar="S", help="what others may take longer, on a busy machine (default 0)")
    parser.add_argument("--silence-s", type=int, default=SILENCE_S, metavar="S",
                        help=f"after which a peer is lost: longer on a machine that stalls (default {SILENCE_S})")
    parser.add_argument("--trial", type=int, metavar="NUMBER", help="runs this one alone, and prints how each process ended")
    parser.add_argument("--json", metavar="FILE", help="keeps every trial, and goes on after those that it has")
    args = parser.parse_args(argv)
    if min(args.trials, args.jobs) < 1 or args.late_s < 0:
        parser.error("expected positive numbers")
    args.family = args.family or list(FAMILIES)
    return args


def draw(seed, number, families, silence_s=SILENCE_S):
    """What happens in a trial: the words of fault_trial."""
    rng = random.Random(f"{seed}/{number}")
    family = rng.choice(families)
    words = {"family": family, "servers": 0, "workers": rng.randint(2, 5), "floats": 40000,
             "steps": 100, "compute_ms": 5, "silence_s": silence_s}
    if family == "pserver":
        words.update(servers=rng.randint(1, 3), workers=rng.randint(1, 4))
    fault = rng.choices(list(FAULTS), [weight for weight, _ in FAULTS.values()])[0]
    first = words["servers"] if fault in OF_WORKERS else 0
    words.update(fault=fault, victim=rng.randrange(first, words["servers"] + words["workers"]),
                 after_ms=rng.randrange(40) if rng.random() < 0.2 else rng.randrange(600))
    if fault == "pause":
        words["for_ms"] = rng.randrange(50, 3000)
    return words


def command(words):
    return [PROGRAM, *(f"{name}={value}" for name, value in words.items())]


class Gang:
    """The program of a trial, while it runs."""

    def __init__(self, words):
        self.words, self.end_s = words, time.monotonic() + PROGRAM_S
        self.out, self.err = tempfile.TemporaryFile("w+"), tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen(command(words), stdin=subprocess.DEVNULL, stdout=self.out, stderr=self.err)

    def has_ended(self):
        if self.process.poll() is None and time.monotonic() > self.end_s:
            raise RuntimeError(f"{' '.join(command(self.words))}: still runs after {PROGRAM_S} s")
        return self.process.returncode is not None

    def outcome(self):
        """How its processes ended."""
        texts = []
        for file in (self.out, self.err):
            file.seek(0)
            texts.append(file.read())
            file.close()
        if self.process.returncode != 0:
            raise RuntimeError(f"{' '.join(command(self.words))}: exit code {self.process.returncode}: {texts[1].strip()}")
        return json.loads(texts[0])


def outcomes(words_of, jobs=1):
    """Runs the gangs of WORDS_OF, JOBS at a time; yields the key and the outcome of each that has ended. It has no threads: the exception
    with which SIGTERM ends a bench comes between any two steps, and a pool of threads is left with its lock held."""
    left, running = iter(words_of.items()), {}
    while True:
        running.update((key, Gang(words)) for key, words in itertools.islice(left, jobs - len(running)))
        if not running:
            return
        ended = [key for key, gang in running.items() if gang.has_ended()]
        if not ended:
            time.sleep(POLL_S)
        for key in ended:
            yield key, running.pop(key).outcome()


# ---- whether that is right ----

def of_victim(fault, process, guilty):
    """What may become of the one to whom it happens: None, or what is wrong."""
    may_be = {"kill": [KILLED], "abandon": [DATA], "stick": [RESOURCE]}.get(fault, [])
    if process["code"] in may_be or (fault in ("stop", "cut") and process["code"] == LOST and process["peer"] in guilty):
        return None
    return of_other(process, ())


def of_other(process, guilty):
    """None, or the kind of what is wrong. Nobody is guilty: it must succeed."""
    code = process["code"]
    if code == 0 or (code == LOST and process["peer"] in guilty):
        return None
    if code is None:
        return "hangs"
    if code == WRONG:
        return "wrong sums"
    return "healthy peers named" if code == LOST and process["peer"] else "other ends"


def lateness_s(words, outcome):
    """Seconds from the fault to the last end of the others; None: no process had to end."""
    ends = [p["ended_ms"] for p in outcome["processes"] if p["name"] != outcome["victim"] and p["code"] not in (0, None)]
    return (max(ends) - outcome["struck_ms"]) / 1000 if ends and FAULTS[words["fault"]][1] is not None else None


def came_too_late(process, outcome):
    """It began, or went on, when the others had left: no process could report the cause, so it names one that does not answer."""
    left = [p["ended_ms"] for p in outcome["processes"] if p["name"] == process["peer"]]
    return outcome["struck_at_step"] == 0 and process["code"] == LOST and process["steps"] == 0 and \
        any(process["ended_ms"] >= ms + LATE_MS for ms in left)


def judge(words, outcome, late_s=0):
    """[(kind, what is wrong)]"""
    fault, victim = words["fault"], outcome["victim"]
    guilty = {"none": (), "pause": (), "cut": (victim, outcome["other"]) if outcome["other"] else ()}.get(fault, (victim,))
    found = []
    for process in outcome["processes"]:
        is_victim = process["name"] == victim
        kind = of_victim(fault, process, guilty) if is_victim and fault not in HARMLESS else of_other(process, guilty)
        if kind is not None and (fault in HARMLESS or not came_too_late(process, outcome)):
            found.append((kind, f"{process['name']}: exit code {process['code']}, names {process['peer'] or 'nobody'}: {process['message']}"))
    took_s = lateness_s(words, outcome)
    if took_s is not None:
        silence_s = words.get("silence_s", SILENCE_S)
        limit_s = FAULTS[fault][1] + silence_s - SILENCE_S + (silence_s + MEET_S if outcome["struck_at_step"] == 0 else 0) + late_s
        if took_s > limit_s:
            found.append(("late", f"the last one was out after {took_s:.1f} s, expected {limit_s:g}"))
    return found


# ---- the trials ----

def judged(args, number, words, outcome):
    found = judge(words, outcome, args.late_s)
    return {"seed": args.seed, "families": args.family, "number": number, "words": words, "took_s": lateness_s(words, outcome),
            "is_early": outcome["struck_at_step"] == 0, "found": found, **({"outcome": outcome} if found else {})}


def kept(args):
    """The trials of FILE with this seed and these families, by number."""
    return {t["number"]: t for t in read_kept(args.json)
            if (t["seed"], t["families"]) == (args.seed, args.family) and t["number"] < args.trials}


def all_trials(args):
    trials = kept(args)
    left = {number: draw(args.seed, number, args.family, args.silence_s) for number in range(args.trials) if number not in trials}
    for number, outcome in outcomes(left, args.jobs):
        trial = judged(args, number, left[number], outcome)
        trials[number] = trial
        keep(args.json, trial)
        for kind, what in trial["found"]:
            print(f"trial {number}: {kind}: {what}\n  {' '.join(command(trial['words']))}", file=sys.stderr, flush=True)
    return [trials[number] for number in sorted(trials)]


def cells(name, trials):
    kinds = collections.Counter(kind for t in trials for kind in {kind for kind, _ in t["found"]})
    times = [t["took_s"] for t in trials if t["took_s"] is not None and not t["is_early"]]
    took = f"{statistics.median(times):.1f} ({min(times):.1f}-{max(times):.1f})" if times else "-"
    return [*name, str(len(trials)), *(str(kinds[kind]) for kind in KINDS), took]


def report(args, trials):
    groups = collections.defaultdict(list)
    for t in trials:
        groups[t["words"]["family"], ""].append(t)
        groups["", t["words"]["fault"]].append(t)
    rows = [cells(name, groups[name]) for name in sorted(groups, key=lambda name: (name[0] == "", name))]
    print(f"seed {args.seed}, {len(trials)} trials, {args.jobs} at a time; load average {os.getloadavg()[0]:.1f}")
    print(table(["gang", "fault", "trials", *KINDS, "s to the last end"], rows))
    for t in trials:
        for kind, what in t["found"]:
            print(f"trial {t['number']}: {kind}: {what}")
    bars = []
    for kind in KINDS:
        n = sum(any(k == kind for k, _ in t["found"]) for t in trials)
        bars.append(Bar(f"trials: {kind}", Spread(n, n, n), 0, "<="))
    return conclude(bars)


def main(argv):
    args = parse(argv)
    if args.trial is None:
        return report(args, all_trials(args))
    words = draw(args.seed, args.trial, args.family, args.silence_s)
    print(" ".join(command(words)))
    _, outcome = next(outcomes({args.trial: words}))
    for process in outcome["processes"]:
        print(json.dumps(process))
    found = judge(words, outcome, args.late_s)
    for kind, what in found:
        print(f"{kind}: {what}")
    return 1 if found else 0


if __name__ == "__main__":
    entry.run(main)
