#!/usr/bin/env python3
"""Train a small network on handwritten digits and save its parameters after every epoch.

Start this one program as scheduler, servers and workers, or alone without DMLC_ROLE. Worker 0
saves `epoch-0001.params` and so on; files of that name from an earlier run are removed first.
"""
import argparse
import gc
import os
import signal
import sys
import threading
import time
import traceback
from pathlib import Path


def parse_options():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--checkpoints", metavar="DIR", type=Path, default=Path("out"),
                        help="where worker 0 saves (default: %(default)s)")
    parser.add_argument("--epochs", type=int, default=12)
    parser.add_argument("--batch-size", type=int, default=32, help="per worker")
    parser.add_argument("--lr", type=float, default=0.1, help="learning rate")
    parser.add_argument("--min-epoch-seconds", type=float, default=0,
                        help="sleep so that every epoch lasts at least this long")
    return parser.parse_args()


def end_on_signals():
    """End at once on SIGTERM and SIGINT, also while the process waits inside MXNet.

    Python runs signal handlers only between its own instructions, so a thread waits for the
    signals. Call this first: later threads inherit the mask.
    """
    signals = {signal.SIGTERM, signal.SIGINT}
    signal.pthread_sigmask(signal.SIG_BLOCK, signals)
    threading.Thread(target=lambda: os._exit(128 + signal.sigwait(signals)), daemon=True).start()


def saves():
    """True in the process that saves: worker 0, or one that trains alone."""
    role, number = os.environ.get("DMLC_ROLE", "worker"), os.environ.get("DMLC_WORKER_ID", "0")
    return (role, number) == ("worker", "0")


def train(options):
    if saves():
        options.checkpoints.mkdir(parents=True, exist_ok=True)
        for old in options.checkpoints.glob("epoch-*.params"):
            old.unlink()
    import model  # servers and the scheduler never get past this line
    import mxnet as mx
    import numpy as np
    from mxnet import autograd, gluon, nd
    kv = mx.kv.create("dist_sync" if "DMLC_ROLE" in os.environ else "local")

    (pixels, digits), _ = model.digits()
    pixels, digits = pixels[kv.rank::kv.num_workers], digits[kv.rank::kv.num_workers]
    mx.random.seed(model.SEED)
    net = model.network()
    net.initialize(mx.init.Xavier())
    loss_of = gluon.loss.SoftmaxCrossEntropyLoss()
    trainer = gluon.Trainer(net.collect_params(), "sgd",
                            {"learning_rate": options.lr, "momentum": 0.9}, kvstore=kv)

    # dist_sync waits for every worker at every step: all must take the same number of steps.
    share = model.TRAINING_SET // kv.num_workers
    batch = min(options.batch_size, share)
    shuffle = np.random.RandomState(model.SEED + kv.rank)
    for epoch in range(1, options.epochs + 1):
        started, losses = time.monotonic(), []
        order = shuffle.permutation(len(digits))
        for first in range(0, share - batch + 1, batch):
            chosen = order[first:first + batch]
            with autograd.record():
                loss = loss_of(net(nd.array(pixels[chosen])), nd.array(digits[chosen]))
            loss.backward()
            trainer.step(batch * kv.num_workers)
            losses.append(loss.mean())
        mean_loss = nd.concat(*losses, dim=0).mean().asscalar()
        print(f"epoch {epoch}/{options.epochs} loss {mean_loss:.3f}", flush=True)
        if saves():
            file = options.checkpoints / f"epoch-{epoch:04}.params"
            net.save_parameters(f"{file}.tmp")
            os.replace(f"{file}.tmp", file)  # never half a file
        time.sleep(max(0, started + options.min_epoch_seconds - time.monotonic()))


if __name__ == "__main__":
    end_on_signals()
    options = parse_options()
    try:
        train(options)
    except Exception:
        # Not sys.exit: leaving in the middle of a job, MXNet would wait for its peers for ever.
        traceback.print_exc()
        sys.stdout.flush()
        os._exit(1)
    # Frees the kvstore, which waits for the other workers. Left to Python's own shutdown,
    # that wait could not be ended: the thread of end_on_signals is dead by then.
    gc.collect()
