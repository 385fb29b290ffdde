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
#define __builtin_memcpy tessera_traced_memcpy
#define __builtin_memmove tessera_traced_memmove
#define __builtin_memset tessera_traced_memset
#endif
