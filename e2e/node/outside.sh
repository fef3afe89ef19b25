# One real node at a time on a machine: its bridge and control groups have fixed names.
# The node lives in a PID namespace and a mount namespace, so the end of their first
# process is the end of all its processes and mounts. What is left then is removed here.
folder=$1
inside=$2

trap : HUP INT TERM PIPE

sweep() {
    ip link delete mxbr0 2>/dev/null
    for groups in $(find /sys/fs/cgroup -maxdepth 2 -name mxjob-e2e-node); do
        find "$groups" -depth -type d -exec rmdir {} \;
    done
}

# Says that the folder is in use, for as long as this shell lives.
exec 8<"$folder"
flock 8
exec 9>/run/lock/mxjob-e2e-node.lock
flock 9

# A run that was killed together with this shell has left these.
sweep
for stale in $(find "${folder%/*}" -maxdepth 1 -name 'mxjob-e2e-node-*' -mmin +10); do
    flock --nonblock "$stale" rm -rf "$stale"
done

ip link add mxbr0 type bridge &&
    ip address add 10.98.0.1/16 dev mxbr0 &&
    ip link set mxbr0 up &&
    unshare --mount --propagation private --pid --fork --kill-child --mount-proc \
        sh -c "$inside" mxjob-e2e-node "$folder"

sweep
rm -rf "$folder"
