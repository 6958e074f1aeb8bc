"""Logistic regression by gradient descent, the rows shared by processes."""

import argparse
import multiprocessing

import numpy as np

STEPS, STEP = 150, 0.5


def work(pipe, x, y):
    """Answer weights with the sums of gradient and loss over a share, until there are none."""
    while (weights := pipe.recv()) is not None:
        w, b = weights
        p = 1 / (1 + np.exp(-(x @ w + b)))
        loss = -np.sum(np.where(y == 1, np.log(p), np.log1p(-p)))
        pipe.send((x.T @ (p - y), np.sum(p - y), loss))


def main():
    """Train."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--workers", type=int, required=True)
    parser.add_argument("source")
    parser.add_argument("target")
    args = parser.parse_args()
    with np.load(args.source) as events:
        x, y = events["x"].astype(float), events["y"].astype(float)
    pipes = []
    for xs, ys in zip(np.array_split(x, args.workers), np.array_split(y, args.workers), strict=True):
        here, there = multiprocessing.Pipe()
        multiprocessing.Process(target=work, args=(there, xs, ys), daemon=True).start()
        pipes.append(here)
    w, b, losses = np.zeros(x.shape[1]), 0.0, []
    for _ in range(STEPS):
        for pipe in pipes:
            pipe.send((w, b))
        parts = [pipe.recv() for pipe in pipes]
        losses.append(sum(loss for _, _, loss in parts) / len(y))
        w = w - STEP * sum(gradient for gradient, _, _ in parts) / len(y)
        b = b - STEP * sum(gradient for _, gradient, _ in parts) / len(y)
    for pipe in pipes:
        pipe.send(None)
    np.savez(args.target, w=w, b=b, losses=losses)


if __name__ == "__main__":
    main()
