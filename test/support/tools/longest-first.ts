// The order of test files: the longest first, so that a run does not end with one of them alone. Those that wait for processes begin, and the many short unit
// files fill what is left.
import { BaseSequencer, type TestSpecification } from 'vitest/node'

/** Seconds that they take where six run on two cores. A guess is enough; the rest takes less. */
export const LONG_FILES: Readonly<Record<string, number>> = {
  'test/e2e/whole-way/whole-way.test.ts': 450,
  'test/e2e/agent-processes/agent-processes.test.ts': 240,
  'test/integration/image-containerd.test.ts': 220,
  'test/e2e/agent-host/agent-host.test.ts': 200,
  'test/e2e/host-doctor-day/host-doctor-day.test.ts': 190,
  'test/integration/program-planes.test.ts': 190,
  'test/e2e/every-detector/every-detector.test.ts': 180,
  'test/e2e/prometheus/prometheus.test.ts': 180,
  'test/attacks/hosted-clusters.test.ts': 170,
  'test/e2e/broken-hardware/broken-hardware.test.ts': 170,
  'test/integration/uninstall-strangers.test.ts': 160,
  'test/integration/install-kubectl.test.ts': 150,
  'test/integration/kubernetes-clusters.test.ts': 150,
  'test/integration/previews.test.ts': 150,
  'test/contract/apiserver-floods.test.ts': 130,
  'test/integration/install-settings.test.ts': 130,
  'test/attacks/console-issuer.test.ts': 120,
  'test/contract/git-sources.test.ts': 120,
  'test/e2e/real/ssh-visits.test.ts': 120,
  'test/e2e/apiserver-kill.test.ts': 110,
  'test/e2e/real/hand-back.test.ts': 110,
  'test/e2e/real/ssh-nodes.test.ts': 110,
  'test/integration/programs-left.test.ts': 110,
  'test/sim/prediction.test.ts': 110,
  'test/sim/rollout/reboots.test.ts': 110,
  'test/sim/rollout/rollout.test.ts': 110,
  'test/integration/cluster-addons.test.ts': 100,
  'test/integration/hosted-programs.test.ts': 100,
  'test/integration/prepared-edits.test.ts': 100,
  'test/sim/control-planes/control-planes.test.ts': 100,
  'test/integration/control-planes-in-turn.test.ts': 90,
  'test/integration/kubernetes-host.test.ts': 90,
  'test/integration/login-programs.test.ts': 90,
  'test/integration/plan-jobs.test.ts': 90,
  'test/integration/rollout.test.ts': 90,
  'test/sim/acceptance/acceptance.test.ts': 90,
  'test/sim/hosts/hosts.test.ts': 90,
  'test/attacks/plan-digests.test.ts': 80,
  'test/attacks/signed-commits.test.ts': 80,
  'test/e2e/agent-host/self-upgrade.test.ts': 80,
  'test/e2e/agent-kill/repairs.test.ts': 80,
  'test/integration/cluster-rotation.test.ts': 80,
  'test/integration/clusters.test.ts': 80,
  'test/integration/components-over-ssh.test.ts': 80,
  'test/integration/cuts-over-ssh.test.ts': 80,
  'test/integration/named-addons.test.ts': 80,
  'test/sim/clusters/clusters.test.ts': 80,
  'test/attacks/rescue-key.test.ts': 70,
  'test/browser/many.test.ts': 70,
  'test/browser/site.test.ts': 70,
  'test/browser/views.test.ts': 70,
  'test/e2e/agent-kill/agent-kill.test.ts': 70,
  'test/integration/init.test.ts': 70,
  'test/integration/render-cage.test.ts': 70,
  'test/integration/terminal-habits.test.ts': 70,
  'test/sim/hostdoctor/hostdoctor.test.ts': 70,
  'test/sim/hosts/region.test.ts': 70,
  'test/attacks/local-user.test.ts': 60,
  'test/attacks/programs-in-cluster.test.ts': 60,
  'test/browser/dialogs.test.ts': 60,
  'test/browser/forms.test.ts': 60,
  'test/browser/keyboard.test.ts': 60,
  'test/browser/states.test.ts': 60,
  'test/integration/git-bombs.test.ts': 60,
  'test/integration/git-repository.test.ts': 60,
  'test/integration/install-document.test.ts': 60,
  'test/integration/install-verbs.test.ts': 60,
  'test/integration/kubernetes-host-rotation.test.ts': 60,
  'test/integration/rollback-command.test.ts': 60,
  'test/integration/terminal.test.ts': 60,
  'test/attacks/console-two-people.test.ts': 50,
  'test/attacks/fleet-code.test.ts': 50,
  'test/attacks/prepared-commits.test.ts': 50,
  'test/browser/picked.test.ts': 50,
  'test/browser/server.test.ts': 50,
  'test/e2e/agent-host/journal-logs.test.ts': 50,
  'test/e2e/real/join-ssh.test.ts': 50,
  'test/integration/agent-upgrade.test.ts': 50,
  'test/integration/release.test.ts': 50,
  'test/integration/repair-steps.test.ts': 50,
  'test/sim/hostdoctor/bills.test.ts': 50,
  'test/sim/remedy/remedy.test.ts': 50,
  'test/sim/rollout/canary-and-bump.test.ts': 50,
  'test/sim/rollout/promise.test.ts': 50,
  'src/programs/local/build.test.ts': 40,
  'src/programs/planes/embedded-host.test.ts': 40,
  'src/providers/remote/conformance.test.ts': 40,
  'test/attacks/console.test.ts': 40,
  'test/attacks/stuck-planes.test.ts': 40,
  'test/browser/hostile.test.ts': 40,
  'test/browser/reverse-proxy.test.ts': 40,
  'test/contract/apiserver-slow-readers.test.ts': 40,
  'test/e2e/agent-host/brought-monitor.test.ts': 40,
  'test/e2e/agent-kill/self.test.ts': 40,
  'test/e2e/replicas/two-defenders.test.ts': 40,
  'test/integration/agent-accounts.test.ts': 40,
  'test/integration/agent-leave-alone.test.ts': 40,
  'test/integration/git-without-program.test.ts': 40,
  'test/integration/hub-first.test.ts': 40,
  'test/integration/install-bad-input.test.ts': 40,
  'test/integration/join-line.test.ts': 40,
  'test/integration/many-clusters.test.ts': 40,
  'test/integration/render-job.test.ts': 40,
  'test/integration/sync.test.ts': 40,
  'test/integration/uncommitted-change.test.ts': 40,
  'test/repo/alerts.test.ts': 40,
  'deploy/charts/install.test.ts': 30,
  'src/agent/components/shared-reboot.test.ts': 30,
  'src/agent/os/bootc.test.ts': 30,
  'src/api/validate.property.test.ts': 30,
  'src/cli/every-option.test.ts': 30,
  'src/controllers/componentset/plan.fix-forward.test.ts': 30,
  'src/controllers/componentset/plan.memo.test.ts': 30,
  'src/history/record/recorder.test.ts': 30,
  'src/providers/nspawn/nspawn.test.ts': 30,
  'src/providers/remote/lying.test.ts': 30,
  'src/sync/release/chain-safety.test.ts': 30,
  'test/browser/sign-in.test.ts': 30,
  'test/contract/apiserver-definitions.test.ts': 30,
  'test/integration/failed-start.test.ts': 30,
  'test/integration/why-not.test.ts': 30,
  'bench/simulate/day.test.ts': 20,
  'fleet/fleet.test.ts': 20,
  'src/agent/components/crash.test.ts': 20,
  'src/agent/components/kept-whole.test.ts': 20,
  'src/agent/os/kernel.test.ts': 20,
  'src/agent/self/supervisor.test.ts': 20,
  'src/apiserver/storage/data-faults.test.ts': 20,
  'src/artifacts/authoring/pack.property.test.ts': 20,
  'src/cli/commands/fleet-repository/lint-fleets.test.ts': 20,
  'src/cli/commands/fleet-repository/rules.test.ts': 20,
  'src/cli/commands/machine/agent.test.ts': 20,
  'src/cli/loaded-modules.test.ts': 20,
  'src/controllers/componentset/members/newcomers.test.ts': 20,
  'src/controllers/componentset/plan.holds.test.ts': 20,
  'src/controllers/componentset/plan.no-evidence.test.ts': 20,
  'src/controllers/componentset/plan.refused.test.ts': 20,
  'src/controllers/componentset/plan.scaled.test.ts': 20,
  'src/controllers/componentset/revisions/way-back.test.ts': 20,
  'src/controllers/machine/plan.property.test.ts': 20,
  'src/controllers/machines-hosts.test.ts': 20,
  'src/controllers/machines-lies.test.ts': 20,
  'src/controllers/machines-ssh.test.ts': 20,
  'src/controllers/remedy/plan.property.test.ts': 20,
  'src/controllers/remedy/verdicts/verdict-book.test.ts': 20,
  'src/controlplanes/credentials/graph.test.ts': 20,
  'src/controlplanes/credentials/keep.test.ts': 20,
  'src/controlplanes/upgrade/walks.property.test.ts': 20,
  'src/defender/webhook/keys.test.ts': 20,
  'src/forecast/backtest/backtest.test.ts': 20,
  'src/forecast/backtest/show-backtest.test.ts': 20,
  'src/forecast/forecast.test.ts': 20,
  'src/kube/assume.property.test.ts': 20,
  'src/lib/regex.test.ts': 20,
  'src/programs/local/break/break-machine.test.ts': 20,
  'src/programs/local/declared.test.ts': 20,
  'src/programs/local/repository.test.ts': 20,
  'src/providers/cloud/clouds.test.ts': 20,
  'src/providers/conformance.test.ts': 20,
  'test/attacks/console-proxy.test.ts': 20,
  'test/fuzz/apiserver.test.ts': 20,
  'test/fuzz/git-objects.test.ts': 20,
  'test/fuzz/openpgp-signatures.test.ts': 20,
  'test/fuzz/status-patches.test.ts': 20,
  'test/integration/agent-frozen.test.ts': 20,
  'test/integration/cluster-budgets.test.ts': 20,
  'test/integration/logs.test.ts': 20,
  'test/integration/repair-replace.test.ts': 20,
  'test/integration/ssh-join.test.ts': 20,
  'test/sim/release/planes.test.ts': 20,
  'test/sim/rollout-flips.test.ts': 20,
}

