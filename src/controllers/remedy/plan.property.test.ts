// What holds for any nodes, rules and jobs: limits, one job per node, no action on unknown or mass faults, and the order of a cache does not matter.
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type NodeRemedier, nodeRemedier } from '#api/kinds/node-remedier.ts'
import { type RemedyOperationJob } from '#api/kinds/remedy-operation-job.ts'
import { timestamp } from '#lib/clock.ts'
import { RuleBook } from '#nodes/faults/active-rule.ts'
import { isMass } from '#nodes/faults/mass.ts'
import { DAY_MS, HOUR_MS, countRepairs, isOpen } from './repairs/history.ts'
import { inFlightLimit } from './repairs/limits.ts'
import { plan } from './plan.ts'
import type { NodeSeen, Seen } from './seen.ts'

const NOW = Date.parse('2026-05-01T12:00:00Z')
const RULES = ['a', 'b'] as const
const book = new RuleBook()

const limits = fc.record({
  perNodePerDay: fc.integer({ min: 1, max: 3 }),
  perHour: fc.integer({ min: 1, max: 4 }),
  perDay: fc.integer({ min: 1, max: 5 }),
  maxInFlight: fc.oneof(fc.integer({ min: 1, max: 3 }), fc.constantFrom('10%', '50%')),
})

const spec = fc.record({
  limits,
  priority: fc.integer({ min: -1, max: 1 }),
  mode: fc.constantFrom('Enforce' as const, 'Enforce' as const, 'DryRun' as const, 'Shadow' as const),
  for: fc.constantFrom('0s', '5m'),
  cooldown: fc.constantFrom('0s', '10m'),
})

const remedierOf = (name: string, given: object): NodeRemedier =>
  ({
    apiVersion: 'kubenode.io/v1alpha1',
    kind: 'NodeRemedier',
    metadata: { name, uid: `uid-${name}`, generation: 1 },
    spec: {
      ...nodeRemedier.example.spec,
      share: 100,
      relapseWindow: '1h',
      ladder: [0, 1].map(() => ({
        operations: [{ cordon: {} }],
        timeout: '1m',
        retries: 1,
        verify: { stableFor: '1m' },
      })),
      ...given,
    },
  }) as unknown as NodeRemedier

const match = fc.option(
  fc.integer({ min: 0, max: 20 }).map((m) => NOW - m * 60_000),
  { nil: undefined },
)
const standing = fc.constantFrom(
  { kind: 'Readable' as const },
  { kind: 'Readable' as const },
  { kind: 'Readable' as const },
  { kind: 'Silent' as const, why: 'x' },
  { kind: 'Silent' as const, why: 'x', isJoining: true as const },
)

const nodes = fc.array(fc.record({ standing, a: match, b: match }), { minLength: 1, maxLength: 9 }).map((list) =>
  list.map(({ standing: s, a, b }, n): NodeSeen => {
    const matches = new Map(
      [
        ['a', a],
        ['b', b],
      ].filter((e): e is [string, number] => e[1] !== undefined),
    )
    return {
      name: `n${n}`,
      uid: `u${n}`,
      machine: `n${n}`,
      machineUid: `machine-${n}`,
      labels: {},
      standing: s,
      matches: s.kind === 'Readable' ? matches : new Map(),
    }
  }),
)

const job = fc
  .record({
    rule: fc.constantFrom(...RULES),
    node: fc.integer({ min: 0, max: 8 }),
    createdAgo: fc.integer({ min: -5, max: 2_000 }),
    outcome: fc.option(fc.constantFrom('Succeeded', 'Escalated', 'Transient', 'Permanent', 'Superseded', 'Cancelled'), {
      nil: undefined,
    }),
    started: fc.boolean(),
    dryRun: fc.boolean(),
    rung: fc.integer({ min: 0, max: 1 }),
  })
  .map(({ rule, node, createdAgo, outcome, started, dryRun, rung }, index = createdAgo) => {
    const at = timestamp(NOW - createdAgo * 60_000)
    return {
      metadata: { name: `${rule}-${node}-${index}-${rung}-${dryRun}`, creationTimestamp: at },
      spec: {
        node: { name: `n${node}`, uid: `u${node}` },
        remedierRef: { name: rule, generation: 1 },
        incident: `i${createdAgo}`,
        rung,
        attempt: 1,
        dryRun,
      },
      status: {
        phase: outcome === undefined ? 'Pending' : 'Done',
        ...(outcome && { outcome, finishedAt: at }),
        ...(started && { startedAt: at }),
      },
    } as unknown as RemedyOperationJob
  })

