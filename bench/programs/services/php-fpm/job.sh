# nginx, and php-fpm with two workers, whose pages start a program. $1: clear_env.
. ./ask.sh
fpm=$(command -v php-fpm || ls /usr/sbin/php-fpm?*)
user=$([ "$(id -u)" != 0 ] || echo 'user root;')
CLEAR_ENV=$1 "$fpm" --nodaemonize --allow-to-run-as-root --prefix "$PWD" --fpm-config fpm.conf &
nginx -p "$PWD/" -c nginx.conf -g "$user" &
trap 'left nginx.pid; left fpm.pid' EXIT
soon page; ask 6; cat answer
kill -QUIT "$(cat nginx.pid)" "$(cat fpm.pid)"; wait
