import type { KubeClient } from '#kube/client.ts'
import { FakeKube } from '#test/doubles/kube/fake-kube.ts'
import { type CallFault, noFaults } from '#test/doubles/kube/faults.ts'
import { seededRandom } from '#lib/random.ts'
import type { KubeObject } from '#api/schema/object.ts'
import type { ResourceType } from '#api/schema/resource.ts'
import { VirtualClock } from '#test/support/clocks/virtual-clock.ts'
import { describe, expect, test } from 'vitest'
import { writeStatus, writtenOrThrow } from './write-status.ts'

interface Status {
  readonly phase?: string
  readonly seen?: string
}
interface Widget extends KubeObject {
  readonly status?: Status
}

const type: ResourceType<Widget> = {
  group: 'test.io',
  version: 'v1',
  kind: 'Widget',
  plural: 'widgets',
  namespaced: false,
}
const KEY = { name: 'w' }
const made = { apiVersion: 'test.io/v1', kind: 'Widget', metadata: { name: 'w' }, spec: { n: 1 } }
const fieldManager = 'writer'

type Write = (client: KubeClient, object: Widget, status: Status) => Promise<{ readonly kind: string } | undefined>

/** How each caller writes a status. */
const CALLERS: Readonly<Record<string, Write>> = {
  Machine: (client, object, status) => {
    const shared = { before: object.status, over: 'Object' } as const
    return writeStatus({ client, type, object, status, fieldManager, shared })
  },
  RemedyOperationJob: (client, object, status) => {
    const shared = { before: object.status, over: 'Version' } as const
    return writeStatus({ client, type, object, status, fieldManager, shared })
  },
  'MachineSet, NodeRemedier, OperationPermit, DefenderPolicy, MachineComponentSet, ComponentCanary': (
    client,
    object,
    status,
  ) => writeStatus({ client, type, object, status, fieldManager }),
  'FleetSource, Release': async (client, object, status) => {
    const outcome = await writeStatus({ client, type, object, status, fieldManager })
    return writtenOrThrow(outcome) === undefined ? outcome : { kind: 'Applied' }
  },
}

interface World {
  readonly fake: FakeKube
  readonly fail: (fault: CallFault) => void
}

interface Case {
  /** In the status when it was read, of another writer. */
  readonly foreign?: Status
  readonly wanted?: Status
  /** Between the reading of the object and the write of its status. */
  readonly meanwhile?: (world: World) => void
}

const CASES: Readonly<Record<string, Case>> = {
  nothing: {},
  'it is as it should be': { wanted: { phase: 'Old' } },
  'its spec was changed': { meanwhile: ({ fake }) => void fake.poke(type, KEY, { spec: { n: 2 } }) },
  'another writer set a field of the status': {
    meanwhile: ({ fake }) => void fake.poke(type, KEY, { status: { seen: 'x' } }, 'status'),
  },
  'a field of another writer was in the status before': { foreign: { seen: 'x' } },
  'it was deleted': { meanwhile: ({ fake }) => fake.uproot(type, KEY) },
  'it was deleted and made again': {
    meanwhile: ({ fake }) => {
      fake.uproot(type, KEY)
      fake.plant(type, made)
    },
  },
  'the reply is lost': { meanwhile: ({ fail }) => fail({ kind: 'lose', when: 'after' }) },
  'the server refuses it': { meanwhile: ({ fail }) => fail({ kind: 'refuse', when: 'before', code: 403 }) },
  'the server is busy': { meanwhile: ({ fail }) => fail({ kind: 'refuse', when: 'before', code: 429 }) },
}

function world(foreign?: Status): World & { readonly seen: Widget } {
  const clock = new VirtualClock()
  const fake = new FakeKube({ clock, random: seededRandom(1), kinds: [{ type, status: true }], bookmarkEveryMs: 0 })
  fake.plant(type, made)
  fake.poke(type, KEY, { status: { phase: 'Old', ...foreign } }, 'status')
  const fail = (fault: CallFault) => {
    fake.faults = { ...noFaults, call: (call) => (call.isWrite ? fault : undefined) }
  }
  return { fake, fail, seen: fake.peek(type, KEY) as Widget }
}

async function answerOf(
  write: Write,
  { foreign, wanted = { phase: 'New' }, meanwhile = () => undefined }: Case,
): Promise<string> {
  const { fake, fail, seen } = world(foreign)
  meanwhile({ fake, fail })
  const answer = await write(fake.client({ actor: 'a' }), seen, wanted).then(
    (outcome) => outcome?.kind ?? 'Same',
    (error: unknown) => `throws ${(error as { status?: number }).status ?? 'lost'}`,
  )
  const { status } = (fake.peek(type, KEY) ?? {}) as Partial<Widget>
  return `${answer} ${status === undefined ? 'none' : JSON.stringify(status)}`
}

const NEW = '{"phase":"New"}'
const OLD = '{"phase":"Old"}'
const NEW_SEEN = '{"phase":"New","seen":"x"}'
const OLD_SEEN = '{"phase":"Old","seen":"x"}'

type Answers = Readonly<Record<keyof typeof CASES, string>>

