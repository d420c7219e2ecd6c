# A cluster of Debian's, as the user nobody where this is root. $1: `keep` writes LD_PRELOAD to its file `environment`.
. ./ask.sh
version=$(ls /usr/lib/postgresql | sort -V | tail -n 1)
folder=$(mktemp -d) # the user may not read this folder
server=
trap '[ -z "$server" ] || kill -INT $server; wait; rm -rf "$folder"' EXIT
as=
if [ "$(id -u)" = 0 ]; then
  chown nobody "$folder"
  as="setpriv --reuid=nobody --regid=nogroup --clear-groups"
fi
export PG_CLUSTER_CONF_ROOT=$folder/conf LC_ALL=C.UTF-8
ask() { psql -h "$folder" -U job -d postgres -Atc "$1"; }
work="select sum(length(t)) from (select string_agg(md5(g::text), ',') t from generate_series(1, 300000) g group by g % 1000) x"
(
  cd "$folder"
  $as pg_createcluster -d "$folder/data" -s "$folder" -l "$folder/log" "$version" job -- \
    --no-sync --auth=trust --username=job > created.log
  if [ "$1" = keep ] && [ -n "${LD_PRELOAD-}" ]; then
    echo "LD_PRELOAD = '$LD_PRELOAD'" >> "$PG_CLUSTER_CONF_ROOT/$version/job/environment"
  fi
)
cd "$folder"
$as pg_ctlcluster "$version" job start --foreground -- -o '-c listen_addresses= -c fsync=off' > server.log 2>&1 &
server=$!
soon ask 'select 1'
ask "$work"; ask "$work"
