#!/usr/bin/env python3
"""Compute the true figures of the corpus from its logs.

truth.py --write   compute every truth and write it into cases.json
truth.py --check   fail if cases.json differs from what the logs give

README.md defines what a truth is. This program shares no code with benchd and knows none of its rules:
one function reads one shape of log, by a pattern that was written from the program that prints it.
"""
import json
import re
import statistics
import sys
from datetime import datetime
from pathlib import Path

HERE = Path(__file__).resolve().parent
SHAPES = {}


class Wrong(Exception):
    """A log contradicts itself or its case."""


# --- Text to numbers ---

def number(text):
    """A number with thousands separators of any kind, a decimal point and an SI suffix."""
    match = re.fullmatch(r"([-+]?[\d,'_ \u00a0\u202f]*\.?\d+(?:[eE][-+]?\d+)?) ?([kKMG]?)", text.strip())
    if not match:
        raise Wrong(f"{text!r} is not a number")
    digits = re.sub(r"[,'_ \u00a0\u202f]", "", match[1])
    return float(digits) * {"": 1, "k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9}[match[2]]


def continental(text):
    """A number with points as thousands separators and a decimal comma."""
    return float(text.replace(".", "").replace(",", "."))


def clock(text):
    """Seconds of `1 day, 2:03:04`, `2:03:04`, `03:04`, `12.5s`, `1.5m` or a plain number."""
    text = text.strip()
    if match := re.fullmatch(r"([\d.]+)(ms|s|m|h)?", text):
        return float(match[1]) * {"ms": .001, None: 1, "s": 1, "m": 60, "h": 3600}[match[2]]
    days, _, rest = text.rpartition("day")
    seconds = 0
    for part in rest.lstrip("s, ").split(":"):
        seconds = seconds * 60 + float(part)
    return seconds + (float(days) * 86400 if days else 0)


STAMPS = ("%Y-%m-%d %H:%M:%S.%f", "%Y-%m-%d %H:%M:%S", "%Y/%m/%d %H:%M:%S", "%m/%d %H:%M:%S", "%m%d %H:%M:%S.%f",
          "%m/%d/%Y %H:%M:%S", "%y-%m-%d %H:%M:%S", "%H:%M:%S", "%Y-%m-%dT%H:%M:%S.%f")


def stamp(text):
    """Seconds of a time stamp and the resolution of its form."""
    text = text.replace(",", ".")
    for form in STAMPS:
        try:
            at = datetime.strptime(text, form)
        except ValueError:
            continue
        return (at - datetime(1900, 1, 1)).total_seconds(), 10.0 ** -len(text.split(".")[1]) if "%f" in form else 1.0
    raise Wrong(f"{text!r} is not a time stamp")


def agree(name, left, right, tolerance):
    if abs(left - right) > tolerance * abs(right):
        raise Wrong(f"{name}: {left:.6g} and {right:.6g} differ by {abs(left / right - 1):.3%}")


# --- The job behind a log ---

def unwrap(line):
    """A line without what a container's runtime puts around it."""
    if match := re.match(r"\d{4}-\d\d-\d\dT[\d:.]+(?:Z|[-+]\d\d:\d\d) std(?:out|err) [FP] ", line):
        return line[match.end():]
    if line.startswith('{"log":"'):
        return json.loads(line)["log"].rstrip("\n")
    return line


class Log:
    """A log; its lines end in LF, CR LF or CR and are numbered from 1."""

    def __init__(self, case, entry):
        self.case, self.workers, self.warmup = case, entry["workers"], case.get("warmup", 0)
        text = (HERE / entry["file"]).read_bytes().decode("utf-8-sig")
        self.lines = [unwrap(line) for line in re.split(r"\r\n|\n|\r", text)]

    def find(self, pattern):
        """Each line that the pattern matches: its number and the match."""
        found = [(at, match) for at, line in enumerate(self.lines, 1) if (match := re.search(pattern, line))]
        if not found:
            raise Wrong(f"no line matches {pattern}")
        return found

    def scale(self):
        """The factor from what one line counts to the whole job."""
        return self.workers if self.case.get("scope") == "worker" else 1

    def samples(self):
        """Samples of one step of the whole job, or None."""
        batch = self.case.get("batch")
        return batch and batch["size"] * (self.workers if batch["scope"] == "worker" else 1)


def figure(value, unit, of=None):
    return {"value": float(f"{value:.7g}"), "unit": unit} | ({"of": of} if of else {})


def steady(name, values, weights):
    """The harmonic mean; the median, the arithmetic mean and the mean of the second half must agree with it."""
    value = sum(weights) / sum(w / v for w, v in zip(weights, values))
    agree(f"{name}: second half", statistics.fmean(values[len(values) // 2:]), value, .004)
    agree(f"{name}: median", statistics.median(values), value, .004)
    agree(f"{name}: mean", statistics.fmean(values), value, .004)
    return value


def shape(name):
    def register(function):
        SHAPES[name] = function
        return function
    return register


def written(group):
    """When a line was written: seconds since some start, and the resolution of that."""
    if group.get("elapsed"):
        text = group["elapsed"]
        return clock(text), 1.0 if ":" in text else 10.0 ** -len(text.partition(".")[2].strip("smh"))
    if group.get("total"):
        return float(group["total"]) / 1e3, .001
    return stamp(group["stamp"])


def step_time(group, read, every):
    """Seconds of one step as the line states them, or None."""
    if group.get("per"):
        return 1 / read(group["per"])
    if group.get("s"):
        return clock(group["s"])
    if group.get("ms"):
        return read(group["ms"]) / 1e3
    return read(group["span"]) / every if group.get("span") else None


def steps(name, pattern, unit="samples", read=number, gaps=False, tokens=None):
    """A log with one line per step or per some steps. Groups of the pattern that it understands:
    step number of the step; rate units/s; per steps/s; s, ms seconds or ms of one step; batch units of a step (batch_w: of
    each worker); span seconds of all steps since the previous line; stamp, elapsed, total (ms) when the line was
    written. `gaps`: other work is done between the lines, so that time stamps say nothing. `tokens`: the line that says
    how many tokens a step has."""
    def function(log):
        found = log.find(pattern)
        groups = [m.groupdict() for _, m in found]
        warm = log.warmup
        if len(found) - warm < 3:
            raise Wrong(f"{name}: {len(found)} lines and {warm} of warm-up")
        have = {key for g in groups for key, text in g.items() if text is not None}
        at = [read(g["step"]) if "step" in have else i for i, g in enumerate(groups)]
        every = statistics.median([b - a for a, b in zip(at, at[1:]) if b > a] or [1])
        if any(b < a for a, b in zip(at, at[1:])):          # the numbers restart with each epoch
            at = [i * every for i in range(len(at))]
        weights = [b - a or every for a, b in zip([at[0] - every] + at, at)]
        kept = range(warm, len(found))
        clocks = [written(g) for g in groups] if have & {"elapsed", "total", "stamp"} else None
        seconds = [step_time(g, read, every) for g in groups]
        figures, rates, pace = [], [], None
        batch = log.case.get("batch") or {}
        amount = log.samples() if batch.get("unit", unit) == unit else None
        if have & {"batch", "batch_w"}:
            amount = statistics.median([read(g.get("batch") or g["batch_w"]) for g in groups]) * (log.workers if "batch_w" in have else 1)
        if clocks and not gaps:
            duration = clocks[-1][0] - clocks[warm][0]
            pace, slack = (at[-1] - at[warm]) / duration, .003 + 2 * clocks[0][1] / duration
            for i in kept[1:]:
                if (spent := clocks[i][0] - clocks[i - 1][0]) and at[i] > at[i - 1]:
                    agree(f"{name}: line {found[i][0]} came at another pace", (at[i] - at[i - 1]) / spent, pace, .03 + 2 * clocks[i][1] / spent)
        if "rate" in have:
            value = steady(name, [read(groups[i]["rate"]) for i in kept], [weights[i] for i in kept]) * log.scale()
            figures.append(figure(value, unit + "/s"))
            if amount:
                rates.append(value / amount)
        if seconds[-1] is not None:
            rates.append(1 / steady(name, [seconds[i] for i in kept], [1] * len(kept)))
        if not rates and "rate" not in have:
            if pace is None:
                raise Wrong(f"{name}: no time")
            rates.append(pace)
        for rate in rates[1:]:
            agree(f"{name}: rate and step time", rates[0], rate, .005)
        if pace is not None and rates:
            agree(f"{name}: pace", pace, rates[0], slack)
        if rates:
            if amount and "rate" not in have:
                figures.append(figure(rates[-1] * amount, unit + "/s"))
            if batch.get("unit", unit) != unit:
                figures.append(figure(rates[-1] * log.samples(), batch["unit"] + "/s"))
            if tokens:
                per_step = number(log.find(tokens)[0][1]["tokens"])
                if "rate" in have:
                    agree(f"{name}: tokens of a step", figures[0]["value"] / rates[-1], per_step, .005)
                else:
                    figures.append(figure(rates[-1] * per_step, "tokens/s"))
            figures.append(figure(rates[-1], "steps/s"))
            if "accumulation" in log.case:
                figures.append(figure(rates[-1] / log.case["accumulation"], "steps/s", "steps of the optimizer"))
        elif pace is not None and slack < .005:
            figures.append(figure(pace, "steps/s", "by the time stamps"))
        return {"figures": figures, "lines": [found[warm][0], found[-1][0]], "readings": len(kept),
                "witness": "none" if pace is None else "time stamps" if "stamp" in have else "elapsed"}
    SHAPES[name] = function


def table(name, pattern, unit, of):
    """A sweep or a summary: the last row that the pattern finds has the `value`."""
    def function(log):
        *_, (line, match) = found = log.find(pattern)
        value, size = number(match["value"]), int(match.groupdict().get("size", 0))
        rates = [figure((value if unit == "MB/s" else size / value) / 1e3, "GB/s", of)] if size else []
        return {"figures": [figure(value, unit, of), *rates], "lines": [line, line], "readings": len(found), "witness": "none"}
    SHAPES[name] = function


# --- Signs that there is no figure, or none without a mark ---

SIGNS = {
    "died": r"Traceback \(most recent call last\)|Segmentation fault|Bus error|PRIMARY job *terminated|Killed$|oom_kill|Fatal Python error|exited on signal",
    "out_of_memory": r"OutOfMemoryError|CUDA out of memory|RESOURCE_EXHAUSTED|cudaMalloc failed: out of memory|Out of memory error",
    "communication": r"NCCL (WARN|error)|ncclInternalError|ncclSystemError|Watchdog caught|DistBackendError|Connection reset by peer",
    "terminated": r"SIGTERM|CANCELLED AT|KeyboardInterrupt|DUE TO TIME LIMIT",
    "restarted": r"restart_count|restarts? left|Worker group .* FAILED|Restarting worker",
    "nan": r"(?i)loss\W+(nan|inf)\b|nan\.0|\bnan\b|NaN",
    "skipped": r"number of skipped iterations: +[1-9]|OVERFLOW|Skipping step|Gradient overflow",
    "wrong_sums": r"FAILED|Out of bounds values : [1-9]|Data validation failed|residual.*FAILED",
}


def refusal(log):
    """The first line that shows why there is no figure, and the figures before it where the case says that they may be marked."""
    want = log.case["refuse"]
    pattern = want.get("sign") or SIGNS[want["class"]]
    line = log.find(pattern)[-1 if want.get("last") else 0][0]
    result = {"refuse": want["class"], "line": line}
    if want.get("marked"):
        before = SHAPES[log.case["shape"]](log)
        result |= {"figures": before["figures"], "lines": before["lines"]}
    return result


# --- Shapes with one line per step ---

TQDM = r" (?P<step>\d+)/\d+ \[(?P<elapsed>[\d:]+)<[\d:?]+, +(?:(?P<per>[\d.]+)it/s|(?P<s>[\d.]+)s/it)"

steps("pytorch_imagenet", r"^Epoch: \[\d+\]\[ *(?P<step>\d+)/\d+\]\tTime +(?P<s>[\d.]+) \(")
steps("word_language_model", r"^\| epoch +\d+ \| +(?P<step>\d+)/ *\d+ batches .*ms/batch +(?P<ms>[\d.]+)")
steps("nanogpt", r"^iter (?P<step>\d+): loss \S+, time (?P<ms>[\d.]+)ms", tokens=r"^tokens per iteration will be: (?P<tokens>[\d,]+)")
steps("llmc_cuda", r"^step +(?P<step>\d+)/\d+ .*\| (?P<ms>[\d.]+) ms \|.*\| (?P<rate>\d+) tok/s", unit="tokens")
steps("llmc_cpu", r"^step (?P<step>\d+): .*took (?P<ms>[\d.]+) ms")
steps("nanochat", r"^step (?P<step>\d+)/.*dt: (?P<ms>[\d.]+)ms \| tok/sec: (?P<rate>[\d,]+)", unit="tokens", tokens=r"^Total batch size (?P<tokens>[\d,]+)")
steps("bar", TQDM)
steps("lightning", r"^Epoch \d+:.*" + TQDM, gaps=True)
steps("tf_estimator", r"^INFO:tensorflow:loss = \S+, step = (?P<step>\d+) \((?P<span>[\d.]+) sec\)")
steps("tf_examples", r"Average examples/sec: \S+ \((?P<rate>[\d.]+)\), step = (?P<step>\d+)")
steps("tf_slim", r"global step (?P<step>\d+): .*\((?P<s>[\d.]+) sec/step\)")
steps("flax", r"^I(?P<stamp>\d{4} [\d:.]+) .*\[(?P<step>\d+)\] steps_per_second=(?P<per>[\d.]+)")
steps("maxtext", r"^completed step: (?P<step>\d+), seconds: (?P<s>[\d.]+), .*Tokens/s/device: (?P<rate>[\d.]+)", unit="tokens")
steps("nemo2", r"^Training epoch \d+, iteration (?P<step>\d+)/.*global_batch_size: (?P<batch>\d+) .*train_step_timing in s: (?P<s>[\d.]+)")
steps("megatron", r"^ *(?:\[(?P<stamp>[-\d :.]+)\])? iteration +(?P<step>\d+)/ *\d+ \|.* elapsed time per iteration \(ms\): (?P<ms>[\d.]+) \|(?:.* global batch size: +(?P<batch>\d+) \|)?")
steps("megatron_deepspeed", r" iteration +(?P<step>\d+)/.*per iteration \(ms\): (?P<ms>[\d.]+) .*samples per second: (?P<rate>[\d.]+) ")
steps("gpt_neox", r"^ samples/sec: (?P<rate>[\d.]+) \| iteration +(?P<step>\d+)/.*per iteration \(ms\): (?P<ms>[\d.]+) ")
steps("deepspeed", r"^\[(?P<stamp>[-\d :,]+)\] .*/global_step=(?P<step>\d+), .*CurrSamplesPerSec=(?P<rate>[\d.]+)")
steps("deepspeed_old", r"^\[(?P<stamp>[-\d :,]+)\] .*stop\] \d+/(?P<step>\d+), SamplesPerSec=(?P<rate>[\d.]+)")
steps("deepspeed_chat", r"^\|E2E latency=(?P<s>[\d.]+)s .*\|CurSamplesPerSec=(?P<rate>[\d.]+)")
steps("fairseq_old", r"^\| epoch \d+: +(?P<step>\d+) / \d+ .*wps=(?P<rate>\d+), ups=(?P<per>[\d.]+), wpb=(?P<batch>[\d.]+), .*, wall=(?P<elapsed>\d+)", unit="words")
steps("fairseq", r"^(?P<stamp>[-\d]+ [\d:]+) \| INFO \| train_inner \| .*wps=(?P<rate>[\d.]+), ups=(?P<per>[\d.]+), wpb=(?P<batch>[\d.]+), .*num_updates=(?P<step>\d+)", unit="words")
steps("fairseq_json", r'^(?P<stamp>[-\d]+ [\d:]+) \| INFO \| train_inner \| .*"wps": "(?P<rate>[\d.]+)", "ups": "(?P<per>[\d.]+)", "wpb": "(?P<batch>\d+)", .*"num_updates": "(?P<step>\d+)"', unit="words")
steps("torchtitan", r" (?P<stamp>[-\d]+ [\d:,]+) - root - INFO - step: +(?P<step>\d+) .*tps: (?P<rate>[\d,]+) ", unit="tokens", gaps=True)
steps("torchtitan_old", r" (?P<stamp>[-\d]+ [\d:,]+) - root - INFO - step: +(?P<step>\d+) .*wps: (?P<rate>[\d,]+) ", unit="tokens")
steps("torchtune", r"^Step (?P<step>\d+) \| .*tokens_per_second_per_gpu:(?P<rate>[\d.]+)", unit="tokens")
steps("litgpt", r"^Epoch \d+ \| iter (?P<step>\d+) step \d+ \|.* iter time: (?P<ms>[\d.]+) ms")
steps("timm", r"^Train: \d+ \[ *(?P<step>\d+)/.*Time: (?P<s>[\d.]+)s, +(?P<rate>[\d.]+)/s +\(", unit="images")
steps("mmengine", r"^(?P<stamp>[\d/]+ [\d:]+) - mmengine - INFO - Epoch\(train\) +\[\d+\]\[ *(?P<step>\d+)/.* time: (?P<s>[\d.]+) ", gaps=True)
steps("mmcv", r"^(?P<stamp>[-\d]+ [\d:,]+) - mmdet - INFO - Epoch \[\d+\]\[(?P<step>\d+)/.*, time: (?P<s>[\d.]+),")
steps("detectron2", r"\[(?P<stamp>[\d/]+ [\d:]+) d2.utils.events\]: .* iter: (?P<step>\d+) .* time: (?P<s>[\d.]+) ")
steps("yolov5", r"^ +\d+/\d+ +[\d.]+G.*" + TQDM, gaps=True, unit="images")
steps("paddleclas", r"^\[(?P<stamp>[\d/]+ [\d:]+)\] ppcls INFO: \[Train\].*\[Iter: (?P<step>\d+)/.*batch_cost: (?P<s>[\d.]+)s, .*ips: (?P<rate>[\d.]+) samples/s")
steps("paddleseg_old", r"^(?P<stamp>[-\d]+ [\d:]+) \[INFO\]\t\[TRAIN\] .*iter=(?P<step>\d+)/.*batch_cost=(?P<s>[\d.]+),")
steps("paddlemix", r"^\[(?P<stamp>[-\d :,]+)\] .*global step (?P<step>\d+) / .*avg_batch_cost: (?P<s>[\d.]+) sec, avg_samples: (?P<batch>[\d.]+), ips: (?P<rate>[\d.]+) sample/sec")
steps("paddleocr", r"^\[(?P<stamp>[\d/]+ [\d:]+)\] root INFO: .*iter: (?P<step>\d+), .*batch_cost: (?P<span>[\d.]+) s, samples: \d+, ips: (?P<rate>[\d.]+)")
steps("paddlerec", r"^(?P<stamp>[-\d :,]+) - INFO - .*batch_id: (?P<step>\d+), .*avg_batch_cost: (?P<s>[\d.]+) sec, avg_samples: (?P<batch_w>[\d.]+), ips: (?P<rate>[\d.]+) ins/s")
steps("paddledetection", r"^\[(?P<stamp>[\d/]+ [\d:]+)\] ppdet.engine INFO: Epoch: \[\d+\] \[ *(?P<step>\d+)/.* batch_cost: (?P<s>[\d.]+) .*ips: (?P<rate>[\d.]+) images/s", unit="images")
steps("mxnet", r"Batch (?:\[\d+-)?(?P<step>\d+)(?:/\d+)?\].*(?:Speed:|throughput) (?P<rate>[\d.]+) samples/s(?:ec|, lr)")
steps("dllogger_waveglow", r"^DLL (?P<stamp>[-\d]+ [\d:.]+) - \(\d+, (?P<step>\d+)\) train_items_per_sec : (?P<rate>[\d.]+) ", unit="items")
steps("gnmt", r"^\d: TRAIN \[\d+\]\[(?P<step>\d+)/.*\tTok/s (?P<rate>\d+) \(", unit="tokens")
steps("transformer_xl", r"^\| epoch +\d+ step +(?P<step>\d+) \|.*ms/batch +(?P<ms>[\d.]+) \| tok/s +(?P<rate>\d+) ", unit="tokens")
steps("tf_bert", r"^INFO:tensorflow:examples/sec: (?P<rate>[\d.]+)", unit="examples")
steps("mllog_steps", r':::MLLOG .*"time_ms": (?P<total>\d+).*"train_step_timing": (?P<s>[\d.]+), .*"step": (?P<step>\d+)', unit="sequences", gaps=True)
steps("mllog_throughput", r':::MLLOG .*"time_ms": (?P<total>\d+).*"key": "throughput", "value": (?P<rate>[\d.]+), .*"step": (?P<step>\d+)')
steps("dllogger_json", r'^DLLL .*"elapsedtime": "(?P<elapsed>[\d.]+)", "type": "LOG", "step": \[\d+, (?P<step>\d+)\], .*"train.total_ips": (?P<rate>[\d.]+)', unit="images")
steps("openpcdet", r"^(?P<stamp>[-\d]+ [\d:,]+) +INFO +Train: .*Acc_iter (?P<step>\d+)")
steps("sd_bar", r"^Epoch \d+(?::|, training).*" + TQDM)
steps("espnet", r"\] (?P<stamp>[-\d]+ [\d:,]+) \(trainer:\d+\) INFO: \d+epoch:train:\d+-(?P<step>\d+)batch: ")
steps("lightgbm", r"\[Info\] (?P<elapsed>[\d.]+) seconds elapsed, finished iteration (?P<step>\d+)", unit="rows")
steps("xgboost_rounds", r"boosting round (?P<step>\d+), (?P<elapsed>[\d.]+) sec elapsed", unit="rows")
steps("catboost", r"^(?P<step>\d+):\tlearn: .*\ttotal: (?P<elapsed>[\d.]+m?s)\t")
steps("dgl", r"^Part \d+ \| Epoch \d+ \| Step (?P<step>\d+) \|.*Speed \(samples/sec\) (?P<rate>[\d.]+) ")
steps("verl", r"step:(?P<step>\d+) - .*perf/time_per_step:(?P<s>[\d.]+) - perf/throughput:(?P<rate>[\d.]+)", unit="tokens")
steps("json_lines", r'^\{"ts": "(?P<stamp>[-\dT:.]+)", "event": "train_step", "step": (?P<step>\d+), .*"value": (?P<rate>[\d.]+), "unit": "samples/s"')
steps("csv", r"^(?P<step>\d+),\d+,[\d.]+,,[\d.]+,(?P<rate>[\d.]+),(?P<elapsed>[\d.]+)$", unit="images")
steps("aws_fsdp", r"^0: (?P<stamp>[-\d]+ [\d:]+) I \[.*Batch (?P<step>\d+) Loss: .*Speed: (?P<rate>[\d.]+) samples/sec")
steps("dlrm", r"^Finished training it (?P<step>\d+)/.* (?P<ms>[\d.]+) ms/it")
steps("onmt", r"^\[(?P<stamp>[-\d]+ [\d:,]+) INFO\] Step (?P<step>\d+)/.*; (?P<rate>\d+)/ *\d+ tok/s", unit="tokens")
steps("mae", r"^Epoch: \[\d+\]  \[ *(?P<step>\d+)/.*  time: (?P<s>[\d.]+) ")
steps("libai", r"\[(?P<stamp>[\d/]+ [\d:]+) lb.*iteration: (?P<step>\d+)/.*  time: (?P<s>[\d.]+) s/iter .*total_throughput: (?P<rate>[\d.]+) samples/s")
steps("paddlenlp_tr", r"^\[(?P<stamp>[-\d]+ [\d:,]+)\] .*step_idx: (?P<step>\d+),.*batch_cost: (?P<s>[\d.]+) sec, .*ips: (?P<rate>[\d.]+) words/sec", unit="words")
steps("torchvision", r"^Epoch: \[\d+\]  \[ *(?P<step>\d+)/.*img/s: (?P<rate>[\d.]+) .* time: (?P<s>[\d.]+) ", unit="images")
steps("apex", r"^Epoch: \[\d+\]\[(?P<step>\d+)/\d+\]\tTime (?P<s>[\d.]+) \(.*\tSpeed (?P<rate>[\d.]+) \(", unit="images")
steps("nanotron", r"^(?P<stamp>[\d/]+ [\d:]+) \[.*iteration: (?P<step>\d+) / .*iteration_ms: (?P<ms>[\d.]+K) \| tokens_per_sec: (?P<rate>[\d.]+K) ", unit="tokens")
steps("picotron", r"^\[rank 0\] Step: (?P<step>\d+) .* Tokens/s: +(?P<rate>[\d.]+K) ", unit="tokens")
steps("nanogpt_plain", r"^iter (?P<step>\d+): loss \S+, time (?P<ms>[\d.]+)ms")
steps("continental", r"^step \d+: (?P<rate>\S+) images/sec", unit="images", read=continental)
steps("rate_line", r"^step (?P<step>\d+): (?P<rate>.+) images/sec", unit="images")
steps("dllogger_resnet", r"^DLL (?P<stamp>[-\d]+ [\d:.]+) - Epoch: \d+ Iteration: (?P<step>\d+) .*train.total_ips : (?P<rate>[\d.]+) ", unit="images")
steps("dllogger_items", r"^DLL \S+ \S+ - \((?P<step>\d+), 0\) train_items_per_sec : (?P<rate>[\d.]+) ", unit="items")
steps("marian", r"^\[(?P<stamp>[-\d :]+)\] Ep\. \d+ : Up\. (?P<step>\d+) : .* Time (?P<span>[\d.]+)s : (?P<rate>[\d.]+) words/s", unit="words")
steps("paddleseg", r"^(?P<stamp>[-\d]+ [\d:]+) \[INFO\]\t\[TRAIN\] .*iter: (?P<step>\d+)/.*batch_cost: (?P<s>[\d.]+), .*ips: (?P<rate>[\d.]+) samples/sec")
steps("yolo", r"^ +\d+/\d+ +[\d.]+G .*90/90 \[.*, +(?P<s>[\d.]+)s/it", unit="images")
steps("step_avg", r"^step:(?P<step>\d+)/\d+ train_time:(?P<total>\d+)ms")
steps("maxtext_2023", r"^completed step: (?P<step>\d+), seconds: (?P<s>[\d.]+), TFLOP/s: ")
steps("automodel", r"^(?P<stamp>[-\d]+ [\d:]+) \| INFO \| root \| step (?P<step>\d+) \|.* tps (?P<rate>[\d.]+)\(.*num_label_tokens (?P<batch>\d+)", unit="tokens")


# --- Sweeps and summaries ---

table("osu_latency", r"^(?P<size>\d+) +(?P<value>[\d.]+)$", "us", "largest size")
table("osu_bw", r"^(?P<size>\d+) +(?P<value>[\d.]+)$", "MB/s", "largest size")
table("imb", r"^ +(?P<size>\d+) +\d+ +[\d.]+ +[\d.]+ +(?P<value>[\d.]+)$", "us", "mean of the largest size")
table("perftest", r"^ \d+ +\d+ +[\d.]+ +(?P<value>[\d.]+) *\t", "Gb/s", "average of the largest size")
table("hpl", r"^WR\S+ .* (?P<value>[\d.]+e[+]\d+)$", "Gflop/s", "result")
table("stream", r"^Triad: +(?P<value>[\d.]+) ", "MB/s", "Triad")
table("iperf3", r"^\[ +\d+\] +0\.00-[1-9]\d.* (?P<value>[\d.]+) Gbits/sec .*receiver", "Gb/s", "receiver")
table("nvbandwidth", r"^SUM \S+ (?P<value>[\d.]+)", "GB/s", "sum")
table("mle_bench", r"^\| +\d+[KMG]B +\| +(?P<value>[\d.]+)GBps", "GB/s", "bus bandwidth of the largest size")
table("wandb", r"^wandb: +samples_per_second (?P<value>\d[\d.]*)", "samples/s", "last value")


# --- Shapes of their own ---

def result(log, figures, found, witness="none"):
    return {"figures": figures, "lines": [found[0][0], found[-1][0]], "readings": len(found), "witness": witness}


@shape("hf_summary")
def hf_summary(log):
    """The line at the end of the Trainer: its rates times its runtime are whole steps and whole samples."""
    found = log.find(r"'train_runtime': '?([\d.]+)'?, 'train_samples_per_second': '?([\d.]+)'?, 'train_steps_per_second': '?([\d.]+)")
    runtime, samples, per_second = (float(found[0][1][i]) for i in (1, 2, 3))
    if log.samples():
        agree("batch", samples / per_second, log.samples(), .005)
    agree("steps", runtime * per_second, round(runtime * per_second), .005)
    return result(log, [figure(samples, "samples/s"), figure(per_second, "steps/s")], found)


@shape("keras_bar")
def keras_bar(log):
    """Bars of Keras 3 with a time that is a mean since the start of the epoch: the last bar of each epoch counts."""
    found = [(at, m) for at, m in log.find(r"(\d+)/(\d+)\x1b.*\D(\d+)s\S* (\d+)ms/step") if m[1] == m[2]]
    for _, m in found:
        agree("bar", int(m[2]) * int(m[4]) / 1e3, int(m[3]), .01)
    return result(log, [figure(1e3 / statistics.fmean(int(m[4]) for _, m in found), "steps/s")], found, "elapsed")


@shape("keras_epoch")
def keras_epoch(log):
    """One line for each epoch; the first epoch is warm-up."""
    found = log.find(r"^(\d+)/\1 .*?(\d+)s (?:- )?(\d+)ms/step")[log.warmup:]
    for _, m in found:
        agree("epoch", int(m[1]) * int(m[3]) / 1e3, int(m[2]), .01)
    rate = 1e3 / statistics.fmean(int(m[3]) for _, m in found)
    figures = [figure(rate * log.samples(), "samples/s")] if log.samples() else []
    return result(log, figures + [figure(rate, "steps/s")], found, "elapsed")


@shape("tf_cnn")
def tf_cnn(log):
    """The last line is the figure; each other line is the mean since the start."""
    found = log.find(r"^total images/sec: ([\d.]+)")
    lines = log.find(r"^\d+\timages/sec: ([\d.]+) ")
    agree("last mean", float(lines[-1][1][1]), float(found[0][1][1]), .001)
    value = float(found[0][1][1])
    return result(log, [figure(value, "images/s"), figure(value / log.samples(), "steps/s")], found)


@shape("jax_epochs")
def jax_epochs(log):
    found = log.find(r"^Epoch \d+ in ([\d.]+) sec")[log.warmup:]
    return result(log, [figure(1 / steady("epochs", [float(m[1]) for _, m in found], [1] * len(found)), "epochs/s")], found)


@shape("caffe")
def caffe(log):
    """Steps over time between two lines, where no test is run between them."""
    found = log.find(r"^I(\d{4} [\d:.]+) .*\] Iteration (?:(\d+), loss = |\d+, Testing net)")
    pairs = [(a, b) for a, b in zip(found, found[1:]) if a[1][2] and b[1][2]][log.warmup:]
    value = steady("steps", [(int(b[1][2]) - int(a[1][2])) / (stamp(b[1][1])[0] - stamp(a[1][1])[0]) for a, b in pairs], [1] * len(pairs))
    return result(log, [figure(value * log.samples(), "images/s"), figure(value, "steps/s")], [a for a, _ in pairs] + [pairs[-1][1]], "time stamps")


@shape("tok_mean")
def tok_mean(log):
    """Each rate is the mean since the start, so steps over rate are the time of a line, but for the tokens of a step."""
    found = log.find(r"^(\d+)/\d+ train_loss: .*tok/s: (\d+)")[log.warmup:]
    (first, before), (last, after) = ((int(m[1]), int(m[1]) / int(m[2])) for _, m in (found[0], found[-1]))
    value, tokens = (last - first) / (after - before), int(log.find(r"train_batch_tokens: (\d+)")[0][1][1])
    agree("end", after * tokens, int(log.find(r"train_time: (\d+)ms")[0][1][1]) / 1e3, .001)
    return result(log, [figure(value, "tokens/s"), figure(value / tokens, "steps/s")], found, "elapsed")


@shape("horovod")
def horovod(log):
    """The total must be the mean of the lines times the workers."""
    lines = log.find(r"^Iter #\d+: ([\d.]+) img/sec per GPU")
    found = log.find(r"^Total img/sec on (\d+) GPU\(s\): ([\d.]+)")
    value, workers = float(found[0][1][2]), int(found[0][1][1])
    agree("total", statistics.fmean(float(m[1]) for _, m in lines) * workers, value, .001)
    agree("workers", workers, log.workers, 0)
    return result(log, [figure(value, "images/s"), figure(value / log.samples(), "steps/s")], lines + found)


@shape("dllogger_bert")
def dllogger_bert(log):
    """The rate of the summary times the step time that the time stamps show is the batch of the command."""
    found = log.find(r"training_sequences_per_second : ([\d.]+) ")
    value, batch = float(found[0][1][1]), int(re.search(r"train_batch_size=(\d+)", log.case["command"])[1])
    lines = [(stamp(m[1])[0], int(m[2])) for _, m in log.find(r"^DLL (\S+ \S+) - .*Training Iteration: (\d+) ")][1:]
    pace = (lines[-1][1] - lines[0][1]) / (lines[-1][0] - lines[0][0])
    agree("pace", value / batch, pace, .005)
    return result(log, [figure(value, "sequences/s"), figure(pace, "steps/s")], found, "time stamps")


@shape("dllogger_ssd")
def dllogger_ssd(log):
    """The mean of the summary follows the times of the epochs."""
    found = log.find(r"avg_img/sec : ([\d.]+) ")
    times = [float(m[1]) for _, m in log.find(r"epoch time : ([\d.]+) s")]
    agree("data set", float(found[0][1][1]) * statistics.fmean(times), 117266, .005)
    return result(log, [figure(float(found[0][1][1]), "images/s")], found, "elapsed")


@shape("nccl")
def nccl(log):
    """The average of the tool must be the mean of its rows; time, size and both bandwidths of a row must agree."""
    rows = log.find(r"^ +(\d+) +\d+ +float +sum +-1 +([\d.]+) +([\d.]+) +([\d.]+) +0 +([\d.]+) +([\d.]+) +([\d.]+) +0$")
    found = log.find(r"^# Avg bus bandwidth +: ([\d.]+)")
    for _, m in rows[-4:]:
        agree("algbw", int(m[1]) / float(m[2]) / 1e3, float(m[3]), .005)
        agree("busbw", float(m[3]) * 2 * (log.workers - 1) / log.workers, float(m[4]), .005)
    agree("average", statistics.fmean(float(m[i]) for _, m in rows for i in (4, 7)), float(found[0][1][1]), .001)
    last = rows[-1][1]
    return result(log, [figure(float(found[0][1][1]), "GB/s", "average bus bandwidth"),
                        figure(float(last[4]), "GB/s", "bus bandwidth of the largest size, out of place"),
                        figure(float(last[7]), "GB/s", "bus bandwidth of the largest size, in place"),
                        figure(float(last[3]), "GB/s", "algorithm bandwidth of the largest size, out of place")], rows + found)


@shape("ucc")
def ucc(log):
    rows = log.find(r"^ +(\d+) +(\d+) +([\d.]+) +[\d.]+ +[\d.]+ +([\d.]+) +[\d.]+ +[\d.]+$")
    last = rows[-1][1]
    agree("bandwidth", int(last[2]) / float(last[3]) / 1e3 * 2 * (log.workers - 1) / log.workers, float(last[4]), .002)
    return result(log, [figure(float(last[4]), "GB/s", "bus bandwidth of the largest size"), figure(float(last[3]), "us", "largest size")], rows[-1:])


@shape("sysbench")
def sysbench(log):
    """Events over the total time, as the summary states it; the lines by the second agree."""
    found = log.find(r"events per second: +([\d.]+)")
    value = float(found[0][1][1])
    events, time = (float(log.find(p)[0][1][1]) for p in (r"total number of events: +(\d+)", r"total time: +([\d.]+)s"))
    agree("events", events / time, value, .001)
    agree("lines", steady("lines", [float(m[1]) for _, m in log.find(r"eps: ([\d.]+)")], [1] * 10), value, .002)
    return result(log, [figure(value, "events/s")], found, "elapsed")


@shape("fio")
def fio(log):
    found = log.find(r"^  read: IOPS=(\d+), BW=(\d+)MiB/s \((\d+)MB/s\)\(([\d.]+)GiB/(\d+)msec")
    iops, mib, mb, gib, ms = (float(found[0][1][i]) for i in range(1, 6))
    agree("total", gib * 1024 / ms * 1e3, mib, .002)
    agree("unit", mib * 1.048576, mb, .001)
    return result(log, [figure(mib, "MiB/s"), figure(mb, "MB/s"), figure(iops, "operations/s")], found, "elapsed")


def mllog(log):
    """The events of an MLPerf log: line, key, value, milliseconds, metadata."""
    events = [(at, json.loads(m[1])) for at, m in log.find(r"^:::MLLOG (.*)")]
    return [(at, e["key"], e["value"], e["time_ms"], e["metadata"]) for at, e in events]


def setting(events, key):
    return next(value for _, name, value, _, _ in events if name == key)


def spans(events, start, stop):
    """Pairs of a start and the next stop."""
    begun, pairs = None, []
    for event in events:
        if event[1] == start:
            begun = event
        elif event[1] == stop and begun:
            pairs.append((begun, event))
            begun = None
    return pairs


@shape("mllog_epochs")
def mllog_epochs(log):
    """Samples of an epoch over the time from its start to its stop, without the evaluations inside it."""
    events = mllog(log)
    data, evaluations = setting(events, "train_samples"), spans(events, "eval_start", "eval_stop")
    blocks = spans(events, "epoch_start", "epoch_stop") or spans(events, "block_start", "block_stop")
    epochs = sum(b[0][4].get("epoch_count", 1) if b[0][1] == "block_start" else 1 for b in blocks)
    time = sum(b[3] - a[3] for a, b in blocks) / 1e3
    time -= sum(b[3] - a[3] for a, b in evaluations for x, y in blocks if x[3] <= a[3] and b[3] <= y[3] and x[3] < y[3]) / 1e3
    value = data * epochs / time
    for _, key, stated, _, _ in events:
        if key == "tracked_stats" and "throughput" in stated:
            agree("stated throughput", stated["throughput"], value, .003)
    return {"figures": [figure(value, "samples/s"), figure(value / setting(events, "global_batch_size"), "steps/s")],
            "lines": [blocks[0][0][0], blocks[-1][1][0]], "readings": epochs, "witness": "time stamps"}


@shape("mllog_sd")
def mllog_sd(log):
    events = mllog(log)
    blocks = spans(events, "block_start", "block_stop")[log.warmup:]
    steps_done = sum(b[4]["step_num"] - a[4]["step_num"] for a, b in blocks)
    per_second = steps_done / sum(b[3] - a[3] for a, b in blocks) * 1e3
    value = per_second * setting(events, "global_batch_size")
    stated = [v["throughput"] for _, key, v, _, _ in events if key == "tracked_stats"][log.warmup:]
    agree("stated throughput", steady("stated", stated, [1] * len(stated)), value, .003)
    return {"figures": [figure(value, "samples/s"), figure(per_second, "steps/s")], "lines": [blocks[0][0][0], blocks[-1][1][0]],
            "readings": len(blocks), "witness": "time stamps"}


@shape("mllog_parts")
def mllog_parts(log):
    """Training runs from the stop of an evaluation to the start of the next, over the part of the epoch between them."""
    events = mllog(log)
    marks = [e for e in events if e[1] in ("epoch_start", "eval_start", "eval_stop")]
    parts = [(a, b) for a, b in zip(marks, marks[1:]) if b[1] == "eval_start"]
    share = sum(b[4]["epoch_num"] - a[4]["epoch_num"] for a, b in parts)
    value = share * setting(events, "train_samples") / sum(b[3] - a[3] for a, b in parts) * 1e3
    return {"figures": [figure(value, "samples/s"), figure(value / setting(events, "global_batch_size"), "steps/s")],
            "lines": [parts[0][0][0], parts[-1][1][0]], "readings": len(parts), "witness": "time stamps"}


@shape("colossalai")
def colossalai(log):
    """The summary must be samples over duration; the bar shows the same pace."""
    found = log.find(r"^Throughput: ([\d.]+) samples/sec")
    samples, duration = map(float, log.find(r"num_samples: (\d+), .*avg_duration: ([\d.]+)")[0][1].groups())
    agree("summary", samples / duration, float(found[0][1][1]), .005)
    steps_read = SHAPES["bar"](log)
    agree("bar", steps_read["figures"][0]["value"], float(found[0][1][1]), .005)
    return result(log, [figure(samples / duration, "samples/s"), steps_read["figures"][-1]], found, "elapsed")


@shape("kaldi")
def kaldi(log):
    found = log.find(r"\[TRAINING, .*, ([\d.]+) min, processing ([\d.]+) frames per sec")
    minutes, rate = float(found[0][1][1]), float(found[0][1][2])
    agree("frames", float(log.find(r"AvgLoss: .*frames (\d+)")[0][1][1]) / minutes / 60, rate, .001)
    return result(log, [figure(rate, "frames/s")], found, "elapsed")


@shape("wav2letter")
def wav2letter(log):
    """One line an epoch: hours of speech over the time of its updates."""
    found = log.find(r"^epoch: .*bch\(ms\): ([\d.]+) .*\| hrs: +([\d.]+) \| thrpt\(sec/sec\): ([\d.]+)")[log.warmup:]
    updates = [int(m[1]) for _, m in log.find(r"nupdates: +(\d+)")]
    for (_, m), n in zip(found, [b - a for a, b in zip(updates, updates[1:])]):
        agree("throughput", float(m[2]) * 3600 / (n * float(m[1]) / 1e3), float(m[3]), .005)
    per_second = 1e3 / statistics.fmean(float(m[1]) for _, m in found)
    value = steady("thrpt", [float(m[3]) for _, m in found], [1] * len(found))
    return result(log, [figure(value, "audio_seconds/s"), figure(per_second, "steps/s")], found, "elapsed")


@shape("sb3")
def sb3(log):
    """fps is total_timesteps over the time since the start: the last table counts."""
    found, total = log.find(r"fps +\| (\d+)"), log.find(r"total_timesteps +\| (\d+)")
    elapsed = log.find(r"time_elapsed +\| (\d+)")
    agree("fps", int(total[-1][1][1]) / (int(elapsed[-1][1][1]) + .5), int(found[-1][1][1]), .06)
    return result(log, [figure(int(found[-1][1][1]), "frames/s")], found)


@shape("rllib")
def rllib(log):
    times = [float(m[1]) for _, m in log.find(r"^  time_this_iter_s: ([\d.]+)")]
    found = log.find(r"^  time_total_s: ([\d.]+)")
    trained = [int(m[1]) for _, m in log.find(r"^  timesteps_total: (\d+)")]
    value = trained[-1] / float(found[-1][1][1])
    agree("iterations", trained[0] / statistics.fmean(times), value, .003)
    return result(log, [figure(value, "timesteps/s"), figure(len(times) / sum(times), "steps/s", "iterations")], found, "elapsed")


@shape("ray_train")
def ray_train(log):
    found = log.find(r"time_this_iter_s +([\d.]+)")
    return result(log, [figure(1 / steady("iterations", [float(m[1]) for _, m in found], [1] * len(found)), "iterations/s")], found, "elapsed")


@shape("olmo")
def olmo(log):
    """Values of one step are on the lines that follow its number."""
    found = log.find(r"device/tokens_per_second=([\d,]+)")[log.warmup:]
    batches = log.find(r"device/batches_per_second=([\d.]+)")[log.warmup:]
    ones = [1] * len(found)
    value = steady("tokens", [number(m[1]) for _, m in found], ones) * log.workers
    per_second = steady("batches", [float(m[1]) for _, m in batches], ones)
    total = [number(m[1]) for _, m in log.find(r"total_tokens=([\d,]+)")]
    agree("tokens of a step", value / per_second, (total[-1] - total[0]) / (len(total) - 1) / 10, .005)
    return result(log, [figure(value, "tokens/s"), figure(per_second, "steps/s")], found)


@shape("composer")
def composer(log):
    def rate(key):
        found = log.find(rf"Train throughput/{key}: ([\d.]+)")[log.warmup:]
        return steady(key, [float(m[1]) for _, m in found], [1] * len(found)), found
    samples, found = rate("samples_per_sec")
    agree("device", rate("device/samples_per_sec")[0] * log.workers, samples, .001)
    batches = rate("batches_per_sec")[0]
    agree("batch", samples / batches, log.samples(), .001)
    return result(log, [figure(samples, "samples/s"), figure(rate("tokens_per_sec")[0], "tokens/s"), figure(batches, "steps/s")], found)


@shape("mllog_blocks")
def mllog_blocks(log):
    """Epochs of a block over the time of the block, for programs that queue their epochs."""
    events = mllog(log)
    blocks = spans(events, "block_start", "block_stop")
    epochs = sum(a[4]["epoch_count"] for a, _ in blocks)
    value = epochs * setting(events, "train_samples") / sum(b[3] - a[3] for a, b in blocks) * 1e3
    return {"figures": [figure(value, "samples/s"), figure(value / setting(events, "global_batch_size"), "steps/s")],
            "lines": [blocks[0][0][0], blocks[-1][1][0]], "readings": epochs, "witness": "time stamps"}


# --- The table of cases ---

def truth(case, entry):
    log = Log(case, entry)
    return refusal(log) if "refuse" in case else SHAPES[case["shape"]](log)


def dump(cases):
    """A few lines for each case, so that a difference is read easily."""
    text = []
    for case in cases:
        rest = [key for key in case if key not in ("name", "source", "about", "command", "truth")]
        groups = [["name", "source"], ["about"], ["command"], rest, ["truth"]]
        lines = [", ".join(f"{json.dumps(key)}: {json.dumps(case[key], ensure_ascii=False)}" for key in group if key in case) for group in groups]
        text.append(" {" + ",\n  ".join(line for line in lines if line) + "}")
    return "[\n" + ",\n".join(text) + "\n]\n"


def main():
    if sys.argv[1:] not in (["--write"], ["--check"]):
        sys.exit("usage: truth.py --write | --check")
    path = HERE / "cases.json"
    before = path.read_text(encoding="utf-8")
    cases, wrong = json.loads(before), []
    for case in cases:
        case["truth"] = []
        for entry in case["files"]:
            try:
                case["truth"].append(truth(case, entry))
            except (Wrong, LookupError, ValueError, ZeroDivisionError, OSError) as error:
                wrong.append(f"{entry['file']}: {type(error).__name__}: {error}")
    named = [entry["file"] for case in cases for entry in case["files"]]
    there = [entry.name for entry in HERE.iterdir() if entry.suffix not in (".py", ".json", ".md")]
    wrong += [f"{name}: no case names this file" for name in sorted(set(there) - set(named))]
    wrong += [f"{name}: named twice" for name in sorted({name for name in named if named.count(name) > 1})]
    if sys.argv[1] == "--write":
        path.write_text(dump(cases), encoding="utf-8")
    elif not wrong and dump(cases) != before:
        wrong.append("cases.json differs from the logs: run truth.py --write and read the difference")
    for line in wrong:
        print(line, file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
