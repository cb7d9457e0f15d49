#include "folder.h"

#include <filesystem>
#include <stdexcept>

#include <gtest/gtest.h>

#include "base/strings.h"
#include "cluster.h"
#include "world/files.h"

namespace lockstep::commands {

namespace {

ProcessOutput finish(Words words, const std::string& directory) {
  ProcessSpec spec;
  spec.command = std::move(words);
  spec.directory = directory;
  spec.limit = test_patience;
  auto output = SystemProcesses().run(spec);
  if (!output) throw std::runtime_error(output.error().text());
  return *output;
}

}  // namespace

Words operator+(Words words, const Words& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

ProcessOutput Folder::lockstep(Words words) const {
  return finish(Words{lockstep_program()} + words, path);
}

ProcessOutput Folder::bash(const std::string& script) const {
  return finish({"bash", "-c", script, lockstep_program()}, path);
}

std::string Folder::read(const std::string& name) const {
  auto text = SystemFiles().read(*this / name);
  EXPECT_TRUE(text.has_value()) << text.error().text();
  return text.value_or("");
}

Tree Folder::tree(const std::string& name) const {
  auto files = read_tree_with_modes(*this / name);
  EXPECT_TRUE(files.has_value()) << files.error().text();
  return files.value_or(Tree{});
}

bool Folder::exists(const std::string& name) const { return std::filesystem::exists(*this / name); }

void Folder::write_overlay(const std::string& name, const std::string& spec) const {
  write("data/overlays/" + name + ".yaml",
        "kind: RecipeMetadata\nmetadata: {name: " + name + "}\nspec:\n" + spec);
}

void expect_refused(const Folder& folder, const std::vector<Mistake>& mistakes) {
  for (const Mistake& mistake : mistakes) {
    ProcessOutput run = folder.lockstep(mistake.words);
    const std::string line = join(mistake.words, " ");
    EXPECT_EQ(run.exit_code, mistake.exit_code) << line << ": " << run.error;
    for (const std::string& said : mistake.said) {
      EXPECT_NE(run.error.find(said), std::string::npos)
          << line << " does not say " << said << ": " << run.error;
    }
    EXPECT_EQ(run.output, "") << line;
    EXPECT_FALSE(folder.exists("out")) << line;
  }
}

}  // namespace lockstep::commands
