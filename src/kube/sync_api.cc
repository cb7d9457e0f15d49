#include "kube/sync_api.h"

#include <memory>
#include <optional>
#include <utility>

namespace lockstep::kube {
namespace {

void append_items(const Json& list, std::vector<Document>& items) {
  const Json* found = find(list, "items");
  if (found == nullptr || !found->is_array()) return;
  for (const Json& item : found->get_array()) items.push_back(std::make_shared<const Json>(item));
}

// The page's continue token.
Result<std::string> take_page(Response response, SyncApi::Items& all) {
  if (auto* page = std::get_if<ListBody>(&response.body)) {
    all.resource_version = page->resource_version;
    for (Document& item : page->items) all.items.push_back(std::move(item));
    return std::move(page->continue_token);
  }
  LOCKSTEP_TRY(Document list, response.document());
  if (!list->is_object()) return fail(ErrorKind::invalid, "the answer is no list");
  all.resource_version = text_at(*list, "metadata", "resourceVersion");
  append_items(*list, all.items);
  return std::string(text_at(*list, "metadata", "continue"));
}

}  // namespace

Reply SyncApi::call(Request request) {
  // Shared, because the answer may come after we gave up.
  auto reply = std::make_shared<std::optional<Reply>>();
  Duration limit = request.limit + request.limit / 4 + seconds(1);
  std::string place = request.describe();
  api_.call(std::move(request), [reply](Reply answer) { *reply = std::move(answer); });
  run_until_([&] { return reply->has_value(); }, limit);
  if (!reply->has_value()) return fail(ErrorKind::timed_out, "no answer in time", place);
  return std::move(**reply);
}

Result<Document> SyncApi::document(Request request) {
  std::string place = request.describe();
  auto document = document_of(call(std::move(request)));
  if (!document && document.error().place.empty()) return fail(document.error().at(place));
  return document;
}

Result<Document> SyncApi::get(const ResourceType& type, const ObjectKey& key) {
  return document(kube::get(type, key));
}

Result<Document> SyncApi::create(const ResourceType& type, const std::string& ns, Json object) {
  return document(kube::create(type, ns, std::move(object)));
}

Result<Document> SyncApi::update(const ResourceType& type, const ObjectKey& key, Json object) {
  return document(kube::update(type, key, std::move(object)));
}

Result<Document> SyncApi::patch(const ResourceType& type, const ObjectKey& key,
                                PatchType patch_type, Json patch) {
  return document(kube::patch(type, key, patch_type, std::move(patch)));
}

Result<void> SyncApi::remove(const ResourceType& type, const ObjectKey& key, Json options) {
  LOCKSTEP_CHECK(document(kube::remove(type, key, std::move(options))));
  return {};
}

Result<SyncApi::Items> SyncApi::list(Request request, size_t page_size) {
  auto items = list_pages(request, page_size);
  bool expired = !items && items.error().kind == ErrorKind::expired;
  return expired ? list_pages(std::move(request), 0) : items;
}

// A page size of 0: all in one.
Result<SyncApi::Items> SyncApi::list_pages(Request request, size_t page_size) {
  Items all;
  std::string token;
  do {
    Request page = request;
    if (page_size > 0) page.with("limit", std::to_string(page_size));
    if (!token.empty()) page.with("continue", token);
    Reply reply = call(std::move(page));
    if (!reply) return fail(std::move(reply).error());
    if (!reply->ok()) return fail(reply->error().at(request.describe()));
    LOCKSTEP_TRY(std::string next, take_page(std::move(*reply), all));
    // A token that does not move on would page indefinitely.
    if (!next.empty() && next == token) {
      return fail(ErrorKind::invalid, "the list's continue token does not move on",
                  request.describe());
    }
    token = std::move(next);
  } while (!token.empty());
  return all;
}

}  // namespace lockstep::kube
