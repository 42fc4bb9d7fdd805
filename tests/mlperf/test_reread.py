"""The rules of docs/contracts/mllog.md on logs of a few lines, as reread.py reads them."""

import json
import unittest

import reread


def log(benchmark, events, **config):
    """A log: configuration, then events as (seconds, key, metadata, value), and run_start at 0."""
    lines = [(0, key, {}, value) for key, value in ({"submission_benchmark": benchmark} | config).items()]
    lines += [(0, "run_start", {}, None)] + [(*event, {}, None)[:4] if len(event) < 3 else (*event, None)[:4] for event in events]
    return "\n".join("0: :::MLLOG " + json.dumps({"time_ms": 1000000 + round(1e3 * t), "key": key, "value": value, "metadata": metadata})
                     for t, key, metadata, value in lines)


def blocks(n, evaluation=True):
    """Blocks of 10 s and 100 samples, each with 5 s of evaluation after it; the first takes 20 s."""
    events, t = [], 0
    for i in range(n):
        events.append((t, "block_start"))
        t += 20 if i == 0 else 10
        events.append((t, "block_stop", {"samples_count": 100 * (i + 1)}))
        if evaluation:
            events += [(t, "eval_start"), (t + 5, "eval_stop")]
            t += 5
    return events + [(t, "run_stop", {"status": "success"})]


