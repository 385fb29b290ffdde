// SPDX-License-Identifier: Apache-2.0
// Included before everything else in what is compiled for tracing (cmake/traced.cmake). The compiler
// makes no call before the accesses of memcpy and its like, for it expects a library that watches them;
// here they become functions that do (hooks.cpp), whichever way they are spelled.
#pragma once
#include <cstddef>

extern "C" {
void* tessera_traced_memcpy(void* to, const void* from, std::size_t bytes);
void* tessera_traced_memmove(void* to, const void* from, std::size_t bytes);
void* tessera_traced_memset(void* to, int byte, std::size_t bytes);
}

// Only under -fno-builtin-memcpy and so on, else the compiler also calls them for copies of its own, which
// it has told already.
#if defined(TESSERA_TRACED)
extern "C" {
void* memcpy(void* to, const void* from, std::size_t bytes) noexcept __asm__("tessera_traced_memcpy");
void* memmove(void* to, const void* from, std::size_t bytes) noexcept __asm__("tessera_traced_memmove");
void* memset(void* to, int byte, std::size_t bytes) noexcept __asm__("tessera_traced_memset");
}
// A macro does not expand itself: what the compiler computes stays its own.
#define TESSERA_TRACED_COPY(builtin, traced, ...) \
  (__builtin_is_constant_evaluated() ? builtin(__VA_ARGS__) : traced(__VA_ARGS__))
#define __builtin_memcpy(...) TESSERA_TRACED_COPY(__builtin_memcpy, tessera_traced_memcpy, __VA_ARGS__)
#define __builtin_memmove(...) TESSERA_TRACED_COPY(__builtin_memmove, tessera_traced_memmove, __VA_ARGS__)
#define __builtin_memset(...) TESSERA_TRACED_COPY(__builtin_memset, tessera_traced_memset, __VA_ARGS__)
#endif
