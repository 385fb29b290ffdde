// SPDX-License-Identifier: Apache-2.0
#include "tessera/frontend/compile/own_program.hpp"
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <algorithm>
#include <atomic>
#include <boost/uuid/name_generator_sha1.hpp>
#include <boost/uuid/uuid_io.hpp>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <future>
#include <mutex>
#include <regex>
#include <set>
#include <span>
#include <sstream>
#include <utility>
#include "tessera/core/text/version.hpp"
#include "tessera/io/atomic_file.hpp"
#include "tessera/io/cache.hpp"

extern char** environ;

namespace tessera::frontend {
namespace {

namespace fs = std::filesystem;
using Words = std::vector<std::string>;

volatile pid_t child = 0;  // gets the interrupts of this process

void forward(int signal, siginfo_t* info, void*) {
  const bool from_terminal = info->si_code > 0;  // the child gets it, too
  if (child > 0 && !from_terminal) kill(child, signal);
}

// Runs a command and returns its status. The command ends with this process. Standard error goes to the file
// `errors`, if named; standard output goes to standard error if `output_to_errors`.
int spawn(const Words& words, const Words& variables, const std::string& errors,
          bool output_to_errors = false) {
  std::vector<char*> argv, environment;
  for (const std::string& word : words) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  for (const std::string& set : variables) environment.push_back(const_cast<char*>(set.c_str()));
  for (char** set = environ; *set != nullptr; ++set) environment.push_back(*set);
  environment.push_back(nullptr);
  child = 0;  // not yet
  const pid_t process = fork();
  if (process < 0) throw Error("cannot start '" + words[0] + "': " + std::strerror(errno));
  if (process == 0) {
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    const int file = errors.empty() ? -1 : open(errors.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (file >= 0) dup2(file, STDERR_FILENO);
    if (output_to_errors) dup2(STDERR_FILENO, STDOUT_FILENO);
    execve(argv[0], argv.data(), environment.data());
    _exit(127);
  }
  child = process;
  int status = 0;
  while (waitpid(process, &status, 0) < 0)
    if (errno != EINTR) throw Error("cannot wait for '" + words[0] + "': " + std::strerror(errno));
  return status;
}

class Hash {
 public:
  Hash& add(std::string_view text) {
    all_.append(text) += '\xff';
    return *this;
  }
  std::string text() const {
    return to_string(boost::uuids::name_generator_sha1(boost::uuids::ns::oid())(all_));
  }

 private:
  std::string all_;
};

// Identifies a file without reading it, by its name, size and modification time.
std::string identity(const std::string& file) {
  struct stat about {};
  if (stat(file.c_str(), &about) != 0) return file;
  return file + " " + std::to_string(about.st_size) + " " + std::to_string(about.st_mtim.tv_sec) + "." +
         std::to_string(about.st_mtim.tv_nsec);
}

std::string library_file() {
  Dl_info about;
  if (dladdr(reinterpret_cast<const void*>(&library_file), &about) == 0 || about.dli_fname == nullptr)
    return {};
  std::error_code ignored;
  return fs::canonical(about.dli_fname, ignored).string();
}

// The folders of headers and libraries of this build or installation.
struct Installation {
  std::string library = library_file(), libraries, headers, forwarding_headers, tracer_headers;

  Installation() {
    const fs::path folder = fs::path(library).parent_path();
    libraries = folder.string();
    const fs::path installed = (folder / TESSERA_CUDA_HEADERS).lexically_normal();
    if (fs::exists(installed / "tessera_cuda.h")) {
      headers = forwarding_headers = installed.string();
      tracer_headers = (folder / TESSERA_INSTALLED_HEADERS).lexically_normal().string();
    } else {
      headers = TESSERA_SOURCE_DIR "/tessera/frontend/include";
      forwarding_headers = TESSERA_FORWARDING_HEADERS;
      tracer_headers = TESSERA_SOURCE_DIR;
    }
    if (!fs::exists(headers + "/tessera_cuda.h"))
      throw Error("the headers for CUDA files are not installed: there is no " +
                  (installed / "tessera_cuda.h").string());
  }
};

std::string find_compiler() {
  if (const char* named = std::getenv("TESSERA_CXX"); named != nullptr && *named != 0) {
    if (access(named, X_OK) != 0) throw Error("TESSERA_CXX: cannot run '" + std::string(named) + "'");
    return named;
  }
  std::stringstream folders(std::getenv("PATH") == nullptr ? "" : std::getenv("PATH"));
  for (std::string folder; std::getline(folders, folder, ':');)
    if (const std::string file = folder + "/g++"; access(file.c_str(), X_OK) == 0) return file;
  throw Error("CUDA files are compiled by g++, which is not here (Debian: apt-get install g++)");
}

// Splits the flags for traced code into those for the preprocessor and the rest.
std::pair<Words, Words> traced_flags(const Installation& here) {
  std::pair<Words, Words> out;
  std::istringstream words(TESSERA_TRACED_FLAGS);
  for (std::string word; words >> word;) {
    if (word == "-include") {
      std::string header;
      words >> header;
      out.first.insert(out.first.end(), {word, here.tracer_headers + "/" + header});
    } else {
      (word.starts_with("-D") || word.starts_with("-U") ? out.first : out.second).push_back(word);
    }
  }
  return out;
}

// Names of the files that line markers do not mark as system headers.
std::set<std::string> user_files(std::string_view preprocessed) {
  std::set<std::string> out;
  for (std::size_t at = 0; at < preprocessed.size();) {
    const std::size_t end = std::min(preprocessed.find('\n', at), preprocessed.size());
    const std::string_view line = preprocessed.substr(at, end - at);
    const std::size_t open = line.find('"'), close = line.rfind('"');
    if (line.starts_with("# ") && open < close && line.substr(close).find(" 3") == line.npos)
      out.insert(std::string(line.substr(open + 1, close - open - 1)));
    const std::size_t next = preprocessed.find("\n# ", end);
    at = next == preprocessed.npos ? preprocessed.size() : next + 1;
  }
  return out;
}

bool mentions_architecture(std::string_view preprocessed) {
  for (const std::string& file : user_files(preprocessed))
    if (const auto text = read_file(file); text && text->find("__CUDA_ARCH__") != text->npos) return true;
  return false;
}

bool is_cuda(const std::string& file) {
  return fs::path(file).extension() == ".cu" || fs::path(file).extension() == ".cuh";
}

void write_file(const std::string& path, const std::string& text) {
  AtomicFile file(path);
  file.write(std::as_bytes(std::span(text)));
  file.commit(false);
}

// True if the file includes <omp.h>, for which nvcc would need -Xcompiler -fopenmp.
bool uses_openmp(std::string_view preprocessed) { return preprocessed.find("/omp.h\"") != preprocessed.npos; }

// Removes the compiler's colour codes.
std::string without_colours(const std::string& text) {
  static const std::regex code("\33\\[[^mK]*[mK]");
  return std::regex_replace(text, code, "");
}

// Rewords errors about undeclared names that look like CUDA's intrinsics or OpenGL's.
std::string with_unsupported_functions(std::string messages) {
  constexpr std::string_view said = "was not declared in this scope";
  static const std::regex last_name("(\\w+)\\W*$");
  for (std::size_t at = 0; (at = messages.find(said, at)) != messages.npos; ++at) {
    const std::size_t line = messages.rfind('\n', at) + 1;
    const std::string before = without_colours(messages.substr(line, at - line));
    std::smatch part;
    const std::string name = std::regex_search(before, part, last_name) ? part[1].str() : "";
    if (name.starts_with("__") || name.starts_with("atomic"))
      messages.replace(at, said.size(), "is no function of CUDA that is supported");
    else if (name.starts_with("gl") || name.starts_with("GL"))
      messages.replace(at, said.size(), "is no part of OpenGL that is supported: see GL/glut.h of Tessera");
  }
  return messages;
}

// Writes names in UTF-8: g++ -E writes "\U000000f6" for "ö" in a name.
void spell_names(std::string& text) {
  constexpr std::size_t digits = 8;
  for (std::size_t at = 0; (at = text.find("\\U", at)) != text.npos; ++at) {
    const std::string_view hex = std::string_view(text).substr(at + 2, digits);
    std::uint32_t code = 0;
    const auto [end, failed] = std::from_chars(hex.data(), hex.data() + hex.size(), code, 16);
    if ((at > 0 && text[at - 1] == '\\') || end != hex.data() + digits || code < 0x80) continue;
    std::string utf8;
    unsigned lead = 0x3f;  // the largest rest of a first byte
    for (; code > lead; code >>= 6, lead >>= 1)
      utf8.insert(utf8.begin(), static_cast<char>(0x80 | (code & 0x3f)));
    utf8.insert(utf8.begin(), static_cast<char>(~(2 * lead + 1) | code));
    text.replace(at, 2 + digits, utf8);
  }
}

// The warnings that are shown. Others are of style, or are given for right programs, too.
struct Shown {
  const char *flag, *remedy;
};
constexpr Shown shown_warnings[] = {
    {"-Wuninitialized", "give the variable a first value where it is declared"},
    {"-Wmaybe-uninitialized", "give the variable a first value where it is declared"},
    {"-Wreturn-type", "return a value at the end of the function"},
    {"-Wformat", "let the format fit the arguments: %d int, %zu size_t, %f float and double"},
    {"-Wsequence-point", "change the variable in a statement of its own"},
    {"-Wempty-body", "remove the semicolon behind the condition"},
    {"-Wsizeof-pointer-memaccess", "give the bytes of the memory, not of the pointer"}};

// Returns those of g++'s messages that are about the user's files. A variable's warning is that of its
// declaration.
std::vector<Warning> warnings_in(const std::string& messages, const std::string& headers) {
  static const std::regex form("(\\S+?):(\\d+):\\d+: (warning|note): (.*?)(?: \\[(-W[a-z-]+)=?\\])?");
  std::vector<Warning> out;
  std::istringstream lines(messages);
  bool shown = false;  // the warning before
  for (std::string line; std::getline(lines, line);) {
    std::smatch part;
    if (!std::regex_match(line, part, form)) continue;
    const std::string file = part[1], text = part[4];
    const bool declared = part[3] == "note" && text.find("declared here") != text.npos;
    if (declared && shown) out.back().line = std::stoi(part[2]);
    if (part[3] == "note") continue;
    const auto* const known = std::ranges::find_if(shown_warnings, [&](const Shown& s) {
      return part[5] == s.flag || part[5] == s.flag + std::string("-extra-args");
    });
    // A format of another integer's type prints the right number on the machines that run CUDA.
    const bool harmless = text.find("expects argument") != text.npos && text.find("double") == text.npos;
    shown = known != std::end(shown_warnings) && !harmless && !file.starts_with(headers) &&
            !file.starts_with("/usr/");
    if (shown) out.push_back({file, text, known->remedy, std::stoi(part[2])});
  }
  return out;
}

// Returns the compiler's messages, reworded if a known library is missing.
std::string explained(std::string messages) {
  messages = with_unsupported_functions(std::move(messages));
  constexpr std::pair<const char*, const char*> headers[] = {
      {"mma.h", "wmma"},        {"cuda/", "libcu++"},
      {"cub/", "CUB"},          {"thrust/", "this part of Thrust"},
      {"cublas", "cuBLAS"},     {"cufft", "cuFFT"},
      {"curand", "cuRAND"},     {"cusparse", "cuSPARSE"},
      {"cusolver", "cuSOLVER"}, {"nvrtc", "NVRTC"},
      {"cudnn", "cuDNN"},       {"npp", "NPP"},
      {"GL/", "OpenGL"},        {"cudaGL.h", "OpenGL"}};
  std::string plain = without_colours(messages);
  if (plain.find("undefined reference to `main'") != plain.npos)
    return "no file defines main(): --call 'NAME(ARGUMENTS)' calls a function of a file without one, see "
           "'tessera run --help'\n";
  for (const char* type : {"CUdevice", "CUcontext", "CUresult", "CUfunction", "CUmodule", "CUdeviceptr"})
    if (plain.find("‘" + std::string(type) + "’") != plain.npos)
      return "the driver API (" + std::string(type) + ") is not supported\n" + messages;
  constexpr std::string_view fatal = "fatal error: ", missing = ": No such file or directory";
  const std::size_t at = plain.find(fatal), end = plain.find(missing, at);
  if (at == plain.npos || end == plain.npos) return messages;
  const std::string header = plain.substr(at + fatal.size(), end - at - fatal.size());
  for (const auto& [name, library] : headers)
    if (header.starts_with(name)) {
      plain.replace(at, end + missing.size() - at,
                    "error: " + std::string(library) + " is not supported: there is no " + header);
      return plain.substr(0, plain.find("compilation terminated."));
    }
  return messages;
}

// One build of a program.
class Build {
 public:
  Build(const Source& source, std::string folder)
      : source_(source), folder_(std::move(folder)), compiler_(find_compiler()) {
    common_ = {compiler_, "-std=gnu++17"};
    if (source.coloured) common_.emplace_back("-fdiagnostics-color=always");
    // Floating-point flags as everywhere in Tessera, and flags for code that nvcc accepts but g++ would not.
    compile_ = {"-c",         "-ffp-contract=off",   "-fno-strict-aliasing", "-fwrapv",
                "-pthread",   "-fno-builtin-printf", "-fmax-errors=20",      "-g1",
                "-fcheck-new"};
    // An access stays on its line: no common store of two branches, no load at the use of its value.
    append(compile_, {"-fno-tree-cselim", "-fno-tree-sink", "-fno-tree-tail-merge", "-fno-crossjumping",
                      "-fno-tree-ter", "-fno-schedule-insns", "-fno-schedule-insns2"});
    if (source.traced) {
      compile_.emplace_back("-fsanitize=bounds");
      auto [to_preprocess, to_compile] = traced_flags(here_);
      preprocess_ = to_preprocess;
      append(compile_, to_compile);
      compile_.emplace_back("-fno-tree-sra");  // a float4 stays one access
      // No call is made before a function that is not inlined returns a struct straight into memory.
      compile_.emplace_back("-finline-limit=4000");
    } else {
      compile_.emplace_back("-O1");
    }
    // A large frame must touch the gap below the executor's stacks.
    compile_.emplace_back("-fstack-clash-protection");
    for (const std::string& folder_given : source.include_folders) preprocess_.push_back("-I" + folder_given);
    if (!source.definitions.empty()) append(preprocess_, {"-include", definitions()});
    preprocess_.insert(preprocess_.end(), {"-isystem", here_.headers, "-isystem", here_.forwarding_headers});
  }

  std::string program() {
    const Words files = of_each_file([this](const std::string& file) { return object(file); });
    require_all_replaced();
    return linked(files);
  }

  const std::vector<Warning>& warnings() const { return warnings_; }

  Words preprocessed() const {
    return of_each_file([this](const std::string& file) {
      std::vector<Replacement> replacements = source_.replacements;
      return passes(file, replacements).host;
    });
  }

 private:
  // Makes all files in parallel.
  template <class Make>
  Words of_each_file(const Make& make) const {
    std::vector<std::future<std::string>> texts;
    for (const std::string& file : source_.files)
      texts.push_back(std::async(std::launch::async, [&make, &file] { return make(file); }));
    Words out;
    std::exception_ptr failed;
    for (auto& text : texts) try {
        out.push_back(text.get());
      } catch (...) {
        if (!failed) failed = std::current_exception();
      }
    if (failed) std::rethrow_exception(failed);
    return out;
  }

  static void append(Words& words, const Words& more) { words.insert(words.end(), more.begin(), more.end()); }

  // Returns a file in the folder, made by `make` under another name unless it is there.
  template <class Make>
  std::string kept(const std::string& name, const Make& make) const {
    const std::string path = folder_ + "/" + name;
    std::error_code failed;
    if (fs::exists(path)) {
      fs::last_write_time(path, fs::file_time_type::clock::now(), failed);  // the oldest are deleted
      return path;
    }
    const std::string making = temporary(name);
    make(making);
    fs::rename(making, path, failed);
    if (failed) throw Error(path + ": " + failed.message());
    return path;
  }

  std::string temporary(const std::string& name) const {
    return folder_ + "/." + std::to_string(getpid()) + "-" + name;
  }

  // Returns a header that is included behind those of CUDA, in which short names are names of parameters.
  std::string definitions() const {
    std::string text;
    for (std::string definition : source_.definitions) {
      const std::size_t equals = definition.find('=');
      if (equals == definition.npos) definition += " 1";
      else definition[equals] = ' ';
      text += "#define " + definition + "\n";
    }
    return kept(Hash().add(text).text() + ".h", [&](const std::string& making) { write_file(making, text); });
  }

  // Returns the compiler's messages, or throws CompilerError with them.
  std::string compile(const Words& words, const std::string& name) const {
    const std::string errors = temporary(name) + ".errors";
    const int status = spawn(words, {"LC_ALL=C.UTF-8"}, errors);  // explained() reads English
    const std::string text = read_file(errors).value_or("");
    unlink(errors.c_str());
    if (status != 0) throw CompilerError(text.empty() ? compiler_ + " failed\n" : explained(text));
    return text;
  }

  std::string preprocess(const std::string& file, const std::string& from, const Words& more) const {
    const std::string out = temporary(Hash().add(file).text()) + ".ii";
    Words words = common_;
    append(words, {"-E", "-x", "c++"});
    append(words, more);
    append(words, preprocess_);
    append(words, {from, "-o", out});
    compile(words, Hash().add(file).text());
    std::string text = read_file(out).value_or("");
    spell_names(text);
    unlink(out.c_str());
    if (from == file) return text;
    // The temporary name differs in each run, and would cause a recompilation.
    for (std::size_t at = 0; (at = text.find(from, at)) != text.npos; at += file.size())
      text.replace(at, from.size(), file);
    return text;
  }

  // Preprocessed text; that for the device only if it differs.
  struct Passes {
    std::string host, device;
  };

  Passes passes(const std::string& file, std::vector<Replacement>& replacements) const {
    if (!fs::exists(file))
      throw Error(file + ": there is no such file; the program's arguments stand behind --, as in -- " +
                  file);
    std::string from = file;
    Words more;
    if (!replacements.empty() || source_.addition.file == file) {
      from = temporary(Hash().add(file).text()) + ".cpp";
      std::string text =
          "# 1 \"" + file + "\"\n" + replace_macros(read_source(file).value_or(""), replacements);
      if (const Addition& addition = source_.addition; addition.file == file)
        text += "\n# 1 \"" + addition.name + "\"\n" + addition.text;
      write_file(from, text);
      const std::string folder = fs::path(file).parent_path().string();
      more = {"-iquote", folder.empty() ? "." : folder};
    }
    const bool cuda = is_cuda(file);
    if (cuda) append(more, {"-include", here_.headers + "/tessera_cuda.h"});
    Passes out;
    out.host = preprocess(file, from, more);
    if (cuda && mentions_architecture(out.host)) {
      more.emplace_back("-D__CUDA_ARCH__=900");
      out.device = preprocess(file, from, more);
    }
    if (from != file) unlink(from.c_str());
    return out;
  }

  std::string object(const std::string& file) {
    std::vector<Replacement> replacements = source_.replacements;
    const auto [host, device] = passes(file, replacements);
    const bool cuda = is_cuda(file);

    const bool openmp = uses_openmp(host);
    if (openmp) openmp_ = true;
    Hash hash;
    hash.add(identity(compiler_)).add(identity(here_.library)).add(host).add(device);
    for (const std::string& flag : compile_) hash.add(flag);
    for (const Replacement& r : source_.replacements) hash.add(r.name).add(r.value);
    std::string text;
    const auto rewritten = [&, &to_host = host, &to_device = device] {
      if (cuda) text = rewrite(to_device.empty() ? to_host : merge_passes(to_host, to_device), &replacements);
      else text = to_host;
    };
    if (!replacements.empty()) {
      rewritten();
      count(file, replacements);
    }
    const std::string name = hash.text();
    const std::string messages = folder_ + "/" + name + ".warnings";
    const std::string made = kept(name + ".o", [&](const std::string& making) {
      if (text.empty()) rewritten();
      const std::string input = temporary(name) + ".ii";
      write_file(input, text);
      Words words = common_;
      append(words, {"-fpreprocessed"});
      append(words, compile_);
      if (openmp) words.emplace_back("-fopenmp");
      append(words, {input, "-o", making});
      Words with_warnings = words;
      for (const Shown& shown : shown_warnings) with_warnings.emplace_back(shown.flag);
      std::string report;
      try {
        report = compile(with_warnings, name);
      } catch (const CompilerError&) {  // only its errors are shown
        words.emplace_back("-w");
        try {
          compile(words, name);
        } catch (...) {
          unlink(input.c_str());
          throw;
        }
      }
      if (!report.empty()) write_file(messages, without_colours(report));
      unlink(input.c_str());
    });
    const std::lock_guard lock(mutex_);
    std::ranges::move(warnings_in(read_file(messages).value_or(""), here_.headers),
                      std::back_inserter(warnings_));
    return made;
  }

  // Called in parallel, once for each file.
  void count(const std::string& file, const std::vector<Replacement>& replacements) {
    const std::lock_guard lock(mutex_);
    times_.resize(replacements.size());
    for (std::size_t i = 0; i < replacements.size(); ++i) {
      if (replacements[i].times > 1)
        throw Error("--set: " + file + " gives '" + replacements[i].name + "' a first value at " +
                    std::to_string(replacements[i].times) + " places");
      times_[i] += replacements[i].times;
    }
  }

  void require_all_replaced() const {
    for (std::size_t i = 0; i < times_.size(); ++i)
      if (times_[i] == 0)
        throw Error("--set: no file gives a constant, variable or macro '" + source_.replacements[i].name +
                    "' a first value");
  }

  std::string linked(const Words& objects) const {
    Hash hash;
    hash.add(here_.libraries);
    for (const std::string& object : objects) hash.add(object);
    return kept(hash.text(), [&](const std::string& making) {
      Words words{compiler_, "-pthread", "-o", making};
      append(words, objects);
      if (openmp_) words.emplace_back("-fopenmp");
      // In a kernel these functions use device memory.
      for (const char* function :
           {"malloc", "realloc", "free", "_Znwm", "_Znam", "_ZnwmSt11align_val_t", "_ZnamSt11align_val_t",
            "_ZdlPv", "_ZdaPv", "_ZdlPvm", "_ZdaPvm", "_ZdlPvSt11align_val_t", "_ZdaPvSt11align_val_t",
            "_ZdlPvmSt11align_val_t", "_ZdaPvmSt11align_val_t"})
        words.push_back(std::string("-Wl,--wrap=") + function);
      append(words, {"-L" + here_.libraries, "-Wl,-rpath," + here_.libraries, "-ltessera_cuda", "-ltessera",
                     "-ltessera_thread"});
      compile(words, hash.text());
    });
  }

  const Source& source_;
  std::string folder_, compiler_;
  Installation here_;
  Words common_, preprocess_, compile_;
  std::vector<int> times_;  // by replacement
  std::atomic<bool> openmp_ = false;
  std::mutex mutex_;
  std::vector<Warning> warnings_;
};

// The folder in which programs are built.
struct BuildFolder {
  BuildFolder() {
    std::error_code ignored;
    if (const auto cache = cache_folder()) {
      path = *cache + "/programs";
      fs::create_directories(path, ignored);
      if (access(path.c_str(), W_OK) == 0) return;
    }
    own = std::make_unique<TemporaryFolder>();
    path = own->path();
  }

  std::string path;
  std::unique_ptr<TemporaryFolder> own;  // null: the folder is the cache's
};

}  // namespace

std::vector<std::string> preprocessed(const Source& source) {
  const BuildFolder folder;
  return Build(source, folder.path).preprocessed();
}

OwnProgram::OwnProgram(const Source& source) {
  BuildFolder folder;
  Build build(source, folder.path);
  path_ = build.program();
  warnings_ = build.warnings();
  constexpr std::size_t most = 256;
  if (folder.own == nullptr) drop_oldest(folder.path, most);
  folder_ = std::move(folder.own);
}

Ending run_program(const std::string& path, const Words& arguments, const Words& variables,
                   bool output_to_errors) {
  Words words{path};
  words.insert(words.end(), arguments.begin(), arguments.end());
  // An interrupt goes to the program; this process reports what it did, and how it ended.
  struct sigaction action = {}, before_interrupt = {}, before_end = {};
  action.sa_sigaction = forward;
  action.sa_flags = SA_SIGINFO | SA_RESTART;
  sigaction(SIGINT, &action, &before_interrupt);
  sigaction(SIGTERM, &action, &before_end);
  const int status = spawn(words, variables, {}, output_to_errors);
  sigaction(SIGINT, &before_interrupt, nullptr);
  sigaction(SIGTERM, &before_end, nullptr);
  if (WIFSIGNALED(status)) return {.code = 0, .signal = WTERMSIG(status)};
  return {.code = WEXITSTATUS(status), .signal = 0};
}

std::string excerpt(const SourcePosition& place) {
  const auto text = read_source(place.file);
  if (!text) return {};
  std::istringstream lines(*text);
  std::string line;
  for (int i = 0; i < place.line; ++i)
    if (!std::getline(lines, line)) return {};
  const std::string margin = std::to_string(place.line);
  std::string mark = line.substr(0, static_cast<std::size_t>(std::max(place.column - 1, 0)));
  for (char& c : mark)
    if (c != '\t') c = ' ';
  const std::string at = place.column > 0 ? std::string(margin.size(), ' ') + " | " + mark + "^\n" : "";
  return margin + " | " + line + "\n" + at;
}

}  // namespace tessera::frontend
