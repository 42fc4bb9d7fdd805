#!/usr/bin/env python3
"""Foreign systems: profiles found beside definitions, what they lack is said before anything starts, and a tiny one
that speaks the contracts runs and fills its row. No real framework is needed."""
import base64
import importlib.util
import json
import os
import pathlib
import shutil
import struct
import subprocess
import sys
import unittest.mock
import venv

import cli

PINS = "peerlib==1.5\n"
TRAIN = """#!/usr/bin/env python3
import os
os.execv({program!r}, [{program!r}])
"""
# What the shipped train.py have in common, without a framework: a step is a little work, its loss falls.
REPLICA = f"""#!{sys.executable}
import sys
sys.path.insert(0, {str(cli.ROOT / "benchmarks" / "profiles")!r})
sys.dont_write_bytecode = True
import benchd_replica as benchd
replica = benchd.Replica()
replica.limit_threads()
replica.start("Tiny", "1.0")
losses = iter((9.0, 3.0, 2.0, float("nan")))
replica.train(lambda x, y: sum(range(20000 * (x + y))) and next(losses), [(1, 0), (1, 2)])
"""


def load_peers():
    spec = importlib.util.spec_from_file_location("peers", cli.ROOT / "bench" / "peers.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Profiles(cli.CliCase):
    def setUp(self):
        super().setUp()
        self.place = self.folder / "place"
        self.env["BENCHCTL_PATH"] = str(self.place)
        self.env["XDG_CACHE_HOME"] = str(self.folder / "cache")

    def profile(self, name, python=False, command=None, **changes):
        folder = self.place / "profiles" / name
        folder.mkdir(parents=True)
        (folder / "train.py").write_text(TRAIN.format(program=cli.FAKE_REPLICA), encoding="ascii")
        (folder / "train.py").chmod(0o700)
        (folder / "requirements.txt").write_text(PINS, encoding="ascii")
        document = {
            "name": name, "models": ["vgg16-fluid-fc512"], "datasets": ["Synthetic"], "exchanges": ["None"],
            "install": f"script/bench peers install {name}",
            "roles": {"trainer": {"command": command or (["python", "./train.py"] if python else ["./train.py"])}},
            **({"python": {"requirements": "requirements.txt"}} if python else {}),
            **changes}
        (folder / "profile.yaml").write_text(json.dumps(document), encoding="utf-8")
        return folder

    def define_alone(self, *profiles, **workload):
        """One trainer without servers; the native worker and these profiles."""
        document = cli.definition(trainers=(1,), repeats=1, env={"FAKE_STEP_S": "0"})
        spec = document["spec"]
        spec["systems"] += [{"name": name, "profile": name} for name in profiles]
        spec["workload"] |= {"exchange": {"kind": "None"}, **workload}
        spec["sweep"] = {"grid": {"batch_size": [2, 4]}}
        del spec["roles"]["pserver"]
        spec["roles"]["trainer"]["replicas"] = {"value": 1}
        path = self.folder / "alone.json"
        path.write_text(json.dumps(document), encoding="utf-8")
        return str(path)

    def environment(self, name):
        """A Python as `peers.py install` would leave it."""
        folder = self.folder / "cache" / "benchd" / "peers" / f"{name}-{load_peers().pins_hash(PINS.encode())}"
        venv.create(folder, with_pip=False)
        return folder

    def test_a_foreign_system_fills_its_row(self):
        self.profile("tiny")
        result = json.loads(self.ctl("run", self.define_alone("tiny"), "--store", self.store, "-o", "json").stdout)
        self.assertEqual(result["phase"], "Succeeded")
        self.assertEqual([p["system"] for p in result["points"]], ["benchworker"] * 2 + ["tiny"] * 2)
        self.assertTrue(all(p["throughput"]["value"] > 0 for p in result["points"]))
        # Its results are read without the profile.
        shutil.rmtree(self.place)
        again = self.ctl("results", result["run"], "--store", self.store, "-o", "json").stdout
        self.assertEqual(json.loads(again), result)

    def test_the_shipped_replica_speaks_the_contracts(self):
        folder = self.profile("tiny")
        (folder / "train.py").write_text(REPLICA, encoding="utf-8")
        args = ("--systems", "tiny", "--set", "batch_size=4", "--steps", "3", "--store", self.store)
        result = json.loads(self.ctl("run", self.define_alone("tiny"), *args, "-o", "json").stdout)
        self.assertEqual(result["phase"], "Succeeded")
        log = self.ctl("logs", result["run"], "--store", self.store, "--point", "0").stdout
        start, warmup, *steps, summary = [json.loads(line) for line in log.splitlines()]
        self.assertEqual(("Tiny 1.0", "fp32"), (start["environment"]["build"], start["environment"]["precision"]))
        self.assertEqual((True, 0, 9.0), (warmup["warmup"], warmup["t_ns"], warmup["loss"]))
        self.assertEqual([(0, 3.0), (1, 2.0), (2, None)], [(s["step"], s["loss"]) for s in steps])
        self.assertEqual((12, 3, 3.0, None), tuple(summary[k] for k in ("samples", "steps", "loss_first", "loss_last")))
        self.assertGreaterEqual(summary["duration_ns"], steps[-1]["t_ns"])
        self.assertAlmostEqual(result["points"][0]["throughput"]["value"], 12e9 / summary["duration_ns"], places=6)
        self.assertNotIn("phase_ns", summary)  # not known: a zero would be a number
        series = summary["series"]
        for step, code in zip(steps, struct.unpack("<3H", base64.b64decode(series["data"]))):
            self.assertAlmostEqual(2 ** ((code + series["min"]) / 2048) * 1000 / step["step_ns"], 1, delta=2e-4)

    def test_the_shipped_replica_refuses_what_it_cannot(self):
        folder = self.profile("tiny")
        (folder / "train.py").write_text(REPLICA, encoding="utf-8")
        for name, value in (("MODEL", "resnet"), ("DATA", "idx:/data"), ("EXCHANGE", "PServer"), ("ROLE", "pserver")):
            done = subprocess.run([str(folder / "train.py")], env={**self.env, f"BENCHD_{name}": value}, check=False,
                                  capture_output=True, text=True)
            error = json.loads(done.stdout)
            self.assertEqual((2, "error", 2), (done.returncode, error["type"], error["code"]))
            self.assertIn(f"BENCHD_{name} is '{value}'", error["message"])

    def test_only_the_named_systems(self):
        path = self.define_alone("gone")
        self.assertIn("unknown value 'gone'", self.ctl("validate", path, code=2).stderr)
        done = self.ctl("run", path, "--systems", "benchworker", "--store", self.store, "-o", "json")
        self.assertEqual({p["system"] for p in json.loads(done.stdout)["points"]}, {"benchworker"})
        self.assertIn("system 'benchwork' not found", self.ctl("run", path, "--systems", "benchwork", "--store", self.store, code=2).stderr)

    def test_a_python_profile_runs_in_its_environment(self):
        self.profile("peer", python=True)
        folder = self.environment("peer")
        plan = self.ctl("plan", self.define_alone("peer"), "--local", "-o", "json").stdout
        self.assertEqual(len(json.loads(plan)["points"]), 4)
        done = self.ctl("run", self.define_alone("peer"), "--store", self.store, "-o", "json")
        result = json.loads(done.stdout)
        self.assertEqual(result["phase"], "Succeeded")
        # A run that is gone on with looks again.
        shutil.rmtree(folder)
        self.assertEqual(self.ctl("run", "--resume", result["run"], "--store", self.store).returncode, 0)

    def test_a_missing_program(self):
        self.profile("tiny", command=["./not-there"])
        done = self.ctl("run", self.define_alone("tiny"), "--store", self.store, code=9)
        self.assertRegex(done.stderr, r"the program '.*/profiles/tiny/not-there' is missing")

    def test_a_missing_file(self):
        """The program is there, what it is to run is not: said at once, not by every attempt of every trial."""
        self.profile("tiny", command=[sys.executable, "./not-there.py", "./train.py"])
        done = self.ctl("run", self.define_alone("tiny"), "--store", self.store, code=9)
        self.assertRegex(done.stderr, r"the file '.*/profiles/tiny/not-there.py' is missing")
        self.assertFalse(pathlib.Path(self.store.removeprefix("sqlite:")).exists())

    def test_a_single_node_profile_is_refused_where_a_point_has_servers(self):
        self.profile("tiny")
        document = cli.definition(env={"FAKE_STEP_S": "0"})
        document["spec"]["systems"].append({"name": "tiny", "profile": "tiny"})
        path = self.folder / "served.json"
        path.write_text(json.dumps(document, indent=1), encoding="utf-8")
        done = self.ctl("validate", str(path), code=2)
        self.assertRegex(done.stderr, r"served\.json:\d+:\d+: error: spec\.systems\[1\]\.profile: profile 'tiny' "
                                      r"does not support exchange PServer; it trains on a single node only")
        self.assertIn("fix: remove the system, or write exchange: {kind: None}", done.stderr)

    def test_a_wrong_profile_is_named_with_its_place(self):
        self.profile("tiny", datasets=["Mnist"])
        done = self.ctl("validate", self.define_alone(), code=2)
        self.assertRegex(done.stderr, r"profiles/tiny/profile\.yaml:1:\d+: error: datasets\[0\]: unknown value 'Mnist'")

    def test_the_same_folder_as_the_installer(self):
        """ctl/definition/profiles.c and bench/peers.py compute one path; without that nothing that was installed is found."""
        peers = load_peers()
        self.assertEqual(peers.pins_hash(b""), "cbf29ce484222325")
        self.assertEqual(peers.pins_hash(b"foobar"), "85944171f73967e8")  # the published test vector
        self.env["BENCHCTL_PATH"] = str(cli.ROOT / "benchmarks")
        for name in ("fluid", "jax-cpu", "paddle", "pytorch", "tensorflow"):
            done = self.ctl("run", self.define_alone(name), "--systems", name, "--store", self.store, code=9)
            self.assertIn(f" in {self.folder}/cache/benchd/peers/{peers.folder(name).name}/bin/python", done.stderr)
            self.assertIn(f"fix: python3 {cli.ROOT.resolve()}/benchmarks/profiles/{name}/../../../bench/peers.py install {name}  # {peers.cost(name)}\n", done.stderr)

    def test_a_python_of_another_version_is_looked_for(self):
        """Where people have one: on PATH, in pyenv and in uv; a shim of pyenv that stands for nothing does not count."""
        peers, home = load_peers(), self.folder / "home"
        self.assertEqual(["3.8", "3.7"], peers.versions("fluid"))
        self.assertEqual([], peers.versions("pytorch"))
        with unittest.mock.patch.dict(os.environ, {"HOME": str(home), "PATH": f"{home}/bin"}, clear=True):
            self.assertIsNone(peers.maker("fluid"))
            self.assertIn("fluid needs Python 3.8 or 3.7, which", peers.how_to_get("fluid"))
            self.assertEqual(sys.executable, peers.maker("pytorch"))
            for place in (".local/share/uv/python/cpython-3.7.9-linux/bin/python3.7", ".pyenv/versions/3.8.18/bin/python3.8"):
                path = home / place
                path.parent.mkdir(parents=True)
                path.write_text("#!/bin/sh\nexit 0\n", encoding="ascii")
                path.chmod(0o755)
                self.assertEqual(str(path), str(peers.maker("fluid")))
            shim = home / "bin" / "python3.8"
            shim.parent.mkdir()
            shim.write_text("#!/bin/sh\necho no such version >&2\nexit 127\n", encoding="ascii")
            shim.chmod(0o755)
            self.assertEqual(str(home / ".pyenv/versions/3.8.18/bin/python3.8"), str(peers.maker("fluid")))

    def test_all_that_is_missing_is_said_before_anything_starts(self):
        for name in ("one", "two"):
            self.profile(name, python=True)
        done = self.ctl("run", self.define_alone("one", "two"), "--store", self.store, code=9)
        said = r"system '{0}' cannot start: no Python with the packages of .*requirements\.txt in .*fix: script/bench peers install {0}\n"
        self.assertRegex(done.stderr, f"(?s){said.format('one')}.*{said.format('two')}$")
        self.assertFalse((self.folder / "results.db").exists())

    def test_what_the_definitions_name_is_installed(self):
        """`benchctl run vgg16-single-node` needs no source tree: its profiles and their installer come along."""
        said = subprocess.run(["meson", "introspect", "--installed", os.environ["BENCHD_BUILD_DIR"]], capture_output=True,
                              text=True, check=True).stdout
        places = {str(pathlib.Path(source).resolve().relative_to(cli.ROOT.resolve())): pathlib.Path(place)
                  for source, place in json.loads(said).items() if pathlib.Path(source).suffix in (".py", ".yaml", ".txt")}
        wanted = [p for p in (cli.ROOT / "benchmarks").rglob("*") if p.suffix in (".py", ".yaml", ".txt")]
        wanted = sorted(str(p.relative_to(cli.ROOT)) for p in [*wanted, cli.ROOT / "bench" / "peers.py"])
        self.assertEqual(sorted(places), wanted)
        (root,) = {str(place)[:-len(source)] for source, place in places.items()}
        self.assertTrue(root.endswith("/share/benchd/"), root)


if __name__ == "__main__":
    cli.main()
