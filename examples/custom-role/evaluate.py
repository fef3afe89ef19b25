#!/usr/bin/env python3
"""Score checkpoints on digits that training does not see, while training runs.

Asked to end (SIGTERM, SIGINT), as it is when the job is over, it first scores what is there: no
checkpoint is left out. It must not see DMLC_ROLE, or `import mxnet` would join the job.
"""
import argparse
import os
import signal
import sys
import time
from pathlib import Path

SECONDS_BETWEEN_LOOKS = 0.1


def parse_options():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--checkpoints", metavar="DIR", type=Path, default=Path("out"),
                        help="where they are saved (default: %(default)s)")
    return parser.parse_args()


def watch(folder, ending, score):
    """Call `score` with every checkpoint, once for each time that it was saved."""
    seen = {}
    while True:
        last_look = bool(ending)  # asked for before the look: what is there by then is scored
        for file in sorted(folder.glob("epoch-*.params")):
            saved = file.stat().st_mtime_ns
            if seen.get(file) != saved:
                seen[file] = saved
                score(file)
        if last_look:
            return
        time.sleep(SECONDS_BETWEEN_LOOKS)


def main():
    ending = []
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda number, frame: ending.append(number))
    options = parse_options()
    if "DMLC_ROLE" in os.environ:
        sys.exit("DMLC_ROLE is set: start this outside the parameter server (mode_env = false)")

    import model
    from mxnet import nd
    _, (pixels, digits) = model.digits()
    pixels, net = nd.array(pixels), model.network()

    def score(file):
        net.load_parameters(str(file))
        right = net(pixels).asnumpy().argmax(axis=1) == digits
        epoch = int(file.stem[len("epoch-"):])
        print(f"epoch {epoch} accuracy {right.mean():.3f}", flush=True)

    workers = os.environ.get("EVAL_WORKERS", "unknown workers")  # host:port of each
    print(f"watching {options.checkpoints}/ while {workers} train", flush=True)
    watch(options.checkpoints, ending, score)


if __name__ == "__main__":
    main()
