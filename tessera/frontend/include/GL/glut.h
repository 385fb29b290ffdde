// SPDX-License-Identifier: Apache-2.0
// The part of OpenGL and GLUT that a program needs to show one picture. There is no window: when the program
// enters glutMainLoop, its idle function runs a few times (TESSERA_CUDA_FRAMES, else 3), the picture that it
// then draws is written to TITLE.ppm, and the Escape key is pressed.
#pragma once
#include <stddef.h>
#include <stdlib.h>

typedef unsigned int GLenum, GLuint, GLbitfield;
typedef int GLint, GLsizei;
typedef float GLfloat, GLclampf;
typedef double GLdouble;
typedef unsigned char GLubyte, GLboolean;
typedef void GLvoid;

typedef ptrdiff_t GLsizeiptr, GLsizeiptrARB;

#define GL_FALSE 0
#define GL_TRUE 1
#define GL_UNSIGNED_BYTE 0x1401
#define GL_FLOAT 0x1406
#define GL_RGB 0x1907
#define GL_RGBA 0x1908
#define GL_RED 0x1903
#define GL_LUMINANCE 0x1909
#define GL_BGR 0x80E0
#define GL_BGRA 0x80E1
#define GL_MODELVIEW 0x1700
#define GL_PROJECTION 0x1701
#define GL_PIXEL_UNPACK_BUFFER 0x88EC
#define GL_PIXEL_UNPACK_BUFFER_ARB 0x88EC
#define GL_DYNAMIC_DRAW 0x88E8
#define GL_DYNAMIC_DRAW_ARB 0x88E8
#define GL_COLOR_BUFFER_BIT 0x4000
#define GL_DEPTH_BUFFER_BIT 0x0100
#define GLUT_RGB 0
#define GLUT_RGBA 0
#define GLUT_SINGLE 0
#define GLUT_DOUBLE 2
#define GLUT_DEPTH 16
#define GLUT_LEFT_BUTTON 0
#define GLUT_MIDDLE_BUTTON 1
#define GLUT_RIGHT_BUTTON 2
#define GLUT_WINDOW_WIDTH 102
#define GLUT_WINDOW_HEIGHT 103
#define GLUT_SCREEN_WIDTH 200
#define GLUT_SCREEN_HEIGHT 201
#define GLUT_ELAPSED_TIME 700
#define GLUT_DOWN 0
#define GLUT_UP 1

extern "C" {
void glutInit(int* argc, char** argv);
void glutInitDisplayMode(unsigned int mode);
void glutInitWindowSize(int width, int height);
void glutInitWindowPosition(int x, int y);
int glutCreateWindow(const char* title);
void glutKeyboardFunc(void (*function)(unsigned char key, int x, int y));
void glutDisplayFunc(void (*function)());
void glutIdleFunc(void (*function)());
void glutMouseFunc(void (*function)(int button, int state, int x, int y));
void glutMotionFunc(void (*function)(int x, int y));
void glutReshapeFunc(void (*function)(int width, int height));
void glutPostRedisplay();
void glutSwapBuffers();
int glutGet(GLenum what);
void glutMainLoop();  // never returns

// Buffers of pixels, which kernels write by cuda_gl_interop.h: by the addresses of their functions alone.
typedef void (*PFNGLGENBUFFERSPROC)(GLsizei count, GLuint* buffers);
typedef void (*PFNGLDELETEBUFFERSPROC)(GLsizei count, const GLuint* buffers);
typedef void (*PFNGLBINDBUFFERPROC)(GLenum target, GLuint buffer);
typedef void (*PFNGLBUFFERDATAPROC)(GLenum target, GLsizeiptr bytes, const void* data, GLenum usage);
typedef PFNGLGENBUFFERSPROC PFNGLGENBUFFERSARBPROC;
typedef PFNGLDELETEBUFFERSPROC PFNGLDELETEBUFFERSARBPROC;
typedef PFNGLBINDBUFFERPROC PFNGLBINDBUFFERARBPROC;
typedef PFNGLBUFFERDATAPROC PFNGLBUFFERDATAARBPROC;
void (*glXGetProcAddress(const GLubyte* name))();

void glClearColor(GLclampf red, GLclampf green, GLclampf blue, GLclampf alpha);
void glClear(GLbitfield mask);
void glFlush();
void glDrawPixels(GLsizei width, GLsizei height, GLenum format, GLenum type, const GLvoid* pixels);
}

// A picture fills its window, so that these change nothing.
inline void glutDestroyWindow(int) {}
inline void glutSpecialFunc(void (*)(int, int, int)) {}
inline void glFinish() {}
inline void glViewport(GLint, GLint, GLsizei, GLsizei) {}
inline void glMatrixMode(GLenum) {}
inline void glLoadIdentity() {}
inline void glOrtho(GLdouble, GLdouble, GLdouble, GLdouble, GLdouble, GLdouble) {}
inline void gluOrtho2D(GLdouble, GLdouble, GLdouble, GLdouble) {}
inline void glRasterPos2i(GLint, GLint) {}
