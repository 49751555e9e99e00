import { repairSpec } from '#test/support/fleets/repair-jobs.ts'
import { expect, test } from 'vitest'
import type { RemedyOperationJob } from '#api/kinds/remedy-operation-job.ts'
import { planJob, type JobSeen } from './plan.ts'
import type { JobRecord, StepRecord } from './record.ts'

type Status = NonNullable<RemedyOperationJob['status']>

const spec = repairSpec([{ cordon: {} }, { restartComponent: { component: 'b' } }, { reboot: { timeout: '1m' } }])

const cordoned = { index: 0, operation: 'cordon', executor: 'Controller', attempts: 1, outcome: 'Succeeded' } as const

const job = (status: Status = {}, more: Partial<RemedyOperationJob['spec']> = {}): RemedyOperationJob => ({
  apiVersion: 'kubenode.io/v1alpha1',
  kind: 'RemedyOperationJob',
  metadata: { name: 'j', uid: 'job-uid' },
  spec: { ...spec, ...more },
  status: { phase: 'Running', permitRef: 'p', steps: [cordoned], ...status },
})

const step = (index: number, operation: StepRecord['operation'], more: Partial<StepRecord> = {}): StepRecord => ({
  index,
  operation,
  attempts: 1,
  bootId: 'boot-1',
  startedAt: 0,
  ...more,
})
const begun = (operation: StepRecord['operation'], index = 1) => ({
  index,
  operation,
  executor: 'Agent' as const,
  attempts: 1,
  startedAt: '2026-01-01T00:00:00Z',
  bootID: 'boot-1',
})
const record = (...steps: StepRecord[]): JobRecord => ({ format: 1, uid: 'job-uid', name: 'j', steps })
const restarted = step(1, 'restartComponent', { outcome: 'Succeeded' })
const granted = { kind: 'Granted', permit: 'p' } as const

