#!/bin/sh
# git packs a copy of the repository $1 with four threads. The deltas may vary, the objects may not.
# $2: a folder for the copy.
set -e
copy="$2/repack-$$.git"
trap 'rm -rf "$copy"' EXIT
git clone -q --bare --no-hardlinks "$1" "$copy"
git -C "$copy" -c pack.threads=4 repack -q -a -d -f --window=20 --depth=20
git -C "$copy" fsck --full --strict
git -C "$copy" cat-file --batch-all-objects --batch-check
git -C "$copy" log --format='%H %s' --stat main
git -C "$copy" archive main | cksum
