#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A light field from one picture and its measured disparities: synthetic views of real texture and real depth.

    examples/warp_stereo.py LEFT.npy DISPARITY.npz VIEWS.npy [--grid 9] [--step 0.1]

LEFT.npy is [height,width,channels] of u8 (`tessera filter left.png --kernel 1 -o left.npy` makes it from a picture), the
disparities are in pixels, infinite or not a number where none was measured. Debian's python3-skimage has such a pair:
motorcycle_left.png and motorcycle_disp.npz of Middlebury. A view that stands n places from the middle sees each pixel
n × step × disparity further: what has disparity d is in focus at slope step × d. What no pixel falls on was hidden from the
camera; it takes the farther of its neighbours along the row.
"""
import argparse

import numpy as np


def nearest_known(known):
    """For each pixel of each row the last known one to its left, −1 where there is none."""
    index = np.where(known, np.arange(known.shape[1]), -1)
    return np.maximum.accumulate(index, axis=1)


def filled(picture, depth, known):
    """Holes take the farther (smaller disparity) of the known pixels on both sides."""
    width = known.shape[1]
    left = nearest_known(known)
    right = width - 1 - nearest_known(known[:, ::-1])[:, ::-1]
    rows = np.arange(known.shape[0])[:, None]
    far = lambda at, inside: np.where(inside, depth[rows, np.clip(at, 0, width - 1)], np.inf)
    take = np.where(far(left, left >= 0) <= far(right, right < width), left, right)
    take = np.clip(take, 0, width - 1)
    return picture[rows, take], depth[rows, take]


def view(picture, depth, shift_per_pixel, down, right):
    height, width = depth.shape
    y, x = np.mgrid[:height, :width]
    to_y = np.rint(y + depth * shift_per_pixel * down).astype(int)
    to_x = np.rint(x + depth * shift_per_pixel * right).astype(int)
    inside = (to_y >= 0) & (to_y < height) & (to_x >= 0) & (to_x < width)
    order = np.argsort(depth[inside], kind="stable")  # the nearest last: it hides what is behind
    to = (to_y[inside][order], to_x[inside][order])
    out, far, known = np.zeros_like(picture), np.zeros_like(depth), np.zeros(depth.shape, bool)
    out[to], far[to], known[to] = picture[inside][order], depth[inside][order], True
    return filled(out, far, known)[0]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("left")
    parser.add_argument("disparity")
    parser.add_argument("views")
    parser.add_argument("--grid", type=int, default=9)
    parser.add_argument("--step", type=float, default=0.1)
    asked = parser.parse_args()
    picture, loaded = np.load(asked.left), np.load(asked.disparity)
    depth = (loaded[loaded.files[0]] if hasattr(loaded, "files") else loaded).astype(np.float64)
    if picture.ndim != 3 or picture.shape[:2] != depth.shape:
        parser.error(f"a picture of {picture.shape} and disparities of {depth.shape} do not fit")
    picture, depth = filled(picture, np.where(np.isfinite(depth), depth, 0), np.isfinite(depth))
    middle = (asked.grid - 1) / 2
    places = [(t - middle, s - middle) for t in range(asked.grid) for s in range(asked.grid)]
    views = np.stack([view(picture, depth, asked.step, *place) for place in places])
    np.save(asked.views, views.reshape(asked.grid, asked.grid, *picture.shape))


if __name__ == "__main__":
    main()
