// The order of test files: the longest first, whatever their layer, so that a run does not end with one of them alone. Between those that wait for
// processes come those that compute, and the many short unit files fill what is left.
import { BaseSequencer, type TestSpecification } from 'vitest/node'

/** Seconds that they take where three run on two cores. A guess is enough; the rest takes less. */
export const LONG_FILES: Readonly<Record<string, number>> = {
  'test/e2e/whole-way/whole-way.test.ts': 180,
  'test/integration/sync.test.ts': 120,
  'test/sim/rollout/rollout.test.ts': 120,
  'test/integration/image-containerd.test.ts': 65,
  'test/integration/install-verbs.test.ts': 65,
  'test/integration/two-sources.test.ts': 65,
  'test/e2e/agent-host/agent-host.test.ts': 55,
  'test/e2e/certificate-life.test.ts': 50,
  'test/integration/rollout.test.ts': 50,
  'test/sim/defender/defender.test.ts': 50,
  'test/sim/rollout-flips.test.ts': 50,
  'test/attacks/fleet-code.test.ts': 40,
  'test/e2e/agent-processes/agent-processes.test.ts': 40,
  'test/integration/install-document.test.ts': 40,
  'test/integration/prune-last.test.ts': 40,
  'test/sim/componentset.test.ts': 35,
  'test/sim/remedy/remedy.test.ts': 35,
  'test/contract/apiserver-floods.test.ts': 30,
  'test/e2e/apiserver-disk.test.ts': 30,
  'test/integration/render-cage.test.ts': 30,
  'test/integration/why-not.test.ts': 30,
  'test/sim/machines/renames.test.ts': 30,
  'test/integration/renames.test.ts': 25,
  'test/integration/uncommitted-change.test.ts': 25,
  'test/sim/machines/machines.test.ts': 25,
  'test/sim/release/release.test.ts': 25,
}

export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    // Projects one after the other, the larger files of each first.
    const sorted = await super.sort(files)
    const rank = ({ moduleId, project }: TestSpecification): number =>
      // Files that share processes share them only while they follow each other.
      project.config.isolate ? (LONG_FILES[moduleId.slice(project.config.root.length + 1)] ?? 0) : -1
    return sorted.toSorted((a, b) => rank(b) - rank(a))
  }
}
