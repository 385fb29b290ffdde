// SPDX-License-Identifier: Apache-2.0
// A shared object like any other: brings no rung.
int nothing() { return 0; }
