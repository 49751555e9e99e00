// A rescue whose controller is killed before and after each of its commands and writes: another process continues it, and the host is rebooted once.
import { DISRUPTIONS, type OperationPermit } from '#api/kinds/operation-permit.ts'
import type { Operation } from '#api/protocol/operations.ts'
import { timestamp } from '#lib/clock.ts'
import type { Session, SessionResult } from '#ssh/ssh-sessions.ts'
import { repairSpec } from '#test/support/fleets/repair-jobs.ts'
import { expect, test } from 'vitest'
import type { StepResult } from '../actions.ts'
import { plan } from '../plan.ts'
import { type JobStatus, type Seen, phaseOf } from '../seen.ts'
import { type Went, statusOf } from '../status.ts'
import { doStep } from './do-step.ts'
import { startedBy } from './started.ts'
import type { JobTools } from './step-tools.ts'

const START = Date.parse('2026-05-01T12:00:00Z')
const [FIRST, SECOND] = ['0b8de1d3-9fd8-4f6a-8a2f-27a4d2c2a1aa', '1c9ef2e4-0ae9-4a7b-9b3a-38b5e3d3b2bb']
const KEY = 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIEr6Xb1mZ2yTqkXo8v1C6lq0Jq5m0kZ1n8t0p3t2d5fQ'

type Failed = Extract<SessionResult, { kind: 'Failed' }>

/** As the program on the host does it; a reboot takes two sessions without an answer. `lost`: what comes instead of the answer to the order. */
class Host {
  boot: string | undefined = FIRST
  readonly did: string[] = []
  /** On the server, later than the plan. */
  permit: 'Granted' | 'Revoked' = 'Granted'
  readonly lost: Failed['failure'] | undefined
  #absent = 0

  constructor(lost?: Failed['failure']) {
    this.lost = lost
  }

