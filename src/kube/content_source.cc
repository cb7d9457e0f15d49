#include "kube/content_source.h"

#include <utility>

namespace lockstep::kube {

namespace {
// A fingerprint can miss a change (a copied time stamp on a file of equal size), so it is not
// trusted for long.
constexpr Duration longest_trust = minutes(1);
}  // namespace

ContentSource::ContentSource(const Files& files, const Loop& loop, std::string data,
                             std::string file)
    : files_(files), loop_(loop) {
  if (!data.empty()) {
    content_ = std::make_shared<const std::string>(std::move(data));
  } else {
    file_ = std::move(file);
  }
}

Result<std::shared_ptr<const std::string>> ContentSource::read() {
  if (file_.empty()) return content_;
  const auto fingerprint = files_.fingerprint(file_);
  const bool fresh = content_ && !forgotten_ && fingerprint && *fingerprint == fingerprint_ &&
                     loop_.uptime() - read_at_ < longest_trust;
  if (fresh) return content_;
  auto text = files_.read(file_);
  if (!text) {
    if (content_) return content_;
    return fail(text.error().kind, text.error().message, file_);
  }
  // Equal content keeps its place in memory, so that connections are not distinguished by it.
  if (!content_ || *content_ != *text) {
    content_ = std::make_shared<const std::string>(std::move(*text));
  }
  fingerprint_ = fingerprint ? *fingerprint : std::string();
  read_at_ = loop_.uptime();
  forgotten_ = false;
  return content_;
}

}  // namespace lockstep::kube
