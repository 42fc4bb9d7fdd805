"""A headless Chromium, spoken to through its debugging pipe: no port, no driver, no package of Python's. A message is JSON
and a NUL."""
import base64
import fcntl
import json
import os
import pathlib
import select
import shutil
import subprocess
import tempfile
import time

TIMEOUT_S = 120


class ChromiumError(Exception):
    pass


class Chromium:
    """One page. Use with `with`."""

    def __init__(self):
        program = shutil.which("chromium")
        if program is None:
            raise ChromiumError("chromium is not installed")
        self.profile = tempfile.mkdtemp(prefix="chromium-")
        to_read, self.to = os.pipe()
        self.back, from_write = os.pipe()

        def join():  # the browser reads 3 and writes 4, which a pipe's ends may be already
            ends = [fcntl.fcntl(fd, fcntl.F_DUPFD, 10) for fd in (to_read, from_write)]
            os.dup2(ends[0], 3)
            os.dup2(ends[1], 4)

        self.process = subprocess.Popen(
            [program, "--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run", "--hide-scrollbars",
             f"--user-data-dir={self.profile}", "--remote-debugging-pipe", "about:blank"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, close_fds=False, preexec_fn=join)
        os.close(to_read)
        os.close(from_write)
        self.buffer, self.number, self.events, self.session = b"", 0, [], None
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Log", "Runtime", "Network"):
            self.call(domain + ".enable")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        os.close(self.to)
        os.close(self.back)
        shutil.rmtree(self.profile, ignore_errors=True)

    def _receive(self, end):
        while b"\0" not in self.buffer:
            if not select.select([self.back], [], [], max(0, end - time.monotonic()))[0]:
                raise ChromiumError(f"no answer within {TIMEOUT_S} s")
            data = os.read(self.back, 1 << 20)
            if not data:
                raise ChromiumError("the browser has ended")
            self.buffer += data
        line, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(line)

    def call(self, method, **params):
        """The result of a command; events that come before it are kept."""
        self.number += 1
        message = {"id": self.number, "method": method, "params": params}
        if self.session is not None:
            message["sessionId"] = self.session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self.to, data):]
        end = time.monotonic() + TIMEOUT_S
        while True:
            answer = self._receive(end)
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise ChromiumError(f"{method}: {answer['error']['message']}")
                return answer["result"]
            self.events.append(answer)

    def wait(self, event):
        end = time.monotonic() + TIMEOUT_S
        while not any(e.get("method") == event for e in self.events):
            self.events.append(self._receive(end))

    def show(self, url, width=1280, height=900, dark=False, printed=False):
        """Opens the page; returns when it has loaded. Its events before that are forgotten."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        self.call("Emulation.setEmulatedMedia", media="print" if printed else "screen",
                  features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])
        self.events.clear()
        self.call("Page.navigate", url=url)
        self.wait("Page.loadEventFired")

    def complaints(self):
        """What the browser said about the page: refused by the policy, failed to load, exceptions."""
        said = []
        for event in self.events:
            params = event.get("params", {})
            if event.get("method") == "Log.entryAdded" and params["entry"]["level"] in ("warning", "error"):
                said.append(params["entry"]["text"])
            elif event.get("method") == "Runtime.exceptionThrown":
                said.append(params["exceptionDetails"]["text"])
        return said

    def requests(self):
        return [e["params"]["request"]["url"] for e in self.events if e.get("method") == "Network.requestWillBeSent"]

    def value(self, expression):
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        if "exceptionDetails" in result:
            raise ChromiumError(result["exceptionDetails"]["exception"]["description"])
        return result["result"].get("value")

    def first_paint_s(self):
        """From the navigation to the first content of the page that is shown."""
        end = time.monotonic() + TIMEOUT_S
        while time.monotonic() < end:
            at_ms = self.value("performance.getEntriesByName('first-contentful-paint')[0]?.startTime")
            if at_ms is not None:
                return at_ms / 1000
            time.sleep(0.01)
        raise ChromiumError(f"nothing was painted within {TIMEOUT_S} s")

    def point(self, x, y):
        """The mouse, without a button."""
        self.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)

    def click(self, x, y):
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def touch(self, x, y):
        self.call("Input.dispatchTouchEvent", type="touchStart", touchPoints=[{"x": x, "y": y}])
        self.call("Input.dispatchTouchEvent", type="touchEnd", touchPoints=[])

    def key(self, key):
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key)

    def screenshot(self, path, most_px=None, from_px=0):
        """Of the whole page below from_px, or of most_px of it."""
        size = self.call("Page.getLayoutMetrics")["cssContentSize"]
        height = size["height"] - from_px if most_px is None else min(size["height"] - from_px, most_px)
        clip = {"x": 0, "y": from_px, "width": size["width"], "height": height, "scale": 1}
        picture = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=True, clip=clip)
        pathlib.Path(path).write_bytes(base64.b64decode(picture["data"]))
