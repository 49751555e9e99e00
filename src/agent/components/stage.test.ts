// What must never reach a node, even from a trusted sender: changed bytes, changed statements, older trust.
import { describe, expect, test } from 'vitest'
import { VirtualClock } from '#test/support/clocks/virtual-clock.ts'
import { MemoryFiles } from '#test/doubles/files/memory-files.ts'
import { writeDurably } from '../files/durable.ts'
import { nodeDir, trustFile, trustFromHostFile } from '../node-dir.ts'
import { FakeNode, type FakeNodeOptions } from '#test/doubles/node/fake-node.ts'
import { newPublisher, release, type Release } from '#test/doubles/node/release.ts'
import { trustCondition, TrustStore } from './trust-store.ts'

const publisher = newPublisher()
const good = release(publisher, { version: '1.0.0' })

async function outcome(releases: readonly Release[], more: Partial<FakeNodeOptions> = {}) {
  const clock = new VirtualClock()
  const node = new FakeNode({ publisher, releases, clock, ...more })
  await node.start()
  node.obey({ version: '1.0.0', attempt: 1 })
  await clock.advance(20_000)
  const { record } = node.worker
  await node.worker.close()
  const because = record?.reason
  return { state: record?.state, because, message: record?.message, content: await node.contentInUse() }
}

const changed = (change: Readonly<Record<string, unknown>>): Release => {
  const spec = { ...good.spec, ...change } as Release['spec']
  return { ...good, spec, object: { ...good.object, spec } }
}

test('what is signed and whole is installed', async () => {
  expect(await outcome([good])).toEqual({
    state: 'Healthy',
    because: undefined,
    message: undefined,
    content: 'beacon 1.0.0',
  })
})

const stranger = release(newPublisher(), { version: '1.0.0' })
const bytes = good.artifact

const SIGNED_BY_NONE =
  /signed by 0 of 1 required keys of trust sequence 1: trusted keys [0-9a-f]{16}; signatures by (none|[0-9a-f]{16})/

const ATTACKS: readonly [what: string, releases: readonly Release[], more: Partial<FakeNodeOptions>, says: RegExp][] = [
  ['a statement that was changed after it was signed', [changed({ disruption: 'None' })], {}, SIGNED_BY_NONE],
  ['a statement by a key that is not trusted', [stranger], {}, SIGNED_BY_NONE],
  ['a statement without signatures', [changed({ signatures: [] })], {}, SIGNED_BY_NONE],
  ['another version under the name', [changed({ version: '9.9.9' })], {}, /is for beacon 9\.9\.9/],
  ['an artifact with other bytes', [good], { serve: () => Buffer.alloc(bytes.length, 1) }, /expected \d+ bytes/],
  ['an artifact that breaks off', [good], { serve: () => bytes.subarray(0, 600) }, /600 bytes/],
  ['an empty artifact', [good], { serve: () => Buffer.alloc(0) }, /0 bytes/],
  ['no MachineComponent at all', [], {}, /MachineComponent .* not found/],
  [
    'an archive that climbs out',
    [release(publisher, { version: '1.0.0', entries: [{ name: '../../evil', content: 'x' }] })],
    {},
    /no plain relative path/,
  ],
  [
    'a template without its value',
    [
      release(publisher, {
        version: '1.0.0',
        spec: { files: [{ path: '/etc/b', mode: '0644', format: 'plain', template: '{{a.b}}', onChange: 'None' }] },
      }),
    ],
    {},
    /no value at "a\.b"/,
  ],
  [
    'S32 a template that was signed before formats were',
    [
      release(publisher, {
        version: '1.0.0',
        spec: { files: [{ path: '/etc/b', mode: '0644', template: 'a = {{a}}\n', onChange: 'None' }] },
      }),
    ],
    {},
    /declares no format/,
  ],
  [
    'a unit of the host',
    [
      release(publisher, {
        version: '1.0.0',
        spec: { files: [{ path: '/etc/systemd/system/dbus.service', mode: '0644', format: 'plain', template: '' }] },
      }),
    ],
    {},
    /KN8013.*\/etc\/systemd\/system\/dbus\.service belongs to systemd/,
  ],
  [
    'the unit of the agent',
    [release(publisher, { version: '1.0.0', spec: { service: { exec: '/opt/beacon/b', unit: 'kubenode-agent' } } })],
    {},
    /KN8013.*kubenode-agent belongs to the KubeNode agent/,
  ],
  [
    'the folder of the agent',
    [release(publisher, { version: '1.0.0', spec: { install: { unpack: { path: '/opt/kubenode' } } } })],
    {},
    /KN8013.*\/opt\/kubenode belongs to the KubeNode agent/,
  ],
  [
    'no artifact for this platform',
    [changed({})].map((r) =>
      release(publisher, {
        version: r.spec.version,
        spec: { artifacts: [{ os: 'linux', arch: 'arm64', url: 'x', sha256: 'a'.repeat(64), size: 1 }] },
      }),
    ),
    {},
    /no artifact for linux\/amd64/,
  ],
]

