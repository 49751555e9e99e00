import { KINDS } from '#api/kinds.ts'
import { type OperationPermit, operationPermit } from '#api/kinds/operation-permit.ts'
import { timestamp } from '#lib/clock.ts'
import { seededRandom } from '#lib/random.ts'
import { FakeKube } from '#test/doubles/kube/fake-kube.ts'
import { VirtualClock } from '#test/support/clocks/virtual-clock.ts'
import { describe, expect, test } from 'vitest'
import { isRenewalDue, permitAnswer, renewPermit, reportResults, requestPermit } from './permits.ts'

const NOW = Date.UTC(2026, 0, 5)
const request = {
  operations: ['Drain'] as const,
  targets: [
    { kind: 'Machine' as const, name: 'm', uid: 'u' },
    { kind: 'Machine' as const, name: 'o', uid: 'o' },
  ],
  requester: { manager: 'kubenode-machine' },
  reason: 'a test',
}
const permit = (status: object, spec: object = {}): OperationPermit => ({
  apiVersion: 'kubenode.io/v1alpha1',
  kind: 'OperationPermit',
  metadata: { name: 'p' },
  spec: { ...request, recovery: false, leaseSeconds: 120, ...spec },
  status,
})
const verdict = (target: string, v: string) => ({
  target,
  gate: 'BudgetExhausted',
  verdict: v,
  seen: '3 of 3 are down',
})

describe('what a permit says about a target', () => {
  test.each<[string, OperationPermit | undefined, ReturnType<typeof permitAnswer>]>([
    ['nothing, when there is none', undefined, { kind: 'Absent' }],
    ['to wait, before it is decided', permit({}), { kind: 'Waiting', seen: 'the Defender has not decided yet' }],
    [
      'to wait, naming the gate',
      permit({ phase: 'Requested', verdicts: [verdict('u', 'Waiting')] }),
      { kind: 'Waiting', seen: 'gate BudgetExhausted: 3 of 3 are down' },
    ],
    ['yes', permit({ phase: 'Granted', verdicts: [verdict('u', 'Granted')] }), { kind: 'Granted' }],
    [
      'to wait, when others of it are granted',
      permit({ phase: 'Granted', verdicts: [verdict('o', 'Granted'), verdict('u', 'Waiting')] }),
      { kind: 'Waiting', seen: 'gate BudgetExhausted: 3 of 3 are down' },
    ],
    [
      'to wait, when it is granted without a word on the target',
      permit({ phase: 'Granted', verdicts: [] }),
      { kind: 'Waiting', seen: 'the Defender has not decided yet' },
    ],
    [
      'no, when the target is denied',
      permit({ phase: 'Granted', verdicts: [verdict('u', 'Denied')] }),
      { kind: 'Ended', seen: 'gate BudgetExhausted denied the permit' },
    ],
    [
      'no, when its time ran out',
      permit({ phase: 'Expired', verdicts: [verdict('u', 'Granted')] }),
      { kind: 'Ended', seen: 'the permit is Expired' },
    ],
    [
      'no, when the target has its result',
      permit({ phase: 'Granted', verdicts: [verdict('u', 'Granted')] }, { results: { u: 'Succeeded' } }),
      { kind: 'Ended', seen: 'the target already has result Succeeded' },
    ],
    [
      'no, when it is for others',
      permit({ phase: 'Granted' }, { targets: [] }),
      { kind: 'Ended', seen: 'the permit is not for this target' },
    ],
  ])('%s', (_, p, answer) => {
    expect(permitAnswer(p, 'u')).toEqual(answer)
  })
})

test.each<[string, object, object, number, boolean]>([
  ['right after the grant it is not', { phase: 'Granted', decidedAt: timestamp(NOW) }, {}, 10_000, false],
  ['after a third of the lease it is', { phase: 'Granted', decidedAt: timestamp(NOW) }, {}, 40_000, true],
  [
    'it counts from the last renewal',
    { phase: 'Granted', decidedAt: timestamp(NOW - 90_000) },
    { renewTime: timestamp(NOW) },
    10_000,
    false,
  ],
  [
    'controllers whose clock is an hour behind that of the Defender renew it, too',
    { phase: 'Granted', decidedAt: timestamp(NOW + 3_600_000) },
    {},
    0,
    true,
  ],
  [
    'they do not renew it again at once',
    { phase: 'Granted', decidedAt: timestamp(NOW + 3_600_000) },
    { renewTime: timestamp(NOW) },
    10_000,
    false,
  ],
  [
    'the next leader renews what one with a clock an hour ahead renewed',
    { phase: 'Granted', decidedAt: timestamp(NOW - 90_000) },
    { renewTime: timestamp(NOW + 3_600_000) },
    0,
    true,
  ],
  [
    'a clock that is a few seconds behind changes nothing',
    { phase: 'Granted', decidedAt: timestamp(NOW + 5_000) },
    {},
    0,
    false,
  ],
  ['what is not granted is not renewed', { phase: 'Requested' }, {}, 1_000_000, false],
])('renewal is due: %s', (_, status, spec, laterMs, due) => {
  expect(isRenewalDue(permit(status, spec), NOW + laterMs)).toBe(due)
})

test('asking twice is asking once, and a result that was reported stays', async () => {
  const kinds = KINDS.map((k) => ({ type: k, schema: k.schema, status: k.definition.status !== undefined }))
  const fake = new FakeKube({ clock: new VirtualClock(), random: seededRandom(1), kinds })
  const tools = { client: fake.client({ actor: 'c' }), fieldManager: 'kubenode-machine' as const }
  expect((await requestPermit(tools, 'p', request)).kind).toBe('Applied')
  expect((await requestPermit(tools, 'p', request)).kind).toBe('Exists')
  const now = () => fake.peek(operationPermit, { name: 'p' }) as OperationPermit
  await reportResults(tools, now(), { u: 'Failed' })
  await reportResults(tools, now(), { u: 'Succeeded', o: 'Released' })
  expect(now().spec.results).toEqual({ u: 'Failed', o: 'Released' })
  const old = now()
  expect((await renewPermit(tools, old, NOW)).kind).toBe('Applied')
  expect((await renewPermit(tools, old, NOW + 1)).kind).toBe('Conflict')
})
