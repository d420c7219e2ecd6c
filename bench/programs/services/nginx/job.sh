# Two workers answer. $1: words before the command.
. ./ask.sh
seq -f '%.0f is a line of text' 100000 > data.txt
user=$([ "$(id -u)" != 0 ] || echo 'user root;')
$1 nginx -p "$PWD/" -c nginx.conf -g "$user" &
trap 'left nginx.pid' EXIT
soon page; ask 20; cksum answer
kill -QUIT "$(cat nginx.pid)"; wait