const countsOf = (seen: readonly NodeSeen[]): Seen['counts'] =>
  new Map(
    RULES.map((rule) => [
      rule,
      {
        selected: seen.length,
        silent: seen.filter((n) => n.standing.kind === 'Silent').length,
        joining: seen.filter((n) => n.standing.kind === 'Silent' && n.standing.isJoining).length,
        bad: seen.filter((n) => n.matches.has(rule)).length,
      },
    ]),
  )

const world = fc
  .record({
    specs: fc.tuple(spec, spec),
    nodes,
    jobs: fc.uniqueArray(job, { maxLength: 8, selector: (j) => j.metadata.name }),
  })
  .map(({ specs, nodes: seenNodes, jobs }): Seen => ({
    rules: RULES.map((name, n) => book.read(remedierOf(name, specs[n] ?? {}), [])),
    revisions: [],
    nodes: seenNodes,
    counts: countsOf(seenNodes),
    jobs,
    holds: [],
    maintained: new Map(),
    isTimed: false,
  }))

const created = (seen: Seen) => plan(seen, NOW).actions.flatMap((a) => (a.kind === 'CreateJob' ? a.job : []))

test('the worlds speak of something: many of them lead to jobs', () => {
  const worlds = fc.sample(world, { numRuns: 300, seed: 7 })
  expect(worlds.filter((seen) => created(seen).length > 0).length).toBeGreaterThan(50)
})

