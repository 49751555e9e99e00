import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { ComponentAction, ComponentPlan } from './actions.ts'
import { planComponent } from './plan.ts'
import type { ComponentSeen } from './seen.ts'
import type { TestOrder } from '#test/doubles/node/fake-node.ts'
import type { ComponentRecord, Slot } from './record.ts'
import { defined } from '#lib/defined.ts'

const slot = (version: string, letter: string): Slot => ({
  id: `${letter.repeat(16)}-0`,
  digest: letter.repeat(64),
  version,
})
const one = slot('1.0.0', 'a')
const two = slot('1.1.0', 'b')

const record = (more: Partial<ComponentRecord> = {}): ComponentRecord => ({
  format: 1,
  component: 'beacon',
  state: 'Healthy',
  since: 0,
  target: { version: '1.0.0', attempt: 1 },
  current: one,
  pins: [],
  ...more,
})

const staged = record({ state: 'Staged', target: { version: '1.1.0', attempt: 2 }, staged: two })
const opened = (phase: 'Switching' | 'Probing' | 'GoingBack') =>
  record({
    state: phase === 'Switching' ? 'Switching' : 'Probing',
    target: { version: '1.1.0', attempt: 2 },
    staged: two,
    current: two,
    open: { to: two, from: one, phase },
  })
const kill = { how: 'ended by SIGKILL', isEvidence: false }
const crash = { how: 'exited with code 1', isEvidence: true }
const secondStart = (isStarted: boolean) =>
  record({ ...opened('Probing'), open: { to: two, from: one, phase: 'Probing', secondStart: { how: '', isStarted } } })
const { current: _, ...never } = record({ state: 'Staged', staged: one })
const firstInstall: ComponentRecord = never

/** Undefined: the Machine does not list it. */
interface SeenCase extends Partial<Omit<ComponentSeen, 'order'>> {
  readonly order?: TestOrder | 'Unread' | undefined
}

const orderOf = (order: SeenCase['order']): ComponentSeen['order'] =>
  order === undefined ? 'None' : order === 'Unread' ? order : { name: 'beacon', ...order }

const FIRST: TestOrder = { version: '1.0.0', attempt: 1 }

const seen = (more: SeenCase): ComponentSeen => ({
  record: record(),
  process: 'Running',
  brakeMs: 0,
  probes: { verdict: 'Passing', isSettled: true },
  permit: undefined,
  isNodePending: undefined,
  missingRequirement: undefined,
  stageBackoffMs: 0,
  staging: undefined,
  asked: undefined,
  ...more,
  order: orderOf('order' in more ? more.order : FIRST),
})

const newVersion = { version: '1.1.0', attempt: 2 }
const ordered = { ...newVersion, switch: { attempt: 2, permit: 'p' } }
const granted = { kind: 'Granted', permit: 'p' } as const

const onFrozen = { isNodeFrozen: true }
const HELD = 'the node is frozen by a file on the node; remove it with kubenode thaw --node-folder'

const said = ({ action, waiting, requeueAfterMs }: ComponentPlan): string => {
  if (action !== undefined) return action.kind
  return `${waiting}${requeueAfterMs === undefined ? '' : `, ${requeueAfterMs} ms`}`
}

