import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { LedgerSpec } from '#api/kinds/defender-ledger.ts'
import type { MaintenanceEvent } from '#api/kinds/maintenance-event.ts'
import type { OperationPermit } from '#api/kinds/operation-permit.ts'
import { API_GROUP_VERSION } from '#api/kind.ts'
import { CLUSTER_LEAVES } from '#api/names.ts'
import {
  START_MS,
  type SnapshotWish,
  aHold,
  aMachine,
  aPermit,
  aPolicy,
  aSnapshot,
  condition,
  machines,
  uidOf,
} from '#test/support/fleets/defender-objects.ts'
import { approvalDigest } from '#permits/approval-digest.ts'
import { builtinPolicy } from './compile-policy.ts'
import { seriesName } from './rates.ts'
import { PermitWatch } from './permit-watch.ts'
import { type Decision, decide } from './plan.ts'
import { permitStatus } from './status.ts'
import { defined } from '#lib/defined.ts'

const NOW = { now: START_MS, leader: 'a' }

/** `permit/target` → gate, or `Granted`. */
const outcome = ({ permits }: Decision): Record<string, string> =>
  Object.fromEntries(
    permits.flatMap(({ permit, targets }) =>
      targets.map(({ target, verdict }) => [
        `${permit.metadata.name}/${target.slice(4)}`,
        verdict.verdict === 'Granted' ? 'Granted' : `${verdict.verdict} ${verdict.gate} ${verdict.reason}`,
      ]),
    ),
  )
const phases = ({ permits }: Decision): readonly string[] => permits.map((p) => p.phase)
const ask = (wish: SnapshotWish, ledger?: LedgerSpec, now = START_MS): Decision =>
  decide(aSnapshot(wish), ledger, { ...NOW, now })
const one = (spec: Partial<Parameters<typeof aPermit>[0]> = {}) => aPermit({ name: 'a', targets: ['m-0'], ...spec })

/** What the next decision would read, once the permits were written. */
const told = ({ permits }: Decision, now = START_MS): readonly OperationPermit[] =>
  permits.map((p) => ({ ...p.permit, status: permitStatus(p, [], { now, expiresAt: undefined }) }))

const policy = (spec: Parameters<typeof aPolicy>[0]) => ({ policies: [aPolicy(spec)] })

/** A rule about the pool of a target; the machines of these tests are in none. */
const SPENT: Parameters<typeof aPolicy>[0] = {
  rules: [
    {
      name: 'spent',
      when: { all: [{ fact: 'pool', path: '/budgetLeft', operator: 'lessThanInclusive', value: 0 }] },
      effect: 'Wait',
      reason: 'ErrorBudgetSpent',
    },
  ],
}
const verdictOfPool = (verdict: 'true' | 'false') =>
  new Map([['none', new Map([[aPolicy(SPENT).name, new Map([['spent', verdict]])]])]])

/** The hold that the cluster controller keeps in a cluster that it deletes. */
function leaves({ name = CLUSTER_LEAVES, until }: { readonly name?: string; readonly until?: string } = {}) {
  const hold = aHold('Unprotect', { kind: 'Cluster', selector: {} }, until)
  return { ...hold, metadata: { ...hold.metadata, name } }
}

/** A drain of the last machine above the floor. */
const undercut = (isDeleted: boolean) => ({
  permits: [one({ operations: ['Drain'] })],
  machines: [aMachine({ name: 'm-0', ...(isDeleted && { deletionTimestamp: '2026-01-04T23:59:00Z' }) })],
  ...policy({ healthFloor: 1 }),
})

/** A machine that its set creates to replace another. */
function replacement() {
  const made = aMachine({ name: 'x', phase: 'Provisioning', ready: 'False' })
  const owner = { apiVersion: API_GROUP_VERSION, kind: 'MachineSet', name: 'workers', uid: 'w', controller: true }
  return { ...made, metadata: { ...made.metadata, ownerReferences: [owner] } }
}

/** A set's permit request for a way back. */
const backTo = (version: string) => ({
  operations: ['SwitchComponent' as const],
  requester: { manager: 'kubenode-componentset', kind: 'MachineComponentSet', name: 'base' },
  component: { name: 'beacon', version },
  recovery: true,
})

/** The host doctor requests the drain of a machine with such an event. */
const reclaimed = (kind: 'Reclaim' | 'Reboot'): SnapshotWish => ({
  permits: [
    one({
      operations: ['Drain'],
      requester: { manager: 'kubenode-hostdoctor', kind: 'MaintenanceEvent', name: 'e-1' },
    }),
  ],
  maintenance: [
    {
      metadata: { name: 'e-1' },
      spec: {
        machine: 'm-0',
        source: 'Metadata',
        eventId: 'e',
        kind,
        state: 'Scheduled',
        unplanned: false,
        dataLoss: false,
      },
      status: { phase: 'Preparing' },
    } as unknown as MaintenanceEvent,
  ],
})

const NARROW = { budgets: [{ max: 1, of: 'concurrent', per: 'cluster' }] } as const

const READY = [condition('Ready', 'True'), condition('AgentReachable', 'True')]

/** Twelve machines in three racks. */
function silence(
  {
    cutOff,
    agentSilent = [],
    host = 'True',
    phase = 'Ready',
    rackOf = (i) => `r-${Math.floor(i / 4)}`,
  }: {
    readonly cutOff: readonly string[]
    readonly agentSilent?: readonly string[]
    readonly host?: 'True' | 'Unknown'
    readonly phase?: 'Ready' | 'Lost'
    readonly rackOf?: (i: number) => string | undefined
  },
  spec: Partial<Parameters<typeof aPermit>[0]> = {},
): SnapshotWish {
  const fleet = Array.from({ length: 12 }, (_, i) => {
    const name = `m-${i}`
    const isSilent = cutOff.includes(name) || agentSilent.includes(name)
    const rack = rackOf(i)
    const made = aMachine({
      name,
      zone: `z-${i % 3}`,
      ...defined({ rack }),
      ...(isSilent && { reachable: 'False', ready: 'False', phase }),
    })
    const conditions = [...(made.status?.conditions ?? []), condition('InfrastructureReady', host)]
    return { ...made, status: { ...made.status, conditions, nodeRef: { name, uid: `node-${name}` } } }
  })
  const nodes = fleet.map(({ metadata: { name = '' } }) => ({
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name, uid: `node-${name}` },
    status: { conditions: [condition('Ready', cutOff.includes(name) ? 'Unknown' : 'True')] },
  }))
  const requester = { manager: 'kubenode-remedyjob', kind: 'RemedyOperationJob', name: 'j' } as const
  return { permits: [one({ requester, ...spec })], machines: fleet, nodes }
}

/** Ten machines. The Node of the first reports no Ready condition, as someone with its agent's stolen key can cause. */
function hidden(
  { forMs, reachable = 'True' }: { readonly forMs: number | undefined; readonly reachable?: 'True' | 'False' },
  spec: Partial<Parameters<typeof aPermit>[0]> = {},
): SnapshotWish {
  const deletionTimestamp = forMs === undefined ? undefined : new Date(START_MS - forMs).toISOString()
  const first = aMachine({ name: 'm-0', reachable, ready: 'False', ...(deletionTimestamp && { deletionTimestamp }) })
  const nodeRef = { name: 'm-0', uid: 'node-m-0' }
  return {
    permits: [one({ operations: ['ScaleIn'], ...spec })],
    machines: [{ ...first, status: { ...first.status, nodeRef } }, ...machines(10).slice(1)],
    nodes: [{ apiVersion: 'v1', kind: 'Node', metadata: nodeRef, status: { conditions: [] } }],
  }
}

interface Case {
  readonly name: string
  readonly wish: SnapshotWish
  readonly says: string
}

