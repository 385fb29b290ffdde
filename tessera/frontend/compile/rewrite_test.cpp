// SPDX-License-Identifier: Apache-2.0
#include "tessera/frontend/compile/rewrite.hpp"
#include <gtest/gtest.h>
#include <sstream>

namespace tessera::frontend {
namespace {

const std::string marker = "# 1 \"a.cu\"\n";

ReadFile as(const std::string& text) {
  return [text](const std::string& file) { return file == "a.cu" ? std::optional(text) : std::nullopt; };
}

// Words with one blank between, without markers and without the namespace of what is called.
std::string plain(const std::string& text) {
  std::istringstream lines(text);
  std::string out;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("#")) continue;
    std::istringstream words(line);
    for (std::string word; words >> word;) out += (out.empty() ? "" : " ") + word;
  }
  for (std::size_t at; (at = out.find("::tessera_cuda::")) != out.npos;) out.erase(at, 16);
  return out;
}

std::string rewritten(const std::string& text) { return plain(rewrite(marker + text, nullptr, as(text))); }

std::string refusal(const std::string& text) {
  try {
    rewritten(text);
  } catch (const Refusal& found) {
    return found.what();
  }
  return "taken";
}

TEST(Rewrite, LeavesOtherTextAsItIs) {
  const std::string text =
      "int f(int a) { return a << 2 < 3; }\nauto s = R\"(k<<<1, 2>>>(x)\n)\";  int  threadIdx;\n";
  EXPECT_EQ(rewrite(marker + text, nullptr, as(text)), marker + text);
}

TEST(Rewrite, Launches) {
  EXPECT_EQ(rewritten("void f() { k<<<g, b>>>(x); }"), "void f() { (configure( g, b), k (x)) ; }");
  EXPECT_EQ(rewritten("void f() { n::k<float, (1 > 2)><<<dim3(1, 2), b, n * sizeof(T), s>>>(x, y); }"),
            "void f() { (configure( dim3(1, 2), b, n * sizeof(T), s), n::k<float, (1 > 2)> (x, y)) ; }");
  EXPECT_EQ(rewritten("void f() { k << <1, 2 >> > (); }"), "void f() { (configure( 1, 2), k ()) ; }");
  EXPECT_EQ(rewritten("void f() { if (a) (*p)<<<1, 2>>>(); else ps[i]<<<3, 4>>>(); }"),
            "void f() { if (a) (configure( 1, 2), (*p) ()) ; else (configure( 3, 4), ps[i] ()) ; }");
  EXPECT_EQ(rewritten("void f() { return ::k<<<1, 2>>>(); }"),
            "void f() { return (configure( 1, 2), ::k ()) ; }");
  EXPECT_EQ(rewritten("void f() { o.get<int>()<<<1, 2>>>(); p->k<<<1, a >> 2>>>(); }"),
            "void f() { (configure( 1, 2), o.get<int>() ()) ; (configure( 1, a >> 2), p->k ()) ; }");
  EXPECT_EQ(rewritten("void f() { o.template k<A<B<int>>><<<1, 2>>>(); }"),
            "void f() { (configure( 1, 2), o.template k<A<B<int>>> ()) ; }");
}

TEST(Rewrite, MarksAtomicsWithUnusedResults) {
  EXPECT_EQ(rewritten("__device__ void f(int* p) { if (*p) atomicAdd(p, g(1)); }"),
            "void f(int* p) { if (*p) atomicAdd(p, g(1)), result_is_unused() ; }");
  const std::string used = "{ int a = atomicAdd(p, 1); return b ? a : atomicSub(p, 1); }";
  EXPECT_EQ(rewritten("__device__ int f(int* p) " + used), "int f(int* p) " + used);
  EXPECT_EQ(rewritten("void f(int* p) { atomicAdd(p, 1); }"), "void f(int* p) { atomicAdd(p, 1); }");
}

TEST(Rewrite, IsNotConfusedByShifts) {
  const std::string operators =
      "std::ostream& operator<< <>(std::ostream&, const M<T>&); int a = b << (c << 3) >> 1;";
  EXPECT_EQ(rewritten(operators), operators);
}

