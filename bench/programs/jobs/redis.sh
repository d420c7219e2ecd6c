#!/bin/sh
# redis-server under redis-benchmark, then commands whose answers are always the same.
# $1: a folder for the socket. $2: requests of each kind, and 3 keys to each 5. $3: a factor.
socket="$1/redis-$$.sock"
redis-server --port 0 --unixsocket "$socket" --save "" --appendonly no --dir "$1" >"$1/redis-$$.log" 2>&1 &
server=$!
trap 'kill $server 2>/dev/null; wait $server 2>/dev/null; rm -f "$socket" "$1/redis-$$.log"' EXIT
tries=0
until redis-cli -s "$socket" ping >/dev/null 2>&1; do
    tries=$((tries + 1))
    [ $tries -lt 200 ] || exit 1
    sleep 0.05
done
redis-benchmark -s "$socket" -n "$2" -c 20 -q -t set,get,lpush,lrange_100,sadd,hset >/dev/null || exit 1
redis-cli -s "$socket" flushall
i=0
while [ $i -lt $(($2 * 3 / 5)) ]; do
    echo "set key:$i value-$((i * $3))"
    echo "hset hash:$((i % 50)) field-$i $i"
    echo "zadd scores $((i * 31 % 997)) member-$i"
    i=$((i + 1))
done | redis-cli -s "$socket" | sort | uniq -c
redis-cli -s "$socket" zrange scores 0 -1 withscores | cksum
redis-cli -s "$socket" get key:99
redis-cli -s "$socket" dbsize
redis-cli -s "$socket" shutdown nosave
wait $server
