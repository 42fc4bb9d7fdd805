#!/usr/bin/env -S python3 -IS
"""A worker that trains nothing: speaks the contracts (environment in, records out) and misbehaves when
told to. benchctl runs it as $BENCHWORKER, so a run of many trials costs a second, not minutes.

FAKE_STEP_S      how long a step takes (default 0: as fast as it can)
FAKE_FAIL        "P.T.A=CODE", comma separated: trainer/0 of that point, trial, attempt ends so;
                 * matches anything
FAKE_HANG        "P.T": trainer/0 of that point and trial never ends
FAKE_FACTOR      "P=F": at that point steps are said to take F times as long (* as in FAKE_FAIL)
FAKE_SUMMARY     JSON: fields of a trainer's summary that replace the true ones; null: the field is missing
FAKE_BATCHES     JSON: {B: fields of a trainer's summary at batch B}, after those of FAKE_SUMMARY
FAKE_GATES       "P=FOLDER": at that point (as in FAKE_FAIL) trainer/0 takes its first step when FOLDER/first is there, and
                 its last one when FOLDER/last is; a test that makes neither goes on after GATE_S
FAKE_STUBBORN    set: ends by SIGKILL only
FAKE_PIDS        a file: every process writes its pid there

The tests start thousands of these: `json` and `socket` would take three times as long to import as all else together takes."""
import _socket
import os
import signal
import sys
import time

ENV = os.environ
GATE_S = 30  # far more than what is waited for takes
ROLE, INDEX = ENV["BENCHD_ROLE"], int(ENV["BENCHD_INDEX"])
POINT, TRIAL, ATTEMPT = (ENV["BENCHD_" + k] for k in ("POINT", "TRIAL", "ATTEMPT"))


def to_json(value):
    """Of what this program prints, which has no text to escape."""
    if isinstance(value, dict):
        return "{" + ", ".join(f'"{k}": {to_json(v)}' for k, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(to_json, value)) + "]"
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    return f'"{value}"' if isinstance(value, str) else repr(value)


def from_json(text):
    if text is None:
        return {}
    import json
    return json.loads(text)


def record(type_, **fields):
    line = {"benchd": 1, "type": type_, "role": ROLE, "index": INDEX, "attempt": int(ATTEMPT)}
    print(to_json({**line, **fields}), flush=True)


def is_hit(pattern, *have):
    return all(want in ("*", got) for want, got in zip(pattern.split("."), have))


def address_of(text):
    host, port = text.rsplit(":", 1)
    return host, int(port)


def serve():
    """As a native server: there until the last trainer has said goodbye."""
    server = _socket.socket()
    server.setsockopt(_socket.SOL_SOCKET, _socket.SO_REUSEADDR, 1)
    try:
        server.bind(address_of(ENV["BENCHD_LISTEN"]))
        server.listen()
    except OSError:  # somebody took the port since benchctl let go of it: as a native server, tried again
        sys.exit(13)
    trainers = [server._accept()[0] for _ in range(int(ENV["BENCHD_TRAINERS"]))]
    server.close()
    for trainer in trainers:
        os.read(trainer, 1)


def connect(addr):
    while True:
        peer = _socket.socket()
        try:
            peer.connect(address_of(addr))
            return peer
        except ConnectionRefusedError:
            time.sleep(0.005)  # the server is still starting


def pass_gate(name):
    where, _, folder = ENV.get("FAKE_GATES", "").partition("=")
    end = time.monotonic() + GATE_S
    while folder and INDEX == 0 and is_hit(where, POINT) and time.monotonic() < end and not os.path.exists(f"{folder}/{name}"):
        time.sleep(0.005)


def train():
    batch, steps = int(ENV["BENCHD_BATCH_SIZE"]), int(ENV["BENCHD_STEPS"])
    step_ns = 10_000_000 + 1_000_000 * int(POINT) + 100_000 * int(TRIAL)  # so every figure differs
    where, factor = ENV.get("FAKE_FACTOR", "*=1").split("=")
    if is_hit(where, POINT):
        step_ns = int(step_ns * float(factor))
    pass_gate("first")
    for step in range(int(ENV["BENCHD_WARMUP_STEPS"])):
        record("step", step=step, warmup=True, t_ns=0, step_ns=step_ns, samples=batch, loss=2.3)
    for step in range(steps):
        time.sleep(float(ENV.get("FAKE_STEP_S", "0")))
        if step == steps - 1:
            pass_gate("last")
        record("step", step=step, t_ns=(step + 1) * step_ns, step_ns=step_ns, samples=batch, loss=2.0)
    summary = {"samples": batch * steps, "steps": steps, "duration_ns": steps * step_ns}
    summary.update(from_json(ENV.get("FAKE_SUMMARY")))
    summary.update(from_json(ENV.get("FAKE_BATCHES")).get(str(batch), {}))
    record("summary", **{k: v for k, v in summary.items() if v is not None})


def main():
    if "FAKE_STUBBORN" in ENV:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if "FAKE_PIDS" in ENV:
        with open(ENV["FAKE_PIDS"], "a", encoding="ascii") as file:
            file.write(f"{os.getpid()}\n")
    print(f"hello from {ROLE}/{INDEX} of point {POINT}", file=sys.stderr, flush=True)
    record("start", environment={"host": "fake", "cpu_model": "none", "threads": 1})
    if ROLE == "pserver":
        serve()
        record("summary", samples=0, steps=int(ENV["BENCHD_STEPS"]), duration_ns=1)
        return 0
    peers = [connect(addr) for addr in filter(None, ENV.get("BENCHD_PSERVER_ADDRS", "").split(","))]
    if INDEX == 0:
        for rule in filter(None, ENV.get("FAKE_FAIL", "").split(",")):
            where, code = rule.split("=")
            if is_hit(where, POINT, TRIAL, ATTEMPT):
                record("error", code=int(code), peer=None, message="told to fail")
                return int(code)
        if "FAKE_HANG" in ENV and is_hit(ENV["FAKE_HANG"], POINT, TRIAL):
            signal.pause()
    train()
    for peer in peers:
        peer.close()  # the goodbye
    return 0


sys.exit(main())
