// Each pass of a rescue: which command runs after which, and what an answer, a failure or an unknown of any kind leads to.
import type { Machine } from '#api/kinds/machine.ts'
import { SYSTEM_NAMESPACE } from '#api/names.ts'
import { defined } from '#lib/defined.ts'
import type { Clearance } from '#permits/under-permit.ts'
import type { SshFailure } from '#ssh/failures.ts'
import type { Session, SessionResult } from '#ssh/ssh-sessions.ts'
import { describe, expect, test } from 'vitest'
import type { ActionOutcome } from '#runtime/reconcile-with.ts'
import type { StepResult } from '../actions.ts'
import type { JobStep, Seen } from '../seen.ts'
import { type UnderPermit, rescuePass } from './rescue.ts'
import type { JobTools } from './step-tools.ts'

const BOOT = '0b8de1d3-9fd8-4f6a-8a2f-27a4d2c2a1aa'
const KEY = 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIEr6Xb1mZ2yTqkXo8v1C6lq0Jq5m0kZ1n8t0p3t2d5fQ'
const SSH = {
  host: '10.0.0.7',
  port: 22,
  user: 'admin',
  hostKey: KEY,
  secretRef: { name: 'join' },
  rescue: { secretRef: { name: 'rescue' } },
}
type Wild = Readonly<Record<string, unknown>>

const machineOf = ({ status = {}, reachable = 'False', reason = 'LeaseExpired', ...given }: Given = {}) =>
  ({
    kind: 'Machine',
    metadata: { name: 'n', uid: 'm' },
    spec: { channel: 'Agent', pool: 'workers', ssh: 'ssh' in given ? given.ssh : SSH },
    status: { bootID: 'reported', conditions: [{ type: 'AgentReachable', status: reachable, reason }], ...status },
  }) as unknown as Machine

interface Given {
  readonly ssh?: Wild | undefined
  readonly status?: Wild
  readonly reachable?: string
  readonly reason?: string
  readonly secret?: Wild
}

const stepOf = (operation: JobStep['operation'], more: Partial<JobStep> = {}): JobStep => ({
  index: 0,
  operation,
  executor: 'Controller',
  attempts: 1,
  ...more,
})
const done = (facts: Readonly<Record<string, string>>): SessionResult => ({
  kind: 'Done',
  facts: new Map(Object.entries({ owner: 'm', ...facts })),
  hostKey: undefined,
})

const NOT_PERMITTED: ActionOutcome = { kind: 'Outdated', reason: 'revoked' }

async function pass(step: JobStep, answer: SessionResult | undefined, given: Given = {}, isPermitted = true) {
  const sent: Session[] = []
  const order: string[] = []
  const secrets: unknown[] = []
  const secret = {
    metadata: { name: 'rescue', labels: { 'kubenode.io/for-ssh': 'true' } },
    data: { 'ssh-privatekey': Buffer.from('-----BEGIN OPENSSH PRIVATE KEY-----').toString('base64') },
    ...given.secret,
  }
  const tools = {
    client: {
      get: async (_: unknown, name: unknown) => {
        secrets.push(name)
        order.push('key')
        return secret
      },
    },
    sessions: {
      inTurn: (_: unknown, work: (turn: unknown) => unknown) => {
        order.push('turn')
        return work({
          run: async (session: Session) => {
            order.push('session')
            sent.push(session)
            if (answer === undefined) throw new Error('no session was expected')
            return answer
          },
        })
      },
    },
  } as unknown as JobTools
  const seen = { job: { spec: { machine: 'n' } }, machine: machineOf(given) } as unknown as Seen
  const underPermit: UnderPermit = async (rescue) => {
    order.push('permit')
    return isPermitted ? rescue({} as Clearance) : NOT_PERMITTED
  }
  const outcome = await rescuePass(tools, step, seen, underPermit, new AbortController().signal)
  const went: StepResult = outcome.kind === 'Applied' ? (outcome.object as StepResult) : { output: outcome.kind }
  return { went, sent, secrets, order, outcome }
}

