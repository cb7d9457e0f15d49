// Calls that wait for their answer, for command-line code that has nothing else to do meanwhile:
// runs the loop until the answer is there.
#pragma once

#include <functional>
#include <vector>

#include "kube/api.h"
#include "world/loop.h"

namespace lockstep::kube {

class SyncApi {
 public:
  // The loop is an EventLoop, or in tests a VirtualLoop. Not from inside a callback of that loop.
  template <typename RunnableLoop>
  SyncApi(Api& api, RunnableLoop& loop)
      : api_(api), run_until_([&loop](const std::function<bool()>& done, Duration limit) {
          return loop.run_until(done, limit);
        }) {}

  // Waits a little longer than the request's own limit, in case nothing below obeys it. Then, or
  // when the loop is stopped, gives up with kind timed_out.
  Reply call(Request request);

  // Errors are errors here, whether no answer came or a bad one.
  Result<Document> get(const ResourceType& type, const ObjectKey& key);
  Result<Document> create(const ResourceType& type, const std::string& ns, Json object);
  Result<Document> update(const ResourceType& type, const ObjectKey& key, Json object);
  Result<Document> patch(const ResourceType& type, const ObjectKey& key, PatchType patch_type,
                         Json patch);
  Result<void> remove(const ResourceType& type, const ObjectKey& key, Json options = nullptr);

  struct Items {
    std::string resource_version;
    std::vector<Document> items;
  };
  // All pages. `request` may carry selectors; a continue token that expires begins again, once,
  // with all in one.
  Result<Items> list(Request request, size_t page_size = 500);

 private:
  Result<Document> document(Request request);
  Result<Items> list_pages(Request request, size_t page_size);

  Api& api_;
  std::function<bool(const std::function<bool()>&, Duration)> run_until_;
};

}  // namespace lockstep::kube
