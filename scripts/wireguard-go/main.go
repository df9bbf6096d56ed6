// Two devices of wireguard-go in one process carry packets, so that a packet's instructions can be counted.
//
//	wireguard-go-packets COUNT
//
// Packets go in and come out in batches of 32, as a TUN device with offloads gives them.
package main

import (
	"encoding/hex"
	"fmt"
	"net"
	"net/netip"
	"os"
	"strconv"

	"golang.org/x/crypto/curve25519"
	"golang.zx2c4.com/wireguard/conn"
	"golang.zx2c4.com/wireguard/device"
	"golang.zx2c4.com/wireguard/tun"
	"golang.zx2c4.com/wireguard/tun/tuntest"
)

const (
	packetBytes = 1400
	batch       = 32
)

// host is a TUN device whose packets a channel brings, and which counts those that arrive.
type host struct {
	outbound chan [][]byte
	arrived  chan int
	events   chan tun.Event
}

func newHost() *host {
	events := make(chan tun.Event, 1)
	events <- tun.EventUp
	return &host{make(chan [][]byte), make(chan int, 1024), events}
}

func (it *host) Read(bufs [][]byte, sizes []int, offset int) (int, error) {
	packets, open := <-it.outbound
	if !open {
		return 0, os.ErrClosed
	}
	for i, packet := range packets {
		sizes[i] = copy(bufs[i][offset:], packet)
	}
	return len(packets), nil
}

func (it *host) Write(bufs [][]byte, offset int) (int, error) {
	it.arrived <- len(bufs)
	return len(bufs), nil
}

func (it *host) File() *os.File           { return nil }
func (it *host) MTU() (int, error)        { return 1420, nil }
func (it *host) Name() (string, error)    { return "host", nil }
func (it *host) Events() <-chan tun.Event { return it.events }
func (it *host) BatchSize() int           { return batch }
func (it *host) Close() error             { close(it.events); return nil }

// cable is the end of a way of datagrams between the two devices. It is its own endpoint.
type cable struct {
	in, out chan [][]byte
	closed  chan struct{}
}

func cables() [2]*cable {
	one, other := make(chan [][]byte, 1024), make(chan [][]byte, 1024)
	return [2]*cable{{one, other, make(chan struct{})}, {other, one, make(chan struct{})}}
}

func (it *cable) Open(uint16) ([]conn.ReceiveFunc, uint16, error) {
	it.closed = make(chan struct{})
	receive := func(bufs [][]byte, sizes []int, ends []conn.Endpoint) (int, error) {
		select {
		case datagrams := <-it.in:
			for i, datagram := range datagrams {
				sizes[i], ends[i] = copy(bufs[i], datagram), it
			}
			return len(datagrams), nil
		case <-it.closed:
			return 0, net.ErrClosed
		}
	}
	return []conn.ReceiveFunc{receive}, 1, nil
}

func (it *cable) Send(bufs [][]byte, _ conn.Endpoint) error {
	datagrams := make([][]byte, len(bufs))
	for i, buf := range bufs {
		datagrams[i] = append([]byte(nil), buf...)
	}
	it.out <- datagrams
	return nil
}

func (it *cable) Close() error {
	select {
	case <-it.closed:
	default:
		close(it.closed)
	}
	return nil
}

func (it *cable) SetMark(uint32) error                        { return nil }
func (it *cable) BatchSize() int                              { return batch }
func (it *cable) ParseEndpoint(string) (conn.Endpoint, error) { return it, nil }
func (it *cable) ClearSrc()                                   {}
func (it *cable) SrcToString() string                         { return "" }
func (it *cable) DstToString() string                         { return "peer" }
func (it *cable) DstToBytes() []byte                          { return []byte{1} }
func (it *cable) DstIP() netip.Addr                           { return netip.AddrFrom4([4]byte{192, 0, 2, 1}) }
func (it *cable) SrcIP() netip.Addr                           { return netip.Addr{} }

func key(seed byte) (private, public [32]byte) {
	for i := range private {
		private[i] = seed
	}
	private[0] &= 248
	private[31] = (private[31] & 127) | 64
	curve25519.ScalarBaseMult(&public, &private)
	return
}

// begin is where counting begins. Before it, handshakes repeat as often as the emulator is slow.
//
//go:noinline
func begin() {}

func main() {
	count, err := strconv.Atoi(os.Args[1])
	if err != nil {
		panic(err)
	}
	ends := cables()
	hosts := [2]*host{newHost(), newHost()}
	addresses := [2]netip.Addr{netip.AddrFrom4([4]byte{10, 9, 0, 1}), netip.AddrFrom4([4]byte{10, 9, 0, 2})}
	var privates, publics [2][32]byte
	for i := range 2 {
		privates[i], publics[i] = key(byte(i + 1))
	}
	for i := range 2 {
		device := device.NewDevice(hosts[i], ends[i], device.NewLogger(device.LogLevelError, ""))
		config := fmt.Sprintf("private_key=%s\nlisten_port=0\nreplace_peers=true\npublic_key=%s\nallowed_ip=%s/32\nendpoint=127.0.0.1:%d\n",
			hex.EncodeToString(privates[i][:]), hex.EncodeToString(publics[1-i][:]), addresses[1-i], i+1)
		if err := device.IpcSet(config); err != nil {
			panic(err)
		}
		if err := device.Up(); err != nil {
			panic(err)
		}
	}
	packet := make([]byte, packetBytes)
	copy(packet, tuntest.Ping(addresses[1], addresses[0]))
	packet[2], packet[3] = byte(packetBytes>>8), byte(packetBytes&255)
	// The first one waits for the handshake.
	hosts[0].outbound <- [][]byte{packet}
	<-hosts[1].arrived
	begin()
	packets := make([][]byte, batch)
	for i := range packets {
		packets[i] = packet
	}
	arrived := 0
	for sent := 0; sent < count; sent += batch {
		hosts[0].outbound <- packets
		for arrived < sent+batch {
			arrived += <-hosts[1].arrived
		}
	}
	fmt.Printf("%d packets arrived\n", arrived)
}
