# SPDX-License-Identifier: Apache-2.0
"""What tests of several devices share: a product to divide, and its call."""
import numpy as np

import cli_case

UNLIKE = "simt:threads=1,simt:threads=2"


class Case(cli_case.Case):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        random = np.random.default_rng(3)
        cls.a, cls.b = random.normal(size=(300, 70)).astype(np.float32), random.normal(size=(70, 200)).astype(np.float32)
        np.save("left.npy", cls.a)
        np.save("right.npy", cls.b)

    def product(self, *words):
        done = self.passes("matmul", "left.npy", "right.npy", "-o", "out.npy", *words)
        with open("out.npy", "rb") as file:
            return done.stdout, file.read()

    @staticmethod
    def bytes_of(path):
        with open(path, "rb") as file:
            return file.read()
