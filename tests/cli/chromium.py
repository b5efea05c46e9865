"""Headless Chromium, driven by its DevTools protocol over a pipe: a page is looked at when it says that it is ready, however long that takes.

Messages are JSON, each ended by a zero byte; Chromium reads them from file descriptor 3 and writes to 4 (--remote-debugging-pipe).
"""
import base64
import fcntl
import json
import os
import select
import subprocess
import tempfile
import time


class Chromium:
    def __init__(self, program, wait_s=120):
        self.home = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        self.wait_s, self.number, self.rest = wait_s, 0, b""
        asked, self.to = os.pipe()
        self.from_it, answered = os.pipe()
        # A shell puts both ends where Chromium expects them; their numbers lie above all that it overwrites on the way.
        theirs = [fcntl.fcntl(end, fcntl.F_DUPFD, 100) for end in (asked, answered)]
        command = [program, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", f"--user-data-dir={self.home.name}", "--remote-debugging-pipe"]
        self.process = subprocess.Popen(["bash", "-c", f'exec "$@" 3<&{theirs[0]} 4>&{theirs[1]}', "bash", *command],
                                        pass_fds=theirs, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for end in (asked, answered, *theirs):
            os.close(end)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        os.close(self.to)
        os.close(self.from_it)
        self.process.terminate()
        self.process.wait(30)
        self.home.cleanup()

    def send(self, method, session=None, **parameters):
        """The answer's result."""
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if session:
            message["sessionId"] = session
        os.write(self.to, json.dumps(message).encode() + b"\0")
        end = time.monotonic() + self.wait_s
        while True:
            while b"\0" not in self.rest:
                ready, _, _ = select.select([self.from_it], [], [], max(0.0, end - time.monotonic()))
                if not ready:
                    raise RuntimeError(f"Chromium has not answered {method} in {self.wait_s} s")
                more = os.read(self.from_it, 1 << 16)
                if not more:
                    raise RuntimeError(f"Chromium ended before it answered {method}")
                self.rest += more
            line, self.rest = self.rest.split(b"\0", 1)
            answer = json.loads(line)
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise RuntimeError(f"Chromium refuses {method}: {answer['error']}")
                return answer["result"]

    def open(self, url, width=1000, height=2700):
        return Page(self, url, width, height)


class Page:
    def __init__(self, browser, url, width, height):
        self.browser = browser
        target = browser.send("Target.createTarget", url="about:blank")["targetId"]
        self.session = browser.send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self.send("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 500)
        self.send("Page.navigate", url=url)

    def send(self, method, **parameters):
        return self.browser.send(method, self.session, **parameters)

    def value(self, script):
        answer = self.send("Runtime.evaluate", expression=script, returnByValue=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(f"{script}: {answer['exceptionDetails']}")
        return answer["result"].get("value")

    def wait_for(self, script):
        """Until the script gives true."""
        end = time.monotonic() + self.browser.wait_s
        while not self.value(script):
            if time.monotonic() > end:
                raise RuntimeError(f"not true in {self.browser.wait_s} s: {script}")
            time.sleep(0.1)

    def html(self):
        return self.value("document.documentElement.outerHTML")

    def screenshot(self, path):
        path.write_bytes(base64.b64decode(self.send("Page.captureScreenshot", format="png")["data"]))
