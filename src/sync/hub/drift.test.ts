import { describe, expect, test } from 'vitest'
import { fleetSource } from '#api/kinds/fleet-source.ts'
import type { Release } from '#api/kinds/release.ts'
import { defined } from '#lib/defined.ts'
import { KubeNodeError } from '#lib/errors.ts'
import { silentLogger } from '#lib/log.ts'
import { DIGEST_OF_NOTHING } from '../release/tracks.ts'
import { syncErrors } from '../sync-errors.ts'
import type { Orders } from './release-apply.ts'
import { type DriftLoop, keepFromDrifting, settledClusters, standingClusters } from './drift.ts'

const release = (status: object): Release => ({
  apiVersion: 'kubenode.io/v1alpha1',
  kind: 'Release',
  metadata: { name: 'r', namespace: 'n' },
  spec: { source: 's', track: 't', pipeline: 'p', commit: 'c', digests: {} },
  status,
})
const clusters = [
  { name: 'hub', stage: 'first', phase: 'Healthy' },
  { name: 'test', stage: 'first', phase: 'Healthy' },
  { name: 'same', stage: 'first', phase: 'Unchanged' },
  { name: 'away', stage: 'first', phase: 'Offline' },
  { name: 'soaking', stage: 'second', phase: 'Healthy' },
  { name: 'prod', stage: 'third', phase: 'Waiting' },
]
const stages = (second: string) => [
  { name: 'first', phase: 'Succeeded' },
  { name: 'second', phase: second },
  { name: 'third', phase: 'Waiting' },
]

test.each([
  [
    'those of finished stages while it goes on',
    { phase: 'Progressing', clusters, stages: stages('Soaking') },
    ['test', 'same'],
  ],
  [
    'the hub too once it is over',
    { phase: 'Succeeded', clusters: clusters.slice(0, 3), stages: [] },
    ['hub', 'test', 'same'],
  ],
  ['none once a stage has failed', { phase: 'Paused', clusters, stages: stages('Failed') }, []],
  ['none once it is reverted', { phase: 'Paused', clusters, stages: stages('Soaking'), revertCommit: 'd' }, []],
  ['none of a new one', {}, []],
])('clusters that are kept at the newest release: %s', (_, status, kept) => {
  expect(settledClusters(release(status))).toEqual(kept)
})

describe('clusters that the newest Release has not reached are kept at', () => {
  const made = (name: string, status: object, more: object = {}): Release => ({
    ...release(status),
    metadata: { name, namespace: 'n' },
    spec: { ...release({}).spec, commit: `commit of ${name}`, digests: { test: name }, ...more },
  })
  const at = (phase: string, digest: string) => ({ name: 'test', stage: 'first', phase, digest, healthySince: 'then' })
  const passed = (second: string) => ({ clusters: [at('Healthy', 'two')], stages: stages(second) })
  const newest = (more: object = {}) => made('three', { clusters: [at('Waiting', 'three')] }, more)
  const kept = (two: Release, ...later: readonly Release[]) => {
    const chain = [made('one', {}), two, ...later]
    return standingClusters(chain, later.at(-1) ?? two).map(([from, names]) => [from.metadata.name, names])
  }
  test.each<[string, ReturnType<typeof kept>, readonly unknown[]]>([
    ['what passed there', kept(made('two', passed('Waiting')), newest()), [['two', ['test']]]],
    ['nothing that failed elsewhere', kept(made('two', passed('Failed')), newest()), []],
    ['nothing that sync reverted', kept(made('two', { ...passed('Waiting'), revertCommit: 'd' }), newest()), []],
    [
      'nothing that a later commit reverts',
      kept(made('two', passed('Waiting')), made('back', {}, { revertOf: 'commit of two' }), newest()),
      [],
    ],
  ])('%s', (_, found, wanted) => expect(found).toEqual(wanted))
})

