// Which names, label keys and label values Kubernetes allows, in its own words: each function gives
// the complaints that a real API server would put into its 422 answer, none when the value is fine.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace lockstep {

using Complaints = std::vector<std::string>;

// "my-name": namespaces, most names inside a pod.
Complaints check_dns_label(std::string_view value);
// As above, but begins with a letter: services.
Complaints check_dns1035_label(std::string_view value);
// "example.com": the names of most objects.
Complaints check_dns_subdomain(std::string_view value);
// "example.com/MyName": label keys, finalizers, resource names.
Complaints check_qualified_name(std::string_view value);
// As above, whatever the case of its letters.
Complaints check_annotation_key(std::string_view value);
Complaints check_label_value(std::string_view value);
Complaints check_config_map_key(std::string_view value);
// "25%".
Complaints check_percent(std::string_view value);
// Names that a URL's path can contain: for kinds that allow any name (RBAC).
Complaints check_path_segment(std::string_view value);

// "a; b; c".
std::string join_complaints(const Complaints& complaints);

}  // namespace lockstep
