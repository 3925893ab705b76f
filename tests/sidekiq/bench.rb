# For bench.py: jobs that Sidekiq's own client pushes, and a worker that does nothing but count.
require "sidekiq"
require "json"

Redis.silence_deprecations = true
redis = { path: ENV.fetch("SOCKET"), driver: :hiredis }
Sidekiq.configure_client { |config| config.redis = redis }
Sidekiq.configure_server { |config| config.redis = redis }

class Note
  include Sidekiq::Worker
  @lock = Mutex.new
  @ran = 0
  class << self
    # The times of the first run and of the last.
    def count
      ran = @lock.synchronize { @ran += 1 }
      last = ENV.fetch("JOBS").to_i
      return unless [1, last].include?(ran)
      File.write(ran == last ? "last" : "first", Process.clock_gettime(Process::CLOCK_MONOTONIC).to_s)
    end
  end

  def perform(_order, _number) = self.class.count
end

case ENV["PUSH"]
when "bulk"
  ENV.fetch("JOBS").to_i.times.each_slice(1000) do |numbers|
    Sidekiq::Client.push_bulk("class" => Note, "args" => numbers.map { |n| [n % 1000, n] })
  end
when "single"
  ENV.fetch("JOBS").to_i.times do |n|
    Note.perform_async(n, n)
    sleep 0.02
  end
end