describe('what is sent', () => {
  test.each<[JobStep['operation'], Partial<JobStep>, string]>([
    ['rescue', {}, 'state'],
    ['rescue', { verb: 'State' }, 'evidence'],
    ['rescue', { verb: 'Evidence' }, 'restart-agent'],
    ['rescueReboot', { bootID: 'reported' }, 'state'],
    // Also by another process, after a crash in the middle: the host knows whether it has booted since.
    ['rescueReboot', { verb: 'Reboot', bootID: BOOT }, `reboot ${BOOT}`],
  ])('%s after %j: %s', async (operation, more, command) => {
    const { sent } = await pass(stepOf(operation, more), done({ bootID: BOOT }), { status: { bootID: more.bootID } })
    expect(sent).toMatchObject([
      { command, script: '', sudo: false, target: { host: '10.0.0.7', user: 'admin', trust: { kind: 'Pinned' } } },
    ])
  })

  test('the permit is read last, when nothing is left to wait for', async () => {
    expect((await pass(stepOf('rescue'), done({ bootID: BOOT }))).order).toEqual(['key', 'turn', 'permit', 'session'])
    const { outcome, sent } = await pass(stepOf('rescue'), undefined, {}, false)
    expect([outcome, sent]).toEqual([NOT_PERMITTED, []])
  })

  test('the key is that of the rescue, not that of the join', async () => {
    const { secrets } = await pass(stepOf('rescue'), done({ bootID: BOOT }))
    expect(secrets).toEqual([{ namespace: SYSTEM_NAMESPACE, name: 'rescue' }])
  })

  test('a key that a join accepted at this server is pinned', async () => {
    const ssh = { ...SSH, hostKey: undefined, firstUse: true }
    const status = { join: { hostKey: KEY, server: '10.0.0.7:22' } }
    const { sent } = await pass(stepOf('rescue'), done({ bootID: BOOT }), { ssh, status })
    expect(sent[0]?.target.trust).toEqual({ kind: 'Pinned', hostKey: KEY })
  })
})

describe('nothing is sent', () => {
  const FIRST = { ...SSH, hostKey: undefined, firstUse: true }
  test.each<[string, Given, string]>([
    ['without spec.ssh', { ssh: undefined }, 'no rescue key'],
    ['without a rescue key', { ssh: { ...SSH, rescue: undefined } }, 'no rescue key'],
    ['while no key of the host is known', { ssh: FIRST }, 'no host key is known'],
    [
      'to a server other than that of the join',
      { ssh: FIRST, status: { join: { hostKey: KEY, server: '10.0.0.8:22' } } },
      'no host key is known',
    ],
    ['with a Secret that is not for SSH', { secret: { metadata: {} } }, 'is not labeled'],
  ])('%s', async (_, given, why) => {
    const { went } = await pass(stepOf('rescue'), undefined, given)
    expect(went).toMatchObject({ outcome: 'Failed', output: expect.stringContaining(why) })
  })

  test.each(['True', 'Unknown'])('while the agent is not known to be silent (%s)', async (reachable) => {
    for (const operation of ['rescue', 'rescueReboot'] as const) {
      const { went } = await pass(stepOf(operation, { verb: 'State', bootID: BOOT }), undefined, { reachable })
      expect(went.outcome).toBe('Skipped')
    }
  })

  test('while a component reboots the host: that boot is not interrupted', async () => {
    const { went } = await pass(stepOf('rescueReboot'), undefined, { reason: 'Rebooting' })
    expect(went.outcome).toBe('Skipped')
  })

  test('before the order to reboot is recorded', async () => {
    const { went } = await pass(stepOf('rescueReboot', { verb: 'State', bootID: BOOT }), undefined)
    expect(went).toEqual({ output: 'Reboot: ordering', keeps: { verb: 'Reboot' }, againMs: 0 })
  })

  test('after a boot that an agent that is back reports', async () => {
    const step = stepOf('rescueReboot', { verb: 'Reboot', bootID: BOOT })
    expect((await pass(step, undefined, { reachable: 'True' })).went).toMatchObject({ outcome: 'Succeeded' })
  })

  test.each<Given>([
    { reachable: 'True', status: { bootID: BOOT } },
    { reachable: 'Unknown' },
    { reason: 'Rebooting' },
  ])('while an agent may be back, and it is unknown from which boot (%j)', async (given) => {
    const { went } = await pass(stepOf('rescueReboot', { verb: 'Reboot', bootID: BOOT }), undefined, given)
    expect([went.outcome, went.againMs]).toEqual([undefined, 10_000])
  })

  test.each([undefined, 'reported', `${BOOT}; id`])('for a boot that the host did not name: %s', async (bootID) => {
    const step = stepOf('rescueReboot', { verb: 'State', ...defined({ bootID }) })
    expect((await pass(step, undefined)).went).toMatchObject({ outcome: 'Failed' })
  })
})

