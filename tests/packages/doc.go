// Package packages uses each package of a release as a person does, in a root
// folder with nothing but a package manager in it: installs it, records sessions,
// upgrades it and removes it.
package packages
