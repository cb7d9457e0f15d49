#include "kubectl/case_runner.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <optional>

#include "apiserver/door/embedded_server.h"
#include "base/strings.h"
#include "world/files.h"

namespace lockstep::suite {

namespace {

// A directory that goes with us.
class TemporaryDirectory {
 public:
  TemporaryDirectory() {
    std::string pattern = (std::filesystem::temp_directory_path() / "lockstep-kubectl-XXXXXX");
    if (mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("cannot make " + pattern);
    path_ = pattern;
  }
  ~TemporaryDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  std::string file(std::string_view name) const { return path_ + "/" + std::string(name); }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// A command in the background. What it writes goes into files, so that it can be read while it
// runs.
struct Background {
  std::string command;
  std::string output_file;
  std::string error_file;
  std::optional<Result<ProcessOutput>> result;
  std::unique_ptr<SystemProcesses> processes;  // of this command alone: ends it when destroyed
};

class CaseRunner {
 public:
  CaseRunner(const Transcript& transcript, const RunOptions& options)
      : transcript_(transcript),
        options_(options),
        embedded_(options.kubeconfig.empty()),
        setting_({options.version, embedded_ ? "embedded" : "real"}) {}

  Verdict run() {
    if (!setting_.holds(transcript_.only)) {
      verdict_.skipped = true;
      return std::move(verdict_);
    }
    lines_ = transcript_.lines;
    if (prepare()) {
      // Expectations are rewritten from the end, so that line numbers before them stay true.
      for (const Step& step : transcript_.steps) {
        if (setting_.holds(step.only)) measure(step);
        if (abandoned_) break;
      }
    }
    background_.clear();
    if (!embedded_) clean_up();
    apply_edits();
    return std::move(verdict_);
  }

 private:
  struct Observed {
    std::string output;
    std::string error;
    int exit_code = 0;
  };

  bool prepare() {
    std::error_code failed;
    std::filesystem::create_directory(home_.file("bin"), failed);
    std::filesystem::create_symlink(std::filesystem::absolute(options_.kubectl),
                                    home_.file("bin/kubectl"), failed);
    std::filesystem::create_directory(home_.file("work"), failed);
    std::string kubeconfig;
    if (embedded_) {
      apiserver::EmbeddedOptions options;
      options.backend.reap_pods = true;
      // kubectl sends no token over plain HTTP.
      options.open = true;
      auto server = apiserver::EmbeddedServer::start(std::move(options));
      if (!server) return give_up("the server does not start", server.error().text());
      server_ = std::move(*server);
      kubeconfig = server_->kubeconfig();
    } else {
      auto read = files_.read(options_.kubeconfig);
      if (!read) return give_up("no kubeconfig", read.error().text());
      kubeconfig = *read;
    }
    if (auto ok = files_.write(home_.file("kubeconfig"), kubeconfig, 0600); !ok) {
      return give_up("cannot write the kubeconfig", ok.error().text());
    }
    return true;
  }

  // All cases work in the namespace "default": the next one must find it empty.
  void clean_up() {
    for (const std::string& command : transcript_.clean_up) (void)processes_.run(spec(command));
    (void)processes_.run(
        spec("for pod in $(kubectl get pods -o name); do kubectl patch $pod --type=merge "
             "-p '{\"metadata\":{\"finalizers\":null}}'; done; "
             "kubectl delete deployments,daemonsets,replicasets,statefulsets,jobs,cronjobs,pods,"
             "configmaps,secrets,poddisruptionbudgets,resourcequotas,roles,rolebindings,events "
             "--all --grace-period=0 --force --timeout=20s; kubectl delete services -l '!provider' "
             "--timeout=20s"));
  }

  bool give_up(std::string command, std::string message) {
    verdict_.failures.push_back({transcript_.name, std::move(command), std::move(message) + "\n"});
    abandoned_ = true;
    return false;
  }

  ProcessSpec spec(const std::string& command) const {
    ProcessSpec process;
    process.command = {"/bin/bash", "-c", "set -o pipefail; " + command};
    process.directory = home_.file("work");
    process.limit = options_.limit;
    process.environment = {
        {"HOME", home_.path()}, {"KUBECONFIG", home_.file("kubeconfig")},
        {"LC_ALL", "C.UTF-8"},  {"PATH", home_.file("bin") + ":/usr/local/bin:/usr/bin:/bin"},
        {"TZ", "UTC"},          {"KUBECTL_EXTERNAL_DIFF", "diff -u -N"},
        {"KUBERC", "off"},
    };
    return process;
  }

  void measure(const Step& step) {
    const Duration began = loop_.uptime();
    perform(step);
    const Duration took = loop_.uptime() - began;
    if (!options_.timing || took < seconds(1)) return;
    fmt::print("{:6.2f} s    {}.test:{}\n", in_seconds(took), transcript_.name, step.line);
  }

  void perform(const Step& step) {
    switch (step.action) {
      case Action::run:
        return run_command(step);
      case Action::until:
        return repeat(step);
      case Action::file:
        return write_file(step);
      case Action::start:
        return start(step);
      case Action::await:
      case Action::stop:
      case Action::finish:
        return look_at_background(step);
    }
  }

  // Standard error. kubectl's log of itself is only part of it where a case asks for that.
  static std::string said(const std::string& command, const std::string& error) {
    return command.find(" -v=") == std::string::npos ? without_log_lines(error) : error;
  }

  void run_command(const Step& step) {
    auto result = processes_.run(spec(step.command));
    if (!result) return report(step, "    " + result.error().text() + "\n");
    judge(step, {result->output, said(step.command, result->error), result->exit_code});
  }

  void repeat(const Step& step) {
    const Duration deadline = loop_.uptime() + options_.limit;
    while (true) {
      auto result = processes_.run(spec(step.command));
      if (!result) return report(step, "    " + result.error().text() + "\n");
      const Observed observed{result->output, said(step.command, result->error), result->exit_code};
      if (compare(step, observed).empty()) return;
      if (loop_.uptime() > deadline) return judge(step, observed);
    }
  }

  void write_file(const Step& step) {
    const std::string path = home_.file("work/" + step.name);
    std::error_code failed;
    std::filesystem::create_directories(std::filesystem::path(path).parent_path(), failed);
    if (auto ok = files_.write(path, step.command); !ok) {
      report(step, "    " + ok.error().text() + "\n");
    }
  }

  void start(const Step& step) {
    auto& job = background_[step.name];
    job = std::make_unique<Background>();
    job->command = step.command;
    job->output_file = home_.file(step.name + ".out");
    job->error_file = home_.file(step.name + ".err");
    job->processes = std::make_unique<SystemProcesses>();
    ProcessSpec process =
        spec(fmt::format("{{ {}; }} >{} 2>{}", step.command, job->output_file, job->error_file));
    process.limit = options_.limit * 4;
    job->processes->start(
        std::move(process), loop_,
        [raw = job.get()](Result<ProcessOutput> result) { raw->result = std::move(result); });
  }

  void look_at_background(const Step& step) {
    auto found = background_.find(step.name);
    if (found == background_.end()) return report(step, "    it is not running\n");
    Background& job = *found->second;
    auto observe = [&] {
      Observed observed{files_.read(job.output_file).value_or(""),
                        said(job.command, files_.read(job.error_file).value_or("")), 0};
      const bool ended = job.result && *job.result;
      observed.exit_code = ended && step.action == Action::finish ? (*job.result)->exit_code : 0;
      return observed;
    };
    auto satisfied = [&] {
      if (step.action == Action::finish) return job.result.has_value();
      return compare(step, observe()).empty();
    };
    wait_for(satisfied);
    if (step.action == Action::stop) job.processes.reset();
    if (step.action == Action::finish && !job.result) report(step, "    it does not end\n");
    judge(step, observe());
    if (step.action != Action::await) background_.erase(found);
  }

  // A file cannot notify us that it grew: poll.
  void wait_for(const std::function<bool()>& condition) {
    Scope scope;
    std::function<void()> again =
        scope.bind([&] { loop_.after(milliseconds(10), scope.bind([&] { again(); })); });
    again();
    loop_.run_until(condition, options_.limit);
  }

  // Empty when all is as expected.
  std::string compare(const Step& step, const Observed& observed) const {
    std::string text = difference(expected_lines(step.output, setting_), observed.output);
    const std::vector<std::string> wanted = expected_lines(step.error, setting_);
    std::string error = difference(wanted, observed.error);
    // A case may wait for a line of the log (-v=6); one that does not is not disturbed by any.
    if (!error.empty()) error = difference(wanted, without_log_lines(observed.error));
    if (!error.empty()) text += "    standard error:\n" + error;
    if (observed.exit_code != step.exit_code) {
      text += fmt::format("    exit code {}, expected {}\n", observed.exit_code, step.exit_code);
      if (error.empty() && !observed.error.empty()) text += "    " + observed.error;
    }
    return text;
  }

  void judge(const Step& step, const Observed& observed) {
    const std::string text = compare(step, observed);
    if (text.empty()) return;
    report(step, text);
    edits_.push_back({&step, as_expectation(observed.output, observed.error, observed.exit_code)});
  }

  void report(const Step& step, std::string message) {
    const std::string command =
        step.command.empty() || step.action == Action::file ? step.name : step.command;
    verdict_.failures.push_back(
        {fmt::format("{}.test:{}", transcript_.name, step.line), command, std::move(message)});
  }

  void apply_edits() {
    for (auto edit = edits_.rbegin(); edit != edits_.rend(); ++edit) {
      const Step& step = *edit->step;
      auto restricted = [](const Line& line) { return !line.only.empty(); };
      // Differences between versions are for the author of the case to write.
      if (std::any_of(step.output.begin(), step.output.end(), restricted) ||
          std::any_of(step.error.begin(), step.error.end(), restricted)) {
        continue;
      }
      const auto first = lines_.begin() + static_cast<std::ptrdiff_t>(step.first);
      const auto last = lines_.begin() + static_cast<std::ptrdiff_t>(step.last);
      lines_.insert(lines_.erase(first, last), edit->lines.begin(), edit->lines.end());
    }
    verdict_.rewritten = join(lines_, "\n") + "\n";
  }

  struct Edit {
    const Step* step;
    std::vector<std::string> lines;
  };

  const Transcript& transcript_;
  const RunOptions& options_;
  const bool embedded_;
  const Setting setting_;
  TemporaryDirectory home_;
  SystemFiles files_;
  EventLoop loop_;
  SystemProcesses processes_;
  std::unique_ptr<apiserver::EmbeddedServer> server_;
  std::map<std::string, std::unique_ptr<Background>> background_;
  Verdict verdict_;
  std::vector<Edit> edits_;
  std::vector<std::string> lines_;
  bool abandoned_ = false;
};

}  // namespace

Verdict run_case(const Transcript& transcript, const RunOptions& options) {
  return CaseRunner(transcript, options).run();
}

}  // namespace lockstep::suite