const CASES: readonly Case[] = [
  { name: 'without a policy one of ten is granted', wish: { permits: [one()] }, says: 'Granted' },
  {
    name: 'an unknown target waits',
    wish: { permits: [one({ targets: ['m-99'] })] },
    says: 'Waiting Target UnknownTarget',
  },
  {
    name: 'a target that is gone for certain is refused',
    wish: { permits: [one({ targets: ['m-99'] })], deletedTargets: new Set([uidOf('m-99')]) },
    says: 'Denied Target UnknownTarget',
  },
  {
    name: 'caches that must not be believed let nothing pass',
    wish: { permits: [one()], unknown: 'the cache of machines is not complete' },
    says: 'Waiting Target SafetyReadingUnknown',
  },
  {
    name: 'a machine whose agent is silent is not known to be healthy',
    wish: { permits: [one()], machines: [aMachine({ name: 'm-0', reachable: 'False' }), aMachine({ name: 'm-1' })] },
    says: 'Waiting Target SafetyReadingUnknown',
  },
  {
    name: 'a repair of silence is granted for a machine that alone is cut off and that its provider knows',
    wish: silence({ cutOff: ['m-0'] }),
    says: 'Granted',
  },
  {
    name: 'what needs the agent is not granted while it is silent',
    wish: silence({ cutOff: ['m-0'] }, { operations: ['Reboot', 'RestartComponent'] }),
    says: 'Waiting Target SafetyReadingUnknown',
  },
  {
    name: 'only a repair may disrupt what is silent',
    wish: silence(
      { cutOff: ['m-0'] },
      { requester: { manager: 'kubenode-machineset', kind: 'MachineSet', name: 's' } },
    ),
    says: 'Waiting Target SafetyReadingUnknown',
  },
  {
    name: 'a machine whose kubelet is still heard of may serve',
    wish: silence({ cutOff: [], agentSilent: ['m-0'] }),
    says: 'Waiting Target SafetyReadingUnknown',
  },
  {
    name: 'a machine that its provider cannot speak of is not touched',
    wish: silence({ cutOff: ['m-0'], host: 'Unknown' }),
    says: 'Waiting Target SafetyReadingUnknown',
  },
  {
    name: 'F20 a rack that is silent together is a network, also for the repair of silence',
    wish: silence({ cutOff: ['m-0', 'm-1', 'm-2'] }),
    says: 'Waiting Target SafetyReadingUnknown',
  },
  {
    name: 'F20 so are those that name no rack: they may be in one',
    wish: silence({ cutOff: ['m-0', 'm-1', 'm-2'], rackOf: (i) => (i < 4 ? undefined : 'r-1') }),
    says: 'Waiting Target SafetyReadingUnknown',
  },
  {
    name: 'F20 also when its machines are Lost by now',
    wish: silence({ cutOff: ['m-0', 'm-1', 'm-2'], phase: 'Lost' }),
    says: 'Waiting Target SafetyReadingUnknown',
  },
  {
    name: 'one alone that is Lost may be taken away',
    wish: silence({ cutOff: ['m-0'], phase: 'Lost' }, { operations: ['Replace', 'ScaleIn'] }),
    says: 'Granted',
  },
  {
    name: 'F20 so is a third of all, spread over the racks',
    wish: silence({ cutOff: ['m-0', 'm-4', 'm-8', 'm-1'] }),
    says: 'Waiting HealthFloor SafetyReadingUnknown',
  },
  {
    name: 'a deleted machine that reports no Ready condition is not removed within the hour',
    wish: hidden({ forMs: 3_599_000 }),
    says: 'Waiting Target SafetyReadingUnknown',
  },
  {
    name: 'a deleted machine that reports no Ready condition for an hour does not hold up its removal any longer',
    wish: hidden({ forMs: 3_600_000 }),
    says: 'Granted',
  },
  {
    name: 'nor does one whose agent is silent while its kubelet is heard',
    wish: hidden({ forMs: 3_600_000, reachable: 'False' }),
    says: 'Granted',
  },
  {
    name: 'such a removal takes from the floor, as that of a machine that serves',
    wish: { ...hidden({ forMs: 3_600_000 }), ...policy({ healthFloor: 10 }) },
    says: 'Waiting HealthFloor HealthFloor',
  },
  {
    name: 'nothing else is done to a deleted machine that reports no Ready condition',
    wish: hidden({ forMs: 3_600_000 }, { operations: ['Drain'] }),
    says: 'Waiting Target SafetyReadingUnknown',
  },
  {
    name: 'a machine that nobody deleted is not removed however long it reports no Ready condition',
    wish: hidden({ forMs: undefined }),
    says: 'Waiting Target SafetyReadingUnknown',
  },
  {
    name: 'caches that must not be believed hold up an overdue removal',
    wish: { ...hidden({ forMs: 3_600_000 }), unknown: 'the cache of machines is not complete' },
    says: 'Waiting Target SafetyReadingUnknown',
  },
  {
    name: 'a machine without a Ready condition is unknown, not free',
    wish: { permits: [one()], machines: [aMachine({ name: 'm-0', ready: 'Unknown' })] },
    says: 'Waiting Target SafetyReadingUnknown',
  },
  {
    name: 'a protected machine is refused',
    wish: { permits: [one()], ...policy({ protect: [{ name: 'm-0' }] }) },
    says: 'Denied Protect Protected',
  },
  {
    name: 'a hold lifts a protection',
    wish: {
      permits: [one()],
      ...policy({ protect: [{ name: 'm-0' }] }),
      holds: [aHold('Unprotect', { kind: 'Machine', name: 'm-0' })],
    },
    says: 'Granted',
  },
  {
    name: 'protection by labels reads the labels of the machine',
    wish: {
      permits: [one()],
      machines: [aMachine({ name: 'm-0', labels: { stateful: 'true' } })],
      ...policy({ protect: [{ selector: { matchLabels: { stateful: 'true' } } }] }),
    },
    says: 'Denied Protect Protected',
  },
  {
    name: 'a freeze of the cluster stops everything',
    wish: { permits: [one()], holds: [aHold('Freeze', { kind: 'Cluster', selector: {} })] },
    says: 'Waiting Hold HoldFreeze',
  },
  {
    name: 'a freeze of another cluster stops nothing here',
    wish: { permits: [one()], cluster: 'test', holds: [aHold('Freeze', { kind: 'Cluster', name: 'prod' })] },
    says: 'Granted',
  },
  {
    name: 'an expired hold binds no request',
    wish: { permits: [one()], holds: [aHold('Freeze', { kind: 'Cluster', selector: {} }, '2026-01-04T00:00:00Z')] },
    says: 'Granted',
  },
  {
    name: 'a pause of the set that asks holds its permits',
    wish: {
      permits: [one({ requester: { manager: 'kubenode-componentset', kind: 'MachineComponentSet', name: 'base' } })],
      holds: [aHold('Pause', { kind: 'MachineComponentSet', name: 'base' })],
    },
    says: 'Waiting Hold HoldPause',
  },
  {
    name: 'outside of every window nothing passes',
    wish: { permits: [one()], ...policy({ windows: [{ cron: '0 3 * * *', duration: '1h', timeZone: 'UTC' }] }) },
    says: 'Waiting Window OutsideWindow',
  },
  {
    name: 'outside of every window a host that is taken back is drained',
    wish: { ...reclaimed('Reclaim'), ...policy({ windows: [{ cron: '0 3 * * *', duration: '1h', timeZone: 'UTC' }] }) },
    says: 'Granted',
  },
  {
    name: 'outside of every window other work on a host waits',
    wish: { ...reclaimed('Reboot'), ...policy({ windows: [{ cron: '0 3 * * *', duration: '1h', timeZone: 'UTC' }] }) },
    says: 'Waiting Window OutsideWindow',
  },
  {
    name: 'outside of every window a permit that only says so waits',
    wish: {
      ...reclaimed('Reclaim'),
      maintenance: [],
      ...policy({ windows: [{ cron: '0 3 * * *', duration: '1h', timeZone: 'UTC' }] }),
    },
    says: 'Waiting Window OutsideWindow',
  },
  {
    name: 'a window that opened just now is open',
    wish: { permits: [one()], ...policy({ windows: [{ cron: '0 0 * * *', duration: '1h', timeZone: 'UTC' }] }) },
    says: 'Granted',
  },
  {
    name: 'a window of another time zone opens there',
    wish: {
      permits: [one()],
      ...policy({ windows: [{ cron: '0 1 * * *', duration: '1h', timeZone: 'Europe/Berlin' }] }),
    },
    says: 'Granted',
  },
  {
    name: 'a blackout that comes once forbids',
    wish: {
      permits: [one()],
      ...policy({ blackouts: [{ from: '2026-01-04T23:00:00Z', duration: '2h', timeZone: 'UTC' }] }),
    },
    says: 'Waiting Window BlackoutActive',
  },
  {
    name: 'a floor that would be undercut holds',
    wish: { permits: [one()], ...policy({ healthFloor: 10 }) },
    says: 'Waiting HealthFloor HealthFloor',
  },
  {
    name: 'a floor in percent leaves room for one where all are well',
    wish: { permits: [one()], machines: machines(3), ...policy({ healthFloor: '80%' }) },
    says: 'Granted',
  },
  {
    name: 'a floor in percent leaves room for the only machine',
    wish: { permits: [one()], machines: machines(1), ...policy({ healthFloor: '99%' }) },
    says: 'Granted',
  },
  {
    name: 'a floor of all leaves room for none',
    wish: { permits: [one()], machines: machines(3), ...policy({ healthFloor: '100%' }) },
    says: 'Waiting HealthFloor HealthFloor',
  },
  {
    name: 'a floor in percent leaves no room while another machine is down',
    wish: {
      permits: [one()],
      machines: [...machines(2), aMachine({ name: 'x', ready: 'False' })],
      ...policy({ healthFloor: '80%' }),
    },
    says: 'Waiting HealthFloor HealthFloor',
  },
  {
    name: 'a floor in percent leaves no room while the state of another machine is unknown',
    wish: {
      permits: [one()],
      machines: [...machines(2), aMachine({ name: 'x', ready: 'Unknown' })],
      ...policy({ healthFloor: '80%' }),
    },
    says: 'Waiting HealthFloor HealthFloor',
  },
  {
    name: 'a machine that was replaced is missing: the floor leaves no room until the new one serves',
    wish: { permits: [one()], machines: [...machines(2), replacement()], ...policy({ healthFloor: '80%' }) },
    says: 'Waiting HealthFloor HealthFloor',
  },
  {
    name: 'a host that was declared and never joined takes no room of a floor',
    wish: {
      permits: [one()],
      machines: [...machines(2), aMachine({ name: 'x', phase: 'Pending', ready: 'False' })],
      ...policy({ healthFloor: '80%' }),
    },
    says: 'Granted',
  },
  {
    name: 'what the machine serves through needs no room of a floor or a budget of unavailable ones',
    wish: {
      permits: [one({ operations: ['CleanDisk'] })],
      machines: machines(1),
      ...policy({ healthFloor: 1, budgets: [{ max: 0, of: 'unavailable', per: 'cluster' }] }),
    },
    says: 'Granted',
  },
  {
    name: 'one of its operations that may stop it is enough to need room',
    wish: {
      permits: [one({ operations: ['CleanDisk', 'RestartComponent'] })],
      machines: machines(1),
      ...policy({ healthFloor: 1 }),
    },
    says: 'Waiting HealthFloor HealthFloor',
  },
  {
    name: 'what the machine serves through is still one of those at work',
    wish: {
      permits: [one({ operations: ['NoDisruption'] })],
      ...policy({ budgets: [{ max: 0, of: 'concurrent', per: 'cluster' }] }),
    },
    says: 'Waiting Budget BudgetExhausted',
  },
  {
    name: 'no floor keeps a machine that leaves with its whole cluster',
    wish: { ...undercut(true), holds: [leaves()] },
    says: 'Granted',
  },
  {
    name: 'the floor keeps a machine that is not being deleted, also while the cluster leaves',
    wish: { ...undercut(false), holds: [leaves()] },
    says: 'Waiting HealthFloor HealthFloor',
  },
  {
    name: 'the floor keeps a machine that is being deleted from a cluster that stays',
    wish: undercut(true),
    says: 'Waiting HealthFloor HealthFloor',
  },
  {
    name: 'a hold of people that lifts protections lifts no floor',
    wish: { ...undercut(true), holds: [leaves({ name: 'night-work' })] },
    says: 'Waiting HealthFloor HealthFloor',
  },
  {
    name: 'a hold of a leaving cluster that ended lifts no floor',
    wish: { ...undercut(true), holds: [leaves({ until: '2026-01-04T00:00:00Z' })] },
    says: 'Waiting HealthFloor HealthFloor',
  },
  {
    name: 'below the floor, what is down already may be worked on',
    wish: { permits: [one()], machines: [aMachine({ name: 'm-0', ready: 'False' })], ...policy({ healthFloor: 10 }) },
    says: 'Granted',
  },
  {
    name: 'many silent at once are a network, and nothing is touched',
    wish: {
      permits: [one()],
      machines: [
        ...machines(7),
        ...['x', 'y', 'z'].map((name) => aMachine({ name, phase: 'Lost', reachable: 'False' })),
      ],
    },
    says: 'Waiting HealthFloor SafetyReadingUnknown',
  },
  {
    name: 'a budget that others have used up holds',
    wish: {
      permits: [one()],
      machines: [...machines(9), aMachine({ name: 'x', ready: 'False' })],
    },
    says: 'Waiting Budget BudgetExhausted',
  },
  {
    name: 'a budget of zero percent lets nothing through',
    wish: { permits: [one()], ...policy({ budgets: [{ max: '0%', of: 'unavailable', per: 'cluster' }] }) },
    says: 'Waiting Budget BudgetExhausted',
  },
  {
    name: 'a machine that is frozen by a file on it is left alone',
    wish: {
      permits: [one()],
      machines: [
        {
          ...aMachine({ name: 'm-0' }),
          status: { phase: 'Ready', conditions: [...READY, condition('Frozen', 'True')] },
        },
      ],
    },
    says: 'Waiting Hold HoldFreeze',
  },
  {
    name: 'an approval that is missing holds',
    wish: { permits: [one()], ...policy({ approvals: [{ risk: 'Medium', from: ['ada'], count: 1 }] }) },
    says: 'Waiting Approval ApprovalMissing',
  },
  {
    name: 'operations of a lower risk need no approval',
    wish: { permits: [one()], ...policy({ approvals: [{ risk: 'High', from: ['ada'], count: 1 }] }) },
    says: 'Granted',
  },
  {
    name: 'a rule that cannot be told holds',
    wish: {
      permits: [one()],
      ...policy({
        rules: [
          {
            name: 'busy',
            when: { all: [{ fact: 'cluster', path: '/inFlight', operator: 'greaterThan', value: 1 }] },
            effect: 'Wait',
            reason: 'ClusterBusy',
          },
        ],
      }),
    },
    says: 'Waiting Rule PolicyRuleDenied',
  },
  {
    name: 'a pool whose budget is spent gets no new version',
    wish: { permits: [one()], ...policy(SPENT), poolRules: verdictOfPool('true') },
    says: 'Waiting Rule PolicyRuleDenied',
  },
  {
    name: 'a pool with some budget left gets it',
    wish: { permits: [one()], ...policy(SPENT), poolRules: verdictOfPool('false') },
    says: 'Granted',
  },
  {
    name: 'a pool whose budget nobody has measured waits',
    wish: { permits: [one()], ...policy(SPENT) },
    says: 'Waiting Rule PolicyRuleDenied',
  },
  {
    name: 'a way back does not wait for a budget: it saves it',
    wish: {
      permits: [
        one({
          operations: ['SwitchComponent'],
          component: { name: 'beacon', version: '1.0.0' },
          requester: { manager: 'm', kind: 'MachineComponentSet', name: 'base', uid: 'base' },
          recovery: true,
        }),
      ],
      ...policy(SPENT),
      poolRules: verdictOfPool('true'),
      isRecovery: () => true,
    },
    says: 'Granted',
  },
  {
    name: 'a policy that is not understood stands in the way',
    wish: {
      permits: [one()],
      ...policy({ selector: { matchExpressions: [{ key: '!', operator: 'In', values: ['x'] }] } }),
    },
    says: 'Waiting Rule SafetyReadingUnknown',
  },
  {
    name: 'a policy in audit mode binds no request',
    wish: { permits: [one()], ...policy({ mode: 'Audit', protect: [{ name: 'm-0' }] }) },
    says: 'Granted',
  },
  {
    name: 'a switch that disrupts nothing passes at once',
    wish: { permits: [one()], ...policy({ healthFloor: 10 }), isWithoutDisruption: () => true },
    says: 'Granted',
  },
  {
    name: 'a freeze also holds what disrupts nothing',
    wish: {
      permits: [one()],
      isWithoutDisruption: () => true,
      holds: [aHold('Freeze', { kind: 'Machine', name: 'm-0' })],
    },
    says: 'Waiting Hold HoldFreeze',
  },
]

