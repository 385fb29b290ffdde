// SPDX-License-Identifier: Apache-2.0
// The extension module tessera._tessera: takes arrays, calls libtessera_c and gives results back. All that a
// person reads is in tessera/*.py. It keeps to Python's limited API of 3.11, so one file serves every later
// version.
#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030B0000
#include <Python.h>
#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <string>
#include <thread>
#include <utility>
#include <vector>
#include "tessera/tessera.h"

namespace {

// --- Python objects and errors ---

// An owned reference; null: an exception is set, or there is nothing.
class Ref {
 public:
  Ref() = default;
  explicit Ref(PyObject* object) : object_(object) {}
  Ref(Ref&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  Ref& operator=(Ref&& other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~Ref() { Py_XDECREF(object_); }
  static Ref to(PyObject* borrowed) {
    Py_XINCREF(borrowed);
    return Ref(borrowed);
  }
  PyObject* get() const { return object_; }
  PyObject* release() { return std::exchange(object_, nullptr); }
  explicit operator bool() const { return object_ != nullptr; }

 private:
  PyObject* object_ = nullptr;
};

PyObject* none() { return Ref::to(Py_None).release(); }

// Returns None, or sets the exception for a failure of the library. A callback that ended a run has set its
// own.
PyObject* done(tessera_status status) {
  if (status == TESSERA_OK) return none();
  if (PyErr_Occurred() != nullptr) return nullptr;
  PyErr_SetString(status == TESSERA_USER ? PyExc_ValueError : PyExc_RuntimeError, tessera_last_error());
  return nullptr;
}

// C++ exceptions, which are only those of memory, become Python's.
template <class F>
PyObject* guarded(const F& f) {
  try {
    return f();
  } catch (const std::bad_alloc&) {
    return PyErr_NoMemory();
  }
}

template <PyObject* (*function)(PyObject*, PyObject*)>
PyObject* guarded(PyObject* self, PyObject* args) {
  return guarded([&] { return function(self, args); });
}

class WithoutLock {
 public:
  explicit WithoutLock(bool release) : state_(release ? PyEval_SaveThread() : nullptr) {}
  ~WithoutLock() {
    if (state_ != nullptr) PyEval_RestoreThread(state_);
  }

 private:
  PyThreadState* state_;
};

class WithLock {
 public:
  WithLock() : state_(PyGILState_Ensure()) {}
  ~WithLock() { PyGILState_Release(state_); }

 private:
  PyGILState_STATE state_;
};

// A Python object that owns a C++ one.
template <class State>
struct Object {
  PyObject_HEAD State* state;
};

template <class State>
State& state_of(PyObject* object) {
  return *reinterpret_cast<Object<State>*>(object)->state;
}

template <class State>
PyObject* object_of(PyTypeObject* type, std::unique_ptr<State> state) {
  PyObject* const out = reinterpret_cast<allocfunc>(PyType_GetSlot(type, Py_tp_alloc))(type, 0);
  if (out != nullptr) reinterpret_cast<Object<State>*>(out)->state = state.release();
  return out;
}

template <class State>
void free_object(PyObject* self) {
  PyTypeObject* const type = Py_TYPE(self);
  delete reinterpret_cast<Object<State>*>(self)->state;
  reinterpret_cast<freefunc>(PyType_GetSlot(type, Py_tp_free))(self);
  Py_DECREF(type);
}

// --- DLPack: the parts of its version 1.3 that tessera.h does not have ---

struct ManagedTensor {
  DLTensor tensor;
  void* context;
  void (*deleter)(ManagedTensor*);
};
struct VersionedTensor {
  std::uint32_t major, minor;  // DLPack's
  void* context;
  void (*deleter)(VersionedTensor*);
  std::uint64_t flags;  // 1: read-only
  DLTensor tensor;
};
struct ExchangeApi {
  std::uint32_t major, minor;  // DLPack's
  ExchangeApi* previous;
  void* allocate;
  int (*take)(void* object, VersionedTensor** out);
  void* give;
  int (*borrow)(void* object, DLTensor* out);  // may be null
  int (*stream)(std::int32_t device_type, std::int32_t device_id, void** out);
};

// Returns the C exchange interface of the object's type; null: it has none. Buffers do without one. The
// latest type that has one is remembered: looking it up takes longer than borrowing an array.
const ExchangeApi* exchange_api_of(PyObject* object) {
  static const ExchangeApi* latest = nullptr;
  static PyObject* latest_type = nullptr;  // kept
  auto* const type = reinterpret_cast<PyObject*>(Py_TYPE(object));
  if (type == latest_type) return latest;
  if (PyObject_CheckBuffer(object) != 0) return nullptr;
  const Ref capsule(PyObject_GetAttrString(type, "__dlpack_c_exchange_api__"));
  const ExchangeApi* api = nullptr;
  if (capsule)
    api = static_cast<const ExchangeApi*>(PyCapsule_GetPointer(capsule.get(), "dlpack_exchange_api"));
  PyErr_Clear();
  while (api != nullptr && api->major != 1) api = api->previous;
  if (api != nullptr) {
    Py_INCREF(type);
    Py_XDECREF(std::exchange(latest_type, type));
    latest = api;
  }
  return api;
}

// --- element types ---

struct ElementType {
  const char* name;
  DLDataType type;
  char format;  // in the buffer protocol; 0: none
};
constexpr ElementType element_types[] = {
    {"f64", {kDLFloat, 64, 1}, 'd'},    {"f32", {kDLFloat, 32, 1}, 'f'},
    {"f16", {kDLFloat, 16, 1}, 'e'},    {"bf16", {kDLBfloat, 16, 1}, 0},
    {"i32", {kDLInt, 32, 1}, 'i'},      {"i16", {kDLInt, 16, 1}, 'h'},
    {"i8", {kDLInt, 8, 1}, 'b'},        {"u16", {kDLUInt, 16, 1}, 'H'},
    {"u8", {kDLUInt, 8, 1}, 'B'},       {"e4m3", {kDLFloat8_e4m3fn, 8, 1}, 0},
    {"e5m2", {kDLFloat8_e5m2, 8, 1}, 0}};

bool same(const DLDataType& a, const DLDataType& b) {
  return a.code == b.code && a.bits == b.bits && a.lanes == b.lanes;
}

// Returns the type of a buffer's elements in this machine's byte order; null: another type.
const ElementType* type_of_format(const char* format, Py_ssize_t bytes) {
  if (format == nullptr) format = "B";
  if (*format == '@' || *format == '=' || *format == '<') ++format;
  char code = *format;
  if (code == 'l' && bytes == 4) code = 'i';
  if (format[0] == 0 || format[1] != 0) return nullptr;
  for (const ElementType& one : element_types)
    if (one.format == code) return &one;
  return nullptr;
}

// --- arrays ---

// An array that was taken, with what keeps its memory. Taking one allocates nothing.
struct Tensor {
  static constexpr int most_dimensions = 32;
  DLTensor dl{};
  std::array<std::int64_t, 2 * std::size_t{most_dimensions}> numbers;  // shape and strides without an owner
  Py_buffer buffer{};
  ManagedTensor* managed = nullptr;
  VersionedTensor* versioned = nullptr;
  Ref owner;
  bool readonly = false;

  Tensor() {}  // NOLINT: `numbers` stay uninitialised
  Tensor(const Tensor&) = delete;
  ~Tensor() {
    if (buffer.obj != nullptr) PyBuffer_Release(&buffer);
    if (managed != nullptr && managed->deleter != nullptr) managed->deleter(managed);
    if (versioned != nullptr && versioned->deleter != nullptr) versioned->deleter(versioned);
  }

  bool set(const DLTensor& from) {
    dl = from;
    dl.data = static_cast<char*>(dl.data) + dl.byte_offset;
    dl.byte_offset = 0;
    if (dl.ndim > most_dimensions)
      return PyErr_Format(PyExc_ValueError, "an array of %d dimensions is not taken", dl.ndim) != nullptr;
    if (dl.strides != nullptr || dl.ndim == 0) return true;
    dl.strides = numbers.data();
    std::int64_t stride = 1;
    for (int d = dl.ndim - 1; d >= 0; stride *= dl.shape[d--]) dl.strides[d] = stride;
    return true;
  }
  // Keeps shape and strides here.
  void copy_layout(const DLTensor& from) {
    dl = from;
    dl.shape = numbers.data();
    dl.strides = std::copy_n(from.shape, from.ndim, dl.shape);
    std::copy_n(from.strides, from.ndim, dl.strides);
  }
  bool set(VersionedTensor* from) {
    versioned = from;
    readonly = (from->flags & 1) != 0;
    return set(from->tensor);
  }
  bool set_buffer() {
    const ElementType* const type = type_of_format(buffer.format, buffer.itemsize);
    bool whole = true;
    for (int d = 0; d < buffer.ndim && d < most_dimensions && buffer.strides != nullptr; ++d) {
      whole = whole && buffer.strides[d] % buffer.itemsize == 0;
      numbers[static_cast<std::size_t>(d)] = buffer.strides[d] / buffer.itemsize;
    }
    if (type == nullptr)
      PyErr_Format(PyExc_TypeError, "elements of the buffer format '%s' are not taken", buffer.format);
    else if (!whole) PyErr_SetString(PyExc_ValueError, "the strides are no multiples of the elements' size");
    if (type == nullptr || !whole) return false;
    readonly = buffer.readonly != 0;
    static_assert(sizeof(Py_ssize_t) == sizeof(std::int64_t));
    auto* const shape = reinterpret_cast<std::int64_t*>(buffer.shape);
    const DLDevice host{kDLCPU, 0};
    // Some exporters, such as ctypes, give no strides.
    return set({buffer.buf, host, buffer.ndim, type->type, shape,
                buffer.strides == nullptr ? nullptr : numbers.data(), 0});
  }
  // By the exchange interface or the buffer protocol. The object must stay alive. False without an
  // exception: the object has neither.
  bool take(PyObject* object) {
    if (const ExchangeApi* const api = exchange_api_of(object)) {
      static PyObject* const name = PyUnicode_InternFromString("requires_grad");
      const Ref gradient(PyObject_GetAttr(object, name));
      PyErr_Clear();
      if (gradient.get() == Py_True)
        return PyErr_Format(PyExc_ValueError, "it requires gradients: see tessera.torch, or detach()") !=
               nullptr;
      DLTensor borrowed{};
      if (api->borrow != nullptr) return api->borrow(object, &borrowed) == 0 && set(borrowed);
      VersionedTensor* taken = nullptr;
      return api->take(object, &taken) == 0 && set(taken);
    }
    if (PyObject_CheckBuffer(object) == 0) return false;
    if (PyObject_GetBuffer(object, &buffer, PyBUF_RECORDS_RO) == 0) return set_buffer();
    PyErr_Clear();  // an element type without a format, such as bfloat16
    return false;
  }
};

PyTypeObject* view_type = nullptr;

const Tensor& tensor_of(PyObject* view) { return state_of<Tensor>(view); }

Ref tuple_of(const std::int64_t* numbers, int count) {
  Ref out(PyTuple_New(count));
  for (int i = 0; out && i < count; ++i) {
    PyObject* const number = PyLong_FromLongLong(numbers[i]);
    if (number == nullptr || PyTuple_SetItem(out.get(), i, number) != 0) return {};
  }
  return out;
}

PyObject* get_shape(PyObject* self, void*) {
  return tuple_of(tensor_of(self).dl.shape, tensor_of(self).dl.ndim).release();
}
PyObject* get_strides(PyObject* self, void*) {
  return tuple_of(tensor_of(self).dl.strides, tensor_of(self).dl.ndim).release();
}
PyObject* get_address(PyObject* self, void*) { return PyLong_FromVoidPtr(tensor_of(self).dl.data); }
PyObject* get_readonly(PyObject* self, void*) { return PyBool_FromLong(tensor_of(self).readonly); }
PyObject* get_device(PyObject* self, void*) {
  const DLDevice& device = tensor_of(self).dl.device;
  return Py_BuildValue("(ii)", device.device_type, device.device_id);
}
PyObject* get_type(PyObject* self, void*) {
  const DLDataType& type = tensor_of(self).dl.dtype;
  for (const ElementType& one : element_types)
    if (same(one.type, type)) return PyUnicode_FromString(one.name);
  return PyUnicode_FromFormat("type %d of %d bits", type.code, type.bits);
}

// view(object): a View by the exchange interface or the buffer protocol; None: the object has neither.
PyObject* view(PyObject*, PyObject* object) {
  auto tensor = std::make_unique<Tensor>();
  tensor->owner = Ref::to(object);
  if (tensor->take(object)) return object_of(view_type, std::move(tensor));
  return PyErr_Occurred() != nullptr ? nullptr : none();
}

// view_of_capsule(capsule): a View of what __dlpack__ has returned.
PyObject* view_of_capsule(PyObject*, PyObject* capsule) {
  auto tensor = std::make_unique<Tensor>();
  if (PyCapsule_IsValid(capsule, "dltensor_versioned") != 0) {
    auto* const from = static_cast<VersionedTensor*>(PyCapsule_GetPointer(capsule, "dltensor_versioned"));
    if (from->major != 1)
      return PyErr_Format(PyExc_BufferError, "DLPack of version %u is not known", from->major);
    if (PyCapsule_SetName(capsule, "used_dltensor_versioned") != 0) return nullptr;
    if (!tensor->set(from)) return nullptr;
  } else {
    auto* const from = static_cast<ManagedTensor*>(PyCapsule_GetPointer(capsule, "dltensor"));
    if (from == nullptr || PyCapsule_SetName(capsule, "used_dltensor") != 0) return nullptr;
    tensor->managed = from;
    if (!tensor->set(from->tensor)) return nullptr;
  }
  return object_of(view_type, std::move(tensor));
}

bool numbers_of(PyObject* tuple, std::int64_t* out) {
  for (Py_ssize_t i = 0; i < PyTuple_Size(tuple); ++i) out[i] = PyLong_AsLongLong(PyTuple_GetItem(tuple, i));
  return PyErr_Occurred() == nullptr;
}

// view_of_parts(address, shape, strides in elements, type, device type, device, readonly, owner)
PyObject* view_of_parts(PyObject*, PyObject* args) {
  unsigned long long address = 0;
  PyObject *shape = nullptr, *strides = nullptr, *owner = nullptr;
  const char* name = nullptr;
  int device_type = 0, device = 0, readonly = 0;
  if (PyArg_ParseTuple(args, "KO!O!siipO", &address, &PyTuple_Type, &shape, &PyTuple_Type, &strides, &name,
                       &device_type, &device, &readonly, &owner) == 0)
    return nullptr;
  auto tensor = std::make_unique<Tensor>();
  const ElementType* type = nullptr;
  for (const ElementType& one : element_types)
    if (std::strcmp(one.name, name) == 0) type = &one;
  const auto dimensions = static_cast<int>(PyTuple_Size(shape));
  if (type == nullptr || PyTuple_Size(strides) != dimensions || dimensions > Tensor::most_dimensions)
    return PyErr_Format(PyExc_ValueError, "no array of %d dimensions of '%s'", dimensions, name);
  std::int64_t *const sizes = tensor->numbers.data(), *const steps = sizes + dimensions;
  if (!numbers_of(shape, sizes) || !numbers_of(strides, steps)) return nullptr;
  const DLDevice where{static_cast<DLDeviceType>(device_type), device};
  tensor->dl = {reinterpret_cast<void*>(address), where, dimensions, type->type, sizes, steps, 0};
  tensor->readonly = readonly != 0;
  tensor->owner = Ref::to(owner);
  return object_of(view_type, std::move(tensor));
}

// --- calls ---

struct CallState {
  tessera_call* handle = nullptr;
  std::vector<std::pair<std::string, Ref>> views;  // keep the arrays that the handle has
  Ref callable;
  bool left = false;

  CallState() = default;
  CallState(const CallState&) = delete;
  ~CallState() { tessera_call_destroy(handle); }
};

std::atomic<int> runs_left{0};  // interrupted, and still computing

void free_call(PyObject* self) {
  CallState*& state = reinterpret_cast<Object<CallState>*>(self)->state;
  if (state->left) {
    ++runs_left;
    std::thread([left = std::exchange(state, nullptr)] {
      tessera_call_destroy(std::exchange(left->handle, nullptr));  // waits for the run
      {
        const WithLock lock;
        delete left;
      }
      --runs_left;
    }).detach();
  }
  free_object<CallState>(self);
}

PyObject* new_call(PyTypeObject* type, PyObject* args, PyObject*) {
  const char* name = nullptr;
  if (PyArg_ParseTuple(args, "s", &name) == 0) return nullptr;
  return guarded([&]() -> PyObject* {
    auto state = std::make_unique<CallState>();
    state->handle = tessera_call_create(name);
    return state->handle == nullptr ? done(TESSERA_USER) : object_of(type, std::move(state));
  });
}

// set(name, view or None)
PyObject* call_set(PyObject* self, PyObject* args) {
  const char* name = nullptr;
  PyObject* given = nullptr;
  if (PyArg_ParseTuple(args, "sO", &name, &given) == 0) return nullptr;
  if (given != Py_None && !Py_IS_TYPE(given, view_type))
    return PyErr_Format(PyExc_TypeError, "a View is needed");
  auto& state = state_of<CallState>(self);
  const auto status =
      tessera_call_set_array(state.handle, name, given == Py_None ? nullptr : &tensor_of(given).dl);
  if (status != TESSERA_OK) return done(status);
  state.views.emplace_back(name, Ref::to(given));
  return none();
}

template <tessera_status (*set)(tessera_call*, const char*, const char*)>
PyObject* call_set_text(PyObject* self, PyObject* args) {
  const char *name = nullptr, *value = nullptr;
  if (PyArg_ParseTuple(args, "ss", &name, &value) == 0) return nullptr;
  return done(set(state_of<CallState>(self).handle, name, value));
}

// Hands the points to evaluate(points, values, dimensions), which is Python.
std::int32_t call_python(void* context, std::int64_t count, std::int32_t dimensions, const double* points,
                         double* values) {
  const WithLock lock;
  if (PyErr_CheckSignals() != 0) return 1;
  const auto bytes = static_cast<Py_ssize_t>(sizeof(double)) * count;
  const Ref from(PyMemoryView_FromMemory(reinterpret_cast<char*>(const_cast<double*>(points)),
                                         bytes * dimensions, PyBUF_READ));
  const Ref to(PyMemoryView_FromMemory(reinterpret_cast<char*>(values), bytes, PyBUF_WRITE));
  if (!from || !to) return 1;
  const Ref result(
      PyObject_CallFunction(static_cast<PyObject*>(context), "OOi", from.get(), to.get(), dimensions));
  // The memory is the library's: whoever kept a view must not reach it later.
  for (const Ref* one : {&from, &to})
    if (result) Ref(PyObject_CallMethod(one->get(), "release", nullptr));
  return result && PyErr_Occurred() == nullptr ? 0 : 1;
}

PyObject* call_callable(PyObject* self, PyObject* function) {
  auto& state = state_of<CallState>(self);
  state.callable = Ref::to(function);
  return done(tessera_call_set_callable(state.handle, call_python, function));
}

std::int32_t check_signals(void*, double) {
  const WithLock lock;
  return PyErr_CheckSignals() != 0 ? 1 : 0;
}

// run(stream address, watched): watched runs can be interrupted.
PyObject* call_run(PyObject* self, PyObject* args) {
  unsigned long long stream = 0;
  int watched = 0;
  if (PyArg_ParseTuple(args, "Kp", &stream, &watched) == 0) return nullptr;
  auto& state = state_of<CallState>(self);
  const Ref alive = Ref::to(self);
  auto status = tessera_call_set_progress(state.handle, watched != 0 ? check_signals : nullptr, nullptr);
  if (status == TESSERA_OK) {
    const WithoutLock without(true);
    status = tessera_call_run(state.handle, reinterpret_cast<void*>(stream), nullptr);
  }
  state.left = status == TESSERA_STOPPED && !state.callable;
  return done(status);
}

PyObject* call_plan(PyObject* self, PyObject*) {
  return done(tessera_call_plan(state_of<CallState>(self).handle));
}

// array(name): a View of an array of the call, which it keeps alive.
PyObject* call_array(PyObject* self, PyObject* name) {
  const Ref text(PyUnicode_AsUTF8String(name));
  if (!text) return nullptr;
  const DLTensor* const from =
      tessera_call_array(state_of<CallState>(self).handle, PyBytes_AsString(text.get()));
  if (from == nullptr) return done(TESSERA_USER);
  auto tensor = std::make_unique<Tensor>();
  tensor->copy_layout(*from);
  tensor->owner = Ref::to(self);
  return object_of(view_type, std::move(tensor));
}

template <const char* (*get)(tessera_call*)>
PyObject* call_text(PyObject* self, PyObject*) {
  const char* const text = get(state_of<CallState>(self).handle);
  return text == nullptr ? done(TESSERA_USER) : PyUnicode_FromString(text);
}

// release(): lets go of the arrays; only calls at other addresses may follow.
PyObject* call_release(PyObject* self, PyObject*) {
  state_of<CallState>(self).views.clear();
  return none();
}

// --- functions with prepared calls ---

// True if a plan for one of them serves the other. On GPUs it depends on the addresses' alignment, up to 128.
bool same_layout(const DLTensor& a, const DLTensor& b) {
  const auto alignment = [](const void* data) {
    const auto address = reinterpret_cast<std::uintptr_t>(data) | 128;
    return address & (~address + 1);
  };
  if (a.device.device_type != kDLCPU && alignment(a.data) != alignment(b.data)) return false;
  return a.ndim == b.ndim && same(a.dtype, b.dtype) && a.device.device_type == b.device.device_type &&
         a.device.device_id == b.device.device_id && std::equal(a.shape, a.shape + a.ndim, b.shape) &&
         std::equal(a.strides, a.strides + a.ndim, b.strides);
}

constexpr std::size_t most_operands = 4, most_arrays = 8, most_known = 32;

struct KnownCall {
  // The positional arguments, then `out`, if it was given; only their layouts, and Python's types.
  std::vector<std::unique_ptr<Tensor>> operands;
  std::vector<std::size_t> slots;  // their places among the operation's arrays, then that of the result
  std::size_t arrays = 0;          // the operation's number of them
  bool has_out = false, releases = true;
  Ref words;  // the other keywords, as a dict
  Ref call;   // planned
  Ref make;   // without `out`: makes the result
};

struct FunctionState {
  std::vector<std::shared_ptr<const KnownCall>> known;  // the latest first
};

// Splits keywords into `out` and the rest. False: some are no plain values, or an exception is set.
bool split_keywords(PyObject* keywords, PyObject*& out, Ref& words) {
  Py_ssize_t at = 0;
  PyObject *key = nullptr, *value = nullptr;
  while (keywords != nullptr && PyDict_Next(keywords, &at, &key, &value) != 0) {
    if (PyUnicode_CompareWithASCIIString(key, "out") == 0) {
      if (value != Py_None) out = value;
      continue;
    }
    if (!PyUnicode_CheckExact(key) || (!PyUnicode_CheckExact(value) && !PyLong_CheckExact(value) &&
                                       !PyFloat_CheckExact(value) && !PyBool_Check(value)))
      return false;
    if (!words) words = Ref(PyDict_New());
    if (!words || PyDict_SetItem(words.get(), key, value) != 0) return false;
  }
  return true;
}

bool same_words(const Ref& a, const Ref& b) {
  if (!a || !b) return !a && !b;
  return PyObject_RichCompareBool(a.get(), b.get(), Py_EQ) == 1;
}

// Runs a known call, where there is one for these arguments. Null without an exception: there is none.
PyObject* run_known(FunctionState& function, PyObject* args, PyObject* keywords) {
  const auto given = static_cast<std::size_t>(PyTuple_Size(args));
  if (given == 0 || given > most_operands || function.known.empty()) return nullptr;
  PyObject* out = nullptr;
  Ref words;
  if (!split_keywords(keywords, out, words)) return nullptr;
  const std::size_t count = given + (out != nullptr ? 1 : 0);
  std::array<PyObject*, most_operands + 1> objects{};
  std::array<Tensor, most_operands + 2> operands;
  for (std::size_t i = 0; i < count; ++i) {
    objects[i] = i < given ? PyTuple_GetItem(args, static_cast<Py_ssize_t>(i)) : out;
    if (!operands[i].take(objects[i])) return PyErr_Clear(), nullptr;  // the slow road says what is wrong
  }
  if (out != nullptr && operands[given].readonly) return nullptr;
  std::shared_ptr<const KnownCall> known;
  for (auto& candidate : function.known) {
    const KnownCall& one = *candidate;
    bool fits = one.operands.size() == count && one.has_out == (out != nullptr);
    for (std::size_t i = 0; fits && i < count; ++i)
      fits = one.operands[i]->owner.get() == reinterpret_cast<PyObject*>(Py_TYPE(objects[i])) &&
             same_layout(one.operands[i]->dl, operands[i].dl);
    if (!fits || !same_words(one.words, words)) continue;
    std::swap(candidate, function.known.front());
    known = function.known.front();
    break;
  }
  if (!known) return nullptr;
  Ref result = out != nullptr ? Ref::to(out) : Ref(PyObject_CallNoArgs(known->make.get()));
  if (!result) return nullptr;
  if (out == nullptr && !operands[count].take(result.get())) return nullptr;
  std::array<void*, most_arrays> addresses{};
  for (std::size_t i = 0; i < known->slots.size(); ++i) addresses[known->slots[i]] = operands[i].dl.data;
  const DLDevice& device = operands[0].dl.device;
  void* stream = nullptr;
  if (device.device_type == kDLCUDA)
    if (exchange_api_of(objects[0])->stream(device.device_type, device.device_id, &stream) != 0)
      return nullptr;
  tessera_status status = TESSERA_OK;
  {
    const WithoutLock without(known->releases);
    status = tessera_call_run_again(state_of<CallState>(known->call.get()).handle, stream, addresses.data(),
                                    known->arrays);
  }
  return status == TESSERA_OK ? result.release() : done(status);
}

PyObject* function_call(PyObject* self, PyObject* args, PyObject* keywords) {
  auto& function = state_of<FunctionState>(self);
  return guarded([&]() -> PyObject* {
    PyObject* const out = run_known(function, args, keywords);
    if (out != nullptr || PyErr_Occurred() != nullptr) return out;
    const Ref slow(PyObject_GetAttrString(self, "compute"));  // has the call remembered
    return slow ? PyObject_Call(slow.get(), args, keywords) : nullptr;
  });
}

// remember(args, keywords, call, slots, arrays, make, releases)
PyObject* function_remember(PyObject* self, PyObject* args) {
  auto& function = state_of<FunctionState>(self);
  PyObject *given = nullptr, *keywords = nullptr, *call = nullptr, *slots = nullptr, *make = nullptr;
  int arrays = 0, releases = 0;
  if (PyArg_ParseTuple(args, "O!O!OO!iOp", &PyTuple_Type, &given, &PyDict_Type, &keywords, &call,
                       &PyTuple_Type, &slots, &arrays, &make, &releases) == 0)
    return nullptr;
  const auto one = std::make_shared<KnownCall>();
  PyObject* out = nullptr;
  std::array<std::int64_t, most_operands + 1> numbers{};
  const bool plain = split_keywords(keywords, out, one->words);
  if (PyErr_Occurred() != nullptr) return nullptr;
  const auto count = static_cast<std::size_t>(PyTuple_Size(given));
  if (!plain || count > most_operands || static_cast<std::size_t>(arrays) > most_arrays ||
      PyTuple_Size(slots) != static_cast<Py_ssize_t>(count) + 1)
    return none();
  if (!numbers_of(slots, numbers.data())) return nullptr;
  for (std::size_t i = 0; i < count + (out != nullptr ? 1 : 0); ++i) {
    PyObject* const object = i < count ? PyTuple_GetItem(given, static_cast<Py_ssize_t>(i)) : out;
    Tensor taken;
    const bool is_taken = taken.take(object);
    PyErr_Clear();
    // Only the exchange interface tells the current stream.
    if (!is_taken || (taken.dl.device.device_type != kDLCPU && exchange_api_of(object) == nullptr))
      return none();
    one->operands.push_back(std::make_unique<Tensor>());
    one->operands.back()->copy_layout(taken.dl);
    one->operands.back()->owner = Ref::to(reinterpret_cast<PyObject*>(Py_TYPE(object)));
  }
  one->slots.assign(numbers.begin(), numbers.begin() + PyTuple_Size(slots));
  one->arrays = static_cast<std::size_t>(arrays);
  one->has_out = out != nullptr;
  one->releases = releases != 0;
  one->call = Ref::to(call);
  one->make = Ref::to(make);
  function.known.insert(function.known.begin(), one);
  const auto oldest = function.known.back();  // its end may run Python
  if (function.known.size() > most_known) function.known.pop_back();
  return none();
}

PyObject* function_forget(PyObject* self, PyObject*) {
  auto& function = state_of<FunctionState>(self);
  const auto known = std::move(function.known);  // runs Python when it is destroyed
  function.known.clear();
  return none();
}

PyObject* new_function(PyTypeObject* type, PyObject*, PyObject*) {
  return guarded([&] { return object_of(type, std::make_unique<FunctionState>()); });
}

// help() takes what has __get__ for a routine, and shows its signature and text.
PyObject* function_get(PyObject* self, PyObject*, PyObject*) { return Ref::to(self).release(); }

// --- the module ---

PyObject* module_text(PyObject*, PyObject* name) {
  const Ref text(PyUnicode_AsUTF8String(name));
  if (!text) return nullptr;
  const std::string which = PyBytes_AsString(text.get());
  const char* const out = which == "operations" ? tessera_operations()
                          : which == "devices"  ? tessera_devices()
                                                : tessera_version();
  return out == nullptr ? done(TESSERA_INTERNAL) : PyUnicode_FromString(out);
}

PyObject* module_load(PyObject*, PyObject* file) {
  const Ref path(PyUnicode_EncodeFSDefault(file));
  if (!path) return nullptr;
  return done(tessera_load(PyBytes_AsString(path.get())));
}

// synchronize(device type, device, stream address)
PyObject* module_synchronize(PyObject*, PyObject* args) {
  int device_type = 0, device = 0;
  unsigned long long stream = 0;
  if (PyArg_ParseTuple(args, "iiK", &device_type, &device, &stream) == 0) return nullptr;
  tessera_status status = TESSERA_OK;
  {
    const WithoutLock without(true);
    status = tessera_synchronize({static_cast<DLDeviceType>(device_type), device},
                                 reinterpret_cast<void*>(stream));
  }
  return done(status);
}

PyObject* module_runs_left(PyObject*, PyObject*) { return PyLong_FromLong(runs_left); }

PyMethodDef module_methods[] = {{"view", guarded<view>, METH_O, nullptr},
                                {"view_of_capsule", guarded<view_of_capsule>, METH_O, nullptr},
                                {"view_of_parts", guarded<view_of_parts>, METH_VARARGS, nullptr},
                                {"text", module_text, METH_O, nullptr},
                                {"load", module_load, METH_O, nullptr},
                                {"synchronize", module_synchronize, METH_VARARGS, nullptr},
                                {"runs_left", module_runs_left, METH_NOARGS, nullptr},
                                {}};

PyGetSetDef view_members[] = {{"shape", get_shape, nullptr, nullptr, nullptr},
                              {"strides", get_strides, nullptr, nullptr, nullptr},
                              {"address", get_address, nullptr, nullptr, nullptr},
                              {"readonly", get_readonly, nullptr, nullptr, nullptr},
                              {"device", get_device, nullptr, nullptr, nullptr},
                              {"type", get_type, nullptr, nullptr, nullptr},
                              {}};
PyType_Slot view_slots[] = {{Py_tp_dealloc, reinterpret_cast<void*>(free_object<Tensor>)},
                            {Py_tp_getset, view_members},
                            {0, nullptr}};
PyType_Spec view_spec = {"tessera._tessera.View", sizeof(Object<Tensor>), 0,
                         Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, view_slots};

PyMethodDef call_methods[] = {{"set", guarded<call_set>, METH_VARARGS, nullptr},
                              {"option", call_set_text<tessera_call_set_option>, METH_VARARGS, nullptr},
                              {"request", call_set_text<tessera_call_set_request>, METH_VARARGS, nullptr},
                              {"callable", call_callable, METH_O, nullptr},
                              {"plan", call_plan, METH_NOARGS, nullptr},
                              {"run", call_run, METH_VARARGS, nullptr},
                              {"array", guarded<call_array>, METH_O, nullptr},
                              {"outcome", call_text<tessera_call_outcome>, METH_NOARGS, nullptr},
                              {"explain", call_text<tessera_call_explain>, METH_NOARGS, nullptr},
                              {"check", call_text<tessera_check>, METH_NOARGS, nullptr},
                              {"release", call_release, METH_NOARGS, nullptr},
                              {}};
PyType_Slot call_slots[] = {{Py_tp_new, reinterpret_cast<void*>(new_call)},
                            {Py_tp_dealloc, reinterpret_cast<void*>(free_call)},
                            {Py_tp_methods, call_methods},
                            {0, nullptr}};
PyType_Spec call_spec = {"tessera._tessera.Call", sizeof(Object<CallState>), 0, Py_TPFLAGS_DEFAULT,
                         call_slots};

PyMethodDef function_methods[] = {{"remember", guarded<function_remember>, METH_VARARGS, nullptr},
                                  {"forget", function_forget, METH_NOARGS, nullptr},
                                  {}};
PyType_Slot function_slots[] = {{Py_tp_new, reinterpret_cast<void*>(new_function)},
                                {Py_tp_dealloc, reinterpret_cast<void*>(free_object<FunctionState>)},
                                {Py_tp_call, reinterpret_cast<void*>(function_call)},
                                {Py_tp_descr_get, reinterpret_cast<void*>(function_get)},
                                {Py_tp_methods, function_methods},
                                {0, nullptr}};
PyType_Spec function_spec = {"tessera._tessera.Function", sizeof(Object<FunctionState>), 0,
                             Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, function_slots};

PyModuleDef module_definition = {
    PyModuleDef_HEAD_INIT, "_tessera", nullptr, -1, module_methods, nullptr, nullptr, nullptr, nullptr};

}  // namespace

PyMODINIT_FUNC PyInit__tessera() {
  Ref module(PyModule_Create(&module_definition));
  if (!module) return nullptr;
  for (const auto& [name, spec] :
       {std::pair{"View", &view_spec}, {"Call", &call_spec}, {"Function", &function_spec}}) {
    PyObject* const type = PyType_FromSpec(spec);
    if (type == nullptr || PyModule_AddObjectRef(module.get(), name, type) != 0) return nullptr;
    if (spec == &view_spec) view_type = reinterpret_cast<PyTypeObject*>(type);
    else Py_DECREF(type);
  }
  return module.release();
}
