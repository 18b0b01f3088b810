package record

// trusted is true: a folder passes on its access rights.
func trusted(string, string) bool { return true }
