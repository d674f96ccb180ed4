"""Copy plotly.js (its basic bundle) and its licence from npm into python/crossfade/figures/assets/.

Usage, with npm and a network: python scripts/vendor_plotly.py. The exit code is 1 if the file does not have
the checksum SHA256. To change the version, edit VERSION and, after a look at the changes, SHA256.
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
# Files of the npm package, and their names in the assets.
FILES = {"plotly-basic.min.js": "plotly-basic.min.js", "LICENSE": "plotly-LICENSE.txt"}


def main() -> int:
    """Download the package, check the bundle and write both files."""
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
