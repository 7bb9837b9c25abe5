#!/bin/sh
# Starts a provider, which begins and reports the run and has a dashboard, and two workers on one store; stops a worker in the middle of its
# work, then the provider, then the other worker, each by SIGTERM. Leaves the report in report.json, and what else they said in *.log.
# Prints the workers' process ids.
# What the dashboard said meanwhile is in page.html and queues.json.
#   sh cache_refresh_processes.sh PROGRAM STORE-URL CMAKE
set -eu
program=$1
store=$2
cmake=$3
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
has_filled_two() { [ "$(find heavy_cache -name '*Cache.json' | wc -l)" -ge 2 ]; }
stop() { kill "$1" && wait "$1"; }
give_up() {
  kill $provider $all $heavy 2>/dev/null || true
  cat ./*.log
}

"$program" --role provider --pools staggered --store "$store" --dashboard 0 --json >report.json 2>provider.log &
provider=$!
trap give_up EXIT
wait_for says provider.log 'listens on http'
wait_for says provider.log 'dashboard is at http'
url=$(sed -n 's/.*listens on //p' provider.log)

"$program" --role work --pools staggered --provider "$url" --store "$store" >all.log 2>&1 &
all=$!
mkdir heavy_cache  # a folder of its own shows which entries are this worker's
(cd heavy_cache && exec "$program" --role work --pools staggered --provider "$url" --store "$store" --queues game-cache-queue) \
  >heavy.log 2>&1 &
heavy=$!
wait_for says all.log 'serves default'
wait_for says heavy.log 'serves game-cache-queue'
wait_for has_filled_two
page=$(sed -n 's/.*dashboard is at //p' provider.log)
download "$page/" page.html
download "$page/api/v1/queues" queues.json

stop $heavy    # while it is busy with the next one
sleep 2        # so that what is left is surely done in the time that the provider gives it
stop $provider # the other worker does the rest meanwhile
stop $all
trap - EXIT
if grep 'serves default' heavy.log; then exit 1; fi
echo "$all $heavy"
