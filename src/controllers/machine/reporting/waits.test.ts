import { expect, test } from 'vitest'
import type { OperationPermit } from '#api/kinds/operation-permit.ts'
import type { Seen } from '../seen.ts'
import { type Known, rateWait, waitIn } from './waits.ts'

const permit = (phase: string, gate: string, verdict = 'Waiting', results: object = {}): OperationPermit =>
  ({
    metadata: { name: 'p' },
    spec: { targets: [{ uid: 'other' }, { uid: 'm' }], results },
    status: {
      phase,
      verdicts: [
        { target: 'other', gate: 'Budget', verdict: 'Waiting', seen: 'full' },
        { target: 'm', gate, verdict, seen: '20 in 10m used, next grant at 02:03:10 UTC' },
      ],
    },
  }) as unknown as OperationPermit

const LIMIT = 'rate limit: 20 in 10m used, next grant at 02:03:10 UTC'

test.each<[string, OperationPermit, string | undefined]>([
  ['waits for a rate', permit('Requested', 'Rate'), LIMIT],
  ['waits for a rate while others of its slice are granted', permit('Granted', 'Rate'), LIMIT],
  ['waits for something else', permit('Requested', 'Budget'), undefined],
  ['is granted', permit('Granted', 'Rate', 'Granted'), undefined],
  ['was given up', permit('Granted', 'Rate', 'Waiting', { m: 'Released' }), undefined],
  ['has a permit that ended', permit('Expired', 'Rate'), undefined],
])('a machine that %s says until when it waits for a rate, and nothing else of its permit', (_, one, seen) => {
  expect(rateWait({ permits: [one] }, 'm')?.seen).toBe(seen)
})

const installing = (report?: object) => {
  const components = ['beacon', 'scribe'].map((name) => ({ name, version: '1.0.0', attempt: 1 }))
  const status = report === undefined ? {} : { components: [report] }
  const seen = { machine: { metadata: { name: 'm' }, spec: { components }, status }, claims: [] } as unknown as Seen
  return waitIn('Installing', seen, {} as Parameters<typeof waitIn>[2])
}

test('a machine whose components cannot be installed says why, and one that installs them says only which', () => {
  const common = { name: 'beacon', attempt: 1, desired: '1.0.0', state: 'Fetching' }
  expect(installing(common)?.seen).toBe('2 of 2 components not installed: beacon, scribe')
  const full = 'KN8019: cannot install beacon 1.0.0: requires 257 MiB of free disk, the node has 238 MiB'
  const stuck = installing({ ...common, reason: 'HostUnsuitable', message: full })
  expect([stuck?.seen, stuck?.unblock]).toEqual([
    `2 of 2 components not installed: beacon, scribe; Fetching: ${full}`,
    'beacon can be installed; the message of the component names what is missing',
  ])
  expect(installing({ ...common, reason: 'HostUnsuitable', message: 'x'.repeat(300) })?.seen.length).toBe(200)
})

const CREATED = Date.parse('2026-01-05T02:00:00Z')
const joining = (minutes: number, more: object = {}) => {
  const host = { kind: 'Host', host: { providerID: 'aws://r/i-1', createdAt: '2026-01-05T02:00:00Z' } }
  const machine = { metadata: { name: 'm' }, spec: { channel: 'Agent', providerID: 'aws://r/i-1' }, status: {} }
  const seen = { machine, host, isJoinFixed: true, agentHeartbeat: { kind: 'None' }, ...more } as unknown as Seen
  const now = CREATED + minutes * 60_000
  return waitIn('Joining', seen, { refusal: undefined, now, ready: {} as Parameters<typeof waitIn>[2]['ready'] })
}

test('a host that never joins within the life of its token is named, with what to do', () => {
  expect(joining(14)?.seen).toBe('the host exists; no heartbeat from its agent yet')
  expect(joining(15)).toMatchObject({
    seen: 'host aws://r/i-1 was created at 02:00:00 UTC, its agent never reported, and its join token has expired',
    unblock: expect.stringContaining('kubectl delete machines.kubenode.io m') as string,
    because: 'JoinExpired',
  })
  // KubeNode gives it a new token.
  expect(joining(60, { isJoinFixed: false })?.seen).toBe('the host exists; no heartbeat from its agent yet')
})

test.each([
  ['long before the attempt that made it', '1970-01-01T00:00:00Z'],
  ['in the future', '2999-01-01T00:00:00Z'],
])('a host that its provider says was created %s is counted from when the attempt began', (_, createdAt) => {
  const said = (minutes: number) => {
    const host = { kind: 'Host', host: { providerID: 'aws://r/i-1', createdAt } }
    const status = { provisioning: { attempt: 1, token: 't', since: '2026-01-05T02:00:00Z' } }
    const machine = { metadata: { name: 'm' }, spec: { channel: 'Agent', providerID: 'aws://r/i-1' }, status }
    return joining(minutes, { host, machine })?.seen
  }
  expect(said(14)).toBe('the host exists; no heartbeat from its agent yet')
  expect(said(15)).toMatch('was created at 02:00:00 UTC, its agent never reported')
})

/** Limit of the field. A longer text would be cut in the middle of its command. */
const LONGEST = 200

test.each<[string, object, string]>([
  ['of a provider that starts hosts', {}, '(KN8008: kubenode machine readmit workers-44wxn-abcde --token)'],
  ['that existed before KubeNode', { isHostKept: true }, 'readmit workers-44wxn-abcde --token, then join-command)'],
  ['that reads its user data once', { isJoinFixed: true }, 'readmit workers-44wxn-abcde --token, then join-command)'],
])('a silent host %s says what helps when its agent lost its identity', (_, more, expected) => {
  const status = { agent: { version: '1' }, nodeRef: { name: 'm', uid: 'n' } }
  const machine = { metadata: { name: 'workers-44wxn-abcde' }, spec: { channel: 'Agent' }, status }
  const seen = { machine, agentHeartbeat: { kind: 'None' }, ...more } as unknown as Seen
  const known = { refusal: undefined, now: 0, ready: { reason: 'LeaseExpired', message: 'x' } } as unknown as Known
  for (const phase of ['Lost', 'NotReady'] as const) {
    const { unblock = '' } = waitIn(phase, seen, known) ?? {}
    expect(unblock).toContain(expected)
    expect(unblock.length).toBeLessThanOrEqual(LONGEST)
  }
})
