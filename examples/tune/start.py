#!/usr/bin/env python3
"""Start one replica of an MXTune job, whatever its role: tracker, tuner server or tuner.

Usage: start.py PROGRAM [ARGUMENT]...

MX_CONFIG, which the operator sets, says who this replica is and where the others are. Tracker and
servers serve until they are stopped. The tuner becomes PROGRAM, whose exit code is the replica's.
PROGRAM finds tracker and servers by the variables that TVM's own tools read: TVM_TRACKER_HOST,
TVM_TRACKER_PORT and TVM_TRACKER_KEY, the device key.
"""
import json
import os
import socket
import sys
import threading
import time

CRASHED = 138  # an exit code that the manifest's `restartPolicy: ExitCode` replaces


def report(line):
    print(line, flush=True)


def interface(replica):
    """Where to listen. Whoever reaches a tuner server can run code on it."""
    return "127.0.0.1" if replica["url"] == "127.0.0.1" else "0.0.0.0"


def wait_for(replica):
    """TVM itself gives up after a minute, and at once when the name is not known yet."""
    while True:
        try:
            return socket.create_connection((replica["url"], replica["port"]), timeout=5).close()
        except OSError:
            time.sleep(0.5)


def track(own):
    from tvm.rpc.tracker import Tracker
    tracker = Tracker(interface(own), own["port"], own["port"] + 1, silent=True)
    report(f"tracker listens on port {own['port']}")
    tracker.proc.join()
    sys.exit("the tracker's process has ended")


def end_with_threads():
    """In the server's process: when a candidate crashes, the thread that serves ends, but by
    default not the process."""
    threading.excepthook = lambda _: os._exit(1)


def serve(own, tracker, key):
    from tvm import rpc
    from tvm.support import cc
    if cc.get_cc() is None:
        sys.exit("no C++ compiler, with which TVM links what it measures: install g++")
    server = rpc.Server(interface(own), own["port"], own["port"] + 1, key=key, silent=True,
                        tracker_addr=(tracker["url"], tracker["port"]), custom_addr=own["url"],
                        server_init_callback=end_with_threads)
    report(f"tuner server with key {key} listens on port {own['port']}")
    server.proc.join()
    report("the server's process has ended: a candidate may have crashed it")
    sys.exit(CRASHED)


def main():
    config = json.loads(os.environ["MX_CONFIG"])
    cluster, role = config["cluster"], config["task"]["type"]
    own, tracker = cluster[role][config["task"]["index"]], cluster["tunertracker"][0]
    key = config["labels"]["tunerserver"]
    if not key:
        sys.exit("no device key: give the role TunerServer a `label` in the manifest")
    if role == "tunertracker":
        track(own)
    wait_for(tracker)
    if role == "tunerserver":
        serve(own, tracker, key)
    os.environ.update(TVM_TRACKER_HOST=tracker["url"], TVM_TRACKER_PORT=str(tracker["port"]),
                      TVM_TRACKER_KEY=key)
    os.execv(sys.executable, [sys.executable, *sys.argv[1:]])


if __name__ == "__main__":
    main()
