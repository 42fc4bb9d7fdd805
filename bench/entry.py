"""How a bench ends: what it started ends with it, also where SIGTERM ends it."""
import os
import pathlib
import signal
import subprocess
import sys
import threading
import time

GRACE_S, KILLED_S, POLL_S = 10, 60, 0.05
FAILED, INTERRUPTED = 9, 130


def children():
    """Processes that this one started and has not waited for."""
    found = []
    for process in pathlib.Path("/proc").glob("[0-9]*"):   # a longer pattern fails where one ends
        try:
            state, parent = (process / "stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()[:2]
        except OSError:  # it has ended
            continue
        if int(parent) == os.getpid() and state != "Z":
            found.append(int(process.name))
    return found


def send(number, pids):
    for pid in pids:
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            pass


def end_children():
    """SIGTERM, so that they end what they started; SIGKILL for what is there after GRACE_S. Returns when they have ended, which takes one
    that is killed a moment on a busy machine."""
    for number, seconds in ((signal.SIGTERM, GRACE_S), (signal.SIGKILL, KILLED_S)):
        send(number, children())
        end_s = time.monotonic() + seconds
        while children() and time.monotonic() < end_s:
            time.sleep(POLL_S)


def run(main):
    """Ends the program with main's code; 9: a file or a program failed, 130: interrupted, 143: SIGTERM."""
    # By a thread: a signal that comes just before the program waits for a child does not interrupt that.
    ear, mouth = os.pipe()
    os.set_blocking(mouth, False)
    signal.set_wakeup_fd(mouth)
    threading.Thread(target=lambda: os.read(ear, 1) and end_children(), daemon=True).start()
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    try:
        code = main(sys.argv[1:])
    except (OSError, subprocess.CalledProcessError) as problem:
        print(f"error: {problem}", file=sys.stderr)
        code = FAILED
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        code = INTERRUPTED
    finally:
        end_children()
    sys.exit(code)