const CASES: readonly [what: string, seen: Partial<JobSeen>, says: string][] = [
  ['a step whose turn it is', {}, 'ReadPermit p'],
  ['with its permit granted', { permit: granted }, 'Begin 1 restartComponent 1'],
  ['with its permit unknown', { permit: { kind: 'Unknown', permit: 'p', why: 'away' } }, 'waits: permit p: away'],
  [
    'with its permit refused',
    { permit: { kind: 'NotGranted', permit: 'p', why: 'it is Revoked' } },
    'waits: permit p: it is Revoked',
  ],
  ['with another permit granted', { permit: { kind: 'Granted', permit: 'q' } }, 'ReadPermit p'],
  [
    'without a permit',
    { job: { ...job(), status: { phase: 'Running', steps: [cordoned] } } },
    'waits: waiting for the permit',
  ],
  [
    'on a node that is frozen',
    { isNodeFrozen: true, permit: granted },
    'waits: the node is frozen by a file on the node',
  ],
  ['of a job that does not run', { job: job({ phase: 'AwaitingPermit' }) }, 'waits: the job is AwaitingPermit'],
  ['of a job that is over', { job: job({ phase: 'Done' }), permit: granted }, 'waits: the job is Done'],
  ['of a dry run', { job: job({}, { dryRun: true }) }, 'waits: the job is a dry run'],
  ['of another machine', { job: job({}, { machine: 'other' }) }, 'waits: the job is for another machine'],
  [
    'of an older node of the name',
    { nodeUid: 'other' },
    'waits: the job is for another node, or the name of this node is not known yet',
  ],
  [
    'of a node that is not known',
    { nodeUid: undefined },
    'waits: the job is for another node, or the name of this node is not known yet',
  ],
  ['of an older job of the name', { record: { ...record(), uid: 'other' } }, 'waits: an earlier job had the same name'],
  [
    'after a step that has not ended',
    { job: job({ steps: [] }) },
    'waits: waiting for step 0, which a controller runs',
  ],
  [
    'after a step that failed',
    { job: job({ steps: [{ ...cordoned, outcome: 'Failed' }] }) },
    'waits: an earlier step failed',
  ],
  [
    'that the provider does',
    {
      record: record(restarted),
      job: job({ steps: [cordoned, { index: 2, operation: 'reboot', executor: 'Provider', attempts: 1 }] }),
    },
    'waits: waiting for step 2, which a controller runs',
  ],
  [
    'that is being done',
    { record: record(step(1, 'restartComponent')), busy: 1 },
    'waits: waiting for the running step',
  ],
  ['that an agent before us began', { record: record(step(1, 'restartComponent')) }, 'Conclude 1 Unknown'],
  [
    'whose end is unknown',
    { record: record(step(1, 'restartComponent', { outcome: 'Unknown' })), permit: granted },
    'waits: an earlier step failed',
  ],
  [
    'that could not be recorded',
    { record: record(step(1, 'restartComponent', { outcome: 'Unknown', isUndone: true })), permit: granted },
    'Begin 1 restartComponent 2',
  ],
  ['the reboot', { record: record(restarted), permit: granted }, 'Begin 2 reboot 1'],
  [
    'the reboot that has not come yet',
    { record: record(restarted, step(2, 'reboot')) },
    'waits: waiting for the reboot',
  ],
  [
    'F36 the reboot that an agent before us began and may not have asked for',
    { record: record(restarted, step(2, 'reboot')), isRebootAsked: false },
    'ReadPermit p',
  ],
  [
    'F36 that reboot with its permit granted still',
    { record: record(restarted, step(2, 'reboot')), isRebootAsked: false, permit: granted },
    'Begin 2 reboot 1',
  ],
  [
    'F36 that reboot with its permit taken back',
    {
      record: record(restarted, step(2, 'reboot')),
      isRebootAsked: false,
      permit: { kind: 'NotGranted', permit: 'p', why: 'it is Revoked' },
    },
    'waits: permit p: it is Revoked',
  ],
  [
    'F38 the reboot that does not come within its time',
    { record: record(restarted, step(2, 'reboot', { startedUpMs: 100_000 })), upMs: 160_001 },
    'Conclude 2 Failed',
  ],
  ['the reboot that came', { record: record(restarted, step(2, 'reboot')), bootId: 'boot-2' }, 'Conclude 2 Succeeded'],
  [
    'the reboot that came and was reported',
    { record: record(restarted, step(2, 'reboot', { outcome: 'Succeeded' })), bootId: 'boot-2', permit: granted },
    'waits: every step has ended',
  ],
  [
    'that began, with its journal lost',
    { job: job({ steps: [cordoned, begun('restartComponent')] }), permit: granted },
    'Conclude 1 Unknown',
  ],
  [
    'that began, with its journal there',
    { job: job({ steps: [cordoned, begun('restartComponent')] }), record: record(restarted), permit: granted },
    'Begin 2 reboot 1',
  ],
  [
    'the reboot that came, with its journal lost',
    {
      job: job({ steps: [cordoned, { ...begun('restartComponent'), outcome: 'Succeeded' }, begun('reboot', 2)] }),
      bootId: 'boot-2',
    },
    'Conclude 2 Succeeded',
  ],
  [
    'evidence whose end is unknown',
    {
      job: job({ steps: [] }, { operations: [{ collectEvidence: { kinds: ['Disks'] } }] }),
      record: record(step(0, 'collectEvidence', { outcome: 'Unknown' })),
      permit: granted,
    },
    'Begin 0 collectEvidence 2',
  ],
]

test.each(CASES)('a step %s', (_what, more, says) => {
  const plan = planJob({
    job: job(),
    record: undefined,
    machine: 'm',
    nodeUid: 'node-uid',
    bootId: 'boot-1',
    permit: undefined,
    busy: undefined,
    isNodeFrozen: false,
    isRebootAsked: true,
    upMs: 100_000,
    ...more,
  })
  const { action } = plan
  if (action === undefined) expect(`waits: ${plan.waiting}`).toBe(says)
  else if (action.kind === 'ReadPermit') expect(`ReadPermit ${action.permit}`).toBe(says)
  else if (action.kind === 'Begin')
    expect(`Begin ${action.step.index} ${action.step.operation} ${action.step.attempts}`).toBe(says)
  else expect(`Conclude ${action.step.index} ${action.step.outcome}`).toBe(says)
})
