#!/bin/sh
# Starts a measurement, whose provider is asked by two processes of the sample on one store, of which one has a dashboard;
# stops one of them in the middle of its work, then the measurement, then the other, each by SIGTERM. Leaves the report
# in report.json, what else they said in *.log, and what the dashboard said in page.html and queues.json.
# Prints the process ids of the two.
#   sh cache_refresh_processes.sh PROGRAM BENCH STORE-URL CMAKE
set -eu
program=$1
bench=$2
store=$3
cmake=$4
all='' heavy=''

# What a URL answers, which must be no error.
echo 'file(DOWNLOAD ${URL} ${INTO} TIMEOUT 20)' >download.cmake
download() { "$cmake" "-DURL=$1" "-DINTO=$2" -P download.cmake; }

# wait_for COMMAND...
wait_for() {
  for _ in $(seq 300); do
    "$@" && return
    sleep 0.1
  done
  echo "not within 30 s: $*"
  exit 1
}
says() { grep -q "$2" "$1"; }
stop() { kill "$1" && wait "$1"; }
give_up() {
  kill $provider $all $heavy 2>/dev/null || true
  cat ./*.log
}

config=$(dirname "$bench")/cache_refresh.d/pools_staggered.json
"$bench" --no-server --pools staggered --store "$store" --json >report.json 2>provider.log &
provider=$!
trap give_up EXIT
wait_for says provider.log 'listens on http'
url=$(sed -n 's/.*listens on //p' provider.log)
set -- --config "$config" --provider "$url" --store "$store" --seconds 0

"$program" "$@" --dashboard 0 >all.log 2>&1 &
all=$!
mkdir heavy_cache  # a cache of its own shows which entries are this process's
(cd heavy_cache && exec "$program" "$@" --queues game-cache-queue) >heavy.log 2>&1 &
heavy=$!
wait_for says all.log 'serves default'
wait_for says heavy.log 'serves game-cache-queue'
wait_for says heavy.log ' [2-9] entries'
wait_for says all.log 'dashboard is at http'
page=$(sed -n 's/.*dashboard is at //p' all.log)
download "$page/" page.html
download "$page/api/v1/queues" queues.json

stop $heavy    # while it is busy with the next one
sleep 2        # so that what is left is surely done in the time that the provider gives it
stop $provider # the other process does the rest meanwhile
stop $all
trap - EXIT
if grep 'serves default' heavy.log; then exit 1; fi
echo "$all $heavy"
