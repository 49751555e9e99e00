import { Registry } from 'prom-client'
import { expect, test } from 'vitest'
import { API_GROUP_VERSION } from '#api/kind.ts'
import type { MaintenanceEvent } from '#api/kinds/maintenance-event.ts'
import type { MachineComponentSet } from '#api/kinds/machine-component-set.ts'
import type { RemedyOperationJob } from '#api/kinds/remedy-operation-job.ts'
import { aMachine, START_MS } from '#test/support/fleets/defender-objects.ts'
import type { ControllerContext } from '../module.ts'
import { type Family, tally } from './families/family.ts'
import { machineFamilies } from './families/machines.ts'
import { maintenanceFamilies } from './families/maintenance.ts'
import { repairFamilies } from './families/repairs.ts'
import { rolloutFamilies } from './families/rollouts.ts'
import { metricsModule } from './metrics.ts'
import { defined } from '#lib/defined.ts'
import { silentLogger } from '#lib/log.ts'
import { VirtualClock } from '#test/support/clocks/virtual-clock.ts'

/** `family{labels} value` of every sample. */
const lines = (families: readonly Family[]): readonly string[] =>
  families.flatMap(({ name, samples }) =>
    samples.map(({ labels, value }) => `${name}{${Object.values(labels).join(',')}} ${value}`),
  )

const machines = [
  aMachine({ name: 'a', runs: { beacon: '1.0.0' } }),
  aMachine({ name: 'b', runs: { beacon: '1.1.0' } }),
  aMachine({ name: 'c', phase: 'Lost', reachable: 'Unknown' }),
]

test('metrics count machines by phase, silent agents, and components by version and state', () => {
  expect(lines(machineFamilies(machines, []))).toEqual([
    'kubenode_machines{Ready} 2',
    'kubenode_machines{Lost} 1',
    'kubenode_machines_agent_silent{} 1',
    'kubenode_machines_certificate_expiring{} 0',
    'kubenode_machine_components{beacon,1.0.0,Healthy} 1',
    'kubenode_machine_components{beacon,1.1.0,Healthy} 1',
  ])
})

const slice = (component: string, phase: 'Soaking' | 'Passed' | 'Planned', startedAt?: string) => ({
  component,
  step: 0,
  number: 0,
  phase,
  machines: ['a'],
  ...defined({ startedAt }),
})
const set = {
  apiVersion: API_GROUP_VERSION,
  kind: 'MachineComponentSet',
  metadata: { name: 'base' },
  spec: { selector: {}, priority: 0, components: [] },
  status: {
    counts: { total: 3, updated: 1, healthy: 1, skipped: 1, failed: 0 },
    coverage: [
      { class: 'amd64', total: 2, healthy: 1 },
      { class: 'arm64', total: 1, healthy: 0 },
    ],
    consistency: [{ component: 'beacon', consistent: 1, total: 2 }],
    slices: [
      slice('beacon', 'Soaking', '2026-01-04T23:59:00Z'),
      slice('beacon', 'Passed', '2026-01-04T22:00:00Z'),
      slice('scribe', 'Planned'),
    ],
    waitingFor: { predicate: 'SoakTime' },
  },
} as unknown as MachineComponentSet

test('metrics of rollouts have the classes tried, consistency, the age of open slices and the wait', () => {
  expect(lines(rolloutFamilies([set], [], START_MS))).toEqual([
    'kubenode_set_machines{base,total} 3',
    'kubenode_set_machines{base,updated} 1',
    'kubenode_set_machines{base,healthy} 1',
    'kubenode_set_machines{base,skipped} 1',
    'kubenode_set_machines{base,failed} 0',
    'kubenode_set_classes_tried{base} 0.5',
    'kubenode_set_consistency{base,beacon} 0.5',
    'kubenode_set_slice_age_seconds{base,beacon} 60',
    'kubenode_set_waiting{base,SoakTime} 1',
    'kubenode_set_blocked_revisions{base} 0',
  ])
})

const job = (name: string, status: object) =>
  ({
    apiVersion: API_GROUP_VERSION,
    kind: 'RemedyOperationJob',
    metadata: { name, creationTimestamp: '2026-01-04T23:50:00Z' },
    spec: { remedierRef: { name: 'rule', generation: 1 }, rung: 1, operations: [] },
    status,
  }) as unknown as RemedyOperationJob
const exhausted = [{ type: 'Stalled', status: 'True', reason: 'LadderExhausted' }]

