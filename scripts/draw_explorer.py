"""Take the picture of `crossfade explore` for the first page, docs/pictures/explorer.png, in chromium.

Usage: python scripts/draw_explorer.py
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

PICTURE = Path(__file__).parents[1] / "docs" / "pictures" / "explorer.png"
AT = "variant=tahoe&p_e=0.05&fd_t=0.1"


def main() -> int:
    """Serve the page, and look at it once."""
    program = shutil.which("chromium") or shutil.which("google-chrome")
    if program is None:
        print("no chromium on the PATH", file=sys.stderr)
        return 1
    command = [sys.executable, "-m", "crossfade", "explore", "--no-browser", "--at", AT]
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
            shot = ["--window-size=1280,860", "--virtual-time-budget=15000", f"--screenshot={PICTURE}"]
            subprocess.run([program, *options, *shot, address[0]], check=True, timeout=300)
        finally:
            server.terminate()
    return 0


if __name__ == "__main__":
    sys.exit(main())
