// Drives the embedded API server, or one that is there already, with real kubectl:
//
//   kubectl_suite --cases DIR --kubectl PATH… [--case NAME…] [--kubeconfig FILE] [--update]
//
// Exit codes: 0 all cases hold, 1 some do not, 2 bad usage, 77 there is no kubectl to try.
#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <regex>
#include <unistd.h>

#include "kubectl/case_runner.h"
#include "world/files.h"

namespace lockstep::suite {

namespace {

constexpr int skipped_code = 77;  // ctest's SKIP_RETURN_CODE

struct Flags {
  std::string cases;
  std::vector<std::string> kubectls;
  std::vector<std::string> only;
  std::string kubeconfig;
  bool update = false;
  bool timing = false;
};

Result<Flags> read_flags(const std::vector<std::string>& arguments) {
  Flags flags;
  std::string flag;
  for (const std::string& argument : arguments) {
    if (argument.starts_with("--")) {
      flag = argument;
      if (flag == "--update") flags.update = true;
      if (flag == "--timing") flags.timing = true;
    } else if (flag == "--cases") {
      flags.cases = argument;
    } else if (flag == "--kubectl") {
      flags.kubectls.push_back(argument);
    } else if (flag == "--case") {
      flags.only.push_back(argument);
    } else if (flag == "--kubeconfig") {
      flags.kubeconfig = argument;
    } else {
      return failf(ErrorKind::invalid, "unexpected argument {}", argument);
    }
  }
  if (flags.cases.empty() || flags.kubectls.empty()) {
    return fail(ErrorKind::invalid,
                "usage: kubectl_suite --cases DIR --kubectl PATH... [--case NAME...] "
                "[--kubeconfig FILE] [--update] [--timing]");
  }
  return flags;
}

Result<std::vector<Transcript>> read_cases(const Flags& flags) {
  SystemFiles files;
  std::vector<Transcript> cases;
  std::error_code failed;
  for (const auto& entry : std::filesystem::directory_iterator(flags.cases, failed)) {
    if (entry.path().extension() != ".test") continue;
    const std::string name = entry.path().stem();
    const bool chosen = flags.only.empty() ||
                        std::find(flags.only.begin(), flags.only.end(), name) != flags.only.end();
    if (!chosen) continue;
    LOCKSTEP_TRY(const std::string text, files.read(entry.path()));
    LOCKSTEP_TRY(Transcript transcript, parse_transcript(name, text));
    cases.push_back(std::move(transcript));
  }
  if (failed) return failf(ErrorKind::not_found, "{}: {}", flags.cases, failed.message());
  // A suite without cases would succeed at nothing.
  if (cases.empty()) return failf(ErrorKind::not_found, "no such case in {}", flags.cases);
  std::sort(cases.begin(), cases.end(),
            [](const Transcript& a, const Transcript& b) { return a.name < b.name; });
  return cases;
}

Result<std::string> version_of(const std::string& kubectl) {
  SystemProcesses processes;
  ProcessSpec spec;
  spec.command = {kubectl, "version", "--client"};
  LOCKSTEP_TRY(const ProcessOutput output, processes.run(spec));
  std::smatch found;
  if (!std::regex_search(output.output, found, std::regex(R"(v(1\.\d+)\.)"))) {
    return failf(ErrorKind::invalid, "{} does not tell its version", kubectl);
  }
  return found[1].str();
}

void print_failures(const Verdict& verdict) {
  for (const Failure& failure : verdict.failures) {
    std::printf("  %s: %s\n%s", failure.place.c_str(), failure.command.c_str(),
                failure.message.c_str());
  }
}

int run_suite(const Flags& flags) {
  auto cases = read_cases(flags);
  if (!cases) {
    std::fprintf(stderr, "kubectl_suite: %s\n", cases.error().text().c_str());
    return 2;
  }
  size_t failed = 0;
  for (const std::string& kubectl : flags.kubectls) {
    if (access(kubectl.c_str(), X_OK) != 0) {
      std::printf("SKIPPED: there is no %s; scripts/install-tools brings it (make tools)\n",
                  kubectl.c_str());
      return skipped_code;
    }
    auto version = version_of(kubectl);
    if (!version) {
      std::fprintf(stderr, "kubectl_suite: %s\n", version.error().text().c_str());
      return 1;
    }
    size_t ran = 0;
    size_t failed_here = 0;
    for (const Transcript& transcript : *cases) {
      RunOptions options;
      options.kubectl = kubectl;
      options.version = *version;
      options.kubeconfig = flags.kubeconfig;
      options.timing = flags.timing;
      const auto began = std::chrono::steady_clock::now();
      const Verdict verdict = run_case(transcript, options);
      const double took =
          std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
      if (verdict.skipped) continue;
      ++ran;
      if (flags.timing) std::printf("%6.2f s  %s\n", took, transcript.name.c_str());
      if (verdict.failures.empty()) continue;
      ++failed_here;
      std::printf("FAILED: %s with kubectl %s\n", transcript.name.c_str(), version->c_str());
      print_failures(verdict);
      std::fflush(stdout);
      if (flags.update) {
        const std::string path = flags.cases + "/" + transcript.name + ".test";
        if (auto ok = SystemFiles().write(path, verdict.rewritten); !ok) {
          std::fprintf(stderr, "kubectl_suite: %s\n", ok.error().text().c_str());
        }
      }
    }
    std::printf("kubectl %s: %zu cases, %zu failed\n", version->c_str(), ran, failed_here);
    failed += failed_here;
  }
  return failed == 0 ? 0 : 1;
}

}  // namespace

}  // namespace lockstep::suite

int main(int argc, char** argv) {
  // kubectl that hangs up must cost us an error code, not our life.
  std::signal(SIGPIPE, SIG_IGN);
  auto flags = lockstep::suite::read_flags({argv + 1, argv + argc});
  if (!flags) {
    std::fprintf(stderr, "%s\n", flags.error().text().c_str());
    return 2;
  }
  return lockstep::suite::run_suite(*flags);
}
