import type { Machine } from '#api/kinds/machine.ts'
import type { RemedyOperationJob } from '#api/kinds/remedy-operation-job.ts'
import { expect, test } from 'vitest'
import { isVisited, laneOf, plan } from './plan.ts'
import { type LastVisit, isForHost, requestOf } from './seen.ts'

const NOW = 10_000_000
const ENDED: LastVisit = { endedAt: NOW, tookMs: 4_000, generation: 3 }
const ssh = { host: 'a', port: 22, user: 'root', hostKey: 'ssh-ed25519 AAAAC3NzaC1', secretRef: { name: 'key' } }
const machine = (spec: object = {}, status: object = {}): Machine =>
  ({
    metadata: { name: 'm', uid: 'abcd', generation: 3 },
    spec: { channel: 'SSH', provider: { name: 'static' }, ssh, ...spec },
    status,
  }) as unknown as Machine
const planned = (m: Machine, last?: LastVisit) => plan({ machine: m, ssh, last }, NOW)
const failed = (reason: string, request = requestOf(ssh)) =>
  machine({}, { visit: { reason, request, message: '', since: '' } })

test.each([
  ['is visited', machine(), true],
  ['with an agent is not', machine({ channel: 'Agent' }), false],
  ['of another provider is not', machine({ provider: { name: 'aws' } }), false],
  ['that handed its host back is not', machine({}, { agent: { version: '1.0.0', phase: 'Left' } }), false],
  [
    'that is only observed from now on is visited until its host is handed back',
    machine({ channel: 'Observe', leaving: true }, { agent: { version: '1.0.0', channel: 'SSH' } }),
    true,
  ],
  [
    'that is handed back by its agent is not',
    machine({ channel: 'Observe', leaving: true }, { agent: { version: '1.0.0' } }),
    false,
  ],
])('a machine %s', (_, m, is) => {
  expect(isVisited(m)).toBe(is)
  expect(planned(m).actions.length).toBe(is ? 1 : 0)
})

test('the next round comes a minute later, spread by the uid, and at once after a change', () => {
  const spread = 0xab_cd % 10_000
  expect(planned(machine(), ENDED)).toMatchObject({
    actions: [],
    requeueAfter: 60_000 + spread,
  })
  expect(planned(machine(), { ...ENDED, endedAt: NOW - 60_000 - spread }).actions.length).toBe(1)
  expect(planned(machine(), { ...ENDED, generation: 2 }).actions).toEqual([
    { kind: 'Visit', reason: 'the Machine changed' },
  ])
})

test('a host with another key is not tried again before spec.ssh changes; one that is away is', () => {
  expect(planned(failed('HostKeyChanged'))).toEqual({ actions: [], notices: [] })
  expect(planned(failed('HostKeyChanged', 'of another key')).actions.length).toBe(1)
  expect(planned(failed('Unreachable')).actions.length).toBe(1)
  expect(planned(failed('Unreachable'), ENDED).actions).toEqual([])
})

test('a repair whose next step is for the host is not kept waiting, and asks for no visit once it has begun', () => {
  const job = (steps: readonly object[], more: object = {}) =>
    ({
      spec: { dryRun: false, operations: [{ cordon: {} }, { restartComponent: { component: 'kubelet' } }] },
      status: { phase: 'Running', permitRef: 'p', steps, ...more },
    }) as unknown as RemedyOperationJob
  const done = { index: 0, outcome: 'Succeeded' }
  expect(isForHost(job([done]))).toBe(true)
  expect(isForHost(job([]))).toBe(false)
  expect(isForHost(job([done, { index: 1, startedAt: 'now' }]))).toBe(false)
  expect(isForHost(job([done, { index: 1, outcome: 'Failed' }]))).toBe(false)
  expect(isForHost(job([done], { permitRef: undefined }))).toBe(false)
  expect(isForHost(job([done], { phase: 'Pending' }))).toBe(false)
  expect(planned(machine(), { ...ENDED, isAwaited: true }).actions[0]?.reason).toBe('a repair waits')
})

test('hosts that were slow share a part of the places, and so do those behind one jump host', () => {
  const jump = { host: 'j', port: 22, user: 'root', hostKey: 'k' }
  const lane = (last: Partial<LastVisit> | undefined, more: object = {}) =>
    laneOf({ machine: machine(), ssh: { ...ssh, ...more }, last: last && { ...ENDED, ...last } }, NOW)
  expect(lane(undefined)).toBeUndefined()
  expect(lane({ endedAt: 0, tookMs: 900_000 }, { jump })).toMatchObject({ name: 'slow' })
  expect(lane({ endedAt: 0 }, { jump })).toMatchObject({ name: 'j:22' })
  expect(lane({ tookMs: 900_000 })).toBeUndefined()
})
