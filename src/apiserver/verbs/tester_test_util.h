// Short ways for a test to call the embedded API as a user with all rights: what must work, works,
// or the test fails with the request and the server's message.
#pragma once

#include <string_view>
#include <utility>

#include <gtest/gtest.h>

#include "apiserver/verbs/backend.h"
#include "apiserver/verbs/in_process_api.h"
#include "kube/api.h"

namespace lockstep::apiserver {

inline Json json_of(std::string_view text) {
  auto parsed = parse_json(text);
  EXPECT_TRUE(parsed) << (parsed ? "" : parsed.error().text()) << "\n" << text;
  return parsed ? *parsed : Json();
}

inline kube::Response send_as_tester(Backend& backend, const kube::Request& request) {
  return response_of(handle(backend, request, {"tester", {}, "test"}));
}

// The object of a successful answer.
inline Json must_answer(const kube::Request& request, kube::Response response) {
  auto document = kube::document_of(std::move(response));
  EXPECT_TRUE(document) << request.describe() << ": " << (document ? "" : document.error().text());
  return document ? **document : Json(JsonObject{});
}

}  // namespace lockstep::apiserver
