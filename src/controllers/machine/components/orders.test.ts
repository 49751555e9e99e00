import type { ComponentOrder, ComponentStatus } from '#api/kinds/machine.ts'
import type { MachineComponent } from '#api/kinds/machine-component.ts'
import { machineComponent } from '#api/kinds/machine-component.ts'
import type { OperationPermit } from '#api/kinds/operation-permit.ts'
import { describe, expect, test } from 'vitest'
import type { Claim } from './desired.ts'
import { START_REPORTED_WITHIN_MS } from '#api/protocol/switch.ts'
import { type OrderInput, type Orders, changedComponents, planOrders } from './orders.ts'

const UID = 'uid-1'

const permit = (phase: string, verdict = 'Granted', extra: object = {}): OperationPermit =>
  ({
    apiVersion: 'kubenode.io/v1alpha1',
    kind: 'OperationPermit',
    metadata: { name: 'p' },
    spec: {
      operations: ['SwitchComponent'],
      component: { name: 'beacon', version: '1.1.0' },
      targets: [{ kind: 'Machine', name: 'm-1', uid: UID }],
      requester: { manager: 'x' },
      reason: 'r',
      recovery: false,
      leaseSeconds: 120,
      ...extra,
    },
    status: { phase, verdicts: [{ target: UID, gate: 'All', verdict }] },
  }) as OperationPermit

const order: ComponentOrder = { name: 'beacon', version: '1.1.0', attempt: 2, setRef: 'base' }
const ordered: ComponentOrder = { ...order, switch: { attempt: 2, permit: 'p' } }
const report = (state: ComponentStatus['state'], r: Partial<ComponentStatus> = {}): ComponentStatus => ({
  name: 'beacon',
  version: '1.0.0',
  desired: '1.1.0',
  attempt: 2,
  state,
  since: '2026-01-05T00:00:00Z',
  ...r,
})
const claim = (phase: Claim['slices'][number]['phase'], machines = ['m-1']): Claim => ({
  set: 'base',
  priority: 0,
  isCurrent: true,
  components: [{ name: 'beacon', version: '1.1.0' }],
  slices: [{ component: 'beacon', version: '1.1.0', step: 1, number: 0, phase, permit: 'p', machines }],
  blocked: [],
  lastGood: [],
})
const LEAVING: Claim['slices'][number] = {
  component: 'beacon',
  step: 0,
  number: 0,
  phase: 'Switching',
  permit: 'p',
  machines: ['m-1'],
}
const definition = (disruption: string, drainOn = 'Minor'): MachineComponent =>
  ({
    ...machineComponent.example,
    spec: { ...machineComponent.example.spec, component: 'beacon', version: '1.1.0', disruption, drainOn },
  }) as unknown as MachineComponent

const ready: OrderInput = {
  machine: 'm-1',
  machineUid: UID,
  components: [order],
  reports: [report('Staged')],
  claims: [claim('AwaitingPermit')],
  marks: [],
  permits: [permit('Granted')],
  definitions: [definition('Restart')],
  isDrained: undefined,
}

const kindOf = ({ components, given, draining }: Orders): string => {
  if (given.length > 0) return 'given'
  if (draining.length > 0) return 'draining'
  return components[0]?.switch === undefined ? 'none' : 'stands'
}

