// Program oracle answers when schedules are due, with the library that Argo itself uses.
//
// It reads one JSON question per line and writes one JSON answer per line, in the same order.
// Times are seconds since the epoch; 0 in an answer stands for "never".
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"time"

	"github.com/robfig/cron/v3"
)

type question struct {
	Spec  string `json:"spec"`
	Nano  int64  `json:"nano"`
	Count int    `json:"count"`
}

type answer struct {
	Times []int64 `json:"times"`
	Error string  `json:"error,omitempty"`
}

func main() {
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(make([]byte, 1<<20), 1<<26)
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	for in.Scan() {
		var q question
		if err := json.Unmarshal(in.Bytes(), &q); err != nil {
			panic(err)
		}
		line, err := json.Marshal(reply(q))
		if err != nil {
			panic(err)
		}
		out.Write(append(line, '\n'))
	}
}

func reply(q question) (a answer) {
	// The library panics on a zone with nothing behind it.
	defer func() {
		if r := recover(); r != nil {
			a = answer{Error: fmt.Sprintf("panic: %v", r)}
		}
	}()
	schedule, err := cron.ParseStandard(q.Spec)
	if err != nil {
		return answer{Error: err.Error()}
	}
	at := time.Unix(0, q.Nano).UTC()
	for range q.Count {
		at = schedule.Next(at)
		if at.IsZero() {
			a.Times = append(a.Times, 0)
			break
		}
		a.Times = append(a.Times, at.Unix())
	}
	return a
}
