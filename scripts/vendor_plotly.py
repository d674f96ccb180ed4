"""Puts plotly.js (its basic bundle) and its licence into the package, from its npm package.

    python scripts/vendor_plotly.py

needs npm. A new version is a new VERSION and, after a look at what changed, a new SHA256.
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

PACKAGE, VERSION = "plotly.js-basic-dist-min", "4.1.1"
SHA256 = "99784e3abfb07b142a15e521a439e6d9addceadb3f79553fd24c72774f0649ba"
ASSETS = Path(__file__).parents[1] / "python" / "crossfade" / "figures" / "assets"
# The files of the npm package, and what they are called here.
FILES = {"plotly-basic.min.js": "plotly-basic.min.js", "LICENSE": "plotly-LICENSE.txt"}


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["npm", "pack", "--silent", f"{PACKAGE}@{VERSION}"], cwd=folder, check=True)
        with tarfile.open(next(Path(folder).glob("*.tgz"))) as archive:
            for name, here in FILES.items():
                member = archive.extractfile(f"package/{name}")
                assert member is not None, name
                data = member.read()
                found = hashlib.sha256(data).hexdigest()
                if here.endswith(".js") and found != SHA256:
                    print(f"{name}: sha256 {found}, expected {SHA256}", file=sys.stderr)
                    return 1
                (ASSETS / here).write_bytes(data)
    return 0


if __name__ == "__main__":
    sys.exit(main())
