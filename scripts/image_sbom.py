"""List everything that is installed in an image, as a CycloneDX document (SBOM).

    image_sbom.py ROOT FILE     (ROOT: the image's root directory; needs requirements/release.txt)

Debian's packages come from its database, Python's from the metadata that their wheels left. What the wheels
themselves are, with hashes, stands in the list of `scripts/release.sh`.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from email.parser import HeaderParser
from importlib.metadata import distributions
from pathlib import Path

from cyclonedx.model.bom import Bom
from cyclonedx.model.component import Component, ComponentType
from cyclonedx.output import make_outputter
from cyclonedx.schema import OutputFormat, SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
from packageurl import PackageURL

_VERSION = SchemaVersion.V1_6


def debian(root: Path) -> Iterator[Component]:
    """Yield Debian's packages."""
    for paragraph in (root / "var/lib/dpkg/status").read_text().strip().split("\n\n"):
        fields = HeaderParser().parsestr(paragraph)
        if fields["Status"].split()[-1] == "installed":
            architecture = {"arch": fields["Architecture"]}
            yield _component("deb", fields["Package"], fields["Version"], "debian", architecture)


def python(root: Path) -> Iterator[Component]:
    """Yield the packages in virtual environments; those of the system's Python are Debian's."""
    for found in distributions(path=map(str, root.glob("opt/*/lib/python3*/site-packages"))):
        yield _component("pypi", found.metadata["Name"].lower(), found.version)


def _component(
    kind: str, name: str, version: str, namespace: str | None = None, more: dict[str, str] | None = None
) -> Component:
    place = PackageURL(kind, namespace, name, version, more)
    return Component(
        name=name, version=version, type=ComponentType.LIBRARY, purl=place, bom_ref=place.to_string()
    )


def main() -> None:
    """Write the list, and check it against the schema."""
    root, file = Path(sys.argv[1]), Path(sys.argv[2])
    found = [*debian(root), *python(root)]
    document = make_outputter(Bom(components=found), OutputFormat.JSON, _VERSION).output_as_string(indent=1)
    if fault := JsonStrictValidator(_VERSION).validate_str(document):
        sys.exit(f"the list is no CycloneDX: {fault}")
    file.parent.mkdir(exist_ok=True)
    file.write_text(document)
    print(f"{file}: {len(found)} packages")


if __name__ == "__main__":
    main()
