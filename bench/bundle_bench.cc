// Recipes and bundles: how long a user waits for one `lockstep bundle`, process start and writing
// included, and how long a pipeline waits that makes every recipe of the catalogue for every
// deployer.
//
// The first is a process of its own, from before its start until its end was seen; wall time, so
// that a busy machine shows, and so does the file system: the target is for one in memory. The
// second is this process, in its thread's own processor time. Exit code 1 when a target is missed.

#include <algorithm>
#include <chrono>
#include <fcntl.h>
#include <filesystem>
#include <set>
#include <spawn.h>
#include <stdexcept>
#include <string>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "bundle/checksums.h"
#include "bundle/deployers.h"
#include "bundle/make_bundle.h"
#include "bundle/queries_test_util.h"
#include "measure.h"
#include "recipes/embedded_catalogue.h"
#include "world/descriptor.h"
#include "world/directories.h"

namespace lockstep::bench {
namespace {

namespace fs = std::filesystem;

constexpr int rounds = 200;

[[noreturn]] void stop(const std::string& why) { throw std::runtime_error(why); }

template <typename T>
T must(Result<T> result) {
  if (!result) stop(result.error().text());
  return std::move(*result);
}

double milliseconds_since(std::chrono::steady_clock::time_point began) {
  std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - began;
  return took.count();
}

struct Run {
  double milliseconds = 0;
  double megabytes = 0;  // at most resident
};

// What exec() replaces counts as the child's too, so that we must be smaller than what we measure:
// these measurements come first.
Run run(std::vector<std::string> words) {
  std::vector<char*> pointers;
  for (auto& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  auto began = std::chrono::steady_clock::now();
  pid_t pid = 0;
  if (posix_spawn(&pid, words[0].c_str(), &actions, nullptr, pointers.data(), environ) != 0) {
    stop("cannot start " + words[0]);
  }
  int status = 0;
  rusage used{};
  if (wait4(pid, &status, 0, &used) != pid || status != 0) stop(words[0] + " failed");
  double took = milliseconds_since(began);
  posix_spawn_file_actions_destroy(&actions);
  return {took, static_cast<double>(used.ru_maxrss) * 1024 / 1e6};
}

struct Runs {
  double median = 0;
  double best = 0;
  double megabytes = 0;  // the largest
};

Runs summary(std::vector<Run> runs) {
  std::sort(runs.begin(), runs.end(),
            [](const Run& a, const Run& b) { return a.milliseconds < b.milliseconds; });
  Runs all{runs[runs.size() / 2].milliseconds, runs.front().milliseconds, 0};
  for (const Run& one : runs) all.megabytes = std::max(all.megabytes, one.megabytes);
  return all;
}

// Gone at the end, whatever becomes of the benchmark.
class Folder {
 public:
  explicit Folder(const fs::path& parent) : path_(parent / "lockstep-bench-XXXXXX") {
    if (mkdtemp(path_.data()) == nullptr) stop("cannot make " + path_);
  }
  ~Folder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

std::vector<std::string> bundle_words(const std::string& program, const std::string& deployer,
                                      const std::string& output) {
  return {program,    "bundle",   "--service", "eks",    "--accelerator", "h100",
          "--intent", "training", "--os",      "ubuntu", "--platform",    "kubeflow",
          "-d",       deployer,   "-o",        output};
}

// Each into a directory that was not there. They are removed after the clock has stopped.
Runs bundle_runs(const std::string& program, const std::string& deployer, const fs::path& parent) {
  const Folder folder(parent);
  std::vector<Run> runs;
  for (int i = 0; i < rounds; ++i) {
    std::string output = folder / std::to_string(i);
    runs.push_back(run(bundle_words(program, deployer, output)));
    fs::remove_all(output);
  }
  return summary(std::move(runs));
}

// The same files made by nothing but mkdir, open, write and close: what the file system itself
// takes at this moment.
double plain_writing(const Tree& files, const fs::path& parent) {
  const Folder folder(parent);
  std::vector<Run> runs;
  for (int i = 0; i < rounds; ++i) {
    fs::path output = folder / std::to_string(i);
    auto began = std::chrono::steady_clock::now();
    fs::create_directory(output);
    for (const auto& [path, file] : files) {
      fs::path target = output / path;
      fs::create_directories(target.parent_path());
      Descriptor opened(open(target.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644));
      const std::string& text = file.content;
      if (write(opened.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size())) {
        stop("cannot write " + target.string());
      }
    }
    runs.push_back({milliseconds_since(began), 0});
    fs::remove_all(output);
  }
  return summary(std::move(runs)).median;
}

// The slowest deployer's median.
struct Slowest {
  std::string deployer;
  double median = 0;
  double megabytes = 0;
};

Slowest measure_deployers(const std::string& program, const std::string& where,
                          const fs::path& parent) {
  Slowest slowest;
  for (const bundle::Deployer& deployer : bundle::deployers()) {
    Runs runs = bundle_runs(program, std::string(deployer.name), parent);
    fmt::print("  {} {}: median {:.2f} ms, best {:.2f} ms\n", deployer.name, where, runs.median,
               runs.best);
    slowest.megabytes = std::max(slowest.megabytes, runs.megabytes);
    if (runs.median <= slowest.median) continue;
    slowest.median = runs.median;
    slowest.deployer = deployer.name;
  }
  return slowest;
}

// Without a target where it is the file system that is measured.
void measure_command(const std::string& program) {
  std::vector<Run> starts;
  for (int i = 0; i < rounds; ++i) starts.push_back(run({program, "--version"}));
  report("lockstep --version, for comparison", summary(starts).median, "ms");
  const std::string name =
      fmt::format("lockstep bundle, the slowest deployer, median of {}, ", rounds);
  const fs::path disk = fs::path(program).parent_path();
  Slowest in_memory = measure_deployers(program, "in memory (/dev/shm)", "/dev/shm");
  Slowest on_disk = measure_deployers(program, "on disk (the build folder)", disk);
  report_at_most(name + "in memory", in_memory.median, "ms", 5);
  report_at_most("lockstep bundle, the most memory of all runs",
                 std::max(in_memory.megabytes, on_disk.megabytes), "MB", 12);
  report(name + "on disk", on_disk.median, "ms");
  // Last, for they are read into this process.
  const Folder folder("/dev/shm");
  run(bundle_words(program, on_disk.deployer, folder / "out"));
  const Tree files = must(read_tree_with_modes(folder / "out"));
  report("the same files on disk by plain writes", plain_writing(files, disk), "ms");
}

// Without what was asked for: many queries give the same.
std::string essence(const bundle::ResolvedRecipe& recipe) {
  JsonObject json = to_json(recipe);
  json.erase("criteria");
  json.erase("metadata");
  return print_json(json);
}

// How long since it was asked last.
class Stopwatch {
 public:
  double lap() {
    double before = std::exchange(at_, processor_seconds());
    return at_ - before;
  }

 private:
  double at_ = processor_seconds();
};

void measure_catalogue() {
  Stopwatch stopwatch;
  bundle::Catalogue catalogue =
      must(bundle::Catalogue::read({recipes::embedded_layer(recipes::Part::all)}));
  bundle::Rules rules = must(bundle::read_rules(catalogue));
  double reading = stopwatch.lap();
  std::vector<bundle::ResolvedRecipe> resolved;
  for (const bundle::Criteria& query : bundle::all_queries(catalogue.words)) {
    resolved.push_back(must(bundle::resolve(catalogue, query)));
  }
  double resolving = stopwatch.lap();
  std::set<std::string> seen;
  std::vector<bundle::BundleRequest> requests;
  for (bundle::ResolvedRecipe& recipe : resolved) {
    if (seen.insert(essence(recipe)).second) requests.emplace_back().recipe = std::move(recipe);
  }
  stopwatch.lap();
  double making = 0;
  double writing = 0;
  double checking = 0;
  size_t bundles = 0;
  size_t bytes = 0;
  for (const bundle::BundleRequest& request : requests) {
    bundle::MadeBundle made = must(bundle::make_bundle(catalogue, rules, request));
    making += stopwatch.lap();
    for (const bundle::Deployer& deployer : bundle::deployers()) {
      bundle::BundleFiles files = must(deployer.write(made.model));
      writing += stopwatch.lap();
      files["checksums.txt"] = {bundle::checksums(files), false};
      checking += stopwatch.lap();
      ++bundles;
      for (const auto& [path, file] : files) bytes += file.content.size();
      stopwatch.lap();
    }
  }
  fmt::print("{} queries give {} recipes, and {} bundles of {:.1f} MB\n", resolved.size(),
             requests.size(), bundles, static_cast<double>(bytes) / 1e6);
  fmt::print(
      "  read {:.1f} ms, resolve {:.1f} ms, values and releases {:.1f} ms, files {:.1f} ms, "
      "checksums {:.1f} ms\n",
      reading * 1e3, resolving * 1e3, making * 1e3, writing * 1e3, checking * 1e3);
  report_at_most("every recipe of the catalogue for every deployer",
                 reading + resolving + making + writing + checking, "s", 0.5);
}

}  // namespace
}  // namespace lockstep::bench

int main(int argc, char** argv) {
  using namespace lockstep::bench;
  std::filesystem::path beside = std::filesystem::canonical("/proc/self/exe");
  try {
    measure_command(argc > 1 ? argv[1]
                             : (beside.parent_path().parent_path() / "lockstep").string());
    measure_catalogue();
  } catch (const std::exception& problem) {
    fmt::print("bundle_bench: {}\n", problem.what());
    return 1;
  }
  return missed == 0 ? 0 : 1;
}
