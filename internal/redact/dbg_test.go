package redact
import "testing"
func TestDbg(t *testing.T){
 r:=New(nil)
 for _,s:=range []string{"AKIAI5GMJ2ZL","\"first\\nAKIAI5GMJ2ZL","x AKIAI5GMJ2ZL"} { t.Log(r.Tail(s)) }
 for _,ru:=range tokenRules()[:2] { ru.compile(); t.Log(ru.head()) }
}
