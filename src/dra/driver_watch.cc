#include "dra/driver_watch.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace lockstep::dra {

namespace {

constexpr Duration longest_retry = seconds(2);

std::string what_is_missing(const DriverState& state) {
  if (state.module_version.empty()) return "the driver's kernel module is not loaded";
  return "the driver's library is not there";
}

}  // namespace

DriverWatch::DriverWatch(Loop& loop, Log& log, DriverProbe& probe, DriverWatchOptions options,
                         Listener listener)
    : loop_(loop), log_(log), probe_(probe), options_(options), listener_(std::move(listener)) {}

DriverWatch::~DriverWatch() { loop_.cancel(timer_); }

void DriverWatch::start() { look(); }

void DriverWatch::check_soon(Duration delay) {
  next_ask_ = std::min(next_ask_, loop_.uptime() + delay);
}

bool DriverWatch::is_current_now() {
  look_at_files();
  return is_current_;
}

void DriverWatch::look() {
  timer_ = loop_.after(options_.look_every, scope_.bind([this] { look(); }));
  look_at_files();
}

void DriverWatch::look_at_files() {
  DriverState now = probe_.state();
  bool is_changed = !has_looked_ || now != state_;
  has_looked_ = true;
  if (is_changed) {
    state_ = std::move(now);
    ++changes_;
    failures_ = 0;
    next_ask_ = loop_.uptime();
    go_away(state_.usable() ? "the driver has just changed" : what_is_missing(state_));
  }
  if (state_.usable() && !is_asking_ && loop_.uptime() >= next_ask_) ask();
}

void DriverWatch::ask() {
  is_asking_ = true;
  probe_.ask(state_, scope_.bind([this, asked = state_](Result<Inventory> answer) {
    is_asking_ = false;
    on_answer(asked, std::move(answer));
  }));
}

void DriverWatch::on_answer(const DriverState& asked, Result<Inventory> answer) {
  // An answer about a previous driver says nothing about the current one.
  if (asked != probe_.state() || asked != state_) {
    next_ask_ = loop_.uptime();
    return;
  }
  if (answer && answer->driver_version != state_.module_version) {
    answer = failf(ErrorKind::conflict, "NVML is of version {}, the kernel module of {}",
                   answer->driver_version, state_.module_version);
  }
  if (!answer) return on_trouble(answer.error());
  failures_ = 0;
  next_ask_ = loop_.uptime() + options_.health_every;
  bool is_new = !std::exchange(is_current_, true);
  why_away_.clear();
  listener_.on_inventory(*answer, is_new);
}

void DriverWatch::on_trouble(const Error& error) {
  ++failures_;
  Duration wait = options_.look_every * (1 << std::min(failures_, 4));
  next_ask_ = loop_.uptime() + std::min(wait, longest_retry);
  // A mismatch is a driver that is being replaced; one answer that failed may be chance.
  bool is_serious = error.kind == ErrorKind::conflict || error.kind == ErrorKind::not_found ||
                    failures_ > options_.failures_allowed;
  if (!is_current_ && failures_ == 1) {
    log_.warning("NVML does not answer", {{"error", error.text()}});
  }
  if (is_serious || !is_current_) {
    go_away(error.kind == ErrorKind::conflict
                ? "the driver's library and its kernel module are of different versions"
                : "NVML does not answer");
  }
}

void DriverWatch::go_away(std::string why) {
  bool is_news = std::exchange(is_current_, false) || why != why_away_;
  why_away_ = std::move(why);
  if (is_news) listener_.on_away(why_away_);
}

}  // namespace lockstep::dra
