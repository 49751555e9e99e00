import { expect, test } from 'vitest'
import { machine } from '#api/kinds/machine.ts'
import { machineComponentSet } from '#api/kinds/machine-component-set.ts'
import { operationalHold } from '#api/kinds/operational-hold.ts'
import { seededRandom } from '#lib/random.ts'
import { FakeKube } from '#test/doubles/kube/fake-kube.ts'
import { componentSet } from '#test/support/fleets/rollout-fleet.ts'
import { VIRTUAL_EPOCH_MS, VirtualClock } from '#test/support/clocks/virtual-clock.ts'
import { branchesOf } from './branches.ts'
import { treeLines } from './tree.ts'

const since = '2026-01-05T00:00:00Z'
const set = componentSet({ beacon: '1.2.0', scribe: '1.0.0' })

async function linesWith(machines: number): Promise<readonly string[]> {
  const kinds = [machine, machineComponentSet, operationalHold].map((type) => ({
    type,
    schema: type.schema,
    status: true as const,
  }))
  const client = new FakeKube({ clock: new VirtualClock(), random: seededRandom(1), kinds }).client({ actor: 'ada' })
  const labels = set.spec.selector.matchLabels ?? {}
  for (let i = 0; i < machines; i++) {
    const name = `m-${String(i).padStart(2, '0')}`
    const made = await client.create(machine, { ...machine.example, metadata: { name, labels } } as never)
    const components = [
      { name: 'beacon', version: '1.2.0', state: 'Healthy', since },
      ...(i === 0 ? [{ name: 'scribe', version: '1.0.0', state: 'Failed', since }] : []),
    ]
    await client.update(machine, { ...made, status: { phase: 'Ready', components } } as never, {
      subresource: 'status',
    })
  }
  await client.create(machine, {
    ...machine.example,
    metadata: { name: 'elsewhere', labels: { pool: 'other' } },
  } as never)
  return treeLines(await branchesOf(client, { ...set, kind: 'MachineComponentSet' }, VIRTUAL_EPOCH_MS))
}

test('the tree of a set shows its machines and what they run of it, and no other machine', async () => {
  expect((await linesWith(2)).slice(-2)).toEqual([
    '├─ machine/m-00 Ready: beacon 1.2.0, scribe 1.0.0 Failed',
    '└─ machine/m-01 Ready: beacon 1.2.0, scribe none',
  ])
})

test('machines beyond fifty are counted', async () => {
  const lines = await linesWith(53)
  expect(lines.filter((l) => l.includes('machine/'))).toHaveLength(50)
  expect(lines.at(-1)).toBe('└─ … and 3 more machines')
})
