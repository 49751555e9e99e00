// Canaries as cases: picked, switched batch by batch under permits, watched, passed, failed, promoted, aborted.
import { holdOn } from '#test/support/fleets/holds.ts'
import { describe, expect, test } from 'vitest'
import { API_GROUP_VERSION } from '#api/kind.ts'
import type { ComponentCanary } from '#api/kinds/component-canary.ts'
import type { Machine } from '#api/kinds/machine.ts'
import type { OperationPermit } from '#api/kinds/operation-permit.ts'
import type { OperationalHold } from '#api/kinds/operational-hold.ts'
import {
  START,
  POOL,
  component,
  componentSet,
  readyNode,
  silenced,
  workingMachine,
} from '#test/support/fleets/rollout-fleet.ts'
import { plan } from './plan.ts'
import type { Seen } from './seen.ts'
import { defined } from '#lib/defined.ts'

const NAMES = ['m-0', 'm-1', 'm-2', 'm-3', 'm-4', 'm-5']

const canary = (spec: Partial<ComponentCanary['spec']> = {}, status?: ComponentCanary['status']): ComponentCanary => ({
  apiVersion: API_GROUP_VERSION,
  kind: 'ComponentCanary',
  metadata: { name: 'try', uid: 'uid-try', generation: 1 },
  spec: {
    selector: { matchLabels: POOL },
    pick: { count: 2 },
    components: [{ name: 'beacon', version: '1.1.0' }],
    strategy: { maxBatchSize: 1, maxFailures: 0 },
    duration: '1h',
    promoteWithin: '72h',
    abort: false,
    ...spec,
  },
  ...defined({ status }),
})

type State = 'Healthy' | 'RolledBack' | 'Staged'
const told = (name: string, state: State): Machine => {
  const m = workingMachine(name, { versions: { beacon: '1.1.0' } })
  const report = { ...m.status?.components?.[0], name: 'beacon', state, since: '2026-01-05T10:00:00Z' }
  return { ...m, status: { ...m.status, components: [state === 'Healthy' ? report : { ...report, version: '1.0.0' }] } }
}
const old = (name: string): Machine => workingMachine(name, { versions: { beacon: '1.0.0' }, class: `c-${name}` })

const seen = (more: Partial<Seen> = {}): Seen => ({
  canary: canary(),
  machines: NAMES.map(old),
  nodes: new Map(NAMES.map((n) => [n, readyNode(n)])),
  permits: [],
  refusedFor: new Map(),
  holds: [],
  sets: [componentSet({ beacon: '1.0.0' })],
  configs: new Map(),
  components: new Map([component('beacon', '1.1.0')].map((c) => [c.metadata.name ?? '', c])),
  ...more,
})

const permit = (
  targets: readonly string[],
  phase: 'Requested' | 'Granted' | 'Released' | 'Denied',
): OperationPermit => ({
  apiVersion: API_GROUP_VERSION,
  kind: 'OperationPermit',
  metadata: { name: 'p' },
  spec: {
    operations: ['SwitchComponent'],
    component: { name: 'beacon', version: '1.1.0' },
    targets: targets.map((name) => ({ kind: 'Machine', name, uid: `uid-${name}` })),
    requester: { manager: 'kubenode-canary', uid: 'uid-try' },
    reason: '',
    recovery: false,
    leaseSeconds: 120,
  },
  status: { phase, decidedAt: '2026-01-05T09:59:59Z' },
})

const rolling = { phase: 'Rolling' as const, machines: ['m-0', 'm-1'] }
const watching = { ...rolling, phase: 'Observing' as const, observeUntil: '2026-01-05T11:00:00Z' }
const kinds = (s: Seen, now = START) => plan(s, now).actions.map((a) => a.kind)