describe('whatever there is', () => {
  test('nodes that were never heard raise no warning of an outage, and no repair starts all the same', () => {
    fc.assert(
      fc.property(world, (seen) => {
        const never = { kind: 'Silent', why: 'x', isJoining: true } as const
        const joining = seen.nodes.map((n) => (n.standing.kind === 'Silent' ? { ...n, standing: never } : n))
        const { notices, verdicts } = plan({ ...seen, nodes: joining, counts: countsOf(joining) }, NOW)
        expect(notices.filter((n) => n.reason === 'ZoneOutage')).toEqual([])
        const before = plan(seen, NOW).verdicts
        expect(verdicts.map((v) => v.inhibited !== undefined)).toEqual(before.map((v) => v.inhibited !== undefined))
      }),
    )
  })

  test('a machine that is only observed gets no job, gives no other job up, and its faults say why', () => {
    fc.assert(
      fc.property(world, (seen) => {
        const observed = { ...seen, nodes: seen.nodes.map((n) => ({ ...n, isObserved: true })), jobs: [] }
        const { actions, verdicts } = plan(observed, NOW)
        expect(actions.filter((a) => a.kind === 'CreateJob' || a.kind === 'SupersedeJob')).toEqual([])
        const acting = verdicts.filter((v) => v.reading.active?.spec.mode !== 'Shadow')
        for (const { reason } of acting.flatMap((v) => v.faults)) expect(reason).toBe('ObservedOnly')
      }),
      { numRuns: 300 },
    )
  })

  test('a node of which the host is being worked on gets no job, its faults say so, and the others are not affected', () => {
    fc.assert(
      fc.property(world, fc.nat(8), (seen, n) => {
        const text = 'maintenanceevent/e (Reboot by cloud) is InProgress'
        const maintained = new Map([[`n${n}`, text]])
        const before = created(seen).filter((j) => j.node.machine !== `n${n}`)
        const after = plan({ ...seen, maintained }, NOW)
        const jobs = after.actions.flatMap((a) => (a.kind === 'CreateJob' ? [a.job] : []))
        expect(jobs.filter((j) => j.node.machine === `n${n}`)).toEqual([])
        // Its turn may go to another node, but no node loses its job.
        for (const { name } of before) expect(jobs.map((j) => j.name)).toContain(name)
        const faults = after.verdicts.flatMap((v) => v.faults).filter((f) => f.reason === 'MaintenanceUnderWay')
        for (const fault of faults)
          expect(fault).toMatchObject({ node: `n${n}`, waitingFor: `the cause is known: ${text}` })
      }),
      { numRuns: 300 },
    )
  })

  test('the worlds have faults that work on a host explains', () => {
    const worlds = fc.sample(world, { numRuns: 300, seed: 7 })
    const maintained = new Map([['n0', 'x']])
    const explained = worlds.filter((seen) =>
      plan({ ...seen, maintained }, NOW).verdicts.some((v) => v.faults.some((f) => f.reason === 'MaintenanceUnderWay')),
    )
    expect(explained.length).toBeGreaterThan(10)
  })

  test('that some machines are only observed takes nothing from the others', () => {
    const seeds = fc.sample(world, { numRuns: 300, seed: 7 })
    const some = seeds.map((seen) => ({
      ...seen,
      nodes: seen.nodes.map((n, i) => ({ ...n, ...(i % 2 === 0 && { isObserved: true }) })),
    }))
    const made = some.flatMap((seen) => created(seen).map((j) => ({ j, seen })))
    expect(made.length).toBeGreaterThan(20)
    for (const { j, seen } of made) expect(seen.nodes.find((n) => n.uid === j.node.uid)?.isObserved).toBeUndefined()
  })

  test('each job names the Machine of its node by its uid, as the certificate of its agent does', () => {
    const made = fc.sample(world, { numRuns: 300, seed: 7 }).flatMap((seen) => created(seen))
    expect(made.length).toBeGreaterThan(20)
    for (const { node } of made) expect(node.machineUid).toBe(`machine-${node.uid.slice(1)}`)
  })

  test('no limit is exceeded by what exists and what is made', () => {
    fc.assert(
      fc.property(world, (seen) => {
        const made = created(seen)
        for (const { active } of seen.rules) {
          if (active === undefined) continue
          const dryRun = active.spec.mode === 'DryRun'
          const mine = seen.jobs.filter((j) => j.spec.remedierRef.name === active.name && j.spec.dryRun === dryRun)
          const more = made.filter((j) => j.active.name === active.name)
          if (more.length === 0) continue
          const { limits: l } = active.spec
          expect(mine.filter(isOpen).length + more.length).toBeLessThanOrEqual(
            inFlightLimit(l.maxInFlight, seen.nodes.length),
          )
          expect(countRepairs(mine, HOUR_MS, NOW) + more.length).toBeLessThanOrEqual(l.perHour)
          expect(countRepairs(mine, DAY_MS, NOW) + more.length).toBeLessThanOrEqual(l.perDay)
          for (const { node } of more)
            expect(
              countRepairs(
                mine.filter((j) => j.spec.node.uid === node.uid),
                DAY_MS,
                NOW,
              ),
            ).toBeLessThan(l.perNodePerDay)
        }
      }),
      { numRuns: 400 },
    )
  })

  test('a node never gets a second repair while one is open, and never two at once', () => {
    fc.assert(
      fc.property(world, (seen) => {
        const real = created(seen).filter((j) => !j.dryRun)
        const busy = new Set(seen.jobs.filter((j) => isOpen(j) && !j.spec.dryRun).map((j) => j.spec.node.uid))
        for (const { node } of real) expect(busy.has(node.uid)).toBe(false)
        expect(new Set(real.map((j) => j.node.uid)).size).toBe(real.length)
      }),
      { numRuns: 400 },
    )
  })

  test('only a readable node for which the rule is true gets a job, and a mass fault or mass silence none', () => {
    fc.assert(
      fc.property(world, (seen) => {
        const silent = seen.nodes.filter((n) => n.standing.kind === 'Silent').length
        for (const j of created(seen)) {
          const node = seen.nodes.find((n) => n.uid === j.node.uid)
          expect([node?.standing.kind, node?.matches.has(j.rule)]).toEqual(['Readable', true])
          expect(isMass(seen.nodes.filter((n) => n.matches.has(j.rule)).length, seen.nodes.length)).toBe(false)
          expect(isMass(silent, seen.nodes.length)).toBe(false)
          expect(j.active.spec.mode).not.toBe('Shadow')
        }
      }),
      { numRuns: 400 },
    )
  })

  test('the order in which caches hold things decides nothing', () => {
    const shuffled = world.chain((seen) =>
      fc.tuple(
        fc.constant(seen),
        fc.record({
          nodes: fc.shuffledSubarray([...seen.nodes], { minLength: seen.nodes.length }),
          jobs: fc.shuffledSubarray([...seen.jobs], { minLength: seen.jobs.length }),
          rules: fc.shuffledSubarray([...seen.rules], { minLength: seen.rules.length }),
        }),
      ),
    )
    fc.assert(
      fc.property(shuffled, ([seen, other]) => {
        const names = (s: Seen) => created(s).map((j) => j.name)
        expect(names({ ...seen, ...other })).toEqual(names(seen))
      }),
      { numRuns: 300 },
    )
  })

  test('a second look at what was just made makes nothing more', () => {
    fc.assert(
      fc.property(world, (seen) => {
        const made = created(seen).map(
          (j) =>
            ({
              metadata: { name: j.name, creationTimestamp: timestamp(NOW) },
              spec: {
                node: { name: j.node.name, uid: j.node.uid },
                remedierRef: { name: j.rule, generation: 1 },
                incident: j.incident,
                rung: j.rung,
                attempt: j.attempt,
                dryRun: j.dryRun,
              },
            }) as unknown as RemedyOperationJob,
        )
        const names = new Set(made.map((j) => j.metadata.name))
        for (const j of created({ ...seen, jobs: [...seen.jobs, ...made] })) expect(names.has(j.name)).toBe(false)
      }),
      { numRuns: 300 },
    )
  })
})