test('a machine whose permits are deleted one after the other keeps one slot for the same work', () => {
  const names = ['a', 'b', 'c', 'd', 'e']
  const drain = (name: string) => one({ name, operations: ['Drain'] })
  let ledger: LedgerSpec | undefined
  names.forEach((name, i) => {
    const deletedPermits = new Set(names.slice(0, i).map(uidOf))
    const isIdle = () => false
    ledger = ask({ permits: [drain(name)], ...policy({}), deletedPermits, isIdle }, ledger).ledger ?? ledger
  })
  expect(ledger?.grants?.map((g) => [g.permit, g.state ?? 'Held'])).toEqual([['e', 'Held']])
})

test('a slot of other work on the machine stays beside it', () => {
  const first = ask({ permits: [one({ operations: ['Reboot'] })], ...policy({}) })
  const deletedPermits = new Set([uidOf('a')])
  const next = ask(
    { permits: [one({ name: 'b', operations: ['Drain'] })], ...policy({}), deletedPermits, isIdle: () => false },
    first.ledger,
  )
  expect(next.ledger?.grants?.map((g) => g.permit)).toEqual(['a', 'b'])
})

describe('a machine that is removed during its repair', () => {
  const repair = one({
    name: 'repair',
    operations: ['Reboot'],
    requester: { manager: 'kubenode-remedyjob', kind: 'RemedyOperationJob', name: 'j' },
  })
  const removal = one({ name: 'removal', operations: ['ScaleIn'] })
  const slots = (ledger: LedgerSpec | undefined) => ledger?.grants?.map((g) => [g.permit, ...g.operations])
  const wish: SnapshotWish = { machines: machines(4), ...policy(NARROW) }
  const repaired = ask({ ...wish, permits: [repair] })
  const [granted = repair] = told(repaired)
  const named = (permits: readonly OperationPermit[], name: string) =>
    permits.find((p) => p.metadata.name === name) ?? repair
  const removed = ask({ ...wish, permits: [granted, removal] }, repaired.ledger)

  test('has one slot, which counts as a repair too', () => {
    expect(outcome(removed)).toEqual({ 'repair/m-0': 'Granted', 'removal/m-0': 'Granted' })
    expect(slots(removed.ledger)).toEqual([['removal', 'ScaleIn', 'Reboot']])
  })

  test('keeps it whatever becomes of the repair, and no repair begins', () => {
    const again = ask({ ...wish, permits: told(removed) }, removed.ledger)
    expect([outcome(again), again.ledger]).toEqual([outcome(removed), undefined])
    const next = one({ name: 'next', operations: ['Reboot'] })
    const late = ask({ ...wish, permits: [...told(removed), next] }, removed.ledger)
    expect(outcome(late)).toMatchObject({ 'next/m-0': 'Waiting Ledger WaitingForOther' })
    expect(slots(late.ledger ?? removed.ledger)).toEqual([['removal', 'ScaleIn', 'Reboot']])
  })

  test('frees it with the result of the removal, also where the repair never reports one', () => {
    const asked = named(told(removed), 'removal')
    const done = { ...asked, spec: { ...asked.spec, results: { 'uid-m-0': 'Succeeded' as const } } }
    const after = ask(
      { permits: [named(told(removed), 'repair'), done], machines: machines(4).slice(1), ...policy(NARROW) },
      removed.ledger,
    )
    expect(after.ledger?.grants).toEqual([])
  })

  test('leaves the slot of a component that switches', () => {
    const both = ask({ ...wish, policies: [], permits: [one({ name: 'switch', ...backTo('1.0.0') }), removal] })
    expect(both.ledger?.grants?.map((g) => g.permit)).toEqual(['removal', 'switch'])
  })
})

