# XBC's three nodes in ns-2 (section V-A): a server, 10 Mbit/s and 50 ms of wire, a base station, and a radio of 2 Mbit/s to a
# station. The radio loses whole packets, on their way to the station only, and no MAC sends a frame again.
#
#   ns ns_2.tcl LOSS off|none|lru BUFFER_PACKETS WINDOW_PACKETS TICK_SECONDS SECONDS SEED
#
# LOSS is a probability; none and lru are the replacement of Snoop. Prints the payload that was acknowledged, in Mbit/s.
lassign $argv loss repair buffer window tick seconds seed
set payload_bytes 1000 ;# and 40 bytes of headers: the packets of section V-A

set ns [new Simulator]
$defaultRNG seed $seed
Agent/TCP set window_ $window
Agent/TCP set packetSize_ $payload_bytes
Mac set bandwidth_ 2Mb
Queue set limit_ 50
if {$repair ne "off"} {
    Snoop set maxbufs_ $buffer
    Snoop set lru_ [expr {$repair eq "lru"}]
    Snoop set snoopTick_ $tick
}

set server [$ns node]
set base [$ns node]
set station [$ns node]
$ns duplex-link $server $base 10Mb 50ms DropTail
set lan [$ns make-lan [list $station] 2Mb 0ms LL Queue/DropTail Mac]
$lan addNode [list $base] 2Mb 0ms [expr {$repair eq "off" ? "LL" : "LL/LLSnoop"}] Queue/DropTail Mac

# between the station's radio and its MAC: nothing else comes that way
set errors [new ErrorModel]
$errors unit pkt
$errors set rate_ $loss
$errors drop-target [new Agent/Null]
set face [$lan set lanIface_($station)]
$errors target [$face set mac_]
[$face set phy_] up-target $errors

set tcp [new Agent/TCP/Sack1]
set sink [new Agent/TCPSink/Sack1]
$ns attach-agent $server $tcp
$ns attach-agent $station $sink
$ns connect $tcp $sink
set ftp [new Application/FTP]
$ftp attach-agent $tcp
$ns at 0.0 "$ftp start"
$ns at $seconds {
    puts "throughput [expr {([$tcp set ack_] + 1) * $payload_bytes * 8e-6 / $seconds}]"
    exit 0
}
$ns run
