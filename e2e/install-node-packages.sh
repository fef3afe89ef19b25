#!/bin/sh
# Installs what the tests behind the feature `real-node` need (Debian, as root).
# Does nothing when all of it is there.
set -eu
packages="containerd runc umoci containernetworking-plugins busybox-static iproute2 libfaketime"
# shellcheck disable=SC2086 # one word a package
if dpkg-query --show --showformat='${db:Status-Status}\n' $packages 2>/dev/null |
    grep -cx installed | grep -qx "$(echo $packages | wc -w)"; then
    exit 0
fi
apt-get update
# shellcheck disable=SC2086
DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends $packages
