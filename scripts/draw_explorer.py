"""Take screenshots of ``crossfade explore``: docs/pictures/explorer.png and explorer-link.png, 1280 x 960.

Usage: python scripts/draw_explorer.py (needs chromium or google-chrome on the PATH)
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

PICTURES = Path(__file__).parents[1] / "docs" / "pictures"
# The settings of the explorer in each picture, as the fragment of its address.
AT = {
    "explorer": "variant=tahoe&p_e=0.05&fd_t=0.1",
    "explorer-link": "model=link&variant=cubic&channel=iid&p_e=0.01&queue=400",
}


def main() -> int:
    """Serve the explorer, and take a screenshot with each of the settings."""
    program = shutil.which("chromium") or shutil.which("google-chrome")
    if program is None:
        print("no chromium on the PATH", file=sys.stderr)
        return 1
    command = [sys.executable, "-m", "crossfade", "explore", "--no-browser"]
    with (
        tempfile.TemporaryDirectory() as folder,
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as server,
    ):
        try:
            address = None
            while address is None and server.stdout is not None:
                line = server.stdout.readline()
                address = re.search(r"http://\S+", line)
            assert address is not None
            options = ["--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={folder}"]
            for name, at in AT.items():
                shot = ["--window-size=1280,960", "--virtual-time-budget=15000"]
                shot += [f"--screenshot={PICTURES / name}.png", f"{address[0]}#{at}"]
                subprocess.run([program, *options, *shot], check=True, timeout=300)
        finally:
            server.terminate()
    return 0


if __name__ == "__main__":
    sys.exit(main())
