// A provider that errs, lies or flaps about a machine's power: while the machine may run, its node is not taken out of service.
import { KINDS } from '#api/kinds.ts'
import { remedyOperationJob } from '#api/kinds/remedy-operation-job.ts'
import { seededRandom } from '#lib/random.ts'
import { isFencedBy } from '#nodes/fence.ts'
import { type Node, nodeType } from '#nodes/objects.ts'
import type { Host, Provider } from '#providers/port.ts'
import { FakeKube } from '#test/doubles/kube/fake-kube.ts'
import { VirtualClock } from '#test/support/clocks/virtual-clock.ts'
import { CLEARANCE } from '#test/support/permits/clearance.ts'
import { expect, test } from 'vitest'
import type { StepResult } from '../actions.ts'
import { type JobStep, type Seen, cordonOwner } from '../seen.ts'
import { fenceOff } from './fence-off.ts'
import { FreeDevices } from './free-devices.ts'
import { OffSightings } from './off-sightings.ts'

type State = Host['state'] | 'Absent' | 'No answer'

const REQUEUE_MS = 5_000
const SILENT: Seen['standing'] = { kind: 'Silent', why: 'Ready is Unknown' }
const job = {
  metadata: { name: 'j', uid: 'j-1' },
  spec: { ...remedyOperationJob.example.spec, node: { name: 'n', uid: 'n-1' } },
} as unknown as Seen['job']

/** One pass of the step per answer of the provider. Returns the output of each pass, and whether the node is out of service afterwards. */
async function passes(states: readonly State[], { standing = SILENT, canSwitch = false, machineUid = 'm-1' } = {}) {
  const clock = new VirtualClock()
  const kinds = KINDS.map((type) => ({ type, schema: type.schema, status: type.definition.status !== undefined }))
  const fake = new FakeKube({ clock, random: seededRandom(1), kinds })
  fake.plant(nodeType, { apiVersion: 'v1', kind: 'Node', metadata: { name: 'n', uid: 'n-1' }, spec: {} })
  const node = () => fake.peek(nodeType, { name: 'n' }) as Node
  const owner = cordonOwner(job)
  const orders: string[] = []
  let state: State = 'Running'
  const provider = {
    name: 'cloud',
    get: async () => {
      if (state === 'No answer') throw new Error('timed out')
      return state === 'Absent' ? undefined : { providerID: 'cloud://h-1', machineUid, state }
    },
    ...(canSwitch && { power: async (_: string, to: string) => void orders.push(to) }),
  } as unknown as Provider
  const tools = {
    client: fake.client({ actor: 'controllers' }),
    clock,
    random: seededRandom(1),
    providers: { cloud: provider },
    off: new OffSightings(clock),
    free: new FreeDevices(),
  }
  const machine = {
    metadata: { name: 'n', uid: 'm-1' },
    spec: { provider: { name: 'cloud' }, providerID: 'cloud://h-1' },
  }
  const step = { index: 0, operation: 'fence', startedAt: '2026-01-05T00:00:00Z' }
  let output: string | undefined
  const evidence: (readonly [string | undefined, boolean])[] = []
  for (state of states) {
    const uid = node().metadata.uid ?? ''
    const about = { ...job, spec: { ...job.spec, node: { name: 'n', uid } } }
    const seen = { job: about, machine, standing, node: node(), others: [] } as unknown as Seen
    const pass = await fenceOff(
      CLEARANCE,
      tools,
      { ...step, output } as unknown as JobStep,
      seen,
      new AbortController().signal,
    )
    const went = (pass.kind === 'Applied' ? pass.object : { output: pass.kind }) as StepResult
    output = went.output
    evidence.push([output, isFencedBy(node(), owner)])
    await clock.advance(REQUEUE_MS)
    if (went.outcome !== undefined) break
  }
  return { said: evidence, orders, isFenced: isFencedBy(node(), owner), last: evidence.at(-1)?.[0] }
}

test('a machine that is reported as off for ten seconds is fenced, and not before', async () => {
  const { said: evidence } = await passes(['Stopped', 'Stopped', 'Stopped'])
  expect(evidence).toEqual([
    ['the provider reports the machine as Stopped; waiting for it to report so again', false],
    ['the provider reports the machine as Stopped; waiting for it to report so again', false],
    ['the machine is off', true],
  ])
})

test('a host that the provider no longer has counts as off in the same way', async () => {
  const { said: evidence } = await passes(['Absent', 'Absent', 'Absent'])
  expect(evidence.map(([, isFenced]) => isFenced)).toEqual([false, false, true])
  expect(evidence[0]?.[0]).toBe('the provider no longer has the machine; waiting for it to report so again')
})

test.each<readonly [string, readonly State[]]>([
  ['says Stopped once', ['Stopped', 'Running', 'Running', 'Running']],
  ['does not have the machine once', ['Absent', 'Running', 'Running', 'Running']],
  ['flips between Stopped and Running', Array.from({ length: 40 }, (_, i) => (i % 2 === 0 ? 'Stopped' : 'Running'))],
  [
    'flips with three different answers',
    Array.from({ length: 40 }, (_, i) => (['Absent', 'Creating', 'Stopped'] as const)[i % 3] ?? 'Running'),
  ],
  ['says Stopped twice, again and again', Array.from({ length: 40 }, (_, i) => (i % 3 === 2 ? 'Running' : 'Stopped'))],
  ['never answers', Array.from({ length: 10 }, () => 'No answer' as const)],
])('a provider that %s has no node taken out of service, with power or without', async (_, states) => {
  for (const canSwitch of [false, true])
    expect((await passes(states, { canSwitch })).said.some(([, f]) => f)).toBe(false)
})

test('a node that still sends heartbeats is not taken out of service, however often its machine is reported as off', async () => {
  const { said: evidence, last } = await passes(['Stopped', 'Stopped', 'Stopped', 'Stopped', 'Absent'], {
    standing: { kind: 'Readable' },
  })
  expect(evidence.some(([, isFenced]) => isFenced)).toBe(false)
  expect(last).toBe('the provider no longer has the machine, but its node still sends heartbeats')
})

test('an answer that is missing in between takes nothing back', async () => {
  expect((await passes(['Stopped', 'No answer', 'Stopped'])).isFenced).toBe(true)
})

test('a machine that was switched off is fenced once that is certain, and switched on again', async () => {
  const {
    said: evidence,
    orders,
    last,
  } = await passes(['Running', 'Running', 'Stopped', 'Stopped', 'Stopped'], {
    canSwitch: true,
  })
  expect(evidence.map(([, isFenced]) => isFenced)).toEqual([false, false, false, false, true])
  expect(orders).toEqual(['Off', 'On'])
  expect(last).toBe('the machine was switched off, taken out of service, and switched on')
})

test.each(['Running', 'Stopped'] as const)(
  'a host that its provider shows as that of another Machine, %s, is not switched, and its node is not taken out of service',
  async (state) => {
    for (const canSwitch of [false, true]) {
      const { orders, isFenced, last } = await passes(Array(5).fill(state), { canSwitch, machineUid: 'another' })
      expect([orders, isFenced]).toEqual([[], false])
      expect(last).toBe(
        'the provider shows cloud://h-1 as the host of another Machine; check its tags: it is unknown whether it is off',
      )
    }
  },
)