describe('a canary', () => {
  test('that failed names machine, probe and answer, and keeps saying so when its machines are back on their sets', () => {
    const back = told('m-0', 'RolledBack')
    const why = { reason: 'ProbeFailed', message: 'probe healthz: HTTP 500 from /healthz' }
    const failed = {
      ...back,
      status: { ...back.status, components: (back.status?.components ?? []).map((c) => ({ ...c, ...why })) },
    }
    const first = plan(seen({ canary: canary({}, rolling), machines: [failed, old('m-1')] }), START)
    const said = 'm-0: beacon 1.1.0: ProbeFailed: probe healthz: HTTP 500 from /healthz'
    const stalled = { type: 'Stalled', status: 'True', reason: 'CanaryFailed', message: said }
    expect(first.status.phase).toBe('Failed')
    expect(first.status.conditions).toContainEqual(expect.objectContaining(stalled))
    expect(first.notices).toEqual([{ reason: 'CanaryFailed', message: said }])
    const later = plan(seen({ canary: canary({}, first.status), machines: [old('m-0'), old('m-1')] }), START + 60_000)
    expect(later.status.conditions).toContainEqual(expect.objectContaining(stalled))
    expect(later.status.results).toContainEqual(expect.objectContaining({ machine: 'm-0', ...why }))
    expect(later.status.counts).toEqual({ total: 2, healthy: 0, failed: 1 })
  })

  test('picks its machines, marks them and asks for the first batch', () => {
    const { status, actions } = plan(seen(), START)
    expect(status).toMatchObject({ phase: 'Rolling', machines: ['m-0', 'm-1'] })
    expect(actions).toMatchObject([
      { kind: 'RequestPermit', request: { targets: [{ name: 'm-0' }], requester: { part: 'batch 1' } } },
    ])
  })

  test('asks under names of its own: permits of one that was deleted are there for a day', () => {
    const asksOf = (uid: string) =>
      plan(seen({ canary: { ...canary(), metadata: { ...canary().metadata, uid } } }), START).actions
    const names = ['11111111-a', '22222222-b'].flatMap((uid) =>
      asksOf(uid).flatMap((a) => (a.kind === 'RequestPermit' ? [a.permit] : [])),
    )
    expect(new Set(names).size).toBe(2)
  })

  test('picks no machine whose node a file keeps from every disruption', () => {
    const frozen = (m: Machine): Machine => ({
      ...m,
      status: {
        ...m.status,
        conditions: [
          {
            type: 'Frozen',
            status: 'True',
            reason: 'HoldFreeze',
            message: '',
            lastTransitionTime: '2026-01-05T09:00:00Z',
          },
        ],
      },
    })
    const [first, ...rest] = NAMES.map(old)
    const { status } = plan(seen({ machines: [...(first ? [frozen(first)] : []), ...rest] }), START)
    expect(status.machines).toEqual(['m-1', 'm-2'])
  })

  test('waits with the reason while too few machines are well, and touches none', () => {
    const { status, actions } = plan(seen({ machines: NAMES.map((n) => silenced(old(n), START)) }), START)
    expect(actions).toEqual([])
    expect(status).toMatchObject({ phase: 'Pending', machines: [], waitingFor: { predicate: 'NoMachines' } })
  })

  test('waits while its MachineComponent does not exist', () => {
    const { status } = plan(seen({ components: new Map() }), START)
    expect(status).toMatchObject({ phase: 'Pending', waitingFor: { predicate: 'ComponentMissing' } })
  })

  const relay = (version: string, more: object = {}) => component('relay', version, more)
  const needing = component('beacon', '1.1.0', { requires: [{ component: 'relay', range: '>=2.0' }] })
  const known = (...all: readonly ReturnType<typeof component>[]): Seen['components'] =>
    new Map(all.map((c) => [c.metadata.name ?? '', c]))
  const withRelay = (version: string): readonly Machine[] =>
    NAMES.map((n) => workingMachine(n, { versions: { beacon: '1.0.0', relay: version }, class: `c-${n}` }))

  test('marks no machine on which what it tries does not fit, and says why', () => {
    const { status, actions } = plan(
      seen({ components: known(needing, relay('1.0.0')), machines: withRelay('1.0.0') }),
      START,
    )
    expect(actions).toEqual([])
    expect(status).toMatchObject({
      phase: 'Pending',
      machines: [],
      waitingFor: {
        predicate: 'RequirementUnmet',
        seen: 'm-0: beacon 1.1.0: requires relay >=2.0, running: 1.0.0',
      },
    })
    expect(status.conditions).toContainEqual(expect.objectContaining({ type: 'Stalled', status: 'True' }))
  })

  test('picks around the machines that cannot take it', () => {
    const machines = [...withRelay('1.0.0').slice(0, 3), ...withRelay('2.1.0').slice(3)]
    const { status } = plan(seen({ components: known(needing, relay('1.0.0'), relay('2.1.0')), machines }), START)
    expect(status).toMatchObject({ phase: 'Rolling', machines: ['m-3', 'm-4'] })
  })

  test('of a component that what runs cannot do with is not tried there', () => {
    const guard = component('guard', '1.0.0', { requires: [{ component: 'beacon', range: '<1.1' }] })
    const machines = NAMES.map((n) => workingMachine(n, { versions: { beacon: '1.0.0', guard: '1.0.0' } }))
    const { status } = plan(seen({ components: known(component('beacon', '1.1.0'), guard), machines }), START)
    expect(status.waitingFor).toMatchObject({
      predicate: 'RequirementUnmet',
      seen: 'm-0: beacon 1.1.0: guard 1.0.0, which is running, requires beacon <1.1',
    })
  })

  test('F44 that an agent does not accept has not failed: it waits and says why', () => {
    const [first = old('m-0'), ...rest] = NAMES.slice(0, 2).map((n) => told(n, 'Staged'))
    const reports = (first.status?.components ?? []).map((c) => ({
      ...c,
      state: 'Fetching' as const,
      message: 'KN8012: cannot fetch a.tar: other bytes came',
    }))
    const machines = [{ ...first, status: { ...first.status, components: reports } }, ...rest]
    const status = { phase: 'Rolling' as const, machines: ['m-0', 'm-1'] }
    const asked = permit(['m-0'], 'Granted')
    const made = plan(seen({ canary: canary({}, status), machines, permits: [asked] }), START)
    expect(made.status).toMatchObject({
      phase: 'Rolling',
      counts: { failed: 0 },
      waitingFor: { predicate: 'DigestMismatch', seen: 'm-0: KN8012: cannot fetch a.tar: other bytes came' },
    })
  })

  test('that tries a component with what that needs brings the latter first', () => {
    const components = [
      { name: 'beacon', version: '1.1.0' },
      { name: 'relay', version: '2.0.0' },
    ]
    const trial = (machines: readonly Machine[], status?: ComponentCanary['status']) =>
      plan(
        seen({
          canary: canary({ components }, status),
          components: known(needing, relay('1.0.0'), relay('2.0.0')),
          machines,
        }),
        START,
      )
    expect(trial(withRelay('1.0.0')).actions).toMatchObject([
      { kind: 'RequestPermit', request: { component: { name: 'relay' } } },
    ])
    expect(trial(withRelay('2.0.0'), rolling).actions).toMatchObject([
      { kind: 'RequestPermit', request: { component: { name: 'beacon' } } },
    ])
  })

  test.each([
    ['v1.34.2', 'SkewRefused'],
    [undefined, 'SafetyReadingUnknown'],
  ])('too far ahead of an API server of version %s waits with %s', (apiServer, predicate) => {
    const skew = { maxAheadOfApiServer: 0, maxBehindApiServer: 3 }
    const components = [{ name: 'kubelet', version: '1.36.0' }]
    const { status, actions } = plan(
      seen({
        canary: canary({ components }),
        components: known(component('kubelet', '1.36.0', { skew })),
        ...defined({ apiServer }),
      }),
      START,
    )
    expect(actions).toEqual([])
    expect(status).toMatchObject({ phase: 'Pending', waitingFor: { predicate } })
  })

  test('makes the configuration that it tries, and does not take another one for it', () => {
    const components = [{ name: 'beacon', version: '1.1.0', values: { port: 1 } }]
    const machines = [told('m-0', 'Healthy'), told('m-1', 'Healthy'), ...NAMES.slice(2).map(old)]
    const { actions, status } = plan(seen({ canary: canary({ components }, rolling), machines }), START)
    expect(actions.map((a) => a.kind)).toEqual(['CreateConfig', 'RequestPermit'])
    expect(actions[0]).toMatchObject({ config: { spec: { component: 'beacon', values: { port: 1 } } } })
    expect(status.counts?.healthy).toBe(0)
  })

  test('of other values is not promoted by a set that has the version alone', () => {
    const passed = { ...rolling, phase: 'Passed' as const, observeUntil: '2026-01-05T09:00:00Z' }
    const components = [{ name: 'beacon', version: '1.1.0', values: { port: 1 } }]
    const sets = (values?: { port: number }) => {
      const set = componentSet({})
      return [
        {
          ...set,
          spec: { ...set.spec, components: [{ name: 'beacon', version: '1.1.0', ...defined({ values }) }] },
        },
      ]
    }
    const phaseWith = (values?: { port: number }) =>
      plan(seen({ canary: canary({ components }, passed), sets: sets(values) }), START).status.phase
    expect([phaseWith(), phaseWith({ port: 2 }), phaseWith({ port: 1 })]).toEqual(['Passed', 'Passed', 'Promoted'])
  })

  test('waits while a secret value is not to be had, and asks for nothing', () => {
    const made = plan(seen({ missingSecret: 'beacon 1.1.0: there is no Secret x' }), START)
    expect(made.actions).toEqual([])
    expect(made.status).toMatchObject({ phase: 'Pending', waitingFor: { predicate: 'ReferenceMissing' } })
    expect(kinds(seen({ canary: canary({}, rolling), missingSecret: 'beacon' }))).toEqual([])
  })

  test('has no more machines at work than a batch', () => {
    expect(kinds(seen({ canary: canary({}, rolling), permits: [permit(['m-0'], 'Requested')] }))).toEqual([])
  })

  test('reports what came to an end, and asks for the next batch then', () => {
    const machines = [told('m-0', 'Healthy'), ...NAMES.slice(1).map(old)]
    expect(kinds(seen({ canary: canary({}, rolling), machines, permits: [permit(['m-0'], 'Granted')] }))).toEqual([
      'Report',
    ])
    expect(kinds(seen({ canary: canary({}, rolling), machines, permits: [permit(['m-0'], 'Released')] }))).toEqual([
      'RequestPermit',
    ])
  })

  test('frees a machine that fell silent before its permit was granted, and leaves it alone afterwards', () => {
    const machines = [silenced(old('m-0'), START - 120_000), ...NAMES.slice(1).map(old)]
    const of = (phase: 'Requested' | 'Granted') =>
      plan(seen({ canary: canary({}, rolling), machines, permits: [permit(['m-0'], phase)] }), START).actions
    expect(of('Requested')).toMatchObject([{ kind: 'Report', results: [{ machine: 'm-0', result: 'Released' }] }])
    expect(of('Granted')).toEqual([])
  })

  test('fails with one machine too many that went back, and asks for nothing more', () => {
    const machines = [told('m-0', 'RolledBack'), ...NAMES.slice(1).map(old)]
    const { status, actions } = plan(seen({ canary: canary({}, rolling), machines }), START)
    expect(status).toMatchObject({ phase: 'Failed', counts: { failed: 1 } })
    expect(actions).toEqual([])
  })

  const both = [told('m-0', 'Healthy'), told('m-1', 'Healthy'), ...NAMES.slice(2).map(old)]

  test('watches for its duration, passes, and waits for the commit', () => {
    const first = plan(seen({ canary: canary({}, rolling), machines: both }), START).status
    expect(first).toMatchObject({ phase: 'Observing', observeUntil: '2026-01-05T11:00:00Z' })
    expect(plan(seen({ canary: canary({}, first), machines: both }), START + 3_599_000).status.phase).toBe('Observing')
    expect(plan(seen({ canary: canary({}, first), machines: both }), START + 3_600_000).status.phase).toBe('Passed')
  })

  test('starts watching again when a machine was not healthy in between', () => {
    const machines = [told('m-0', 'Healthy'), told('m-1', 'Staged'), ...NAMES.slice(2).map(old)]
    const { phase, observeUntil } = plan(seen({ canary: canary({}, watching), machines }), START + 60_000).status
    expect([phase, observeUntil]).toEqual(['Rolling', undefined])
  })

  test('is promoted by the set that declares the version', () => {
    const { status } = plan(
      seen({ canary: canary({}, watching), machines: both, sets: [componentSet({ beacon: '1.1.0' })] }),
      START,
    )
    expect(status).toMatchObject({ phase: 'Promoted', promotedBy: 'base' })
  })

  test('ends at once when it is aborted, and frees what has not begun', () => {
    const made = plan(seen({ canary: canary({ abort: true }, rolling), permits: [permit(['m-0'], 'Granted')] }), START)
    expect(made.status.phase).toBe('Aborted')
    expect(made.actions).toMatchObject([{ kind: 'Report', results: [{ machine: 'm-0', result: 'Released' }] }])
  })

  test('that is paused takes back what no machine has begun, asks for nothing, and reports it', () => {
    const hold = (effect: 'Pause' | 'Abort'): OperationalHold =>
      holdOn('ComponentCanary', 'try', { effect, until: '2026-01-06T00:00:00Z' })
    const paused = plan(
      seen({ canary: canary({}, rolling), permits: [permit(['m-0'], 'Requested')], holds: [hold('Pause')] }),
      START,
    )
    expect(paused.actions).toMatchObject([{ kind: 'Report', results: [{ machine: 'm-0', result: 'Released' }] }])
    expect(paused.status).toMatchObject({ phase: 'Rolling', waitingFor: { predicate: 'HoldPause' } })
    expect(plan(seen({ canary: canary({}, rolling), holds: [hold('Abort')] }), START).status.phase).toBe('Aborted')
  })

  test('that was refused says why, and asks again only after a while', () => {
    const denied = permit(['m-0'], 'Denied')
    const verdicts = [
      { target: 'uid-m-0', gate: 'Protect' as const, verdict: 'Denied' as const, seen: 'it is protected' },
    ]
    const permits = [{ ...denied, status: { ...denied.status, phase: 'Denied' as const, verdicts } }]
    const look = seen({ canary: canary({}, rolling), permits })
    expect(kinds(look)).toEqual([])
    expect(plan(look, START).status.waitingFor).toMatchObject({
      predicate: 'PermitDenied',
      seen: 'gate Protect: it is protected',
    })
    const refusedFor = (ms: number) => new Map([[denied.metadata.uid ?? '', ms]])
    expect(kinds({ ...look, refusedFor: refusedFor(59_999) })).toEqual([])
    expect(kinds({ ...look, refusedFor: refusedFor(60_000) })).toEqual(['RequestPermit'])
  })

  test('waits with what the Defender says of its batch', () => {
    const { status } = plan(seen({ canary: canary({}, rolling), permits: [permit(['m-0'], 'Requested')] }), START)
    expect(status.waitingFor).toMatchObject({ predicate: 'PermitRequested', seen: 'the Defender has not decided yet' })
  })

  test('reports each machine with each component', () => {
    const machines = [told('m-0', 'Healthy'), told('m-1', 'Staged'), ...NAMES.slice(2).map(old)]
    const { status } = plan(
      seen({ canary: canary({ strategy: { maxBatchSize: 1, maxFailures: 1 } }, rolling), machines }),
      START,
    )
    expect(status.results).toMatchObject([
      { machine: 'm-0', component: 'beacon', state: 'Healthy', healthySince: '2026-01-05T10:00:00Z' },
      { machine: 'm-1', component: 'beacon', state: 'Staged' },
    ])
    expect(status.counts).toEqual({ total: 2, healthy: 1, failed: 0 })
  })

  test('may lose as many machines as maxFailures says, and one more ends it', () => {
    const machines = ['m-0', 'm-1'].map((n) => told(n, 'RolledBack')).concat(NAMES.slice(2).map(old))
    const phase = (maxFailures: number | `${number}%`) =>
      plan(seen({ canary: canary({ strategy: { maxBatchSize: 1, maxFailures } }, rolling), machines }), START).status
        .phase
    expect([phase(2), phase('100%'), phase(1), phase('50%')]).toEqual(['Rolling', 'Rolling', 'Failed', 'Failed'])
  })
})