TEST(Rewrite, Kernels) {
  EXPECT_EQ(rewritten("__global__ void k(int n) { if (n) return; }"),
            "void k(int n) { kernel(\"k\", Closure{[=]() mutable { if (n) return; }}); } static const Entry "
            "tessera_entry_k(\"k\", ::k);");
  EXPECT_EQ(rewritten("template <class T> static __global__ void __launch_bounds__(256, 2) k(T a = T()) { }"),
            "template <class T> static void k(T a = T()) { kernel(\"k\", Closure{[=]() mutable { }}, "
            "int(256)); }");
  EXPECT_EQ(rewritten("template <> __global__ void k<int>(int) { }"),
            "template <> void k<int>(int) { kernel(\"k\", Closure{[=]() mutable { }}); }");
  EXPECT_EQ(rewritten("extern \"C\" __global__ void k(); template __global__ void t<int>(int);"),
            "extern \"C\" void k(); template void t<int>(int);");
}

TEST(Rewrite, Noinline) {
  EXPECT_EQ(rewritten("__noinline__ __device__ int f() { return 1; } __attribute__((__noinline__)) int g();"),
            "__attribute__((noinline)) int f() { return 1; } __attribute__((__noinline__)) int g();");
}

TEST(Rewrite, OverloadedKernelsHaveNoEntry) {
  const std::string out =
      rewritten("__global__ void k(int) { } __global__ void k(float) { } __global__ void only() { }");
  EXPECT_EQ(out.find("tessera_entry_k"), out.npos);
  EXPECT_NE(out.find("tessera_entry_only"), out.npos);
}

TEST(Rewrite, BuiltInsInDeviceBodiesOnly) {
  EXPECT_EQ(rewritten("__device__ int f() { return threadIdx.x + gridDim.y + a.blockIdx + S::blockDim; }"),
            "int f() { return built_in(threadIdx) .x + built_in(gridDim) .y + a.blockIdx + S::blockDim; }");
  EXPECT_EQ(rewritten("__device__ int f() { return clock() - a.clock(); } int g() { return clock(); }"),
            "int f() { return clock () - a.clock(); } int g() { return clock(); }");
  EXPECT_EQ(rewritten("int main() { dim3 blockDim(3); return blockDim.x; }"),
            "int main() { dim3 blockDim(3); return blockDim.x; }");
  EXPECT_EQ(rewritten("struct S { __device__ S() : a(threadIdx.x), b{1} { blockIdx; } int a, b; };"),
            "struct S { S() : a(built_in(threadIdx) .x), b{1} { built_in(blockIdx) ; } int a, b; };");
  EXPECT_EQ(rewritten("auto f = [=] __device__ (int i) { return threadIdx.x; };"),
            "auto f = [=] (int i) { return built_in(threadIdx) .x; };");
  EXPECT_EQ(rewritten("auto f = [=] __device__ { return threadIdx.x; };"),
            "auto f = [=] { return built_in(threadIdx) .x; };");
}

TEST(Rewrite, StaticSharedMemory) {
  EXPECT_EQ(rewritten("__device__ void f() { __shared__ float a[N][N + 1], b; }"),
            "void f() { struct tessera_shared_a { float a [ N ] [ N + 1 ] , b; }; auto& a = shared(\"a\", "
            "&tessera_shared_a::a); "
            "auto& b = shared(\"b\", &tessera_shared_a::b); }");
  EXPECT_EQ(rewritten("__device__ void f() { volatile __shared__ alignas(16) T *p; }"),
            "void f() { struct tessera_shared_p { volatile alignas ( 16 ) T * p; }; auto& p = shared(\"p\", "
            "&tessera_shared_p::p); }");
  EXPECT_EQ(rewritten("__device__ void f() { for (;;) { static __shared__ struct { int a; } s; } }"),
            "void f() { for (;;) { struct tessera_shared_s { struct { int a ; } s; }; auto& s = "
            "shared(\"s\", &tessera_shared_s::s); } }");
  EXPECT_EQ(rewritten("__device__ void f() { __shared__ typename A<int, 3>::T t[2]; }"),
            "void f() { struct tessera_shared_t { typename A < int , 3 > :: T t [ 2 ]; }; auto& t = "
            "shared(\"t\", &tessera_shared_t::t); }");
}

