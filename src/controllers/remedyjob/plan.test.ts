// The plan of a repair, case by case: each row has the inputs and the relevant parts of the resulting plan.
import { repairSpec } from '#test/support/fleets/repair-jobs.ts'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { DISRUPTIONS, type OperationPermit } from '#api/kinds/operation-permit.ts'
import { jobTable } from '#api/protocol/job.ts'
import { timestamp } from '#lib/clock.ts'
import type { JobPlan } from './actions.ts'
import { plan } from './plan.ts'
import type { Seen } from './seen.ts'

const NOW = Date.parse('2026-05-01T12:00:00Z')
const ago = (seconds: number) => timestamp(NOW - seconds * 1_000)
type Wild = Record<string, unknown>

const permit = (phase: string, verdict = phase === 'Granted' ? 'Granted' : 'Waiting', more: Wild = {}) =>
  ({
    metadata: { name: 'j', uid: 'p', resourceVersion: '1' },
    spec: {
      operations: DISRUPTIONS,
      targets: [{ kind: 'Machine', name: 'n', uid: 'm' }],
      leaseSeconds: 120,
      renewTime: ago(1),
      ...more,
    },
    status: { phase, decidedAt: ago(90), verdicts: [{ target: 'm', gate: 'Budget', verdict, seen: '3 of 3' }] },
  }) as unknown as OperationPermit

function seen({
  spec = {},
  status = {},
  meta = {},
  ...more
}: Wild & { readonly spec?: Wild; readonly status?: Wild; readonly meta?: Wild } = {}): Seen {
  const job = {
    kind: 'RemedyOperationJob',
    metadata: {
      name: 'j',
      uid: 'j',
      resourceVersion: '1',
      creationTimestamp: ago(10),
      finalizers: ['kubenode.io/incident-record'],
      ...meta,
    },
    spec: repairSpec([{ cordon: {} }, { restartComponent: { component: 'beacon' } }], {
      machine: 'n',
      node: { name: 'n', uid: 'u' },
      incident: 'abcdefabcdefabcd',
      timeout: '10m',
      stableFor: '30s',
      ...spec,
    }),
    status,
  }
  return {
    job,
    permit: undefined,
    node: { kind: 'Node', metadata: { name: 'n', uid: 'u' } },
    machine: {
      kind: 'Machine',
      metadata: { name: 'n', uid: 'm' },
      spec: { channel: 'Agent' },
      status: { bootID: 'b1' },
    },
    standing: { kind: 'Readable' },
    fault: { kind: 'Present' },
    cleared: { kind: 'Present' },
    remedier: undefined,
    holds: [],
    others: [],
    isRipe: true,
    begun: new Set(),
    mayHoldDevices: false,
    isFresh: true,
    asked: { bad: 0, total: 5 },
    ...more,
  } as unknown as Seen
}

/** The transitions of a plan in one line. */
function told({ actions, change, waiting, needsFresh }: JobPlan): string {
  const { phase, outcome, step, verifyUntil, permitRef } = change ?? {}
  const written = [
    phase,
    phase === undefined && permitRef !== undefined && `asks by ${permitRef}`,
    outcome,
    step && `step ${step.index} ${step.outcome ?? 'begun'}`,
    verifyUntil === null ? 'not away' : verifyUntil && 'away',
  ]
  return [
    ...actions.map((a) => a.kind),
    ...written.filter(Boolean),
    waiting && `waits: ${waiting.predicate}`,
    needsFresh && 'fresh',
  ]
    .filter(Boolean)
    .join(', ')
}

const hold = (effect: string, kind = 'Node') => ({
  metadata: { name: 'h' },
  spec: { target: { kind, name: 'n' }, effect, reason: 'x', until: ago(-60) },
})
const KNOWN = 'maintenanceevent/reboot-1 (Reboot by cloud) is InProgress'
const AWAITING = { phase: 'AwaitingPermit', permitRef: 'j' }
const RUNNING = { phase: 'Running', permitRef: 'j', startedAt: ago(20) }
const cordoned = {
  index: 0,
  operation: 'cordon',
  executor: 'Controller',
  attempts: 1,
  startedAt: ago(10),
  outcome: 'Succeeded',
}
const agentStep = { index: 1, operation: 'restartComponent', executor: 'Agent', attempts: 1, startedAt: ago(9) }
const VERIFYING = {
  phase: 'Verifying',
  permitRef: 'j',
  conditions: [{ type: 'FaultCleared', status: 'Unknown', lastTransitionTime: ago(40) }],
}
const granted = permit('Granted')
const GOING = { deletionTimestamp: ago(5) }
const listed = { metadata: { name: 'n', uid: 'm' }, spec: { channel: 'Agent', jobs: ['j'] }, status: { bootID: 'b1' } }
/** More than a third of its lease has passed. */
const short = permit('Granted', 'Granted', { renewTime: ago(60) })
const givenBack = permit('Granted', 'Granted', { results: { m: 'Released' } })
const deniedBy = (gate: string, reason: string) => {
  const denied = permit('Denied', 'Denied')
  return { ...denied, status: { ...denied.status, verdicts: [{ target: 'm', gate, reason, verdict: 'Denied' }] } }
}

const draining = (more: Wild, step?: Wild): Seen =>
  seen({
    spec: { operations: [{ cordon: {} }, { drain: { timeout: '2m' } }] },
    status: {
      ...RUNNING,
      steps: [
        cordoned,
        ...(step ? [{ index: 1, operation: 'drain', executor: 'Controller', attempts: 1, ...step }] : []),
      ],
    },
    permit: granted,
    ...more,
  })
const silent = (operations: readonly Wild[], steps: readonly Wild[] = []): Seen =>
  seen({
    spec: { operations },
    status: { ...RUNNING, steps: steps.map((s, index) => ({ index, executor: 'Agent', attempts: 1, ...s })) },
    permit: granted,
    standing: { kind: 'Silent', why: 'x' },
    machine: {
      metadata: { name: 'n', uid: 'm' },
      spec: {},
      status: { bootID: 'b1', conditions: [{ type: 'AgentReachable', status: 'False' }] },
    },
  })
