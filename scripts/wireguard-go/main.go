// Two devices of wireguard-go in one process carry packets, so that a packet's instructions can be counted.
//
//	wireguard-go-packets COUNT
package main

import (
	"encoding/hex"
	"fmt"
	"net/netip"
	"os"
	"strconv"

	"golang.org/x/crypto/curve25519"
	"golang.zx2c4.com/wireguard/conn/bindtest"
	"golang.zx2c4.com/wireguard/device"
	"golang.zx2c4.com/wireguard/tun/tuntest"
)

const packetBytes = 1400

func key(seed byte) (private, public [32]byte) {
	for i := range private {
		private[i] = seed
	}
	private[0] &= 248
	private[31] = (private[31] & 127) | 64
	curve25519.ScalarBaseMult(&public, &private)
	return
}

func main() {
	count, err := strconv.Atoi(os.Args[1])
	if err != nil {
		panic(err)
	}
	binds := bindtest.NewChannelBinds()
	addresses := [2]netip.Addr{netip.AddrFrom4([4]byte{10, 9, 0, 1}), netip.AddrFrom4([4]byte{10, 9, 0, 2})}
	var tuns [2]*tuntest.ChannelTUN
	var devices [2]*device.Device
	var privates, publics [2][32]byte
	for i := range 2 {
		privates[i], publics[i] = key(byte(i + 1))
	}
	for i := range 2 {
		tuns[i] = tuntest.NewChannelTUN()
		devices[i] = device.NewDevice(tuns[i].TUN(), binds[i], device.NewLogger(device.LogLevelError, ""))
		config := fmt.Sprintf("private_key=%s\nlisten_port=0\nreplace_peers=true\npublic_key=%s\nallowed_ip=%s/32\nendpoint=127.0.0.1:%d\n",
			hex.EncodeToString(privates[i][:]), hex.EncodeToString(publics[1-i][:]), addresses[1-i], i+1)
		if err := devices[i].IpcSet(config); err != nil {
			panic(err)
		}
		if err := devices[i].Up(); err != nil {
			panic(err)
		}
	}
	ping := tuntest.Ping(addresses[1], addresses[0])
	packet := make([]byte, packetBytes)
	copy(packet, ping)
	packet[2], packet[3] = byte(packetBytes>>8), byte(packetBytes&255)
	for range count {
		tuns[0].Outbound <- packet
		<-tuns[1].Inbound
	}
	fmt.Printf("%d packets arrived\n", count)
}