/** Written past the permit schema: another server's restore, or a changed definition. */
test('a permit without operations is denied, and the one beside it is decided', () => {
  const watch = new PermitWatch()
  const unnamed = one({ name: 'b' })
  watch.put(undefined, { ...unnamed, spec: { ...unnamed.spec, operations: undefined } } as unknown as OperationPermit)
  watch.put(undefined, aPermit({ name: 'a', targets: ['m-1'] }))
  const wish = { permits: watch.open(), machines: machines(2), ...policy({ operations: ['Drain'] }) }
  expect(outcome(ask(wish))).toEqual({ 'a/m-1': 'Granted', 'b/m-0': 'Denied Target SafetyReadingUnknown' })
})

describe('one request', () => {
  test.each(CASES)('$name', ({ wish, says }) => {
    expect(outcome(ask(wish))).toEqual({ [`a/${wish.permits?.[0]?.spec.targets[0]?.name}`]: says })
  })

  /** Its first version of beacon does not run at all. */
  const failedInstall = (name: string) => {
    const m = aMachine({ name, zone: 'z', rack: 'r', pool: 'p', runs: { beacon: '1.0.0' } })
    const components = [{ name: 'beacon', desired: '1.0.0', state: 'Failed' as const, since: '2026-01-05T00:00:00Z' }]
    return { ...m, status: { ...m.status, components } }
  }
  const sound = (n: number) => machines(n, { zone: 'z', rack: 'r', pool: 'p' })

  test.each(['cluster', 'zone', 'rack', 'pool', 'component'] as const)(
    'F44 the cure of what a failed install broke costs nothing in a budget per %s, and nothing beside it passes',
    (per) => {
      for (const max of [0, 1, 2, '10%'] as const) {
        const list = [failedInstall('bad-0'), failedInstall('bad-1'), ...sound(4)]
        const component = { name: 'beacon', version: '1.1.0' }
        const decision = ask({
          machines: list,
          permits: [
            aPermit({ name: 'a', targets: ['bad-0', 'bad-1'], component }),
            aPermit({ name: 'b', targets: ['m-0'], component }),
          ],
          ...policy({ budgets: [{ max, of: 'unavailable', per }], healthFloor: '100%' }),
        })
        expect(outcome(decision)).toMatchObject({
          'a/bad-0': 'Granted',
          'a/bad-1': 'Granted',
          'b/m-0': expect.stringMatching(/^Waiting/),
        })
      }
    },
  )

  test('F44 a machine that refuses a version still serves: what disrupts it costs as much as ever', () => {
    const m = aMachine({ name: 'm-0', runs: { beacon: '1.0.0' } })
    const components = [
      { name: 'beacon', version: '1.0.0', desired: '1.1.0', state: 'Fetching' as const, since: '2026-01-05T00:00:00Z' },
    ]
    const refusing = { ...m, status: { ...m.status, components } }
    const wish = { machines: [refusing], permits: [one()], ...policy({ healthFloor: '100%' }) }
    expect(outcome(ask(wish))).toEqual({ 'a/m-0': 'Waiting HealthFloor HealthFloor' })
  })

  test('every gate that has something to say is kept, also behind the one that binds', () => {
    const decision = ask({
      permits: [one()],
      ...policy({
        protect: [{ name: 'm-0' }],
        healthFloor: 10,
        budgets: [{ max: 0, of: 'concurrent', per: 'cluster' }],
      }),
    })
    const gates = decision.permits[0]?.targets[0]?.gates.map((g) => `${g.gate} ${g.verdict}`)
    expect(gates).toEqual(['Target Granted', 'Protect Denied', 'HealthFloor Waiting', 'Budget Waiting'])
  })

  test('an approval counts for its digest alone, and one person once', () => {
    const permit = one()
    const approve = (name: string, by: string, digest: string) => ({
      apiVersion: API_GROUP_VERSION,
      kind: 'Approval' as const,
      metadata: { name },
      spec: { digest, by },
    })
    const digest = approvalDigest(permit.spec)
    const two = policy({ approvals: [{ risk: 'Low', from: ['ada', 'bob'], count: 2 }] })
    const missing = 'Waiting Approval ApprovalMissing'
    const cases: readonly (readonly [string, Parameters<typeof ask>[0]['approvals'], string])[] = [
      ['nobody', [], missing],
      ['one twice', [approve('1', 'ada', digest), approve('2', 'ada', digest)], missing],
      ['a stranger', [approve('1', 'ada', digest), approve('2', 'eve', digest)], missing],
      ['another digest', [approve('1', 'ada', digest), approve('2', 'bob', 'f'.repeat(64))], missing],
      ['both', [approve('1', 'ada', digest), approve('2', 'bob', digest)], 'Granted'],
    ]
    for (const [who, approvals, says] of cases)
      expect([who, outcome(ask({ permits: [permit], ...two, approvals: approvals ?? [] }))['a/m-0']]).toEqual([
        who,
        says,
      ])
  })
})

test('a group approves through any of its people, each of whom counts once', () => {
  const permit = one()
  const digest = approvalDigest(permit.spec)
  const by = (name: string, groups: readonly string[]) => ({
    apiVersion: API_GROUP_VERSION as typeof API_GROUP_VERSION,
    kind: 'Approval' as const,
    metadata: { name: `${name}-${groups.length}`, uid: uidOf(name) },
    spec: { digest, by: name, groups },
  })
  const two = policy({ approvals: [{ risk: 'Low', from: ['group:sre'], count: 2 }] })
  const says = (...approvals: ReturnType<typeof by>[]) =>
    outcome(ask({ permits: [permit], ...two, approvals }))['a/m-0']
  const missing = 'Waiting Approval ApprovalMissing'
  expect(says(by('ada', ['sre']), by('ada', ['sre', 'dev']))).toBe(missing)
  expect(says(by('ada', ['sre']), by('eve', ['dev']))).toBe(missing)
  expect(says(by('group:sre', []), by('ada', ['sre']))).toBe(missing)
  expect(says(by('ada', ['sre']), by('bob', ['sre']))).toBe('Granted')
})

