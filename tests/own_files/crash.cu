// SPDX-License-Identifier: Apache-2.0
#include <cstdlib>

int main() { abort(); }
