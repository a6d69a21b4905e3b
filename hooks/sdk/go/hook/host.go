package hook

import "strconv"

// host is the server's side: the imports of hook1, or Fake. Answers below zero are those of the ABI.
type host interface {
	get(field int32, key string, buf []byte) int32 // the value's length; written if it fits
	set(field int32, key, value string) int32
	unset(field int32, key string) int32
	write(p []byte) int32
	log(level int32, message, attrs string)
}

// Fields of hook1 by their numbers.
const (
	fieldCommand  = 1
	fieldArgv     = 2
	fieldDir      = 3
	fieldEnv      = 4
	fieldTimeout  = 5
	fieldTarget   = 6
	fieldSession  = 8
	fieldTool     = 10
	fieldBackend  = 11
	fieldShell    = 12
	fieldReason   = 14
	fieldNote     = 15
	fieldConfig   = 16
	fieldFeatures = 17
	fieldState    = 21
	fieldResult   = 23
)

// Answers of the server that are no lengths.
const (
	absent      = -1
	unsupported = -2
	tooBig      = -4
	invalid     = -5
	readOnly    = -6
)

// refusal is the server's answer to something that the hook wanted to set.
type refusal struct {
	answer, field int32
	key           string
}

func (r *refusal) Error() string {
	why := map[int32]string{
		unsupported: "this server does not have it, or not in this event", tooBig: "it is too long",
		invalid: "the value is not allowed", readOnly: "it can only be read here",
	}[r.answer]
	if why == "" {
		why = "the server answered " + strconv.Itoa(int(r.answer))
	}
	name := "field " + strconv.Itoa(int(r.field))
	if r.key != "" {
		name += " (" + r.key + ")"
	}
	return name + " was not set: " + why
}