const CASES: readonly [what: string, seen: SeenCase, says: string][] = [
  ['all is as declared', {}, 'up to date'],
  ['waiting to read the Machine', { order: 'Unread', record: undefined }, 'waiting to read the Machine'],
  ['waiting to read the Machine, and what is installed crashed', { order: 'Unread', process: 'Crashed' }, 'Start'],
  ['a new component', { record: undefined }, 'Stage'],
  ['a new version', { order: newVersion }, 'Stage'],
  ['a new configuration', { order: { version: '1.0.0', config: 'c', attempt: 1 } }, 'Stage'],
  ['a new attempt', { order: { version: '1.0.0', attempt: 2 } }, 'Stage'],
  ['a new version that is being fetched', { order: newVersion, staging: newVersion }, 'waiting for the artifact'],
  [
    'a new version while another one is being fetched',
    { order: newVersion, staging: { version: '9', attempt: 2 } },
    'Stage',
  ],
  [
    'a new version that could not be fetched a moment ago',
    { order: newVersion, stageBackoffMs: 500 },
    'fetching the artifact failed; retrying, 500 ms',
  ],
  ['fetching was cut off', { record: record({ state: 'Fetching' }) }, 'Stage'],
  ['staged without an order', { record: staged, order: newVersion }, 'waiting for the order to switch'],
  [
    'staged with an order of another attempt',
    { record: staged, order: { ...newVersion, switch: { attempt: 1, permit: 'p' } } },
    'waiting for the order to switch',
  ],
  ['staged and ordered', { record: staged, order: ordered }, 'ReadPermit'],
  [
    'ordered, the reading is of another permit',
    { record: staged, order: ordered, permit: { kind: 'Granted', permit: 'q' } },
    'ReadPermit',
  ],
  [
    'ordered, not granted',
    { record: staged, order: ordered, permit: { kind: 'NotGranted', permit: 'p', why: 'it is Requested' } },
    'permit p: it is Requested, 5000 ms',
  ],
  [
    'ordered, the permit cannot be read',
    { record: staged, order: ordered, permit: { kind: 'Unknown', permit: 'p', why: 'away' } },
    'permit p: away, 5000 ms',
  ],
  ['ordered and granted', { record: staged, order: ordered, permit: granted }, 'Switch'],
  [
    'ordered and granted, a requirement is missing',
    {
      record: staged,
      order: ordered,
      permit: granted,
      missingRequirement: { because: 'RequirementUnmet', what: 'runc to be healthy' },
    },
    'runc to be healthy',
  ],
  ['staged is what is in use', { record: { ...staged, staged: one }, order: newVersion }, 'UseInPlace'],
  ['a first install, the node is not read', { record: firstInstall, process: 'NoService' }, 'ReadNode'],
  [
    'a first install on a node that waits',
    { record: firstInstall, process: 'NoService', isNodePending: true },
    'Switch',
  ],
  [
    'a first install on a node that takes pods',
    { record: firstInstall, process: 'NoService', isNodePending: false },
    'waiting for the order to switch: the node already takes pods, 5000 ms',
  ],
  ['a switch that was cut off', { record: opened('Switching'), order: ordered }, 'ContinueSwitch'],
  ['going back was cut off', { record: opened('GoingBack'), order: ordered }, 'RollBack'],
  [
    'probing, no answer yet',
    { record: opened('Probing'), order: ordered, probes: { verdict: 'Unknown', isSettled: false } },
    'waiting for the probes',
  ],
  [
    'probing, passing but not for long',
    { record: opened('Probing'), order: ordered, probes: { verdict: 'Passing', isSettled: false } },
    'waiting for the settle window to end',
  ],
  ['probing, settled', { record: opened('Probing'), order: ordered }, 'Commit'],
  [
    'probing, failing',
    { record: opened('Probing'), order: ordered, probes: { verdict: 'Failing', isSettled: false } },
    'RollBack',
  ],
  ['probing, crashed', { record: opened('Probing'), order: ordered, process: 'Crashed' }, 'RollBack'],
  ['probing, frozen', { record: opened('Probing'), order: ordered, process: 'Frozen' }, 'RollBack'],
  [
    'probing, crashed by itself',
    { record: opened('Probing'), order: ordered, process: 'Crashed', end: crash },
    'RollBack',
  ],
  ['probing, killed', { record: opened('Probing'), order: ordered, process: 'Crashed', end: kill }, 'StartAgain'],
  [
    'probing, stopped by a signal',
    { record: opened('Probing'), order: ordered, process: 'Frozen', end: kill },
    'StartAgain',
  ],
  [
    'probing, ended in order, and its probes fail',
    {
      record: opened('Probing'),
      order: ordered,
      process: 'Ended',
      end: kill,
      probes: { verdict: 'Failing', isSettled: false },
    },
    'StartAgain',
  ],
  [
    'probing, killed a second time',
    { record: secondStart(true), order: ordered, process: 'Crashed', end: kill },
    'RollBack',
  ],
  [
    'probing, and the agent ended before it was started again',
    { record: secondStart(false), order: ordered, process: 'Crashed', end: kill },
    'StartAgain',
  ],
  ['probing after the power went', { record: opened('Probing'), order: ordered, process: 'Stopped' }, 'ContinueSwitch'],
  ['probing, and the order is gone', { record: opened('Probing'), order: undefined }, 'Commit'],
  [
    'rolled back',
    { record: record({ state: 'RolledBack', target: newVersion }), order: newVersion },
    'waiting for another version, configuration or attempt',
  ],
  [
    'told again what failed in this attempt',
    { record: record({ pins: [{ digest: two.digest, version: '1.1.0', attempt: 2 }] }), order: newVersion },
    '1.1.0 failed here in attempt 2',
  ],
  [
    'told what failed as another attempt',
    {
      record: record({ pins: [{ digest: two.digest, version: '1.1.0', attempt: 2 }] }),
      order: { ...newVersion, attempt: 3 },
    },
    'Stage',
  ],
  ['a probe fails', { probes: { verdict: 'Failing', isSettled: false, message: 'no' } }, 'Degrade'],
  ['degraded, passing again', { record: record({ state: 'Degraded' }) }, 'Recover'],
  [
    'degraded, still failing',
    { record: record({ state: 'Degraded' }), probes: { verdict: 'Failing', isSettled: false } },
    'waiting for every probe to pass',
  ],
  ['crashed', { process: 'Crashed' }, 'Start'],
  ['crashed a moment ago', { process: 'Crashed', brakeMs: 700 }, 'Degrade'],
  [
    'degraded by a crash a moment ago',
    { record: record({ state: 'Degraded' }), process: 'Crashed', brakeMs: 700 },
    'waiting for every probe to pass, 700 ms',
  ],
  ['cannot be started', { process: 'Stopped', startFailure: { problem: 'no user', backoffMs: 700 } }, 'Degrade'],
  [
    'degraded since cannot be started',
    { record: record({ state: 'Degraded' }), process: 'Stopped', startFailure: { problem: 'no user', backoffMs: 700 } },
    'waiting for every probe to pass, 700 ms',
  ],
  [
    'could not be started a while ago',
    { process: 'Stopped', startFailure: { problem: 'no user', backoffMs: 0 } },
    'Start',
  ],
  [
    'cannot be started, and a new version is ordered',
    { order: newVersion, process: 'Stopped', startFailure: { problem: 'no user', backoffMs: 700 } },
    'Stage',
  ],
  [
    'cannot be started, and a new version is ordered under a granted permit',
    {
      record: staged,
      order: ordered,
      permit: granted,
      process: 'Crashed',
      startFailure: { problem: 'x', backoffMs: 700 },
    },
    'Switch',
  ],
  ['crashed while a new version waits', { record: staged, order: newVersion, process: 'Crashed' }, 'Start'],
  ['crashed while a new version is ordered', { order: newVersion, process: 'Crashed' }, 'Start'],
  ['frozen and left to repairs', { process: 'Frozen', brakeMs: 60_000 }, 'Degrade'],
  ['frozen for too long', { process: 'Frozen' }, 'Restart'],
  ['not running after a boot', { process: 'Stopped' }, 'Start'],
  ['ended as it may', { process: 'Ended' }, 'up to date'],
  ['a repair asks for a restart', { asked: 'Restart' }, 'Restart'],
  ['a repair asks for a reinstall', { asked: 'Reinstall' }, 'Reinstall'],
  ['a repair asks while a switch is open', { asked: 'Restart', record: opened('Probing'), order: ordered }, 'Commit'],
  ['not named any more', { order: undefined }, 'Remove'],
  ['frozen node: ordered and granted', { record: staged, order: ordered, permit: granted, ...onFrozen }, HELD],
  ['frozen node: a first install', { record: firstInstall, isNodePending: true, ...onFrozen }, HELD],
  ['frozen node: a new version', { order: newVersion, ...onFrozen }, 'Stage'],
  [
    'frozen node: a switch that was cut off',
    { record: opened('Switching'), order: ordered, ...onFrozen },
    'ContinueSwitch',
  ],
  ['frozen node: probing, settled', { record: opened('Probing'), order: ordered, ...onFrozen }, 'Commit'],
  ['frozen node: probing, crashed', { record: opened('Probing'), process: 'Crashed', ...onFrozen }, 'RollBack'],
  ['frozen node: crashed', { process: 'Crashed', ...onFrozen }, 'Start'],
  ['frozen node: a process that a user stopped', { process: 'Frozen', ...onFrozen }, 'Degrade'],
  ['frozen node: a repair asks for a restart', { asked: 'Restart', ...onFrozen }, 'up to date'],
  ['frozen node: not named any more', { order: undefined, ...onFrozen }, HELD],
]

