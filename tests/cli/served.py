"""An engine's `serve` in a process of its own, for the tests of the server from outside and for bench/serve.py."""
import json
import re
import subprocess
import threading


class Served:
    """Starts `engine serve` on a free port, or on this one, and waits until it listens. Its log, one JSON object a line, is in `log`."""

    def __init__(self, engine, *options, port=0):
        self.process = subprocess.Popen([engine, "serve", "--port", str(port), *options], stderr=subprocess.PIPE, text=True)
        self.log, self.words = [], []
        self.port = None
        for line in self.process.stderr:
            self.keep(line)
            if self.port:
                break
        if not self.port:
            raise RuntimeError(f"the engine did not serve: {' '.join(self.words)}")
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()
        self.url = f"http://127.0.0.1:{self.port}"

    def keep(self, line):
        if line.startswith("{"):
            self.log.append(json.loads(line))
        else:
            self.words.append(line.strip())
            if found := re.search(r" answers on http://\S+:(\d+)$", self.words[-1]):
                self.port = int(found[1])

    def read(self):
        for line in self.process.stderr:
            self.keep(line)

    def cpu_seconds(self):
        with open(f"/proc/{self.process.pid}/stat") as stat:
            fields = stat.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / 100

    def resident_kib(self):
        with open(f"/proc/{self.process.pid}/status") as status:
            return next(int(line.split()[1]) for line in status if line.startswith("VmRSS"))

    def stop(self, signal):
        self.process.send_signal(signal)
        status = self.process.wait(60)
        self.reader.join(10)
        return status

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self.process.stderr.close()
