/* SPDX-License-Identifier: Apache-2.0
 * A client of the C interface, in C99: a product, its repetition, an integral of a callable, and mistakes.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include TESSERA_HEADER

static int failures = 0;
#define EXPECT(condition)                                                      \
  do {                                                                         \
    if (!(condition)) {                                                        \
      ++failures;                                                              \
      printf("line %d: %s: %s\n", __LINE__, #condition, tessera_last_error()); \
    }                                                                          \
  } while (0)

static DLTensor matrix(float* data, int64_t* shape) {
  DLTensor out;
  memset(&out, 0, sizeof out);
  out.data = data;
  out.device.device_type = kDLCPU;
  out.ndim = 2;
  out.dtype.code = kDLFloat;
  out.dtype.bits = 32;
  out.dtype.lanes = 1;
  out.shape = shape;
  return out;
}

static int32_t square(void* context, int64_t count, int32_t dimensions, const double* points,
                      double* values) {
  for (int64_t i = 0; i < count; ++i) values[i] = points[i] * points[i];
  *(int64_t*)context += count;
  return dimensions == 1 ? 0 : 1;
}

static int32_t stop(void* context, int64_t count, int32_t dimensions, const double* points, double* values) {
  (void)context, (void)count, (void)dimensions, (void)points, (void)values;
  return 1;
}

static void product(void) {
  float a[6] = {1, 2, 3, 4, 5, 6}, b[3] = {1, 0, 2}, c[2] = {0, 0}, again[2] = {0, 0};
  int64_t a_shape[2] = {2, 3}, b_shape[2] = {3, 1}, c_shape[2] = {2, 1};
  DLTensor a_tensor = matrix(a, a_shape), b_tensor = matrix(b, b_shape), c_tensor = matrix(c, c_shape);
  void* addresses[8] = {a, b, NULL, NULL, NULL, NULL, again};
  tessera_outcome outcome;
  tessera_call* call = tessera_call_create("matmul");
  memset(&outcome, 0, sizeof outcome);
  outcome.struct_size = sizeof outcome;
  EXPECT(call != NULL);
  EXPECT(tessera_call_set_array(call, "A", &a_tensor) == TESSERA_OK);
  EXPECT(tessera_call_set_array(call, "B", &b_tensor) == TESSERA_OK);
  EXPECT(tessera_call_set_array(call, "C", &c_tensor) == TESSERA_OK);
  EXPECT(tessera_call_set_request(call, "check", "yes") == TESSERA_OK);
  EXPECT(tessera_call_run(call, NULL, &outcome) == TESSERA_OK);
  EXPECT(c[0] == 7 && c[1] == 16);
  EXPECT(outcome.checked == 1 && strcmp(outcome.device, "cpu") == 0 && outcome.variant[0] != 0);
  EXPECT(tessera_call_run_again(call, NULL, addresses, 7) == TESSERA_OK);
  EXPECT(again[0] == 7 && again[1] == 16);
  EXPECT(tessera_call_run_again(call, NULL, addresses, 6) == TESSERA_USER);
  addresses[6] = a; /* C would overwrite A */
  EXPECT(tessera_call_run_again(call, NULL, addresses, 7) == TESSERA_USER);
  EXPECT(strstr(tessera_last_error(), "overlaps A") != NULL);
  EXPECT(strstr(tessera_call_explain(call), "\"bound\":") != NULL);
  /* Without C, the result belongs to the handle. */
  EXPECT(tessera_call_set_array(call, "C", NULL) == TESSERA_OK);
  EXPECT(tessera_call_plan(call) == TESSERA_OK);
  EXPECT(tessera_call_array(call, "C")->shape[0] == 2 && tessera_call_array(call, "C")->data == NULL);
  EXPECT(tessera_call_run(call, NULL, NULL) == TESSERA_OK);
  EXPECT(((const float*)tessera_call_array(call, "C")->data)[1] == 16);
  EXPECT(strstr(tessera_call_outcome(call), "\"passed\":true") != NULL);
  b_shape[0] = 2;
  EXPECT(tessera_call_set_array(call, "B", &b_tensor) == TESSERA_OK);
  EXPECT(tessera_call_run(call, NULL, NULL) == TESSERA_USER);
  EXPECT(strcmp(tessera_last_error(), "B has k = 2, but A has 3") == 0);
  tessera_call_destroy(call);
}

static void integral(void) {
  int64_t points = 0;
  tessera_call* call = tessera_call_create("integrate");
  EXPECT(tessera_call_set_option(call, "LIMITS", "0 3") == TESSERA_OK);
  EXPECT(tessera_call_set_callable(call, square, &points) == TESSERA_OK);
  EXPECT(tessera_call_run(call, NULL, NULL) == TESSERA_OK);
  EXPECT(fabs(*(const double*)tessera_call_array(call, "integral")->data - 9) < 1e-12 && points > 10);
  EXPECT(strstr(tessera_call_outcome(call), "\"reason\":\"converged\"") != NULL);
  EXPECT(tessera_call_set_callable(call, stop, NULL) == TESSERA_OK);
  EXPECT(tessera_call_run(call, NULL, NULL) == TESSERA_STOPPED);
  tessera_call_destroy(call);
}

static void nulls(void) {
  int64_t shape[2] = {1, 1};
  float one = 1;
  DLTensor tensor = matrix(&one, shape);
  tessera_call* call = tessera_call_create("matmul");
  EXPECT(tessera_call_create(NULL) == NULL && strcmp(tessera_last_error(), "a name is NULL") == 0);
  EXPECT(tessera_call_set_array(NULL, "A", &tensor) == TESSERA_USER);
  EXPECT(strcmp(tessera_last_error(), "the call is NULL") == 0);
  EXPECT(tessera_call_run(NULL, NULL, NULL) == TESSERA_USER && tessera_call_plan(NULL) == TESSERA_USER);
  EXPECT(tessera_call_array(NULL, "A") == NULL && tessera_call_outcome(NULL) == NULL);
  EXPECT(tessera_call_set_array(call, NULL, &tensor) == TESSERA_USER);
  EXPECT(tessera_call_set_option(call, NULL, "1") == TESSERA_USER);
  EXPECT(tessera_call_set_request(call, NULL, "1") == TESSERA_USER);
  EXPECT(tessera_call_array(call, NULL) == NULL && tessera_load(NULL) == TESSERA_USER);
  EXPECT(tessera_call_set_array(call, "A", &tensor) == TESSERA_OK);
  EXPECT(tessera_call_set_array(call, "B", &tensor) == TESSERA_OK && tessera_call_plan(call) == TESSERA_OK);
  EXPECT(tessera_call_run_again(call, NULL, NULL, 7) == TESSERA_USER);
  tensor.ndim = -1;
  EXPECT(tessera_call_set_array(call, "A", &tensor) == TESSERA_USER);
  tensor.ndim = 2;
  tensor.shape = NULL;
  EXPECT(tessera_call_set_array(call, "A", &tensor) == TESSERA_USER);
  tessera_call_destroy(call);
  tessera_call_destroy(NULL);
}

int main(void) {
  EXPECT(tessera_interface_version() >> 16 == TESSERA_C_MAJOR);
  EXPECT(strstr(tessera_operations(), "\"matmul\"") != NULL);
  EXPECT(tessera_call_create("matmil") == NULL && strstr(tessera_last_error(), "matmul") != NULL);
  product();
  integral();
  nulls();
  puts(failures == 0 ? "right" : "wrong");
  return failures != 0;
}
