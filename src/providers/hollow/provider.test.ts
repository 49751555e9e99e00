// The conformance kit, and the hollow provider's specifics: parameters, and one process for all hosts.
import { mkdtemp, readFile, realpath, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { systemClock } from '#lib/system-clock.ts'
import { silentLogger } from '#lib/log.ts'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { CONFORMANCE, type ConformanceTools } from '../conformance.ts'
import type { HostRequest, Provider } from '../port.ts'
import { endAll } from '../process/end.ts'
import { parseParams } from './params.ts'
import { agentsLayout, createHollowProvider } from './provider.ts'

const until: ConformanceTools['until'] = async (holds) => {
  for (let i = 0; i < 500; i++) {
    if (await holds()) return
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  throw new Error('it never happened')
}

let base: string
const dir = () => join(base, 'hollow')
const start = (): Promise<Provider> =>
  createHollowProvider({
    dir: dir(),
    agents: () => ['/bin/sh', join(base, 'agents.sh')],
    clock: systemClock,
    log: silentLogger,
  })
beforeAll(async () => {
  base = await realpath(await mkdtemp(join(tmpdir(), 'hollow-')))
  await writeFile(join(base, 'agents.sh'), 'echo begun; while :; do sleep 60; done\n')
})
afterAll(async () => {
  await endAll(agentsLayout(dir()), undefined, systemClock)
  await rm(base, { recursive: true, force: true, maxRetries: 5 })
})

const request = (machine: string, params = {}): HostRequest => ({
  clientToken: `token-${machine}`,
  machineUid: `token-${machine}`,
  machine,
  params,
  join: {
    server: '',
    caData: '',
    token: '',
    machine,
    node: machine,
    cluster: '',
    artifactBase: '',
    trust: { sequence: 0, threshold: 1, keys: [] },
  },
})

describe('the hollow provider', () => {
  test.each(CONFORMANCE)('$name', async (c) => {
    await c.run({ provider: await start(), until, restarted: start })
  })

  test('runs one process for all hosts, and none once there are no hosts', async () => {
    const provider = await start()
    const ending = new AbortController()
    const running = provider.run?.(ending.signal)
    const log = () => readFile(agentsLayout(dir()).agentLog, 'utf8').catch(() => '')
    for (const name of ['one', 'two']) await provider.create(request(name))
    await until(async () => (await log()).includes('begun'))
    // A later provider finds the existing process.
    const later = await start()
    const laterEnds = new AbortController()
    void later.run?.(laterEnds.signal)
    await systemClock.sleep(1_200)
    laterEnds.abort()
    expect(await log()).toBe('begun\n')
    for (const name of ['one', 'two']) await provider.delete(`hollow://${name}`)
    const { processes, processesOf } = await import('../process/proc.ts')
    await until(async () => processesOf(agentsLayout(dir()).dir, await processes(), process.pid).length === 0)
    ending.abort()
    await running
  })

  test('refuses invalid names and unknown parameters', async () => {
    const provider = await start()
    expect((await provider.create(request('../x'))).kind).toBe('Refused')
    expect((await provider.create(request('odd', { colour: 'red' }))).kind).toBe('Refused')
    expect((await provider.list()).hosts).toEqual([])
  })
})

test.each([
  [{ fails: 'beacon' }, 'component@version'],
  [{ stage: 'soon' }, 'duration'],
  [{ silent: 'perhaps' }, 'true or false'],
])('parameters %j are refused with a reason', (params, why) => {
  const parsed = parseParams(params)
  expect(parsed.kind === 'Refused' && parsed.reason).toContain(why)
})
