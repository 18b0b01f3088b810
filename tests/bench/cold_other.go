//go:build !linux

package main

import "errors"

func forgetter([]string) (how string, forget func() error, err error) {
	return "", nil, errors.New("this system has no way to make its memory forget a file")
}
