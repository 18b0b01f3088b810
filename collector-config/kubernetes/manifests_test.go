// Package kubernetes holds the manifests of gateways against the types of Kubernetes.
package kubernetes

import (
	"bytes"
	"os"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"sigs.k8s.io/yaml"
)

// read returns the manifests by kind and name. A field that a type does not have is an
// error, as it is for a server with strict validation.
func read(t *testing.T) map[string]any {
	t.Helper()
	b, err := os.ReadFile("gateways.yaml")
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]any{}
	for doc := range bytes.SplitSeq(b, []byte("\n---\n")) {
		var head struct {
			APIVersion string `json:"apiVersion"`
			Kind       string `json:"kind"`
			Metadata   struct {
				Name string `json:"name"`
			} `json:"metadata"`
		}
		if err := yaml.Unmarshal(doc, &head); err != nil {
			t.Fatal(err)
		}
		into := map[string]any{
			"v1 Service": &corev1.Service{}, "policy/v1 PodDisruptionBudget": &policyv1.PodDisruptionBudget{},
			"networking.k8s.io/v1 NetworkPolicy": &networkingv1.NetworkPolicy{}, "apps/v1 StatefulSet": &appsv1.StatefulSet{},
		}[head.APIVersion+" "+head.Kind]
		if into == nil {
			t.Fatalf("unknown %s %s", head.APIVersion, head.Kind)
		}
		if err := yaml.UnmarshalStrict(doc, into); err != nil {
			t.Errorf("%s %s: %v", head.Kind, head.Metadata.Name, err)
		}
		out[head.Kind+" "+head.Metadata.Name] = into
	}
	return out
}

func TestManifestsAreOfTheTypesOfKubernetes(t *testing.T) {
	if got := read(t); len(got) != 5 {
		t.Errorf("%d manifests, want 5", len(got))
	}
}

// Names that one manifest uses of another, or of the configurations.
func TestManifestsFitTogether(t *testing.T) {
	all := read(t)
	set, ok := all["StatefulSet hookspan-gateways"].(*appsv1.StatefulSet)
	if !ok {
		t.Fatal("there is no StatefulSet")
	}
	headless, ok := all["Service "+set.Spec.ServiceName].(*corev1.Service)
	if !ok || headless.Spec.ClusterIP != corev1.ClusterIPNone {
		t.Fatalf("%q is no headless Service", set.Spec.ServiceName)
	}
	c := set.Spec.Template.Spec.Containers[0]
	ports := map[int32]bool{}
	for _, p := range c.Ports {
		ports[p.ContainerPort] = true
	}
	for name, m := range all {
		service, ok := m.(*corev1.Service)
		if !ok {
			continue
		}
		for k, v := range service.Spec.Selector {
			if set.Spec.Template.Labels[k] != v || set.Spec.Selector.MatchLabels[k] != v {
				t.Errorf("%s selects %s=%s, which the pods do not have", name, k, v)
			}
		}
		for _, p := range service.Spec.Ports {
			if !ports[p.Port] {
				t.Errorf("%s is for port %d, which no container has", name, p.Port)
			}
		}
	}
	env := map[string]string{}
	for _, e := range c.Env {
		env[e.Name] = e.Value
	}
	if env["GATEWAY_SERVICE"] != headless.Name {
		t.Errorf("GATEWAY_SERVICE is %q, want %q", env["GATEWAY_SERVICE"], headless.Name)
	}
	var config []byte
	for _, file := range []string{"../gateway.yaml", "../kubernetes.yaml"} {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		config = append(config, b...)
	}
	for name := range env {
		if !bytes.Contains(config, []byte("${env:"+name)) {
			t.Errorf("the configurations have no %s", name)
		}
	}
	queue := set.Spec.VolumeClaimTemplates[0].Name
	mounts := map[string]string{}
	for _, m := range c.VolumeMounts {
		mounts[m.Name] = m.MountPath
	}
	if mounts[queue] == "" || !strings.HasPrefix(env["QUEUE_DIRECTORY"], mounts[queue]+"/") {
		t.Errorf("QUEUE_DIRECTORY %q is not on the volume %q at %q", env["QUEUE_DIRECTORY"], queue, mounts[queue])
	}
}

// What the restricted standard for pods asks for.
func TestPodsAreRestricted(t *testing.T) {
	set := read(t)["StatefulSet hookspan-gateways"].(*appsv1.StatefulSet)
	pod, c := set.Spec.Template.Spec.SecurityContext, set.Spec.Template.Spec.Containers[0].SecurityContext
	if !*pod.RunAsNonRoot || *pod.RunAsUser == 0 || pod.SeccompProfile.Type != corev1.SeccompProfileTypeRuntimeDefault {
		t.Errorf("the pod's security: %v", pod)
	}
	if *c.AllowPrivilegeEscalation || !*c.ReadOnlyRootFilesystem || len(c.Capabilities.Drop) != 1 || c.Capabilities.Drop[0] != "ALL" {
		t.Errorf("the container's security: %v", c)
	}
	if token := set.Spec.Template.Spec.AutomountServiceAccountToken; token == nil || *token {
		t.Error("the pods have a token for the server")
	}
}
