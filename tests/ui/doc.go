// Package ui tests the page of hookspan ui in Chromium: what a person sees in each view,
// the keys, and what hostile texts and other pages of this machine can do.
package ui
