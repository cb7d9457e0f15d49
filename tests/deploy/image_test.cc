// The image, as far as it can be tested without Docker and without a registry: its root, in which
// the program runs as the user `nobody`, and the archive that a container runtime imports.
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <unistd.h>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/sha256.h"
#include "cluster.h"
#include "data/gzip.h"
#include "data/yaml.h"
#include "workshop.h"

namespace lockstep::bundles::image_test {
namespace {

const Path scripts = LOCKSTEP_SCRIPTS;

struct Image : ::testing::Test {
  Image() : root(cluster.directory() + "/root") {
    must(fmt::format("'{}' '{}' '{}'", (scripts / "image-root").string(),
                     commands::lockstep_program(), root.string()));
  }
  std::string must(const std::string& script) {
    ProcessOutput run = cluster.sh(script);
    if (run.exit_code != 0) throw std::runtime_error(script + ": " + run.output + run.error);
    return run.output;
  }
  // As a pod's container runs: as the user `nobody`, with nothing but the image's files.
  ProcessOutput in_image(const std::string& words, const std::string& environment = "") {
    return cluster.sh(fmt::format(
        "env -i PATH=/usr/bin {} /usr/sbin/chroot --userspec=65532:65532 '{}' /usr/bin/lockstep {}",
        environment, root.string(), words));
  }

