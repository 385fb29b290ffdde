# SPDX-License-Identifier: Apache-2.0
"""Pillow's pictures: their samples as an array, and results as pictures again."""
import sys

from ._arrays import as_numpy


class Picture:
    """The alpha of a picture that was given, if it is kept apart from the colours."""

    def __init__(self, alpha):
        self.alpha = alpha

    @classmethod
    def of(cls, operation, bound):
        """Puts arrays in the place of Pillow's pictures; None: there are none."""
        images = sys.modules.get("PIL.Image")
        if images is None:
            return None
        alpha, found = None, False
        for parameter in operation.of_kind["input"]:
            image = bound.arrays.get(parameter["name"])
            if not isinstance(image, images.Image):
                continue
            found = True
            if image.mode in ("P", "1", "CMYK", "YCbCr", "HSV", "LAB", "PA"):
                image = image.convert({"1": "L", "PA": "RGBA"}.get(image.mode, "RGBA" if "transparency" in image.info else "RGB"))
            array = as_numpy(image)
            if image.mode in ("LA", "RGBA") and parameter.get("picture") == "colour":
                alpha, array = array[..., -1:], array[..., 0] if image.mode == "LA" else array[..., :-1]
            bound.arrays[parameter["name"]] = array
        return cls(alpha) if found else None

    def restored(self, array):
        """Returns a picture, or the array where Pillow has no such pictures."""
        import numpy
        from PIL import Image
        if self.alpha is not None and array.dtype == "uint8" and array.shape[:2] == self.alpha.shape[:2]:
            array = numpy.concatenate([array[..., None] if array.ndim == 2 else array, self.alpha], axis=2)
        if array.ndim == 3 and (array.dtype != "uint8" or array.shape[2] > 4) or array.dtype not in ("uint8", "uint16", "float32"):
            return array
        return Image.fromarray(array)
