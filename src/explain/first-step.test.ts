import { expect, test } from 'vitest'
import type { Story, Finding } from './finding.ts'
import { firstStep } from './first-step.ts'

const story = (object: string, ...below: readonly Finding[]): Story => ({ object, text: `${object} is so`, below })

const waits = story('machine/m-1', {
  text: 'Waiting for 2m: RateExceeded',
  urgency: 'Waiting',
  below: [{ text: 'observed: 20 in 10m' }],
  ends: 'the rate limit resets',
})
const blocked = story('set/base', {
  text: 'Blocked for 4m: RevisionFailed',
  urgency: 'Blocked',
  ends: 'a commit changes the version',
})
const held = story('release/a', {
  text: 'Cluster a: waiting for 4m: PruneGuard',
  urgency: 'Waiting',
  below: [{ text: 'digest to approve: ddd' }],
  command: { line: 'kubenode approve release/a --reason WHY' },
})
const failed = story(
  'set/base',
  {
    text: 'Waiting for 4m: RolledBackByAgent',
    urgency: 'Waiting',
    command: { line: 'kubenode rollout retry base --reason WHY' },
  },
  {
    text: 'Ready is False for 4m: RolledBackByAgent',
    urgency: 'Failed',
    runbook: 'docs/operations/runbooks/components.md',
    below: [{ text: 'The agent rolled back. See docs/operations/runbooks/components.md.' }],
  },
)
const unwell = story('machine/m-1', {
  text: 'Ready is False for 4m: ComponentUnhealthy',
  urgency: 'Failed',
  runbook: 'docs/operations/runbooks/components.md',
})
const halfApproved = story(
  'set/base',
  { text: 'Waiting for 1m5s: StepOpen', urgency: 'Waiting', ends: 'all slices of the step finish' },
  {
    text: 'beacon 1.1.0 step 2 slice 1 (AwaitingPermit): waiting for 1m5s: ApprovalMissing',
    urgency: 'Waiting',
    command: { line: 'kubenode approve operationpermit/base-s1-1 --reason WHY' },
  },
)
const stopped = story('defender', {
  text: 'Stopped for 4m: the Defender has not renewed the lease',
  urgency: 'Stopped',
  command: { line: 'kubenode check', does: 'see more' },
})
const related = story('node/n-1', {
  text: 'In a slice of set/base (Blocked)',
  below: [{ text: 'Blocked for 4m: RevisionFailed', urgency: 'Blocked', ends: 'a commit changes the version' }],
})
const fine = story('node/n-1', { text: 'Up to date; nothing pending.' })

test.each([
  ['nothing is wrong', [fine], 'what to do first: nothing, no object is blocked'],
  ['one waits', [fine, waits], 'what to do first: wait until the rate limit resets (machine/m-1)'],
  [
    'what is blocked comes before what waits',
    [waits, blocked],
    'what to do first: a commit changes the version (set/base)',
  ],
  [
    'what can be done comes before what is only found',
    [failed, unwell],
    'what to do first: kubenode rollout retry base --reason WHY (set/base)',
  ],
  [
    'where nothing but a finding is known, its runbook is read',
    [fine, unwell],
    'what to do first: read docs/operations/runbooks/components.md: Ready is False for 4m: ComponentUnhealthy (machine/m-1)',
  ],
  [
    'a set waits for the rest of a step, and one slice of that for a person',
    [halfApproved],
    'what to do first: kubenode approve operationpermit/base-s1-1 --reason WHY (set/base)',
  ],
  [
    'a command is what a person can do',
    [held, waits],
    'what to do first: kubenode approve release/a --reason WHY (release/a)',
  ],
  [
    'what a related object waits for counts as well',
    [related],
    'what to do first: a commit changes the version (node/n-1)',
  ],
  [
    'a release that only a revert ends',
    [
      story('release/a', {
        text: 'Blocked',
        urgency: 'Blocked',
        ends: 'revert the commits that broke it (git log a..b)',
      }),
    ],
    'what to do first: revert the commits that broke it (git log a..b) (release/a)',
  ],
  ['without its programs nothing continues', [held, stopped], 'what to do first: kubenode check (defender)'],
])('%s', (_, stories, want) => expect(firstStep(stories)).toBe(want))
