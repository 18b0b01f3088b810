package answer

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/files/regular"
	"github.com/hookspan/hookspan/internal/rawjson"
	"github.com/hookspan/hookspan/internal/userhooks/hookfile"
)

// The values of HOOKSPAN_HOOKS_ON_ERROR that matter here.
const (
	onErrorAllow = "allow"
	onErrorDeny  = "deny"
)

// denial is the answer if the user's hooks could not be run: a tool call is denied,
// since one of them may be a guard, unless the user wants otherwise; a prompt is
// denied if the user wants that. It is nil if nothing is denied.
func (a *asking) denial(why error) []byte {
	switch kind, onError := a.call.Head.Kind, a.call.Config.HooksOnError; {
	case kind == hook.KindToolStart && onError != onErrorAllow:
	case kind == hook.KindPrompt && onError == onErrorDeny:
	default:
		return nil
	}
	text := fmt.Sprintf("hookspan could not run your hooks, so this is denied: %v. See hookspan doctor; "+
		"HOOKSPAN_HOOKS_ON_ERROR=allow allows calls without hooks", why)
	return a.call.Process.Agent.Reply(hook.Reply{Cancel: true, ErrorMessage: text})
}

// mayGuard reports whether one of the files may hold a hook for tool calls; a file
// that cannot be read may. A project's file counts if the user trusts its content,
// or the list of trusted files cannot be read.
func (a *asking) mayGuard() bool {
	own := a.ownFiles()
	for _, file := range own {
		data, err := regular.Read(file, regular.Options{Max: maxHooks})
		switch guards, off := holdsGuard(data); {
		case err != nil && (!errors.Is(err, fs.ErrNotExist) || exists(file)), err == nil && guards:
			return true
		case err == nil && off && file == a.homeFile():
			return false
		}
	}
	if !a.trusts() {
		return false
	}
	list, unread := regular.Read(a.trustList(), regular.Options{Max: maxHooks})
	return slices.ContainsFunc(append([]string{a.call.Process.Dir}, a.call.Head.Dirs...), func(dir string) bool {
		file := filepath.Join(dir, a.hooks.File)
		if !filepath.IsAbs(dir) || slices.Contains(own, file) {
			return false
		}
		data, err := regular.Read(file, regular.Options{Max: maxHooks, NoLink: true})
		if err != nil {
			// Only regular files are trusted.
			var irregular *regular.Error
			return !errors.Is(err, fs.ErrNotExist) && !errors.As(err, &irregular)
		}
		guards, _ := holdsGuard(data)
		sum := sha256.Sum256(data)
		return guards && (unread != nil || bytes.Contains(list, []byte(hex.EncodeToString(sum[:]))))
	})
}

// maxHooks is the largest file with hooks, or list of trusted files, that is read,
// in bytes.
const maxHooks = 4 << 20

// holdsGuard reports whether a file holds a hook for tool calls, and whether it
// switches all hooks off. A file that is not valid is searched for the event's
// name, which may be written with escapes.
func holdsGuard(data []byte) (guards, off bool) {
	valid := rawjson.EachMember(bytes.TrimPrefix(data, []byte("\ufeff")), func(name, value []byte) {
		switch string(name) { // encoding/json would take any case
		case "disableAllHooks":
			off = string(value) == "true"
		case "hooks":
			rawjson.EachMember(value, func(name, value []byte) {
				list, isList := rawjson.Elements(value)
				guards = guards || string(name) == "PreToolUse" && (!isList || len(list) > 0)
			})
		}
	})
	if !valid {
		return bytes.Contains(data, []byte("PreToolUse")) || bytes.Contains(data, []byte(`\u`)), false
	}
	return guards && !off, off
}

// trusts reports whether the user has a list of trusted project files.
func (a *asking) trusts() bool {
	_, err := os.Lstat(a.trustList())
	return err == nil || !errors.Is(err, fs.ErrNotExist)
}

func (a *asking) trustList() string {
	return hookfile.TrustIn(a.call.Config.ConfigDir).Path
}