const observed = { metadata: { name: 'n', uid: 'm' }, spec: { channel: 'Observe' }, status: {} }
const frozenMachine = {
  metadata: { name: 'n', uid: 'm' },
  spec: {},
  status: { bootID: 'b1', conditions: [{ type: 'Frozen', status: 'True' }] },
}
const living = (operations: readonly Wild[], steps: readonly Wild[], startedAgo: number) =>
  seen({
    spec: { operations },
    status: {
      ...RUNNING,
      startedAt: ago(startedAgo),
      steps: steps.map((s, index) => ({ index, executor: 'Agent', attempts: 1, ...s })),
    },
    permit: granted,
    machine: {
      metadata: { name: 'n', uid: 'm' },
      spec: { provider: { name: 'memory' }, providerID: 'memory://n' },
      status: { bootID: 'b1' },
    },
  })
const rebooting = (step: Wild, { spec, frozen = 'False' }: { readonly spec?: Wild; readonly frozen?: string } = {}) =>
  seen({
    spec: { operations: [{ reboot: { timeout: '10m', takeOverAfter: '60s' } }] },
    status: {
      ...RUNNING,
      steps: [{ index: 0, operation: 'reboot', executor: 'Agent', attempts: 1, bootID: 'b1', ...step }],
    },
    permit: granted,
    machine: {
      metadata: { name: 'n', uid: 'm' },
      spec: spec ?? { provider: { name: 'memory' }, providerID: 'memory://n' },
      status: { bootID: 'b1', conditions: [{ type: 'Frozen', status: frozen }] },
    },
  })
const central = (operation: string, more: Wild, state: Wild = RUNNING, step: Wild = {}): Seen =>
  seen({
    spec: { operations: [{ [operation]: {} }] },
    status: { ...state, steps: [{ ...cordoned, operation, outcome: undefined, ...step }] },
    permit: granted,
    ...more,
  })
const replacing = (more: Wild) => central('replace', more)
const replaced = (more: Wild) => central('replace', more, VERIFYING, { outcome: 'Succeeded' })
const calling = (more: Wild) => central('webhook', more)
const fencedNode = {
  metadata: { name: 'n', uid: 'u', annotations: { 'kubenode.io/fenced-by': 'repair-abcdefabcdefabcd' } },
  spec: { taints: [{ key: 'node.kubernetes.io/out-of-service', effect: 'NoExecute' }] },
}
const fenced = (more: Wild) =>
  central(
    'fence',
    { node: fencedNode, permit: undefined, ...more },
    { phase: 'Done', outcome: 'Succeeded', finishedAt: ago(9) },
  )

const otherHost = { ...listed, status: { bootID: 'b1', nodeRef: { name: 'n2', uid: 'u2' } } }
const leavingMachine = { ...listed, metadata: { ...listed.metadata, deletionTimestamp: ago(1) } }

