# Sidekiq's own client and worker for sidekiq_ruby_test.py. SOCKET is the server's; what runs is noted in the list `ran`.
require "sidekiq"
require "sidekiq/api"
Redis.silence_deprecations = true
REDIS = {path: ENV.fetch("SOCKET")}
Sidekiq.configure_client { |config| config.redis = REDIS }
Sidekiq.configure_server { |config| config.redis = REDIS }

class Note
  include Sidekiq::Worker

  def perform(*args)
    raise "boom" if args[1] == "fail"
    Sidekiq.redis { |redis| redis.rpush("ran", Sidekiq.dump_json([jid, args])) }
  end
end

# A JSON line each: {"call": "perform_async", "args": […]}, with "in" and options of the job in "set" where they are wanted.
if ENV["PUSH"]
  $stdin.each_line do |line|
    asked = Sidekiq.load_json(line)
    worker = asked.fetch("set", {}).empty? ? Note : Note.set(asked["set"].transform_keys(&:to_sym))
    case asked["call"]
    when "perform_async" then worker.perform_async(*asked["args"])
    when "perform_in" then worker.perform_in(asked["in"], *asked["args"])
    when "perform_bulk" then Note.perform_bulk(asked["args"])
    when "retry_all_dead" then Sidekiq::DeadSet.new.retry_all
    when "of_retries" then Sidekiq::RetrySet.new.find_job(asked["jid"]).public_send(asked["do"])
    end
  end
end
