// The driver versions that simulated fleets upgrade from and to, where nothing says otherwise.
#pragma once

namespace lockstep::sim {

inline constexpr auto old_version = "580.105.08";
inline constexpr auto new_version = "580.126.20";
inline constexpr auto third_version = "580.130.01";

}  // namespace lockstep::sim
