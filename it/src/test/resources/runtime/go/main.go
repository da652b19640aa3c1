// An ordinary function for HTTP events of format 2.0.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-lambda-go/lambdacontext"
)

const parties = 32

// Blocks until all parties have arrived.
type barrier struct {
	mutex sync.Mutex
	here  int
	open  chan struct{}
}

func (b *barrier) meet() error {
	b.mutex.Lock()
	open := b.open
	b.here++
	if b.here == parties {
		b.here, b.open = 0, make(chan struct{})
		close(open)
	}
	b.mutex.Unlock()
	select {
	case <-open:
		return nil
	case <-time.After(20 * time.Second):
		return errors.New("too few requests were here at once")
	}
}

var hall = barrier{open: make(chan struct{})}

func handle(ctx context.Context, event events.APIGatewayV2HTTPRequest) (any, error) {
	switch event.RawPath {
	case "/meet":
		invocation, _ := lambdacontext.FromContext(ctx)
		return text(invocation.AwsRequestID), hall.meet()
	case "/sleep":
		time.Sleep(300 * time.Millisecond)
		return text(fmt.Sprint(os.Getpid())), nil
	case "/fail":
		return nil, errors.New("no secret")
	case "/panic":
		panic("on purpose")
	case "/sse":
		return stream(), nil
	}
	return events.APIGatewayV2HTTPResponse{
		StatusCode:      200,
		Headers:         map[string]string{"content-type": event.Headers["content-type"]},
		Body:            event.Body,
		IsBase64Encoded: event.IsBase64Encoded,
	}, nil
}

func text(body string) events.APIGatewayV2HTTPResponse {
	return events.APIGatewayV2HTTPResponse{StatusCode: 200, Body: body}
}

func stream() *events.LambdaFunctionURLStreamingResponse {
	reader, writer := io.Pipe()
	go func() {
		fmt.Fprint(writer, "data: one\n\n")
		time.Sleep(1500 * time.Millisecond)
		fmt.Fprint(writer, "data: two\n\n")
		writer.Close()
	}()
	return &events.LambdaFunctionURLStreamingResponse{
		StatusCode: 218,
		Headers:    map[string]string{"content-type": "text/event-stream"},
		Cookies:    []string{"a=1", "b=2"},
		Body:       reader,
	}
}

func main() {
	lambda.Start(handle)
}
