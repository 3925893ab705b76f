#pragma once

#include <span>

namespace ordo::store::postgres {

/// The statements of one numbered step, run in one transaction. A released step is never edited.
using Migration = std::span<const char* const>;

/// All steps; the schema's version is their number.
std::span<const Migration> migrations();

// The parts of step 1.
extern const char* const kTables1;
extern const char* const kLogFunctions1;
extern const char* const kOwnerFunctions1;
extern const char* const kRegistryFunctions1;
extern const char* const kDeadFunctions1;
extern const char* const kPushFunctions1;
extern const char* const kFunctionSettings1;

// Of step 2; the settings are made again, for its functions.
extern const char* const kReshard2;

// Of step 3.
extern const char* const kPush3;
extern const char* const kFunctionSettings3;

// Of step 4; the settings are made again, for its functions.
extern const char* const kLog4;
extern const char* const kDefine4;

// Of step 5; the settings are made again, for its functions.
extern const char* const kNodes5;
extern const char* const kHeads5;
extern const char* const kLog5;

// Of step 6; likewise.
extern const char* const kWaits6;

// Of step 7; likewise.
extern const char* const kUnique7;

// Of step 8; the settings are made again, with some of its own.
extern const char* const kRules8;
extern const char* const kUniquePush8;
extern const char* const kPush8;
extern const char* const kPushSettings8;

// Of step 9; likewise.
extern const char* const kInbox9;

// Of step 10; likewise.
extern const char* const kInbox10;

// Of step 11; likewise.
extern const char* const kKept11;

// Of step 12; the settings are made again, those of step 8, too.
extern const char* const kRules12;
extern const char* const kPush12;

// Of step 13; likewise.
extern const char* const kPush13;

// Of step 14.
extern const char* const kHistory14;

// Of step 15; as of step 12.
extern const char* const kExpiry15;
extern const char* const kPush15;

}  // namespace ordo::store::postgres
