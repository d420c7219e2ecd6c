# A cluster of Debian's answers. $1: `keep` writes LD_PRELOAD to its file `environment`.
. ./ask.sh
folder=$(mktemp -d) # the user may not read this folder
server=
trap '[ -z "$server" ] || kill -INT $server; wait; rm -rf "$folder"' EXIT
. ./cluster.sh
if [ "$1" = keep ] && [ -n "${LD_PRELOAD-}" ]; then
  echo "LD_PRELOAD = '$LD_PRELOAD'" >> "$PG_CLUSTER_CONF_ROOT/$version/main/environment"
fi
cd "$folder"
$as pg_ctlcluster "$version" main start --foreground -- -o '-c fsync=off' > server.log 2>&1 &
server=$!
soon ask 'select 1'
ask "$work"; ask "$work"
