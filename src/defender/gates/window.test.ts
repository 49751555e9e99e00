// What a closed window says: which policy, whom to ask about it, and when it opens.
import { expect, test } from 'vitest'
import { defenderPolicy } from '#api/kinds/defender-policy.ts'
import { compilePolicy } from '../compile-policy.ts'
import { windowGate } from './window.ts'

const NOW = Date.parse('2026-01-31T12:00:00Z')
const nightly = { cron: '0 22 * * *', duration: '2h', timeZone: 'UTC' }

function verdictWith(spec: object) {
  const policy = compilePolicy({ ...defenderPolicy.example, metadata: { name: 'prod' }, spec } as never)
  const question = { policies: [policy], permit: { spec: { requester: { kind: 'MachineComponentSet' } } } }
  return windowGate(question as never, { snapshot: { wall: NOW } } as never)[0]
}

test('a closed window names its policy, the owner and the next opening', () => {
  expect(verdictWith({ windows: [nightly], owner: 'team platform' })).toMatchObject({
    verdict: 'Waiting',
    seen: 'no maintenance window of policy prod (owner: team platform) is open',
    limit: 'the next one opens at 2026-01-31T22:00:00Z',
  })
  expect(verdictWith({ windows: [nightly] })?.seen).toBe('no maintenance window of policy prod is open')
})

test('a blackout names its policy and its end', () => {
  const blackouts = [{ from: '2026-01-31T11:00:00Z', duration: '2h', timeZone: 'UTC' }]
  expect(verdictWith({ blackouts, owner: '#platform' })).toMatchObject({
    seen: 'a blackout of policy prod (owner: #platform) is in force',
    limit: 'until 2026-01-31T13:00:00Z',
  })
})

const DAY_MS = 86_400_000
const REPAIR = ['Cordon', 'Drain', 'Reboot']

test.each([
  ['a node that asked too long ago waits for no window', 15, REPAIR, 'RemedyOperationJob', {}, 'Granted'],
  ['one that asked a week ago waits, and hears until when', 7, REPAIR, 'RemedyOperationJob', {}, 'Waiting'],
  ['one that does not ask waits', undefined, REPAIR, 'RemedyOperationJob', {}, 'Waiting'],
  ['a repair that does more than reboot waits', 15, [...REPAIR, 'Replace'], 'RemedyOperationJob', {}, 'Waiting'],
  ['a rollout waits', 15, ['SwitchComponent', ...REPAIR], 'MachineComponentSet', {}, 'Waiting'],
  [
    'a blackout still holds',
    15,
    REPAIR,
    'RemedyOperationJob',
    { blackouts: [{ from: '2026-01-31T11:00:00Z', duration: '2h', timeZone: 'UTC' }] },
    'Waiting',
  ],
  [
    'without a deadline windows hold forever',
    400,
    REPAIR,
    'RemedyOperationJob',
    { rebootDeadline: undefined },
    'Waiting',
  ],
] as const)('the deadline of reboots: %s', (_, days, operations, kind, more, verdict) => {
  const spec = { windows: [nightly], rebootDeadline: '336h', ...more }
  const policy = compilePolicy({ ...defenderPolicy.example, metadata: { name: 'prod' }, spec } as never)
  const rebootAskedAt = days === undefined ? undefined : NOW - days * DAY_MS
  const unit = { name: 'm-1', rebootAskedAt }
  const question = { policies: [policy], unit, permit: { spec: { requester: { kind }, operations } } }
  const [made] = windowGate(question as never, { snapshot: { wall: NOW } } as never)
  expect(made?.verdict).toBe(verdict)
  if (days === 7) expect(made?.limit).toMatch(/, and none is needed from 2026-02-07T12:00:00Z$/)
  if (verdict === 'Granted')
    expect(made?.seen).toBe(
      'm-1 asks for a reboot since 2026-01-16T12:00:00Z, longer than 336h (rebootDeadline of policy prod)',
    )
})