const rows: readonly (readonly [string, Seen, string])[] = [
  [
    'a machine that is deleted between two steps is repaired no more: its slot is for the removal',
    seen({ status: { ...RUNNING, steps: [cordoned] }, permit: granted, machine: leavingMachine }),
    'Done, Superseded',
  ],
  ['nor is it verified', seen({ status: VERIFYING, permit: granted, machine: leavingMachine }), 'Done, Superseded'],
  [
    'a permit of that name for something else is not waited for: the next name is requested',
    seen({ status: AWAITING, permit: permit('Granted', 'Granted', { operations: ['SwitchComponent'] }) }),
    'RequestPermit, asks by j-p2',
  ],
  [
    'also while that one waits',
    seen({ status: AWAITING, permit: permit('Requested', 'Waiting', { operations: ['SwitchComponent'] }) }),
    'RequestPermit, asks by j-p2',
  ],
  [
    'nor is its slot freed when the repair ends',
    seen({
      status: { phase: 'Done', outcome: 'Cancelled', permitRef: 'j', finishedAt: ago(9) },
      permit: permit('Granted', 'Granted', { operations: ['SwitchComponent'] }),
    }),
    '',
  ],
  ['a new job asks for a permit', seen(), 'RequestPermit, AwaitingPermit, waits: Progressing'],
  [
    'a machine that is only observed is let alone',
    seen({ status: AWAITING, permit: granted, machine: observed }),
    'Done, Cancelled',
  ],
  [
    'also in the middle of a repair, between two steps',
    seen({ status: { ...RUNNING, steps: [cordoned] }, permit: granted, machine: observed }),
    'Done, Cancelled',
  ],
  [
    'but a step that is being done has to end',
    seen({ status: { ...RUNNING, steps: [cordoned, agentStep] }, permit: granted, machine: observed }),
    'ListJobs, waits: WaitingForOther',
  ],
  ['nor is it verified any longer', seen({ status: VERIFYING, permit: granted, machine: observed }), 'Done, Cancelled'],
  [
    'a machine that was deleted with its Node is not verified to the end of the time allowed',
    seen({
      status: VERIFYING,
      permit: granted,
      node: undefined,
      machine: undefined,
      cleared: { kind: 'Unknown', why: 'the Node was deleted' },
    }),
    'Done, Superseded',
  ],
  [
    'the Node of a machine that is still there may come back',
    seen({
      status: VERIFYING,
      permit: granted,
      node: undefined,
      cleared: { kind: 'Unknown', why: 'the Node was deleted' },
    }),
    'not away, waits: Progressing',
  ],
  ['a dry run ends before it asks', seen({ spec: { dryRun: true } }), 'Done, Cancelled'],
  ['a fault that went away is left alone', seen({ fault: { kind: 'Absent' } }), 'Done, Superseded'],
  [
    'a node of unknown state is waited for',
    seen({ fault: { kind: 'Unknown', why: 'x' } }),
    'waits: SafetyReadingUnknown',
  ],
  [
    'a node that was recreated is another node',
    seen({ node: { metadata: { name: 'n', uid: 'other' } } }),
    'Done, Superseded',
  ],
  [
    'a machine that is the host of another node gives no permit for this one',
    seen({ status: AWAITING, permit: granted, machine: otherHost }),
    'Done, Superseded',
  ],
  [
    'nor for a further step',
    seen({ status: { ...RUNNING, steps: [cordoned] }, permit: granted, machine: otherHost }),
    'Done, Superseded',
  ],
  ['a node that is gone needs no repair', seen({ node: undefined }), 'Done, Superseded'],
  ['a rule that is gone wants nothing any more', seen({ fault: { kind: 'Gone' } }), 'Done, Superseded'],
  [
    'nor does one that was edited since, however long the job waited',
    seen({ status: AWAITING, permit: granted, outdated: 'rule r is in mode DryRun now' }),
    'Done, Superseded',
  ],
  [
    'a rule that is reverted between two steps begins no further one',
    seen({ status: { ...RUNNING, steps: [cordoned] }, permit: granted, outdated: 'rule r was edited' }),
    'Done, Superseded',
  ],
  [
    'nor does one that is deleted',
    seen({ status: { ...RUNNING, steps: [cordoned] }, permit: granted, fault: { kind: 'Gone' } }),
    'Done, Superseded',
  ],
  [
    'but what runs has to end',
    seen({ status: { ...RUNNING, steps: [cordoned, agentStep] }, permit: granted, outdated: 'rule r was edited' }),
    'ListJobs, waits: WaitingForOther',
  ],
  ['a hold keeps it from asking', seen({ holds: [hold('Freeze')] }), 'waits: HoldPause'],
  ['a person ends it', seen({ holds: [hold('Abort', 'Machine')] }), 'Done, Cancelled'],
  ['who deletes it ends it', seen({ meta: { deletionTimestamp: ago(1) } }), 'Done, Cancelled'],
  [
    'what cannot be done ends before it is asked for',
    seen({ spec: { operations: [{ replace: {} }, { uncordon: {} }] } }),
    'Done, Permanent',
  ],
  ['what needs an agent cannot be done without one', seen({ spec: { machine: undefined } }), 'Done, Permanent'],
  ['closing it rests on the server, not on a cache', seen({ fault: { kind: 'Absent' }, isFresh: false }), 'fresh'],
  ['without a decision it waits', seen({ status: AWAITING, permit: permit('Requested') }), 'waits: PermitRequested'],
  [
    'a denied permit ends it, to be tried again',
    seen({ status: AWAITING, permit: permit('Denied', 'Denied') }),
    'Done, Transient',
  ],
  [
    'it does not ask while work on the host explains the fault',
    seen({ maintained: KNOWN }),
    'waits: MaintenanceUnderWay',
  ],
  [
    'nor begin, with a permit: the slot is given back when it would be renewed',
    seen({ status: AWAITING, permit: short, maintained: KNOWN }),
    'ReportResult, waits: MaintenanceUnderWay',
  ],
  [
    'and a fresh grant is kept for the moment',
    seen({ status: AWAITING, permit: granted, maintained: KNOWN }),
    'waits: MaintenanceUnderWay',
  ],
  [
    'what began goes on: half a repair is worse than none',
    seen({ status: RUNNING, permit: granted, maintained: KNOWN }),
    'step 0 begun',
  ],
  [
    'a cache that still shows the job as it began has no other permit requested than the one that was released',
    seen({ permit: givenBack, isFresh: false }),
    'AwaitingPermit, waits: Progressing',
  ],
  ['a lost permit is asked for again', seen({ status: AWAITING }), 'RequestPermit'],
  ['with a permit it starts', seen({ status: AWAITING, permit: granted }), 'Running'],
  ['it never starts on a cache', seen({ status: AWAITING, permit: granted, isFresh: false }), 'fresh'],
  [
    'a lease that is short is renewed before the start',
    seen({ status: AWAITING, permit: short }),
    'RenewPermit, Running',
  ],
  [
    'but not where others are as bad: the slot is handed back for another repair',
    seen({ status: AWAITING, permit: short, asked: { bad: 2, total: 5 } }),
    'ReportResult, waits: CohortBlamed',
  ],
  [
    'nor while the state of the node is unknown, which is read once more before the slot is freed',
    seen({ status: AWAITING, permit: short, fault: { kind: 'Unknown', why: 'x' }, isFresh: false }),
    'fresh',
  ],
  [
    'and then goes back',
    seen({ status: AWAITING, permit: short, fault: { kind: 'Unknown', why: 'x' } }),
    'ReportResult, waits: SafetyReadingUnknown',
  ],
  [
    'nor under a hold',
    seen({ status: AWAITING, permit: short, holds: [hold('Pause')] }),
    'ReportResult, waits: HoldPause',
  ],
  [
    'nor while a file on the node forbids it',
    seen({ status: AWAITING, permit: short, machine: frozenMachine }),
    'ReportResult, waits: HoldFreeze',
  ],
  [
    'a hold that is over in a moment costs no slot',
    seen({ status: AWAITING, permit: granted, holds: [hold('Pause')] }),
    'waits: HoldPause',
  ],
  [
    'a slot that went back is not given back again',
    seen({ status: AWAITING, permit: givenBack, holds: [hold('Pause')] }),
    'waits: HoldPause',
  ],
  [
    'once it may continue it requests again, on fresh readings',
    seen({ status: AWAITING, permit: givenBack, isFresh: false }),
    'fresh',
  ],
  ['under another name', seen({ status: AWAITING, permit: givenBack }), 'RequestPermit, asks by j-p2'],
  [
    'and another one every time',
    seen({ status: { ...AWAITING, permitRef: 'j-p9' }, permit: { ...givenBack, metadata: { name: 'j-p9' } } }),
    'RequestPermit, asks by j-p10',
  ],
  [
    'not while others are as bad: each grant counts in a rate',
    seen({ status: AWAITING, permit: givenBack, asked: { bad: 2, total: 5 } }),
    'waits: CohortBlamed',
  ],
  [
    'nor of a fault that went away meanwhile',
    seen({ status: AWAITING, permit: givenBack, fault: { kind: 'Absent' } }),
    'Done, Superseded',
  ],
  [
    'a permit that ran out is no refusal',
    seen({ status: AWAITING, permit: permit('Expired') }),
    'RequestPermit, asks by j-p2',
  ],
  [
    'nor is one that was taken back',
    seen({ status: AWAITING, permit: permit('Revoked') }),
    'RequestPermit, asks by j-p2',
  ],
  [
    'a permit that waited until the breaker was half open is asked for again, without a cooldown',
    seen({ status: AWAITING, permit: deniedBy('Breaker', 'BreakerHalfOpen') }),
    'RequestPermit, asks by j-p2',
  ],
  [
    'on fresh sight',
    seen({ status: AWAITING, permit: deniedBy('Breaker', 'BreakerHalfOpen'), isFresh: false }),
    'fresh',
  ],
  [
    'and only while it is still needed',
    seen({ status: AWAITING, permit: deniedBy('Breaker', 'BreakerHalfOpen'), fault: { kind: 'Absent' } }),
    'Done, Superseded',
  ],
  [
    'what a policy refuses is not asked for again',
    seen({ status: AWAITING, permit: deniedBy('Rule', 'PolicyRuleDenied') }),
    'Done, Transient',
  ],
  [
    'the permit before says nothing about the one that was asked for',
    seen({ status: { ...AWAITING, permitRef: 'j-p2' }, permit: givenBack }),
    'RequestPermit',
  ],
  [
    'who gives up lets the lease go',
    seen({ status: AWAITING, permit: short, fault: { kind: 'Absent' } }),
    'Done, Superseded',
  ],
  [
    'it watches a moment before it starts',
    seen({ status: AWAITING, permit: granted, isRipe: false }),
    'waits: Progressing',
  ],
  [
    'it does not start where others are as bad',
    seen({ status: AWAITING, permit: granted, asked: { bad: 2, total: 5 } }),
    'waits: CohortBlamed',
  ],
  [
    'a permit for another target allows nothing',
    seen({
      status: AWAITING,
      permit: permit('Granted', 'Granted', { targets: [{ kind: 'Machine', name: 'o', uid: 'o' }] }),
    }),
    'Done, Transient',
  ],
  [
    'a fault that heals while it waits is left alone',
    seen({ status: AWAITING, permit: granted, fault: { kind: 'Absent' } }),
    'Done, Superseded',
  ],
  ['a step is written down before it is done', seen({ status: RUNNING, permit: granted }), 'step 0 begun'],
  [
    'and done after',
    seen({ status: { ...RUNNING, steps: [{ ...cordoned, outcome: undefined }] }, permit: granted }),
    'DoStep',
  ],
  [
    'a step does not begin once the permit ended',
    seen({ status: RUNNING, permit: permit('Expired') }),
    'Done, Transient',
  ],
  [
    'nor goes on',
    seen({ status: { ...RUNNING, steps: [{ ...cordoned, outcome: undefined }] }, permit: permit('Revoked') }),
    'step 0 Failed',
  ],
  [
    'the agent is shown its job',
    seen({ status: { ...RUNNING, steps: [cordoned] }, permit: granted }),
    'ListJobs, waits: WaitingForOther',
  ],
  [
    'a failed step ends the job',
    seen({ status: { ...RUNNING, steps: [cordoned, { ...agentStep, outcome: 'Failed' }] }, permit: granted }),
    'Done, Transient',
  ],
  [
    'a step that the agent does is waited for, also beyond its time',
    seen({ status: { ...RUNNING, startedAt: ago(1_000), steps: [cordoned, agentStep] }, permit: granted }),
    'ListJobs, waits: WaitingForOther',
  ],
  [
    'F38 an agent that never comes back keeps no slot: the next rung is tried',
    seen({ status: { ...RUNNING, startedAt: ago(9_999), steps: [cordoned, agentStep] }, permit: granted }),
    'ListJobs, Done, Escalated',
  ],
  [
    'F19 a repair that waits gives way to a higher rule',
    seen({ status: AWAITING, permit: granted, meta: { annotations: { 'kubenode.io/superseded-by': 'other' } } }),
    'Done, Superseded',
  ],
  [
    'one that has begun does not',
    seen({ status: RUNNING, permit: granted, meta: { annotations: { 'kubenode.io/superseded-by': 'other' } } }),
    'step 0 begun',
  ],
  ['a node without pods needs no drain', draining({ hasPods: false }), 'step 1 Skipped'],
  ['a node with pods does', draining({ hasPods: true }), 'step 1 begun'],
  ['and where it is unknown it does', draining({ hasPods: undefined }), 'step 1 begun'],
  [
    'a repair that is deleted in mid-run begins nothing more',
    seen({ status: RUNNING, permit: granted, meta: GOING }),
    'Done, Cancelled',
  ],
  [
    'nor does one that is aborted',
    seen({ status: RUNNING, permit: granted, holds: [hold('Abort')] }),
    'Done, Cancelled',
  ],
  [
    'a drain of a repair that is deleted is given up',
    draining({ meta: GOING }, { startedAt: ago(60) }),
    'step 1 Failed',
  ],
  [
    'what an agent has begun ends first',
    seen({ status: { ...RUNNING, steps: [cordoned, agentStep] }, permit: granted, machine: listed, meta: GOING }),
    'waits: WaitingForOther',
  ],
  [
    'under a hold nothing new is begun',
    seen({ status: RUNNING, permit: granted, holds: [hold('Pause')] }),
    'waits: HoldPause',
  ],
  [
    'and the agent does not see the job',
    seen({ status: { ...RUNNING, steps: [cordoned] }, permit: granted, machine: listed, holds: [hold('Pause')] }),
    'ListJobs, waits: HoldPause',
  ],
  ['a drain that has begun goes on', draining({ holds: [hold('Pause')] }, { startedAt: ago(60) }), 'DoStep'],
  ['a drain goes on pass by pass', draining({}, { startedAt: ago(60) }), 'DoStep'],
  [
    'and says what it waits for',
    draining({}, { startedAt: ago(60), output: 'a budget keeps x' }),
    'DoStep, waits: WaitingForOther',
  ],
  ['and fails at its deadline', draining({}, { startedAt: ago(121), output: 'a budget keeps x' }), 'step 1 Failed'],
  ['a silent agent keeps no evidence', silent([{ collectEvidence: {} }, { reboot: {} }]), 'step 0 Skipped'],
  [
    'but one that began it a moment ago may still',
    silent([{ collectEvidence: {} }], [{ operation: 'collectEvidence', startedAt: ago(20) }]),
    'ListJobs, waits: WaitingForOther',
  ],
  [
    'F38 an agent that does not begin to keep evidence holds up nothing',
    living([{ collectEvidence: {} }, { reboot: {} }], [], 61),
    'step 0 Skipped',
  ],
  ['it has a minute to begin', living([{ collectEvidence: {} }], [], 59), 'ListJobs, waits: WaitingForOther'],
  [
    'and longer once it has begun',
    living([{ collectEvidence: {} }], [{ operation: 'collectEvidence', startedAt: ago(200) }], 210),
    'ListJobs, waits: WaitingForOther',
  ],
  [
    'F38 a reboot that a living agent does not begin is the provider’s',
    living([{ reboot: {} }], [], 61),
    'step 0 begun',
  ],
  [
    'counted from when its turn came',
    living(
      [{ collectEvidence: {} }, { reboot: {} }],
      [{ operation: 'collectEvidence', outcome: 'Succeeded', finishedAt: ago(30) }],
      90,
    ),
    'ListJobs, waits: WaitingForOther',
  ],
  ['where the agent is silent the provider reboots', silent([{ reboot: {} }]), 'step 0 begun'],
  [
    'an agent that went silent while it rebooted is waited for',
    silent([{ reboot: { timeout: '5m' } }], [{ operation: 'reboot', startedAt: ago(200), bootID: 'b1' }]),
    'ListJobs, waits: WaitingForOther',
  ],
  [
    'and then the provider reboots',
    silent([{ reboot: { timeout: '5m' } }], [{ operation: 'reboot', startedAt: ago(301), bootID: 'b1' }]),
    'step 0 begun',
  ],
  [
    'F38 a machine that is still heard of long after the agent ordered its reboot has its power cut, where the rule says so',
    rebooting({ startedAt: ago(61) }),
    'step 0 begun',
  ],
  ['it has its time to go down', rebooting({ startedAt: ago(59) }), 'ListJobs, waits: WaitingForOther'],
  [
    'one that has rebooted needs no second boot',
    rebooting({ startedAt: ago(61), bootID: 'b0' }),
    'ListJobs, waits: WaitingForOther',
  ],
  [
    'where no provider can cut the power, time is all that it is given',
    rebooting({ startedAt: ago(61) }, { spec: {} }),
    'ListJobs, waits: WaitingForOther',
  ],
  [
    'S21 the file on the node binds the provider as well',
    rebooting({ startedAt: ago(61) }, { frozen: 'True' }),
    'ListJobs, waits: WaitingForOther',
  ],
  [
    'S21 nor does any step of ours begin on it',
    seen({ status: RUNNING, permit: granted, machine: frozenMachine }),
    'waits: HoldFreeze',
  ],
  ['S21 nor go on', draining({ machine: frozenMachine }, { startedAt: ago(60) }), 'waits: HoldFreeze'],
  [
    'the power of a machine is not cut once the permit ended',
    { ...rebooting({ startedAt: ago(61) }), permit: permit('Expired') },
    'waits: WaitingForOther',
  ],
  [
    'a machine that is being deleted is replaced, by whatever hand',
    replacing({ machine: { metadata: { name: 'n', uid: 'm', deletionTimestamp: ago(1) }, spec: {} } }),
    'step 0 Succeeded',
  ],
  ['one that is there is deleted', replacing({}), 'DoStep'],
  ['a replace outlives its node', replacing({ node: undefined, machine: undefined }), 'step 0 Succeeded'],
  ['a replaced machine that still goes is waited for', replaced({}), 'waits: WaitingForOther'],
  ['once it is gone the repair has helped', replaced({ node: undefined, machine: undefined }), 'Done, Succeeded'],
  [
    'a webhook is not called twice: a call that is not on record may have happened',
    calling({ begun: new Set() }),
    'step 0 Failed',
  ],
  ['a call that is on record as begun is made', calling({ begun: new Set(['0/1']) }), 'DoStep'],
  ['a fence stays while the node is away', fenced({ standing: { kind: 'Silent', why: 'x' } }), ''],
  ['and goes when it is back', fenced({}), 'ReleaseFence'],
  [
    'one that it never began is not',
    seen({ status: { ...RUNNING, startedAt: ago(9_999), steps: [cordoned] }, permit: granted }),
    'ListJobs, Done, Transient',
  ],
  [
    'what ended with its node is no step at work',
    seen({ status: { ...RUNNING, steps: [cordoned, agentStep] }, permit: granted, node: undefined }),
    'Done, Superseded',
  ],
  [
    'after the last step it verifies',
    seen({ status: { ...RUNNING, steps: [cordoned, { ...agentStep, outcome: 'Succeeded' }] }, permit: granted }),
    'Verifying',
  ],
  [
    'a fault that is still shown may still go',
    seen({ status: VERIFYING, permit: granted }),
    'not away, waits: Progressing',
  ],
  [
    'a fault that stays is for the next rung',
    seen({
      status: { ...VERIFYING, conditions: [{ type: 'FaultCleared', status: 'Unknown', lastTransitionTime: ago(61) }] },
      permit: granted,
    }),
    'Done, Escalated',
  ],
  [
    'a fault that is away must stay away',
    seen({ status: VERIFYING, permit: granted, cleared: { kind: 'Absent', since: NOW - 29_000 } }),
    'away, waits: Progressing',
  ],
  [
    'and then it has helped',
    seen({ status: VERIFYING, permit: granted, cleared: { kind: 'Absent', since: NOW - 31_000 } }),
    'Done, Succeeded',
  ],
  [
    'an unobserved flap restarts the time',
    seen({
      status: { ...VERIFYING, verifyUntil: ago(1) },
      permit: granted,
      cleared: { kind: 'Absent', since: NOW - 5_000 },
    }),
    'away, waits: Progressing',
  ],
  [
    'a clock that lags proves nothing from before the repair',
    seen({
      status: { ...VERIFYING, conditions: [{ type: 'FaultCleared', status: 'Unknown', lastTransitionTime: ago(10) }] },
      permit: granted,
      cleared: { kind: 'Absent', since: NOW - 3_600_000 },
    }),
    'away, waits: Progressing',
  ],
  [
    'unknown is not away',
    seen({ status: { ...VERIFYING, verifyUntil: ago(1) }, permit: granted, cleared: { kind: 'Unknown', why: 'x' } }),
    'not away, waits: Progressing',
  ],
  [
    'a job at work renews its permit',
    seen({
      status: VERIFYING,
      permit: permit('Granted', 'Granted', { renewTime: ago(50) }),
      cleared: { kind: 'Absent', since: NOW - 1_000 },
    }),
    'RenewPermit, away, waits: Progressing',
  ],
  [
    'a job that is done frees its slot',
    seen({ status: { phase: 'Done', outcome: 'Succeeded', startedAt: ago(9), finishedAt: ago(1) }, permit: granted }),
    'ReportResult',
  ],
  [
    'its record is kept for a day',
    seen({
      status: { phase: 'Done', outcome: 'Succeeded', finishedAt: ago(86_000) },
      meta: { deletionTimestamp: ago(9) },
    }),
    '',
  ],
  ['and goes then', seen({ status: { phase: 'Done', outcome: 'Succeeded', finishedAt: ago(86_401) } }), 'DeleteRecord'],
  [
    'with its finalizer last',
    seen({
      status: { phase: 'Done', outcome: 'Succeeded', finishedAt: ago(86_401) },
      meta: { deletionTimestamp: ago(1) },
    }),
    'ReleaseRecord',
  ],
]

