package crowd

import "os"

func peak(*os.ProcessState) int64 { return 0 }
