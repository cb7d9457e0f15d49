// Sets of fields of an object, as metadata.managedFields keeps them (FieldsV1).
//
// A field is named by the steps that lead to it: a field of an object, an item of a list by its key
// fields or by its value. In FieldsV1 a step is "f:replicas", "k:{\"name\":\"web\"}",
// "v:\"finalizer\"" or "i:3"; a step without steps below it is in the set, one with steps below it
// only where it has ".".
#pragma once

#include <functional>
#include <vector>

#include "apiserver/apply/path_element.h"
#include "base/result.h"
#include "data/json.h"

namespace lockstep::apiserver {

struct Schema;

struct FieldNode;

class FieldSet {
 public:
  FieldSet();
  FieldSet(const FieldSet&);
  FieldSet(FieldSet&&) noexcept;
  FieldSet& operator=(const FieldSet&);
  FieldSet& operator=(FieldSet&&) noexcept;
  ~FieldSet();

  static Result<FieldSet> decode(const Json& fields_v1);
  Json encode() const;

  bool empty() const { return nodes_.empty(); }
  size_t size() const;
  bool operator==(const FieldSet&) const;

  // The empty path, the whole object, is never in a set.
  void insert(const FieldPath& path);
  bool has(const FieldPath& path) const;
  bool has(const PathElement& element) const;
  // What is below the element; null when nothing is.
  const FieldSet* below(const PathElement& element) const;
  // Takes the element and everything below it out.
  void erase(const PathElement& element);

  // In place. A field's parent and its children are fields of their own: subtracting one leaves the
  // others alone.
  void unite(const FieldSet& other);
  void subtract(const FieldSet& other);
  void intersect(const FieldSet& other);

  // Adds the declared fields on the way to what is in the set: to remove all of spec.replicas and
  // spec.paused means that spec itself may go.
  void add_named_parents(const Schema* schema);

  // Whether the encoded set has a member in common with this one. Reads only what is on our paths:
  // most managers have no stake in most changes.
  bool overlaps(const Json& fields_v1) const;
  // Whether the encoded set has every member of this one; likewise.
  bool is_within(const Json& fields_v1) const;

  // A level's own members first, then what is below them.
  void for_each(const std::function<void(const FieldPath&)>& visit) const;

 private:
  FieldNode& descend(const PathElement& element);
  void visit_below(FieldPath& path, const std::function<void(const FieldPath&)>& visit) const;

  // Sorted by element. Every node is a member or has members below it.
  std::vector<FieldNode> nodes_;
};

struct FieldNode {
  PathElement element;
  bool is_member = false;
  FieldSet below;

  bool operator==(const FieldNode&) const = default;
};

}  // namespace lockstep::apiserver
