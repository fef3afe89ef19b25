# The node's view of the machine: it sees all of it, but what kubelet, containerd, runc and
# the network plugins leave in fixed places goes to the scratch folder.
mkdir "$1/var-lib" "$1/var-log" "$1/run" &&
    mount --bind "$1/var-lib" /var/lib &&
    mount --bind "$1/var-log" /var/log &&
    mount --bind "$1/run" /run || exit
# The kubelet insists on setting these, for the whole machine: let it set copies.
for setting in vm/overcommit_memory vm/panic_on_oom kernel/panic kernel/panic_on_oops \
    kernel/keys/root_maxkeys kernel/keys/root_maxbytes; do
    copy=$1/run/${setting##*/}
    cat "/proc/sys/$setting" >"$copy" &&
        mount --bind "$copy" "/proc/sys/$setting" || exit
done
