#!/bin/sh
# Makes a container image of the program without a container engine: an OCI image layout in a tar, which
# containerd, podman, skopeo and the like take in.
#
#   deploy/image.sh target/release/mxjob mxjob.tar localhost/mxjob:0.1.0
#   ctr --namespace k8s.io images import mxjob.tar
#
# The image has the program, the libraries of this machine that it is linked with, and nothing else. The same program
# and libraries give the same image. It needs GNU tar and coreutils, and ldd for a program that is not static.
set -eu
[ $# -eq 3 ] || {
    echo "usage: $0 PROGRAM FILE.tar NAME:TAG" >&2
    exit 2
}
program=$1 out=$2 name=$3
[ -x "$program" ] || {
    echo "error: $program: no program" >&2
    exit 2
}
case $(uname -m) in
x86_64) architecture=amd64 ;;
aarch64) architecture=arm64 ;;
*) architecture=$(uname -m) ;;
esac
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

root=$work/root blobs=$work/image/blobs/sha256
mkdir -p "$root/usr/local/bin" "$root/tmp" "$blobs"
chmod 755 "$root"
chmod 1777 "$root/tmp"
cp "$program" "$root/usr/local/bin/mxjob"
chmod 755 "$root/usr/local/bin/mxjob"
# What is for debuggers is the larger part of a program that was not made for a release.
if command -v strip >/dev/null; then strip "$root/usr/local/bin/mxjob"; fi
# A static program has none; the one without a path is the kernel's.
{ ldd "$program" 2>/dev/null || :; } | grep -o '/[^ ]*' | sort -u | while read -r library; do
    mkdir -p "$root${library%/*}"
    cp -L "$library" "$root$library"
done

# As `docker build` would have it, but for times and the order, which would differ each time.
tar --create --directory "$root" --sort=name --owner=0 --group=0 --numeric-owner --mtime=@0 --format=ustar \
    --file "$work/layer.tar" .

# Moves a file to where its digest says; prints that.
keep() {
    digest=$(sha256sum "$1" | cut -d ' ' -f 1)
    mv "$1" "$blobs/$digest"
    echo "sha256:$digest"
}
size() { stat -c %s "$blobs/${1#sha256:}"; }

layer=$(keep "$work/layer.tar")
cat >"$work/config" <<END
{"architecture":"$architecture","os":"linux","config":{"User":"65532:65532","Env":["PATH=/usr/local/bin"],\
"Entrypoint":["/usr/local/bin/mxjob"],"Cmd":["operator"],"WorkingDir":"/"},\
"rootfs":{"type":"layers","diff_ids":["$layer"]}}
END
config=$(keep "$work/config")
oci=application/vnd.oci.image
cat >"$work/manifest" <<END
{"schemaVersion":2,"mediaType":"$oci.manifest.v1+json",\
"config":{"mediaType":"$oci.config.v1+json","digest":"$config","size":$(size "$config")},\
"layers":[{"mediaType":"$oci.layer.v1.tar","digest":"$layer","size":$(size "$layer")}]}
END
manifest=$(keep "$work/manifest")
cat >"$work/image/index.json" <<END
{"schemaVersion":2,"mediaType":"$oci.index.v1+json","manifests":[{"mediaType":"$oci.manifest.v1+json",\
"digest":"$manifest","size":$(size "$manifest"),"platform":{"architecture":"$architecture","os":"linux"},\
"annotations":{"io.containerd.image.name":"$name","org.opencontainers.image.ref.name":"${name##*:}"}}]}
END
echo '{"imageLayoutVersion":"1.0.0"}' >"$work/image/oci-layout"
tar --create --directory "$work/image" --sort=name --owner=0 --group=0 --numeric-owner --mtime=@0 --format=ustar \
    --file "$out" oci-layout index.json blobs
echo "$out: $name $manifest"
