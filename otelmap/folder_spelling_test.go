package otelmap

import "testing"

func TestFoldersOnADriveAreOneInEachSpelling(t *testing.T) {
	for _, tt := range []struct {
		path, want string
		same       string
	}{
		{`C:\Dev\Shop`, `C:\Dev\Shop`, `c:/dev/shop/`},
		{`c:/Dev/Shop//`, `C:\Dev\Shop`, `C:\Dev\Shop`},
		{`c:\`, `C:\`, `C:/`},
		{`/home/Dev/c:/x/`, `/home/Dev/c:/x/`, `/home/Dev/c:/x/`},
		{`c:x`, `c:x`, `c:x`},
		{`//server/share/`, `//server/share/`, `//server/share/`},
	} {
		if got := Folder(tt.path); got != tt.want || FolderKey(tt.path) != FolderKey(tt.same) {
			t.Errorf("Folder(%q) = %q, want %q; keys %q and %q", tt.path, got, tt.want, FolderKey(tt.path), FolderKey(tt.same))
		}
	}
	if FolderKey("/home/Dev") == FolderKey("/home/dev") {
		t.Error("folders of other systems are folded")
	}
	if !Below(`C:\Dev\Shop`, `c:/dev/`) || Below(`C:\developer`, `c:/dev/`) {
		t.Error("the filter compares the case of a drive's folders, or takes a part of a name")
	}
}
