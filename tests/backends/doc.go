// Package backends sends the traces of the recorded sessions to real backends, started on
// loopback at pinned versions, and asks their APIs what they made of them.
//
// Phoenix and MLflow come from PyPI and are installed in the cache folder, Jaeger and Prometheus are
// built from the modules in the folders jaeger and prometheus. That takes minutes the first time and most of a
// gigabyte each, so the tests run only with the flag -backends, as "make test-backends"
// gives it.
package backends
