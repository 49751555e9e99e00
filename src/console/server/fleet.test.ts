// What a fleet keeps for which audience, with clusters of object lists and a virtual clock.
import { expect, test } from 'vitest'
import { VirtualClock } from '#test/support/clocks/virtual-clock.ts'
import { topicProblems } from '#test/support/console/messages.ts'
import { defined } from '#lib/defined.ts'
import { silentLogger } from '#lib/log.ts'
import type { MachinesTopic, Snapshot, TopicFamily } from '../protocol.ts'
import type { ClusterCache } from './cluster-cache.ts'
import { type Changed, Fleet } from './fleet.ts'
import { type Readable, topicsOf } from './rights.ts'
import { audienceOf, parseTopic, type TopicName } from './topics.ts'
import { WATCHED, WATCHED_KINDS, type WatchedKind } from './watched-kinds.ts'

/** Every kind has one object, which a right to list that kind shows. */
const SECRETS = {
  machines: {
    metadata: { name: 'machine-secret', uid: 'm' },
    place: { zone: '', rack: '', pool: '', class: '', labels: {} },
    state: {
      phase: 'Failed',
      versions: '',
      kernel: '',
      health: '',
      silent: 'No',
      reason: 'machine-secret',
      isReady: false,
      service: 'Healthy',
    },
    node: '',
    since: 1,
    failures: [{ component: 'machine-secret', set: 'set-secret', text: 'machine-secret', since: '' }],
  },
  sets: {
    metadata: { name: 'set-secret', uid: 's' },
    spec: { components: [], rollout: { steps: [1], soak: '1m', maxUnavailable: 1 } },
  },
  permits: {
    metadata: { name: 'permit-secret' },
    spec: { operations: ['Reboot'], targets: [], reason: 'permit-secret' },
    status: { phase: 'Requested', gates: [{ gate: 'Approval', verdict: 'Waiting', seen: 'permit-secret' }] },
  },
  nodes: {
    metadata: { name: 'node-secret' },
    problems: [{ type: 'node-secret', reason: 'node-secret', message: 'node-secret', since: '' }],
    isCordoned: false,
  },
  machineSets: { metadata: { name: 'workers-secret' }, status: { phase: 'Progressing' } },
  canaries: { metadata: { name: 'canary-secret' }, status: { phase: 'Failed' } },
  policies: {
    metadata: { name: 'policy-secret' },
    spec: { mode: 'Enforce', windows: [{ cron: '0 2 * * *', duration: '4h', timeZone: 'UTC' }] },
  },
  ledgers: {
    metadata: { name: 'ledger' },
    spec: {
      leader: 'ledger-secret',
      grants: [],
      breakers: [{ policy: 'ledger-secret', state: 'Open', since: '', failures: 3, results: 'fff' }],
      blames: [
        {
          kind: 'Zone',
          component: 'ledger-secret',
          value: '',
          machines: ['machine-secret'],
          since: '',
          failing: 3,
          members: 4,
          failingElsewhere: 0,
          elsewhere: 9,
        },
      ],
    },
  },
  brakes: {
    metadata: { name: 'brake-secret' },
    spec: {
      stops: [{ kind: 'Rule', name: 'brake-secret', version: '', since: '', seen: 'brake-secret', count: 1 }],
    },
  },
  holds: {
    metadata: { name: 'hold-secret' },
    spec: {
      target: { kind: 'MachineComponentSet', selector: {} },
      effect: 'Pause',
      reason: 'hold-secret',
      author: 'hold-secret',
      until: '2099-01-01T00:00:00Z',
    },
  },
  jobs: {
    metadata: { name: 'job-secret' },
    spec: {
      node: { name: 'job-secret', uid: 'n' },
      remedierRef: { name: 'job-secret' },
      incident: 'i',
      rung: 0,
      attempt: 1,
      dryRun: false,
    },
    status: { phase: 'job-secret' },
  },
  rules: {
    metadata: { name: 'rule-secret' },
    status: { matching: [{ node: 'rule-secret', since: '', reason: 'LadderExhausted' }] },
  },
  events: {
    metadata: { name: 'event-secret' },
    spec: { machine: 'event-secret', kind: 'Reboot', source: 'event-secret' },
    status: { phase: 'Failed', message: 'event-secret' },
  },
  sources: {
    metadata: { name: 'source-secret', namespace: 'a' },
    status: { refused: { message: 'source-secret' } },
  },
  releases: {
    metadata: { name: 'release-secret', namespace: 'a' },
    spec: { source: 'release-secret', track: 'main', pipeline: 'p', commit: 'release-secret', digests: {} },
    status: { phase: 'Paused' },
  },
  clusters: {
    metadata: { name: 'cluster-secret', namespace: 'a' },
    spec: { stage: 'cluster-secret', controlPlane: {} },
  },
  programs: {
    metadata: { name: 'program-secret' },
    // No other kind has this year in it.
    program: 'defender',
    state: 'Away',
    how: 'Stopped',
    since: Date.parse('1999-01-01T00:00:00Z'),
  },
} satisfies Readonly<Record<WatchedKind, object>>

