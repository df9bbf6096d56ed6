#!/bin/sh
# netifd's protocol `overheard`: the interface NAME of /etc/config/network is the tunnel NAME of /etc/config/overheard.
# The program makes the device, its addresses and its routes. netifd learns the addresses, and does not set them.

# shellcheck shell=dash disable=SC1091
[ -n "$INCLUDE_ONLY" ] || {
	. /lib/functions.sh
	. ../netifd-proto.sh
	init_proto "$@"
}

: "${OVERHEARD:=/usr/bin/overheard}" "${OVERHEARD_MADE:=/var/etc/overheard}" "${OVERHEARD_DEVICES:=/sys/class/net}"

proto_overheard_init_config() {
	# shellcheck disable=SC2034 # netifd reads these
	no_device=1 available=1
}

# Nothing mends the configuration but its author: no restart before a change.
overheard_refuse() {
	proto_notify_error "$1" CONFIGURATION "$2"
	proto_block_restart "$1"
}

proto_overheard_setup() {
	local config="$1" made="$OVERHEARD_MADE/$1.toml" said waited=0 addresses address

	said=$("$OVERHEARD" uci "$config" --out "$made" 2>&1) || {
		logger -t overheard -p daemon.err "$said"
		overheard_refuse "$config" "$said"
		return 1
	}
	[ -e /run ] || ln -s /var/run /run
	proto_run_command "$config" "$OVERHEARD" up "$made"
	while [ ! -e "$OVERHEARD_DEVICES/$config" ]; do
		[ "$waited" -lt 15 ] || {
			proto_notify_error "$config" NO_DEVICE
			proto_kill_command "$config"
			return 1
		}
		sleep 1
		waited=$((waited + 1))
	done

	# 1: the link is up. 1: the addresses are set by others.
	proto_init_update "$config" 1 1
	config_load overheard
	config_get addresses "$config" addresses
	for address in $addresses; do
		case "$address" in
		*:*/*) proto_add_ipv6_address "${address%%/*}" "${address##*/}" ;;
		*/*) proto_add_ipv4_address "${address%%/*}" "${address##*/}" ;;
		esac
	done
	proto_send_update "$config"
}

proto_overheard_teardown() {
	local config="$1"

	# 2: the program refused its configuration.
	[ "${ERROR:-0}" != 2 ] || overheard_refuse "$config"
	proto_kill_command "$config"
	rm -f "$OVERHEARD_MADE/$config.toml"
}

[ -n "$INCLUDE_ONLY" ] || add_protocol overheard
