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
