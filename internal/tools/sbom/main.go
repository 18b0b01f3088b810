// Command sbom writes a CycloneDX bill of materials of Go programs, from what
// the toolchain has put into the programs themselves: nothing is looked up, and
// the same programs give the same bytes.
//
//	sbom -version VERSION PROGRAM... > hookspan.cdx.json
package main

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"debug/buildinfo"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	cdx "github.com/CycloneDX/cyclonedx-go"
)

func main() {
	version := flag.String("version", "", "the version of the programs, which a trimmed build does not contain")
	flag.Parse()
	if err := run(*version, flag.Args(), os.Stdout); err != nil {
		fmt.Fprintf(os.Stderr, "sbom: %v\n", err)
		os.Exit(1)
	}
}

func run(version string, programs []string, out io.Writer) error {
	if len(programs) == 0 {
		return fmt.Errorf("no program is named: want paths, such as bin/hookspan")
	}
	bom, err := describe(version, programs)
	if err != nil {
		return err
	}
	return cdx.NewBOMEncoder(out, cdx.BOMFileFormatJSON).SetPretty(true).EncodeVersion(bom, cdx.SpecVersion1_6)
}

// describe makes the bill: each program with its SHA-256, and each module in them.
func describe(version string, programs []string) (*cdx.BOM, error) {
	bom := cdx.NewBOM()
	modules := make(map[string]cdx.Component)
	var applications []cdx.Component
	var depends []cdx.Dependency
	all := sha256.New()
	for _, path := range programs {
		data, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		info, err := buildinfo.Read(bytes.NewReader(data))
		if err != nil {
			return nil, fmt.Errorf("program %q: %w", path, err)
		}
		sum := fmt.Sprintf("%x", sha256.Sum256(data))
		_, _ = io.WriteString(all, sum)
		version := cmp.Or(version, info.Main.Version)
		name := strings.TrimSuffix(filepath.Base(path), ".exe")
		app := cdx.Component{
			BOMRef: "program:" + name, Type: cdx.ComponentTypeApplication, Name: name, Version: version,
			PackageURL: purl(info.Main.Path, version),
			Hashes:     &[]cdx.Hash{{Algorithm: cdx.HashAlgoSHA256, Value: sum}},
			Properties: settings(info),
		}
		applications = append(applications, app)
		var needs []string
		add := func(path, version string, c cdx.Component) {
			c.BOMRef, c.Type, c.Name, c.Version, c.PackageURL = purl(path, version), cdx.ComponentTypeLibrary, path, version, purl(path, version)
			modules[c.BOMRef] = c
			needs = append(needs, c.BOMRef)
		}
		add("std", info.GoVersion, cdx.Component{Description: "the Go standard library and runtime"})
		for _, m := range info.Deps {
			if m.Replace != nil {
				m = m.Replace
			}
			add(m.Path, m.Version, cdx.Component{Properties: &[]cdx.Property{{Name: "go:sum", Value: m.Sum}}})
		}
		slices.Sort(needs)
		depends = append(depends, cdx.Dependency{Ref: app.BOMRef, Dependencies: &needs})
	}
	components := applications
	for _, m := range modules {
		components = append(components, m)
	}
	slices.SortFunc(components, func(x, y cdx.Component) int { return cmp.Compare(x.BOMRef, y.BOMRef) })
	bom.Metadata = &cdx.Metadata{Component: &cdx.Component{BOMRef: "hookspan", Type: cdx.ComponentTypeApplication, Name: "hookspan", Version: applications[0].Version}}
	bom.Components, bom.Dependencies = &components, &depends
	// The number is to differ between bills and be the same for the same programs.
	id := all.Sum(nil)[:16]
	id[6], id[8] = id[6]&0x0f|0x80, id[8]&0x3f|0x80 // RFC 9562, version 8
	bom.SerialNumber = fmt.Sprintf("urn:uuid:%x-%x-%x-%x-%x", id[:4], id[4:6], id[6:8], id[8:10], id[10:])
	return bom, nil
}

// settings are how the program was built.
func settings(info *buildinfo.BuildInfo) *[]cdx.Property {
	properties := []cdx.Property{{Name: "go:version", Value: info.GoVersion}}
	for _, s := range info.Settings {
		properties = append(properties, cdx.Property{Name: "go:build:" + s.Key, Value: s.Value})
	}
	return &properties
}

// purl names a module as the package URL specification does.
func purl(path, version string) string {
	return "pkg:golang/" + strings.ReplaceAll(path, "+", "%2B") + "@" + strings.ReplaceAll(version, "+", "%2B")
}
