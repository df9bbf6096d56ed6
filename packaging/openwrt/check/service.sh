#!/bin/sh
# Drives overheard.init as rc.common does, in the shell of routers, with functions that say how procd was called.
#
#   busybox ash check/service.sh INIT OVERHEARD UCI FOLDER

# shellcheck shell=dash disable=SC2034,SC2154,SC1090
init=$1 uci=$3 folder=$4
printf '#!/bin/sh\nexec "%s" "$@" --from "%s"\n' "$2" "$uci" >"$folder/overheard"
chmod 755 "$folder/overheard"

procd_open_instance() { echo "instance: $1"; }
procd_set_param() { echo "  $*" | sed "s|$folder|FOLDER|g"; }
procd_close_instance() { echo "  end"; }
procd_add_reload_trigger() { echo "trigger: $*"; }
logger() { cat >/dev/null; }
# One interface of netifd's: the tunnel `claimed`.
uci() { [ "$3" != network.claimed.proto ] || echo overheard; }
config_load() { :; }
config_foreach() { for section in $(sed -n "s/^config $2 '\(.*\)'/\1/p" "$UCI"); do "$1" "$section"; done; }
option() { sed -n "/^config [a-z]* '$1'/,/^\$/ s/^.option $2 '\(.*\)'/\1/p" "$UCI"; }
config_get() { eval "$1=\"\$(option \"$2\" \"$3\")\""; }
config_get_bool() { eval "$1=\"\$(option \"$2\" \"$3\")\"; $1=\"\${$1:-$4}\""; }
UCI=$uci

. "$init"
PROGRAM="$folder/overheard" MADE="$folder/made"
echo "USE_PROCD=$USE_PROCD START=$START STOP=$STOP"
start_service
service_triggers
