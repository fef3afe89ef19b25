# Makes the image localhost/base:1, busybox and nothing else, and gives it to containerd.
# Pods take what more they run from the host, by hostPath volumes. FOLDER is argument 1.
set -eu
cd "$1"
umoci init --layout image
umoci new --image image:1
umoci unpack --image image:1 bundle
bin=bundle/rootfs/bin
mkdir -p "$bin" bundle/rootfs/tmp
cp /bin/busybox "$bin/busybox"
for applet in $(/bin/busybox --list); do
    [ "$applet" = busybox ] || ln -s busybox "$bin/$applet"
done
umoci repack --image image:1 bundle
umoci config --image image:1 --config.entrypoint /bin/sleep --config.cmd infinity
tar -C image -cf image.tar .

until [ -S containerd.sock ] && ctr --address "$1/containerd.sock" version >/dev/null; do
    sleep 0.1
done
images="ctr --address $1/containerd.sock --namespace k8s.io images"
$images import --base-name localhost/base image.tar
rm -rf image bundle image.tar
touch image.made
