// Notes every request that came whole, and answers with what it was.
package main

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"sync"
)

func main() {
	seen, err := os.OpenFile(os.Args[2], os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		panic(err)
	}
	var one sync.Mutex
	answer := func(response http.ResponseWriter, request *http.Request) {
		if _, err := io.Copy(io.Discard, request.Body); err != nil {
			return
		}
		line := fmt.Sprintf("%s %s\n", request.Method, request.RequestURI)
		one.Lock()
		fmt.Fprint(seen, line)
		one.Unlock()
		fmt.Fprint(response, line)
	}
	panic(http.ListenAndServe("127.0.0.1:"+os.Args[1], http.HandlerFunc(answer)))
}
