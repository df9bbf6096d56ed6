#!/usr/bin/env bash
# Two real nodes of unlike processors carry TCP for each other, in namespaces of their own.
#
#   scripts/as-root scripts/router-pair.sh TARGET
#
# One node is the build for x86-64 and runs here. The other is the build for TARGET and runs under qemu-user. A file of
# random bytes crosses twice in each direction. Each copy must arrive whole, and the second one must take at most a
# fifth of the bytes on the air. A longer file then fills the memory, 8 MiB or MEMORY_MIB. The last lines say which
# requests the emulator refused.
set -euo pipefail
cd "$(dirname "$0")/.."
target=${1:?name a target of scripts/router.sh}
native=0
here=${OVERHEARD_NATIVE:-$(scripts/router.sh path x86-64)}
there=$(scripts/router.sh path "$target")
for file in "$here" "$there"; do
    [ -x "$file" ] || { echo "router-pair: $file is missing: make router TARGET=... makes it" >&2; exit 2; }
done
case "$target" in
armv7) emulated=(qemu-arm-static "$there") ;;
x86-64) emulated=("$there") native=1 ;;
*) emulated=("qemu-$target-static" "$there") ;;
esac

folder=$(mktemp -d)
left=ohl$$ right=ohr$$ nodes=()
clean() {
    local node
    for node in "${nodes[@]}"; do kill "$node" 2>/dev/null || true; done
    sleep 1
    for node in "${nodes[@]}"; do kill -KILL "$node" 2>/dev/null || true; done
    wait 2>/dev/null || true
    ip netns del "$left" 2>/dev/null || true
    ip netns del "$right" 2>/dev/null || true
    rm -rf "$folder"
}
trap clean EXIT

ip netns add "$left"
ip netns add "$right"
ip link add name l netns "$left" type veth peer name r netns "$right"
for end in "$left l 192.0.2.1" "$right r 192.0.2.2"; do
    read -r namespace device address <<<"$end"
    ip -n "$namespace" link set lo up
    ip -n "$namespace" address add "$address/24" dev "$device"
    ip -n "$namespace" link set dev "$device" up
done

# Keys, of each program for itself: the files must suit the other.
"$here" keygen --network --out "$folder/left" >/dev/null
"$here" keygen --out "$folder/left" >/dev/null
"${emulated[@]}" keygen --out "$folder/right" >/dev/null
cp "$folder/left/network.key" "$folder/right/"
key() { sed 's/^overheard-public-key://' "$folder/$1/public.key"; }
configure() { # folder, role, own number, other number, endpoint
    cat >"$folder/$1/node.toml" <<EOF
[node]
role = "$2"
private_key_file = "private.key"
network_key_file = "network.key"
status_socket = "node.sock"
[tunnel]
interface = "oh0"
addresses = ["10.9.0.$3/24"]
[memory]
mib = ${MEMORY_MIB:-8}
[reduce]
spare_processor = false
[[peer]]
name = "other"
public_key = "$(key "$5")"
allowed_ips = ["10.9.0.$4/32"]
$6
EOF
}
configure left gateway 1 2 right ""
configure right station 2 1 left 'endpoint = "192.0.2.1:4780"'

export OVERHEARD_LOG=debug
ip netns exec "$left" "$here" up "$folder/left/node.toml" 2>"$folder/left.log" &
nodes+=($!)
ip netns exec "$right" "${emulated[@]}" up "$folder/right/node.toml" 2>"$folder/right.log" &
nodes+=($!)
failed() {
    echo "router-pair: $1" >&2
    tail -n 20 "$folder/left.log" "$folder/right.log" >&2
    exit 1
}

connected=
for _ in $(seq 50); do
    [ "$(grep -l "session with other" "$folder/left.log" "$folder/right.log" | wc -l)" -lt 2 ] || { connected=yes && break; }
    sleep 0.2
done
[ -n "$connected" ] || failed "the nodes do not connect"

# Kilobytes of a process in a field of smaps. Of an emulated one, those of its own mappings count, which lie
# below the emulator's.
kilobytes() {
    awk '/^[0-9a-f]+-[0-9a-f]+ / { split($1, ends, "-"); own = length(ends[1]) < 12 || ends[1] < "100000000000" }
         $1 == field && (own || whole) { sum += $2 } END { print sum + 0 }' "field=$1:" "whole=$3" "/proc/$2/smaps"
}
report() { # when, field
    echo "resident, $1: $(kilobytes "$2" "${nodes[0]}" 1) kB on x86-64, $(kilobytes "$2" "${nodes[1]}" "$native") kB on $target"
}
report_resident() {
    report "$1" Rss
    report "$1, without the program's file" Anonymous
}

sleep 3
report_resident "one peer, idle"
bytes_of() { ip netns exec "$1" cat "/sys/class/net/$2/statistics/tx_bytes"; }
# from, to, address, device of the sender: the bytes on the air of one copy
crosses() {
    local before after
    before=$(bytes_of "$1" "$4")
    rm -f "$folder/got"
    timeout 120 ip netns exec "$2" socat -u TCP-LISTEN:4242,reuseaddr "CREATE:$folder/got" &
    local listener=$!
    sleep 0.5
    timeout 120 ip netns exec "$1" socat -u "OPEN:$folder/sent" "TCP:$3:4242" || failed "no connection to $3"
    wait "$listener" || failed "the copy to $3 does not end"
    cmp -s "$folder/sent" "$folder/got" || failed "the copy to $3 is not what was sent"
    after=$(bytes_of "$1" "$4")
    air=$((after - before))
}
ways=("$left $right 10.9.0.2 l x86-64 to $target" "$right $left 10.9.0.1 r $target to x86-64")
for way in "${ways[@]}"; do
    read -r from to address device name <<<"$way"
    head -c 500000 /dev/urandom >"$folder/sent"
    cp "$folder/sent" "$folder/sent-$device"
    crosses "$from" "$to" "$address" "$device"
    echo "$name: 500000 bytes arrive whole; $air bytes on the air"
done
# The two directions share the memory by their use. The nodes agree on it within seconds.
sleep 3
for way in "${ways[@]}"; do
    read -r from to address device name <<<"$way"
    cp "$folder/sent-$device" "$folder/sent"
    crosses "$from" "$to" "$address" "$device"
    echo "$name: 500000 bytes arrive whole again; $air bytes on the air"
    [ "$((air * 5))" -le 500000 ] || failed "the second copy saved too little"
done
head -c 20000000 /dev/urandom >"$folder/sent"
for way in "${ways[@]}"; do
    read -r from to address device name <<<"$way"
    crosses "$from" "$to" "$address" "$device"
done
report_resident "after 20 MB each way"
"${emulated[@]}" status --socket "$folder/right/node.sock" | head -n 5
echo "refused by the emulator or the kernel on $target:"
{ grep -hiE "unsupported|unknown|unimplemented|no TUN device with offloads|out of reach|may read|cannot|refuse" "$folder/right.log" || true; } |
    sed -E 's/^[^ ]+ +//; s/[0-9a-fx]{6,}/…/g' | sort | uniq -c | sort -rn | head -n 20
