import { expect, test } from 'vitest'
import { firstStep } from './first-step.ts'

const waits = [
  'machine/m-1 is Ready',
  'Waiting for 2m: RateExceeded',
  '  observed: 20 in 10m',
  '  unblocks when: the rate limit resets',
]
const blocked = [
  'set/base is Progressing',
  'Blocked for 4m: RevisionFailed',
  '  observed: beacon 1.2.0 failed on m-2',
  '  unblocks when: a commit changes the version',
]
const held = [
  'release/a is Progressing',
  'Cluster a: waiting for 4m: PruneGuard',
  '  digest to approve: ddd',
  '  kubenode approve release/a --reason WHY',
]
const frozen = (hold: string) => [
  'machinecomponentset/base is Paused',
  'Waiting for 7s: HoldFreeze',
  `  observed: hold ${hold}: power work`,
  '  unblocks when: the hold is deleted or expires',
]
const frozenAtRest = [
  'machinecomponentset/base is Complete',
  'Paused is True for 2s: HoldFreeze: hold freeze-machinecomponentset-base: power work',
  '  A Freeze hold covers this object, or a file on the node does. See docs/runbooks/holds.md.',
]
const failed = [
  'set/base is Progressing',
  'Waiting for 4m: RolledBackByAgent',
  '  observed: 0 of 2 machines updated; 2 failed',
  '  to unblock: kubenode rollout retry base --reason WHY',
  'Ready is False for 4m: RolledBackByAgent: 0 of 2 machines updated',
  '  The agent rolled back to the previous version. See docs/runbooks/components.md.',
]
const unwell = [
  'machine/m-1 is Ready',
  'Ready is False for 4m: ComponentUnhealthy',
  '  A component is unhealthy. See docs/runbooks/components.md.',
]
const edited = [
  'set/base is Complete',
  'Waiting for 2s: UncommittedChange',
  '  observed: edited: content f230 differs from git (492f); the edit has no effect',
  '  to unblock: kubenode put-back set/base; or to allow the edit: kubenode allow-edit set/base --digest f230',
]
const halfApproved = [
  'set/base is Progressing',
  'Waiting for 1m5s: StepOpen',
  '  observed: beacon step 2 of 2: waiting for the other slices of this step',
  '  unblocks when: all slices of the step finish',
  'beacon 1.1.0, step 2 (AwaitingPermit): waiting for 1m5s: ApprovalMissing',
  '  observed: gate Approval: 0 approvals (1 of group:system:masters)',
  '  to unblock: kubenode approve operationpermit/base-s1-1 --reason WHY',
]
const unapproved = [
  'permit/base-s1-1 is Requested',
  'PermitGranted is False for 17s: ApprovalMissing: gate Approval: 1 of group:system:masters',
  '  An approval is missing. See docs/runbooks/permits.md.',
  'Gate Approval: Waiting: 0 approvals, limit 1 of group:system:masters',
  '  to unblock: kubenode approve permit/base-s1-1 --reason WHY',
]
const faulty = [
  'node/n-1',
  'LampDark is True for 1m53s: NoLight: lamp: dark',
  '  kubenode why-not node/n-1 shows what blocks its repair',
  'Machine: machine/n-1 (Ready)',
]
const exhausted = [
  'noderemedier/dark',
  'Stalled is True for 2m: LadderExhausted: 1 node needs attention, first n-1 (ladder exhausted): kubenode why-not node/n-1',
  '  The last rung did not help; the node needs manual intervention. See docs/runbooks/repairs.md.',
]
const fine = ['node/n-1', 'Up to date; nothing pending.']

test.each([
  ['nothing is wrong', [fine], 'what to do first: nothing, no object is blocked'],
  [
    'the condition is a command',
    [edited],
    'what to do first: kubenode put-back set/base; or to allow the edit: kubenode allow-edit set/base --digest f230 (set/base)',
  ],
  ['one waits', [fine, waits], 'what to do first: wait until the rate limit resets (machine/m-1)'],
  [
    'what is blocked comes before what waits',
    [waits, blocked],
    'what to do first: wait until a commit changes the version (set/base)',
  ],
  [
    'what can be done comes before what is only found',
    [failed, unwell],
    'what to do first: kubenode rollout retry base --reason WHY (set/base)',
  ],
  [
    'where nothing but a finding is known, its runbook is read',
    [fine, unwell],
    'what to do first: read docs/runbooks/components.md: Ready is False for 4m: ComponentUnhealthy (machine/m-1)',
  ],
  [
    'a set waits for the rest of a step, and one slice of that for a person',
    [halfApproved],
    'what to do first: kubenode approve operationpermit/base-s1-1 --reason WHY (set/base)',
  ],
  [
    'a permit waits for a person',
    [unapproved],
    'what to do first: kubenode approve permit/base-s1-1 --reason WHY (permit/base-s1-1)',
  ],
  [
    'a command is what a person can do',
    [held, waits],
    'what to do first: kubenode approve release/a --reason WHY (release/a)',
  ],
  ['a node has a fault', [fine, faulty], 'what to do first: kubenode why-not node/n-1 (node/n-1)'],
  [
    'a rule tried every rung',
    [exhausted],
    'what to do first: read docs/runbooks/repairs.md: Stalled is True for 2m: LadderExhausted: 1 node needs attention, first n-1 (ladder exhausted): kubenode why-not node/n-1 (noderemedier/dark)',
  ],
  [
    'a freeze of the object is lifted there',
    [frozen('freeze-machinecomponentset-base')],
    'what to do first: kubenode thaw set/base (machinecomponentset/base)',
  ],
  [
    'a freeze of an object at rest is lifted as well',
    [frozenAtRest],
    'what to do first: kubenode thaw set/base (machinecomponentset/base)',
  ],
  [
    'a freeze of the cluster is no hold of the object',
    [frozen('freeze-all')],
    'what to do first: kubenode thaw (machinecomponentset/base)',
  ],
])('%s', (_, stories, want) => expect(firstStep(stories)).toBe(want))

test('a freeze of the cluster that only another line names is thawed as a whole', () => {
  const story = [
    'machinecomponentset/base is Paused',
    'Waiting for 1s: HoldFreeze',
    '  observed: hold freeze-all: all stop',
    'Ready is False for 11m: HoldFreeze',
    '  A Freeze hold covers this object, or a file on the node does. See docs/runbooks/holds.md.',
  ]
  expect(firstStep([story])).toBe('what to do first: kubenode thaw (machinecomponentset/base)')
})

test('a Release that waits for a set that a person holds is not to be resumed itself', () => {
  const story = [
    'release/a is Progressing',
    'Waiting for 4m: HoldPause',
    '  observed: prod: MachineComponentSet.kubenode.io/base: it is Paused by hold pause-base: ada looks at it',
    '  unblocks when: the hold ends or is deleted',
  ]
  expect(firstStep([story])).toBe('what to do first: wait until the hold ends or is deleted (release/a)')
})
