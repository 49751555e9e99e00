// The order of test files: the longest first, so that a run does not end with one of them alone. Beside those that wait for processes run those that
// compute, and the many short unit files fill what is left.
import { BaseSequencer, type TestSpecification } from 'vitest/node'

/** Seconds that they take where three run on two cores. A guess is enough; the rest takes less. */
export const LONG_FILES: Readonly<Record<string, number>> = {
  'test/e2e/whole-way/whole-way.test.ts': 180,
  'test/integration/sync.test.ts': 90,
  'test/integration/image-containerd.test.ts': 65,
  'test/integration/install-verbs.test.ts': 65,
  'test/integration/two-sources.test.ts': 65,
  'test/e2e/agent-host/agent-host.test.ts': 55,
  'test/attacks/fleet-code.test.ts': 40,
  'test/e2e/agent-processes/agent-processes.test.ts': 40,
  'test/integration/install-document.test.ts': 40,
  'test/integration/prune-last.test.ts': 40,
  'test/contract/apiserver-floods.test.ts': 30,
  'test/integration/render-cage.test.ts': 30,
  'test/integration/rollout.test.ts': 30,
  'test/sim/rollout/rollout.test.ts': 30,
  'test/integration/uncommitted-change.test.ts': 25,
  'test/sim/machines/renames.test.ts': 20,
  'test/sim/remedy/remedy.test.ts': 20,
}

/** Layers whose files share processes, those with the longest files first. */
const SHARED_LAYERS = ['contract', 'attacks', 'fuzz', 'unit']

export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    // Projects one after the other, the larger files of each first.
    const sorted = await super.sort(files)
    const places = new Map(SHARED_LAYERS.map((name, i) => [name, i]))
    // Files that share processes share them only while they follow each other: after those that do not, one layer after the other.
    const group = ({ project }: TestSpecification): number =>
      project.config.isolate ? -1 : (places.get(project.name) ?? SHARED_LAYERS.length)
    const seconds = ({ moduleId, project }: TestSpecification): number =>
      LONG_FILES[moduleId.slice(project.config.root.length + 1)] ?? 0
    return sorted.toSorted((a, b) => group(a) - group(b) || seconds(b) - seconds(a))
  }
}