/** The text of a kind's own object. For a program, home shows only the time. */
const wordOf = (kind: WatchedKind): string =>
  kind === 'programs'
    ? String(SECRETS.programs.since)
    : (/"([a-z]+-secret)"/.exec(JSON.stringify(SECRETS[kind]))?.[1] ?? '')

const rightsTo = (kinds: ReadonlySet<WatchedKind>): Readable =>
  new Map([['test', { topics: topicsOf(kinds), kinds, seesTrouble: true }]])

function fleetOf(objects: Record<string, readonly object[]> = {}, isSynced = true, mostPast?: number) {
  const clock = new VirtualClock()
  const lists: Record<string, readonly object[]> = {
    ...Object.fromEntries(WATCHED_KINDS.map((kind) => [kind, [SECRETS[kind]]])),
    ...objects,
  }
  const fleet = new Fleet({
    clock,
    log: silentLogger,
    start: 's',
    everything: () => rightsTo(new Set(WATCHED_KINDS)),
    ...defined({ mostPast }),
  })
  const cluster = {
    name: 'test',
    state: 'Connected',
    message: undefined,
    version: '1.36.2',
    isSynced,
    readState: () => 'Read',
    list: (kind: string) => lists[kind] ?? [],
    node: (name: string) =>
      (lists['nodes'] ?? []).find((n) => (n as { metadata: { name: string } }).metadata.name === name),
    machine: (name: string) =>
      (lists['machines'] ?? []).find((m) => (m as { metadata: { name: string } }).metadata.name === name),
  }
  fleet.add(cluster as unknown as ClusterCache)
  fleet.remember()
  const put = async (kind: WatchedKind, now: readonly object[]) => {
    lists[kind] = now
    fleet.changed('test', WATCHED[kind].topics)
    await clock.advance(1_000)
  }
  const read = (topic: string, readable: Readable): Snapshot | undefined =>
    fleet.snapshot(nameOf(topic), topic, readable)
  const followed = (topic: string, readable: Readable) => {
    const seen: Changed[] = []
    const topics = [{ name: nameOf(topic), topic }]
    const stop = fleet.follow({ topics, readable, take: (c) => seen.push(...c.filter((d) => d.topic === topic)) })
    return { seen, stop }
  }
  return { fleet, clock, cluster, put, read, followed }
}

function nameOf(topic: string): TopicName {
  const name = parseTopic(topic)
  if (name === undefined) throw new Error(topic)
  return name
}

const TOPICS: Readonly<Record<Exclude<TopicFamily, 'node'>, string>> = {
  home: 'home',
  pipeline: 'pipeline',
  clusters: 'clusters',
  commits: 'commits',
  machines: 'machines/test',
  sets: 'sets/test',
  set: 'set/test/set-secret',
  budgets: 'budgets/test',
  repairs: 'repairs/test',
  maintenance: 'maintenance/test',
}
const ALL = new Set(WATCHED_KINDS)

test.each(Object.values(TOPICS))('the topic %s is of its type, whatever is missing in the objects', (topic) => {
  const { read } = fleetOf()
  expect(topicProblems(topic, JSON.parse(JSON.stringify(read(topic, rightsTo(ALL)))))).toEqual([])
})

/** The result for a user who may list all kinds but this one, after a user who may list all. */
const hiddenFrom = (kind: WatchedKind): Readable => rightsTo(new Set(WATCHED_KINDS.filter((k) => k !== kind)))

test.each(WATCHED_KINDS)(
  'a person who may not list %s finds no word of them in any topic, change or past (S35)',
  async (kind) => {
    const { fleet, read, put, followed } = fleetOf()
    const [all, fewer] = [rightsTo(ALL), hiddenFrom(kind)]
    const shown = Object.values(TOPICS).filter((t) => JSON.stringify(read(t, all) ?? '').includes(wordOf(kind)))
    expect(shown.length, 'it is shown to those who may').toBeGreaterThan(0)
    const streams = Object.values(TOPICS).map((t) => [followed(t, all), followed(t, fewer)] as const)
    for (const topic of Object.values(TOPICS))
      expect(JSON.stringify(read(topic, fewer) ?? ''), topic).not.toContain(wordOf(kind))
    await put(kind, [])
    await put(kind, [SECRETS[kind]])
    const audiences = new Set<string>()
    for (const [index, topic] of Object.values(TOPICS).entries()) {
      const [, own] = streams[index] ?? []
      const wanted = audienceFor(topic, fewer)
      const sent = own?.seen.filter(({ audience }) => audience === wanted).map(({ json }) => json)
      expect(JSON.stringify(sent), topic).not.toContain(wordOf(kind))
      audiences.add(wanted)
      const past = fleet.past(nameOf(topic), topic, fewer, 0)
      expect(JSON.stringify(past ?? ''), topic).not.toContain(wordOf(kind))
    }
    expect(audiences.size).toBeGreaterThan(3)
  },
)

