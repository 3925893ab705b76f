#pragma once

/// Everything of Ordo's C++ API but <ordo/testing.hpp>.
#include <ordo/admin.hpp>
#include <ordo/cli.hpp>
#include <ordo/client.hpp>
#include <ordo/codec.hpp>
#include <ordo/config.hpp>
#include <ordo/copy.hpp>
#include <ordo/dead_letter.hpp>
#include <ordo/error.hpp>
#include <ordo/events.hpp>
#include <ordo/execution.hpp>
#include <ordo/job.hpp>
#include <ordo/json.hpp>
#include <ordo/log.hpp>
#include <ordo/options.hpp>
#include <ordo/server.hpp>
#include <ordo/sidekiq.hpp>
#include <ordo/throttler.hpp>
#include <ordo/time.hpp>
#include <ordo/token.hpp>
#include <ordo/version.hpp>
#include <ordo/worker.hpp>
