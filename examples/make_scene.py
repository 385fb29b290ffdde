#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draws the scene of the examples, with whole numbers only, as a PPM file.   make_scene.py OUT.ppm"""
import sys

WIDTH, HEIGHT = 320, 200


def noise(x, y):
    """0 to 15, the same everywhere."""
    value = (x * 374761393 + y * 668265263) & 0xffffffff
    value = ((value ^ value >> 13) * 1274126177) & 0xffffffff
    return value >> 28


def pixel(x, y):
    horizon = 130 + (x - 160) * (x - 160) // 1600
    if (x - 250) ** 2 + (y - 45) ** 2 < 26 ** 2:  # the sun
        return 255, 232, 150
    house = 60 <= x < 130 and 95 <= y < 155
    roof = 55 <= y < 95 and abs(x - 95) <= (y - 55) * 45 // 40
    if roof:
        return 150 - 10 * (y // 5 % 2), 60 + noise(x // 3, y), 50
    if house:
        if 72 <= x < 90 and 105 <= y < 123 and x not in (80, 81) and y not in (113, 114):  # a window
            return 120, 170, 210
        if 102 <= x < 118 and y >= 118:  # the door
            return 90, 58, 40
        return 214 - noise(x, y), 200 - noise(x, y), 170
    crown = (x - 215) ** 2 * 4 + (y - 105) ** 2 * 5 < 44 ** 2 * 4
    if crown:
        return 40 + 3 * noise(x // 2, y // 2), 105 + 4 * noise(x // 2, y // 2), 45
    if 209 <= x < 221 and 105 <= y < 165:
        return 96 + noise(x, y // 4), 66, 40
    if y < horizon:  # the sky
        return 110 + y // 2, 160 + y // 3, 235 - y // 8
    if y > 160 and (x + 2 * y) // 12 % 2 == (y // 10) % 2:  # a path of slabs
        return 175 + noise(x, y), 165 + noise(x, y), 150
    return 70 + 2 * noise(x, y), 130 + 2 * noise(x, y) - (y - 130) // 3, 60


def main():
    with open(sys.argv[1], "wb") as file:
        file.write(b"P6\n%d %d\n255\n" % (WIDTH, HEIGHT))
        file.write(bytes(channel for y in range(HEIGHT) for x in range(WIDTH) for channel in pixel(x, y)))


if __name__ == "__main__":
    main()