describe('a repair', () => {
  test.each(rows)('%s', (_, world, expected) => expect(told(plan(world, NOW))).toBe(expected))
})

describe('a rescue that its host does not take', () => {
  const silent = (status: 'True' | 'False', ssh: Wild = {}) => ({
    kind: 'Machine',
    metadata: { name: 'n', uid: 'm' },
    spec: { channel: 'Agent', ssh },
    status: { conditions: [{ type: 'AgentReachable', status, reason: 'X', message: '' }] },
  })
  const key = { rescue: { secretRef: { name: 'rescue' } } }
  const refused = { index: 0, operation: 'rescue', executor: 'Controller', attempts: 1, outcome: 'Skipped' }
  const rescued = (machine: Wild, steps: readonly Wild[]) =>
    plan(seen({ spec: { operations: [{ rescue: {} }] }, permit: granted, status: { ...RUNNING, steps }, machine }), NOW)
  const output = 'State: AuthRefused: Permission denied (publickey)'

  test('is skipped without a session where the Machine has no key, with the reason', () => {
    const { change, actions } = rescued(silent('False'), [])
    expect(actions).toEqual([])
    expect(change?.step).toMatchObject({ outcome: 'Skipped', output: 'machine n has no rescue key (spec.ssh.rescue)' })
  })

  test('ends at once, and the next rung follows: there is nothing to verify', () => {
    const { change } = rescued(silent('False', key), [{ ...refused, output }])
    expect(change).toMatchObject({ phase: 'Done', outcome: 'Escalated', message: `skipped: ${output}` })
  })

  test('is verified when the agent reports again by itself', () => {
    expect(told(rescued(silent('True', key), [{ ...refused, output }]))).toBe('Verifying')
  })
})

