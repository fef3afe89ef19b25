"""The digits and the network that train.py and evaluate.py share.

In a process with DMLC_ROLE set to anything but `worker`, importing this serves the job until it is
over and then exits: MXNet does that.
"""
import sys

import numpy as np

if sys.version_info >= (3, 12):  # needs a numpy without this name, which MXNet 1.9.1 reads
    np.bool = bool
from mxnet.gluon import nn
from sklearn.datasets import load_digits

SEED = 0
TRAINING_SET = 1500


def digits():
    """Pixels and digits to learn from, and those held out: the same in every process."""
    pixels, names = load_digits(return_X_y=True)
    order = np.random.RandomState(SEED).permutation(len(names))
    pixels, names = (pixels[order] / 16).astype("float32"), names[order].astype("float32")
    return ((pixels[:TRAINING_SET], names[:TRAINING_SET]),
            (pixels[TRAINING_SET:], names[TRAINING_SET:]))


def network():
    """The network, without parameters."""
    net = nn.HybridSequential()
    net.add(nn.Dense(64, activation="relu"), nn.Dense(10))
    net.hybridize()
    return net
