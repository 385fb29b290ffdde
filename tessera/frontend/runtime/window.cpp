// SPDX-License-Identifier: Apache-2.0
// Implements the window functions of GL/glut.h: the window is written to a file.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <vector>
#include "tessera/frontend/include/cuda_gl_interop.h"
#include "tessera/frontend/runtime/launch/launch_record.hpp"
#include "tessera/frontend/runtime/runtime.hpp"

namespace {

struct Window {
  std::string title = "picture";
  void (*key)(unsigned char, int, int) = nullptr;
  void (*display)() = nullptr;
  void (*idle)() = nullptr;
  int wide = 300, high = 300;         // the size that the program asks for
  int width = 0, height = 0;          // the picture's
  std::vector<unsigned char> pixels;  // red, green, blue
};
Window& window() {
  static auto* const only = new Window;
  return *only;
}

struct PixelBuffer {
  void* data = nullptr;  // device memory
  std::size_t bytes = 0;
};
struct PixelBuffers {
  std::map<GLuint, PixelBuffer> all;
  GLuint made = 0, bound = 0;
};
PixelBuffers& pixel_buffers() {
  static auto* const only = new PixelBuffers;
  return *only;
}

void make_buffers(GLsizei count, GLuint* out) {
  for (GLsizei i = 0; i < count; ++i) {
    out[i] = ++pixel_buffers().made;
    pixel_buffers().all[out[i]] = {};
  }
}
void delete_buffers(GLsizei count, const GLuint* which) {
  for (GLsizei i = 0; i < count; ++i) {
    const auto found = pixel_buffers().all.find(which[i]);
    if (found == pixel_buffers().all.end()) continue;
    cudaFree(found->second.data, {"", 0});
    if (pixel_buffers().bound == which[i]) pixel_buffers().bound = 0;
    pixel_buffers().all.erase(found);
  }
}
void bind_buffer(GLenum target, GLuint buffer) {
  if (target != GL_PIXEL_UNPACK_BUFFER)
    return tessera_cuda::say_once("of OpenGL's buffers there are those of GL_PIXEL_UNPACK_BUFFER only");
  pixel_buffers().bound = buffer;
}
void fill_buffer(GLenum, GLsizeiptr bytes, const void* data, GLenum) {
  const auto found = pixel_buffers().all.find(pixel_buffers().bound);
  if (found == pixel_buffers().all.end()) return;
  PixelBuffer& buffer = found->second;
  cudaFree(buffer.data, {"", 0});
  buffer.bytes = static_cast<std::size_t>(bytes);
  tessera_cuda::allocate("pixel_buffer", &buffer.data, buffer.bytes, 1, tessera_cuda::Memory::device,
                         {"", 0});
  if (data != nullptr) cudaMemcpy(buffer.data, data, buffer.bytes, cudaMemcpyHostToDevice, {"", 0});
}

const double started = tessera_cuda::now();

int frames() {
  const char* const text = std::getenv("TESSERA_CUDA_FRAMES");
  return text == nullptr ? 3 : std::max(1, std::atoi(text));
}

// Writes the last row first, because OpenGL's first row is the lowest.
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
void glutInitWindowSize(int width, int height) {
  window().wide = width;
  window().high = height;
}
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

int glutGet(GLenum what) {
  if (what == GLUT_SCREEN_WIDTH) return 1920;
  if (what == GLUT_SCREEN_HEIGHT) return 1080;
  if (what == GLUT_WINDOW_WIDTH) return window().wide;
  if (what == GLUT_WINDOW_HEIGHT) return window().high;
  if (what == GLUT_ELAPSED_TIME) return static_cast<int>(1000 * (tessera_cuda::now() - started));
  return 0;
}

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
  struct Format {
    GLenum name;
    std::size_t channels, of_colour[3];
  };
  constexpr Format formats[] = {{GL_RGB, 3, {0, 1, 2}},       {GL_RGBA, 4, {0, 1, 2}},
                                {GL_BGR, 3, {2, 1, 0}},       {GL_BGRA, 4, {2, 1, 0}},
                                {GL_LUMINANCE, 1, {0, 0, 0}}, {GL_RED, 1, {0, 0, 0}}};
  const auto* const of = std::ranges::find(formats, format, &Format::name);
  const bool floats = type == GL_FLOAT;
  if (of == std::end(formats) || !(floats || type == GL_UNSIGNED_BYTE) || width < 1 || height < 1) {
    tessera_cuda::say_once(
        "glDrawPixels draws bytes and floats of GL_RGB, GL_RGBA, GL_BGR, GL_BGRA, GL_RED and GL_LUMINANCE");
    std::exit(1);
  }
  const std::size_t texels = static_cast<std::size_t>(width) * static_cast<std::size_t>(height);
  const std::size_t values = texels * of->channels;
  std::vector<unsigned char> of_buffer(values * (floats ? sizeof(float) : 1));
  if (const auto bound = pixel_buffers().all.find(pixel_buffers().bound);
      bound != pixel_buffers().all.end()) {  // `pixels`: the first byte in the buffer
    const char* const from =
        static_cast<const char*>(bound->second.data) + reinterpret_cast<std::size_t>(pixels);
    cudaMemcpy(of_buffer.data(), from, of_buffer.size(), cudaMemcpyDeviceToHost, {"", 0});
  } else if (pixels != nullptr) {
    std::memcpy(of_buffer.data(), pixels, of_buffer.size());
  }
  const auto byte_of = [&](std::size_t at) {
    if (!floats) return of_buffer[at];
    float value = 0;
    std::memcpy(&value, &of_buffer[at * sizeof value], sizeof value);
    return static_cast<unsigned char>(value > 0 ? std::lround(255 * std::min(value, 1.0f)) : 0);
  };
  Window& w = window();
  w.width = width;
  w.height = height;
  w.pixels.resize(3 * texels);
  for (std::size_t i = 0; i < 3 * texels; ++i)
    w.pixels[i] = byte_of(i / 3 * of->channels + of->of_colour[i % 3]);
}

