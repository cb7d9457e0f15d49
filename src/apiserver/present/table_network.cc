// Services and their endpoints.
#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "apiserver/present/table_printers.h"
#include "base/strings.h"

namespace lockstep::apiserver {

namespace {

std::string load_balancer_addresses(const Json& service) {
  std::set<std::string> addresses;
  for (const Json& ingress : elements(find(service, "status", "loadBalancer", "ingress"))) {
    const std::string_view ip = text_at(ingress, "ip");
    const std::string_view address = ip.empty() ? text_at(ingress, "hostname") : ip;
    if (!address.empty()) addresses.emplace(address);
  }
  return join({addresses.begin(), addresses.end()}, ",");
}

std::string external_ip(const Json& service) {
  const std::string_view type = text_at(service, "spec", "type");
  const std::string external = joined_texts(find(service, "spec", "externalIPs"), "", ",");
  if (type == "ClusterIP" || type == "NodePort") return external.empty() ? "<none>" : external;
  if (type == "ExternalName") return std::string(text_at(service, "spec", "externalName"));
  if (type != "LoadBalancer") return "<unknown>";
  const std::string balanced = load_balancer_addresses(service);
  if (balanced.empty() && external.empty()) return "<pending>";
  if (balanced.empty() || external.empty()) return balanced + external;
  return balanced + "," + external;
}

std::string service_ports(const Json& service) {
  std::vector<std::string> ports;
  for (const Json& port : elements(find(service, "spec", "ports"))) {
    const int64_t number = as_integer(find(port, "port"));
    const int64_t node_port = as_integer(find(port, "nodePort"));
    const std::string_view protocol = text_at(port, "protocol");
    ports.push_back(node_port > 0 ? fmt::format("{}:{}/{}", number, node_port, protocol)
                                  : fmt::format("{}/{}", number, protocol));
  }
  return ports.empty() ? "<none>" : join(ports, ",");
}

std::string_view cluster_ip(const Json& service) {
  for (const Json& address : elements(find(service, "spec", "clusterIPs")))
    return as_text(&address);
  const std::string_view only = text_at(service, "spec", "clusterIP");
  return only.empty() ? "<none>" : only;
}

void service_cells(const Json& service, Time now, JsonArray& cells) {
  cells.push_back(name_cell(service));
  cells.push_back(text_cell(text_at(service, "spec", "type")));
  cells.push_back(text_cell(cluster_ip(service)));
  cells.push_back(text_cell(external_ip(service)));
  cells.push_back(text_cell(service_ports(service)));
  cells.push_back(age_cell(service, now));
  cells.push_back(text_cell(format_labels(find(service, "spec", "selector"))));
}

// "10.0.0.1:80", and brackets around IPv6.
std::string host_and_port(std::string_view host, int64_t port) {
  return host.find(':') == std::string_view::npos ? fmt::format("{}:{}", host, port)
                                                  : fmt::format("[{}]:{}", host, port);
}

std::string endpoints_text(const Json& endpoints) {
  const std::span<const Json> subsets = elements(find(endpoints, "subsets"));
  if (subsets.empty()) return "<none>";
  std::vector<std::string> addresses;
  for (const Json& subset : subsets) {
    const std::span<const Json> hosts = elements(find(subset, "addresses"));
    const std::span<const Json> ports = elements(find(subset, "ports"));
    for (const Json& host : hosts) {
      if (ports.empty()) addresses.emplace_back(text_at(host, "ip"));
    }
    for (const Json& port : ports) {
      for (const Json& host : hosts) {
        addresses.push_back(host_and_port(text_at(host, "ip"), as_integer(find(port, "port"))));
      }
    }
  }
  return first_three(addresses, "");
}

void endpoints_cells(const Json& object, Time now, JsonArray& cells) {
  cells.push_back(name_cell(object));
  cells.push_back(text_cell(endpoints_text(object)));
  cells.push_back(age_cell(object, now));
}

std::string slice_ports(const Json& slice) {
  std::vector<std::string> ports;
  for (const Json& port : elements(find(slice, "ports"))) {
    const Json* number = find(port, "port");
    const std::string_view name = text_at(port, "name");
    if (number != nullptr && !number->is_null()) {
      ports.push_back(std::to_string(as_integer(number)));
    } else {
      ports.emplace_back(name);
    }
  }
  return first_three(ports, "<unset>");
}

void endpoint_slice_cells(const Json& slice, Time now, JsonArray& cells) {
  std::vector<std::string> addresses;
  for (const Json& endpoint : elements(find(slice, "endpoints"))) {
    for (const Json& address : elements(find(endpoint, "addresses"))) {
      addresses.emplace_back(as_text(&address));
    }
  }
  cells.push_back(name_cell(slice));
  cells.push_back(text_cell(text_at(slice, "addressType")));
  cells.push_back(text_cell(slice_ports(slice)));
  cells.push_back(text_cell(first_three(addresses, "<unset>")));
  cells.push_back(age_cell(slice, now));
}

void network_policy_cells(const Json& policy, Time now, JsonArray& cells) {
  cells.push_back(name_cell(policy));
  cells.push_back(text_cell(format_selector(find(policy, "spec", "podSelector"))));
  cells.push_back(age_cell(policy, now));
}

}  // namespace

std::vector<Printer> network_printers() {
  return {
      {"", "Service",
       name_and_age({text_column("Type", "How the service is reached."),
                     text_column("Cluster-IP", "Its address inside the cluster."),
                     text_column("External-IP", "Its addresses outside the cluster."),
                     text_column("Port(s)", "Its ports.")},
                    {text_column("Selector", "Which pods serve it.", 1)}),
       service_cells},
      {"", "Endpoints", name_and_age({text_column("Endpoints", "Addresses that serve it.")}),
       endpoints_cells},
      {"discovery.k8s.io", "EndpointSlice",
       name_and_age({text_column("AddressType", "IPv4, IPv6 or FQDN."),
                     text_column("Ports", "Ports that are served."),
                     text_column("Endpoints", "Addresses that serve them.")}),
       endpoint_slice_cells},
      {"networking.k8s.io", "NetworkPolicy",
       name_and_age({text_column("Pod-Selector", "Which pods it is about.")}),
       network_policy_cells},
  };
}

}  // namespace lockstep::apiserver
