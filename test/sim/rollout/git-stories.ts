// Stories of a set that git owns: sync commits to it in its three writes, and people edit it in between; what was never committed reaches no machine.
import { API_GROUP_VERSION } from '#api/kind.ts'
import { inventory } from '#api/kinds/inventory.ts'
import { type MachineComponentSet, machineComponentSet } from '#api/kinds/machine-component-set.ts'
import { ANNOTATIONS } from '#api/names.ts'
import { type CommittedContent, contentOf, keptContent } from '#api/protocol/committed.ts'
import { seededRandom } from '#lib/random.ts'
import { BAD } from '#test/support/fleets/rollout-fleet.ts'
import { SET, type Stage, declare } from './fleet.ts'
import type { Story } from './stories.ts'

const INVENTORY = 'kubenode-system.fleet.main.0'
/** Between two writes of one pass; caches are behind by less and by more. */
const BETWEEN_MS = 3_000
/** Until the next pass of sync puts an edit back. */
const PASS_MS = 8_000

const below = ({ seed }: Stage, salt: number, most: number): number => seededRandom(seed * 7_001 + salt).below(most)

const specWith = ({ fake }: Stage, version: string) => {
  const { spec } = fake.peek(machineComponentSet, { name: SET }) as MachineComponentSet
  return { ...spec, components: [{ name: 'beacon', version }] }
}

function contentWith(stage: Stage, version: string): CommittedContent {
  const content = contentOf({ kind: 'MachineComponentSet', spec: specWith(stage, version) })
  if (content === undefined) throw new Error('a set has content')
  return content
}

function record(stage: Stage, versions: readonly string[]): void {
  const { fake } = stage
  const committed = versions.map((v) => contentWith(stage, v))
  const refs = [{ group: 'kubenode.io', kind: 'MachineComponentSet', namespace: '', name: SET, committed }]
  const spec = { source: 'kubenode-system/fleet', track: 'main', shard: 0, refs }
  if (fake.peek(inventory, { name: INVENTORY }) !== undefined)
    return void fake.poke(inventory, { name: INVENTORY }, { spec: { refs } })
  return void fake.plant(inventory, {
    apiVersion: API_GROUP_VERSION,
    kind: 'Inventory',
    metadata: { name: INVENTORY },
    spec,
  })
}

/** Spec and annotation in one write, as an apply. */
function apply(stage: Stage, version: string): void {
  const spec = specWith(stage, version)
  const annotations = { [ANNOTATIONS.committed]: keptContent({ kind: 'MachineComponentSet', spec }) }
  stage.fake.poke(machineComponentSet, { name: SET }, { metadata: { annotations }, spec })
}

interface Change {
  readonly from: string
  readonly to: string
  readonly at: number
}

function commit(stage: Stage, { from, to, at }: Change): void {
  const between = (salt: number) => 1 + below(stage, salt, BETWEEN_MS)
  const applied = at + between(31)
  stage.clock.after(at, () => record(stage, [to, from]))
  stage.clock.after(applied, () => apply(stage, to))
  stage.clock.after(applied + between(32), () => record(stage, [to]))
}

/** A user edits the set, and the next pass restores what git declares by then. */
function edit(stage: Stage, at: number, salt: number, declared: string): void {
  stage.clock.after(at, () => declare(stage, BAD))
  stage.clock.after(at + 1 + below(stage, salt, PASS_MS), () => apply(stage, declared))
}

export const editedByHand: Story = {
  name: 'edits of what git owns',
  phases: (agents) => [
    {
      name: 'begin',
      act: (w, g) => {
        g.plantFleet(agents(), { declared: '1.0.0' })
        apply(w, '1.0.0')
        record(w, ['1.0.0'])
      },
    },
    {
      name: 'edit at rest',
      act: (w) => edit(w, 1_000 + below(w, 33, 5_000), 34, '1.0.0'),
    },
    {
      name: 'commit, and edit in mid-rollout',
      act: (w) => {
        commit(w, { from: '1.0.0', to: '1.1.0', at: 500 })
        edit(w, 8_000 + below(w, 35, 10_000), 36, '1.1.0')
      },
    },
    {
      name: 'edit between the writes of a commit',
      act: (w) => {
        edit(w, 1_000, 37, '1.2.0')
        commit(w, { from: '1.1.0', to: '1.2.0', at: 1_000 + below(w, 38, 4_000) })
      },
    },
  ],
}
