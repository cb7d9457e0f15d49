#include "sim/actors/git_ops.h"

#include <algorithm>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "data/yaml.h"
#include "fleet/keys.h"
#include "rollout/matrix_file.h"

namespace lockstep::sim {

namespace {

const std::vector<ResourceType>& managed_types() {
  static const std::vector<ResourceType> types = {fleet::cluster_policies, fleet::nvidia_drivers};
  return types;
}

Result<ResourceType> type_of(const Json& object, const std::string& place) {
  for (const ResourceType& type : managed_types()) {
    if (text_at(object, "kind") == type.kind && text_at(object, "apiVersion") == type.api_version())
      return type;
  }
  return fail(ErrorKind::unsupported,
              fmt::format("{} {} is no kind that is synced here", text_at(object, "apiVersion"),
                          text_at(object, "kind")),
              place);
}

Result<std::string> value_of(const rollout::Matrix& matrix, std::string_view word) {
  const size_t dot = word.find('.');
  const std::string_view slot = word.substr(0, dot);
  if (dot == std::string_view::npos || (slot != "current" && slot != "canary")) {
    return failf(ErrorKind::invalid, "${{{}}} must be ${{current.KEY}} or ${{canary.KEY}}", word);
  }
  const auto which = slot == "current" ? rollout::Slot::current : rollout::Slot::canary;
  const std::string_view key = word.substr(dot + 1);
  std::string_view value = matrix.value(which, key);
  // What the canary leaves empty is as in current.
  if (value.empty()) value = matrix.value(rollout::Slot::current, key);
  if (value.empty()) return failf(ErrorKind::not_found, "the matrix has no value for {}", word);
  return std::string(value);
}

}  // namespace

Result<std::string> fill_in(std::string_view manifest, std::string_view matrix_text,
                            std::string_view name) {
  std::string out;
  std::optional<rollout::Matrix> matrix;
  size_t from = 0;
  while (true) {
    const size_t begin = manifest.find("${", from);
    if (begin == std::string_view::npos) break;
    const size_t end = manifest.find('}', begin);
    if (end == std::string_view::npos) {
      return fail(ErrorKind::invalid, "a \"${\" has no end", std::string(name));
    }
    if (!matrix) {
      LOCKSTEP_TRY(matrix, rollout::parse_matrix(matrix_text, "the matrix"));
    }
    auto value = value_of(*matrix, manifest.substr(begin + 2, end - begin - 2));
    if (!value) return fail(value.error().at(name));
    out += manifest.substr(from, begin - from);
    out += *value;
    from = end + 1;
  }
  return out + std::string(manifest.substr(from));
}

bool has_all(const Json& live, const Json& wanted) {
  if (!wanted.is_object() || !live.is_object()) return json_equal(live, wanted);
  return std::all_of(wanted.get_object().begin(), wanted.get_object().end(),
                     [&](const auto& member) {
                       const Json* value = find(live, member.key());
                       return value != nullptr && has_all(*value, member.value());
                     });
}

GitOps::GitOps(Parts parts, RevisionSource& source, GitOpsOptions options)
    : parts_(parts), source_(source), options_(std::move(options)), writer_(parts), view_(parts) {
  if (!options_.self_heal) return;
  for (const ResourceType& type : managed_types()) {
    view_.of(type).on_change(
        scope_.bind([this, type](const ObjectCache::Change& change) { look_at(type, change); }));
  }
}

void GitOps::start() {
  if (options_.self_heal) view_.start();
  poll();
}

void GitOps::poll() {
  source_.latest(scope_.bind([this](Result<GitRevision> revision) { take(std::move(revision)); }));
  parts_.loop.after(options_.poll, scope_.bind([this] { poll(); }));
}

void GitOps::take(Result<GitRevision> revision) {
  if (!revision) {
    trouble_ = revision.error();
    return;
  }
  // What could not be applied is retried at every poll.
  if (revision->id == seen_ && !trouble_) return;
  seen_ = revision->id;
  auto rendered = render(*revision);
  if (!rendered) {
    trouble_ = rendered.error();
    return;
  }
  wanted_ = std::move(*rendered);
  apply_all(revision->id);
}

Result<std::vector<GitOps::Wanted>> GitOps::render(const GitRevision& revision) const {
  std::vector<Wanted> all;
  const auto matrix = revision.files.find(options_.matrix);
  for (const auto& [path, text] : revision.files) {
    if (!path.starts_with(options_.manifests) || !path.ends_with(".yaml")) continue;
    LOCKSTEP_TRY(const std::string filled,
                 fill_in(text, matrix == revision.files.end() ? "" : matrix->second, path));
    LOCKSTEP_TRY(std::vector<Json> objects, parse_yaml_stream(filled, path));
    for (Json& object : objects) {
      LOCKSTEP_TRY(const ResourceType type, type_of(object, path));
      ObjectKey key{std::string(text_at(object, "metadata", "namespace")),
                    std::string(text_at(object, "metadata", "name"))};
      all.push_back({type, std::move(key), std::move(object)});
    }
  }
  return all;
}

void GitOps::apply_all(const std::string& revision) {
  trouble_.reset();
  if (wanted_.empty()) synced_ = revision;
  auto left = std::make_shared<size_t>(wanted_.size());
  for (const Wanted& wanted : wanted_) {
    apply(wanted, [this, left, revision](const Result<Document>& written) {
      if (!written) trouble_ = written.error();
      if (--*left == 0 && !trouble_ && seen_ == revision) synced_ = revision;
    });
  }
}

void GitOps::apply(const Wanted& wanted, std::function<void(const Result<Document>&)> done) {
  kube::Request request =
      kube::patch(wanted.type, wanted.key, kube::PatchType::apply, wanted.object);
  request.with("fieldManager", "gitops").with("force", "true");
  writer_.send(std::move(request), scope_.bind(std::move(done)));
}

void GitOps::look_at(const ResourceType& type, const ObjectCache::Change& change) {
  const ObjectKey key = change.object().meta.key();
  const auto wanted = std::find_if(wanted_.begin(), wanted_.end(), [&](const Wanted& candidate) {
    return candidate.type == type && candidate.key == key;
  });
  if (wanted == wanted_.end()) return;
  if (change.after && has_all(*change.after->document, wanted->object)) return;
  parts_.loop.after(options_.heal_after, scope_.bind([this, type, key] { heal(type, key); }));
}

void GitOps::heal(const ResourceType& type, const ObjectKey& key) {
  const auto wanted = std::find_if(wanted_.begin(), wanted_.end(), [&](const Wanted& candidate) {
    return candidate.type == type && candidate.key == key;
  });
  if (wanted == wanted_.end()) return;
  const Object live = view_.of(type).find(key);
  if (live && has_all(*live->document, wanted->object)) return;
  ++healed_;
  apply(*wanted, [this](const Result<Document>& written) {
    if (!written) trouble_ = written.error();
  });
}

}  // namespace lockstep::sim
