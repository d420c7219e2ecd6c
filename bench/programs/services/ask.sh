# What the scripts of the servers share: to wait for a command's success, to ask for pages, to end a server.
soon() {
  for n in $(seq 600); do if "$@" > soon.log 2>&1; then return; fi; sleep .1; done
  echo "$*: never" >&2; exit 1
}
left() { for file in "$1"*; do if [ -s "$file" ]; then kill "$(cat "$file")"; fi; done; }
page() { curl -sf --compressed --unix-socket job.sock http://job/data.txt; }
ask() { for n in $(seq "$1"); do page > answer; done; }
gone() { ! kill -0 "$1"; }
