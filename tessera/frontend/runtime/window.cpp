// SPDX-License-Identifier: Apache-2.0
// A window that is a file: GL/glut.h says how.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>
#include "tessera/frontend/include/GL/glut.h"
#include "tessera/frontend/runtime/launch_record.hpp"
#include "tessera/frontend/runtime/runtime.hpp"

namespace {

struct Window {
  std::string title = "picture";
  void (*key)(unsigned char, int, int) = nullptr;
  void (*display)() = nullptr;
  void (*idle)() = nullptr;
  int width = 0, height = 0;
  std::vector<unsigned char> pixels;  // red, green, blue
};
Window& window() {
  static auto* const only = new Window;
  return *only;
}

int frames() {
  const char* const text = std::getenv("TESSERA_CUDA_FRAMES");
  return text == nullptr ? 3 : std::max(1, std::atoi(text));
}

// OpenGL's first row is the lowest.
void write_picture() {
  const Window& w = window();
  if (w.pixels.empty()) return;
  std::string name = w.title + ".ppm";
  std::replace(name.begin(), name.end(), '/', '_');
  std::FILE* const file = std::fopen(name.c_str(), "wb");
  if (file == nullptr) return tessera_cuda::say_once(name + " cannot be written");
  std::fprintf(file, "P6\n%d %d\n255\n", w.width, w.height);
  const std::size_t row = 3 * static_cast<std::size_t>(w.width);
  for (int y = w.height; y-- > 0;)
    std::fwrite(w.pixels.data() + static_cast<std::size_t>(y) * row, 1, row, file);
  std::fclose(file);
  tessera_cuda::record_note("there is no window: its picture is " + name);
}

}  // namespace

void glutInit(int*, char**) {}
void glutInitDisplayMode(unsigned int) {}
void glutInitWindowSize(int, int) {}
void glutInitWindowPosition(int, int) {}
int glutCreateWindow(const char* title) {
  window().title = title;
  return 1;
}
void glutKeyboardFunc(void (*function)(unsigned char, int, int)) { window().key = function; }
void glutDisplayFunc(void (*function)()) { window().display = function; }
void glutIdleFunc(void (*function)()) { window().idle = function; }
void glutMouseFunc(void (*)(int, int, int, int)) {}
void glutMotionFunc(void (*)(int, int)) {}
void glutReshapeFunc(void (*)(int, int)) {}
void glutPostRedisplay() {}
void glutSwapBuffers() {}

void glutMainLoop() {
  const Window& w = window();
  for (int i = 0; w.idle != nullptr && i < frames(); ++i) w.idle();
  if (w.display != nullptr) w.display();
  write_picture();
  constexpr unsigned char escape = 27;
  if (w.key != nullptr) w.key(escape, 0, 0);
  std::exit(0);
}

void glClearColor(GLclampf, GLclampf, GLclampf, GLclampf) {}
void glClear(GLbitfield) {}
void glFlush() {}

void glDrawPixels(GLsizei width, GLsizei height, GLenum format, GLenum type, const GLvoid* pixels) {
  const std::size_t channels = format == GL_RGBA ? 4 : format == GL_RGB ? 3 : 0;
  if (channels == 0 || type != GL_UNSIGNED_BYTE || pixels == nullptr || width < 1 || height < 1)
    return tessera_cuda::say_once("glDrawPixels draws bytes of GL_RGB or GL_RGBA only");
  Window& w = window();
  w.width = width;
  w.height = height;
  const std::size_t count = static_cast<std::size_t>(width) * static_cast<std::size_t>(height);
  w.pixels.resize(3 * count);
  const auto* const from = static_cast<const unsigned char*>(pixels);
  for (std::size_t i = 0; i < count; ++i) std::copy_n(from + channels * i, 3, &w.pixels[3 * i]);
}
