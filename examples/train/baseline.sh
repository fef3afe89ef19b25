#!/usr/bin/env bash
# Runs digits.yaml's five processes without mxjob, on this machine: what a shell script does.
# usage: baseline.sh PYTHON [OPTION OF digits.py]...
set -euo pipefail

if [ $# -eq 0 ]; then
    echo "usage: $0 PYTHON [OPTION OF digits.py]..." >&2
    exit 2
fi
python=$1
shift
[ $# -gt 0 ] || set -- --save out/digits.params
program=$(dirname "$0")/digits.py

DMLC_PS_ROOT_PORT=$("$python" -c '
import socket
with socket.socket() as s:
    s.bind(("127.0.0.1", 0))
    print(s.getsockname()[1])')
export DMLC_PS_ROOT_PORT
export DMLC_PS_ROOT_URI=127.0.0.1 DMLC_NUM_SERVER=2 DMLC_NUM_WORKER=2 DMLC_USE_KUBERNETES=1
export DMLC_INTERFACE=lo DMLC_NODE_HOST=127.0.0.1 OMP_NUM_THREADS=1

pids=()
# MXNet never notices a dead member: whatever ends this script ends the processes too.
trap 'kill -KILL "${pids[@]}" 2>/dev/null || true' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

DMLC_ROLE=scheduler "$python" "$program" "$@" & pids+=($!)
DMLC_ROLE=server "$python" "$program" "$@" & pids+=($!)
DMLC_ROLE=server "$python" "$program" "$@" & pids+=($!)
DMLC_ROLE=worker DMLC_WORKER_ID=0 "$python" "$program" "$@" & pids+=($!)
DMLC_ROLE=worker DMLC_WORKER_ID=1 "$python" "$program" "$@" & pids+=($!)

# In the order in which they end; a failure ends the script, and so the rest.
for _ in "${pids[@]}"; do
    wait -n
done
pids=()