describe('an operation that no policy decides', () => {
  // Of four machines the built-in policy lets one be unavailable.
  const wish = (
    operations: OperationPermit['spec']['operations'],
    spec: Parameters<typeof aPolicy>[0],
  ): SnapshotWish => ({
    machines: machines(4),
    permits: ['m-0', 'm-1'].map((target) => aPermit({ name: target, targets: [target], operations })),
    ...policy(spec),
  })
  const second = (...args: Parameters<typeof wish>) => outcome(ask(wish(...args)))['m-1/m-1']
  const DRAINS = { operations: ['Drain'], budgets: [{ max: 4, of: 'unavailable', per: 'cluster' }] } as const

  test('is under the built-in one, alone and beside one that a policy decides', () => {
    expect(second(['Reboot'], DRAINS)).toBe('Waiting Budget BudgetExhausted')
    expect(second(['Drain', 'Reboot'], DRAINS)).toBe('Waiting Budget BudgetExhausted')
  })

  test('does not matter where it takes no availability, or where a policy decides all', () => {
    expect(second(['Drain'], DRAINS)).toBe('Granted')
    expect(second(['CleanDisk', 'Drain'], DRAINS)).toBe('Granted')
    expect(second(['Cordon', 'Drain'], DRAINS)).toBe('Granted')
    expect(second(['Drain', 'Reboot'], { budgets: DRAINS.budgets })).toBe('Granted')
  })
})

describe('what was granted', () => {
  test('is in the ledger with the domains that the Defender saw, and counts in its rates', () => {
    const { ledger } = ask({ permits: [one()], machines: [aMachine({ name: 'm-0', zone: 'z', rack: 'r' })] })
    expect(ledger?.grants).toEqual([
      expect.objectContaining({ target: uidOf('m-0'), permitUid: uidOf('a'), state: 'Held', zone: 'z', rack: 'r' }),
    ])
    const minute = ledger?.rates?.find((r) => r.policy === seriesName(builtinPolicy.name, '1m', 'cluster'))
    expect([minute?.count, ledger?.sequence, ledger?.counts?.granted]).toEqual([1, 1, 1])
  })

  test('is written again after a crash between ledger and permit, and is not granted twice', () => {
    const first = ask({ permits: [one()], ...policy(NARROW) })
    const again = ask({ permits: [one()], ...policy(NARROW) }, first.ledger)
    expect([outcome(again), again.ledger, phases(again)]).toEqual([{ 'a/m-0': 'Granted' }, undefined, ['Granted']])
  })

  test('frees its slot with its result, which others take in the same decision', () => {
    const [a, b] = [one(), aPermit({ name: 'b', targets: ['m-1'] })]
    const first = ask({ permits: [a, b], ...policy(NARROW) })
    expect(outcome(first)).toEqual({ 'a/m-0': 'Granted', 'b/m-1': 'Waiting Budget BudgetExhausted' })
    const [seenA, seenB] = told(first)
    const done = {
      ...(seenA as OperationPermit),
      spec: { ...a.spec, results: { [uidOf('m-0')]: 'Succeeded' as const } },
    }
    const second = ask({ permits: [done, seenB as OperationPermit], ...policy(NARROW) }, first.ledger)
    expect([outcome(second)['b/m-1'], phases(second)]).toEqual(['Granted', ['Released', 'Granted']])
    expect(second.ledger?.counts).toMatchObject({ granted: 2, succeeded: 1 })
  })

  test('keeps its slot when the lease runs out, until the target is quiet', () => {
    const first = ask({ permits: [one()], ...policy(NARROW) })
    const over = ask({ permits: told(first), ...policy(NARROW), leasesOver: new Set([uidOf('a')]) }, first.ledger)
    expect([phases(over), over.ledger]).toEqual([['Expired'], undefined])
    const next = aPermit({ name: 'b', targets: ['m-1'] })
    const waits = ask({ permits: [...told(over), next], ...policy(NARROW) }, first.ledger)
    expect([waits.ledger?.grants?.[0]?.state, outcome(waits)['b/m-1']]).toEqual([
      'Orphaned',
      'Waiting Budget BudgetExhausted',
    ])
    const quiet = ask({ permits: [...told(over), next], ...policy(NARROW), isIdle: () => true }, waits.ledger)
    expect(outcome(quiet)).toEqual({ 'b/m-1': 'Granted' })
  })

  test('changes in nothing when its permit is deleted', () => {
    const first = ask({ permits: [one()], ...policy(NARROW) })
    const missing = ask({ permits: [], ...policy(NARROW) }, first.ledger)
    expect(missing.ledger).toBeUndefined()
    const next = aPermit({ name: 'b', targets: ['m-1'] })
    const gone = ask({ permits: [next], ...policy(NARROW), deletedPermits: new Set([uidOf('a')]) }, first.ledger)
    expect([gone.ledger?.grants?.map((g) => g.state), outcome(gone)]).toEqual([
      ['Orphaned'],
      { 'b/m-1': 'Waiting Budget BudgetExhausted' },
    ])
  })

  test('ends with the target', () => {
    const first = ask({ permits: [one()], ...policy(NARROW) })
    const gone = ask(
      { permits: [], machines: machines(10).slice(1), deletedTargets: new Set([uidOf('m-0')]) },
      first.ledger,
    )
    expect(gone.ledger?.grants).toEqual([])
  })

  test('is revoked by a freeze, and not by a pause', () => {
    const first = ask({ permits: [one()] })
    const hold = (effect: 'Freeze' | 'Pause') =>
      ask({ permits: told(first), holds: [aHold(effect, { kind: 'Machine', selector: {} })] }, first.ledger)
    expect([phases(hold('Freeze')), phases(hold('Pause'))]).toEqual([['Revoked'], ['Granted']])
  })

  test('is rebuilt from the permits when the ledger is deleted', () => {
    const first = ask({ permits: [one()], ...policy(NARROW) })
    const lost = ask({ permits: [...told(first), aPermit({ name: 'b', targets: ['m-1'] })], ...policy(NARROW) })
    expect(outcome(lost)).toEqual({ 'a/m-0': 'Granted', 'b/m-1': 'Waiting Budget BudgetExhausted' })
  })

  test('leaves the other targets of the permit waiting for their turn', () => {
    const both = one({ targets: ['m-0', 'm-1'] })
    const first = ask({ permits: [both], ...policy(NARROW) })
    expect([outcome(first), phases(first)]).toEqual([
      { 'a/m-0': 'Granted', 'a/m-1': 'Waiting Budget BudgetExhausted' },
      ['Granted'],
    ])
    const [seen] = told(first)
    const half = {
      ...(seen as OperationPermit),
      spec: { ...both.spec, results: { [uidOf('m-0')]: 'Succeeded' as const } },
    }
    const second = ask({ permits: [half], ...policy(NARROW) }, first.ledger)
    expect([outcome(second), phases(second)]).toEqual([{ 'a/m-0': 'Granted', 'a/m-1': 'Granted' }, ['Granted']])
    const released = {
      ...half,
      spec: { ...half.spec, results: { [uidOf('m-0')]: 'Succeeded' as const, [uidOf('m-1')]: 'Released' as const } },
    }
    expect(phases(ask({ permits: [released], ...policy(NARROW) }, second.ledger))).toEqual(['Released'])
  })
})

