package config

import (
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// TestCINamesWhatItsDocumentationNames has, of each CI, the variables of a push and of a change with
// values in the forms that its documentation describes.
func TestCINamesWhatItsDocumentationNames(t *testing.T) {
	const sha, merge = "ffac537e6cbbf934b08745a378932722df287a53", "27de3e3a3fa3d2c8e8f0a1b2c3d4e5f60718293a"
	github := `GITHUB_ACTIONS=true GITHUB_WORKFLOW=ci GITHUB_RUN_ID=1658821493 GITHUB_SERVER_URL=https://github.com GITHUB_REPOSITORY=octocat/Hello-World
		GITHUB_REPOSITORY_OWNER=octocat GITHUB_JOB=greeting_job RUNNER_NAME=Hosted_Agent GITHUB_REF_TYPE=branch GITHUB_SHA=` + sha
	inGithub := `cicd.pipeline.name=ci cicd.pipeline.run.id=1658821493 cicd.pipeline.run.url.full=https://github.com/octocat/Hello-World/actions/runs/1658821493
		cicd.pipeline.task.name=greeting_job cicd.worker.name=Hosted_Agent vcs.provider.name=github vcs.owner.name=octocat
		vcs.repository.url.full=https://github.com/octocat/Hello-World vcs.ref.head.type=branch `
	gitlab := `GITLAB_CI=true CI_PIPELINE_ID=1234 CI_PIPELINE_URL=https://gitlab.com/g/app/-/pipelines/1234 CI_JOB_NAME=test CI_JOB_ID=77
		CI_JOB_URL=https://gitlab.com/g/app/-/jobs/77 CI_RUNNER_ID=12 CI_RUNNER_DESCRIPTION=shared CI_PROJECT_URL=https://gitlab.com/g/app
		CI_PROJECT_NAMESPACE=g CI_REPOSITORY_URL=https://gitlab-ci-token:SECRET@gitlab.com/g/app.git CI_COMMIT_SHA=` + sha
	inGitlab := `cicd.pipeline.run.id=1234 cicd.pipeline.run.url.full=https://gitlab.com/g/app/-/pipelines/1234 cicd.pipeline.task.name=test
		cicd.pipeline.task.run.id=77 cicd.pipeline.task.run.url.full=https://gitlab.com/g/app/-/jobs/77 cicd.worker.id=12 cicd.worker.name=shared
		vcs.provider.name=gitlab vcs.repository.url.full=https://gitlab.com/g/app vcs.owner.name=g `
	jenkins := `JENKINS_URL=http://server:8080/jenkins/ JOB_NAME=foo/main BUILD_TAG=jenkins-foo-main-153 BUILD_NUMBER=153 NODE_NAME=linux
		BUILD_URL=http://server:8080/jenkins/job/foo/job/main/153/ STAGE_NAME=Test GIT_URL=https://github.com/o/foo.git GIT_COMMIT=` + sha
	inJenkins := `cicd.pipeline.name=foo/main cicd.pipeline.run.id=jenkins-foo-main-153 cicd.pipeline.run.url.full=http://server:8080/jenkins/job/foo/job/main/153/
		cicd.pipeline.task.name=Test cicd.worker.name=linux vcs.repository.url.full=https://github.com/o/foo.git `
	circle := `CIRCLECI=true CIRCLE_JOB=build CIRCLE_PIPELINE_ID=5034460f-c7c4-4c43-9457-de07e2029e7b CIRCLE_WORKFLOW_ID=b80acc3a CIRCLE_WORKFLOW_JOB_ID=8fb3a911
		CIRCLE_BUILD_URL=https://circleci.com/gh/o/app/7 CIRCLE_REPOSITORY_URL=git@github.com:o/app.git CIRCLE_PROJECT_USERNAME=o CIRCLE_SHA1=` + sha
	inCircle := `cicd.pipeline.run.id=5034460f-c7c4-4c43-9457-de07e2029e7b cicd.pipeline.task.name=build cicd.pipeline.task.run.id=8fb3a911
		cicd.pipeline.task.run.url.full=https://circleci.com/gh/o/app/7 vcs.repository.url.full=git@github.com:o/app.git vcs.owner.name=o
		vcs.ref.head.revision=` + sha + " "
	buildkite := `BUILDKITE=true BUILDKITE_PIPELINE_SLUG=my-pipe BUILDKITE_BUILD_ID=4735ba57-80d0-46e2-8fa0-b28223a86586 BUILDKITE_JOB_ID=e44f9784
		BUILDKITE_BUILD_URL=https://buildkite.com/o/my-pipe/builds/1514 BUILDKITE_LABEL=tests BUILDKITE_AGENT_ID=1a22a BUILDKITE_AGENT_NAME=elastic-1
		BUILDKITE_PIPELINE_PROVIDER=github BUILDKITE_REPO=git@github.com:o/app.git `
	inBuildkite := `cicd.pipeline.name=my-pipe cicd.pipeline.run.id=4735ba57-80d0-46e2-8fa0-b28223a86586 cicd.pipeline.task.run.id=e44f9784
		cicd.pipeline.run.url.full=https://buildkite.com/o/my-pipe/builds/1514 cicd.pipeline.task.run.url.full=https://buildkite.com/o/my-pipe/builds/1514#e44f9784
		cicd.pipeline.task.name=tests cicd.worker.id=1a22a cicd.worker.name=elastic-1 vcs.provider.name=github vcs.repository.url.full=git@github.com:o/app.git
		vcs.ref.head.type=branch `
	azure := `TF_BUILD=True BUILD_DEFINITIONNAME=app-ci BUILD_BUILDID=4711 SYSTEM_TEAMFOUNDATIONCOLLECTIONURI=https://dev.azure.com/fabrikam/
		SYSTEM_TEAMPROJECTID=11e5f0a1 SYSTEM_JOBDISPLAYNAME=Job SYSTEM_JOBID=12f1170f AGENT_ID=8 AGENT_NAME=Azure-1 BUILD_REPOSITORY_PROVIDER=TfsGit
		BUILD_REPOSITORY_URI=https://dev.azure.com/fabrikam/p/_git/app BUILD_SOURCEVERSION=` + sha
	inAzure := `cicd.pipeline.name=app-ci cicd.pipeline.run.id=4711 cicd.pipeline.task.name=Job cicd.pipeline.task.run.id=12f1170f cicd.worker.id=8
		cicd.pipeline.run.url.full=https://dev.azure.com/fabrikam/11e5f0a1/_build/results?buildId=4711 cicd.worker.name=Azure-1
		vcs.repository.url.full=https://dev.azure.com/fabrikam/p/_git/app vcs.ref.head.type=branch `
	for name, c := range map[string]struct{ environ, want string }{
		"no CI": {"CI=true GITHUB_WORKFLOW=x BUILD_TAG=y", ""},
		// https://docs.github.com/en/actions/reference/workflows-and-actions/variables
		"GitHub, a push": {github + " GITHUB_REF=refs/heads/feature-1 GITHUB_REF_NAME=feature-1", inGithub + "vcs.ref.head.name=feature-1 vcs.ref.head.revision=" + sha},
		"GitHub, a pull request": {
			github + " GITHUB_REF=refs/pull/42/merge GITHUB_REF_NAME=42/merge GITHUB_HEAD_REF=feature-1 GITHUB_BASE_REF=main",
			inGithub + "vcs.ref.head.name=feature-1 vcs.ref.base.name=main vcs.change.id=42",
		},
		"GitHub, the base of a pull request": {
			github + " GITHUB_REF=refs/heads/rel/pull/7 GITHUB_REF_NAME=rel/pull/7 GITHUB_HEAD_REF=feature-1 GITHUB_BASE_REF=rel/pull/7",
			inGithub + "vcs.ref.head.name=feature-1 vcs.ref.base.name=rel/pull/7",
		},
		// https://docs.gitlab.com/ci/variables/predefined_variables/
		"GitLab, a push": {gitlab + " CI_COMMIT_REF_NAME=main CI_COMMIT_BRANCH=main", inGitlab + "vcs.ref.head.name=main vcs.ref.head.type=branch vcs.ref.head.revision=" + sha},
		"GitLab, a tag":  {gitlab + " CI_COMMIT_REF_NAME=v1 CI_COMMIT_TAG=v1", inGitlab + "vcs.ref.head.name=v1 vcs.ref.head.type=tag vcs.ref.head.revision=" + sha},
		"GitLab, a merge request of a named pipeline": {
			gitlab + ` CI_PIPELINE_NAME=nightly CI_MERGE_REQUEST_IID=3 CI_MERGE_REQUEST_SOURCE_BRANCH_NAME=patch-1 CI_MERGE_REQUEST_TARGET_BRANCH_NAME=main
				CI_COMMIT_REF_NAME=patch-1 CI_MERGE_REQUEST_SOURCE_BRANCH_SHA=` + merge,
			inGitlab + "cicd.pipeline.name=nightly vcs.change.id=3 vcs.ref.head.name=patch-1 vcs.ref.base.name=main vcs.ref.head.type=branch vcs.ref.head.revision=" + merge,
		},
		// https://www.jenkins.io/doc/book/pipeline/jenkinsfile/#using-environment-variables and its page pipeline-syntax/globals#env
		"Jenkins, a job":    {jenkins + " GIT_BRANCH=origin/main", inJenkins + "vcs.ref.head.revision=" + sha},
		"Jenkins, a branch": {jenkins + " BRANCH_NAME=main", inJenkins + "vcs.ref.head.name=main vcs.ref.head.type=branch vcs.ref.head.revision=" + sha},
		"Jenkins, a change": {
			jenkins + " BRANCH_NAME=PR-9 CHANGE_ID=9 CHANGE_BRANCH=fix CHANGE_TARGET=main",
			inJenkins + "vcs.ref.head.name=fix vcs.ref.head.type=branch vcs.ref.base.name=main vcs.change.id=9",
		},
		// https://circleci.com/docs/reference/variables/
		"CircleCI, a push": {circle + " CIRCLE_BRANCH=main", inCircle + "vcs.ref.head.name=main vcs.ref.head.type=branch"},
		"CircleCI, a tag":  {circle + " CIRCLE_TAG=v2", inCircle + "vcs.ref.head.name=v2 vcs.ref.head.type=tag"},
		"CircleCI, a pull request": {
			circle + " CIRCLE_BRANCH=pull/15 CIRCLE_PULL_REQUEST=https://github.com/o/app/pull/15",
			inCircle + "vcs.ref.head.name=pull/15 vcs.ref.head.type=branch vcs.change.id=15",
		},
		// https://buildkite.com/docs/pipelines/configure/environment-variables
		"Buildkite, a push": {
			buildkite + "BUILDKITE_BRANCH=main BUILDKITE_PULL_REQUEST=false BUILDKITE_COMMIT=" + sha,
			inBuildkite + "vcs.ref.head.name=main vcs.ref.head.revision=" + sha,
		},
		"Buildkite, HEAD of a pull request": {
			buildkite + "BUILDKITE_BRANCH=fix BUILDKITE_PULL_REQUEST=123 BUILDKITE_PULL_REQUEST_BASE_BRANCH=main BUILDKITE_COMMIT=HEAD",
			inBuildkite + "vcs.ref.head.name=fix vcs.ref.base.name=main vcs.change.id=123",
		},
		// https://learn.microsoft.com/azure/devops/pipelines/build/variables
		"Azure, a push": {azure + " BUILD_SOURCEBRANCH=refs/heads/feature/x", inAzure + "vcs.ref.head.name=feature/x vcs.ref.head.revision=" + sha},
		"Azure, a pull request of GitHub": {
			`BUILD_REPOSITORY_PROVIDER=GitHub ` + azure + ` BUILD_SOURCEBRANCH=refs/pull/1/merge SYSTEM_PULLREQUEST_SOURCEBRANCH=fix SYSTEM_PULLREQUEST_TARGETBRANCH=refs/heads/main
				SYSTEM_PULLREQUEST_PULLREQUESTNUMBER=12 SYSTEM_PULLREQUEST_PULLREQUESTID=9001`,
			inAzure + "vcs.provider.name=github vcs.ref.head.name=fix vcs.ref.base.name=main vcs.change.id=12",
		},
	} {
		cfg, _ := Load(Input{Environ: strings.Fields(c.environ), Home: "/home/dev", GOOS: "linux"})
		got, want := cfg.CI(), make(map[string]string)
		for _, pair := range strings.Fields(c.want) {
			key, value, _ := strings.Cut(pair, "=")
			want[key] = value
		}
		maps.DeleteFunc(got, func(_, value string) bool { return value == "" })
		if d := cmp.Diff(want, got, cmpopts.EquateEmpty()); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
	}
}