const audienceFor = (topic: string, readable: Readable): string => audienceOf(nameOf(topic), readable)

test('a followed topic sends its changes for as long as it is followed', async () => {
  const { put, followed, clock, read } = fleetOf()
  const all = rightsTo(ALL)
  read('repairs/test', all)
  const { seen } = followed('repairs/test', all)
  await clock.advance(600_000)
  await put('jobs', [])
  expect(seen.map(({ json }) => json)).toEqual(['{"topic":"repairs/test","set":[],"removed":["job-secret"]}'])
})

test('a topic that was forgotten and changed meanwhile is read again, not resumed', async () => {
  const { fleet, put, clock, read } = fleetOf()
  const all = rightsTo(ALL)
  const before = read('maintenance/test', all)
  await clock.advance(120_000)
  await put('events', [])
  // Another reader starts a new memory of it.
  read('maintenance/test', all)
  const number = Number(before?.revision.split('-')[1])
  expect(fleet.since(nameOf('maintenance/test'), 'maintenance/test', all, number)).toBeUndefined()
})

test('a set that was deleted and is back is read again by those who follow it', async () => {
  const { put, followed, read } = fleetOf()
  const all = rightsTo(ALL)
  const topic = TOPICS.set
  read(topic, all)
  const { seen } = followed(topic, all)
  await put('sets', [])
  expect(seen.map(({ json }) => json)).toEqual([undefined])
  expect(read(topic, all)).toBeUndefined()
  await put('sets', [SECRETS.sets])
  expect(seen.map(({ json }) => json)).toEqual([undefined, undefined])
  expect(read(topic, all)).toBeDefined()
})

test('pasts of rights that have ended are bounded, and that of the console stays', async () => {
  const { read, fleet, clock } = fleetOf()
  const all = rightsTo(ALL)
  await clock.advance(1_000)
  const begins = fleet.past(nameOf('home'), 'home', all, 0)?.begins
  for (let i = 0; i < 400; i++)
    read('home', rightsTo(new Set(WATCHED_KINDS.filter((_, at) => at === 0 || (i & (1 << at)) !== 0))))
  await clock.advance(120_000)
  expect(fleet.past(nameOf('home'), 'home', all, 0)?.begins).toBe(begins)
  expect(fleet.size).toBeLessThan(100)
})

test('machines are shown with the repairs and blames that the reader may list', () => {
  const spec = { node: { name: 'machine-secret' }, remedierRef: { name: 'r' } }
  const job = { metadata: { name: 'j' }, spec, status: { phase: 'Running' } }
  const { read } = fleetOf({ jobs: [job] })
  const cellsOf = (kinds: readonly WatchedKind[]): readonly string[] => {
    const { words, columns } = read('machines/test', rightsTo(new Set(kinds))) as MachinesTopic
    return [columns.repair, columns.blame].map(([cell = 0]) => words[cell] ?? '')
  }
  expect(cellsOf(['machines'])).toEqual(['', ''])
  expect(cellsOf(['machines', 'jobs'])).toEqual(['Running', ''])
  expect(cellsOf(['machines', 'jobs', 'ledgers'])[1]).not.toBe('')
  expect(cellsOf(['machines'])).toEqual(['', ''])
})

test('the past begins when a cluster has been read: what appears while it is read for the first time is no change', async () => {
  const { fleet, clock, cluster, put } = fleetOf({ sets: [] }, false)
  const [all, topic] = [rightsTo(ALL), 'sets/test']
  await clock.advance(60_000)
  await put('sets', [SECRETS.sets])
  const past = () => fleet.past(nameOf(topic), topic, all, 0)
  cluster.isSynced = true
  await put('machines', [])
  const { begins, snapshot } = past() ?? {}
  expect((snapshot as { rows: readonly unknown[] }).rows).toHaveLength(1)
  await clock.advance(60_000)
  expect(past()?.begins).toBe(begins)
  expect(clock.now() - (begins ?? 0)).toBeGreaterThanOrEqual(60_000)
})

test('the past of all topics together is bounded: a busy one begins later, and still shows what is kept', async () => {
  const { fleet, put, read } = fleetOf({}, true, 5_000)
  const all = rightsTo(ALL)
  const [topic, name] = ['sets/test', nameOf('sets/test')]
  read(topic, all)
  const began = fleet.past(name, topic, all, 0)?.begins ?? 0
  for (let n = 0; n < 100; n++) await put('sets', [{ ...SECRETS.sets, metadata: { name: `set-${n}` } }])
  const past = fleet.past(name, topic, all, Number.MAX_SAFE_INTEGER)
  expect(past?.begins).toBeGreaterThan(began)
  expect(JSON.stringify(past?.snapshot)).toContain('set-99')
})
