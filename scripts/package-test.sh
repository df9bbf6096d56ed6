#!/usr/bin/env bash
# Installs, starts, reloads, upgrades, removes and purges the Debian packages on a copy of this machine's file system, and says
# what is left behind.
#
#   scripts/package-test.sh OVERHEARD.deb OVERHEARD-LAB.deb
#
# The copy is an overlay in memory, in namespaces of mounts, processes and networks: nothing of this machine is changed. No
# service manager runs there: what the unit says is done by hand, as its user with its capabilities, with a socket that hears what
# it is told.
set -euo pipefail

package=$(realpath "$1") laboratory=$(realpath "$2")
if [ "${3:-}" != inside ]; then
    [ "$(id -u)" -eq 0 ] || { echo "package-test: this needs root" >&2; exit 1; }
    exec unshare --mount --net --pid --fork --mount-proc --kill-child "$0" "$package" "$laboratory" inside
fi

fail() { printf 'package-test: %s\n' "$1" >&2; exit 1; }
step() { printf '== %s\n' "$1"; }

mount --make-rprivate /
stage=$(mktemp -d)
mount -t tmpfs -o size=1g stage "$stage"
mkdir "$stage"/{upper,work,root}
mount -t overlay overlay -o "lowerdir=/,upperdir=$stage/upper,workdir=$stage/work" "$stage/root" ||
    fail "this kernel has no overlayfs"
root=$stage/root
mount -t proc proc "$root/proc"
for folder in dev run tmp; do mount -t tmpfs "$folder" "$root/$folder"; done
# as udev makes them on a machine that has it
mkdir -m 755 "$root/dev/net"
while read -r name major minor; do mknod -m 666 "$root/dev/$name" c "$major" "$minor"; done <<'DEVICES'
null 1 3
zero 1 5
random 1 8
urandom 1 9
tty 5 0
net/tun 10 200
DEVICES
ip link set lo up
cp "$package" "$root/tmp/overheard.deb"
cp "$laboratory" "$root/tmp/overheard-lab.deb"

inside() { chroot "$root" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive "$@"; }
# What a service manager does with an instance of a unit: its user, groups, capabilities, folders and command.
of_unit() { sed -n "s/^$2=//p" "$root/usr/lib/systemd/system/$1@.service" | sed "s|%i|$instance|g"; }
run_unit() {
    local unit=$1 instance=$2 capabilities user groups
    capabilities=$(of_unit "$unit" AmbientCapabilities | tr '[:upper:]' '[:lower:]' | sed 's/cap_/+/g; s/ /,/g')
    user=$(of_unit "$unit" User) groups=$(of_unit "$unit" SupplementaryGroups)
    for folder in "run/$(of_unit "$unit" RuntimeDirectory)" "var/cache/$(of_unit "$unit" CacheDirectory)" \
        "var/lib/$(of_unit "$unit" StateDirectory)"; do
        [ "$folder" = var/cache/ ] || [ "$folder" = var/lib/ ] ||
            install -d -o "$(inside id -u "$user")" -g "$(inside id -g "$user")" -m 0750 "$root/$folder"
    done
    # shellcheck disable=SC2046,SC2086 # the command and the option are words
    NOTIFY_SOCKET=/run/notify exec chroot "$root" setpriv --reuid "$user" --regid "$user" \
        $([ -n "$groups" ] && echo "--groups $groups" || echo --clear-groups) --bounding-set "-all,$capabilities" --inh-caps "$capabilities" \
        --ambient-caps "$capabilities" --no-new-privs $(of_unit "$unit" ExecStart)
}
start() {
    run_unit overheard gateway >>"$root/tmp/log" 2>&1 &
    node=$!
}
# What the kernel says of a process: the user's number, or capabilities.
of_process() { sed -n "s/^$2:\t\([0-9a-f]*\).*/\1/p" "/proc/$1/status"; }
answers() {
    for _ in $(seq 100); do
        inside overheard status --json >"$root/tmp/status" 2>/dev/null && return
        kill -0 "$node" 2>/dev/null || break
        sleep 0.1
    done
    cat "$root/tmp/log" >&2
    fail "the node does not answer"
}

step "install"
inside dpkg --install /tmp/overheard.deb
inside overheard --version
inside man -w overheard-up >/dev/null 2>&1 || [ -e "$root/usr/share/man/man1/overheard-up.1.gz" ] || fail "there is no manual page"
inside bash -n /usr/share/bash-completion/completions/overheard
said=$(inside overheard demo 2>&1) && fail "the demonstration runs without its program"
grep -q 'install the Debian package overheard-lab' <<<"$said" || fail "it does not say what to install: $said"

step "the laboratory: install, start by the other program, remove"
inside dpkg --install --force-depends /tmp/overheard-lab.deb
inside overheard-lab --version
inside overheard experiment xbc --help | grep -q -- --figure || fail "the laboratory is not started"
inside dpkg --purge overheard-lab

step "configure, as the guide says"
inside setpriv --reuid overheard --regid overheard --clear-groups overheard keygen --network --out /etc/overheard/keys >/dev/null
inside setpriv --reuid overheard --regid overheard --clear-groups overheard keygen --out /etc/overheard/keys >/dev/null
inside cp /usr/share/doc/overheard/examples/point-to-point/gateway.toml /etc/overheard/
other=$(inside overheard keygen --out /tmp/other | sed -n 's/^public_key = "\(.*\)"/\1/p')
sed -i "s|THE STATION'S PUBLIC KEY|$other|" "$root/etc/overheard/gateway.toml"

