# Prints a page of Sidekiq Web, asked without a server: sidekiq_ruby_test.py.
require "sidekiq"
require "sidekiq/web"
require "rack"
require "rack/mock"
require "securerandom"
Redis.silence_deprecations = true
Sidekiq.configure_client { |config| config.redis = {path: ENV.fetch("SOCKET")} }

app = Rack::Builder.new do
  use Rack::Session::Cookie, secret: SecureRandom.hex(32)
  run Sidekiq::Web
end
answer = Rack::MockRequest.new(app).get(ARGV.fetch(0))
puts answer.body
abort "status #{answer.status}" unless answer.status == 200
