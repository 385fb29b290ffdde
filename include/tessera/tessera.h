/* SPDX-License-Identifier: Apache-2.0
 *
 * The C interface of Tessera, for programs in any language; library libtessera_c.so.1.
 *
 *   tessera_call* call = tessera_call_create("matmul");
 *   tessera_call_set_array(call, "A", &a);        DLTensor: host or device memory, with strides
 *   tessera_call_set_array(call, "B", &b);
 *   tessera_call_set_array(call, "C", &c);
 *   if (tessera_call_run(call, NULL, NULL) != TESSERA_OK) puts(tessera_last_error());
 *   tessera_call_destroy(call);
 *
 * Failure: functions that return tessera_status return something other than TESSERA_OK, those that return a
 * pointer return NULL. tessera_last_error() then has the message. No exception leaves the library. A call or
 * a name that is NULL is a failure, too.
 *
 * Threads: calls may be made from any thread, on different handles at the same time. One planned handle may
 * run tessera_call_run_again in several threads at once; other functions on one handle must not overlap.
 *
 * fork: a child process may use the library and the handles of its parent, unless a GPU was used before.
 *
 * Versions: within one major version, functions and constants are added, never changed or removed, and
 * structs grow at their end. struct_size says how much of a struct the caller knows. A program therefore runs
 * with every later library of the same major version, which is the number in the library's file name.
 */
#ifndef TESSERA_TESSERA_H_
#define TESSERA_TESSERA_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TESSERA_C_MAJOR 1
#define TESSERA_C_MINOR 1

/* DLPack's arrays. A program that uses dlpack.h includes it first. */
#ifndef DLPACK_DLPACK_H_
#define DLPACK_DLPACK_H_
typedef enum { kDLCPU = 1, kDLCUDA = 2, kDLCUDAHost = 3, kDLCUDAManaged = 13 } DLDeviceType;
typedef struct {
  int32_t device_type; /* DLDeviceType */
  int32_t device_id;
} DLDevice;
typedef enum {
  kDLInt = 0,
  kDLUInt = 1,
  kDLFloat = 2,
  kDLBfloat = 4,
  kDLFloat8_e4m3fn = 10,
  kDLFloat8_e5m2 = 12
} DLDataTypeCode;
typedef struct {
  uint8_t code; /* DLDataTypeCode */
  uint8_t bits;
  uint16_t lanes;
} DLDataType;
typedef struct {
  void* data;
  DLDevice device;
  int32_t ndim;
  DLDataType dtype;
  int64_t* shape;
  int64_t* strides; /* in elements; NULL: row-major */
  uint64_t byte_offset;
} DLTensor;
#endif

typedef enum {
  TESSERA_OK = 0,
  TESSERA_USER = 1,      /* a name, a value, a shape, a type: the caller can correct it */
  TESSERA_NO_DEVICE = 2, /* a device was requested and none is usable */
  TESSERA_MEMORY = 3,    /* a race, a bad access, a divergent barrier in a kernel */
  TESSERA_INTERNAL = 4,  /* a defect of the library, or no memory */
  TESSERA_STOPPED = 5    /* a callback has returned other than 0 */
} tessera_status;

/* A call of one operation: arrays, options, and after tessera_call_plan a plan. */
typedef struct tessera_call tessera_call;

typedef struct {
  size_t struct_size;    /* in: sizeof(tessera_outcome) */
  const char* variant;   /* the rung that ran, such as "simd"; valid until the handle's next call */
  const char* device;    /* "cpu", "cuda:0"; likewise */
  double kernel_seconds; /* on the device; 0: not measured, as for work that is only enqueued */
  double total_seconds;  /* including copies to the device and back */
  int32_t checked;       /* -1: not checked, 0: wrong, 1: right */
  int32_t reserved;
} tessera_outcome;

/* Computes values[i] at count points; point i has the coordinates points[d * count + i]. Returns 0, or
 * another number to end the run. Called by the thread that runs the call. */
typedef int32_t (*tessera_callable)(void* context, int64_t count, int32_t dimensions, const double* points,
                                    double* values);