describe('the order to switch', () => {
  test('names the attempt and the permit', () => {
    expect(planOrders(ready)).toEqual({
      components: [ordered],
      given: [{ order, permit: 'p', needsDrain: false }],
      draining: [],
    })
  })

  test('is given for the second slice of a machine whose first one is inspected', () => {
    const [second] = claim('Switching').slices
    const slices = [
      { ...second, phase: 'Inspecting', permit: 'p-0', startedAt: '2026-01-05T00:00:00Z' },
      { ...second, number: 1, startedAt: '2026-01-05T00:01:00Z' },
    ] as Claim['slices']
    const prepared = { ...order, slice: '2026-01-05T00:00:00Z' }
    const input = { ...ready, components: [prepared], claims: [{ ...claim('Switching'), slices }] }
    const of = { slice: '2026-01-05T00:01:00Z', switch: { attempt: 2, permit: 'p' } }
    expect(planOrders(input).components).toEqual([{ ...order, ...of }])
  })

  test.each<[string, Partial<OrderInput>, string]>([
    ['is given for a slice that switches', { claims: [claim('Switching')] }, 'given'],
    ['is not given before the slice asks', { claims: [claim('Planned')] }, 'none'],
    ['is not given after the slice switched', { claims: [claim('Soaking')] }, 'none'],
    ['is not given for a slice of other machines', { claims: [claim('Switching', ['m-2'])] }, 'none'],
    ['is not given for an undecided permit', { permits: [permit('Requested', 'Waiting')] }, 'none'],
    ['is not given for a target that waits in a granted permit', { permits: [permit('Granted', 'Waiting')] }, 'none'],
    ['is not given for a permit that ran out', { permits: [permit('Expired')] }, 'none'],
    [
      'is not given for a permit that is used up',
      { permits: [permit('Granted', 'Granted', { results: { [UID]: 'Succeeded' } })] },
      'none',
    ],
    [
      'is not given for a permit of another operation',
      { permits: [permit('Granted', 'Granted', { operations: ['RestartComponent', 'Drain'] })] },
      'none',
    ],
    [
      'is not given for a permit of another component',
      { permits: [permit('Granted', 'Granted', { component: { name: 'scribe' } })] },
      'none',
    ],
    [
      'is not given for a permit of another version',
      { permits: [permit('Granted', 'Granted', { component: { name: 'beacon', version: '1.0.9' } })] },
      'none',
    ],
    [
      'is not given for a permit of another configuration',
      { permits: [permit('Granted', 'Granted', { component: { name: 'beacon', version: '1.1.0', config: 'b' } })] },
      'none',
    ],
    [
      'is not given for a permit that removes the component',
      { permits: [permit('Granted', 'Granted', { component: { name: 'beacon' } })] },
      'none',
    ],
    ['is not given without the permit', { permits: [] }, 'none'],
    ['is not given for what is still being fetched', { reports: [report('Fetching')] }, 'none'],
    ['is not given for a report of another attempt', { reports: [report('Staged', { attempt: 1 })] }, 'none'],
    ['is not given for a report of another version', { reports: [report('Staged', { desired: '1.0.9' })] }, 'none'],
    [
      'waits for the drain that the component asks for',
      { definitions: [definition('Drain')], isDrained: false },
      'draining',
    ],
    ['waits for a drain while the pods are not known', { definitions: [definition('Reboot')] }, 'draining'],
    ['waits for a drain when the component is not known', { definitions: [] }, 'draining'],
    ['is given once the node is drained', { definitions: [definition('Drain')], isDrained: true }, 'given'],
    [
      'needs no drain for a patch',
      { definitions: [definition('Drain')], reports: [report('Staged', { version: '1.1.7' })] },
      'given',
    ],
    [
      'needs a drain for a patch where it always does',
      { definitions: [definition('Drain', 'Always')], reports: [report('Staged', { version: '1.1.7' })] },
      'draining',
    ],
    ['stands while the agent is at it', { components: [ordered], reports: [report('Probing')] }, 'stands'],
    ['stands while the agent has not seen it', { components: [ordered] }, 'stands'],
    [
      'is cleared when the agent is done',
      { components: [ordered], reports: [report('Healthy', { version: '1.1.0' })] },
      'none',
    ],
    ['is cleared when the agent went back', { components: [ordered], reports: [report('RolledBack')] }, 'none'],
    [
      'is not cleared by a report of an earlier attempt',
      { components: [ordered], reports: [report('Healthy', { attempt: 1 })] },
      'stands',
    ],
    ['is withdrawn with its permit', { components: [ordered], permits: [permit('Revoked')] }, 'none'],
    ['goes with a new target', { components: [{ ...ordered, attempt: 3 }] }, 'none'],
  ])('%s', (_, change, kind) => {
    expect(kindOf(planOrders({ ...ready, ...change }))).toBe(kind)
  })

  test.each<[string, Partial<Claim>, string]>([
    ['removes a component that its set dropped', {}, 'given'],
    ['removes none that its set declares again', { components: [{ name: 'beacon', version: '1.1.0' }] }, 'none'],
    [
      'removes one that the last good revision lacks, on the way back to it',
      {
        components: [{ name: 'beacon', version: '1.1.0' }],
        slices: [{ ...LEAVING, recovery: 'Rollback' }],
      },
      'given',
    ],
  ])('of a slice without a version %s', (_, change, kind) => {
    const leaving: Claim = {
      ...claim('Switching'),
      components: [],
      slices: [LEAVING],
      ...change,
    }
    const planned = planOrders({
      ...ready,
      reports: [report('Healthy', { version: '1.1.0' })],
      claims: [leaving],
      permits: [permit('Granted', 'Granted', { component: { name: 'beacon' } })],
    })
    expect(planned.given.length > 0 ? 'given' : 'none').toBe(kind)
  })

  test('names the part that its permit is for, also where an earlier slice prepared the version', () => {
    const requester = { manager: 'x', kind: 'MachineComponentSet', name: 'base', part: 'step 2 slice 1' }
    const prepared = { ...order, part: 'set/base step 1 slice 1' }
    const { components } = planOrders({
      ...ready,
      components: [prepared],
      permits: [permit('Granted', 'Granted', { requester })],
    })
    expect(components).toEqual([{ ...ordered, part: 'set/base step 2 slice 1' }])
  })

  test('is the attempt of the slice that switches it, so that this slice does not try a failed version again', () => {
    const later = claim('Switching')
    const slices = later.slices.map((s) => ({ ...s, startedAt: '2026-01-05T00:10:00Z' }))
    const prepared = { ...order, slice: '2026-01-05T00:00:00Z' }
    const { components } = planOrders({ ...ready, components: [prepared], claims: [{ ...later, slices }] })
    expect(components).toEqual([{ ...ordered, slice: '2026-01-05T00:10:00Z' }])
  })

  test('keeps the part that the version was prepared for under a permit of an earlier program, and after it is cleared', () => {
    const prepared = { ...order, part: 'set/base step 1 slice 1' }
    const { components } = planOrders({ ...ready, components: [prepared] })
    expect(components).toEqual([{ ...prepared, switch: ordered.switch }])
    const done = planOrders({ ...ready, components, reports: [report('Healthy', { version: '1.1.0' })] })
    expect(done.components).toEqual([prepared])
  })

  test('of a canary goes by a permit of the canary', () => {
    const marked: ComponentOrder = { name: 'beacon', version: '1.1.0', attempt: 2, canaryRef: 'try' }
    const marks = [{ canary: 'try', components: [], permits: ['p'] }]
    expect(kindOf(planOrders({ ...ready, components: [marked], claims: [], marks }))).toBe('given')
    expect(kindOf(planOrders({ ...ready, components: [marked], claims: [claim('Switching')], marks: [] }))).toBe('none')
  })
})

