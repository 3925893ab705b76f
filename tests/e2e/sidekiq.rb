# Sidekiq's own client and worker for sidekiq_ruby_test.py. SOCKET is the server's; what runs is noted in the list `ran`.
require "sidekiq"
Redis.silence_deprecations = true
REDIS = {path: ENV.fetch("SOCKET")}
Sidekiq.configure_client { |config| config.redis = REDIS }
Sidekiq.configure_server { |config| config.redis = REDIS }

class Note
  include Sidekiq::Worker

  def perform(*args)
    Sidekiq.redis { |redis| redis.rpush("ran", Sidekiq.dump_json([jid, args])) }
  end
end

# A JSON line each: {"call": "perform_async", "args": […]}, with "queue" and "in" where they are wanted.
if ENV["PUSH"]
  $stdin.each_line do |line|
    asked = Sidekiq.load_json(line)
    worker = asked["queue"] ? Note.set(queue: asked["queue"]) : Note
    case asked["call"]
    when "perform_async" then worker.perform_async(*asked["args"])
    when "perform_in" then Note.perform_in(asked["in"], *asked["args"])
    when "perform_bulk" then Note.perform_bulk(asked["args"])
    end
  end
end
