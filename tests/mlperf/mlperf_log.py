"""Reads the lines of an MLPerf Training log and says what they tell of its time and its units.

What is here comes from mlcommons/logging and from the logs. No data set and no model is known.
"""
import bisect
import json
import re
import statistics

LINE = re.compile(r":::MLL(?:OG (?=\{)| ([\d.]+) (\w+): (?=\{))")
SAMPLE_KEYS = ("samples_count", "train_samples_since_beginning")
STEP_KEYS = ("step_num", "step")
MARKS = ("block_start", "block_stop", "epoch_start", "epoch_stop")
SCORES = ("eval_accuracy", "eval_error")
RATES = ("throughput", "imgs_sec")
LOSSES = ("train_loss", "reduced_train_loss")
STEP_TIMES = ("train_step_time", "train_step_timing", "train_step_timing in s")


class Event:
    def __init__(self, seconds, key, value, meta):
        self.at, self.key, self.value, self.meta = seconds, key, value, meta or {}

    def number(self, *names):
        """Returns the first of these fields that holds a number, or None."""
        found = (self.meta.get(name) for name in names)
        return next((n for n in found if isinstance(n, (int, float)) and not isinstance(n, bool)), None)


def read(path):
    """Reads the events of one log in their order, in both forms that mlcommons/logging has had."""
    events, decoder = [], json.JSONDecoder()
    with open(path, encoding="latin-1") as lines:
        for line in lines:
            found = LINE.search(line) if ":::MLL" in line else None
            if not found:
                continue
            try:
                body, _ = decoder.raw_decode(line, found.end())
            except ValueError:
                continue
            seconds = float(found[1]) if found[1] else float(body.get("time_ms", 0)) / 1000
            meta = body.get("metadata")
            events.append(Event(seconds, found[2] or body.get("key"), body.get("value"),
                                meta if isinstance(meta, dict) else {}))
    return events


