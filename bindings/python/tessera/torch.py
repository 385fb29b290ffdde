# SPDX-License-Identifier: Apache-2.0
"""The product as an operator of PyTorch, for torch.compile and autograd: register(), then torch.ops.tessera.matmul(a, b)."""
from . import matmul

_libraries = []  # a registration lasts as long as its library


def register():
    """Makes torch.ops.tessera.matmul(a, b, accuracy=""). Repeated calls do nothing."""
    import torch
    if _libraries:
        return
    if not hasattr(torch.library, "register_autograd"):
        raise RuntimeError(f"tessera.torch.register() needs PyTorch 2.4 or later, not {torch.__version__}")
    library = torch.library.Library("tessera", "DEF")
    library.define('matmul(Tensor a, Tensor b, str accuracy="") -> Tensor')

    def compute(a, b, accuracy=""):
        return matmul(a.detach(), b.detach(), **({"accuracy": accuracy} if accuracy else {}))

    def shape_only(a, b, accuracy=""):
        return torch.matmul(a, b)

    def keep(ctx, inputs, output):  # PyTorch passes them by these names
        ctx.save_for_backward(inputs[0], inputs[1])
        ctx.accuracy = inputs[2]

    def gradients(ctx, gradient):
        a, b = ctx.saved_tensors
        product = torch.ops.tessera.matmul

        def times(x, y):
            return product(x, y, ctx.accuracy)
        # Vectors as matrices, so that one rule serves.
        rows = a.unsqueeze(0) if a.dim() == 1 else a
        columns = b.unsqueeze(1) if b.dim() == 1 else b
        if a.dim() == 1:
            gradient = gradient.unsqueeze(-1 if b.dim() == 1 else -2)
        if b.dim() == 1:
            gradient = gradient.unsqueeze(-1)
        to_a = times(gradient, columns.mT) if ctx.needs_input_grad[0] else None
        to_b = times(rows.mT, gradient) if ctx.needs_input_grad[1] else None
        summed = [None if g is None else g.sum_to_size(shape).reshape(x.shape) for g, shape, x in
                  ((to_a, rows.shape, a), (to_b, columns.shape, b))]
        return (*summed, None)

    for device in ("CPU", "CUDA"):
        library.impl("matmul", compute, device)
    torch.library.register_fake("tessera::matmul", shape_only, lib=library)
    torch.library.register_autograd("tessera::matmul", gradients, setup_context=keep, lib=library)
    _libraries.append(library)
