import type { Machine } from '#api/kinds/machine.ts'
import { ANNOTATIONS, LABELS } from '#api/names.ts'
import { KINDS } from '#api/kinds.ts'
import { machine as machineType } from '#api/kinds/machine.ts'
import { FakeKube } from '#test/doubles/kube/fake-kube.ts'
import { seededRandom } from '#lib/random.ts'
import { type Node, nodeType } from '#nodes/objects.ts'
import { VirtualClock } from '#test/support/clocks/virtual-clock.ts'
import { describe, expect, test } from 'vitest'
import { planImport, planUndo } from './import.ts'
import { type TokenSecret, joinTicket, validity } from '#agent/join/join-command.ts'
import { runImport } from './run-import.ts'

const NOW = Date.UTC(2026, 0, 5)
const node = (name: string, labels: Record<string, string> = {}): Node => ({
  apiVersion: 'v1',
  kind: 'Node',
  metadata: { name, labels },
})
const machine = (name: string, spec: object, annotations: Record<string, string> = {}): Machine => ({
  apiVersion: 'kubenode.io/v1alpha1',
  kind: 'Machine',
  metadata: { name, uid: `uid-${name}`, annotations },
  spec: { channel: 'Agent', ...spec },
})
const imported = { [ANNOTATIONS.imported]: 'true' }

describe('an import', () => {
  test('observes Nodes in the order of their names, with their domains, and leaves what is there', () => {
    const labels = { [LABELS.zone]: 'a', [LABELS.rack]: 'r1', [LABELS.pool]: 'db', other: 'x' }
    const steps = planImport({
      names: ['n-2', 'n-1', 'n-1', 'managed', 'nowhere'],
      nodes: [node('n-1', labels), node('n-2'), node('managed')],
      machines: [machine('managed', {}, { [ANNOTATIONS.commit]: 'c0ffee'.repeat(7) })],
    })
    expect(steps.map((s) => `${s.kind} ${s.name}`)).toEqual([
      'There managed',
      'Create n-1',
      'Create n-2',
      'Missing nowhere',
    ])
    expect(steps[0]).toMatchObject({ text: 'machine/managed manages it, as git declares' })
    expect(steps[1]).toMatchObject({
      machine: {
        metadata: { name: 'n-1', annotations: imported, labels: { [LABELS.pool]: 'db', other: 'x' } },
        spec: {
          channel: 'Observe',
          adoption: 'Preview',
          provider: { name: 'static' },
          pool: 'db',
          zone: 'a',
          rack: 'r1',
        },
      },
    })
  })

  test('leaves control planes out of what is chosen by labels, and takes them by name', () => {
    const nodes = ['node-role.kubernetes.io/control-plane', 'node-role.kubernetes.io/master'].map((label, n) =>
      node(`cp-${n}`, { [label]: '' }),
    )
    const picked = ['cp-0', 'cp-1', 'w']
    const steps = planImport({ names: ['cp-1'], picked, nodes: [...nodes, node('w')], machines: [] })
    expect(steps.map((s) => `${s.kind} ${s.name}`)).toEqual(['Left cp-0', 'Create cp-1', 'Create w'])
    expect(steps[0]).toMatchObject({ text: 'part of the control plane; to import it, name it' })
  })

  test('refuses by number a Node whose kernel no agent runs on, and only that', () => {
    const on = (name: string, kernelVersion: string, operatingSystem = 'linux') =>
      ({ ...node(name), status: { nodeInfo: { kernelVersion, operatingSystem } } }) as Node
    const nodes = [on('a', '3.10.0-1160.el7'), on('b', '4.18.0-553.el8_10'), on('w', '10.0.20348', 'windows')]
    const steps = planImport({ names: [], picked: nodes.map((n) => n.metadata.name ?? ''), nodes, machines: [] })
    expect(steps.map((s) => `${s.kind} ${s.name}`)).toEqual(['Refused a', 'Create b', 'Create w'])
    expect(steps[0]).toMatchObject({
      text: 'KN8004: this node has Linux 3.10.0-1160.el7, and the agent needs 4.18 or newer; upgrade the host first, then import it',
    })
  })

  test('knows a machine by the Node that it became', () => {
    const known = { ...machine('m', {}), status: { nodeRef: { name: 'n-1', uid: 'u' } } } as Machine
    expect(planImport({ names: ['n-1'], nodes: [node('n-1')], machines: [known] })[0]?.kind).toBe('There')
  })

  test('is undone only where it made the machine, and that is still only observed', () => {
    const machines = [
      machine('mine', { channel: 'Observe' }, imported),
      machine('theirs', { channel: 'Observe' }),
      machine('managed', {}, imported),
      machine('declared', { channel: 'Observe' }, { ...imported, [ANNOTATIONS.commit]: 'c' }),
    ]
    const names = ['mine', 'theirs', 'managed', 'declared', 'gone', 'typo']
    const nodes = [{ apiVersion: 'v1', kind: 'Node', metadata: { name: 'gone' } }] as const
    expect(planUndo({ names, nodes, machines }).map((s) => `${s.kind} ${s.name}`)).toEqual([
      'Keep declared',
      'Gone gone',
      'Keep managed',
      'Delete mine',
      'Keep theirs',
      'Missing typo',
    ])
  })
})

function world() {
  const kinds = KINDS.map((k) => ({ type: k, schema: k.schema, status: k.definition.status !== undefined }))
  const fake = new FakeKube({ clock: new VirtualClock(), random: seededRandom(1), kinds })
  const said: string[] = []
  const io = { out: (s: string) => void said.push(s), err: (s: string) => void said.push(s), env: {} }
  return { fake, client: fake.client({ actor: 'cli' }), said, io: io as unknown as Parameters<typeof runImport>[1] }
}