describe('the breaker', () => {
  const BREAKER = { breaker: { failures: 2, of: 5, window: '1h', halfOpenAfter: '10m', widen: 3 } }

  /** Grants this many machines and reports their results. */
  function run(results: readonly ('Succeeded' | 'Failed')[], ledger: LedgerSpec | undefined, now: number) {
    const names = results.map((_, i) => `m-${i}`)
    const permit = aPermit({ name: `run-${now}`, targets: names })
    const granted = ask({ permits: [permit], ...policy(BREAKER) }, ledger, now)
    const [seen] = told(granted, now)
    const done = {
      ...(seen as OperationPermit),
      spec: { ...permit.spec, results: Object.fromEntries(names.map((n, i) => [uidOf(n), results[i] ?? 'Failed'])) },
    }
    return { granted, after: ask({ permits: [done], ...policy(BREAKER) }, granted.ledger ?? ledger, now) }
  }
  const grantedIn = (d: Decision) => Object.values(outcome(d)).filter((o) => o === 'Granted').length

  test('opens at its failures, then lets 1, 5 and 10 be tried, and closes', () => {
    const many = Array.from({ length: 10 }, () => 'Succeeded' as const)
    let ledger = run(['Failed', 'Failed'], undefined, START_MS).after.ledger
    const granted: number[] = []
    granted.push(grantedIn(run(many, ledger, START_MS + 60_000).granted))
    for (let round = 0, now = START_MS + 700_000; round < 4; round++, now += 1_000) {
      const { granted: g, after } = run(many, ledger, now)
      granted.push(grantedIn(g))
      ledger = after.ledger
    }
    expect(granted).toEqual([0, 1, 5, 10, 10])
    expect(ledger?.breakers?.map((b) => b.state)).toEqual(['Closed'])
  })

  test('opens again when a trial fails', () => {
    const { after } = run(['Failed', 'Failed'], undefined, START_MS)
    const trial = run(['Failed'], after.ledger, START_MS + 700_000)
    expect(trial.after.ledger?.breakers?.map((b) => b.state)).toEqual(['Open'])
  })

  test('drops repairs that were asked while it was open, and tries those that are asked now', () => {
    const { after } = run(['Failed', 'Failed'], undefined, START_MS)
    const requester = { manager: 'kubenode-remedyjob', kind: 'RemedyOperationJob', name: 'job' }
    const [waiting] = told(ask({ permits: [one({ requester })], ...policy(BREAKER) }, after.ledger, START_MS + 60_000))
    const fresh = aPermit({ name: 'b', targets: ['m-1'], requester })
    const later = ask(
      { permits: [waiting as OperationPermit, fresh], ...policy(BREAKER) },
      after.ledger,
      START_MS + 700_000,
    )
    expect(outcome(later)).toEqual({ 'a/m-0': 'Denied Breaker BreakerHalfOpen', 'b/m-1': 'Granted' })
    expect(phases(later)).toEqual(['Denied', 'Granted'])
  })

  test('keeps slices of rollouts that waited: they are asked about the present anyway', () => {
    const { after } = run(['Failed', 'Failed'], undefined, START_MS)
    const [waiting] = told(ask({ permits: [one()], ...policy(BREAKER) }, after.ledger, START_MS + 60_000))
    expect(
      outcome(ask({ permits: [waiting as OperationPermit], ...policy(BREAKER) }, after.ledger, START_MS + 700_000)),
    ).toEqual({
      'a/m-0': 'Granted',
    })
  })

  test('lets a recovery pass that was checked, and only that', () => {
    const { after } = run(['Failed', 'Failed'], undefined, START_MS)
    const claim = one(backTo('1.0.0'))
    const ledger = after.ledger
    expect(outcome(ask({ permits: [claim], ...policy(BREAKER) }, ledger))).toEqual({
      'a/m-0': 'Waiting Breaker BreakerOpen',
    })
    expect(outcome(ask({ permits: [claim], ...policy(BREAKER), isRecovery: () => true }, ledger))).toEqual({
      'a/m-0': 'Granted',
    })
  })
})

describe('going back', () => {
  const HOUR = 3_600_000
  const RATE = { rates: [{ window: '10m', max: 2, per: 'cluster' }] } as const
  const knownGood = { isRecovery: (p: OperationPermit) => p.spec.recovery }
  const some = (name: string, version: string, targets: readonly string[], recovery = true) =>
    aPermit({ name, targets, ...backTo(version), recovery })
  const all = (d: Decision) => Object.values(outcome(d))
  const names = (n: number, from = 0) => Array.from({ length: n }, (_, i) => `m-${from + i}`)

  test('to what was healthy before passes a rate that is used up, and counts in it', () => {
    const used = ask({ permits: [some('a', '1.1.0', ['m-0', 'm-1'], false)], ...policy(RATE) })
    const back = ask({ permits: [some('b', '1.0.0', names(4, 2))], ...policy(RATE), ...knownGood }, used.ledger)
    expect(all(back)).toEqual(Array.from({ length: 4 }, () => 'Granted'))
    expect(back.permits[0]?.targets[0]?.gates.find((g) => g.gate === 'Rate')).toMatchObject({
      reason: 'RecoveryExempt',
      seen: '2 in 10m used; returns to a version that was healthy before',
    })
    const next = ask({ permits: [some('c', '1.2.0', ['m-7'], false)], ...policy(RATE) }, back.ledger)
    expect(all(next)).toEqual(['Waiting Rate RateExceeded'])
  })

  test('waits for budgets, holds, windows and approvals like everybody', () => {
    const cases = [
      policy({ ...RATE, budgets: [{ max: 0, of: 'concurrent', per: 'cluster' }] }),
      policy({ ...RATE, blackouts: [{ cron: '* * * * *', duration: '1h', timeZone: 'UTC' }] }),
      policy({ ...RATE, healthFloor: 10 }),
      policy({ ...RATE, approvals: [{ risk: 'Low', from: ['group:sre'], count: 1 }] }),
      { ...policy(RATE), holds: [aHold('Freeze', { kind: 'Cluster' })] },
    ]
    const said = cases.map((wish) => all(ask({ permits: [some('b', '1.0.0', ['m-1'])], ...wish, ...knownGood }))[0])
    expect(said).toEqual([
      'Waiting Budget BudgetExhausted',
      'Waiting Window BlackoutActive',
      'Waiting HealthFloor HealthFloor',
      'Waiting Approval ApprovalMissing',
      'Waiting Hold HoldFreeze',
    ])
  })

  test('passes what a policy exempts recoveries from, and only that', () => {
    const strict = { ...RATE, budgets: [{ max: 0, of: 'concurrent', per: 'cluster' }], healthFloor: 10 } as const
    const wish = (exemptRecoveries: readonly ('Budget' | 'HealthFloor')[]) => ({
      permits: [some('b', '1.0.0', ['m-1'])],
      ...policy({ ...strict, exemptRecoveries }),
    })
    expect(all(ask({ ...wish(['Budget', 'HealthFloor']), ...knownGood }))).toEqual(['Granted'])
    expect(all(ask({ ...wish(['Budget']), ...knownGood }))).toEqual(['Waiting HealthFloor HealthFloor'])
    expect(all(ask(wish(['Budget', 'HealthFloor'])))).toEqual(['Waiting HealthFloor HealthFloor'])
  })

  test('passes budgets where the pipeline exempts reverts from them, and nothing else', () => {
    const none = { ...RATE, budgets: [{ max: 0, of: 'concurrent', per: 'cluster' }] } as const
    const exempt = { isBudgetExempt: () => true }
    const asking = (wish: object, spec: Parameters<typeof policy>[0] = none) =>
      all(ask({ permits: [some('b', '1.0.0', ['m-1'])], ...policy(spec), ...wish }))
    expect(asking({ ...knownGood, ...exempt })).toEqual(['Granted'])
    expect(asking({ ...knownGood })).toEqual(['Waiting Budget BudgetExhausted'])
    // Budgets apply to everything that is not a recovery.
    expect(asking(exempt)).toEqual(['Waiting Budget BudgetExhausted'])
    expect(asking({ ...knownGood, ...exempt }, { ...none, healthFloor: 10 })).toEqual([
      'Waiting HealthFloor HealthFloor',
    ])
  })

  test('a second time within the hour is an ordinary rollout, also when every permit was deleted and the set was made again', () => {
    const back = ask({ permits: [some('b', '1.0.0', names(3))], ...policy(RATE), ...knownGood })
    expect(all(back)).toEqual(['Granted', 'Granted', 'Granted'])
    const forward = ask({ permits: [some('f', '1.1.0', ['m-5'], false)], ...policy({}), ...knownGood }, back.ledger)
    expect(all(forward)).toEqual(['Granted'])
    const again = (at: number, ledger: LedgerSpec | undefined) => {
      const { requester, ...rest } = backTo('1.0.0')
      const permit = aPermit({ name: 'z', targets: ['m-8'], ...rest, requester: { ...requester, uid: uidOf('other') } })
      return all(ask({ permits: [permit], ...policy(RATE), ...knownGood }, ledger, START_MS + at))
    }
    const kept = JSON.parse(JSON.stringify(forward.ledger)) as LedgerSpec
    expect(again(60_000, kept)).toEqual(['Waiting Rate RateExceeded'])
    expect(kept.waysBack).toMatchObject([{ set: 'base', component: 'beacon', isOver: true }])
    const full = { ...kept, rates: kept.rates?.map((r) => ({ ...r, slot: r.slot + 120 })) ?? [] }
    expect(again(HOUR + 1_000, full)).toEqual(['Granted'])
  })

  test('goes on for machines that are late, as long as none went elsewhere', () => {
    const back = ask({ permits: [some('b', '1.0.0', names(3))], ...policy(RATE), ...knownGood })
    const late = ask(
      { permits: [some('c', '1.0.0', ['m-8'])], ...policy(RATE), ...knownGood },
      back.ledger,
      START_MS + 300_000,
    )
    expect(all(late)).toEqual(['Granted'])
  })

  test('of one component says nothing of another one, nor of another set', () => {
    const back = ask({ permits: [some('b', '1.0.0', names(3))], ...policy(RATE), ...knownGood })
    const over = ask({ permits: [some('f', '1.1.0', ['m-5'], false)], ...policy({}), ...knownGood }, back.ledger)
    const other = [
      { component: { name: 'scribe', version: '1.0.0' } },
      { requester: { manager: 'kubenode-componentset', kind: 'MachineComponentSet', name: 'other' } },
    ].map((more) => aPermit({ name: 'o', targets: ['m-9'], ...backTo('1.0.0'), ...more }))
    for (const permit of other)
      expect(all(ask({ permits: [permit], ...policy(RATE), ...knownGood }, over.ledger))).toEqual(['Granted'])
  })

  test('is ordinary when there is no room to remember it', () => {
    const since = new Date(START_MS).toISOString()
    const waysBack = Array.from({ length: 128 }, (_, i) => ({
      set: `s-${i}`,
      component: 'c',
      to: '0123456789ab',
      since,
    }))
    const used = ask({ permits: [some('a', '1.1.0', ['m-0', 'm-1'], false)], ...policy(RATE) }).ledger
    const ledger = { ...used, sequence: 2, waysBack }
    expect(all(ask({ permits: [some('b', '1.0.0', ['m-3'])], ...policy(RATE), ...knownGood }, ledger))).toEqual([
      'Waiting Rate RateExceeded',
    ])
  })
})

