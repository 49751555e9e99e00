// One agent as a real process against an API server over HTTPS: from a join token to a component that runs, is switched, reverted and repaired.
import { existsSync, readFileSync } from 'node:fs'
import { once } from 'node:events'
import http from 'node:http'
import { join } from 'node:path'
import { kill } from 'node:process'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { loopbackAddress } from '#agent/node/address.ts'
import { AgentBench, MACHINE, beaconRelease, eventually } from './agent-bench.ts'

const bench = new AgentBench()
let agent: ReturnType<AgentBench['run']>

const served = (): Promise<string> =>
  new Promise((resolve) => {
    const request = http.get(
      { host: loopbackAddress(bench.cluster, MACHINE), port: 18080, path: '/', agent: false },
      (r) => {
        let text = ''
        r.setEncoding('utf8')
        r.on('data', (s: string) => (text += s))
        r.on('end', () => resolve(text))
      },
    )
    request.on('error', () => resolve('nobody'))
  })

const processFile = (): string => join(bench.nodeFolder, 'state/components/beacon/process.json')
const processOf = (): number => {
  const value = JSON.parse(readFileSync(processFile(), 'utf8')) as { id: { pid: number } }
  return value.id.pid
}

const reaches = (state: string, version: string) =>
  eventually(
    `${version} ${state}`,
    () => bench.component(),
    (c) => c?.state === state && c.version === version,
  )

beforeAll(async () => {
  await bench.start()
  for (const [version, status] of [
    ['1.0.0', 200],
    ['1.1.0', 200],
    ['1.2.0', 500],
  ] as const)
    await bench.publish(beaconRelease(bench.publisher, version, status))
  await bench.order({ version: '1.0.0' })
  bench.writeJoin()
  bench.writeConfig({
    frozenAfter: '500ms',
    lease: '1s',
    clearAfter: '300ms',
    logs: [
      {
        path: '/var/log/kern.log',
        rules: [
          {
            condition: 'KernelDeadlock',
            reason: 'TaskHung',
            pattern: 'task \\S+ blocked for more than',
            clearAfter: '1s',
          },
        ],
      },
    ],
  })
  agent = bench.run()
})

afterAll(() => bench.stop())

