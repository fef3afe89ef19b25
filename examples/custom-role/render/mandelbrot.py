#!/usr/bin/env python3
"""Render the Mandelbrot set in strips, with as many renderers as the job has.

The merger asks every renderer for one strip after the other, over TCP: a line with the numbers of
the first row and of the row after the last, answered by the pixels, a byte each.
The operator says who is who: ROLE, RENDERERS (host:port of all), RENDERER_INDEX (one of them).
"""
import os
import queue
import signal
import socket
import socketserver
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

WIDTH, HEIGHT, STRIP = 600, 400, 20
STEPS = 100
PICTURE = Path("out/mandelbrot.pgm")
PATIENCE = 60  # seconds in which a renderer must be there


def pixel(x, y):
    """How late a point leaves the circle of radius 2, as a grey value: the set itself is black."""
    c = complex(3 * x / WIDTH - 2.1, 2 * y / HEIGHT - 1)
    z = 0
    for step in range(STEPS):
        z = z * z + c
        if abs(z) > 2:
            return 255 - 200 * step // STEPS
    return 0


class Strips(socketserver.StreamRequestHandler):
    """Renders what a merger asks for, until it goes."""

    def handle(self):
        for line in self.rfile:
            first, end = map(int, line.split())
            self.wfile.write(bytes(pixel(x, y) for y in range(first, end) for x in range(WIDTH)))


def render(address):
    socketserver.TCPServer.allow_reuse_address = True
    with socketserver.TCPServer(("", port_of(address)), Strips) as server:
        print(f"serving on port {port_of(address)}", flush=True)
        server.serve_forever()


def merge(addresses):
    wanted, strips = queue.SimpleQueue(), {}
    for first in range(0, HEIGHT, STRIP):
        wanted.put(first)
    with ThreadPoolExecutor(len(addresses)) as pool:
        for number, done in enumerate(pool.map(lambda one: fetch(one, wanted, strips), addresses)):
            print(f"renderer {number} rendered {done} strips", flush=True)
    PICTURE.parent.mkdir(exist_ok=True)
    header = f"P5 {WIDTH} {HEIGHT} 255\n".encode()
    PICTURE.write_bytes(header + b"".join(strips[first] for first in sorted(strips)))
    print(f"saved {PICTURE}, {WIDTH} x {HEIGHT}")


def fetch(address, wanted, strips):
    """Have a renderer render wanted strips until none is left; return how many it did."""
    done = 0
    with connect(address) as connection, connection.makefile("rwb") as stream:
        while True:
            try:
                first = wanted.get_nowait()
            except queue.Empty:
                return done
            end = min(first + STRIP, HEIGHT)
            stream.write(f"{first} {end}\n".encode())
            stream.flush()
            strips[first] = stream.read((end - first) * WIDTH)
            if len(strips[first]) < (end - first) * WIDTH:
                raise ConnectionError(f"the renderer at {address} went away")
            done += 1


def connect(address):
    """A connection to a renderer, which may start later than the merger."""
    give_up = time.monotonic() + PATIENCE
    while True:
        try:
            return socket.create_connection((address.rpartition(":")[0], port_of(address)))
        except OSError as error:
            if time.monotonic() > give_up:
                raise ConnectionError(f"no renderer at {address}: {error}") from error
            time.sleep(0.1)


def port_of(address):
    return int(address.rpartition(":")[2])


def main():
    # As process 1 of a container Python would not end by default.
    signal.signal(signal.SIGTERM, lambda number, frame: os._exit(128 + number))
    role, renderers = os.environ.get("ROLE"), os.environ.get("RENDERERS", "").split(",")
    try:
        if role == "merger":
            merge(renderers)
        elif role == "renderer":
            render(renderers[int(os.environ["RENDERER_INDEX"])])
        else:
            sys.exit("ROLE says neither merger nor renderer: run this as a job, with render.yaml")
    except OSError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
