#!/usr/bin/env python3
"""Whatever the API server accepts benchd accepts, and the reverse: on mutants of the shipped definitions.

    test_mutants.py [--long] [--seed TEXT] [--count N] [--only NUMBER]

A mutant is a shipped Benchmark, or a BenchmarkRun of one, with one to three values changed: to what the schema has there, or near it.
Seed and number make it, and --only prints it. kubernetes/crd answers for the API server; accepts.c for benchd, which gets what the API
server would have stored. benchd may refuse more, by the rules that mutants.rules names; how often each did is printed.
"""
import argparse
import collections
import copy
import json
import multiprocessing
import os
import pathlib
import random
import re
import subprocess
import sys

import tap
from cluster import CRD, programs

RULES = pathlib.Path(__file__).parent / "mutants.rules"
TEXTS = ("", "a", "A", "a b", "1", "0", "-1", "0.5", "1e3", "a.b", "/", "/spec/x", "/spec/containers/0/image", "/spec/containers/0/env",
         "{.status}=True", "1gbit", "1mbit", "100us", "1.5ms", "$(WINDOW)", "batch_size", "trainers", "workers", "link", "benchworker",
         "torch-ddp", "true", "null", "2026-01-01T00:00:00Z", "é", "名", "a\nb", "a\tb", "a\n", " a", "a ", "a=b", "x" * 300, "A-b.c_D",
         "\u2028", " \x85 ", "\x7f", "\x00")
OTHERS = (None, True, False, 0, 1, -1, 2, 1.5, 2.0, 0.5, 1e300, 1e-9, 2**31, 2**53, 2**63 - 1, -2**63, 2**63, 10**25, "", "x", "1", [], {},
          [1], ["a"], [[]], [None], {"a": 1}, {"a": None}, {"name": "a"})


# ---- values as a schema has them, or nearly ----

def text_of(r, schema):
    fit = [text for text in TEXTS if re.search(schema.get("pattern", ""), text) and len(text) <= schema.get("maxLength", 999)]
    length = min(schema.get("maxLength", 64), 70000) + r.choice((-1, 0, 1))
    return r.choice(fit) if fit and r.random() < 0.8 else r.choice("xé9/名") * length


def number_of(r, schema):
    low, high = schema.get("minimum", -5), schema.get("maximum", 2**53)
    whole = [low, high, low + 1, high - 1, low - 1, high + 1, r.randint(0, 100)]
    return r.choice(whole if schema.get("type") == "integer" else [*whole, low + 1e-9, high * 1.001, high / 2, r.random()])


def sample(r, schema, depth=0):
    properties, values = schema.get("properties", {}), schema.get("additionalProperties")
    kind = schema.get("type") or r.choice(("string", "integer"))
    if "enum" in schema:
        return r.choice(schema["enum"])
    if kind == "object":
        made = {key: sample(r, own, depth + 1) for key, own in properties.items()
                if key in schema.get("required", ()) or r.random() < (0.4 if depth < 3 else 0.1)}
        return {**made, **{r.choice(TEXTS[:26]): sample(r, values, depth + 1) for _ in range(r.randint(0, 3) if values else 0)}}
    if kind == "array":
        return [sample(r, schema["items"], depth + 1) for _ in range(r.randint(schema.get("minItems", 0), 3))]
    return r.random() < 0.5 if kind == "boolean" else text_of(r, schema) if kind == "string" else number_of(r, schema)


# ---- mutations ----

def places(value, schema, found):
    """Adds (container, key, schema of container[key]) of all that is below."""
    properties = schema.get("properties", {})
    for key in value if isinstance(value, dict) else range(len(value) if isinstance(value, list) else 0):
        own = properties.get(key) or schema.get("additionalProperties") if isinstance(value, dict) else schema.get("items")
        found.append((value, key, own or {}))
        places(value[key], own or {}, found)
    return found


def near(r, value):
    """The same with a mistake in it."""
    if isinstance(value, str):
        at = r.randint(0, len(value))
        return r.choice((value.upper(), value.lower(), value.swapcase(), value.capitalize(), value + " ", value[:at] + value[at + 1:],
                         value[:at] + r.choice("aZ0 -_.=/é\n$") + value[at:], value * 2, [value]))
    if isinstance(value, bool) or value is None:
        return r.choice((not value, str(value), int(value or 0)))
    if isinstance(value, (int, float)):
        return r.choice((str(value), -value, float(value), value + 1, value - 1, value + 0.5, value * 10, [value], {"value": value}))
    if isinstance(value, list):
        return r.choice((value + value[-1:], value * 40, value[:-1], [], {str(at): item for at, item in enumerate(value)}, value[::-1], [value]))
    one = r.choice(list(value) or ["a"])
    rest = {key: item for key, item in value.items() if key != one}
    return r.choice((rest, {**rest, one.swapcase(): value.get(one)}, {**value, r.choice(TEXTS): 1}, {}, [value], list(value.values())))


def deep(r, value):
    for _ in range(r.choice((1, 5, 50, 70, 200, 3000))):
        value = {"a": value} if r.random() < 0.5 else [value]
    return value