class Reread(unittest.TestCase):
    def check(self, text, throughput, basis="positions", **more):
        out = reread.reread(text, "folder")
        self.assertEqual(out["basis"], basis, out)
        self.assertAlmostEqual(out["throughput"], throughput, places=6)
        for key, value in more.items():
            self.assertEqual(out[key], value, key)

    def test_evaluation_between_blocks_and_warm_up(self):
        self.check(log("llama2_70b_lora", blocks(4)), 10, training_s=50.0, evaluation_s=20.0, time_to_target_s=70.0, unit="sequences")
        self.check(log("llama2_70b_lora", blocks(1)), 5)
        self.check(log("llama2_70b_lora", blocks(4, evaluation=False)), 10, evaluation_s=None)

    def test_evaluation_inside_an_epoch(self):
        events = [(0, "epoch_start")]
        for i in range(1, 4):
            events += [(15 * i - 5, "eval_start", {"epoch_num": 150 * i}), (15 * i, "eval_stop", {"samples_count": 9})]
        self.check(log("bert", events), 15, target="unknown", time_to_target_s=None)

    def test_evaluation_that_overlaps_is_training(self):
        events = []
        for i in range(3):
            events += [(10 * i, "epoch_start", {"epoch_num": i}), (10 * i + 10, "epoch_stop", {"epoch_num": i}),
                       (10 * i + 10, "eval_start", {"epoch_num": i + 1})]
            events += [(10 * i + 3, "eval_stop")] if i else []
        self.check(log("ssd", sorted(events, key=lambda e: e[0]), train_samples=4572, global_batch_size=256), 4572 * 25.6)
        self.check(log("maskrcnn", events, train_samples=40000), 11726.6)
        events = [(0, "block_start"), (10, "eval_start", {"epoch_num": 10}), (11, "block_start"), (15, "eval_stop"), (20, "eval_start", {"epoch_num": 20})]
        self.check(log("bert", events), 1)

    def test_concurrent_evaluation_of_unet3d(self):
        events = []
        for i in range(3):
            events += [(10 * i, "block_start", {"first_epoch_num": 20 * i or 1, "epoch_count": 20}), (10 * i + 1, "eval_start"),
                       (10 * i + 9, "eval_stop"), (10 * i + 10, "block_stop")]
        self.check(log("unet3d", events), 336)
        self.check(log("unet3d", events, samples_per_epoch=176), 352)

    def test_units(self):
        events = [(0, "block_start"), (10, "eval_start", {"epoch_num": 20480}), (10, "eval_stop"), (20, "eval_start", {"epoch_num": 40960})]
        self.check(log("gpt3", events, max_sequence_length=2048), 1)
        events = [(0, "block_start", {"step_num": 0}), (10, "block_stop", {"step_num": 0}), (10, "block_start", {"step_num": 5}, "training_step"),
                  (12, "block_start", {"step_num": 9}, "validation_step"), (14, "block_stop", {}, "validation_step"), (20, "block_stop"),
                  (30, "block_start", {"step_num": 10})]
        self.check(log("stable_diffusion", events, global_batch_size=8), 4)

    def test_counts_of_a_block(self):
        """block_stop and step times may count the samples of their block; eval_start counts all."""
        events = []
        for i, (samples, seconds) in enumerate(((160, 99.0), (80, 1.0), (80, 3.0))):
            events += [(10 * i, "block_start", {"samples_count": samples}), (10 * i + 10, "block_stop", {"samples_count": samples}),
                       (10 * i + 10, "tracked_stats", {"samples_count": samples}, {"train_step_time": seconds}),
                       (10 * i + 10, "eval_start", {"samples_count": 160 + 80 * i}), (10 * i + 10, "eval_stop")]
        self.check(log("llama2_70b_lora", events), 8)
        self.check(log("llama2_70b_lora", events, global_batch_size=8), 4, "steps")

    def test_checkpoint_in_a_block(self):
        events = [(0, "block_start"), (10, "block_stop"), (10, "block_start", {"samples_count": 1}), (15, "checkpoint"), (20, "block_stop"),
                  (20, "block_start", {"samples_count": 51})]
        self.check(log("stable_diffusion", events), 10)

    def test_order_of_times_and_after_the_end(self):
        events = blocks(4)
        self.check(log("llama2_70b_lora", events[::-1]), 10)
        self.check(log("llama2_70b_lora", [(90, "eval_start", {"samples_count": 9999}), (80, "block_start")] + events), 10)

    def test_step_times(self):
        step = [(i, "tracked_stats", {"step": 2048 * 8 * i}, {"train_step_timing in s": 9.0 if i <= 5 else 2.0}) for i in range(1, 15)]
        self.check(log("gpt3", step, global_batch_size=8, max_sequence_length=2048), 4, "steps")
        lines = [(1, "tracked_stats", {"samples_count": 80}, {"train_step_time": 9.0}), (2, "tracked_stats", {"samples_count": 320}, {"train_step_time": 1.0}),
                 (3, "tracked_stats", {"samples_count": 400}, {"train_step_time": 5.0})]
        self.check(log("llama31_8b", lines, global_batch_size=8), 4, "steps")
        lines = [(i, "tracked_stats", {"step": step}, {"train_step_time": value}) for i, step, value in ((1, 8000, 1.0), (2, 8004, 3.0), (3, 8804, 2.0))]
        lines += [(4 + i, "tracked_stats", {"step": 8805 + i}, {"train_step_time": 1.0}) for i in range(4)]
        self.check(log("llama31_8b", lines, global_batch_size=8), 8 * 105 / 207, "steps")

    def test_losses(self):
        events = [(0, "block_start")] + [(10 * i, "train_loss", {"samples_count": 40 * i}) for i in range(1, 5)]
        events += [(70, "train_loss", {"samples_count": 200}), (90, "block_stop", {"samples_count": 210}), (90, "eval_accuracy")]
        events += [(100 + 50 * i + j, key, {"samples_count": 220 + 10 * i}) for i in range(3) for j, key in enumerate(("train_loss", "eval_accuracy"))]
        self.check(log("llama2_70b_lora", events), 4, "losses", evaluation_s=None)
        events += [(300, "eval_start", {"samples_count": 400}), (300, "eval_stop")]
        self.check(log("llama2_70b_lora", events), 400 / 90)

    def test_refused(self):
        for text, reason in (("nothing", "the log has no MLPerf events"), (':::MLLOG {"key": "run_stop", "time_ms": 1}', "the log has no run_start"),
                             (log("bert", [(1, "eval_accuracy", {"epoch_num": 5})]), "no training time: no start of an epoch or block before a position"),
                             (log("new", [(1, "epoch_start"), (2, "eval_start", {"epoch_num": 1})]), "no step times, no positions")):
            out = reread.reread(text, "folder")
            self.assertEqual((out["throughput"], out["reason"]), (None, reason))


if __name__ == "__main__":
    unittest.main()
