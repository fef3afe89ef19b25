#!/bin/sh
# Puts what a release is into a folder: the program, its image, the definitions, a bill of materials (CycloneDX) and
# checksums of them all.
#
#   cargo build --locked --release --package mxjob-operator
#   deploy/release.sh target/release/mxjob dist
#
# The same program gives the same files. It needs what image.sh needs, Python 3.8 and cargo.
set -eu
export LC_ALL=C
[ $# -eq 2 ] || {
    echo "usage: $0 PROGRAM FOLDER" >&2
    exit 2
}
program=$1 out=$2 here=$(dirname "$0")
[ -x "$program" ] || {
    echo "error: $program: no program" >&2
    exit 2
}
[ ! -e "$out" ] || [ -z "$(ls -A "$out")" ] || {
    echo "error: $out: has something in it" >&2
    exit 2
}
version=$("$program" --version | cut -d ' ' -f 2)
tree=$(sed -n 's/^version = "\(.*\)"$/\1/p' "$here/../Cargo.toml")
[ "$version" = "$tree" ] || {
    echo "error: $program is of version $version, and this folder of $tree: the bill of materials would be another's" >&2
    exit 2
}
name=mxjob-$version-linux-$(uname -m)
mkdir -p "$out"
# Half a release is none.
trap 'rm -rf "$out"' EXIT
trap 'exit 1' HUP INT TERM
cp "$program" "$out/$name"
"$here/image.sh" "$program" "$out/$name.image.tar" "mxjob:$version"
"$program" crds >"$out/mxjob-$version.crds.yaml"
"$here/sbom.py" >"$out/$name.cdx.json"
(cd "$out" && sha256sum -- * >SHA256SUMS)
trap - EXIT
cat "$out/SHA256SUMS"
