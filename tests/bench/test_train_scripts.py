#!/usr/bin/env python3
"""benchmarks/profiles/*/train.py: what they do without a framework; cli/frameworks runs them with theirs."""
import concurrent.futures
import contextlib
import gzip
import importlib.util
import io
import itertools
import json
import os
import pathlib
import re
import socket
import subprocess
import sys
import tempfile
import threading
import time
import types
import unittest
from unittest import mock

import bench_case


sys.path[:0] = [str(bench_case.ROOT / "benchmarks" / "profiles"), str(bench_case.ROOT / "benchmarks" / "profiles" / "pytorch")]


def script(profile, name="train"):
    """Its program as a module; nothing of a framework is imported."""
    path = bench_case.ROOT / "benchmarks" / "profiles" / profile / f"{name}.py"
    spec = importlib.util.spec_from_file_location(f"{name}_{profile}", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class ImageNet(unittest.TestCase):
    """imagenet_data.py: what is wrong with a variable is said in a record; cli/frameworks runs it."""

    def run_with(self, profile, **variables):
        path = bench_case.ROOT / "benchmarks" / "profiles" / profile / "train.py"
        done = subprocess.run([sys.executable, path], capture_output=True, text=True, check=False,
                              env=os.environ | {"BENCHD_MODEL": "imagenet", **variables})
        return done.returncode, json.loads(done.stdout.splitlines()[0])["message"]

    def test_wrong_variables(self):
        for variables, says in (({"MODEL": "vgg"}, "MODEL is 'vgg'; this script has 'resnet50', 'inception3' only"),
                                ({"DATA": "tape"}, "DATA is 'tape'; this script has 'synthetic', 'real' only"),
                                ({"IMAGE_SIZE": "74"}, "IMAGE_SIZE is '74'; write a number of 75 or more"),
                                ({"IMAGE_SIZE": "-99"}, "IMAGE_SIZE is '-99'; write a number of 75 or more")):
            for profile in ("pytorch", "tensorflow"):
                with self.subTest(variables, profile=profile):
                    self.assertEqual((2, says), self.run_with(profile, **variables))

    def test_an_exchange_that_a_program_lacks(self):
        for profile, exchange, has in (("pytorch", "PServer", "AllReduce"), ("tensorflow", "AllReduce", "PServer")):
            self.assertEqual((2, f"BENCHD_EXCHANGE is '{exchange}'; this profile has 'None', '{has}' only"),
                             self.run_with(profile, BENCHD_EXCHANGE=exchange))


class MlbenchResNet(unittest.TestCase):
    """mlbench_resnet.py: the schedule of the task, and what is wrong with a variable; cli/frameworks runs it."""

    def module(self):
        return script(".", "mlbench_resnet")

    def test_the_learning_rate(self):
        """Of 4 workers with batches of 32: from that of one, over five epochs, to 0.05; a tenth after 82 and 109."""
        rate = self.module().learning_rate
        for epoch, wanted in ((0, .0125), (2.5, .03125), (5, .05), (81.99, .05), (82, .005), (109, .0005), (163, .0005)):
            self.assertAlmostEqual(wanted, rate(epoch, 32, 4), msg=epoch)
        self.assertEqual(rate(0, 32, 1), rate(5, 32, 1))  # nothing to warm up to

    def test_the_files_of_cifar10(self):
        """Records of all files in their order, plain or gzip'd; what is none is named."""
        module = self.module()
        records = [bytes([label]) + bytes([label * 20]) * 3072 for label in range(10)]
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            for i, file in enumerate(module.CIFAR10_TRAIN):
                data = records[2 * i] + records[2 * i + 1]
                (folder / (file + ".gz" * (i % 2))).write_bytes(gzip.compress(data) if i % 2 else data)
            self.assertEqual(b"".join(records), module.read_cifar10(folder, module.CIFAR10_TRAIN))
            path = folder / module.CIFAR10_TEST[0]
            wrong = f"{path} is not a binary file of CIFAR-10: expected records of 3073 bytes, labels 0 to 9"
            for data, said in ((None, f"{path} and {path}.gz do not exist"), (b"", wrong), (records[0][:-1], wrong),
                               (b"\x0a" + records[0][1:], wrong)):
                if data is not None:
                    path.write_bytes(data)
                with self.assertRaises(ValueError) as raised:
                    module.read_cifar10(folder, module.CIFAR10_TEST)
                self.assertEqual(said, str(raised.exception))

    def test_wrong_variables(self):
        nets = "'resnet20', 'resnet20-v2', 'resnet32', 'resnet32-v2', 'resnet44', 'resnet44-v2', 'resnet56', 'resnet56-v2'"
        for variables, says in (({"EPOCHS": "0"}, "EPOCHS is '0'; write a number of 1 or more"),
                                ({"NET": "resnet18"}, f"NET is 'resnet18'; this script has {nets} only"),
                                ({"WIDTH": "-1"}, "WIDTH is '-1'; write a number of 1 or more"),
                                ({"SAMPLES": "many"}, "SAMPLES is 'many'; write a number of 1 or more"),
                                ({"SAMPLES": "31"}, "SAMPLES is 31, fewer than a batch of 32 for each worker")):
            for profile in ("pytorch", "tensorflow"):
                path = bench_case.ROOT / "benchmarks" / "profiles" / profile / "train.py"
                with self.subTest(variables, profile=profile):
                    done = subprocess.run([sys.executable, path], capture_output=True, text=True, check=False,
                                          env=os.environ | {"BENCHD_MODEL": "resnet20", **variables})
                    self.assertEqual((2, says), (done.returncode, json.loads(done.stdout.splitlines()[0])["message"]))


class Shared(unittest.TestCase):
    """What benchd_replica.py has for all."""

    def trainers(self, n):
        """So many, at a free port of this machine."""
        module = script(".", "benchd_replica")
        with socket.create_server(("127.0.0.1", 0)) as taken:
            addresses = f"127.0.0.1:{taken.getsockname()[1]},127.0.0.1:1"
        return [module.Meeting(types.SimpleNamespace(training=n, index=i), addresses) for i in range(n)]

    def test_trainers_meet_as_often_as_they_like(self):
        """Nobody goes on before the last has come, whoever that is."""
        one, two, three = self.trainers(3)
        with concurrent.futures.ThreadPoolExecutor(3) as pool:
            for last, first, second in ((one, two, three), (three, one, two), (two, three, one)):
                waiting = [pool.submit(other.meet) for other in (first, second)]
                self.assertEqual(set(), concurrent.futures.wait(waiting, timeout=.2).done)
                last.meet()
                for future in waiting:
                    future.result(60)

    def test_a_trainer_asks_whether_all_are_done(self):
        one, two = self.trainers(2)
        for first, last in ((one, two), (two, one)):
            self.assertFalse(first.is_over())
            self.assertFalse(first.is_over())
            last.meet()
            end_s = time.monotonic() + 60
            while not first.is_over():
                self.assertLess(time.monotonic(), end_s)
        (alone,) = self.trainers(1)
        alone.meet()
        self.assertTrue(alone.is_over())

    def test_mkl_is_told_of_avx2_where_it_does_not_look(self):
        settings = script(".", "benchd_replica").library_settings
        with tempfile.TemporaryDirectory() as folder:
            for vendor, flags, wanted in (("AuthenticAMD", "sse avx2", {"MKL_DEBUG_CPU_TYPE": "5"}), ("AuthenticAMD", "sse avx", {}),
                                          ("GenuineIntel", "sse avx2", {})):
                path = pathlib.Path(folder, "cpuinfo")
                path.write_text(f"processor\t: 0\nvendor_id\t: {vendor}\nflags\t\t: {flags}\n", encoding="ascii")
                self.assertEqual(wanted, settings(path))
            self.assertEqual({}, settings(pathlib.Path(folder, "none")))

    def test_who_sets_a_variable_of_a_library_means_it(self):
        module = script(".", "benchd_replica")
        for before in ({}, {"MKL_DEBUG_CPU_TYPE": ""}):
            with mock.patch.dict(os.environ, before, clear=True), mock.patch.object(
                    module, "library_settings", lambda: {"MKL_DEBUG_CPU_TYPE": "5"}):
                module.Replica({}).limit_threads()
                self.assertEqual(before.get("MKL_DEBUG_CPU_TYPE", "5"), os.environ["MKL_DEBUG_CPU_TYPE"])


class FleetX(unittest.TestCase):
    """train_fleetx.py of PyTorch, and what both print; cli/frameworks runs the networks and the servers."""

    def module(self):
        return script("pytorch", "train_fleetx")

    def test_lines_are_those_of_fleetx(self):
        """Of the steps behind the warm-up, with the mean rate of them all."""
        replica = self.module().benchd.Replica({"BENCHD_STEPS": "3", "BENCHD_WARMUP_STEPS": "2"})
        losses, out = iter([9., 9., 3., 2., 1.5]), io.StringIO()
        with contextlib.redirect_stdout(out), mock.patch.object(time, "monotonic", iter([10., 10.5, 11., 12.]).__next__):
            replica.train_as_fleetx(lambda: next(losses), "worker_index: 4")
        self.assertEqual(["worker_index: 4, step1, train_loss: 3.000000, total time cost = 0.500000, "
                          "step per second: 2.000000, speed: 2.000000",
                          "worker_index: 4, step2, train_loss: 2.000000, total time cost = 1.000000, "
                          "step per second: 2.000000, speed: 2.000000",
                          "worker_index: 4, step3, train_loss: 1.500000, total time cost = 2.000000, "
                          "step per second: 1.500000, speed: 1.500000"], out.getvalue().splitlines())
        rule = (bench_case.ROOT / "benchmarks" / "rules" / "fleetx.yaml").read_text(encoding="utf-8")
        pattern = re.search(r"pattern: '(\(\?:epoch id\|worker_index\).*)'", rule)[1]
        for line in out.getvalue().splitlines():
            self.assertRegex(line, re.sub(r"\(\?<\w+>\)", r"[\\d.]+", pattern))

    def window(self, quota, events, **keys):
        """Steps of 1 s by a clock that only they move; what is printed."""
        replica = self.module().benchd.Replica({"BENCHD_STEPS": str(quota), "BENCHD_WARMUP_STEPS": "2"})
        clock, out = [10.], io.StringIO()

        def step():
            clock[0] += 1
            events.append("step")
            return 1

        def monotonic():
            events.append("clock")
            return clock[0]

        with contextlib.redirect_stdout(out), mock.patch.object(time, "monotonic", monotonic):
            replica.train_as_fleetx(step, "worker_index: 0", meet=lambda: events.append("meet"), **keys)
        return out.getvalue().splitlines()

    def test_clocks_start_when_all_have_warmed_up(self):
        """Rates of trainers are added: their windows must be the same."""
        events = []
        self.window(1, events)
        self.assertEqual(["step", "step", "meet", "clock", "step", "clock"], events)

    def test_a_trainer_trains_until_all_have_made_their_steps(self):
        answers = iter((False, False, True))
        lines = self.window(3, [], is_over=answers.__next__)
        self.assertEqual([1, 2, 3, 4, 5], [int(re.search(r"step(\d+),", line)[1]) for line in lines])
        self.assertIn("total time cost = 5.000000, step per second: 1.000000,", lines[-1])

    def test_the_clock_stands_still_in_a_test(self):
        """Two parts of two steps; who was ahead at the end of the first part has fewer left."""
        for overs, wanted in (((True, True), ["step1", "step2", "0.5", "step3", "step4", "0.75"]),
                              ((False, False, False, True, True), ["step1", "step2", "step3", "step4", "step5", "0.5", "0.75"])):
            events, aucs = [], iter((.5, .75))

            def test():
                events.extend(["step"] * 7)
                return next(aucs)

            lines = self.window(4, events, is_over=iter(overs).__next__, tests=2, test=test)
            self.assertEqual(wanted, [re.search(r"step\d+(?=,)|0\.\d*[1-9](?=0* after)", line)[0] for line in lines])
            steps = sum("train_loss" in line for line in lines)
            self.assertEqual(f"worker_index: 0, epoch: 2, test_auc: 0.750000 after {steps:.6f} s", lines[-1])
            self.assertEqual(2, events.count("meet"))

    def test_trainers_meet_at_the_first_server(self):
        module = self.module()
        module.BARRIER = threading.Barrier(2)
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            def begin(function):
                future = pool.submit(function)
                future.wait = lambda: future.result(60)
                return future

            one, two = (module.Meeting(types.SimpleNamespace(begin=begin)) for _ in range(2))
            for _ in range(3):
                self.assertFalse(one.is_over())
                self.assertFalse(one.is_over())
                begin(two.meet).wait()
                self.assertIsNone(one.arrival.wait())
                self.assertTrue(one.is_over())
            self.assertIs(False, one.is_over())
            module.BARRIER.abort()  # as a server that has failed
            with self.assertRaises(threading.BrokenBarrierError):
                while not one.is_over():
                    pass

    def test_a_dense_parameter_is_on_one_server(self):
        part = self.module().part
        for n in (0, 1, 7, 100):
            for servers in (1, 2, 3, 8):
                parts = [part(range(n), i, servers) for i in range(servers)]
                self.assertEqual(list(range(n)), [x for p in parts for x in p])
                self.assertLessEqual(max(map(len, parts)) - min(map(len, parts)), 1)

    def shard(self, trainers):
        module = self.module()
        shard = module.Shard.__new__(module.Shard)
        shard.together, shard.changed, shard.waiting, shard.round = trainers, threading.Condition(), [], 0
        shard.apply = mock.Mock()
        return shard

    def test_a_synchronous_push_waits_for_all(self):
        shard = self.shard(2)
        first = threading.Thread(target=shard.push, args=("rows", 1, "dense"), daemon=True)
        first.start()
        first.join(0.2)
        self.assertEqual((True, []), (first.is_alive(), shard.apply.mock_calls))
        shard.push("rows", 2, "dense")
        first.join(10)
        self.assertFalse(first.is_alive())
        self.assertEqual([mock.call("rows", 1, "dense"), mock.call("rows", 2, "dense")], shard.apply.mock_calls)
        self.assertEqual([], shard.waiting)

    def test_an_asynchronous_push_counts_at_once(self):
        shard = self.shard(1)
        shard.push("rows", 1, "dense")
        shard.apply.assert_called_once_with("rows", 1, "dense")

    def test_wrong_variables(self):
        for variables, says in (({"NET": "vgg"}, "NET is 'vgg'; this script has 'ctr', 'word2vec' only"),
                                ({"UPDATE": "dgc"}, "UPDATE is 'dgc'; this script has 'sync', 'async', 'geo' only"),
                                ({"GEO_STEPS": "0"}, "GEO_STEPS is '0'; write a number of 1 or more"),
                                ({"SIZE": "tiny"}, "SIZE is 'tiny'; this script has 'full', 'small' only"),
                                ({"BENCHD_EXCHANGE": "AllReduce"},
                                 "BENCHD_EXCHANGE is 'AllReduce'; this profile has 'None', 'PServer' only")):
            path = bench_case.ROOT / "benchmarks" / "profiles" / "pytorch" / "train.py"
            with self.subTest(variables):
                done = subprocess.run([sys.executable, path], capture_output=True, text=True, check=False,
                                      env=os.environ | {"BENCHD_MODEL": "fleetx", **variables})
                self.assertEqual((2, says), (done.returncode, json.loads(done.stdout.splitlines()[0])["message"]))

    def test_the_collective_one_too(self):
        path = bench_case.ROOT / "benchmarks" / "profiles" / "paddle" / "train.py"
        done = subprocess.run([sys.executable, path], capture_output=True, text=True, check=False,
                              env=os.environ | {"BENCHD_MODEL": "fleetx", "NET": "ctr"})
        says = "NET is 'ctr'; this script has 'resnet50', 'vgg16', 'bert-base', 'bert-large', 'transformer-base' only"
        self.assertEqual((2, says), (done.returncode, json.loads(done.stdout.splitlines()[0])["message"]))


class TensorFlow(unittest.TestCase):
    def test_it_has_onednn_on_every_cpu(self):
        """By itself TensorFlow leaves it off without AVX-512 VNNI, and a peer that is a third as fast as it can be says nothing."""
        with mock.patch.dict(os.environ, clear=True):
            script("tensorflow", "training").prepare(mock.Mock())
            self.assertEqual("1", os.environ["TF_ENABLE_ONEDNN_OPTS"])
        with mock.patch.dict(os.environ, {"TF_ENABLE_ONEDNN_OPTS": "0"}, clear=True):
            script("tensorflow", "training").prepare(mock.Mock())
            self.assertEqual("0", os.environ["TF_ENABLE_ONEDNN_OPTS"])  # who sets it means it

    def test_a_step_is_done_when_every_trainer_did_one(self):
        """Two trainers, in no order: the second one to end counts, with its loss."""
        steps = script("tensorflow", "servers").timed_steps([(500, 4.0), (100, 1.0), (200, 2.0), (900, 8.0)], 2)
        self.assertEqual([(200, 2.0), (900, 8.0)], steps)

    def test_a_step_ends_when_its_update_is_over(self):
        """The last one with the trial: what knows the loss earlier, in the step itself, is not asked."""
        module, tf, mail, clock = script("tensorflow", "servers"), mock.MagicMock(), mock.Mock(), itertools.count()
        tf.distribute.coordinator.ClusterCoordinator().schedule.return_value.fetch.side_effect = lambda: clock.__next__() * 0.5
        tf.timestamp.side_effect = AssertionError("inside the step")
        tf.function.side_effect = lambda step: (step(iter([0])), step)[1]
        with mock.patch.object(module.time, "monotonic_ns", lambda: next(clock)):
            module.coordinate(tf, mock.Mock(training=1, steps=2, warmup_steps=0), mock.Mock(), mock.Mock(), {}, [mail])
        done = json.loads(mail.send.call_args.args[0])
        self.assertEqual([done["duration_ns"] - 3, done["duration_ns"] - 1], [ns for ns, _ in done["steps"]])

    def test_the_coordinator_has_the_last_mail(self):
        """It ends with it: a trainer whose mail came later waited for ever, on a machine that was busy."""
        tasks = script("tensorflow", "servers").others_first({"worker": ["a:1", "b:2"], "ps": ["c:3"]})
        self.assertEqual([("worker", 1, "b:2"), ("ps", 0, "c:3"), ("worker", 0, "a:1")], tasks)

    def test_the_others_outlive_the_coordinator(self):
        """What ends before has not answered the last mail, and the coordinator waits for that answer."""
        module = script("tensorflow", "servers")
        listener = socket.create_server(("127.0.0.1", 0))
        address = f"127.0.0.1:{listener.getsockname()[1]}"
        timer = threading.Timer(0.3, listener.close)
        begin_s = time.monotonic()
        timer.start()
        module.outlive(address)
        self.assertLessEqual(0.3, time.monotonic() - begin_s)
        timer.join()
        module.outlive(address, limit_s=0)

    def test_a_coordinator_that_fails_ends_the_process(self):
        said, ended = mock.Mock(), mock.Mock()
        module = script("tensorflow", "servers")
        with mock.patch.object(module.os, "_exit", ended):
            module.end_with(said, lambda: 1 // 0)
        self.assertIn("by zero", said.fail.call_args.args[1])
        ended.assert_called_once_with(1)


if __name__ == "__main__":
    bench_case.main()