test('a cordon that outlived its ladder goes as soon as the fault was away long enough, without anybody telling more of the node', () => {
  const owners = JSON.stringify({ 'repair-abcdefabcdefabcd': { reason: 'r' } })
  const node = {
    kind: 'Node',
    metadata: { name: 'n', uid: 'u', annotations: { 'kubenode.io/cordon-owners': owners } },
    spec: { taints: [{ key: 'kubenode.io/cordon', effect: 'NoSchedule' }] },
  }
  const status = { phase: 'Done', outcome: 'Escalated', startedAt: ago(90), finishedAt: ago(60) }
  const after = (seconds: number) =>
    plan(seen({ status, node, cleared: { kind: 'Absent', since: NOW - seconds * 1_000 } }), NOW)
  expect(after(10)).toEqual({ actions: [], requeueAfter: 20_000 })
  expect(told(after(30))).toBe('ReleaseCordon')
})

test('a cordon that outlived its ladder goes with the Machine when its host is handed back', () => {
  const owner = 'repair-abcdefabcdefabcd'
  const node = {
    kind: 'Node',
    metadata: {
      name: 'n',
      uid: 'u',
      annotations: { 'kubenode.io/cordon-owners': JSON.stringify({ [owner]: { reason: 'r' } }) },
    },
    spec: { taints: [{ key: 'kubenode.io/cordon', effect: 'NoSchedule' }] },
  }
  const status = { phase: 'Done', outcome: 'Escalated', startedAt: ago(90), finishedAt: ago(60) }
  const world = { status, node, cleared: { kind: 'Present' } }
  expect(told(plan(seen(world), NOW))).toBe('')
  expect(told(plan(seen({ ...world, machine: undefined }), NOW))).toBe('ReleaseCordon')
})

