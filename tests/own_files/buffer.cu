// SPDX-License-Identifier: Apache-2.0
// A picture of 2 × 2 in a buffer that OpenGL draws and a kernel writes.
#include <GL/glut.h>
#include <GL/glx.h>
#include <cstdio>
#include "cuda_gl_interop.h"

GLuint buffer;
cudaGraphicsResource* resource;
PFNGLGENBUFFERSARBPROC glGenBuffers;
PFNGLBINDBUFFERARBPROC glBindBuffer;
PFNGLBUFFERDATAARBPROC glBufferData;
PFNGLDELETEBUFFERSARBPROC glDeleteBuffers;

__global__ void paint(uchar4* out) { out[threadIdx.x] = make_uchar4(10 * threadIdx.x, 1, 2, 255); }

void draw() { glDrawPixels(2, 2, GL_RGBA, GL_UNSIGNED_BYTE, 0); }
void key(unsigned char, int, int) {
  cudaGraphicsUnregisterResource(resource);
  glBindBuffer(GL_PIXEL_UNPACK_BUFFER_ARB, 0);
  glDeleteBuffers(1, &buffer);
  exit(0);
}

int main(int argc, char** argv) {
  glutInit(&argc, argv);
  glutCreateWindow("buffered");
  glGenBuffers = (PFNGLGENBUFFERSARBPROC)glXGetProcAddress((const GLubyte*)"glGenBuffers");
  glBindBuffer = (PFNGLBINDBUFFERARBPROC)glXGetProcAddress((const GLubyte*)"glBindBuffer");
  glBufferData = (PFNGLBUFFERDATAARBPROC)glXGetProcAddress((const GLubyte*)"glBufferData");
  glDeleteBuffers = (PFNGLDELETEBUFFERSARBPROC)glXGetProcAddress((const GLubyte*)"glDeleteBuffers");
  glGenBuffers(1, &buffer);
  glBindBuffer(GL_PIXEL_UNPACK_BUFFER_ARB, buffer);
  glBufferData(GL_PIXEL_UNPACK_BUFFER_ARB, 16, NULL, GL_DYNAMIC_DRAW_ARB);
  cudaGraphicsGLRegisterBuffer(&resource, buffer, cudaGraphicsMapFlagsNone);
  cudaGraphicsMapResources(1, &resource, NULL);
  uchar4* pixels;
  size_t bytes = 0;
  cudaGraphicsResourceGetMappedPointer((void**)&pixels, &bytes, resource);
  paint<<<1, 4>>>(pixels);
  cudaGraphicsUnmapResources(1, &resource, NULL);
  printf("%zu\n", bytes);
  glutDisplayFunc(draw);
  glutKeyboardFunc(key);
  glutMainLoop();
}