def mutate(r, made, schema):
    """Changes one value of the spec, mostly one that has a type, or the spec itself, or rarely the name of a Benchmark."""
    found = places(made["spec"], schema, [(made, "spec", schema)])
    container, key, own = r.choice([place for place in found if len(place[2]) > 1] if r.random() < 0.85 else found)
    if made["kind"] == "Benchmark" and r.random() < 0.02:
        container, key, own = made["metadata"], "name", {}
    value, way = container[key], r.randrange(10)
    if way == 0:
        del container[key]
    elif way == 1:
        container[key] = copy.deepcopy(r.choice(OTHERS))
    elif way == 2 and r.random() < 0.1:
        container[key] = deep(r, value)
    elif way == 2:
        container[key] = r.choice(TEXTS)
    elif way in (3, 4):
        container[key] = sample(r, own)
    elif way in (5, 6) and isinstance(value, dict) and own.get("properties"):
        name = r.choice(list(own["properties"]))
        value[name] = sample(r, own["properties"][name])
    elif way == 7 and isinstance(value, dict):
        value[r.choice(TEXTS)] = copy.deepcopy(r.choice(OTHERS))
    else:
        container[key] = near(r, value)


def mutant(definitions, schemas, seed, number):
    """Of a definition, a run that has one, or a run that refers to one."""
    r = random.Random(f"{seed}/{number}")
    definition, what = r.choice(definitions), r.choice(("Benchmark", "definition", "overrides"))
    spec = definition["spec"]
    overrides = {key: spec[key] for key in ("workload", "sweep", "measure", "repeats") if key in spec and r.random() < 0.5}
    kind = "Benchmark" if what == "Benchmark" else "BenchmarkRun"
    spec = {"Benchmark": spec, "definition": {"definition": spec},
            "overrides": {"benchmarkRef": {"name": "a"}, "overrides": overrides or {"measure": {"steps": 8}}}}[what]
    made = copy.deepcopy({**definition, "kind": kind, "metadata": {**definition["metadata"], "namespace": "benchd"}, "spec": spec})
    for _ in range(r.choice((1, 1, 1, 2, 3))):
        if "spec" in made and "name" in made["metadata"]:
            mutate(r, made, schemas[kind])
    return made


# ---- what the two say ----

class Answers:
    """A program that is told one thing, and then answers one line for each."""

    def __init__(self, program, told):
        self.process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env={**os.environ, "GOGC": "1000"})
        self.tell(told)

    def tell(self, what):
        self.process.stdin.write(json.dumps(what).encode() + b"\n")
        self.process.stdin.flush()

    def ask(self, question):
        self.tell(question)
        return json.loads(self.process.stdout.readline())


def json_of(**source):
    """YAML, read by the project's own reader."""
    return json.loads(subprocess.run([os.environ["YAML_JSON"], "/dev/stdin"], stdout=subprocess.PIPE, check=True, **source).stdout)


def compare(seed, numbers, shows_mutants, crd):
    """How often each did what, and what must not be."""
    sys.setrecursionlimit(20000)
    crds = json_of(input=pathlib.Path(CRD).read_bytes())["items"]
    definitions = [json_of(input=tap.whole(path).encode()) for path in tap.SHIPPED]
    for system in (it for definition in definitions for it in definition["spec"]["systems"] if "job" not in it):
        system.setdefault("rendezvous", [])  # what benchctl fills in, so that the profile is no reason for all else
    schemas = {crd["spec"]["names"]["kind"]: crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"] for crd in crds}
    rules = [line for line in RULES.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
    server, benchd = Answers(crd, crds), Answers(os.environ["ACCEPTS"], definitions[0]["spec"])
    counts, faults = collections.Counter(), collections.Counter()
    for number in numbers:
        made = mutant(definitions, schemas, seed, number)
        answer = server.ask(made)
        refused, said = answer.get("refused"), benchd.ask(answer.get("stored", made))
        rule = said and next((rule for rule in rules if re.search(rule, said)), None)
        counts.update(["accepted by both"] if refused is said is None else ["refused by the API server"] if refused else [rule])
        fault = "only benchd accepts" if refused and said is None else "only benchd refuses, by no rule" if said and not refused and not rule else ""
        if fault or shows_mutants:
            faults[fault] += 1
            print(f"# seed {seed}, number {number}: {fault}\n#   API server: {refused}\n#   benchd: {said}", flush=True)
        if shows_mutants:
            print("#", json.dumps(made), flush=True)
    return counts, faults


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--long", action="store_true")
    parser.add_argument("--seed", default="1")
    parser.add_argument("--count", type=int)
    parser.add_argument("--only", type=int)
    args = parser.parse_args()
    t = tap.Tap()
    crd, count = programs("crd")["crd"], args.count or (100000 if args.long else 2000)
    parts = [[args.only]] if args.only is not None else [range(i, count, os.cpu_count()) for i in range(os.cpu_count())]
    counts, faults = collections.Counter(), collections.Counter()
    with multiprocessing.Pool(len(parts)) as pool:
        for found in pool.starmap(compare, [(args.seed, part, args.only is not None, crd) for part in parts], chunksize=1):
            counts.update(found[0])
            faults.update(found[1])
    for what, n in counts.most_common():
        print(f"# {n:7} {what}")
    t.equal({}, dict(faults), f"{count} mutants of seed {args.seed}")
    return t.done()


if __name__ == "__main__":
    sys.exit(main())