describe('carrying an import out', () => {
  test('twice makes each machine once; a dry run makes none; an undo takes them back; no Node is written', async () => {
    const { fake, client, said, io } = world()
    for (const n of ['a', 'b', 'c']) fake.plant(nodeType, node(n, { role: n === 'c' ? 'x' : 'w' }))
    const before = JSON.stringify(fake.all(nodeType))
    const options = { client, names: [], selector: 'role=w' }
    await runImport({ ...options, dryRun: true }, io)
    expect(fake.all(machineType)).toEqual([])
    expect(said.at(-1)).toBe('2 would be done, 0 unchanged, 0 failed\n')
    expect(await runImport(options, io)).toEqual({ failed: 0 })
    expect(fake.all(machineType).map((m) => m.metadata.name)).toEqual(['a', 'b'])
    await runImport({ client, names: [], all: true }, io)
    expect(said.at(-1)).toBe('1 done, 2 unchanged, 0 failed\n')
    expect(await runImport({ client, names: ['nowhere'] }, io)).toEqual({ failed: 1 })
    expect(await runImport({ client, names: [], selector: 'rloe=w' }, io)).toEqual({ failed: 0 })
    expect(said.at(-2)).toContain('no Node has the labels rloe=w')
    await runImport({ client, names: ['a', 'b'], undo: true }, io)
    expect(fake.all(machineType).map((m) => m.metadata.name)).toEqual(['c'])
    expect(JSON.stringify(fake.all(nodeType))).toBe(before)
  })

  test('for git prints what it would make, and makes nothing', async () => {
    const { fake, client, said, io } = world()
    fake.plant(nodeType, node('a'))
    await runImport({ client, names: ['a'], output: 'yaml' }, io)
    expect(said.join('')).toContain('channel: Observe')
    expect(fake.all(machineType)).toEqual([])
  })

  test('for git prints the same after an import as before it, and says what it leaves out', async () => {
    const { fake, client, said, io } = world()
    fake.plant(nodeType, node('a'))
    fake.plant(nodeType, node('b'))
    fake.plant(machineType, machine('b', {}, { [ANNOTATIONS.commit]: 'c0ffee'.repeat(7) }))
    const printed = async (...names: string[]) => {
      said.length = 0
      const { failed } = await runImport({ client, names, output: 'yaml' }, io)
      return { failed, text: said.join('') }
    }
    const before = await printed('a')
    await runImport({ client, names: ['a'] }, io)
    expect(await printed('a')).toEqual(before)
    expect(await printed('b')).toEqual({
      failed: 0,
      text: 'b: machine/b manages it, as git declares\n',
    })
    expect(await printed('c')).toMatchObject({ failed: 1, text: expect.stringContaining('Node not found') as string })
  })
})

const base64 = (text: string) => Buffer.from(text).toString('base64')
const token = (machineName: string, expiresAt: number, extra: Record<string, string> = {}): TokenSecret => ({
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: {
    name: `join-uid-${machineName}`,
    labels: { [LABELS.joinToken]: 'true' },
    annotations: { [ANNOTATIONS.machine]: machineName, [ANNOTATIONS.handedOver]: 'true' },
    ownerReferences: [
      { apiVersion: 'kubenode.io/v1alpha1', kind: 'Machine', name: machineName, uid: `uid-${machineName}` },
    ],
  },
  data: {
    'token-id': base64('abcdef'),
    'token-secret': base64('0123456789abcdef'),
    expiration: base64(new Date(expiresAt).toISOString()),
    'join-bundle': base64('{"server":"https://s","machine":"m"}'),
    ...extra,
  },
})
const existing = machine('m', { provider: { name: 'static' } })

describe('the join command', () => {
  test('is made of the bundle and the token of this machine', () => {
    const ticket = joinTicket(existing, [token('other', NOW + 9e5), token('m', NOW + 600_000)], NOW)
    expect(ticket.bundle).toEqual({ server: 'https://s', machine: 'm', token: 'abcdef.0123456789abcdef' })
    expect(validity(ticket)).toBe('valid for 10m and for this machine only; run it on the host as root')
  })

  test.each<[string, Machine, readonly TokenSecret[], string]>([
    ['an observed machine', machine('m', { channel: 'Observe' }), [], 'its channel is Observe'],
    [
      'an observed machine, with the way',
      machine('m', { channel: 'Observe' }),
      [],
      'kubectl patch machines.kubenode.io m --type merge',
    ],
    [
      'a machine on its way out',
      { ...existing, metadata: { ...existing.metadata, deletionTimestamp: '2026-01-05T00:00:00Z' } },
      [],
      'it is being deleted',
    ],
    ['a machine without a provider', machine('m', {}), [], 'for an existing host that is static'],
    ['one whose token ran out', existing, [token('m', NOW - 1)], 'try again'],
    [
      'one that another provider makes',
      existing,
      [token('m', NOW + 9e5, { 'join-bundle': '' })].map(withoutBundle),
      'joins its hosts itself',
    ],
    ['one that has joined', { ...existing, status: { agent: { version: '1.0.0' } } }, [], 'already joined'],
  ])('says why there is none for %s', (_, m, tokens, why) => {
    expect(() => joinTicket(m, tokens, NOW)).toThrow(why)
  })

  test('a token of another machine of this name is not shown', () => {
    const other = { ...existing, metadata: { ...existing.metadata, uid: 'another' } }
    expect(() => joinTicket(other, [token('m', NOW + 9e5)], NOW)).toThrow('KN1360')
  })
})

function withoutBundle(t: TokenSecret): TokenSecret {
  const { 'join-bundle': _, ...data } = t.data ?? {}
  return { ...t, data }
}
