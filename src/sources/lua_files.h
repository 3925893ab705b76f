#pragma once

// The scripts of sources, embedded (cmake/embed.cmake).
namespace ordo::sources {

extern const char* const kLowkiqMoveLua;
extern const char* const kSidekiqTakeLua;
extern const char* const kSidekiqMoveLua;
extern const char* const kSidekiqLeaveLua;

}  // namespace ordo::sources
