// Reading the fields of a kubeconfig by their Go types: a missing or null field is empty, another
// type is an error that names the field, an unknown field is nobody's business.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "data/json.h"

namespace lockstep::kube {

class ConfigFields {
 public:
  // `where` begins the place of errors: "config: users[0].user".
  ConfigFields(const Json& value, std::string where);

  std::string text(std::string_view key);
  bool flag(std::string_view key);
  // Base64 in the file, bytes here.
  std::string data(std::string_view key);
  std::vector<std::string> texts(std::string_view key);
  std::map<std::string, std::vector<std::string>> text_lists(std::string_view key);
  // A path in the file, resolved against the folder of the file.
  std::string path(std::string_view key, std::string_view folder);
  // The object at `key`; one without fields when it is missing.
  ConfigFields object(std::string_view key);
  // The objects of a list.
  std::vector<ConfigFields> objects(std::string_view key);
  const Json* raw(std::string_view key) const;
  bool has(std::string_view key) const { return raw(key) != nullptr; }

  const std::string& where() const { return where_; }
  // The first thing that was wrong, here or in what object() and objects() gave out and was handed
  // back with check().
  Result<void> check() const;
  void check(const ConfigFields& child);

 private:
  void wrong(std::string_view key, std::string_view wanted, const Json& found);
  std::string text_of(const Json& value, std::string_view key);

  const JsonObject* object_ = nullptr;
  std::string where_;
  std::optional<Error> error_;
};

// `path` as the kernel would see it from the folder `folder`; "" stays "".
std::string resolve_path(std::string_view path, std::string_view folder);
std::string folder_of(std::string_view path);

}  // namespace lockstep::kube