describe('an order whose permit ended', () => {
  const after = (ms: number, state: ComponentStatus['state']) =>
    planOrders({
      ...ready,
      components: [ordered],
      permits: [permit('Expired')],
      reports: [report(state)],
      endedFor: new Map([['p', ms]]),
    })

  test('stands until an agent that started under it would have reported so', () => {
    const early = after(1_000, 'Staged')
    expect([kindOf(early), early.withdrawInMs]).toEqual(['stands', START_REPORTED_WITHIN_MS - 1_000])
    const late = after(START_REPORTED_WITHIN_MS, 'Staged')
    expect([kindOf(late), late.withdrawInMs]).toEqual(['none', undefined])
  })

  test('is withdrawn at once when the report shows the start', () => {
    expect(kindOf(after(0, 'Probing'))).toBe('none')
  })
})

describe('what is written', () => {
  test.each<[string, ComponentOrder, ComponentStatus, boolean]>([
    ['is nothing when only the order is over', ordered, report('Healthy'), false],
    ['is nothing when it failed', ordered, report('RolledBack'), false],
    ['is the order that goes while its attempt is not reported', ordered, report('Healthy', { attempt: 1 }), true],
    ['is the order that goes when the agent staged again', ordered, report('Staged'), true],
    ['is the order of a workload that is over', { ...ordered, workload: true }, report('Healthy'), true],
    ['is an order of an earlier attempt', { ...ordered, switch: { attempt: 1, permit: 'p' } }, report('Healthy'), true],
  ])('%s', (_, current, reported, isWritten) => {
    const { switch: _switch, ...planned } = current
    expect(changedComponents([current], [planned], [reported])).toEqual(isWritten ? [planned] : undefined)
  })

  test('takes an order that is over along with the next change', () => {
    const next = { ...order, version: '1.2.0', attempt: 3 }
    expect(changedComponents([ordered], [next], [report('Healthy')])).toEqual([next])
  })
})