TEST(Rewrite, DynamicSharedMemory) {
  EXPECT_EQ(rewritten("__device__ void f() { extern __shared__ float s[]; }"),
            "void f() { float *s = dynamic_shared(\"s\"); }");
  EXPECT_EQ(
      rewritten("__device__ void f() { extern __shared__ __attribute__((aligned(16))) unsigned char s[]; }"),
      "void f() { unsigned char *s = dynamic_shared(\"s\"); }");
  EXPECT_EQ(rewritten("__device__ void f() { extern volatile __shared__ T a[], *b[], c[][4]; }"),
            "void f() { volatile T *a = dynamic_shared(\"a\"); volatile T * *b = dynamic_shared(\"b\"); "
            "volatile T (*c)[ 4 ] = dynamic_shared(\"c\"); }");
}

TEST(Rewrite, DynamicSharedMemoryOfAFile) {
  EXPECT_EQ(rewritten("extern __shared__ int s[];\n__device__ int f() { return s[1]; }\n__device__ int "
                      "g(int* s) { return s[1]; }"),
            "int f() { int *s = dynamic_shared(\"s\"); { return s[1]; } } int g(int* s) { return s[1]; }");
  EXPECT_EQ(rewritten("extern __shared__ int s[];\ntemplate <int> __global__ void k() { s[1] = 0; }"),
            "template <int> void k() { kernel(\"k\", Closure{[=]() mutable { int *s = dynamic_shared(\"s\"); "
            "{ s[1] "
            "= 0; } }}); }");
}

TEST(Rewrite, StaticSharedMemoryOfAFile) {
  EXPECT_EQ(
      rewritten("static __shared__ int a[3], b;\n__device__ int f() { return b; }\n__device__ int g() { "
                "return 1; }"),
      "struct tessera_shared_a { int a [ 3 ] , b; }; int f() { auto& b = shared(\"b\", "
      "&tessera_shared_a::b); { return b; } } int g() { return 1; }");
}

TEST(Rewrite, TextureReferences) {
  EXPECT_EQ(rewritten("texture<float, 2> t; int texture = 1 < 2;"),
            "texture <float, 2> t; int texture = 1 < 2;");
}

// What stands on either side of a variable that the runtime knows.
std::string zone(const std::string& name) {
  return "[[gnu::used, gnu::no_reorder]] static char tessera_zone_" + name + "[256], tessera_data_" + name +
         "[256] = {1};";
}

TEST(Rewrite, Variables) {
  EXPECT_EQ(rewritten("__constant__ float c[2] = {1, 2};"),
            zone("before_c") + " __attribute__((no_reorder)) alignas(256) float c[2] = {1, 2}; " +
                zone("behind_c") +
                " static const Variable tessera_variable_c(\"c\", c, Variable::constant, {\"a.cu\", 1});");
  EXPECT_EQ(rewritten("static __device__ alignas(8) int n, m{3};"),
            zone("before_n") + " __attribute__((no_reorder)) static alignas(8) int n, m{3}; " +
                zone("behind_n") +
                " static const Variable tessera_variable_n(\"n\", n, "
                "Variable::device, {\"a.cu\", 1}, false); "
                "static const Variable tessera_variable_m(\"m\", m, Variable::device, {\"a.cu\", 1});");
  EXPECT_EQ(rewritten("__device__ float (*f)(float) = g;"),
            zone("before_f") + " __attribute__((no_reorder)) alignas(256) float (*f)(float) = g; " +
                zone("behind_f") +
                " static const Variable tessera_variable_f(\"f\", f, Variable::device, {\"a.cu\", 1});");
  EXPECT_NE(rewritten("__managed__ int a;").find("Variable::managed"), std::string::npos);
  EXPECT_EQ(rewritten("extern __constant__ int c; struct S { static __device__ const int d = 1; };"),
            "extern int c; struct S { static const int d = 1; };");
}