  commands::Cluster cluster;
  Path root;
};

TEST_F(Image, HasNoShellNoPackageManagerAndNothingThatAnybodyMayWrite) {
  std::vector<std::string> programs;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(root)) {
    std::string path = entry.path().lexically_relative(root).string();
    auto mode = std::filesystem::symlink_status(entry.path()).permissions();
    EXPECT_EQ(mode & (std::filesystem::perms::others_write | std::filesystem::perms::group_write |
                      std::filesystem::perms::set_uid | std::filesystem::perms::set_gid),
              std::filesystem::perms::none)
        << path;
    if (path.find("bin/") != std::string::npos) programs.push_back(path);
  }
  std::sort(programs.begin(), programs.end());
  EXPECT_EQ(programs,
            (std::vector<std::string>{"usr/bin/lockstep", "usr/bin/lockstep-dra-plugin"}));
  EXPECT_NE(read(root / "etc/ssl/certs/ca-certificates.crt").find("BEGIN CERTIFICATE"),
            std::string::npos);
  EXPECT_TRUE(std::filesystem::exists(root / "usr/share/doc/libcurl4/copyright"));
}

TEST_F(Image, ThePluginHasAllThatItLoads) {
  ProcessOutput run = in_image("dra-plugin --version");
  EXPECT_EQ(run.exit_code, 0) << run.error;
  EXPECT_EQ(run.output, in_image("--version").output);
}

// What readelf says of a program: position independent, all addresses resolved before it starts and
// read-only from then on, no executable stack, overflow checks compiled in, and no folder of its
// own to load libraries from.
std::vector<std::string> weaknesses(const std::string& program, const std::string& symbols) {
  std::vector<std::string> found;
  auto expect = [&](bool good, const char* what) {
    if (!good) found.push_back(what);
  };
  expect(program.find("Type: DYN (Position-Independent Executable") != std::string::npos, "no PIE");
  expect(program.find("GNU_RELRO") != std::string::npos, "no RELRO");
  expect(std::regex_search(program, std::regex("FLAGS_1\\).*NOW")), "lazy binding");
  expect(std::regex_search(program, std::regex("GNU_STACK.* RW ")), "executable stack");
  expect(!std::regex_search(program, std::regex("\\((RUNPATH|RPATH)\\)")), "RUNPATH");
  expect(symbols.find("__stack_chk_fail") != std::string::npos, "no stack protector");
  expect(std::regex_search(symbols, std::regex("__[a-z]+_chk@")), "not fortified");
  return found;
}

TEST_F(Image, ProgramsAreHardened) {
#ifdef LOCKSTEP_SANITIZED
  GTEST_SKIP() << "a build with sanitizers is not shipped, and not fortified";
#endif
  auto weaknesses_of = [&](const Path& program) {
    return weaknesses(must(fmt::format("readelf -hldW '{}' | tr -s ' '", program.string())),
                      must(fmt::format("readelf --dyn-syms -W '{}'", program.string())));
  };
  Path built = commands::lockstep_program();
  for (const Path& program : {built, Path(built.string() + "-dra-plugin"),
                              root / "usr/bin/lockstep", root / "usr/bin/lockstep-dra-plugin"}) {
    EXPECT_EQ(weaknesses_of(program), std::vector<std::string>{}) << program;
  }
  // The check itself can fail: a program without any of it.
  write(cluster.directory() + "/weak.c", "int main(void) { return 0; }\n");
  Path weak = cluster.directory() + "/weak";
  must(
      fmt::format("cc -no-pie -fno-stack-protector -Wl,-z,norelro,-z,lazy,-z,execstack,-rpath,/tmp "
                  "-o '{0}' '{0}.c'",
                  weak.string()));
  EXPECT_EQ(weaknesses_of(weak),
            (std::vector<std::string>{"no PIE", "no RELRO", "lazy binding", "executable stack",
                                      "RUNPATH", "no stack protector", "not fortified"}));
}

TEST_F(Image, RunsAsNobody) {
  if (geteuid() != 0) GTEST_SKIP() << "chroot needs root";
  ProcessOutput version = in_image("--version");
  EXPECT_EQ(version.exit_code, 0) << version.error;
  EXPECT_EQ(version.output, commands::run_lockstep({"--version"}).output);
  EXPECT_EQ(
      in_image("install --image registry.example.com/lockstep --dry-run").output,
      commands::run_lockstep({"install", "--image", "registry.example.com/lockstep", "--dry-run"})
          .output);
}

// Without a shell: what git needs for HTTPS is there, up to a connection that no server answers.
TEST_F(Image, WithGitReachesForARepositoryOverHttps) {
  if (geteuid() != 0) GTEST_SKIP() << "chroot needs root";
  Path with_git = cluster.directory() + "/root-with-git";
  must(fmt::format("'{}' '{}' '{}' --with-git", (scripts / "image-root").string(),
                   commands::lockstep_program(), with_git.string()));
  // As every container has it.
  must(fmt::format("mkdir '{0}/dev' && mknod -m 666 '{0}/dev/null' c 1 3", with_git.string()));
  auto git = [&](const std::string& words) {
    return cluster.sh(
        fmt::format("env -i PATH=/usr/bin HOME=/tmp /usr/sbin/chroot --userspec=65532:65532 '{}' "
                    "/usr/bin/git {}",
                    with_git.string(), words));
  };
  EXPECT_TRUE(git("--version").output.starts_with("git version ")) << git("--version").error;
  ProcessOutput asked = git("ls-remote https://127.0.0.1:1/versions");
  EXPECT_EQ(asked.exit_code, 128);
  EXPECT_NE(asked.error.find("Failed to connect to 127.0.0.1"), std::string::npos) << asked.error;
  EXPECT_FALSE(std::filesystem::exists(with_git / "bin/sh"));
}

// libcurl is loaded at run time, with everything that it needs for TLS; address, authority and
// token come as they come to a pod.
TEST_F(Image, ReachesAnApiServerOverTlsAsAPodDoes) {
  if (geteuid() != 0) GTEST_SKIP() << "chroot needs root";
  cluster.start("apiserver", {"apiserver", "--tls", "--token", "secret", "--kubeconfig-out",
                              cluster.kubeconfig()});
  cluster.require("kubeconfig", [&] { return std::filesystem::exists(cluster.kubeconfig()); });
  Json config = yaml(cluster.kubeconfig());
  const Json& entry = find(config, "clusters")->get_array()[0];
  std::smatch url;
  std::string server(text_at(entry, "cluster", "server"));
  ASSERT_TRUE(std::regex_match(server, url, std::regex("https://([^:]+):([0-9]+)"))) << server;
  Path account = root / "var/run/secrets/kubernetes.io/serviceaccount";
  std::filesystem::create_directories(account);
  write(account / "token", "secret");
  write(account / "namespace", "lockstep-system");
  write(cluster.directory() + "/authority",
        text_at(entry, "cluster", "certificate-authority-data"));
  must(
      fmt::format("base64 -d '{}/authority' > '{}/ca.crt'", cluster.directory(), account.string()));
  std::string environment = fmt::format("KUBERNETES_SERVICE_HOST={} KUBERNETES_SERVICE_PORT={}",
                                        url[1].str(), url[2].str());
  ProcessOutput installed = in_image("install --image registry.example.com/lockstep", environment);
  EXPECT_EQ(installed.exit_code, 0) << installed.error;
  EXPECT_NE(installed.output.find("created Deployment"), std::string::npos) << installed.output;
  // A server without a trusted certificate is refused.
  write(account / "ca.crt", read(root / "etc/ssl/certs/ca-certificates.crt"));
  ProcessOutput refused = in_image("install --image registry.example.com/lockstep", environment);
  EXPECT_EQ(refused.exit_code, 6) << refused.output << refused.error;
}

// A scanner for known weaknesses needs what is compiled in as well as what is beside it.
TEST_F(Image, ListsAllOfItsParts) {
  auto bill = parse_json(read(root / "usr/share/lockstep/sbom.cdx.json"));
  ASSERT_TRUE(bill) << bill.error().text();
  EXPECT_EQ(text_at(*bill, "bomFormat"), "CycloneDX");
  std::map<std::string, std::string> parts;
  for (const Json& part : find(*bill, "components")->get_array()) {
    const std::string name(text_at(part, "name"));
    const Json& how = find(part, "properties")->get_array()[0];
    EXPECT_FALSE(text_at(part, "version").empty()) << name;
    EXPECT_TRUE(text_at(part, "purl").starts_with("pkg:")) << name;
    EXPECT_TRUE(parts.emplace(name, text_at(how, "value")).second) << name << " twice";
  }
  for (const auto& entry : std::filesystem::directory_iterator(root / "var/lib/dpkg/status.d")) {
    EXPECT_EQ(parts[entry.path().filename().string()], "file") << entry.path();
  }
  EXPECT_EQ(parts["libc6"], "file");
  EXPECT_EQ(parts["ca-certificates"], "file");
  EXPECT_EQ(parts["libfmt-dev"], "compiled");
  EXPECT_EQ(parts["libboost-json1.81-dev"], "compiled");
  EXPECT_EQ(parts["libgrpc++-dev"], "compiled");
  EXPECT_FALSE(parts.contains("libgtest-dev")) << "only the tests use it";
  EXPECT_EQ(parts["preact"], "page");
  EXPECT_FALSE(parts.contains("esbuild")) << "it packs the page, and is no part of it";
}

TEST_F(Image, IsPackedAsAnArchiveThatSaysTheTruthAboutItself) {
  std::string pack = fmt::format("'{}' '{}' ", (scripts / "image-archive").string(), root.string());
  std::string archive = cluster.directory() + "/image.tar";
  std::string said = must(pack + "'" + archive + "'");
  EXPECT_NE(said.find("ghcr.io/lockstep-dev/lockstep:"), std::string::npos) << said;
  must(fmt::format("mkdir '{0}/layout' && tar -xf '{1}' -C '{0}/layout'", cluster.directory(),
                   archive));
  Path layout = cluster.directory() + "/layout";
  auto blob = [&](const Json& descriptor) {
    std::string digest(text_at(descriptor, "digest"));
    std::string content = read(layout / "blobs/sha256" / digest.substr(digest.find(':') + 1));
    EXPECT_EQ("sha256:" + sha256_hex(content), digest);
    EXPECT_EQ(static_cast<int64_t>(content.size()), as_integer(find(descriptor, "size")));
    return content;
  };
  EXPECT_EQ(text_at(*parse_json(read(layout / "oci-layout")), "imageLayoutVersion"), "1.0.0");
  Json index = *parse_json(read(layout / "index.json"));
  const Json& entry = find(index, "manifests")->get_array()[0];
  EXPECT_TRUE(text_at(entry, "annotations", "io.containerd.image.name")
                  .starts_with("ghcr.io/lockstep-dev/lockstep:"));
  Json manifest = *parse_json(blob(entry));
  Json config = *parse_json(blob(*find(manifest, "config")));
  auto layer = gunzip(blob(find(manifest, "layers")->get_array()[0]));
  ASSERT_TRUE(layer) << layer.error().text();
  EXPECT_EQ(texts(find(config, "rootfs", "diff_ids")),
            std::vector<std::string>{"sha256:" + sha256_hex(*layer)});
  // The Dockerfile says the same.
  std::string file = read(LOCKSTEP_DOCKERFILE);
  EXPECT_NE(file.find(fmt::format("USER {}\n", text_at(config, "config", "User"))),
            std::string::npos);
  EXPECT_NE(
      file.find(fmt::format("ENTRYPOINT {}\n", print_json(*find(config, "config", "Entrypoint")))),
      std::string::npos);
  EXPECT_NE(file.find(fmt::format("ENV {}\n", texts(find(config, "config", "Env"))[0])),
            std::string::npos);

  must(pack + "'" + archive + ".again'");
  EXPECT_TRUE(read(archive) == read(archive + ".again")) << "the same root gives another archive";
}

}  // namespace
}  // namespace lockstep::bundles::image_test
