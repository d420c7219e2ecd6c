# Two workers. An application or a hook that cleans ENV also cleans that of the server's next start.
workers 2
threads 1, 1
bind "unix://job.sock"
pidfile "puma.pid"
on_restart { ENV.delete "LD_PRELOAD" } if ENV["PUMA_HOOK"] == "scrub"
begun = Time.now.to_f
app do |_|
  parts = (0...4000).map { |n| "x" * (600 + n) }
  [200, { "Content-Type" => "text/plain" }, ["#{parts.join.length} #{begun}"]]
end
