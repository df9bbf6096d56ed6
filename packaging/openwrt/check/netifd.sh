#!/bin/sh
# Drives overheard.sh as netifd does, in the shell of routers, with functions that say how netifd was called.
#
#   busybox ash check/netifd.sh HANDLER OVERHEARD UCI FOLDER

# shellcheck shell=dash disable=SC2034,SC2154,SC1090
handler=$1 uci=$3 folder=$4
OVERHEARD="$folder/overheard" OVERHEARD_MADE="$folder/made" OVERHEARD_DEVICES="$folder/devices" INCLUDE_ONLY=1
mkdir -p "$folder/devices"
# The program, which reads the configuration where this check has it.
printf '#!/bin/sh\nexec "%s" "$@" --from "%s"\n' "$2" "$uci" >"$OVERHEARD"
chmod 755 "$OVERHEARD"

proto_run_command() { shift; echo "run: $*" | sed "s|$folder|FOLDER|g"; : >"$OVERHEARD_DEVICES/$DEVICE"; }
proto_kill_command() { echo "end: $1"; }
proto_init_update() { echo "update: $*"; }
proto_add_ipv4_address() { echo "address: $*"; }
proto_add_ipv6_address() { echo "address: $*"; }
proto_send_update() { echo "sent: $1"; }
proto_notify_error() { echo "error: $*" | sed "s|$folder|FOLDER|g"; }
proto_block_restart() { echo "no restart: $1"; }
logger() { :; }
sleep() { :; }
config_load() { echo "load: $1"; }
# The list of the section `tunnel NAME`, in order.
config_get() {
	eval "$1=\"$(sed -n "/^config tunnel '$2'/,/^config peer/ s/^.list addresses '\(.*\)'/\1/p" "$uci" | tr '\n' ' ')\""
}

. "$handler"
proto_overheard_init_config
echo "no_device=$no_device available=$available"
DEVICE=overheard0
proto_overheard_setup overheard0
DEVICE=other
rm -f "$OVERHEARD_DEVICES/overheard0"
echo "-- no device comes"
proto_overheard_setup overheard0 || echo "failed"
echo "-- a tunnel that is not there"
proto_overheard_setup overheard1 || echo "failed"
echo "-- the end, and the end of a program that refused its configuration"
proto_overheard_teardown overheard0
ERROR=2 proto_overheard_teardown overheard0
[ ! -e "$OVERHEARD_MADE/overheard0.toml" ] || echo "a configuration is left"
