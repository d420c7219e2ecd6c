# Makes a cluster `main` of Debian's in $folder, of the user nobody where this is root: $as then runs what is to be his.
# It listens to a socket in $folder alone, so that another server of the same port does not matter.
version=$(ls /usr/lib/postgresql | sort -V | tail -n 1)
as=
if [ "$(id -u)" = 0 ]; then
  chown nobody "$folder"
  as="setpriv --reuid=nobody --regid=nogroup --clear-groups"
fi
export PG_CLUSTER_CONF_ROOT=$folder/conf LC_ALL=C.UTF-8
(
  cd "$folder"
  $as pg_createcluster -d "$folder/data" -s "$folder" -l "$folder/log" -p 5432 "$version" main -- \
    --no-sync --auth=trust --username=job > created.log
)
echo "listen_addresses = ''" >> "$PG_CLUSTER_CONF_ROOT/$version/main/postgresql.conf"
ask() { psql -p 5432 -h "$folder" -U job -d postgres -Atc "$1"; }
work="select sum(length(t)) from (select string_agg(md5(g::text), ',') t from generate_series(1, 300000) g group by g % 1000) x"