/**
 * Layers whose files share processes, those with the longest files first. All of them: a process ends as soon as the next file is of another layer, and its
 * successor loads everything again.
 */
const SHARED_LAYERS = ['integration', 'sim', 'contract', 'attacks', 'fuzz', 'repo', 'unit']

/** Layers that every run takes whole, but for their files in the table. */
const QUICK_LAYERS = ['unit', 'repo', 'fuzz']

export class LongestFirst extends BaseSequencer {
  /** `--shard=2/12`: a twelfth of the layers with servers, programs and seeds, and of the long files. */
  override async shard(files: TestSpecification[]): Promise<TestSpecification[]> {
    const { index, count } = this.ctx.config.shard ?? { index: 1, count: 1 }
    const isQuick = (f: TestSpecification): boolean =>
      QUICK_LAYERS.includes(f.project.name) && secondsOf(f) <= OTHER_SECONDS
    const inTurn = files.filter((f) => !isQuick(f)).toSorted((a, b) => (a.moduleId < b.moduleId ? -1 : 1))
    return [...files.filter(isQuick), ...(shares(inTurn, count, secondsOf)[index - 1] ?? [])]
  }

  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    // Projects one after the other, the larger files of each first.
    const sorted = await super.sort(files)
    const places = new Map(SHARED_LAYERS.map((name, i) => [name, i]))
    // Files that share processes share them only while they follow each other: after those that do not, one layer after the other.
    const group = ({ project }: TestSpecification): number =>
      project.config.isolate ? -1 : (places.get(project.name) ?? SHARED_LAYERS.length)
    return sorted.toSorted((a, b) => group(a) - group(b) || secondsOf(b) - secondsOf(a))
  }
}

/** What is not in the table takes about as long. */
const OTHER_SECONDS = 10

const secondsOf = ({ moduleId, project }: TestSpecification): number =>
  LONG_FILES[moduleId.slice(project.config.root.length + 1)] ?? OTHER_SECONDS

/** Each to the share that has least so far, the longest first: together they are all, and each takes about as long as the others. */
export function shares<T>(all: readonly T[], count: number, secondsOf: (one: T) => number): readonly (readonly T[])[] {
  const made = Array.from({ length: count }, () => ({ seconds: 0, of: [] as T[] }))
  for (const one of all.toSorted((a, b) => secondsOf(b) - secondsOf(a))) {
    const least = made.reduce((a, b) => (b.seconds < a.seconds ? b : a))
    least.of.push(one)
    least.seconds += secondsOf(one)
  }
  return made.map((m) => m.of)
}