void (*glXGetProcAddress(const GLubyte* name))() {
  const std::pair<const char*, void (*)()> functions[] = {
      {"glGenBuffers", reinterpret_cast<void (*)()>(make_buffers)},
      {"glDeleteBuffers", reinterpret_cast<void (*)()>(delete_buffers)},
      {"glBindBuffer", reinterpret_cast<void (*)()>(bind_buffer)},
      {"glBufferData", reinterpret_cast<void (*)()>(fill_buffer)}};
  for (const auto& [known, function] : functions)
    if (std::strcmp(known, reinterpret_cast<const char*>(name)) == 0) return function;
  tessera_cuda::say_once(std::string(reinterpret_cast<const char*>(name)) + " of OpenGL is not supported");
  return nullptr;
}

struct cudaGraphicsResource {
  GLuint buffer;
};

cudaError_t cudaGraphicsGLRegisterBuffer(cudaGraphicsResource** resource, GLuint buffer, unsigned int) {
  if (resource == nullptr || !pixel_buffers().all.contains(buffer))
    return tessera_cuda::Runtime::get().fail(cudaErrorInvalidValue);
  *resource = new cudaGraphicsResource{buffer};
  return cudaSuccess;
}
cudaError_t cudaGraphicsUnregisterResource(cudaGraphicsResource_t resource) {
  delete resource;
  return cudaSuccess;
}
cudaError_t cudaGraphicsMapResources(int, cudaGraphicsResource_t*, cudaStream_t) { return cudaSuccess; }
cudaError_t cudaGraphicsUnmapResources(int, cudaGraphicsResource_t*, cudaStream_t) { return cudaSuccess; }
cudaError_t cudaGraphicsResourceGetMappedPointer(void** pointer, size_t* bytes,
                                                 cudaGraphicsResource_t resource) {
  const auto found =
      resource == nullptr ? pixel_buffers().all.end() : pixel_buffers().all.find(resource->buffer);
  if (pointer == nullptr || found == pixel_buffers().all.end())
    return tessera_cuda::Runtime::get().fail(cudaErrorInvalidValue);
  *pointer = found->second.data;
  if (bytes != nullptr) *bytes = found->second.bytes;
  return cudaSuccess;
}
