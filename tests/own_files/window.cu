// SPDX-License-Identifier: Apache-2.0
// A picture of 8 × 4 that a kernel paints, shown in a window: its lowest row is red.
#include <GL/glut.h>
#include <cstdio>
#include <cstdlib>

const int width = 8, height = 4;
unsigned char pixels[width * height * 4];

__global__ void paint(unsigned char* out) {
  unsigned char* const pixel = out + 4 * (threadIdx.x + threadIdx.y * blockDim.x);
  pixel[0] = threadIdx.y == 0 ? 255 : 0;
  pixel[1] = 0;
  pixel[2] = threadIdx.x;
  pixel[3] = 255;
}

void draw() { glDrawPixels(width, height, GL_RGBA, GL_UNSIGNED_BYTE, pixels); }

void idle() {
  unsigned char* device;
  cudaMalloc(&device, sizeof pixels);
  paint<<<1, dim3(width, height)>>>(device);
  cudaMemcpy(pixels, device, sizeof pixels, cudaMemcpyDeviceToHost);
  cudaFree(device);
}

void key(unsigned char which, int, int) {
  printf("key %d\n", which);
  exit(5);
}

int main(int argc, char** argv) {
  glutInit(&argc, argv);
  glutCreateWindow("painted");
  glutDisplayFunc(draw);
  glutIdleFunc(idle);
  glutKeyboardFunc(key);
  glutMainLoop();
}
