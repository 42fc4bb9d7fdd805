"""On a pseudo-terminal of 60 to 200 columns: the live view and lists; no line of them wraps."""
import fcntl
import os
import pty
import re
import struct
import subprocess
import termios

import cli

LAST_NOTE = "the columns: "   # from here on each line is a command to copy, which is not broken


class Screen:
    """The lines that a terminal shows, from what the live view writes: text, CR, LF, up, clear to the line's or
    screen's end, colours."""

    def __init__(self, columns):
        self.columns, self.lines, self.row, self.column, self.wrapped = columns, [""], 0, 0, 0

    def feed(self, text):
        for part in re.findall(r"\x1b\[\d*[A-Za-z]|\r|\n|[^\x1b\r\n]+", text):
            if part == "\n":
                self.row += 1
                self.lines += [""] * (self.row + 1 - len(self.lines))
            elif part == "\r":
                self.column = 0
            elif part.startswith("\x1b"):
                self.control(part[-1], int(part[2:-1] or 1))
            else:
                line = self.lines[self.row]
                self.lines[self.row] = line[:self.column].ljust(self.column) + part + line[self.column + len(part):]
                self.column += len(part)
                self.wrapped += self.column > self.columns

    def control(self, letter, number):
        if letter == "A":
            self.row -= number
        elif letter == "K":
            self.lines[self.row] = self.lines[self.row][:self.column]
        elif letter == "J":
            self.lines[self.row:] = [self.lines[self.row][:self.column]]
        else:
            assert letter == "m", letter


class Live(cli.CliCase):
    def run_on_terminal(self, columns, code=0, gates=(), **keys):
        master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
        env = {**{k: v for k, v in self.env.items() if k != "CI"}, "TERM": "xterm"}
        process = subprocess.Popen([cli.BENCHCTL, "run", self.define(**keys), "--store", self.store], env=env, cwd=self.folder,
                                   stdin=slave, stdout=subprocess.PIPE, stderr=slave, text=True)
        os.close(slave)
        data = cli.read_terminal(master, gates)
        process.communicate(timeout=cli.WAIT_S)
        self.assertEqual(process.returncode, code, data)
        return data.decode()

    def lines_on_terminal(self, columns, *args):
        """What a person sees of the output, without colours."""
        return re.sub(r"\x1b\[\d*m", "", self.bytes_on_terminal(columns, *args).decode()).splitlines()

    def test_no_list_is_broken_by_the_terminal(self):
        name = self.run_tiny(repeats=1)["run"]
        rows = [("get", "runs", "--store", self.store), ("get", "runs", "--store", self.store, "-o", "wide"),
                ("get", "benchmarks", "--local"), ("results", "--reference", "tf-official-2017"),
                ("plan", "vgg16-pserver-sweep", "--local"), ("plan", "vgg16-pserver-sweep"),
                ("describe", name, "--store", self.store), ("history", "tiny", "--store", self.store),
                ("results", name, "--store", self.store), ("explain", "spec.systems"), ("explain", "spec.thresholds.metric"),
                *(("results", name, "--store", self.store, "--by", what) for what in ("node", "replica", "phase", "curve"))]
        for args in rows:
            for columns in (60, 80, 200):
                with self.subTest(args=args, columns=columns):
                    self.assertEqual([line for line in self.lines_on_terminal(columns, *args) if len(line) > columns], [])
        narrow = self.lines_on_terminal(60, "get", "runs", "--store", self.store, "-o", "wide")
        whole = " ".join(narrow)   # every column is there, each part with the name
        for title in ("NAME", "TRIALS", "DURATION", "CPUS", "UID", "REASON"):
            self.assertIn(title, whole)
        self.assertGreater(sum(line.startswith(name) for line in narrow), 1)
        self.assertEqual(len(self.lines_on_terminal(60, "get", "runs", "--store", self.store, "--no-headers")), 1)

    def test_every_width(self):
        for columns in (60, 80, 130, 200):
            with self.subTest(columns=columns):
                gates = self.folder / f"gates-{columns}"
                gates.mkdir()
                waits, trains = ["waiting for the first step"], [r"▸ 1 .* 0/1  ~?[\d.]+ samples/s"]
                trains += [r"samples/s  step \d/3"] * (columns >= 80)
                # However slow benchctl is, or fast the trial: point 1 goes on when it was seen.
                text = self.run_on_terminal(columns, trainers=(1, 2), repeats=1, env={"FAKE_STEP_S": "0.08", "FAKE_GATES": f"1={gates}"},
                                            gates=[(gates / "first", waits), (gates / "last", trains)])
                screen = Screen(columns)
                screen.feed(text.split(LAST_NOTE)[0])
                self.assertEqual(screen.wrapped, 0)
                end = "\n".join(screen.lines)
                self.assertRegex(end, r"tiny-\w{5}   \d/\d trials")
                self.assertRegex(end, r"\n ✓ 1 +pservers=\d trainers=\d +1/1  [\d.]+ samples/s")
                for pattern in waits + trains:
                    self.assertRegex(text, pattern)

    def test_notes_above_it_are_broken_at_blanks(self):
        """Those before the first frame, and those that come while it is drawn."""
        thresholds = [{"metric": "efficiency", "where": {"trainers": 100}, "min": "0.9"}]
        for columns in (60, 200):
            with self.subTest(columns=columns):
                text = self.run_on_terminal(columns, code=1, trainers=(1, 2), repeats=1, extra={"thresholds": thresholds},
                                            env={"FAKE_STEP_S": "0.08", "FAKE_FAIL": "1.0.0=9"})
                screen = Screen(columns)
                screen.feed(text.split(LAST_NOTE)[0])
                self.assertEqual(screen.wrapped, 0)
                said = " ".join(" ".join(screen.lines).split())
                self.assertRegex(said, r"run/tiny-\w{5} created in sqlite:")
                self.assertIn("note: threshold 0 (efficiency >= 0.9 where trainers=100) is skipped: this run has no such point", said)
                self.assertRegex(said, r"⚠ TrialFailed: point 1, trial 0, attempt 0 failed: ")
                note = next(i for i, line in enumerate(screen.lines) if line.startswith("⚠ "))
                self.assertEqual(screen.lines[note + 1].startswith("  "), columns == 60, screen.lines)


if __name__ == "__main__":
    cli.main()