describe('a step with a pod', () => {
  const pod = { name: 'accept-1', uid: 'p', template: 'd' }
  const step = { index: 1, operation: 'runPod', executor: 'Controller', attempts: 1, startedAt: ago(9), pod }
  const spec = { operations: [{ cordon: {} }, { runPod: { template: 'burn-in' } }], acceptance: 1 }
  const running = (more: Wild = {}, startedAt = ago(20)) =>
    told(
      plan(seen({ spec, permit: granted, status: { ...RUNNING, startedAt, steps: [cordoned, step] }, ...more }), NOW),
    )

  test.each([
    ['goes on while the pod runs', running(), 'DoStep'],
    ['ends its pod when the time of the job is over', running({}, ago(700)), 'EndPod, step 1 Failed'],
    ['ends its pod when the permit has expired', running({ permit: undefined }), 'EndPod, step 1 Failed'],
  ])('%s', (_, was, expected) => expect(was).toBe(expected))
})

describe('a node that a script of the rung has to accept', () => {
  const owners = JSON.stringify({ 'repair-abcdefabcdefabcd': { reason: 'r' } })
  const node = {
    kind: 'Node',
    metadata: { name: 'n', uid: 'u', annotations: { 'kubenode.io/cordon-owners': owners } },
    spec: { taints: [{ key: 'kubenode.io/cordon', effect: 'NoSchedule' }] },
  }
  const operations = [{ cordon: {} }, { runScript: { component: 'memtest', version: '1.0.0' } }]
  const spec = { operations, acceptance: 1 }
  const script = (outcome: string) => ({ index: 1, operation: 'runScript', executor: 'Agent', attempts: 1, outcome })
  const failed = { ...script('Failed'), output: 'testing\n2 bad pages' }
  const over = (outcome: string, step: Wild, seconds = 60) => ({
    status: { phase: 'Done', outcome, startedAt: ago(90), finishedAt: ago(seconds), steps: [cordoned, step] },
    spec,
    node,
    cleared: { kind: 'Absent', since: NOW - 3_600_000 },
  })

  /** A finished repair with a script that started so many seconds ago. */
  const other = (more: Wild, step: Wild, seconds: number) =>
    seen({
      meta: { name: 'o', uid: 'o' },
      spec: { ...spec, ...more },
      status: { phase: 'Done', startedAt: ago(seconds), finishedAt: ago(seconds - 1), steps: [cordoned, step] },
    }).job

  test('is not repaired when the script fails, and the job says so', () => {
    const { change } = plan(
      seen({ spec, node, permit: granted, status: { ...RUNNING, steps: [cordoned, failed] } }),
      NOW,
    )
    expect(change).toMatchObject({
      outcome: 'Transient',
      message: 'the node was not accepted and stays cordoned: script memtest 1.0.0 failed: 2 bad pages',
    })
  })

  test.each([
    ['opens once the script passed', over('Succeeded', script('Succeeded')), 'ReleaseCordon'],
    ['stays cordoned although the fault cleared', over('Transient', failed), ''],
    ['and after a day, with the record', over('Transient', failed, 90_000), ''],
    [
      'until a person deletes the record',
      { ...over('Transient', failed), meta: { deletionTimestamp: ago(1) } },
      'ReleaseCordon',
    ],
    [
      'also when a later repair ended before it did anything',
      {
        ...over('Superseded', {}),
        spec,
        status: { phase: 'Done', outcome: 'Superseded', finishedAt: ago(9) },
        others: [seen(over('Transient', failed)).job],
      },
      '',
    ],
    [
      'opens when a later repair of a new incident of the same rule was accepted',
      { ...over('Transient', failed), others: [other({ incident: 'new' }, script('Succeeded'), 30)] },
      'ReleaseCordon',
    ],
    [
      'but not for one that was accepted before',
      { ...over('Transient', failed), others: [other({ incident: 'old' }, script('Succeeded'), 300)] },
      '',
    ],
    [
      'nor by another rule',
      {
        ...over('Transient', failed),
        others: [other({ incident: 'new', remedierRef: { name: 'other' } }, script('Succeeded'), 30)],
      },
      '',
    ],
    [
      'nor for the node that had its name before',
      {
        ...over('Transient', failed),
        others: [other({ incident: 'new', node: { name: 'n', uid: 'u2' } }, script('Succeeded'), 30)],
      },
      '',
    ],
    [
      'stays cordoned although a later rung without a script cleared the fault',
      {
        ...over('Succeeded', {}),
        spec: { operations: [{ cordon: {} }], rung: 1 },
        others: [other({}, failed, 300)],
      },
      '',
    ],
    [
      'stays cordoned when only an older record is deleted',
      { ...over('Transient', failed, 300), meta: GOING, others: [other({ rung: 1 }, failed, 30)] },
      '',
    ],
    [
      'opens at once when the deciding record is deleted, although the fault is present',
      { ...over('Transient', failed), meta: GOING, cleared: { kind: 'Present' } },
      'ReleaseCordon',
    ],
  ])('%s', (_, world, expected) => expect(told(plan(seen(world as Wild), NOW))).toBe(expected))

  const running = { spec, node, permit: granted, status: { ...RUNNING, steps: [cordoned] } }
  test.each([
    ['an abort', { holds: [hold('Abort')] }, 'hold h: x'],
    [
      'a machine that is now observed only',
      { machine: { ...listed, spec: { channel: 'Observe' } } },
      'the machine is now observed only',
    ],
    ['a permit that expired', { permit: permit('Expired', 'Granted') }, 'the permit expired before step 1 runScript'],
    [
      'an agent that lost the step',
      { status: { ...RUNNING, startedAt: ago(2_000), steps: [cordoned, { ...agentStep, operation: 'runScript' }] } },
      'no heartbeat from the agent since it started step 1 runScript',
    ],
  ])('stays cordoned after %s, and the job says so', (_, more, message) =>
    expect(plan(seen({ ...running, ...more }), NOW).change?.message).toBe(
      `the node was not accepted and stays cordoned: ${message}`,
    ),
  )

  test.each([
    ['that has no cordon', { node: { ...node, spec: {} } }, 'hold h: x'],
    ['whose record is deleted', { meta: GOING }, 'hold h: x'],
    ['whose script passed', { status: { ...RUNNING, steps: [cordoned, script('Succeeded')] } }, 'hold h: x'],
  ])('a repair %s says nothing of it', (_, more, message) =>
    expect(plan(seen({ ...running, holds: [hold('Abort')], ...more }), NOW).change?.message).toBe(message),
  )

  test('is not opened by the uncordon of a later rung without a script', () => {
    const later = { operations: [{ uncordon: {} }], rung: 1 }
    const world = seen({ ...running, spec: later, status: RUNNING, others: [other({}, failed, 300)] })
    expect(plan(world, NOW).change?.step).toMatchObject({
      outcome: 'Skipped',
      output: 'the node was not accepted and stays cordoned',
    })
  })
})