describe('two components that reboot the machine', () => {
  const mate = { component: 'driver', version: '2.1.0', step: 1, number: 0, permit: 'q', machines: ['m-1'] } as const
  const driverOrder: ComponentOrder = { name: 'driver', version: '2.1.0', attempt: 3, setRef: 'base' }
  const driverReport = (state: ComponentStatus['state']) =>
    report(state, { name: 'driver', version: '2.0.0', desired: '2.1.0', attempt: 3 })
  const driver = definition('Reboot')
  const driverPermit = (phase: string, verdict = 'Granted') => {
    const granted = permit(phase, verdict, { component: { name: 'driver', version: '2.1.0' } })
    return { ...granted, metadata: { name: 'q' } }
  }
  const alone = claim('Switching')
  const joint: Claim = {
    ...alone,
    components: [...alone.components, { name: 'driver', version: '2.1.0' }],
    slices: [...alone.slices, { ...mate, phase: 'Switching' }],
  }
  const both = (state: ComponentStatus['state'], more: Partial<OrderInput> = {}): OrderInput => {
    return {
      ...ready,
      components: [order, driverOrder],
      reports: [report('Staged'), driverReport(state)],
      claims: [joint],
      permits: [permit('Granted'), driverPermit('Granted')],
      definitions: [
        definition('Reboot'),
        { ...driver, spec: { ...driver.spec, component: 'driver', version: '2.1.0' } },
      ],
      isDrained: true,
      ...more,
    }
  }
  const names = (input: OrderInput) => planOrders(input).given.map((g) => g.order.name)

  test.each<[string, OrderInput, readonly string[]]>([
    ['get both orders at once', both('Staged'), ['beacon', 'driver']],
    ['wait while the other is being fetched', both('Fetching'), []],
    [
      'wait while the permit of the other waits',
      both('Staged', { permits: [permit('Granted'), driverPermit('Requested', 'Waiting')] }),
      [],
    ],
    ['do not wait for one that is healthy already', both('Healthy'), ['beacon']],
    ['do not wait for one that failed', both('RolledBack'), ['beacon']],
    [
      'do not wait for one that its slice has let go',
      both('Fetching', { claims: [{ ...joint, slices: alone.slices }] }),
      ['beacon'],
    ],
    ['do not wait for one that restarts only', both('Fetching', { definitions: [definition('Reboot')] }), ['beacon']],
  ])('%s', (_, input, given) => {
    expect(names(input)).toEqual(given)
  })
})
