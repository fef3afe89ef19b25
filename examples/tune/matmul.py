#!/usr/bin/env python3
"""Find a fast schedule of a matrix product on the device of a tuner server.

start.py runs this in the replica Tuner. TVM derives a space of schedules from the loops, builds
random ones of them, and has them measured by the tuner servers.
"""
import argparse
import os
import sys
from pathlib import Path

import numpy
import tvm
from tvm import rpc, te
from tvm.s_tir import meta_schedule as ms
from tvm.support import tar

SESSION_SECONDS = 60  # a candidate that takes longer has failed


def parse_options():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--size", type=int, default=512, help="of the square matrices")
    parser.add_argument("--trials", type=int, default=32, help="schedules to measure")
    parser.add_argument("--out", metavar="FOLDER", type=Path, default="out",
                        help="for the log of all trials and the best schedule")
    return parser.parse_args()


def report(line):
    print(line, flush=True)


def matmul(size):
    a, b = (te.placeholder((size, size), name=name) for name in "AB")
    k = te.reduce_axis((0, size), name="k")
    c = te.compute((size, size), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="C")
    return tvm.IRModule({"main": te.create_prim_func([a, b, c])})


def connect():
    """A session with a tuner server; waits until one is free. It ends with its last reference."""
    tracker = rpc.connect_tracker(os.environ["TVM_TRACKER_HOST"],
                                  int(os.environ["TVM_TRACKER_PORT"]))
    return tracker.request(os.environ["TVM_TRACKER_KEY"], session_timeout=SESSION_SECONDS)


def target_of_server():
    session = connect()
    cpu = session.get_function("target.llvm_get_system_cpu")()
    cores = session.get_function("runtime.NumThreads")()
    return tvm.target.Target({"kind": "llvm", "mcpu": str(cpu), "num-cores": int(cores)})


def build(module, target, _params=None):
    """What TVM's own builder does, without 15 s for the tensor instructions of all devices."""
    return tvm.build(module, target=target)


def measure(module, target, size):
    """Runs the product on a server; gives the seconds that it takes there."""
    session = connect()
    folder = tvm.support.utils.tempdir()
    build(module, target).export_library(folder.relpath("matmul.tar"), fcompile=tar.tar)
    session.upload(folder.relpath("matmul.tar"))
    function, device = session.load_module("matmul.tar"), session.cpu()
    a, b = (numpy.random.rand(size, size).astype("float32") for _ in range(2))
    args = [tvm.runtime.tensor(each, device) for each in (a, b, numpy.zeros_like(a))]
    seconds = function.time_evaluator("main", device, number=3, repeat=3)(*args).median
    numpy.testing.assert_allclose(args[2].numpy(), a @ b, rtol=1e-3)
    return seconds


def main():
    options = parse_options()
    module, target = matmul(options.size), target_of_server()
    untuned = measure(module, target, options.size)
    report(f"untuned {1e3 * untuned:.3f} ms on {target}")

    # With strategy="evolutionary" and cost_model="xgb", which needs the package xgboost, a search
    # of hundreds of trials finds more.
    database = ms.tir_integration.tune_tir(
        module, target, str(options.out), options.trials, num_trials_per_iter=8,
        builder=ms.builder.LocalBuilder(f_build=build),
        runner=ms.runner.RPCRunner(ms.runner.RPCConfig(session_timeout_sec=SESSION_SECONDS)),
        strategy="replay-trace", cost_model="random")

    best = database.query_schedule(module, target, "main")
    if best is None:
        sys.exit("not one schedule could be measured")
    tuned = measure(best.mod, target, options.size)
    (options.out / "best.py").write_text(f"{best.trace}\n")
    report(f"tuned {1e3 * tuned:.3f} ms, {untuned / tuned:.1f} times as fast as untuned; "
           f"the schedule is in {options.out / 'best.py'}")


if __name__ == "__main__":
    main()