describe('a comparison', () => {
  const NAMES = ['a', 'b', 'c']
  const digests = Object.fromEntries(NAMES.map((name) => [name, DIGEST_OF_NOTHING]))
  const made = (
    name: string,
    previous: string | undefined,
    phaseOf: (cluster: string) => string | undefined,
  ): Release => ({
    ...release({
      phase: 'Progressing',
      stages: NAMES.map((each) => ({ name: each, phase: phaseOf(each) === 'Healthy' ? 'Succeeded' : 'Waiting' })),
      clusters: NAMES.map((each) => ({
        name: each,
        stage: each,
        phase: phaseOf(each) ?? 'Waiting',
        ...(phaseOf(each) === 'Healthy' && { digest: DIGEST_OF_NOTHING, healthySince: 'then' }),
      })),
    }),
    metadata: { name, namespace: 'n', creationTimestamp: '2026-01-01T00:00:00Z' },
    spec: { ...release({}).spec, commit: `of ${name}`, digests, ...defined({ previous }) },
  })

  /** Each cluster waits with another commit. */
  function world(render: (commit: string) => void = () => undefined) {
    const releases = [
      ...NAMES.map((name, i) => made(name, NAMES[i - 1], (each) => (each === name ? 'Healthy' : undefined))),
      made('newest', 'c', () => undefined),
    ]
    const clock = { now: Date.parse('2026-01-02T00:00:00Z') }
    const memory = new Set(['of newest'])
    const rendered: string[] = []
    const kept: string[][] = []
    const events: string[] = []
    const renderOne = async (_: unknown, commit: string) => {
      if (!memory.has(commit)) rendered.push(commit)
      render(commit)
      return { targets: new Map() }
    }
    const source = {
      ...fleetSource.example,
      metadata: { name: 's', namespace: 'n' },
      spec: {
        ...fleetSource.example.spec,
        interval: '1m',
        drift: 'Correct',
        tracks: [{ name: 't', match: {}, pipelineRef: { name: 'p' } }],
      },
    }
    const loop = {
      context: {
        clock: { now: () => clock.now, monotonic: () => clock.now },
        events: {
          record: (_: unknown, { reason, note }: { reason: string; note: string }) => events.push(`${reason} ${note}`),
        },
      },
      releases: { get: () => releases.at(-1), list: () => releases },
      sources: { get: () => source, list: () => [source] },
      pipelines: { get: () => ({}) },
      clusters: { get: () => undefined },
      renders: {
        isKept: (_: unknown, commit: string) => memory.has(commit),
        render: renderOne,
        renderAside: renderOne,
      },
      passes: {
        keep: async (_: unknown, orders: Orders) => (kept.push([...orders.keys()]), new Map()),
        forget: () => undefined,
      },
      comparedAt: new Map(),
      turnsAt: new Map(),
    } as unknown as DriftLoop
    const compare = async () => {
      clock.now += 60_000
      await keepFromDrifting(loop, 'n/newest', {
        signal: new AbortController().signal,
        log: silentLogger,
        reconcileId: 'r',
        failures: 0,
      })
    }
    return { compare, rendered, kept, events, memory }
  }

  test('renders one earlier commit, each in its turn, and takes all that are in memory', async () => {
    const { compare, rendered, kept, memory } = world()
    for (let i = 0; i < 4; i++) await compare()
    expect(rendered).toEqual(['of a', 'of b', 'of c', 'of a'])
    expect(kept).toEqual([['a'], ['b'], ['c'], ['a']])
    for (const name of ['a', 'b']) memory.add(`of ${name}`)
    await compare()
    expect(kept.at(-1)?.toSorted()).toEqual(['a', 'b', 'c'])
  })

  test.each([
    ['whose commit does not render any more', new KubeNodeError(syncErrors.KN7133({ file: 'f', why: 'no key' }))],
    ['whose commit could not be rendered', new Error('no key')],
  ])('says which clusters it leaves out, %s, and goes on with the others', async (_, error) => {
    const { compare, kept, events } = world((commit) => {
      if (commit === 'of a') throw error
    })
    for (let i = 0; i < 3; i++) await compare()
    expect(kept).toEqual([[], ['b'], ['c']])
    expect(events).toEqual([
      expect.stringMatching(/^DriftUnchecked a: not compared until this release reaches it: .*no key/),
    ])
  })
})