/** The same of every caller. */
const ALWAYS = {
  nothing: `Applied ${NEW}`,
  'it is as it should be': `Same ${OLD}`,
  'it was deleted': 'Stale none',
  'it was deleted and made again': 'Stale none',
}
const REFUSED = { 'the server refuses it': `Denied ${OLD}`, 'the server is busy': `Denied ${OLD}` }

/** What each caller answers, and the status that the server has afterwards. */
const ANSWERS: Readonly<Record<keyof typeof CALLERS, Answers>> = {
  Machine: {
    ...ALWAYS,
    'its spec was changed': `Applied ${NEW}`,
    'another writer set a field of the status': `Applied ${NEW_SEEN}`,
    'a field of another writer was in the status before': `Applied ${NEW_SEEN}`,
    'the reply is lost': `Unknown ${NEW}`,
    ...REFUSED,
  },
  RemedyOperationJob: {
    ...ALWAYS,
    'its spec was changed': `Conflict ${OLD}`,
    'another writer set a field of the status': `Conflict ${OLD_SEEN}`,
    'a field of another writer was in the status before': `Applied ${NEW_SEEN}`,
    'the reply is lost': `Unknown ${NEW}`,
    ...REFUSED,
  },
  'MachineSet, NodeRemedier, OperationPermit, DefenderPolicy, MachineComponentSet, ComponentCanary': {
    ...ALWAYS,
    'its spec was changed': `Conflict ${OLD}`,
    'another writer set a field of the status': `Conflict ${OLD_SEEN}`,
    'a field of another writer was in the status before': `Applied ${NEW}`,
    'the reply is lost': `Unknown ${NEW}`,
    ...REFUSED,
  },
  'FleetSource, Release': {
    ...ALWAYS,
    'its spec was changed': `throws 409 ${OLD}`,
    'another writer set a field of the status': `throws 409 ${OLD_SEEN}`,
    'a field of another writer was in the status before': `Applied ${NEW}`,
    'the reply is lost': `throws lost ${NEW}`,
    'the server refuses it': `throws 403 ${OLD}`,
    'the server is busy': `throws 429 ${OLD}`,
  },
}

describe('the status of an object', () => {
  for (const [caller, write] of Object.entries(CALLERS))
    test(`of ${caller}: what becomes of a write`, async () => {
      const answers: Record<string, string> = {}
      for (const [name, one] of Object.entries(CASES)) answers[name] = await answerOf(write, one)
      expect(answers).toEqual(ANSWERS[caller])
    })

  test('that never came from a server is a bug of the caller', async () => {
    const fake = new FakeKube({ clock: new VirtualClock(), random: seededRandom(1), kinds: [{ type, status: true }] })
    const write = writeStatus({ client: fake.client({ actor: 'a' }), type, object: made, status: {}, fieldManager })
    await expect(write).rejects.toThrow(/KN1000/)
  })

  test('enters the cache only when the server answered that it is written', async () => {
    const told: Record<string, number> = {}
    for (const [name, { meanwhile = () => undefined, wanted = { phase: 'New' } }] of Object.entries(CASES)) {
      const { fake, fail, seen } = world()
      meanwhile({ fake, fail })
      const assumed: Widget[] = []
      const cache = { assume: (o: Widget) => assumed.push(o) > 0 }
      const object = seen
      await writeStatus({ client: fake.client({ actor: 'a' }), type, cache, object, status: wanted, fieldManager })
      for (const o of assumed) expect(o.metadata.resourceVersion).toBe(fake.peek(type, KEY)?.metadata.resourceVersion)
      told[name] = assumed.length
    }
    const nothing = Object.fromEntries(Object.keys(CASES).map((name) => [name, 0]))
    expect(told).toEqual({ ...nothing, nothing: 1, 'a field of another writer was in the status before': 1 })
  })

  test('is sent without the rest of its object, which may hold values that were filled in', async () => {
    const sent: unknown[] = []
    const client = { update: async (_: unknown, object: unknown) => sent.push(object) } as unknown as KubeClient
    const object = { ...made, metadata: { name: 'w', uid: 'u', resourceVersion: '7' }, spec: { secret: 'x' } }
    await writeStatus({ client, type, object, status: { phase: 'New' }, fieldManager })
    expect(sent).toEqual([
      {
        apiVersion: 'test.io/v1',
        kind: 'Widget',
        metadata: { name: 'w', uid: 'u', resourceVersion: '7' },
        status: { phase: 'New' },
      },
    ])
  })
})

test('a sentence that is longer than its field allows is cut, and the same status is not written once more', async () => {
  const { fake, seen } = world()
  const status = { type: 'object', properties: { seen: { type: 'string', maxLength: 10 } } } as const
  const ours: ResourceType<Widget> = { ...type, schema: { type: 'object', properties: { status } } }
  const client = fake.client({ actor: 'a' })
  const write = (object: Widget) =>
    writeStatus({ client, type: ours, object, status: { seen: 'x'.repeat(300) }, fieldManager })
  await write(seen)
  const now = fake.peek(type, KEY) as Widget
  expect(now.status).toEqual({ seen: `${'x'.repeat(9)}…` })
  expect(await write(now)).toBeUndefined()
})