  answer(command = ''): SessionResult {
    if (this.boot === undefined && this.#absent++ >= 2) this.boot = SECOND
    if (this.boot === undefined) return { kind: 'Failed', failure: this.lost ?? 'Unreachable', why: 'no route' }
    const done = (facts: Readonly<Record<string, string>>): SessionResult => ({
      kind: 'Done',
      facts: new Map(Object.entries({ owner: 'm', ...facts })),
      hostKey: undefined,
    })
    this.did.push(command)
    if (!command.startsWith('reboot ')) return done({ bootID: this.boot, agent: 'failed' })
    if (command !== `reboot ${this.boot}`) return done({ reboot: 'done' })
    this.did.push('REBOOT')
    this.boot = undefined
    return this.lost === undefined ? done({ reboot: 'ordered' }) : { kind: 'Failed', failure: this.lost, why: 'closed' }
  }
}

type Kill = 'BeforeAct' | 'BeforeWrite' | 'AfterWrite'
const KILLS: readonly Kill[] = ['BeforeAct', 'BeforeWrite', 'AfterWrite']

/** One process after the other, until the step has ended. `killed`: in which turn, and where. */
async function repaired(
  operation: Operation,
  killed?: { readonly turn: number; readonly kill: Kill },
  host = new Host(),
  machineAt: (host: Host, turn: number) => object = () => ({}),
) {
  let status = { phase: 'Running', permitRef: 'j', startedAt: timestamp(START) } as JobStatus
  let begun = new Set<string>()
  let turns = 0
  const tools = {
    client: {
      get: async ({ kind }: { readonly kind: string }) =>
        kind === 'Secret'
          ? {
              metadata: { name: 'rescue', labels: { 'kubenode.io/for-ssh': 'true' } },
              data: { 'ssh-privatekey': Buffer.from('-----BEGIN OPENSSH PRIVATE KEY-----').toString('base64') },
            }
          : permitAt(START + turns * 10_000, host.permit),
    },
    sessions: {
      inTurn: (_: unknown, work: (turn: unknown) => unknown) =>
        work({ run: async ({ command }: Session) => host.answer(command) }),
    },
  } as unknown as JobTools
  for (; turns < 40 && status.steps?.[0]?.outcome === undefined; turns++) {
    const now = START + turns * 10_000
    const seen = seenOf(operation, status, begun, now, machineAt(host, turns))
    const kill = killed?.turn === turns ? killed.kill : undefined
    const planned = plan(seen, now)
    const action = planned.actions.find((a) => a.kind === 'DoStep')
    let went: Went = {}
    if (kill !== 'BeforeAct' && action !== undefined) {
      const outcome = await doStep(tools, action.step, seen, new AbortController().signal)
      if (outcome.kind === 'Applied') went = { result: { step: action.step, went: outcome.object as StepResult } }
    }
    const next = statusOf(seen, planned, went, now)
    begun = kill === undefined ? new Set([...begun, ...startedBy(next, seen.job)]) : new Set()
    if (kill === undefined || kill === 'AfterWrite') status = next
  }
  return { host, step: status.steps?.[0], turns }
}

const permitAt = (now: number, phase = 'Granted') =>
  ({
    metadata: { name: 'j', uid: 'p', resourceVersion: '1' },
    spec: {
      operations: DISRUPTIONS,
      targets: [{ kind: 'Machine', name: 'n', uid: 'm' }],
      leaseSeconds: 120,
      renewTime: timestamp(now),
    },
    status: {
      phase,
      decidedAt: timestamp(START),
      verdicts: [{ target: 'm', gate: 'Budget', verdict: 'Granted', seen: '3 of 3' }],
    },
  }) as unknown as OperationPermit

function seenOf(
  operation: Operation,
  status: JobStatus,
  begun: ReadonlySet<string>,
  now: number,
  machine: object,
): Seen {
  const permit = permitAt(now)
  const seen = {
    job: {
      kind: 'RemedyOperationJob',
      metadata: { name: 'j', uid: 'j', resourceVersion: '1', creationTimestamp: timestamp(START) },
      spec: repairSpec([operation], { machine: 'n', node: { name: 'n', uid: 'u' }, incident: 'abcdefabcdefabcd' }),
      status,
    },
    permit,
    node: { kind: 'Node', metadata: { name: 'n', uid: 'u' } },
    machine: {
      kind: 'Machine',
      metadata: { name: 'n', uid: 'm' },
      spec: {
        channel: 'Agent',
        jobs: ['j'],
        ssh: {
          host: 'h',
          port: 22,
          user: 'root',
          hostKey: KEY,
          secretRef: { name: 'join' },
          rescue: { secretRef: { name: 'rescue' } },
        },
      },
      status: { bootID: FIRST, conditions: [{ type: 'AgentReachable', status: 'False' }], ...machine },
    },
    standing: { kind: 'Silent', why: 'no heartbeat' },
    fault: { kind: 'Present' },
    cleared: { kind: 'Present' },
    holds: [],
    others: [],
    isRipe: true,
    begun,
    isFresh: true,
    asked: { bad: 0, total: 5 },
  } as unknown as Seen
  expect(phaseOf(seen.job)).toBe('Running')
  return seen
}

test('a rescue reads the state, saves evidence and restarts the agent', async () => {
  const { host, step } = await repaired({ rescue: { timeout: '3m' } })
  expect(host.did).toEqual(['state', 'evidence', 'restart-agent'])
  expect(step).toMatchObject({ outcome: 'Succeeded', verb: 'RestartAgent', attempts: 1 })
  expect(step?.output?.split('\n')).toHaveLength(3)
})

test('a reboot ends exactly the boot that the host named', async () => {
  const { host, step } = await repaired({ rescueReboot: { timeout: '10m' } })
  expect(host.did).toEqual(['state', `reboot ${FIRST}`, 'REBOOT', `reboot ${FIRST}`])
  expect(step).toMatchObject({ outcome: 'Succeeded', verb: 'Reboot', bootID: FIRST, attempts: 1 })
})

test('killed before and after each command and each write, it is continued, and the host reboots once', async () => {
  for (const operation of [{ rescue: { timeout: '3m' } }, { rescueReboot: { timeout: '10m' } }] as const) {
    const { turns } = await repaired(operation)
    for (let turn = 0; turn < turns; turn++)
      for (const kill of KILLS) {
        const { host, step } = await repaired(operation, { turn, kill })
        const reboots = host.did.filter((what) => what === 'REBOOT').length
        const at = `${Object.keys(operation)[0]} ${turn} ${kill}`
        expect([at, step?.outcome, step?.attempts, reboots]).toEqual([
          at,
          'Succeeded',
          1,
          'rescueReboot' in operation ? 1 : 0,
        ])
      }
  }
})

const REBOOT = { rescueReboot: { timeout: '10m' } } as const
const back = (bootID: string) => ({ bootID, conditions: [{ type: 'AgentReachable', status: 'True' }] })

test.each(['TimedOut', 'Unreachable', 'AuthRefused', 'PreflightFailed'] as const)(
  'an order whose answer is lost (%s) is one, wherever its process is killed',
  async (lost) => {
    const { turns } = await repaired(REBOOT, undefined, new Host(lost))
    for (let turn = 0; turn < turns; turn++)
      for (const kill of KILLS) {
        const { host, step } = await repaired(REBOOT, { turn, kill }, new Host(lost))
        const reboots = host.did.filter((what) => what === 'REBOOT').length
        expect([turn, kill, step?.outcome, reboots]).toEqual([turn, kill, 'Succeeded', 1])
      }
  },
)

test('an agent that returns after the order ends the step with the boot that it reports, not with its first heartbeat', async () => {
  let sightings = 0
  const { host, step } = await repaired(REBOOT, undefined, new Host('TimedOut'), ({ did }) => {
    if (!did.includes('REBOOT')) return {}
    return back(sightings++ < 3 ? FIRST : SECOND)
  })
  expect(step).toMatchObject({
    outcome: 'Succeeded',
    output: expect.stringContaining('the agent reports another boot'),
  })
  expect(host.did).toEqual(['state', `reboot ${FIRST}`, 'REBOOT'])
})

test('a permit that is revoked after the plan was made sends nothing', async () => {
  const host = new Host()
  host.permit = 'Revoked'
  await repaired(REBOOT, undefined, host)
  expect(host.did).toEqual([])
})

test('an agent that returns before the order is sent is not rebooted', async () => {
  const { host, step } = await repaired(REBOOT, { turn: 2, kill: 'AfterWrite' }, new Host(), (_, turn) =>
    turn > 2 ? back(FIRST) : {},
  )
  expect(host.did).toEqual(['state'])
  expect(step?.outcome).not.toBe('Succeeded')
})

test('a host that cannot be reached is given up after the time of the step', async () => {
  const host = new Host()
  host.answer = () => ({ kind: 'Failed', failure: 'Unreachable', why: 'no route' })
  const { step } = await repaired({ rescue: { timeout: '3m' } }, undefined, host)
  expect(step).toMatchObject({ outcome: 'Failed', output: expect.stringMatching(/^timed out: State: Unreachable/) })
})

test('a step keeps the end of an output that is too long', () => {
  const status = { phase: 'Running', permitRef: 'j', startedAt: timestamp(START) } as JobStatus
  const step = { index: 0, operation: 'rescueReboot', executor: 'Controller', attempts: 1 } as const
  const went = { output: `State: ${'x'.repeat(2_100)}\nReboot: ordered` }
  const next = statusOf(
    seenOf(REBOOT, status, new Set(), START, {}),
    { actions: [] },
    { result: { step, went } },
    START,
  )
  expect(next.steps?.[0]?.output).toBe('Reboot: ordered')
})
