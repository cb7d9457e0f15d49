#include "data/yaml_tree.h"

#include <gtest/gtest.h>

namespace lockstep::yaml::yaml_tree_test {
namespace {

const Node& child(const Tree& tree, size_t index) {
  return tree.nodes[tree.root().children.at(index)];
}

std::string_view bytes_of(std::string_view text, const Node& node) {
  return text.substr(node.start.offset, node.end.offset - node.start.offset);
}

TEST(YamlTree, places_count_bytes_behind_wide_characters_and_crlf) {
  const std::string_view text =
      "\xEF\xBB\xBF\u00E9: \U0001F600\r\nb: 'x'  # \u20AC\r\nc: [\u00E9, y]\r\n";
  const auto trees = compose(text, "f", {});
  ASSERT_TRUE(trees) << trees.error().text();
  const Tree& tree = trees->front();
  EXPECT_EQ(bytes_of(text, child(tree, 0)), "\u00E9");
  EXPECT_EQ(bytes_of(text, child(tree, 1)), "\U0001F600");
  EXPECT_EQ(bytes_of(text, child(tree, 3)), "'x'");
  const Node& list = child(tree, 5);
  EXPECT_EQ(bytes_of(text, tree.nodes[list.children[1]]), "y");
  EXPECT_EQ(place("f", tree.nodes[list.children[1]].start), "f:3:8");
  EXPECT_TRUE(tree.nodes[list.children[1]].in_flow);
  EXPECT_FALSE(child(tree, 3).in_flow);
}

TEST(YamlTree, styles_tags_and_anchors) {
  const auto trees = compose("[a, 'b', \"c\", &x !!str 5, ! 6, *x]", "", {});
  ASSERT_TRUE(trees);
  const Tree& tree = trees->front();
  EXPECT_EQ(child(tree, 0).style, ScalarStyle::plain);
  EXPECT_EQ(child(tree, 1).style, ScalarStyle::single_quoted);
  EXPECT_EQ(child(tree, 2).style, ScalarStyle::double_quoted);
  EXPECT_EQ(tree.properties_of(child(tree, 3)).anchor, "x");
  EXPECT_EQ(tree.properties_of(child(tree, 3)).tag, "tag:yaml.org,2002:str");
  EXPECT_EQ(tree.properties_of(child(tree, 4)).tag, "!");
  EXPECT_TRUE(child(tree, 3).is_aliased);
  EXPECT_FALSE(child(tree, 4).is_aliased);
  EXPECT_EQ(child(tree, 5).kind, NodeKind::alias);
  EXPECT_EQ(&tree.nodes[child(tree, 5).target], &child(tree, 3));
}

TEST(YamlTree, an_alias_means_the_last_anchor_before_it) {
  const auto trees = compose("[&x 1, &x 2, *x]", "", {});
  ASSERT_TRUE(trees);
  EXPECT_EQ(trees->front().nodes[child(trees->front(), 2).target].text, "2");
}

TEST(YamlTree, anchors_end_with_their_document) {
  const auto trees = compose("a: &x 1\n---\nb: *x\n", "f", {});
  ASSERT_FALSE(trees);
  EXPECT_EQ(trees.error().place, "f:3:4");
}

TEST(YamlTree, documents_of_comments_are_empty) {
  const auto trees = compose("# a\n---\n# b\n---\nnull\n---\n!!str\n", "", {});
  ASSERT_TRUE(trees);
  ASSERT_EQ(trees->size(), 3u);
  EXPECT_TRUE((*trees)[0].is_empty());
  EXPECT_FALSE((*trees)[1].is_empty());
  EXPECT_FALSE((*trees)[2].is_empty());
}

TEST(YamlTree, properties_are_skipped) {
  EXPECT_EQ(skip_properties("&a !!str  v", 0), 10u);
  EXPECT_EQ(skip_properties("!t # why\n  v", 0), 11u);
  EXPECT_EQ(skip_properties("v", 0), 0u);
  EXPECT_EQ(skip_properties("!t", 0), 2u);
}

}  // namespace
}  // namespace lockstep::yaml::yaml_tree_test
