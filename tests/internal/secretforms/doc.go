// Package secretforms writes made-up secrets as tools print them and as files
// hold them, and ordinary texts that look like it.
//
// A form is a text with places for secrets: a line of .pgpass, the JSON that
// "aws ssm get-parameter" prints, a command line with a password. Each form
// belongs to a class. A frame is what tools put around the lines of a text: the
// signs of a diff, line numbers, colours, a log's prefix, the quotes of a
// literal. A sample is a form in a frame with fresh values.
//
// The forms follow the tools' output, not the rules of internal/redact. Those that
// are held out were written when the rules were done, and no rule was written for
// one of them. The forms in the folder field are in classes by where one meets them:
// development.txt has those that rules were written for, measured.txt those that
// were written after the rules. Nothing here is a secret, and every run makes the same values.
package secretforms