test.each(ATTACKS)('S5 F32 %s is not installed', async (_what, releases, more, says) => {
  const found = await outcome(releases, more)
  expect([found.state, found.content]).toEqual(['Fetching', undefined])
  expect(found.message).toMatch(says)
})

test('what belongs to the host is refused as a mistake of the spec: its signature is good', async () => {
  const spec = { install: { unpack: { path: '/etc/kubenode' } } }
  expect((await outcome([release(publisher, { version: '1.0.0', spec })])).because).toBe('InvalidSpec')
  expect((await outcome([stranger])).because).toBe('SignatureInvalid')
})

const swapped = release(publisher, {
  version: '1.0.0',
  entries: [{ name: 'bin/beacon', content: 'evil', mode: 0o755 }],
}).artifact

/** Replaces the artifact on the disk after it was checked, `times` times. */
class SwappedFiles extends MemoryFiles {
  #times: number
  constructor(times: number) {
    super()
    this.#times = times
  }
  override async *stream(path: string): AsyncIterable<Buffer> {
    const isArtifact = path.endsWith(good.spec.artifacts?.[0]?.sha256 ?? 'none')
    if (isArtifact && this.#times-- > 0) yield swapped
    else yield* super.stream(path)
  }
}

test('S5 an artifact that is replaced between its check and its installation is not installed', async () => {
  const found = await outcome([good], { disk: new SwappedFiles(1_000) })
  expect([found.state, found.content]).toEqual(['Fetching', undefined])
  expect(found.message).toMatch(/^KN8012: cannot use \S+: received \d+ bytes with digest/)
  expect(await outcome([good], { disk: new SwappedFiles(1) })).toMatchObject({
    state: 'Healthy',
    content: 'beacon 1.0.0',
  })
})

describe('F44 a version that is not accepted', () => {
  const next = release(publisher, { version: '1.1.0' })
  const untrusted = release(newPublisher(), { version: '1.1.0' })

  const upgrading = async () => {
    const clock = new VirtualClock()
    const releases = [good, untrusted]
    const node = new FakeNode({ publisher, releases, clock })
    await node.start()
    node.obey({ version: '1.0.0', attempt: 1 })
    await clock.advance(20_000)
    node.obey({ version: '1.1.0', attempt: 2, switch: { attempt: 2, permit: 'p' } })
    await clock.advance(600_000)
    return { clock, releases, node }
  }

  test('leaves the one before running, says why, and asks for nothing', async () => {
    const { node } = await upgrading()
    expect([node.worker.record?.state, await node.contentInUse(), node.permitsRead]).toEqual([
      'Fetching',
      'beacon 1.0.0',
      [],
    ])
    expect(node.worker.record?.message).toMatch(/^KN8013: cannot install beacon 1\.1\.0/)
  })

  test('is installed as soon as it is accepted', async () => {
    const { clock, releases, node } = await upgrading()
    releases[1] = next
    await clock.advance(400_000)
    expect([node.worker.record?.state, await node.contentInUse()]).toEqual(['Healthy', 'beacon 1.1.0'])
  })

  test('holds up no other version', async () => {
    const { clock, releases, node } = await upgrading()
    releases.push(release(publisher, { version: '1.2.0' }))
    node.obey({ version: '1.2.0', attempt: 3, switch: { attempt: 3, permit: 'p' } })
    await clock.advance(5_000)
    expect([node.worker.record?.state, await node.contentInUse()]).toEqual(['Healthy', 'beacon 1.2.0'])
  })
})

describe('the trust document', () => {
  const store = (files: MemoryFiles, newest: unknown, now = 0) =>
    new TrustStore({
      files,
      path: trustFile(nodeDir('/n')),
      fromHost: trustFromHostFile(nodeDir('/n')),
      clock: { now: () => now },
      anchor: publisher.anchor,
      fetchNewest: async () => newest,
    })
  const sequenceOf = async (s: TrustStore) => {
    const reading = await s.current()
    return reading.kind === 'Trusted' ? reading.document.sequence : reading.reason
  }

  test('components that ask at the same moment share one look, and none of them fails', async () => {
    const files = new MemoryFiles()
    const s = store(files, publisher.trust({ sequence: 2 }))
    expect(await Promise.all([sequenceOf(s), sequenceOf(s), sequenceOf(s)])).toEqual([2, 2, 2])
    expect(await sequenceOf(s)).toBe(2)
  })

  test('S5 goes forward, and an older one is not taken, also after a restart', async () => {
    const files = new MemoryFiles()
    expect(await sequenceOf(store(files, publisher.trust({ sequence: 2 })))).toBe(2)
    expect(await sequenceOf(store(files, publisher.trust({ sequence: 5 })))).toBe(5)
    expect(await sequenceOf(store(files, publisher.trust({ sequence: 3 })))).toBe(5)
    expect(await sequenceOf(store(files, undefined))).toBe(5)
  })

  test('S5 of a stranger is refused', async () => {
    expect(await sequenceOf(store(new MemoryFiles(), newPublisher().trust()))).toMatch(
      /trust sequence 1 refused: signed by 0 of 1 required keys of sequence 1: trusted keys [0-9a-f]{16}; signatures by [0-9a-f]{16}$/,
    )
  })

  test('S5 one that is refused leaves the old one in force, and is reported with its keys until a good one comes', async () => {
    const files = new MemoryFiles()
    await sequenceOf(store(files, publisher.trust({ sequence: 1 })))
    const offers = [newPublisher().trust({ sequence: 2 }), undefined, publisher.trust({ sequence: 2 })]
    const reported: (string | undefined)[] = []
    const s = new TrustStore({
      files,
      path: trustFile(nodeDir('/n')),
      fromHost: trustFromHostFile(nodeDir('/n')),
      clock: { now: () => 0 },
      anchor: publisher.anchor,
      fetchNewest: async () => offers.shift(),
      onRefusal: (refusal) => void reported.push(refusal?.message),
    })
    const refusal = /^trust sequence 2 refused: signed by 0 of 1 required keys of sequence 1: trusted keys/
    expect(await s.current()).toMatchObject({
      document: { sequence: 1 },
      refused: expect.stringMatching(refusal) as string,
    })
    expect(trustCondition(s.refusal)).toMatchObject({ type: 'TrustRefused', status: 'True', reason: 'TrustRefused' })
    // Nothing can be fetched: the refusal still applies, and is not reported again.
    expect(await s.current()).toMatchObject({ refused: expect.stringMatching(refusal) as string })
    expect(await s.current()).toMatchObject({ document: { sequence: 2 } })
    expect(trustCondition(s.refusal)).toBeUndefined()
    expect(reported).toEqual([expect.stringMatching(refusal), undefined])
  })

  test('S5 a host that joined without keys is told how it gets them, since no signature can match', async () => {
    const s = new TrustStore({
      files: new MemoryFiles(),
      path: trustFile(nodeDir('/n')),
      fromHost: trustFromHostFile(nodeDir('/n')),
      clock: { now: () => 0 },
      anchor: { sequence: 0, threshold: 1, keys: [] },
      fetchNewest: async () => publisher.trust({ sequence: 2 }),
    })
    expect(await s.current()).toMatchObject({
      kind: 'None',
      reason: expect.stringMatching(/kubenode machine readmit NAME --token, then join-command/) as string,
    })
    expect(trustCondition(s.refusal)?.message.length).toBeLessThan(200)
  })

  test('S5 root on the host replaces keys that were lost, but never goes back', async () => {
    const files = new MemoryFiles()
    const path = trustFromHostFile(nodeDir('/n'))
    await files.makeFolder('/n')
    await sequenceOf(store(files, publisher.trust({ sequence: 3 })))
    const successor = newPublisher()
    await writeDurably(files, path, JSON.stringify(successor.trust({ sequence: 2 })))
    expect(await sequenceOf(store(files, undefined))).toBe(3)
    await writeDurably(files, path, JSON.stringify({ ...successor.trust({ sequence: 4 }), signatures: [] }))
    expect(await sequenceOf(store(files, undefined))).toBe(3)
    await writeDurably(files, path, JSON.stringify(successor.trust({ sequence: 4 })))
    expect(await sequenceOf(store(files, undefined))).toBe(4)
    expect(await files.read(path)).toBeUndefined()
    // From now on the old keys are not accepted.
    expect(await sequenceOf(store(files, publisher.trust({ sequence: 5 })))).toBe(4)
  })

  test('S5 that expired is refused', async () => {
    expect(await sequenceOf(store(new MemoryFiles(), publisher.trust(), Date.UTC(2101, 0)))).toMatch(/expired/)
  })
})