TEST(Rewrite, KernelsHandles) {
  EXPECT_EQ(
      rewritten("template <class T> __global__ void k(T);\nvoid f() { cudaLaunchKernel((void*)k<int>, g, b, "
                "(void**)a); "
                "cudaFuncGetAttributes(&a, reinterpret_cast<const void*>(&k<int>)); h((void*)k<int>); }"),
      "template <class T> void k(T); void f() { cudaLaunchKernel( k<int>, g, b, (void**)a); "
      "cudaFuncGetAttributes(&a, (&k<int>)); h((void*)k<int>); }");
}

TEST(Rewrite, KeepsLinesAndColumns) {
  const std::string text =
      "__global__ void k(int* p) { p[threadIdx.x] = 1; }  int here;\n"
      "void f() {\n"
      "  k<<<1,\n"
      "      2>>>(\n"
      "      p); int there;\n"
      "}\n";
  const std::string out = rewrite(marker + text, nullptr, as(text));
  const std::string source = marker + text;
  const TokenList before = tokenize(source, as(text)), after = tokenize(out, as(""));
  // Each token of the file is found again at its line and, in the text as g++ reads it, at its column.
  std::size_t found = 0;
  for (std::size_t i = 0; i < before.tokens.size(); ++i) {
    const Token& token = before.tokens[i];
    if (!token.exact || token.is("__global__") || token.is("threadIdx") || token.is("<") || token.is(">"))
      continue;
    bool same = false;
    for (std::size_t k = 0; k < after.tokens.size(); ++k) {
      const std::size_t offset = after.offset(k), line = out.rfind('\n', offset);
      same = same || (after.tokens[k].is(token.text) && after.tokens[k].line == token.line &&
                      static_cast<int>(offset - line) == token.column);
    }
    EXPECT_TRUE(same) << token.text << " of line " << token.line;
    ++found;
  }
  EXPECT_GT(found, 30u);
}

TEST(Rewrite, KernelsOfOneName) {
  const std::string out = rewritten(
      "__global__ void k(float, int); __global__ void k(const float* a, int n = f(1, 2), char c) {}");
  EXPECT_NE(out.find("(\"k\", static_cast<void (*)(const float * a , int n , char c)>(::k));"),
            std::string::npos)
      << out;
}

TEST(Rewrite, LeavesNamesOfBuiltInsToTheCompiler) {
  const std::string text =
      "__device__ int f(int a, int gridDim) { return gridDim * blockDim.x; }\n"
      "__global__ void k(const dim3& blockDim) { { int threadIdx = blockDim.x; use(threadIdx); }"
      " use(threadIdx.x, gridDim); }";
  EXPECT_EQ(
      plain(rewrite(marker + text, nullptr, as(text))),
      "int f(int a, int gridDim) { return built_in(gridDim) * built_in(blockDim) .x; } "
      "void k(const dim3& blockDim) { kernel(\"k\", Closure{[=]() mutable { { int threadIdx = "
      "built_in(blockDim) .x; use(built_in(threadIdx) ); } use(built_in(threadIdx) .x, built_in(gridDim) "
      "); }}); } "
      "static const Entry tessera_entry_k(\"k\", ::k);");
  const std::string declarations =
      "struct S { S(dim3 g) : gridDim(g), blockDim{1} { auto [a, gridDim] = b; f([&blockDim] {}); int c, "
      "threadIdx = 1; } dim3 gridDim, blockDim; };";
  EXPECT_EQ(rewritten("struct S { __device__ S(dim3 g)" + declarations.substr(declarations.find(" : "))),
            declarations);
}