describe('an answer', () => {
  test('is recorded with the command, and the next one follows at once', async () => {
    const { went } = await pass(stepOf('rescue'), done({ bootID: BOOT, agent: 'failed', load: '9 9 9' }))
    expect(went).toEqual({
      output: 'State: agent failed; load 9 9 9',
      keeps: { verb: 'State', bootID: BOOT },
      againMs: 0,
    })
  })

  test.each([{}, { bootID: '' }, { bootID: `${BOOT}\n` }, { bootID: '$(reboot)' }])(
    'without a boot ends the rescue: unknown never disrupts (%j)',
    async (facts) => {
      expect((await pass(stepOf('rescueReboot'), done(facts as Record<string, string>))).went.outcome).toBe('Failed')
    },
  )

  test('of the host of another Machine ends the rescue', async () => {
    for (const owner of ['x', '']) {
      const { went } = await pass(stepOf('rescue', { verb: 'Evidence' }), done({ owner }))
      expect(went).toMatchObject({ outcome: 'Failed', output: expect.stringContaining('another Machine') })
    }
  })

  test('about a reboot that is under way waits, and one of another boot ends it', async () => {
    const step = stepOf('rescueReboot', { verb: 'Reboot', bootID: BOOT })
    const status = { bootID: BOOT }
    const { went } = await pass(step, done({ reboot: 'underway' }), { status })
    expect([went.outcome, went.againMs, went.keeps]).toEqual([undefined, 10_000, { verb: 'Reboot' }])
    expect((await pass(step, done({ reboot: 'done' }), { status })).went).toMatchObject({ outcome: 'Succeeded' })
  })

  test('of the host decides about a boot, not what a silent agent reported before', async () => {
    const step = stepOf('rescueReboot', { verb: 'Reboot', bootID: BOOT })
    const { went } = await pass(step, done({ reboot: 'underway' }), { status: { bootID: 'reported' } })
    expect(went.outcome).toBeUndefined()
  })

  test('that is the same as before adds no line', async () => {
    const first = stepOf('rescue', { output: 'State: Unreachable: x' })
    const failed: SessionResult = { kind: 'Failed', failure: 'Unreachable', why: 'x' }
    expect((await pass(first, failed)).went.output).toBe('State: Unreachable: x')
    expect((await pass({ ...first, output: 'y' }, failed)).went.output).toBe('y\nState: Unreachable: x')
  })
})

describe('a failure', () => {
  const failed = (failure: SshFailure): SessionResult => ({ kind: 'Failed', failure, why: 'x' })
  const ALL = ['Unreachable', 'TimedOut', 'Busy', 'AuthRefused', 'PreflightFailed', 'Full', 'HostKeyChanged'] as const
  const waitsFor = async (step: JobStep): Promise<readonly string[]> => {
    const waits: string[] = []
    for (const failure of ALL) {
      const { went } = await pass(step, failed(failure), { status: { bootID: step.bootID } })
      if (went.outcome === undefined) waits.push(failure)
    }
    return waits
  }

  test('that passes by itself is tried again, others end the rescue', async () => {
    expect(await waitsFor(stepOf('rescue'))).toEqual(['Unreachable', 'TimedOut', 'Busy'])
    expect(await waitsFor(stepOf('rescueReboot', { bootID: BOOT }))).toHaveLength(3)
  })

  test.each(['AuthRefused', 'PreflightFailed'] as const)(
    '%s: a host without the key is skipped, not failed',
    async (why) => {
      const outcomeOf = async (step: JobStep) => (await pass(step, failed(why))).went.outcome
      expect(await outcomeOf(stepOf('rescue'))).toBe('Skipped')
      expect(await outcomeOf(stepOf('rescueReboot', { bootID: BOOT }))).toBe('Skipped')
      // It was let in before: something changed in the middle.
      expect(await outcomeOf(stepOf('rescue', { verb: 'Evidence' }))).toBe('Failed')
    },
  )

  test('of the evidence ends nothing', async () => {
    const { went } = await pass(stepOf('rescue', { verb: 'State' }), failed('Full'))
    expect(went).toEqual({ output: 'Evidence: Full: x', keeps: { verb: 'Evidence' }, againMs: 0 })
  })

  test('of any kind but another key is expected of a host that boots', async () => {
    const waits = await waitsFor(stepOf('rescueReboot', { verb: 'Reboot', bootID: BOOT }))
    expect(waits).toEqual(ALL.filter((f) => f !== 'HostKeyChanged'))
  })
})
