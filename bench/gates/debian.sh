#!/bin/sh
# Another release of Debian in a folder: the quick tests by its Python, and bench/gates/compilers.py with its compilers.
#
# As root, in the repository: sh bench/gates/debian.sh FOLDER SUITE PYTHON [COMPILER]...
# such as: sh bench/gates/debian.sh /srv/sid sid python3.14 gcc-15 clang-22. FOLDER keeps the system for the next time.
# Needs debootstrap and the network; MIRROR names a mirror, REPORT the file of the outcomes, which keeps other rows,
# DESIGNS the built-in designs (default: all).
set -eu
[ $# -ge 3 ] || { echo "usage: sh $0 FOLDER SUITE PYTHON [COMPILER]..." >&2; exit 2; }
[ "$(id -u)" = 0 ] || { echo "$0: expected root, who may mount and chroot" >&2; exit 3; }
command -v debootstrap >/dev/null || { echo "$0: debootstrap not found (Debian: apt install debootstrap)" >&2; exit 3; }
folder=$1 suite=$2 python=$3
shift 3
report=${REPORT:-bench/gates/compilers.json}

if [ "${IN_NAMESPACE:-}" != "$folder" ]; then # so that no mount is left behind
  IN_NAMESPACE=$folder exec unshare --mount --pid --fork --kill-child sh "$0" "$folder" "$suite" "$python" "$@"
fi

[ -e "$folder/usr/bin/apt-get" ] || debootstrap --variant=minbase "$suite" "$folder" ${MIRROR:+"$MIRROR"}
mount -t proc proc "$folder/proc"
mount --rbind /dev "$folder/dev"
cp /etc/resolv.conf "$folder/etc/"
[ ! -e /etc/pip.conf ] || cp /etc/pip.conf "$folder/etc/"
rm -rf "$folder/srv/heapsmith" # of an earlier commit
mkdir -p "$folder/srv/heapsmith"
git archive HEAD | tar -x -C "$folder/srv/heapsmith"
[ ! -e "$report" ] || cp "$report" "$folder/srv/heapsmith/report.json"

# Snapshots of the archive are older than they say. gcc-12 compiles the tools: counts of instructions are comparable then.
export HOME=/root DEBIAN_FRONTEND=noninteractive
chroot "$folder" /bin/sh -eu -s "$python" "$@" <<'END'
python=$1
shift
apt="apt-get -qq -o Acquire::Check-Valid-Until=false"
$apt update
$apt install -y --no-install-recommends "$python" "$python-venv" "$python-dev" gcc-12 libc6-dev make valgrind binutils git \
  ca-certificates "$@" >/dev/null
for name in gcc x86_64-linux-gnu-gcc; do # by the second one pip compiles what has no wheel for this Python
  ln -sf /usr/bin/gcc-12 "/usr/local/bin/$name"
done
END
bundle=/etc/ssl/certs/ca-certificates.crt # which may have an authority of this machine's own
[ ! -e "$bundle" ] || cp -L "$bundle" "$folder$bundle"
chroot "$folder" /bin/sh -eu -s "$python" "$@" <<'END'
python=$1
shift
cd /srv/heapsmith
[ -e "/opt/$python/bin/python" ] || "$python" -m venv "/opt/$python"
PATH=/opt/$python/bin:$PATH # `python3` is among the recorded programs
python -m pip install -q -e '.[dev]'
python -m pytest -q -m quick -p no:cacheprovider
[ $# = 0 ] || python -m heapsmith.bench.gates.compilers -o report.json \
  $(printf -- '--compiler %s ' "$@") ${DESIGNS:-}
END
[ $# = 0 ] || cp "$folder/srv/heapsmith/report.json" "$report"
