#!/usr/bin/env python3
"""Prints what the program is made of, as a CycloneDX 1.6 bill of materials.

    deploy/sbom.py > mxjob.cdx.json

Every crate that is linked into the program of this machine's kind or takes part in its build, with
licence, source, checksum and what it needs itself. The same Cargo.lock gives the same bytes.
"""

import json
import re
import subprocess
import sys
import uuid
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PROGRAM = "mxjob-operator"


def tree():
    """The licence and the source of each crate, and what each needs."""
    command = ["cargo", "tree", "--locked", "--package", PROGRAM, "--edges", "normal,build"]
    command += ["--prefix", "depth", "--format", "\t{p}\t{l}\t{r}"]
    crates, needs, above = {}, {}, []
    for line in subprocess.check_output(command, cwd=ROOT, text=True).splitlines():
        depth, package, licence, source = line.split("\t")
        name, version = package.split()[:2]
        reference = f"pkg:cargo/{name}@{version.lstrip('v')}"
        # A crate that was shown before is shown without what it needs, and has a mark at its end.
        crates[reference] = (licence, source.replace(" (*)", ""))
        needs.setdefault(reference, set())
        del above[int(depth) :]
        if above:
            needs[above[-1]].add(reference)
        above.append(reference)
    return crates, needs


def checksums():
    found = {}
    for package in (ROOT / "Cargo.lock").read_text().split("[[package]]"):
        fields = dict(re.findall(r'^(\w+) = "(.*)"$', package, re.MULTILINE))
        if "checksum" in fields:
            found[f"pkg:cargo/{fields['name']}@{fields['version']}"] = fields["checksum"]
    return found


def main():
    crates, needs = tree()
    sums = checksums()

    def component(reference):
        name, version = reference[len("pkg:cargo/") :].split("@")
        licence, source = crates[reference]
        made = {
            "type": "application" if name == PROGRAM else "library",
            "bom-ref": reference,
            "name": name,
            "version": version,
            # The slash is the way of Cargo's early years to say OR.
            "licenses": [{"expression": licence.replace("/", " OR ")}],
            "purl": reference,
        }
        if reference in sums:
            made["hashes"] = [{"alg": "SHA-256", "content": sums[reference]}]
        if source:
            made["externalReferences"] = [{"type": "vcs", "url": source}]
        return made

    program, *rest = sorted(crates, key=lambda one: (not one.startswith(f"pkg:cargo/{PROGRAM}@"), one))
    bill = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": "",
        "version": 1,
        "metadata": {"component": component(program)},
        "components": [component(one) for one in rest],
        "dependencies": [{"ref": one, "dependsOn": sorted(needs[one])} for one in [program, *rest]],
    }
    # Of what is in it, so that two of the same are the same.
    bill["serialNumber"] = uuid.uuid5(uuid.NAMESPACE_URL, json.dumps(bill)).urn
    json.dump(bill, sys.stdout, indent=1)
    print()


if __name__ == "__main__":
    main()
