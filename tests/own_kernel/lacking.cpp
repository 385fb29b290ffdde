// SPDX-License-Identifier: Apache-2.0
// Needs what no program has.
namespace nowhere {
int found(int);
}
int wanted = nowhere::found(1);
