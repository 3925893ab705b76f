#pragma once

#include <exception>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <ordo/admin.hpp>
#include <ordo/options.hpp>

#include "faces/job_traces.h"
#include "web/live_config.h"

namespace ordo::web {

/// Leaves out of payloads, and of errors that quote them, what the API is not to show ([web] redact and
/// hide_payloads).
class Veil {
 public:
  explicit Veil(const LiveConfig& config) : config_(config.now()) {}

  bool is_on() const { return web().hide_payloads || !web().redact.empty(); }
  void cover(JobView& job) const { cover(job.payloads, job.error); }
  /// Where not all payloads are kept, nobody can say what an error quotes of them: it is left out.
  void cover(JobTrace& trace) const;
  void cover(RecordView& record) const;
  void cover(DeadView& dead) const;
  /// Of jobs that failed it quotes an error.
  void cover(Finding& finding) const;
  /// Attempts quote the payloads of their job.
  void cover(std::vector<AttemptView>& attempts, const std::vector<Payload>& payloads) const;
  /// A response, or other bytes that came with a job.
  std::string covered(const std::string& bytes) const;

  /// What the log says of an error, which may quote a payload.
  std::string told(const std::exception& error) const;

  /// Throws Problem: who chooses by the whole of an error could guess what is left out of it.
  void refuse_choice_by(std::string_view error) const;

  /// Whether what is left of an error has the text that somebody looks for.
  bool shows(std::string_view error, std::string_view wanted) const {
    return !is_on() || error.find(wanted) != std::string_view::npos;
  }

 private:
  using Secrets = std::vector<std::string>;
  void cover(std::vector<Payload>& payloads, std::string& error) const;
  /// What is left of it; what is not is added to `secrets`.
  std::string covered(const std::string& bytes, Secrets& secrets) const;

  const WebOptions& web() const { return config_->web; }

  std::shared_ptr<const Config> config_;
};

}  // namespace ordo::web
