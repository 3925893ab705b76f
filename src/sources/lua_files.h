#pragma once

// The scripts of sources, embedded (cmake/embed.cmake).
namespace ordo::sources {

extern const char* const kLowkiqMoveLua;
extern const char* const kResqueFailedLua;
extern const char* const kSidekiqTakeLua;
extern const char* const kSidekiqMoveLua;
extern const char* const kSidekiqLeaveLua;
extern const char* const kSidekiqMirrorLua;
extern const char* const kSidekiqRetryLua;

}  // namespace ordo::sources