describe('a machine that switches a component already', () => {
  const ofSet = (name: string, set: string, component = 'beacon') =>
    aPermit({
      name,
      targets: ['m-0'],
      operations: ['SwitchComponent'],
      component: { name: component, version: '1.1.0' },
      requester: { manager: 'kubenode-componentset', kind: 'MachineComponentSet', name: 'base', uid: uidOf(set) },
    })
  const before = ask({ permits: [ofSet('a', 'old')] })

  test('is not granted to the set that was made again, until the first permit has its result', () => {
    const [held] = told(before)
    const both = ask({ permits: [held as OperationPermit, ofSet('b', 'new')] }, before.ledger)
    expect(outcome(both)).toEqual({ 'a/m-0': 'Granted', 'b/m-0': 'Waiting Ledger WaitingForOther' })
    expect(both.permits[1]?.targets[0]?.verdict.seen).toBe('m-0 switches beacon under permit a')
    const done = {
      ...(held as OperationPermit),
      spec: { ...ofSet('a', 'old').spec, results: { [uidOf('m-0')]: 'Succeeded' as const } },
    }
    expect(outcome(ask({ permits: [done, ofSet('b', 'new')] }, both.ledger ?? before.ledger))['b/m-0']).toBe('Granted')
  })

  test('is not granted twice in one decision either', () => {
    const granted = Object.values(outcome(ask({ permits: [ofSet('a', 'old'), ofSet('b', 'new')] })))
    expect(granted.toSorted()).toEqual(['Granted', 'Waiting Ledger WaitingForOther'])
  })

  test('may switch another component', () => {
    expect(outcome(ask({ permits: [ofSet('b', 'new', 'scribe')] }, before.ledger))['b/m-0']).toBe('Granted')
  })

  test('is granted to the next one once the lease of the first ran out: no client would free it', () => {
    const [held] = told(before)
    const over = ask({ permits: [held as OperationPermit], leasesOver: new Set([uidOf('a')]) }, before.ledger)
    const [expired] = told(over)
    const next = ask({ permits: [expired as OperationPermit, ofSet('b', 'new')] }, over.ledger ?? before.ledger)
    expect(outcome(next)['b/m-0'] ?? '').toBe('Granted')
  })
})

describe('two repairs of one machine', () => {
  const repair = (name: string, job: string, kind: 'Machine' | 'Node' = 'Machine') => {
    const permit = aPermit({
      name,
      targets: ['m-0'],
      requester: { manager: 'kubenode-remedyjob', kind: 'RemedyOperationJob', name: job },
    })
    const targets = [{ kind, name: 'm-0', uid: kind === 'Machine' ? uidOf('m-0') : 'node-m-0' }]
    return { ...permit, spec: { ...permit.spec, targets } }
  }
  const nodes = [
    {
      apiVersion: 'v1',
      kind: 'Node',
      metadata: { name: 'm-0', uid: 'node-m-0' },
      status: { conditions: [condition('Ready', 'True')] },
    },
  ]
  const own = machines(10).map((m) =>
    m.metadata.name === 'm-0' ? { ...m, status: { ...m.status, nodeRef: { name: 'm-0', uid: 'node-m-0' } } } : m,
  )
  const phasesOf = (...permits: readonly OperationPermit[]) => phases(ask({ machines: own, nodes, permits }))

  test('are not granted beside each other, also where one of them names the Node', () => {
    expect(phasesOf(repair('a', 'one'), repair('b', 'two'))).toEqual(['Granted', 'Requested'])
    expect(phasesOf(repair('a', 'one'), repair('b', 'two', 'Node'))).toEqual(['Granted', 'Requested'])
    expect(phasesOf(repair('a', 'one', 'Node'), repair('b', 'two'))).toEqual(['Granted', 'Requested'])
  })

  test('are one repair if one job asks again, and follow each other once the first has its result', () => {
    expect(phasesOf(repair('a', 'one'), repair('a-p2', 'one'))).toEqual(['Granted', 'Granted'])
    const first = ask({ machines: own, nodes, permits: [repair('a', 'one')] })
    const [granted] = told(first)
    const done = { ...granted, spec: { ...granted?.spec, results: { [uidOf('m-0')]: 'Failed' } } } as OperationPermit
    const after = ask({ machines: own, nodes, permits: [done, repair('b', 'two')] }, first.ledger)
    expect(outcome(after)['b/m-0']).toBe('Granted')
  })
})

describe('outside of every window', () => {
  const windows = (until?: string) => [{ cron: '0 3 * * *', duration: '1h', timeZone: 'UTC', ...defined({ until }) }]
  const seenWith = (until?: string) => {
    const [permit] = told(ask({ permits: [one()], ...policy({ windows: windows(until) }) }))
    return [permit?.status?.verdicts?.[0]?.limit, permit?.status?.conditions?.[0]?.message]
  }
  test('a permit says when the next one opens, and so does its condition', () => {
    for (const text of seenWith()) expect(text).toContain('the next one opens at 2026-01-05T03:00:00Z')
  })
  test('or that none opens again', () => {
    for (const text of seenWith('2026-01-05T02:00:00Z')) expect(text).toContain('none opens again')
  })
})

describe('a rate that is used up', () => {
  test('says when the next grant is, in the permit and its condition', () => {
    const rates = [{ window: '10m', max: 2, per: 'cluster' }] as const
    const used = ask({ permits: [aPermit({ name: 'a', targets: ['m-0', 'm-1'] })], ...policy({ rates }) })
    const waiting = ask({ permits: [aPermit({ name: 'b', targets: ['m-2'] })], ...policy({ rates }) }, used.ledger)
    const [permit] = told(waiting)
    const seen = permit?.status?.verdicts?.[0]?.seen ?? ''
    expect(seen).toMatch(/^2 in 10m used, next grant at \d\d:\d\d:\d\d UTC$/)
    expect(permit?.status?.conditions?.[0]?.message).toBe(`rate limit: ${seen}`)
    const at = Date.parse(`${new Date(START_MS).toISOString().slice(0, 11)}${/\d\d:\d\d:\d\d/.exec(seen)?.[0]}Z`)
    const b = { permits: [aPermit({ name: 'b', targets: ['m-2'] })], ...policy({ rates }) }
    expect(Object.values(outcome(ask(b, used.ledger, at - 1_000)))).toEqual(['Waiting Rate RateExceeded'])
    expect(Object.values(outcome(ask(b, used.ledger, at)))).toEqual(['Granted'])
  })

  test('of several says when the last of them frees', () => {
    const rates = [
      { window: '1m', max: 1, per: 'cluster' },
      { window: '1h', max: 1, per: 'cluster' },
    ] as const
    const used = ask({ permits: [aPermit({ name: 'a', targets: ['m-0'] })], ...policy({ rates }) })
    const waiting = ask({ permits: [aPermit({ name: 'b', targets: ['m-2'] })], ...policy({ rates }) }, used.ledger)
    expect(told(waiting)[0]?.status?.verdicts?.[0]?.seen).toMatch(/^1 in 1h used/)
  })
})

describe('bounds', () => {
  test('the thousand-and-first slot, or the first beyond 256 KiB, is refused: LedgerFull', () => {
    const list = machines(1_200)
    const permits = Array.from({ length: 12 }, (_, p) =>
      aPermit({ name: `p-${p}`, targets: list.slice(p * 100, p * 100 + 100).map((m) => m.metadata.name ?? '') }),
    )
    const decision = ask({ permits, machines: list, ...policy({ budgets: [] }) })
    const said = Object.values(outcome(decision))
    const granted = said.filter((s) => s === 'Granted').length
    expect(said.filter((s) => s === 'Denied Ledger LedgerFull')).toHaveLength(1_200 - granted)
    expect(decision.ledger?.grants).toHaveLength(granted)
    expect(granted).toBeLessThanOrEqual(1_000)
    expect(granted).toBeGreaterThan(600)
    expect(Buffer.byteLength(JSON.stringify(decision.ledger))).toBeLessThanOrEqual(256 * 1024)
  })
})