test('a frozen node may still be opened to pods again: that takes nothing from anybody', () =>
  expect(told(plan(central('uncordon', { machine: frozenMachine }), NOW))).toBe('DoStep'))

test('whatever is seen, a job moves along its table, closes on fresh sight only, and begins nothing without a permit', () => {
  const worlds = fc.constantFrom(...rows.map(([, world]) => world))
  const any = fc.record({
    one: worlds,
    two: worlds,
    fault: fc.constantFrom('Present', 'Absent', 'Unknown', 'Gone'),
    phase: fc.constantFrom('Requested', 'Granted', 'Denied', 'Expired', 'Revoked', 'Released', undefined),
    isFresh: fc.boolean(),
    isRipe: fc.boolean(),
  })
  fc.assert(
    fc.property(any, ({ one, two, fault, phase, isFresh, isRipe }) => {
      const world = {
        ...one,
        ...two,
        job: one.job,
        fault: { kind: fault, why: 'x' },
        permit: phase && permit(phase),
        isFresh,
        isRipe,
      } as Seen
      const { change, actions } = plan(world, NOW)
      const from = one.job.status?.phase ?? 'Pending'
      if (change?.phase !== undefined && change.phase !== from)
        expect(jobTable.rows.some((r) => r.from === from && r.to === change.phase)).toBe(true)
      if (change?.outcome !== undefined) expect([isFresh, change.phase]).toEqual([true, 'Done'])
      const begins =
        change?.phase === 'Running' ||
        (change?.step !== undefined && change.step.outcome === undefined) ||
        actions.some((a) => a.kind === 'DoStep')
      if (begins) expect([phase, isFresh]).toEqual(['Granted', true])
      if (change?.phase === 'Running') expect(fault).toBe('Present')
    }),
    { numRuns: 1_000 },
  )
})

