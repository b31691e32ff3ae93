// Program oracle answers questions about expressions with the libraries that Argo itself uses.
//
// It reads one JSON question per line and writes one JSON answer per line, in the same order.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"strings"

	"github.com/Knetic/govaluate"
	"github.com/argoproj/argo-workflows/v4/util/expr/argoexpr"
	exprenv "github.com/argoproj/argo-workflows/v4/util/expr/env"
	"github.com/argoproj/argo-workflows/v4/util/logging"
	"github.com/argoproj/argo-workflows/v4/util/template"
	"github.com/expr-lang/expr"
)

type question struct {
	Kind   string         `json:"kind"`
	Text   string         `json:"text"`
	Values map[string]any `json:"values"`
	Allow  bool           `json:"allow"`
	Strict []string       `json:"strict"`
}

type answer struct {
	Value any    `json:"value"`
	Shown string `json:"shown"`
	Error string `json:"error,omitempty"`
}

func main() {
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(make([]byte, 1<<20), 1<<26)
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	ctx := logging.WithLogger(context.Background(), logging.NewSlogLogger(logging.Error, logging.JSON))
	for in.Scan() {
		var q question
		if err := json.Unmarshal(in.Bytes(), &q); err != nil {
			panic(err)
		}
		line, err := json.Marshal(reply(ctx, q))
		if err != nil {
			line, _ = json.Marshal(answer{Error: "unprintable: " + err.Error()})
		}
		out.Write(append(line, '\n'))
	}
}

func reply(ctx context.Context, q question) (a answer) {
	defer func() {
		if r := recover(); r != nil {
			a = answer{Error: fmt.Sprintf("panic: %v", r)}
		}
	}()
	var value any
	var err error
	switch q.Kind {
	case "expression":
		value, err = evaluate(q)
	case "when":
		value, err = condition(q.Text)
	case "depends":
		value, err = depends(q)
	case "template":
		value, err = render(ctx, q)
	default:
		err = fmt.Errorf("unknown kind %q", q.Kind)
	}
	if err != nil {
		return answer{Error: err.Error()}
	}
	if _, err := json.Marshal(value); err != nil {
		return answer{Shown: fmt.Sprintf("%v", value), Value: "unmarshalable: " + err.Error()}
	}
	return answer{Value: value, Shown: fmt.Sprintf("%v", value)}
}

func evaluate(q question) (any, error) {
	env := exprenv.GetFuncMap(q.Values)
	program, err := expr.Compile(q.Text, expr.Env(env))
	if err != nil {
		return nil, err
	}
	return expr.Run(program, env)
}

// condition decides as Argo's controller does for a step's "when".
func condition(text string) (any, error) {
	first, err := govaluate.NewEvaluableExpression(text)
	if err != nil {
		return nil, err
	}
	tokens := first.Tokens()
	for i := range tokens {
		if tokens[i].Kind == govaluate.VARIABLE {
			tokens[i].Kind = govaluate.STRING
		}
	}
	second, err := govaluate.NewEvaluableExpressionFromTokens(tokens)
	if err != nil {
		return nil, err
	}
	return second.Evaluate(nil)
}

// results has the fields that a "depends" may name, as in Argo's controller.
type results struct {
	Succeeded, Failed, Errored, Skipped, Omitted, Daemoned, AnySucceeded, AllFailed bool
}

// depends decides a condition whose bare names are already written out.
func depends(q question) (any, error) {
	scope := map[string]results{}
	for name, found := range q.Values {
		task := results{}
		for _, result := range found.([]any) {
			reflect.ValueOf(&task).Elem().FieldByName(result.(string)).SetBool(true)
		}
		scope[strings.ReplaceAll(name, "-", "_")] = task
	}
	return argoexpr.EvalBool(strings.ReplaceAll(q.Text, "-", "_"), scope)
}

func render(ctx context.Context, q question) (any, error) {
	values := map[string]string{}
	for key, value := range q.Values {
		values[key] = value.(string)
	}
	if len(q.Strict) > 0 {
		return template.ReplaceStrict(ctx, q.Text, values, q.Strict)
	}
	return template.Replace(ctx, q.Text, values, q.Allow)
}
