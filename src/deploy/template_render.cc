#include "deploy/template_render.h"

#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/strings.h"
#include "data/yaml.h"
#include "deploy/template_functions.h"

namespace lockstep::deploy {

namespace {

// A definition that includes itself would never end.
constexpr int deepest_include = 20;

class Renderer {
 public:
  Renderer(const Definitions& definitions, const Json& root, const std::string& name)
      : definitions_(definitions), root_(root), name_(name) {}

  Result<void> nodes(const TemplateNodes& list, const Json& dot, std::string& out) {
    for (const TemplateNode& node : list) LOCKSTEP_CHECK(one(node, dot, out));
    return {};
  }

 private:
  Result<void> one(const TemplateNode& node, const Json& dot, std::string& out) {
    if (node.kind == TemplateNode::Kind::text) {
      out += node.text;
      return {};
    }
    LOCKSTEP_TRY(Json value, evaluate(node.expression, dot));
    if (node.kind == TemplateNode::Kind::output) {
      auto text = template_text(value);
      if (!text) return fail(text.error().at(place(node.expression)));
      out += *text;
      return {};
    }
    if (!is_true(value)) return nodes(node.otherwise, dot, out);
    if (node.kind == TemplateNode::Kind::condition) return nodes(node.body, dot, out);
    if (node.kind == TemplateNode::Kind::with) return nodes(node.body, value, out);
    if (!value.is_array()) {
      return fail(ErrorKind::invalid, "range accepts only lists", place(node.expression));
    }
    for (const Json& item : value.get_array()) LOCKSTEP_CHECK(nodes(node.body, item, out));
    return {};
  }

  std::string place(const Expression& expression) const {
    return fmt::format("{}:{}", name_, expression.line);
  }

  Result<Json> evaluate(const Expression& expression, const Json& dot) {
    if (expression.kind == Expression::Kind::literal) return expression.literal;
    if (expression.kind == Expression::Kind::path) return at_path(expression, dot);
    std::vector<Json> arguments;
    for (const Expression& argument : expression.arguments) {
      LOCKSTEP_TRY(Json value, evaluate(argument, dot));
      arguments.push_back(std::move(value));
    }
    Result<Json> value = expression.function == "include"
                             ? include(arguments)
                             : call_function(expression.function, arguments);
    if (!value && value.error().place.empty()) return fail(value.error().at(place(expression)));
    return value;
  }

  Result<Json> at_path(const Expression& expression, const Json& dot) const {
    const Json* value = expression.from_root ? &root_ : &dot;
    static const Json nothing;
    for (const std::string& key : expression.path) {
      if (!value->is_object()) {
        return fail(ErrorKind::invalid,
                    fmt::format(".{}: nothing to read {} from", join(expression.path, "."), key),
                    place(expression));
      }
      const Json* child = find(*value, key);
      value = child == nullptr ? &nothing : child;
    }
    return *value;
  }

  Result<Json> include(const std::vector<Json>& arguments) {
    if (arguments.size() != 2 || !arguments[0].is_string()) {
      return failf(ErrorKind::invalid, "include needs a name and a value");
    }
    auto at = definitions_.find(std::string(as_text(&arguments[0])));
    if (at == definitions_.end()) {
      return failf(ErrorKind::invalid, "unknown template {}", print_json(arguments[0]));
    }
    if (++depth_ > deepest_include)
      return failf(ErrorKind::invalid, "{} includes itself", at->first);
    // Inside, "$" is what was handed in.
    Renderer inner(definitions_, arguments[1], name_);
    inner.depth_ = depth_;
    std::string text;
    LOCKSTEP_CHECK(inner.nodes(at->second, arguments[1], text));
    --depth_;
    return Json(JsonString(text));
  }

  const Definitions& definitions_;
  const Json& root_;
  const std::string& name_;
  int depth_ = 0;
};

}  // namespace

Result<std::string> render_template(const TemplateNodes& nodes, const Definitions& definitions,
                                    const Json& root, const std::string& name) {
  std::string text;
  LOCKSTEP_CHECK(Renderer(definitions, root, name).nodes(nodes, root, text));
  return text;
}

}  // namespace lockstep::deploy
