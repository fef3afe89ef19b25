#!/usr/bin/env python3
"""Train a small network on handwritten digits, alone or as a distributed MXNet job.

Start this one program in every role: scheduler, servers and workers. MXNet reads DMLC_ROLE;
with any role but `worker` the line `import mxnet` serves until the job is over and then exits.
Without DMLC_ROLE it trains alone.

The data are scikit-learn's 1,797 digits of 8 x 8 pixels: 1,500 to learn from, shared out among
the workers by rank, and 297 to test with. Exit code: 0, or 1 when the accuracy is too low.
"""
import argparse
import gc
import os
import signal
import sys
import threading
import time
import traceback

SEED = 0
TRAINING_SET = 1500


def parse_options():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kvstore", default="dist_sync" if "DMLC_ROLE" in os.environ else "local",
                        choices=["local", "dist_sync", "dist_async"],
                        help="who adds up the gradients (default here: %(default)s)")
    parser.add_argument("--epochs", type=int, default=15)
    parser.add_argument("--batch-size", type=int, default=32, help="per worker")
    parser.add_argument("--lr", type=float, default=0.1, help="learning rate")
    parser.add_argument("--min-accuracy", type=float, default=0.95)
    parser.add_argument("--min-epoch-seconds", type=float, default=0,
                        help="sleep so that every epoch lasts at least this long")
    parser.add_argument("--save", metavar="FILE", help="where worker 0 puts the parameters")
    return parser.parse_args()


def end_on_signals():
    """End at once on SIGTERM and SIGINT, also while the process waits inside MXNet.

    Python runs signal handlers only between its own instructions, and none come while MXNet
    waits in C for its peers; as process 1 of a container it would not even end by default.
    So a thread waits for the signals. Call this first: later threads inherit the mask.
    """
    signals = {signal.SIGTERM, signal.SIGINT}
    signal.pthread_sigmask(signal.SIG_BLOCK, signals)
    threading.Thread(target=lambda: os._exit(128 + signal.sigwait(signals)), daemon=True).start()


def report(line):
    print(line + "\n", end="", flush=True)  # in one write: workers may share an output


def train(options):
    """Train, test and save; return the accuracy on the test set."""
    import numpy as np
    if sys.version_info >= (3, 12):  # needs a numpy without this name, which MXNet 1.9.1 reads
        np.bool = bool
    import mxnet as mx  # servers and the scheduler never get past this line
    from mxnet import autograd, gluon, nd
    from sklearn.datasets import load_digits
    kv = mx.kv.create(options.kvstore)  # waits until every member of the job is there

    pixels, digits = load_digits(return_X_y=True)
    order = np.random.RandomState(SEED).permutation(len(digits))  # the same on every worker
    pixels, digits = (pixels[order] / 16).astype("float32"), digits[order].astype("float32")
    test_pixels, test_digits = pixels[TRAINING_SET:], digits[TRAINING_SET:]
    mine = slice(kv.rank, TRAINING_SET, kv.num_workers)
    pixels, digits = pixels[mine], digits[mine]

    mx.random.seed(SEED)
    net = gluon.nn.HybridSequential()
    net.add(gluon.nn.Dense(64, activation="relu"), gluon.nn.Dense(10))
    net.initialize(mx.init.Xavier())
    net.hybridize()
    loss_of = gluon.loss.SoftmaxCrossEntropyLoss()
    trainer = gluon.Trainer(net.collect_params(), "sgd",
                            {"learning_rate": options.lr, "momentum": 0.9}, kvstore=kv)

    # dist_sync waits for every worker at every step: all must take the same number of steps.
    share = TRAINING_SET // kv.num_workers
    batch = min(options.batch_size, share)
    summed = kv.num_workers if "_sync" in kv.type else 1  # gradients that make up one step
    shuffle = np.random.RandomState(SEED + kv.rank)
    for epoch in range(1, options.epochs + 1):
        started, losses = time.monotonic(), []
        order = shuffle.permutation(len(digits))
        for first in range(0, share - batch + 1, batch):
            chosen = order[first:first + batch]
            with autograd.record():
                loss = loss_of(net(nd.array(pixels[chosen])), nd.array(digits[chosen]))
            loss.backward()
            trainer.step(batch * summed)
            losses.append(loss.mean())
        mean_loss = nd.concat(*losses, dim=0).mean().asscalar()
        time.sleep(max(0, started + options.min_epoch_seconds - time.monotonic()))
        report(f"epoch {epoch}/{options.epochs} loss {mean_loss:.3f}")

    guesses = net(nd.array(test_pixels)).asnumpy().argmax(axis=1)
    accuracy = (guesses == test_digits).mean()
    report(f"test accuracy {accuracy:.3f}")
    # The worker's number in the job: kv.rank is given out in the order in which workers join.
    if options.save and os.environ.get("DMLC_WORKER_ID", "0") == "0":
        os.makedirs(os.path.dirname(options.save) or ".", exist_ok=True)
        net.save_parameters(options.save + ".tmp")
        os.replace(options.save + ".tmp", options.save)  # never half a file
    return accuracy


if __name__ == "__main__":
    end_on_signals()
    options = parse_options()
    try:
        accuracy = train(options)
    except Exception:
        # Not sys.exit: leaving in the middle of a job, MXNet would wait for its peers for ever.
        traceback.print_exc()
        sys.stdout.flush()
        os._exit(1)
    # Frees the kvstore, which waits for the other workers. Left to Python's own shutdown,
    # that wait could not be ended: the thread of end_on_signals is dead by then.
    gc.collect()
    if accuracy < options.min_accuracy:
        sys.exit(f"accuracy {accuracy:.3f} is below --min-accuracy {options.min_accuracy}")
