// JsonReader accepts exactly what parse_json accepts, and reads the same values from it; what is
// printed reads back equal; nothing crashes.
#include "data/json.h"
#include "data/json_reader.h"
#include "document_from_bytes.h"

namespace {

using namespace lockstep;

// The tree, built by hand from the pull reader's calls: another way through it than skip() and
// tree().
template <typename Reader>
Json pull(Reader& in, const Json& like) {
  if (like.is_object()) {
    JsonObject object;
    in.object([&](std::string_view name) {
      const std::string key(name);
      const Json* child = find(like, key);
      fuzz::require(child != nullptr, "keys are those of the tree");
      // A duplicate key may have had another type before: only the last one is in the tree.
      object.insert_or_assign(key, in.tree());
    });
    return object;
  }
  if (like.is_array()) {
    JsonArray array;
    size_t index = 0;
    in.array([&] {
      fuzz::require(index < like.get_array().size(), "as many items as the tree");
      array.push_back(pull(in, like.get_array()[index++]));
    });
    return array;
  }
  if (like.is_string()) return Json(in.text());
  if (like.is_bool()) return in.boolean();
  if (like.is_null()) {
    fuzz::require(in.at_null(), "at_null sees a null");
    in.skip();
    return nullptr;
  }
  if (like.is_int64()) return in.integer();
  if (like.is_double()) return in.number();
  return in.tree();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const Result<Json> tree = parse_json(text);

  JsonReader skipper(text);
  skipper.skip();
  const bool accepted = !skipper.failed() && skipper.at_end();
  fuzz::require(accepted == tree.has_value(), "the reader accepts what the parser accepts");
  if (skipper.failed()) {
    fuzz::require(skipper.error_offset() <= size, "the error is inside of the text");
    fuzz::require(skipper.error().kind == tree.error().kind, "for the same kind of reason");
  }
  if (!tree) return 0;

  JsonReader whole(text);
  fuzz::require(json_equal(whole.tree(), *tree) && whole.at_end(), "tree() is the parser's tree");
  JsonReader bytes(text);
  fuzz::require(json_equal(pull(bytes, *tree), *tree) && !bytes.failed(), "pulled from bytes");
  TreeReader nodes(*tree);
  fuzz::require(json_equal(pull(nodes, *tree), *tree) && !nodes.failed(), "pulled from the tree");

  for (const std::string& printed : {print_json(*tree), print_json_pretty(*tree)}) {
    const Result<Json> again = parse_json(printed);
    fuzz::require(again && json_equal(*again, *tree), "what is printed reads back equal");
  }
  return 0;
}
