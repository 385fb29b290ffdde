// SPDX-License-Identifier: Apache-2.0
// Included first in every file compiled for tracing (cmake/traced.cmake). The compiler emits no hooks for
// memcpy, memmove and memset, because it expects a runtime that intercepts them; this file redirects them, in
// every spelling, to functions that record their accesses (hooks.cpp).
#pragma once
#include <cstddef>

extern "C" {
void* tessera_traced_memcpy(void* to, const void* from, std::size_t bytes);
void* tessera_traced_memmove(void* to, const void* from, std::size_t bytes);
void* tessera_traced_memset(void* to, int byte, std::size_t bytes);
}

// Requires -fno-builtin-memcpy etc.: otherwise the compiler also calls these for its own copies, whose
// accesses it has already reported.
#if defined(TESSERA_TRACED)
extern "C" {
void* memcpy(void* to, const void* from, std::size_t bytes) noexcept __asm__("tessera_traced_memcpy");
void* memmove(void* to, const void* from, std::size_t bytes) noexcept __asm__("tessera_traced_memmove");
void* memset(void* to, int byte, std::size_t bytes) noexcept __asm__("tessera_traced_memset");
}
// A macro does not expand itself recursively, so constant evaluation still uses the builtin.
#define TESSERA_TRACED_COPY(builtin, traced, ...) \
  (__builtin_is_constant_evaluated() ? builtin(__VA_ARGS__) : traced(__VA_ARGS__))
#define __builtin_memcpy(...) TESSERA_TRACED_COPY(__builtin_memcpy, tessera_traced_memcpy, __VA_ARGS__)
#define __builtin_memmove(...) TESSERA_TRACED_COPY(__builtin_memmove, tessera_traced_memmove, __VA_ARGS__)
#define __builtin_memset(...) TESSERA_TRACED_COPY(__builtin_memset, tessera_traced_memset, __VA_ARGS__)
#endif
