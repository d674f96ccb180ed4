"""Measure the time from a drag of a slider in ``crossfade explore`` to the painted result, in ms.

Usage: python bench/explore_drag.py [DRAGS]      default: 100; needs chromium or google-chrome

In headless chromium each drag sets a slider (Doppler frequency, window and timeout in turns) to another
place, as the mouse does. The time ends with the frame that shows the new curves (``curves``); the plot of the
connection comes with another request to the server and has its own time (``curves and connection``). Drags
follow one another. The output has the median, 95th percentile and maximum, the share within the limit of 200
ms, and the load average, because other work on the cores lengthens the times.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from threading import Event
from urllib.parse import unquote

from crossfade.explorer import server as explorer
from crossfade.explorer.server import ANSWERS, page, serving

WANTED_MS = 200.0

SCRIPT = """<script>
(async () => {
const frame = () => new Promise(requestAnimationFrame);
const until = async (test) => { while (!test()) await frame(); };
const drawn = (id) => document.querySelector(`#${id} .drawing`);
const lines = () => drawn("curves").data?.filter((trace) => trace.mode === "lines");
const line = () => JSON.stringify(lines()?.map((trace) => trace.y));
const end = (trace) => [trace.x.length, trace.x.at(-1), trace.y.at(-1)];
const marks = () => JSON.stringify(drawn("segments").data?.map(end));
const seen = { curves: [], both: [] };
await until(() => line() && marks());
const names = ["fd_t", "w_max", "rto"];
for (let drag = 0; drag < DRAGS; drag++) {
  const slider = document.querySelector(`[name=${names[drag % 3]}]`);
  const low = Number(slider.min || 0), high = Number(slider.max || 100);
  const [before, marked] = [line(), marks()];
  // Another place than before, within the middle three quarters.
  slider.value = low + (high - low) * (0.125 + 0.75 * ((drag * 0.381966 + 0.1) % 1));
  const began = performance.now();
  slider.dispatchEvent(new Event("input"));
  await until(() => line() !== before);
  await frame();  // the frame with the new curves is on the screen now
  seen.curves.push(performance.now() - began);
  const patience = performance.now() + 1000;  // another place may have the same connection
  await until(() => marks() !== marked || performance.now() > patience);
  await frame();
  if (marks() !== marked) seen.both.push(performance.now() - began);
}
await fetch(`seen?${encodeURIComponent(JSON.stringify(seen))}`);
})();
</script></body>"""


def said(name: str, times: list[float]) -> str:
    """A line of the table, from times in ms."""
    ordered = sorted(times)
    median, p95 = ordered[len(ordered) // 2], ordered[min(len(ordered) - 1, int(0.95 * len(ordered)))]
    within = sum(time <= WANTED_MS for time in times) / len(times)
    return f"{name:<28}{median:8.0f}{p95:8.0f}{ordered[-1]:8.0f}{100 * within:9.0f} %{len(times):8}"


def main() -> None:
    """Serve the explorer with a script that drags its sliders, open it in chromium, and print the times."""
    drags = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if program is None:
        sys.exit("no chromium")
    told: list[str] = []
    done = Event()

    def note(query: str) -> tuple[str, str]:
        told.append(unquote(query))
        done.set()
        return "text/plain", ""

    ANSWERS["seen"] = note
    explorer.LONGEST_QUERY = 1_000_000
    script = SCRIPT.replace("DRAGS", str(drags))
    before = os.getloadavg()[0]
    with tempfile.TemporaryDirectory() as folder, serving(text=page().replace("</body>", script)) as server:
        options = ["--headless", "--no-sandbox", "--disable-gpu", "--window-size=1600,1000"]
        profile = f"--user-data-dir={Path(folder) / 'profile'}"
        # With a port for debuggers headless chromium stays open; no debugger connects.
        command = [program, *options, profile, "--remote-debugging-port=0", server.url]
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as browser:
            try:
                ended = done.wait(120 + 3 * drags)
            finally:
                browser.terminate()
    if not ended:
        sys.exit("the page has not come to its end")
    seen = json.loads(told[0])
    print(f"load {before:.1f} before, {os.getloadavg()[0]:.1f} after, {os.cpu_count()} cores")
    print(f"{'ms to the painted frame':<28}{'median':>8}{'p95':>8}{'most':>8}{'in 200 ms':>11}{'drags':>8}")
    print(said("curves", seen["curves"]))
    print(said("curves and connection", seen["both"]))


if __name__ == "__main__":
    main()
