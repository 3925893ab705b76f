#include "store/postgres/migrations.h"

#include <array>

namespace ordo::store::postgres {

// A plan made while the table was small stays a sequential scan and gets slower with every dead row. Settings
// of the functions themselves hold behind a transaction pooler, too. An explicit path: they run in the
// transactions of strangers.
const char* const kFunctionSettings1 = R"sql(
DO $do$
DECLARE
  v_function regprocedure;
  v_setting text;
BEGIN
  FOR v_function IN
    SELECT oid FROM pg_proc WHERE pronamespace = current_schema()::regnamespace AND proname LIKE 'ordo\_%'
                                  AND prolang <> (SELECT oid FROM pg_language WHERE lanname = 'sql')
  LOOP
    EXECUTE format('ALTER FUNCTION %s SET search_path = %I, pg_temp', v_function, current_schema());
    FOREACH v_setting IN ARRAY ARRAY['enable_seqscan', 'enable_hashjoin', 'enable_mergejoin', 'enable_bitmapscan', 'jit']
    LOOP
      EXECUTE format('ALTER FUNCTION %s SET %I = off', v_function, v_setting);
    END LOOP;
    EXECUTE format('ALTER FUNCTION %s SET plan_cache_mode = force_generic_plan', v_function);
  END LOOP;
END $do$;
)sql";

std::span<const Migration> migrations() {
  static const std::array kStep1 = {kTables1,        kLogFunctions1,  kOwnerFunctions1,  kRegistryFunctions1,
                                    kDeadFunctions1, kPushFunctions1, kFunctionSettings1};
  static const std::array kStep2 = {kReshard2, kFunctionSettings1};
  static const std::array kStep3 = {kPush3, kFunctionSettings3};
  static const std::array kStep4 = {kLog4, kDefine4, kFunctionSettings3};
  static const std::array kStep5 = {kNodes5, kHeads5, kLog5, kFunctionSettings3};
  static const std::array kStep6 = {kWaits6, kFunctionSettings3};
  static const std::array kStep7 = {kUnique7, kFunctionSettings3};
  static const std::array kStep8 = {kRules8, kUniquePush8, kPush8, kFunctionSettings3, kPushSettings8};
  static const std::array kStep9 = {kInbox9, kFunctionSettings3};
  static const std::array kStep10 = {kInbox10, kFunctionSettings3};
  static const std::array kStep11 = {kKept11, kFunctionSettings3};
  static const std::array kStep12 = {kRules12, kPush12, kFunctionSettings3, kPushSettings8};
  static const std::array kStep13 = {kPush13, kFunctionSettings3, kPushSettings8};
  static const std::array kStep14 = {kHistory14};
  static const std::array kStep15 = {kExpiry15, kPush15, kFunctionSettings3, kPushSettings8};
  static const std::array<Migration, 15> kAll = {kStep1,  kStep2,  kStep3,  kStep4,  kStep5,
                                                 kStep6,  kStep7,  kStep8,  kStep9,  kStep10,
                                                 kStep11, kStep12, kStep13, kStep14, kStep15};
  return kAll;
}

}  // namespace ordo::store::postgres
