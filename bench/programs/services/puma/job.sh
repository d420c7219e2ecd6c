# Two workers answer; then a signal starts the server anew, whose workers answer too. $1: what its hook does then.
. ./ask.sh
anew() { page > after; ! cmp -s answer after; }
PUMA_HOOK=$1 puma -C puma.rb >&2 &
trap 'left puma.pid' EXIT
soon page; ask 10
kill -USR2 "$(cat puma.pid)"; soon anew; ask 80; cut -d ' ' -f 1 answer
kill -TERM "$(cat puma.pid)"; wait