describe('an agent from its token to its repairs', () => {
  test('joins, registers its node and installs what the Machine names while no pod may come', async () => {
    await reaches('Healthy', '1.0.0')
    expect(await served()).toBe('1.0.0')
    expect(await bench.condition('Ready')).toBe('True AgentReady')
    expect(existsSync(join(bench.nodeFolder, 'join.json'))).toBe(false)
    const users = new Set(bench.server.requests.map((r) => r.user))
    expect([...users]).toEqual(['system:bootstrap:abcdef', `kubenode:agent:${MACHINE}`])
  })

  test('F40 a second agent on the node ends with a numbered line', async () => {
    const second = bench.run()
    const [code] = (await once(second, 'exit')) as [number]
    expect([code, bench.logOf(second)]).toEqual([
      78,
      expect.stringMatching(/^KN8001: cannot start the agent on .*another agent is already running/),
    ])
  })

  test('stages a new version and waits for an order whose permit is granted', async () => {
    await bench.order({ version: '1.1.0', attempt: 2 })
    await reaches('Staged', '1.0.0')
    await bench.permit('p1', 'SwitchComponent', 'Requested')
    await bench.order({ version: '1.1.0', attempt: 2, switch: { attempt: 2, permit: 'p1' } })
    await eventually(
      'a look at the permit',
      () => bench.server.requests.filter((r) => r.path.includes('operationpermits/p1')).length,
      (n) => n > 0,
    )
    expect(await served()).toBe('1.0.0')
    await bench.decide('p1', 'Granted')
    await reaches('Healthy', '1.1.0')
    expect(await served()).toBe('1.1.0')
  })

  test('goes back by itself from a version whose probe fails', async () => {
    await bench.permit('p2', 'SwitchComponent', 'Granted')
    await bench.order({ version: '1.2.0', attempt: 3, switch: { attempt: 3, permit: 'p2' } })
    const seen = await reaches('RolledBack', '1.1.0')
    expect([seen?.desired, seen?.attempt]).toEqual(['1.2.0', 3])
    await eventually('the old version', served, (v) => v === '1.1.0')
    await bench.order({ version: '1.1.0', attempt: 4 })
    await reaches('Healthy', '1.1.0')
  })

  test('a restart of the agent restarts no component', async () => {
    const before = processOf()
    agent.kill('SIGKILL')
    await once(agent, 'exit')
    agent = bench.run()
    await eventually(
      'the agent',
      () => bench.logOf(agent),
      (log) => log.includes('agent started'),
    )
    expect([processOf(), await served()]).toEqual([before, '1.1.0'])
  })

  test('reports again what a person cleared from the status of its Machine', async () => {
    await bench.clearStatus()
    await reaches('Healthy', '1.1.0')
  })

  test('a component that is killed is a condition at once, runs again, and the condition ends', async () => {
    kill(processOf(), 'SIGKILL')
    await eventually(
      'the condition',
      () => bench.condition('ComponentUnhealthy-beacon'),
      (c) => c === 'True ComponentCrashed',
    )
    await eventually(
      'its end',
      () => bench.condition('ComponentUnhealthy-beacon'),
      (c) => c === 'False ComponentHealthy',
    )
    await eventually('the component', served, (v) => v === '1.1.0')
  })

  test('a frozen component is a condition, and a job with a granted permit restarts it once', async () => {
    // On a busy machine the restart of the test before may still be written down.
    const frozen = await eventually(
      'the process',
      () => (existsSync(processFile()) ? processOf() : 0),
      (pid) => pid > 0,
    )
    kill(frozen, 'SIGSTOP')
    await eventually(
      'the condition',
      () => bench.condition('ComponentUnhealthy-beacon'),
      (c) => c === 'True ComponentFrozen',
    )
    await bench.permit('p3', 'RestartComponent', 'Granted')
    await bench.job(
      'j1',
      [{ collectEvidence: { kinds: ['Components'] } }, { restartComponent: { component: 'beacon' } }],
      'p3',
    )
    await bench.listJobs(['j1'])
    const steps = await eventually(
      'the steps',
      () => bench.steps('j1'),
      (s) => s.length === 2 && s.every((x) => x.outcome !== undefined),
    )
    expect(steps.map((s) => [s.executor, s.attempts, s.outcome])).toEqual([
      ['Agent', 1, 'Succeeded'],
      ['Agent', 1, 'Succeeded'],
    ])
    expect(processOf()).not.toBe(frozen)
    await eventually(
      'its end',
      () => bench.condition('ComponentUnhealthy-beacon'),
      (c) => c === 'False ComponentHealthy',
    )
  })

  test('a line in a watched log is a condition, and silence ends it', async () => {
    const { mkdirSync, appendFileSync } = await import('node:fs')
    mkdirSync(join(bench.nodeFolder, 'root/var/log'), { recursive: true })
    appendFileSync(
      join(bench.nodeFolder, 'root/var/log/kern.log'),
      'INFO: task java:4711 blocked for more than 120 seconds.\n',
    )
    await eventually(
      'the condition',
      () => bench.condition('KernelDeadlock'),
      (c) => c === 'True TaskHung',
    )
    await eventually(
      'its end',
      () => bench.condition('KernelDeadlock'),
      (c) => c === 'False Silent',
    )
  })

  test('F36 a reboot is asked of the provider, and reported once by the next boot', async () => {
    await bench.permit('p4', 'Reboot', 'Granted')
    await bench.job('j2', [{ reboot: { timeout: '1m' } }], 'p4')
    await bench.listJobs(['j2'])
    const [code] = (await once(agent, 'exit')) as [number]
    expect([code, await served()]).toEqual([75, 'nobody'])
    expect(existsSync(join(bench.nodeFolder, 'reboot-requested'))).toBe(true)
    const { writeFileSync } = await import('node:fs')
    writeFileSync(join(bench.nodeFolder, 'boot-id'), 'second-boot\n')
    agent = bench.run()
    const steps = await eventually(
      'the step',
      () => bench.steps('j2'),
      (s) => s[0]?.outcome === 'Succeeded',
    )
    expect([steps[0]?.attempts, existsSync(join(bench.nodeFolder, 'reboot-requested'))]).toEqual([1, false])
    await eventually('the component', served, (v) => v === '1.1.0')
  })
})
