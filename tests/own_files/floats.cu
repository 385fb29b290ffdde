// SPDX-License-Identifier: Apache-2.0
// A picture of floats, as wide as the window.
#include <GL/glut.h>

const float pixels[] = {1, 0, -1, 0.5f, 2, 0};

void draw() {
  glViewport(0, 0, glutGet(GLUT_WINDOW_WIDTH), glutGet(GLUT_WINDOW_HEIGHT));
  glDrawPixels(glutGet(GLUT_WINDOW_WIDTH), 1, GL_RGB, TYPE, pixels);
}

int main(int argc, char** argv) {
  glutInit(&argc, argv);
  glutInitWindowSize(2, 1);
  const int window = glutCreateWindow("floats");
  glutDisplayFunc(draw);
  if (glutGet(GLUT_SCREEN_WIDTH) < 640) glutDestroyWindow(window);
  glutMainLoop();
}
