package mcp

import (
	"encoding/json"
	"sync/atomic"

	mcpgo "github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// session is what the library knows of a connection.
type session struct {
	id            string
	notifications chan mcpgo.JSONRPCNotification
	ended         chan struct{}
	initialized   atomic.Bool
	client        atomic.Pointer[mcpgo.Implementation]
	capabilities  atomic.Pointer[mcpgo.ClientCapabilities]
}

var _ server.SessionWithClientInfo = (*session)(nil)

func newSession(id string) *session {
	s := &session{id: id, notifications: make(chan mcpgo.JSONRPCNotification, 16), ended: make(chan struct{})}
	s.client.Store(&mcpgo.Implementation{})
	s.capabilities.Store(&mcpgo.ClientCapabilities{})
	return s
}

func (s *session) SessionID() string { return s.id }
func (s *session) Initialize()       { s.initialized.Store(true) }

func (s *session) Initialized() bool                                     { return s.initialized.Load() }
func (s *session) NotificationChannel() chan<- mcpgo.JSONRPCNotification { return s.notifications }
func (s *session) GetClientInfo() mcpgo.Implementation                   { return *s.client.Load() }
func (s *session) SetClientInfo(i mcpgo.Implementation)                  { s.client.Store(&i) }
func (s *session) GetClientCapabilities() mcpgo.ClientCapabilities       { return *s.capabilities.Load() }

func (s *session) SetClientCapabilities(capable mcpgo.ClientCapabilities) {
	s.capabilities.Store(&capable)
}

// notify passes the library's notifications on.
func (c *conn) notify() {
	for {
		select {
		case n := <-c.session.notifications:
			if raw, err := json.Marshal(n); err == nil {
				c.out.send(append(raw, '\n'))
			}
		case <-c.session.ended:
			return
		}
	}
}