TEST(Rewrite, ReplacesFirstValues) {
  const std::string text =
      "const int N = 1 << 20, M = 3; void f(int N) { N = 4; int X = {5}; } enum { E = 1, F };";
  std::vector<Replacement> replacements{{"N", "16"}, {"X", "6"}, {"E", "7"}, {"absent", "8"}};
  EXPECT_EQ(plain(rewrite(marker + text, &replacements, as(text))),
            "const int N = 16 , M = 3; void f(int N) { N = 4; int X = 6 ; } enum { E = 7, F };");
  EXPECT_EQ(replacements[0].times, 1);
  EXPECT_EQ(replacements[3].times, 0);
}

// Returns the text in which N, declared once, has the value 16.
std::string with_16(const std::string& text) {
  std::vector<Replacement> replacements{{"N", "16"}};
  std::string out = plain(rewrite(marker + text, &replacements, as(text)));
  EXPECT_EQ(replacements[0].times, 1) << text;
  if (const std::size_t blank = out.find("16 "); blank != out.npos) out.erase(blank + 2, 1);
  return out;
}

TEST(Rewrite, ReplacesEachFormOfAFirstValue) {
  EXPECT_EQ(with_16("constexpr unsigned int N(1 << 20);"), "constexpr unsigned int N(16);");
  EXPECT_EQ(with_16("const int N(2 * M);"), "const int N(16);");
  EXPECT_EQ(with_16("static const int N{4};"), "static const int N{16};");
  EXPECT_EQ(with_16("int N{};"), "int N{16};");
  EXPECT_EQ(with_16("const int M = 4, N = 4, K = 4;"), "const int M = 4, N = 16, K = 4;");
  EXPECT_EQ(with_16("const std::size_t M{1}, N(2), K{3};"), "const std::size_t M{1}, N(16), K{3};");
  EXPECT_EQ(with_16("const int M(1), K{2}, N = 3;"), "const int M(1), K{2}, N = 16;");
  EXPECT_EQ(with_16("std::vector<int> a(M, 1), N(4);"), "std::vector<int> a(M, 1), N(16);");
  EXPECT_EQ(with_16("const char *a = \"b\", *N = \"c\";"), "const char *a = \"b\", *N = 16;");
  EXPECT_EQ(with_16("int a = (b) ? (1) : 2, N = 3;"), "int a = (b) ? (1) : 2, N = 16;");
  EXPECT_EQ(with_16("const int N = power<2, 3>::value, M = a < b;"), "const int N = 16, M = a < b;");
  EXPECT_EQ(with_16("int N[] = {1, 2};"), "int N[] = 16;");
  EXPECT_EQ(with_16("const int Sizes::N = 4;"), "const int Sizes::N = 16;");
  EXPECT_EQ(
      with_16("struct S { static constexpr int M = 1, N = 2; S() : M(3), N(4) {} void f() { N = 2; } };"),
      "struct S { static constexpr int M = 1, N = 16; S() : M(3), N(4) {} void f() { N = 2; } };");
  EXPECT_EQ(with_16("struct S { explicit S(int n) : M(n), N(n) {} int M, N{3}; };"),
            "struct S { explicit S(int n) : M(n), N(n) {} int M, N{16}; };");
  EXPECT_EQ(with_16("template <class T, int N = 4> void f(T a) { a = 1, N = 2; g(a, N = 2); *N = 3; }"),
            "template <class T, int N = 16> void f(T a) { a = 1, N = 2; g(a, N = 2); *N = 3; }");
  EXPECT_EQ(with_16("int N(int a, T b); int N(); namespace N { } struct N { }; enum { N = 4 };"),
            "int N(int a, T b); int N(); namespace N { } struct N { }; enum { N = 16};");
}

TEST(Rewrite, ReplacesMacros) {
  std::vector<Replacement> replacements{{"N", "16"}};
  EXPECT_EQ(replace_macros("#define N 4\n# define N(x) 3\n#define NO 1\n#define\tN \\\n 5\nint define N;\n",
                           replacements),
            "#define N 16 \n# define N(x) 3\n#define NO 1\n#define\tN 16 \\\n\nint define N;\n");
  EXPECT_EQ(replacements[0].times, 1);
}