class Log:
    def __init__(self, path):
        everything = read(path)
        start = next((e.at for e in everything if e.key == "run_start"), float("-inf"))
        stop = next((e.at for e in everything if e.key == "run_stop"), float("inf"))
        self.everything, self.stop = everything, stop
        self.events = sorted((e for e in everything if start <= e.at <= stop + 1), key=lambda e: e.at)
        self.status = next((e.meta.get("status") for e in everything if e.key == "run_stop"), None)
        self.benchmark = self.value("submission_benchmark")
        self.organisation = self.value("submission_org")
        self.batch = self.positive("global_batch_size")
        self.sequence = self.positive("max_sequence_length", "sequence_length")
        self.local_batch = self.positive("d_batch_size", "local_batch_size")
        self.evaluations = self.find_evaluations()
        self.find_samples()
        self.unit = self.find_unit()

    def value(self, *keys):
        return next((e.value for e in self.everything if e.key in keys and e.value is not None), None)

    def positive(self, *keys):
        """Returns the first value of these keys if it is a positive number; some logs put it into a list."""
        value = self.value(*keys)
        value = value[0] if isinstance(value, list) and len(value) == 1 else value
        return value if isinstance(value, (int, float)) and value > 0 else None

    def find_samples(self):
        """Tells whether train_samples counts the data set or, logged after training, the run."""
        line = next((e for e in self.everything if e.key == "train_samples"), None)
        self.data = self.run = None
        count = self.positive("train_samples")
        if not count:
            return
        last = max((e.at for e in self.events if e.key in SCORES + ("eval_stop",)), default=None)
        if last is not None and line.at >= min(last, self.stop):
            self.run = count
        else:
            self.data = self.positive("samples_per_epoch") or count

    def spans(self, kind, events=None):
        """Pairs the start and stop lines of one kind; a start without its stop gives no span."""
        opened, pairs, ranks, last = [], [], False, None
        for event in events or self.events:
            if event.key == kind + "_start":
                again = opened and opened[-1].meta == event.meta
                ranks = ranks or again and kind == "eval"   # Each says the same, and the first one counts.
                if ranks and event.meta == last:
                    continue
                last = event.meta
                opened = [event] if again else opened[-1:] + [event]
            elif event.key == kind + "_stop" and opened:
                same = [e for e in opened if e.number("epoch_num") == event.number("epoch_num")]
                pairs.append(((same or opened)[-1], event))
                opened = opened[1:] if same and same[-1] is opened[0] else []
        return [(a, b) for a, b in pairs if b.at > a.at and "validation" not in str(a.value)]

    def find_evaluations(self):
        """Finds the evaluations during which no training goes on by the log: they stand alone in time."""
        training = sorted(e.at for e in self.events if is_training(e))
        alone = []
        for start, stop in self.spans("eval"):
            first = bisect.bisect_right(training, start.at + 0.002)
            if (first == len(training) or training[first] >= stop.at - 0.002) and not self.of_before(start):
                alone.append((start.at, stop.at))
        return [] if self.beside(alone) else alone

    def of_before(self, evaluation):
        """An evaluation that starts with an epoch and tells of the one before it goes on beside that epoch."""
        number = evaluation.number("epoch_num")
        for start, stop in self.spans("epoch"):
            if 0 <= evaluation.at - start.at < 0.02 * (stop.at - start.at):
                return number is not None and number < (start.number("epoch_num") or 0)
        return False

    def beside(self, evaluations):
        """Other nodes evaluate beside the training where blocks with an evaluation take no longer."""
        everything = sorted(self.everything, key=lambda e: e.at)
        spans = [(a.at, b.at) for a, b in self.spans("block", everything)[1:]]
        held = {span: sum(max(0.0, min(span[1], b) - max(span[0], a)) for a, b in evaluations) for span in spans}
        with_one = [(b - a, held[a, b]) for a, b in spans if held[a, b] > 0.2 * (b - a)]
        without = [b - a for a, b in spans if not held[a, b]]
        if not with_one or len(without) < 2:
            return False
        longer = statistics.median(length for length, _ in with_one) - statistics.median(without)
        return longer < 0.5 * statistics.median(evaluation for _, evaluation in with_one)

    def evaluated(self, start, stop):
        """The seconds of evaluation between two moments."""
        return sum(max(0.0, min(stop, b) - max(start, a)) for a, b in self.evaluations)

    def marks(self):
        """The events that tell how far training has come: evaluations, as (event, number of epochs or the like)."""
        best = []
        for key in ("eval_start",) + SCORES:
            marks = []
            for event in (e for e in self.events if e.key == key):
                position = event.number(*SAMPLE_KEYS, "epoch_num")
                if position is not None and (not marks or position > marks[-1][1]):
                    marks.append((event, position))
            if len(marks) > len(best):
                best = marks
        return best

    def find_unit(self):
        """Tells what epoch_num counts: epochs, steps, samples or tokens.

        By the rcp checker the train_samples of bert are those of the run: its numbers are steps if these make them up.
        """
        numbers = [e.number("epoch_num") for e in self.events if e.key in ("eval_start",) + SCORES]
        numbers = [n for n in numbers if n] or [n for a, _ in self.spans("block") if (n := a.number("epoch_count"))]
        if not numbers or not self.batch:
            return "epochs"
        total = self.run or self.data or 0
        if self.sequence and all(n % (self.batch * self.sequence) == 0 for n in numbers):
            return "tokens"
        steps = sum(a.number("epoch_count") or 0 for a, _ in self.spans("block"))
        if max(numbers) > self.batch and abs(steps * self.batch / max(numbers) - 1) < 0.05:
            return "samples"
        if self.run and max(numbers) >= self.batch and abs(max(numbers) / self.run - 1) < 0.05:
            return "samples"
        if max(numbers) <= 1.3 * total and all(n % self.batch == 0 for n in numbers):
            return "samples"
        if self.benchmark == "bert" and total and 0.5 < max(numbers) * self.batch / total < 1.3:
            return "steps"
        if self.data and self.data > 1 and all(n % self.data == 0 for n in numbers):
            return "samples"
        return "epochs"

    def samples(self, numbers):
        """Turns a count in the unit of epoch_num into samples."""
        if self.unit in ("tokens", "steps"):
            return numbers / self.sequence if self.unit == "tokens" else numbers * self.batch
        return numbers if self.unit == "samples" else numbers * self.data if self.data else None


def is_training(event):
    """A line that only training writes."""
    if event.key in MARKS + LOSSES + ("throughput",):
        return "validation" not in str(event.value)
    fields = event.value if event.key == "tracked_stats" and isinstance(event.value, dict) else {}
    return any(name in fields for name in RATES + STEP_TIMES + LOSSES)