/* Called every tenth of a second by the thread that runs the call, while the work goes on in another thread.
 * Returns 0, or another number to leave the run: tessera_call_run then returns TESSERA_STOPPED at once, the
 * arrays must stay until tessera_call_destroy returns, which waits for the work's end. Not called for a call
 * with a callable, which can end the run itself, nor for one in a GPU's memory, which is only enqueued. */
typedef int32_t (*tessera_progress)(void* context, double seconds);

/* The interface's version: major * 65536 + minor. */
uint32_t tessera_interface_version(void);
/* The library's version, such as "0.2.0". */
const char* tessera_version(void);
/* The message of the calling thread's last failure; "" if there was none. */
const char* tessera_last_error(void);

/* Every operation as JSON: name, summary, elements, output, and parameters, each with name, kind, help,
 * and as it applies: default, options, extents, minimum, maximum, optional, positional, picture. Valid until
 * the next tessera_load. */
const char* tessera_operations(void);
/* The devices that calls may use, as JSON. Begins to use GPUs. */
const char* tessera_devices(void);
/* Loads a plug-in with further rungs or operations. No call may exist or run. */
tessera_status tessera_load(const char* file);
/* Waits for the work in a stream of a device. */
tessera_status tessera_synchronize(DLDevice device, void* stream);

tessera_call* tessera_call_create(const char* operation);
void tessera_call_destroy(tessera_call* call); /* call may be NULL */

/* Names an array by the signature. The tensor is copied, its elements are not. NULL, or data NULL: absent; an
 * absent output is allocated by each run and owned by the handle. */
tessera_status tessera_call_set_array(tessera_call* call, const char* name, const DLTensor* tensor);
/* An option of the operation, spelled as on the command line without --. NULL: the default. */
tessera_status tessera_call_set_option(tessera_call* call, const char* name, const char* value);
/* The way to run it: "device", "variant", "tuning" ("NAME=N,..."), "cached" or "check" ("yes", "no"); for
 * tessera_check "arithmetic", how the result was computed. */
tessera_status tessera_call_set_request(tessera_call* call, const char* name, const char* value);
/* For integrals: the integrand instead of a formula. LIMITS names a range for each dimension. */
tessera_status tessera_call_set_callable(tessera_call* call, tessera_callable callable, void* context);
tessera_status tessera_call_set_progress(tessera_call* call, tessera_progress progress, void* context);

/* Checks arrays and options and chooses a rung. tessera_call_run does so where it is necessary. */
tessera_status tessera_call_plan(tessera_call* call);
/* Shape and type of an array of a planned call; data as set, or allocated by the last run. Valid until the
 * handle's next call. */
const DLTensor* tessera_call_array(tessera_call* call, const char* name);
/* stream: a cudaStream_t for arrays in a GPU's memory, where the work is only enqueued; else NULL. outcome
 * may be NULL. */
tessera_status tessera_call_run(tessera_call* call, void* stream, tessera_outcome* outcome);
/* The planned call at other addresses, one for each array in the order of the signature, NULL for an absent
 * one. Outputs must have memory, in the planned kind; GPU addresses must be aligned as the planned ones. */
tessera_status tessera_call_run_again(tessera_call* call, void* stream, void* const* addresses, size_t count);
/* The last run as JSON: values, arguments, variant, tuning, device, seconds, check. Numbers that are not
 * finite are null. */
const char* tessera_call_outcome(tessera_call* call);
/* The choice for a planned call as JSON: the rung, each rung with the reason why it was not taken, and, for
 * arrays in host memory, "bound", the largest error that rounding may cause in the first row. */
const char* tessera_call_explain(tessera_call* call);
/* Checks the output of a product, whoever computed it, without running: JSON with right, arithmetic, cause,
 * text, wrong, first, error_over_bound and sees. The arrays, the output too, lie in host memory or in one
 * GPU's, whose default stream does the work: work in non-blocking streams that makes them must be over. */
const char* tessera_check(tessera_call* call);

#ifdef __cplusplus
}
#endif
#endif
