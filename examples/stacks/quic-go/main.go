// File transfer over quic-go for crossfade suite: "quic-go-peer serve" and "quic-go-peer fetch", configured by the environment.
//
// The client names a file on a stream of its own, and the server answers with its bytes. With QLOGDIR in the
// environment both write a qlog. PEER_SEND_SLEEP, such as 20ms, makes the client sleep before it
// sends each packet, mostly an acknowledgement: a mistake for a suite to catch.
package main

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"time"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/qlog"
)

const protocol = "hq-interop"

var config = &quic.Config{Tracer: qlog.DefaultConnectionTracer, InitialPacketSize: 1200}

func main() {
	run := map[string]func() error{"serve": serve, "fetch": fetch}
	if len(os.Args) != 2 || run[os.Args[1]] == nil {
		fmt.Fprintln(os.Stderr, "quic-go-peer serve | fetch")
		os.Exit(2)
	}
	if err := run[os.Args[1]](); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func serve() error {
	pair, err := tls.LoadX509KeyPair(os.Getenv("CROSSFADE_CERTIFICATE"), os.Getenv("CROSSFADE_KEY"))
	if err != nil {
		return err
	}
	secrets := &tls.Config{Certificates: []tls.Certificate{pair}, NextProtos: []string{protocol}}
	listener, err := quic.ListenAddr("0.0.0.0:"+os.Getenv("CROSSFADE_PORT"), secrets, config)
	if err != nil {
		return err
	}
	for {
		connection, err := listener.Accept(context.Background())
		if err != nil {
			return err
		}
		go func() {
			for {
				stream, err := connection.AcceptStream(context.Background())
				if err != nil {
					return
				}
				name, _ := io.ReadAll(io.LimitReader(stream, 4096))
				file, err := os.Open(filepath.Join(os.Getenv("CROSSFADE_ROOT"), filepath.Base(string(name))))
				if err == nil {
					io.Copy(stream, file)
					file.Close()
				}
				stream.Close()
			}
		}()
	}
}

func fetch() error {
	// No check of the certificate: it is made for the run, and the two namespaces contain no other host.
	secrets := &tls.Config{InsecureSkipVerify: true, NextProtos: []string{protocol}}
	address := os.Getenv("CROSSFADE_SERVER") + ":" + os.Getenv("CROSSFADE_PORT")
	connection, err := dial(address, secrets)
	if err != nil {
		return err
	}
	stream, err := connection.OpenStreamSync(context.Background())
	if err != nil {
		return err
	}
	if _, err := io.WriteString(stream, os.Getenv("CROSSFADE_FILE")); err != nil {
		return err
	}
	stream.Close()
	file, err := os.Create(os.Getenv("CROSSFADE_DOWNLOAD"))
	if err != nil {
		return err
	}
	if _, err := io.Copy(file, stream); err != nil {
		return err
	}
	if err := file.Close(); err != nil {
		return err
	}
	return connection.CloseWithError(0, "")
}

func dial(address string, secrets *tls.Config) (*quic.Conn, error) {
	slept := os.Getenv("PEER_SEND_SLEEP")
	if slept == "" {
		return quic.DialAddr(context.Background(), address, secrets, config)
	}
	sleep, err := time.ParseDuration(slept)
	if err != nil {
		return nil, err
	}
	server, err := net.ResolveUDPAddr("udp", address)
	if err != nil {
		return nil, err
	}
	socket, err := net.ListenUDP("udp", nil)
	if err != nil {
		return nil, err
	}
	transport := &quic.Transport{Conn: slow{socket, sleep}}
	return transport.Dial(context.Background(), server, secrets, config)
}

// slow is a connection that sleeps before it sends each packet.
type slow struct {
	net.PacketConn
	sleep time.Duration
}

func (s slow) WriteTo(data []byte, to net.Addr) (int, error) {
	time.Sleep(s.sleep)
	return s.PacketConn.WriteTo(data, to)
}