step "start, as its user with its capabilities"
socat -u UNIX-RECV:"$root/run/notify",mode=666 - >"$stage/told" &
listener=$!
sleep 0.5
start
answers
[ "$(of_process "$node" Uid)" = "$(inside id -u overheard)" ] || fail "it runs as another user"
[ "$(of_process "$node" NoNewPrivs)" = 1 ] || fail "it may get rights again"
grep -q READY=1 "$stage/told" || fail "the service manager is not told that it is ready"

step "a web cache, as another user with another key"
inside overheard keygen --cache-key /etc/overheard/keys/network.key --out /etc/overheard/cache >/dev/null
inside chown overheard-cache: /etc/overheard/cache/cache.key
cat >"$root/etc/overheard/router.toml" <<'TOML'
[cache]
name = "router"
clients = ["127.0.0.0/8"]
[transparent]
[forward]
listen = "127.0.0.1:3128"
[store]
directory = "/var/cache/overheard"
[peers]
address = "127.0.0.1"
networks = ["127.0.0.0/8"]
cache_key_file = "cache/cache.key"
TOML
run_unit overheard-cache router >>"$root/tmp/cache-log" 2>&1 &
cache=$!
for _ in $(seq 100); do
    [ -S "$root/run/overheard-cache/router.cache" ] && break
    sleep 0.1
done
sleep 1
kill -0 "$cache" || { cat "$root/tmp/cache-log" >&2; fail "the cache does not run"; }
[ "$(of_process "$cache" Uid)" = "$(inside id -u overheard-cache)" ] || fail "it runs as another user"
for rights in CapPrm CapEff CapInh CapAmb; do
    [ "$(of_process "$cache" "$rights" | tr -d 0)" = "" ] || fail "it has rights: $rights"
done
inside overheard status | grep -q router || fail "it does not answer"
for key in keys/network.key keys/private.key keys; do
    inside setpriv --reuid overheard-cache --regid overheard-cache --clear-groups cat "/etc/overheard/$key" >/dev/null 2>&1 &&
        fail "it can read /etc/overheard/$key"
done
inside setpriv --reuid overheard --regid overheard --groups overheard-cache \
    socat -u UNIX-CONNECT:/run/overheard-cache/router.cache - | grep -q '"name":"router"' ||
    fail "a node's dashboard does not see it"
nft list tables | grep -q overheard_cache || fail "nothing leads connections to it"
kill -TERM "$cache" && wait "$cache" || fail "it does not end well"
! nft list tables | grep -q overheard_cache || fail "its rules are left"

step "reload: a wrong configuration changes nothing, a right one is taken up"
cp "$root/etc/overheard/gateway.toml" "$root/tmp/right.toml"
sed -i 's/^addresses/adresses/' "$root/etc/overheard/gateway.toml"
kill -HUP "$node"
sleep 1
answers
grep -q 'did you mean "addresses"' "$root/tmp/log" || fail "the mistake is not told"
sed 's/^interface/mtu = 1300\ninterface/' "$root/tmp/right.toml" >"$root/etc/overheard/gateway.toml"
kill -HUP "$node"
for _ in $(seq 50); do
    inside overheard status --json 2>/dev/null | grep -q '"mtu":1300' && break
    sleep 0.1
done
inside overheard status --json | grep -q '"mtu":1300' || fail "the change is not taken up"
grep -q RELOADING=1 "$stage/told" || fail "the service manager is not told of the reload"

step "upgrade"
cp -r "$root/etc/overheard" "$stage/kept"
kill -TERM "$node" && wait "$node"
inside dpkg --install /tmp/overheard.deb >/dev/null
diff -r "$stage/kept" "$root/etc/overheard" || fail "the upgrade changed the configuration"
start
answers

step "stop"
kill -TERM "$node" && wait "$node" || fail "it does not end well"
kill "$listener" 2>/dev/null || true
[ -z "$(ip -o link | grep overheard0 || true)" ] || fail "the device is left"

step "remove"
inside dpkg --remove overheard
[ -e "$root/etc/overheard/gateway.toml" ] || fail "removal took the configuration"
[ ! -e "$root/usr/bin/overheard" ] || fail "the program is left"

step "purge"
inside dpkg --purge overheard
for user in overheard overheard-cache; do
    inside getent passwd "$user" >/dev/null && fail "the user $user is left"
done

step "what is left"
# dpkg's own books, and what belongs to the system's lists of users, changed and are as they were in what they say
left=$(cd "$stage/upper" && find . -mindepth 1 \( -type f -o -type l \) | sort |
    grep -vE '^\./var/(lib/dpkg|log|cache/(man|ldconfig|debconf))|^\./etc/(passwd|group|shadow|gshadow|subuid|subgid)-?$|^\./etc/\.pwd\.lock$' || true)
for list in passwd group shadow gshadow; do
    [ ! -e "$root/etc/$list" ] || ! grep -q overheard "$root/etc/$list" || left="$left /etc/$list"
done
[ -z "$left" ] || fail "left behind: $left"
echo "nothing"
