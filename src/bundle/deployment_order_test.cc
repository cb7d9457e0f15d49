#include "bundle/deployment_order.h"

#include <algorithm>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "base/strings.h"

namespace lockstep::bundle::deployment_order_test {
namespace {

ComponentRef component(std::string name, std::vector<std::string> dependencies = {}) {
  ComponentRef ref;
  ref.name = std::move(name);
  ref.dependencies = std::move(dependencies);
  ref.place = "o.yaml:3:5";
  return ref;
}

std::string order_of(const std::vector<ComponentRef>& components) {
  auto order = deployment_order(components);
  return order ? join(*order, " ") : order.error().text();
}

TEST(DeploymentOrder, TakesTheSmallestNameThatIsReady) {
  EXPECT_EQ(order_of({}), "");
  EXPECT_EQ(order_of({component("c"), component("a"), component("b")}), "a b c");
  EXPECT_EQ(order_of({component("a", {"z"}), component("b"), component("z")}), "b z a");
  // "a" becomes ready while "x" waits, and comes before it.
  EXPECT_EQ(order_of({component("a", {"k"}), component("k"), component("x")}), "k a x");
  EXPECT_EQ(order_of({component("a", {"k", "k"}), component("k")}), "k a");
}

TEST(DeploymentOrder, RefusesAMissingDependencyAndACycle) {
  EXPECT_EQ(order_of({component("a", {"gpu-opreator"}), component("gpu-operator")}),
            "o.yaml:3:5: a depends on \"gpu-opreator\", which is not in this recipe; did you mean "
            "\"gpu-operator\"?");
  EXPECT_EQ(order_of({component("a", {"a"})}),
            "components depend on each other in a circle: a -> a");
  EXPECT_EQ(order_of({component("a", {"c"}), component("b", {"d"}), component("c", {"d"}),
                      component("d", {"b"}), component("free")}),
            "components depend on each other in a circle: d -> b -> d");
}

RC_GTEST_PROP(DeploymentOrder, PutsEveryDependencyFirstWhateverTheInputOrder, ()) {
  int count = *rc::gen::inRange(1, 9);
  std::vector<int> rank;
  for (int i = 0; i < count; ++i) rank.push_back(i);
  std::vector<ComponentRef> components;
  for (int i = 0; i < count; ++i) {
    std::vector<std::string> dependencies;
    for (int other = 0; other < i; ++other) {
      if (*rc::gen::arbitrary<bool>())
        dependencies.push_back(std::string(1, 'z' - (other * 7) % 26));
    }
    components.push_back(component(std::string(1, 'z' - (i * 7) % 26), dependencies));
  }
  auto order = deployment_order(components);
  RC_ASSERT(order.has_value());
  RC_ASSERT(order->size() == components.size());
  auto position = [&](const std::string& name) {
    return std::find(order->begin(), order->end(), name) - order->begin();
  };
  for (const ComponentRef& ref : components) {
    for (const std::string& dependency : ref.dependencies) {
      RC_ASSERT(position(dependency) < position(ref.name));
    }
  }
  std::reverse(components.begin(), components.end());
  RC_ASSERT(*deployment_order(components) == *order);
}

}  // namespace
}  // namespace lockstep::bundle::deployment_order_test
