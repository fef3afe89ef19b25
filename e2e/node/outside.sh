# One real node at a time on a machine: its bridge has a fixed name and address.
# The node lives in a PID namespace and a mount namespace, so the end of their first
# process is the end of all its processes and mounts. What is left then is removed here.
folder=$1
inside=$2

trap : HUP INT TERM PIPE

# Removes a node's folder and the control groups of the containers that it ran.
remove() {
    for container in "$1"/containerd/state/io.containerd.runtime.v2.task/k8s.io/*; do
        name=${container##*/}
        for groups in /sys/fs/cgroup/*/k8s.io/"$name" /sys/fs/cgroup/k8s.io/"$name"; do
            [ -d "$groups" ] && find "$groups" -depth -type d -exec rmdir {} \;
        done
    done
    # The parent too, unless somebody else has groups in it.
    rmdir /sys/fs/cgroup/*/k8s.io /sys/fs/cgroup/k8s.io 2>/dev/null
    rm -rf "$1"
}

# Says that the folder is in use, for as long as this shell lives.
exec 8<"$folder"
flock 8
exec 9>/run/lock/mxjob-e2e-node.lock
flock 9

# A run that was killed together with this shell has left these.
ip link delete mxbr0 2>/dev/null
for stale in $(find "${folder%/*}" -maxdepth 1 -name 'mxjob-e2e-node-*' -mmin +10); do
    exec 7<"$stale"
    flock --nonblock 7 && remove "$stale"
done
exec 7<&-

# A bridge without a hardware address of its own takes the lowest of its ports': with each pod that comes or
# goes it may be another, and the pods lose the node until they have asked for it again, half a minute later.
ip link add mxbr0 address 02:00:0a:62:00:01 type bridge &&
    ip address add 10.98.0.1/16 dev mxbr0 &&
    ip address add 10.96.0.1/32 dev mxbr0 &&
    ip link set mxbr0 up &&
    unshare --mount --propagation private --pid --fork --kill-child --mount-proc \
        sh -c "$inside" mxjob-e2e-node "$folder"

ip link delete mxbr0
remove "$folder"
