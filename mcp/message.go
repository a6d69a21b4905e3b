package mcp

import (
	"bytes"
	"encoding/json"
)

// message is one JSON-RPC message, taken apart once. Its parts point into the line.
type message struct {
	id       []byte // as it was written; nil for a notification
	method   string
	params   []byte // an object, or nil
	response bool   // an answer to a request of ours
	result   []byte
}

var null = []byte("null")

// parse takes a line apart. A problem is what to answer, with the id if there is one to answer to.
func parse(line []byte) (m message, problem *fault) {
	if !json.Valid(line) {
		return m, &fault{null, parseError, "this is no JSON"}
	}
	list, ok := members(line)
	if !ok {
		if line[0] == '[' {
			return m, &fault{null, invalidRequest, "batches are not supported: send one message per line"}
		}
		return m, &fault{null, invalidRequest, "a message is a JSON object"}
	}
	version := false
	id, why := null, ""
	if _, ok := twice(list); ok {
		why = "a member is there twice"
	}
	for _, p := range list {
		switch p.name {
		case "jsonrpc":
			version = string(p.value) == `"2.0"`
		case "id":
			m.id = p.value
			if p.value[0] == '"' || p.value[0] == '-' || p.value[0] >= '0' && p.value[0] <= '9' {
				id = p.value
			} else {
				why = "id must be a string or a number"
			}
		case "method":
			if p.value[0] != '"' {
				why = "method must be a string"
			} else {
				m.method = unquote(p.value)
			}
		case "params":
			if !isNull(p.value) {
				m.params = p.value
			}
		case "result":
			m.response, m.result = true, p.value
		case "error":
			m.response = true
		}
	}
	switch {
	case why != "":
	case !version:
		why = `jsonrpc must be "2.0"`
	case m.method == "" && !m.response:
		why = "method is missing"
	case m.method != "" && m.response:
		why = "a request has no result"
	case m.params != nil && m.params[0] != '{':
		return m, &fault{id, invalidParams, "params must be an object"}
	}
	if why != "" {
		return m, &fault{id, invalidRequest, why}
	}
	return m, nil
}

// fault is an error response that is to be sent.
type fault struct {
	id   []byte
	code int
	text string
}

// clone lets a message outlive the line that it came in.
func (m message) clone() message {
	m.id, m.params, m.result = bytes.Clone(m.id), bytes.Clone(m.params), bytes.Clone(m.result)
	return m
}

// param returns one member of the params, nil if it is not there or null.
func (m message) param(name string) []byte { return find(m.params, name) }

func find(object []byte, name string) []byte {
	list, _ := members(object)
	for i := len(list) - 1; i >= 0; i-- {
		if list[i].name == name && !isNull(list[i].value) {
			return list[i].value
		}
	}
	return nil
}