TEST(Rewrite, Refuses) {
  EXPECT_EQ(refusal("__global__ void k() {\n  k<<<1, 2>>>();\n}"),
            "a.cu:2:4: a launch from a kernel (dynamic parallelism) is not supported");
  EXPECT_EQ(refusal("__device__ void f() {\n  asm(\"nop;\"); }"),
            "a.cu:2:3: inline PTX (asm) is not supported");
  EXPECT_EQ(refusal("void f() { asm(\"nop\"); }"), "taken");
  EXPECT_EQ(refusal("surface<void, 2> s;"),
            "a.cu:1:1: surface references are not supported: surface objects are");
  EXPECT_EQ(refusal("__device__ float f() { return tex2DLod<float>(t, 0, 0, 1); }"),
            "a.cu:1:31: tex2DLod is not supported: no cubemaps, mipmaps, gradients or gathers");
  EXPECT_EQ(refusal("struct S { static __shared__ int a; };"),
            "a.cu:1:19: __shared__ within a class is not supported");
  EXPECT_EQ(refusal("__device__ void f() { __shared__ cuda::barrier<1> b; }"),
            "a.cu:1:34: cuda::barrier is not supported");
  EXPECT_EQ(refusal("void f() { nvcuda::wmma::load(a); }"),
            "a.cu:1:12: matrix instructions (wmma) are not supported");
  EXPECT_EQ(refusal("__device__ void f() { __shared__ int a = 1; }"),
            "a.cu:1:23: a __shared__ variable with an initial value is not CUDA");
  EXPECT_EQ(refusal("__device__ void f() { __shared__ int a[2]; auto g = [=] { return a[0]; }; }"),
            "a.cu:1:53: a lambda that captures the __shared__ variable 'a' by value is not supported: "
            "capture by reference");
  EXPECT_EQ(refusal("__device__ int a, b[2]; void f() { g(a);\n  b[1] += 2; }"),
            "a.cu:2:3: the host assigns to 'b', which is device memory: use cudaMemcpyToSymbol");
  EXPECT_EQ(
      refusal("__device__ int a; void f(int* a) { a = 0; } struct S { int a; void f() { int a; a = 2; } };"
              " __device__ void g() { a = 1; }"),
      "taken");
  EXPECT_EQ(refusal("void f() { __shared__ int a; }"),
            "a.cu:1:12: __shared__ in a function that is neither __global__ nor __device__");
  EXPECT_EQ(refusal("void f() { k<<<1, 2>>>; }"),
            "a.cu:1:13: this launch is not understood: there is no '>>>' with arguments behind it");
}

TEST(MergePasses, TakesBodiesOfTheDevice) {
  const std::string host = marker +
                           "__device__ int f() { return 0; }\nint g() { return 0; }\n__device__ int "
                           "only_host(); struct S { __host__ __device__ int h() { return 0; } };";
  const std::string device = marker +
                             "__device__ int f() { return 900; }\nint g() { return 900; }\n__device__ int "
                             "only_host(); struct S { __host__ __device__ int h() { return 900; } };";
  EXPECT_EQ(plain(merge_passes(host, device, as(""))),
            "__device__ int f() { return 900; } int g() { return 0; } __device__ int only_host(); struct S { "
            "__host__ __device__ int h() "
            "{ if (on_device()) { return 900; } else { return 0; }} };");
}

TEST(MergePasses, TakesFunctionsOfTheDevice) {
  const std::string before = marker + "int a;\n", behind = "\nint b;\n";
  const std::string added = before + "template <class T> __device__ T add(T a) { return a; }" + behind;
  EXPECT_EQ(plain(merge_passes(before + behind, added, as(""))), plain(added));
  EXPECT_EQ(plain(merge_passes(added, before + behind, as(""))), "int a; int b;");
}

TEST(MergePasses, RefusesOtherDifferences) {
  try {
    merge_passes(marker + "int a;\nint b;", marker + "int a;\nlong b;", as("int a;\nint b;"));
    FAIL();
  } catch (const Refusal& found) {
    EXPECT_EQ(found.place.line, 2);
  }
}

}  // namespace
}  // namespace tessera::frontend
