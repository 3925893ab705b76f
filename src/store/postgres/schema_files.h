#pragma once

namespace ordo::store::postgres {

// The files of schema/ (cmake/embed.cmake).
extern const char* const kTablesSql;
extern const char* const kLogSql;
extern const char* const kOwnerSql;
extern const char* const kDeadSql;
extern const char* const kRegistrySql;
extern const char* const kNodesSql;
extern const char* const kWaitsSql;
extern const char* const kRulesSql;
extern const char* const kUniqueSql;
extern const char* const kPushSql;
extern const char* const kSettingsSql;

}  // namespace ordo::store::postgres
