#include "bundle/restart_script.h"

#include <string>

#include <gtest/gtest.h>

#include "bundle/deployers_test_util.h"
#include "bundle/shell_text.h"

namespace lockstep::bundle::restart_script_test {
namespace {

bool has(const std::string& script, std::string_view part) {
  return script.find(part) != std::string::npos;
}

TEST(RestartScript, IsNotThereWhenNothingIsToBeRestarted) {
  BundleModel model = sample_model();
  model.restarts.clear();
  EXPECT_EQ(restart_functions(model), "");
}

TEST(RestartScript, FollowsItsRelease) {
  BundleModel model = sample_model();
  model.restarts.push_back(model.restarts[0]);
  model.restarts[1].plugin_namespace = "second";
  EXPECT_TRUE(has(restart_functions(model),
                  "    operator-post)\n"
                  "      restart_older_pods plugin-system 'app=plugin,part=node' operator-system "
                  "'app=driver' 1200 300\n"
                  "      restart_older_pods second 'app=plugin,part=node' operator-system "
                  "'app=driver' 1200 300\n"
                  "      ;;\n"));
}

TEST(RestartScript, SelectorsAreQuoted) {
  const std::string script = restart_functions(nasty_model());
  const std::string word = shell_word(nasty_text);
  EXPECT_TRUE(has(script, "plugin-system " + word + " operator-system " + word + " 1200"));
}

TEST(RestartScript, ComparesGenerationRevisionAndReadiness) {
  const std::string script = restart_functions(sample_model());
  for (const std::string_view field :
       {".metadata.generation", ".status.observedGeneration", ".status.desiredNumberScheduled",
        ".status.updatedNumberScheduled", ".status.startTime", "gpu-driver-upgrade",
        ".lastTransitionTime", ".metadata.deletionTimestamp"}) {
    EXPECT_TRUE(has(script, field)) << field;
  }
}

// The bash of macOS is of 2007.
TEST(RestartScript, UsesNothingThatOldBashLacks) {
  const std::string script = restart_functions(sample_model());
  for (const std::string_view word : {"mapfile", "readarray", "declare -A", "local -A"}) {
    EXPECT_FALSE(has(script, word)) << word;
  }
}

}  // namespace
}  // namespace lockstep::bundle::restart_script_test