test('metrics count repairs by phase, outcome and rung, by rule, and how long the oldest waits', () => {
  const jobs = [
    job('x', { phase: 'AwaitingPermit' }),
    job('y', { phase: 'Done', outcome: 'Succeeded' }),
    job('z', { phase: 'Done', outcome: 'Permanent', conditions: exhausted }),
  ]
  expect(lines(repairFamilies(jobs, START_MS))).toEqual([
    'kubenode_repair_jobs{AwaitingPermit,none,1} 1',
    'kubenode_repair_jobs{Done,Succeeded,1} 1',
    'kubenode_repair_jobs{Done,Permanent,1} 1',
    'kubenode_repairs_open{rule} 1',
    'kubenode_repairs_exhausted{rule} 1',
    'kubenode_repair_oldest_waiting_seconds{} 600',
  ])
})

const ofHost = (spec: object, status?: object) =>
  ({
    spec: { source: 'cloud', kind: 'Reboot', notAfter: '2026-01-04T23:59:00Z', ...spec },
    ...defined({ status }),
  }) as unknown as MaintenanceEvent

test('metrics of work on hosts count what people have not ended in time, and bills until they are paid', () => {
  const people = { source: 'People', kind: 'Stop' }
  const counted = (events: readonly MaintenanceEvent[]) =>
    lines(maintenanceFamilies(events, START_MS)).filter((line) => /overrun|bills/.test(line))
  expect(
    counted([
      ofHost(people, { phase: 'InProgress' }),
      ofHost(people, { phase: 'Preparing' }),
      ofHost({ ...people, notAfter: '2026-01-05T00:01:00Z' }, { phase: 'InProgress' }),
      ofHost({ ...people, notAfter: undefined }, { phase: 'InProgress' }),
      ofHost(people, { phase: 'Verifying' }),
      ofHost(people, { phase: 'Done' }),
      // A provider's last report only has the start.
      ofHost({}, { phase: 'InProgress', phaseSince: '2026-01-04T12:00:00Z' }),
      ofHost({}, { phase: 'InProgress', phaseSince: '2026-01-03T12:00:00Z' }),
      ofHost({}, { phase: 'Prepared', phaseSince: '2026-01-03T12:00:00Z' }),
      ofHost({ bill: true }),
      ofHost({ bill: true }, { phase: 'Cancelled' }),
    ]),
  ).toEqual(['kubenode_maintenance_bills{} 1', 'kubenode_maintenance_overrun{} 3'])
})

test('a thousand versions are five hundred samples, and none is lost', () => {
  const samples = tally(
    Array.from({ length: 1_000 }, (_, i) => i),
    (i) => ({ version: String(i) }),
  )
  expect(samples).toHaveLength(500)
  expect(samples.reduce((sum, s) => sum + s.value, 0)).toBe(1_000)
})

type OnJob = (old: RemedyOperationJob | undefined, now: RemedyOperationJob | undefined) => void

test('figures are of the moment of the scrape, times are counted once, and nothing is left after the term', async () => {
  const registry = new Registry()
  let seen = machines
  const heard: OnJob[] = []
  const cache = (kind: string) => ({
    list: () => (kind === 'Machine' ? seen : []),
    get: () => undefined,
    isSynced: true,
    onChange: (fn: OnJob) => {
      if (kind === 'RemedyOperationJob') heard.push(fn)
      return () => heard.splice(0)
    },
  })
  const context = {
    informers: { of: ({ kind }: { readonly kind: string }) => cache(kind) },
    clock: new VirtualClock(START_MS),
    log: silentLogger,
    client: { get: () => Promise.resolve(undefined), apply: (_: unknown, o: unknown) => Promise.resolve(o) },
    metrics: { registry },
  } as unknown as ControllerContext
  for (let term = 0; term < 2; term++) {
    const { parts = [] } = metricsModule.setup(context)
    for (const part of parts) await part.start(new AbortController().signal)
    seen = machines
    expect(await registry.metrics()).toContain('kubenode_machines{phase="Ready"} 2')
    seen = machines.slice(1)
    expect(await registry.metrics()).toContain('kubenode_machines{phase="Ready"} 1')
    expect(await registry.metrics()).toContain('kubenode_nodes{state="fault"} 0')
    const before = job('x', { phase: 'AwaitingPermit' })
    const running = job('x', { phase: 'Running', startedAt: '2026-01-04T23:50:20Z' })
    const done = job('x', {
      phase: 'Done',
      outcome: 'Succeeded',
      startedAt: '2026-01-04T23:50:20Z',
      finishedAt: '2026-01-04T23:52:00Z',
    })
    for (const fn of heard)
      for (const [old, now] of [
        [undefined, before],
        [before, running],
        [running, done],
        [done, done],
      ] as const)
        fn(old, now)
    const text = await registry.metrics()
    expect(text).toContain('kubenode_repair_decide_seconds_sum{rule="rule"} 20')
    expect(text).toContain('kubenode_repair_heal_seconds_sum{rule="rule"} 120')
    expect(text).toContain('kubenode_repair_heal_seconds_count{rule="rule"} 1')
    for (const part of parts) await part.stop(0)
    expect(await registry.metrics()).not.toContain('kubenode_machines')
  }
})
