package regular

import (
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"unsafe"

	"golang.org/x/sys/windows"
)

const (
	// noWait is nothing here: opening waits for no other end.
	noWait = 0
	// noFollow opens a link itself, which then shows as no regular file.
	noFollow = syscall.FILE_FLAG_OPEN_REPARSE_POINT
)

// private allows any file: access rights come from the folder.
func private(string, fs.FileInfo) error { return nil }

// rooted refuses an open file that others than SYSTEM and the Administrators can change
// or replace.
func rooted(path string, f *os.File) error {
	file, err := windows.GetSecurityInfo(windows.Handle(f.Fd()), windows.SE_FILE_OBJECT, windows.OWNER_SECURITY_INFORMATION|windows.DACL_SECURITY_INFORMATION)
	if err != nil {
		return err
	}
	folder, err := windows.GetNamedSecurityInfo(filepath.Dir(path), windows.SE_FILE_OBJECT, windows.OWNER_SECURITY_INFORMATION|windows.DACL_SECURITY_INFORMATION)
	if err != nil {
		return err
	}
	if !administered(file, fileWrites) || !administered(folder, folderWrites) {
		return &Error{Path: path, Found: "access rights of others", Want: "file and folder that only SYSTEM and the Administrators can change", open: true}
	}
	return nil
}

// The rights to change a file, and to replace files in a folder. In the folder below
// ProgramData every user may add files by default, which changes none that is there.
const (
	ownerWrites  = windows.DELETE | windows.WRITE_DAC | windows.WRITE_OWNER | windows.GENERIC_WRITE | windows.GENERIC_ALL
	fileWrites   = ownerWrites | windows.FILE_WRITE_DATA | windows.FILE_APPEND_DATA
	folderWrites = ownerWrites | fileDeleteChild
	// fileDeleteChild is FILE_DELETE_CHILD of winnt.h.
	fileDeleteChild = 0x40
)

// administered reports that only administrators own a thing and have one of the rights.
func administered(sd *windows.SECURITY_DESCRIPTOR, rights windows.ACCESS_MASK) bool {
	owner, _, err := sd.Owner()
	if err != nil || !administrator(owner) {
		return false
	}
	dacl, _, err := sd.DACL()
	if err != nil || dacl == nil {
		return false
	}
	for i := range uint32(dacl.AceCount) {
		var ace *windows.ACCESS_ALLOWED_ACE
		if windows.GetAce(dacl, i, &ace) != nil {
			return false
		}
		if ace.Header.AceType != windows.ACCESS_ALLOWED_ACE_TYPE || ace.Header.AceFlags&windows.INHERIT_ONLY_ACE != 0 || ace.Mask&rights == 0 {
			continue
		}
		if !administrator((*windows.SID)(unsafe.Pointer(&ace.SidStart))) { //nolint:gosec // An ACE ends with its SID.
			return false
		}
	}
	return true
}

func administrator(sid *windows.SID) bool {
	if sid.IsWellKnown(windows.WinLocalSystemSid) || sid.IsWellKnown(windows.WinBuiltinAdministratorsSid) {
		return true
	}
	// TrustedInstaller has no well-known number.
	return sid.String() == "S-1-5-80-956008885-3418522649-1831038044-1853292631-2271478464"
}