test.each(CASES)('%s', (_what, more, says) => {
  expect(said(planComponent(seen(more)))).toBe(says)
})

const DISRUPTS: ReadonlySet<ComponentAction['kind']> = new Set(['Switch', 'Restart', 'Reinstall', 'Remove'])

describe('whatever is seen', () => {
  const anySlot = fc.constantFrom(undefined, one, two)
  const anySeen: fc.Arbitrary<ComponentSeen> = fc
    .record({
      order: fc
        .constantFrom('Unread' as const, undefined, newVersion, ordered, { version: '1.0.0', attempt: 1 })
        .map(orderOf),
      state: fc.constantFrom(
        'Fetching',
        'Staged',
        'Switching',
        'Probing',
        'Healthy',
        'Degraded',
        'RolledBack',
        'Failed',
      ),
      target: fc.constantFrom(newVersion, { version: '1.0.0', attempt: 1 }),
      current: anySlot,
      stagedSlot: anySlot,
      phase: fc.constantFrom(undefined, 'Switching', 'Probing', 'GoingBack'),
      hasRecord: fc.boolean(),
      process: fc.constantFrom('NoService', 'Running', 'Stopped', 'Ended', 'Crashed', 'Frozen'),
      brakeMs: fc.constantFrom(0, 1_000),
      verdict: fc.constantFrom('Passing', 'Failing', 'Unknown'),
      isSettled: fc.boolean(),
      permit: fc.constantFrom(
        undefined,
        granted,
        { kind: 'Unknown', permit: 'p', why: '' } as const,
        { kind: 'NotGranted', permit: 'p', why: '' } as const,
      ),
      isNodePending: fc.constantFrom(undefined, true, false),
      missingRequirement: fc.constantFrom(undefined, { because: 'RequirementUnmet' as const, what: 'x' }),
      staging: fc.constantFrom(undefined, newVersion),
      asked: fc.constantFrom(undefined, 'Restart', 'Reinstall'),
    } as const)
    .map(({ state, target, current, stagedSlot, phase, hasRecord, verdict, isSettled, ...rest }) => ({
      ...rest,
      stageBackoffMs: 0,
      probes: { verdict, isSettled },
      record: hasRecord
        ? record({
            state,
            target,
            ...defined({ current, staged: stagedSlot }),
            ...(phase === undefined ? {} : { open: { to: two, phase, ...defined({ from: current }) } }),
          })
        : undefined,
    }))

  test('no version is replaced without an order and a permit that was read as Granted in this pass', () => {
    fc.assert(
      fc.property(anySeen, (s) => {
        const { action } = planComponent(s)
        if (action?.kind !== 'Switch') return
        if (s.permit?.kind === 'Granted')
          expect(typeof s.order === 'string' ? s.order : s.order.switch).toEqual({
            permit: s.permit.permit,
            attempt: s.record?.target.attempt,
          })
        else expect([s.record?.current, s.isNodePending]).toEqual([undefined, true])
      }),
      { numRuns: 3_000 },
    )
  })

  test('a frozen node begins no disruption; what is open goes on as on any other', () => {
    fc.assert(
      fc.property(anySeen, (s) => {
        const plan = planComponent({ ...s, isNodeFrozen: true })
        if (s.record?.open === undefined) expect(DISRUPTS.has(plan.action?.kind ?? 'Start')).toBe(false)
        else expect(plan).toEqual(planComponent(s))
      }),
      { numRuns: 1_000 },
    )
  })

  test('without any reading nothing that runs is disrupted', () => {
    fc.assert(
      fc.property(anySeen, (s) => {
        const blind: ComponentSeen = {
          ...s,
          order: 'Unread',
          permit: undefined,
          isNodePending: undefined,
          process: 'Running',
          probes: { verdict: 'Unknown', isSettled: false },
          asked: undefined,
        }
        const { action } = planComponent(blind)
        // An operation that started under a permit is finished or reverted; nothing else is touched.
        if (blind.record?.open === undefined) expect(DISRUPTS.has(action?.kind ?? 'Start')).toBe(false)
      }),
      { numRuns: 1_000 },
    )
  })
})