const requests = fc
  .array(fc.record({ target: fc.integer({ min: 0, max: 11 }), at: fc.integer({ min: 0, max: 3 }) }), {
    minLength: 1,
    maxLength: 8,
  })
  .map((list) =>
    list.map(({ target, at }, i) =>
      aPermit({ name: `p${i}`, targets: [`m-${target}`], createdAt: `2026-01-05T00:00:0${at}Z` }),
    ),
  )

describe('a machine that a failed repair left cordoned', () => {
  const taints = [{ key: 'kubenode.io/cordon', effect: 'NoSchedule' }]
  const annotations = { 'kubenode.io/cordon-owners': '{"repair-0123":{"reason":"repair j"}}' }
  const nodes = machines(10).map(({ metadata: { name = '' } }) => ({
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name, uid: `node-${name}`, ...(name === 'm-1' && { annotations }) },
    ...(name === 'm-1' && { spec: { taints } }),
    status: { conditions: [condition('Ready', 'True')] },
  }))
  const own = machines(10).map((m) => {
    const { name = '' } = m.metadata
    return { ...m, status: { ...m.status, nodeRef: { name, uid: `node-${name}` } } }
  })
  const drain = (name: string) => one({ operations: ['Drain'], targets: [name] })
  const of = (more: SnapshotWish) => outcome(ask({ machines: own, nodes, ...more }))

  test.each([
    [
      'takes room from the others',
      'm-0',
      policy({ budgets: [{ max: 1, of: 'unavailable', per: 'cluster' }] }),
      'Budget',
    ],
    ['counts below the health floor', 'm-0', policy({ healthFloor: 9 }), 'HealthFloor'],
  ])('%s', (_, name, given, gate) =>
    expect(of({ permits: [drain(name)], ...given })[`a/${name}`]).toMatch(new RegExp(`^Waiting ${gate} `)),
  )

  test('still has pods that may not move: its own drain is counted, and counted once', () => {
    const given = (max: number) => policy({ budgets: [{ max, of: 'unavailable', per: 'cluster' }] })
    expect(of({ permits: [drain('m-1')], ...given(1) })['a/m-1']).toBe('Granted')
    expect(of({ permits: [drain('m-1')], ...given(0) })['a/m-1']).toMatch(/^Waiting Budget/)
  })

  test('is named as what it is', () => {
    const given = policy({ budgets: [{ max: 1, of: 'unavailable', per: 'cluster' }] })
    const [first] = ask({ machines: own, nodes, permits: [drain('m-0')], ...given }).permits
    expect(first?.targets[0]?.verdict.seen).toBe('1 unavailable, 1 of them Ready but kept cordoned by repairs')
  })

  test('without a Machine too', () => {
    const [first, second] = nodes
    const target = { kind: 'Node' as const, name: 'm-0', uid: 'node-m-0' }
    const asked = one({ operations: ['Drain'] })
    const permits = [{ ...asked, spec: { ...asked.spec, targets: [target] } }]
    const seen = { machines: [], nodes: [first, second].flatMap((n) => n ?? []), permits }
    const given = policy({ budgets: [{ max: 1, of: 'unavailable', per: 'cluster' }] })
    expect(Object.values(of({ ...seen, ...given }))).toEqual([expect.stringMatching(/^Waiting Budget/)])
  })
})

describe('machines on their way in and out', () => {
  const scaleIn = (n: number) =>
    Array.from({ length: n }, (_, i) => aPermit({ name: `p${i}`, targets: [`m-${i}`], operations: ['ScaleIn'] }))
  const permit = (i: number) => aPermit({ name: `p${i}`, targets: [`m-${i}`], operations: ['ScaleIn'] })
  const granted = (decision: Decision): number => Object.values(outcome(decision)).filter((o) => o === 'Granted').length
  const quarter = policy({ budgets: [{ max: '25%', of: 'unavailable', per: 'cluster' }] })
  const deleted = { deletionTimestamp: '2026-01-05T00:00:00Z' }

  test.each(['Ready', 'Deleting'] as const)(
    'F41 those that are deleted and still serve (phase %s) leave one budget at a time, and none below the floor',
    (phase) => {
      const wish = { permits: scaleIn(24), machines: machines(24, { ...deleted, phase }) }
      expect(granted(ask({ ...wish, ...quarter }))).toBe(6)
      expect(granted(ask({ ...wish, ...policy({ healthFloor: '90%' }) }))).toBe(2)
    },
  )

  test.each([
    ['and knows of its deletion', deleted],
    ['as it was before its deletion', {}],
  ])('F3 the slot of a removal that succeeded is kept while the cache still has the machine, %s', (_, wish) => {
    const removed = [permit(0), permit(1)]
    const leaving = [aMachine({ name: 'm-0', ...wish }), ...machines(4).slice(1)]
    const one = policy({ healthFloor: 3 })
    const first = ask({ permits: removed, machines: leaving, ...one })
    const [done, other] = told(first)
    if (done === undefined || other === undefined) throw new Error('two permits were asked for')
    const reported = { ...done, spec: { ...done.spec, results: { [uidOf('m-0')]: 'Succeeded' as const } } }
    const behind = ask({ permits: [reported, other], machines: leaving, ...one }, first.ledger)
    expect(granted(behind) - granted(first)).toBeLessThanOrEqual(0)
    expect(outcome(behind)['p1/m-1']).toContain('HealthFloor')
  })

  test('those that never served use up no budget, and make none larger', () => {
    const making = Array.from({ length: 20 }, (_, i) =>
      aMachine({ name: `new-${i}`, phase: 'Joining', ready: 'False' }),
    )
    const wish = { permits: scaleIn(4), machines: [...machines(4), ...making] }
    expect(granted(ask({ ...wish, ...quarter }))).toBe(1)
    expect(granted(ask({ ...wish, ...policy({ healthFloor: '75%' }) }))).toBe(1)
  })

  test('a slot for a machine that never served takes nothing from those that serve', () => {
    const fresh = aMachine({ name: 'm-9', phase: 'Installing', ready: 'False' })
    const first = aPermit({ name: 'first', targets: ['m-9'], createdAt: '2026-01-04T00:00:00Z' })
    const wish = { permits: [first, ...scaleIn(4)], machines: [...machines(4), fresh], ...quarter }
    expect(granted(ask(wish))).toBe(2)
  })
})

describe('properties', () => {
  test('the order in which requests come changes nothing', () => {
    fc.assert(
      fc.property(requests, fc.integer(), fc.nat(4), (permits, seed, max) => {
        const shuffled = permits.toSorted(
          (a, b) => ((seed ^ Number(a.metadata.name?.slice(1))) % 7) - ((seed ^ Number(b.metadata.name?.slice(1))) % 7),
        )
        const wish = { machines: machines(12), ...policy({ budgets: [{ max, of: 'concurrent', per: 'cluster' }] }) }
        const [x, y] = [ask({ ...wish, permits }), ask({ ...wish, permits: shuffled })]
        expect([y.ledger, outcome(y)]).toEqual([x.ledger, outcome(x)])
      }),
      { numRuns: 60 },
    )
  })

  test('a decision after its own effects decides nothing new', () => {
    fc.assert(
      fc.property(requests, fc.nat(4), (permits, max) => {
        const wish = { machines: machines(12), ...policy({ budgets: [{ max, of: 'unavailable', per: 'cluster' }] }) }
        const first = ask({ ...wish, permits })
        const second = ask({ ...wish, permits: told(first) }, first.ledger)
        expect([second.ledger, outcome(second)]).toEqual([undefined, outcome(first)])
      }),
      { numRuns: 60 },
    )
  })
})

describe('admission policies that are not as installed', () => {
  const altered = [
    {
      kind: 'ValidatingAdmissionPolicy',
      name: 'kubenode-holds',
      how: 'Changed',
      since: '2026-01-05T01:59:00Z',
    },
  ] as const
  const found = ask({ alteredPolicies: altered }).ledger

  test('are in the ledger, though nothing else changes', () => {
    const before = ask({}).ledger
    expect(ask({ alteredPolicies: altered }, before).ledger?.alteredPolicies).toEqual(altered)
  })
  test('are written once', () => expect(ask({ alteredPolicies: altered }, found).ledger).toBeUndefined())
  test('stay there until all were compared again, as by a new leader', () =>
    expect(ask({}, found).ledger).toBeUndefined())
  test('leave it when they are as installed', () => {
    const after = ask({ alteredPolicies: [] }, found).ledger
    expect([after?.sequence, after?.alteredPolicies]).toEqual([(found?.sequence ?? 0) + 1, undefined])
  })
})