describe('a report to the vendor', () => {
  const operations = [{ reportFault: { category: 'Memory' } }, { cordon: {} }]
  const told = { index: 0, operation: 'reportFault', executor: 'Controller', attempts: 1, startedAt: ago(30) }
  const earlier = (incident: string, step: Wild) => ({
    metadata: { name: 'j-0' },
    spec: { incident },
    status: { phase: 'Done', steps: [step] },
  })
  const wanted = (others: readonly Wild[]) =>
    plan(seen({ spec: { operations }, status: RUNNING, permit: granted, others }), NOW).change?.step

  test('is begun once for an incident', () => {
    expect(wanted([])).toMatchObject({ operation: 'reportFault', startedAt: ago(0) })
    expect(wanted([earlier('fedcbafedcbafedc', { ...told, outcome: 'Succeeded' })])?.outcome).toBeUndefined()
  })

  test.each(['Succeeded', 'Failed', 'Skipped'])(
    'is not repeated by a later rung or attempt once it was begun (%s)',
    (outcome) => {
      expect(wanted([earlier('abcdefabcdefabcd', { ...told, outcome })])).toMatchObject({
        outcome: 'Skipped',
        output: 'already reported for this incident',
      })
    },
  )

  test('that another process began is not sent again, and costs the repair nothing', () => {
    const began = seen({ spec: { operations }, status: { ...RUNNING, steps: [told] }, permit: granted })
    expect(plan(began, NOW).change?.step).toMatchObject({
      outcome: 'Skipped',
      output: 'unknown whether the request was sent',
    })
  })
})

describe('devices that the repair isolated', () => {
  const done = (outcome: string, more: Wild = {}) =>
    seen({
      status: { phase: 'Done', outcome, permitRef: 'j', finishedAt: ago(9) },
      node: undefined,
      mayHoldDevices: true,
      ...more,
    })
  const absent = (seconds: number) => ({ kind: 'Absent', since: NOW - seconds * 1_000 })
  test.each([
    ['are free once it is verified, also if the node was replaced', done('Succeeded'), 'ReleaseDevices'],
    ['stay isolated for the next rung', done('Escalated'), ''],
    ['are free once the fault is over', done('Escalated', { cleared: absent(31) }), 'ReleaseDevices'],
    ['not before it was over for long enough', done('Escalated', { cleared: absent(29) }), ''],
    ['not while another repair of the incident runs', done('Succeeded', { others: [other('Running')] }), ''],
    ['are looked for once', done('Succeeded', { mayHoldDevices: false }), ''],
  ])('%s', (_, given, wanted) => expect(told(plan(given, NOW))).toBe(wanted))
})

const other = (phase: string) => ({
  metadata: { name: 'k', uid: 'k' },
  spec: { ...seen().job.spec, rung: 1 },
  status: { phase },
})
