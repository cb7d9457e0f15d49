#include "recording_helm.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/strings.h"

namespace lockstep::bundles {

namespace {

// Between words, which may hold anything that can be typed.
constexpr char separator = '\x1f';

constexpr std::string_view script = R"(#!/usr/bin/env bash
{{ printf '%s\x1f' "$@"; printf '\n'; }} >> '{}'
for word in "$@"; do
  case $word in
    values.yaml | */values.yaml) [[ -f $word ]] || {{ echo "there is no $word" >&2; exit 1; }} ;;
    '{}') echo "broken" >&2; exit 1 ;;
  esac
done
if [[ ${{1:-}} == version ]]; then echo v4.2.3; fi
)";

}  // namespace

bool has(const Call& call, const std::string& word) {
  return std::ranges::find(call, word) != call.end();
}

std::string word_after(const Call& call, const std::string& word) {
  auto found = std::ranges::find(call, word);
  return found == call.end() || ++found == call.end() ? "" : *found;
}

RecordingHelm::RecordingHelm(Workshop& workshop, const std::string& failing)
    : log_(workshop.directory() / "helm.log") {
  Path program = workshop.directory() / "bin/helm";
  std::filesystem::remove(program);
  write(program,
        fmt::format(fmt::runtime(script), log_.string(), failing.empty() ? "nothing" : failing),
        true);
  forget();
}

std::vector<Call> RecordingHelm::installs() const {
  std::vector<Call> calls;
  std::string log = read(log_);
  for (auto line : split(log, '\n')) {
    Call call;
    for (auto word : split(line, separator)) call.emplace_back(word);
    if (!call.empty() && call[0] == "upgrade") calls.push_back(call);
  }
  return calls;
}

void RecordingHelm::forget() const { write(log_, ""); }

}  // namespace lockstep::bundles
