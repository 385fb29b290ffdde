# SPDX-License-Identifier: Apache-2.0
"""Writes the two matrices of the demo, the orthonormal DCT-II basis and a picture to transform by it, and a table of
samples."""
import numpy as np

n, width = 192, 160
i, j = np.mgrid[0:n, 0:n]
basis = np.sqrt(2 / n) * np.cos(np.pi * (2 * j + 1) * i / (2 * n))
basis[0] /= np.sqrt(2)
y, x = np.mgrid[0:n, 0:width]
rings = 0.5 + 0.5 * np.cos(np.hypot(x - 60, y - 90) / 4)
edge = (x + 2 * y > 300).astype(float)
noise = np.random.default_rng(1).normal(0, 0.05, (n, width))
np.save("examples/A.npy", basis.astype(np.float32))
np.save("examples/B.npy", (0.6 * rings + 0.4 * edge + noise).astype(np.float32))

# A table of samples, to be integrated.
x = np.linspace(0, np.pi, 202)
np.save("examples/x.npy", x)
np.save("examples/y.npy", np.sin(x))
