"""Run the programs of docs/gallery and keep their pictures: `python -m research.gallery`."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
GALLERY = ROOT / "docs" / "gallery"


def draw(page: Path, pictures: Path) -> str:
    """Run a page's program, move its pictures to a directory, and return what it printed."""
    (program,) = re.findall(r"^```python\n(.*?)^```", page.read_text(encoding="utf-8"), re.M | re.S)
    with tempfile.TemporaryDirectory() as folder:
        ran = subprocess.run(  # noqa: S603 - our own documentation
            [sys.executable, "-c", program],
            cwd=folder,
            env=os.environ | {"PYTHONPATH": str(ROOT)},
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
        for picture in Path(folder).glob("*.svg"):
            shutil.move(picture, pictures / picture.name)
    return ran.stdout


def main() -> None:
    """Draw the pictures of all pages, or of those that are named, and print their output."""
    for name in sys.argv[1:] or sorted(page.stem for page in GALLERY.glob("*.md") if page.stem != "index"):
        print(f"{name}\n{draw(GALLERY / f'{name}.md', GALLERY / 'images')}")


if __name__ == "__main__":
    main()
