import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, readFile, realpath, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { LEAN_MALLOC } from '#lib/lean-malloc.ts'
import type { JoinBundle } from '#api/join-bundle.ts'
import { type Clock } from '#lib/clock.ts'
import { systemClock } from '#lib/system-clock.ts'
import { silentLogger } from '#lib/log.ts'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { Provider } from '../port.ts'
import { type NodeLayout, nodeLayout } from './layout.ts'
import { processes, processesOf, signalExactly } from './proc.ts'
import { createProcessProvider } from './provider.ts'

/** A fake agent: starts a component in its own session, without the provider's mark and from another folder, and then stays. */
const AGENT = `
mkdir -p "$2/root/opt"
cp /bin/sleep "$2/root/opt/service"
(cd / && exec setsid env -i "$2/root/opt/service" 300) &
echo $$ >> "$2/state/starts"
while :; do sleep 300; done
`

let base: string
let stops: AbortController

beforeEach(async () => {
  base = await realpath(await mkdtemp(join(tmpdir(), 'process-provider-')))
  await writeFile(join(base, 'agent.sh'), AGENT)
  stops = new AbortController()
})

afterEach(async () => {
  stops.abort()
  const nodes = join(base, 'nodes')
  for (const p of processesOf(nodes, await processes(), process.pid)) await signalExactly(p, 'SIGKILL')
  await rm(base, { recursive: true, force: true, maxRetries: 5 })
})

/** The command of an agent is asked for when it is started, and when processes are searched for it. */
const provider = (asked: (dir: string) => void = () => undefined, clock: Clock = systemClock): Promise<Provider> =>
  createProcessProvider({
    dir: join(base, 'nodes'),
    agent: (node: NodeLayout) => {
      asked(node.dir)
      return ['/bin/sh', join(base, 'agent.sh'), '--root', node.dir]
    },
    clock,
    log: silentLogger,
  })

const bundle = (machine: string, token = 'abcdef.0123456789abcdef'): JoinBundle => ({
  server: 'https://127.0.0.1:6443',
  caData: 'Q0E=',
  token,
  machine,
  node: machine,
  cluster: 'test',
  artifactBase: 'file:///artifacts/',
  trust: { sequence: 1, threshold: 1, keys: [] },
})
const request = (machine: string, machineUid = `uid-${machine}`, token?: string) => ({
  clientToken: `token-${machineUid}`,
  machineUid,
  machine,
  params: {},
  join: bundle(machine, token),
})
const node = (machine: string) => nodeLayout(join(base, 'nodes'), machine)
const own = async (machine: string) => processesOf(node(machine).dir, await processes(), process.pid)

/** Polls, because the events happen in other processes. */
async function until<T>(read: () => Promise<T | undefined | false>): Promise<T> {
  for (;;) {
    const value = await read().catch(() => undefined)
    if (value !== undefined && value !== false) return value
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}
const starts = async (machine: string) =>
  (await readFile(join(node(machine).state, 'starts'), 'utf8')).trim().split('\n')
const hasService = async (machine: string) => (await own(machine)).some((p) => p.args[0]?.endsWith('/service') === true)

describe('the process provider', () => {
  test('makes a folder that only its owner may read, and an agent with an almost empty environment', async () => {
    const p = await provider()
    const made = await p.create(request('m-1'))
    expect(made).toMatchObject({
      kind: 'Host',
      host: { providerID: 'process://m-1', machine: 'm-1', state: 'Running' },
    })
    await until(() => hasService('m-1'))
    const { join: joinFile, dir, root } = node('m-1')
    for (const folder of ['var/log', 'etc']) expect((await stat(join(root, folder))).isDirectory()).toBe(true)
    expect(JSON.parse(await readFile(joinFile, 'utf8'))).toEqual(bundle('m-1'))
    expect((await stat(joinFile)).mode & 0o777).toBe(0o600)
    const agent = (await own('m-1')).find((x) => x.args[0] === '/bin/sh')
    const names = agent?.env.map((e) => e.split('=', 1)[0]).sort()
    // The fake agent's shell adds PWD itself.
    expect(names?.filter((n) => n !== 'PWD')).toEqual([
      'KUBENODE_NODE_DIR',
      'LANG',
      ...Object.keys(LEAN_MALLOC),
      'PATH',
    ])
    expect(agent?.env).toContain(`KUBENODE_NODE_DIR=${dir}`)
  })

  test('a create that is repeated, also by a provider that started later, is the same host with one agent', async () => {
    const first = await (await provider()).create(request('m-1'))
    await until(async () => (await starts('m-1')).length === 1)
    const again = await (await provider()).create(request('m-1'))
    expect(again).toEqual(first)
    expect(await starts('m-1')).toHaveLength(1)
  })

  test('an agent that was started but never recorded is found and not started twice', async () => {
    const first = await provider()
    await first.create(request('m-1'))
    await until(async () => (await starts('m-1')).length === 1)
    const { agent: _, ...forgotten } = JSON.parse(await readFile(node('m-1').record, 'utf8'))
    await writeFile(node('m-1').record, JSON.stringify(forgotten))
    await (await provider()).create(request('m-1'))
    expect(await starts('m-1')).toHaveLength(1)
  })

  test('an agent that was found without a record is recorded, and other processes are not searched for it again', async () => {
    const first = await provider()
    await first.create(request('m-1'))
    await first.create(request('off'))
    await first.power?.('process://off', 'Off')
    await until(async () => (await starts('m-1')).length === 1)
    const { agent, ...forgotten } = JSON.parse(await readFile(node('m-1').record, 'utf8')) as { readonly agent: object }
    await writeFile(node('m-1').record, JSON.stringify(forgotten))
    const searched: string[] = []
    let rounds = 0
    const sleep: typeof systemClock.sleep = (ms, signal) => (rounds++, systemClock.sleep(ms, signal))
    const after = await provider(
      (machine) => void searched.push(machine),
      Object.create(systemClock, { sleep: { value: sleep } }) as Clock,
    )
    void after.run?.(stops.signal)
    await until(async () => {
      const record = JSON.parse(await readFile(node('m-1').record, 'utf8')) as { readonly agent?: object }
      return JSON.stringify(record.agent) === JSON.stringify(agent)
    })
    expect(new Set(searched)).toEqual(new Set([node('m-1').dir]))
    expect(await starts('m-1')).toHaveLength(1)
    const [soFar, then] = [searched.length, rounds + 3]
    await until(() => Promise.resolve(rounds >= then))
    expect(searched.length).toBe(soFar)
  })

  test('a crashed agent is started again, and its components are left alone', async () => {
    const p = await provider()
    await p.create(request('m-1'))
    await until(() => hasService('m-1'))
    const [pid] = await starts('m-1')
    void p.run?.(stops.signal)
    process.kill(Number(pid), 'SIGKILL')
    await until(async () => (await starts('m-1')).length === 2)
    expect(await hasService('m-1')).toBe(true)
  })

  test('delete ends the agent and everything it started, wherever it went, and removes the folder', async () => {
    const p = await provider()
    await p.create(request('m-1'))
    await p.create(request('m-2'))
    await until(async () => (await hasService('m-1')) && (await hasService('m-2')))
    void p.run?.(stops.signal)
    expect(await p.delete('process://m-1')).toBe('Deleted')
    expect(await own('m-1')).toEqual([])
    expect(await p.get('process://m-1')).toBeUndefined()
    expect((await p.list()).hosts.map((h) => h.machine)).toEqual(['m-2'])
    expect(await hasService('m-2')).toBe(true)
    expect(await p.delete('process://m-1')).toBe('Gone')
  })

  test('a reboot, asked for by us or by the agent, ends all and comes back with another boot id', async () => {
    const p = await provider()
    await p.create(request('m-1'))
    await until(() => hasService('m-1'))
    const before = await p.get('process://m-1')
    await mkdir(node('m-1').sys, { recursive: true })
    void p.run?.(stops.signal)
    expect(await p.reboot('process://m-1')).toBe('Ordered')
    const after = await until(async () => {
      const host = await p.get('process://m-1')
      return host?.bootID !== before?.bootID && (await starts('m-1')).length === 2 && host
    })
    // Its hardware is found again.
    expect(existsSync(node('m-1').sys)).toBe(false)
    await writeFile(node('m-1').rebootRequest, '')
    await until(async () => (await p.get('process://m-1'))?.bootID !== after.bootID)
    await until(async () => (await starts('m-1')).length === 3)
    expect(await p.reboot('process://m-9')).toBe('Gone')
  })

  test('a host of the same name for another machine is refused, and what is no machine name too', async () => {
    const p = await provider()
    await p.create(request('m-1'))
    expect(await p.create(request('m-1', 'another-uid'))).toMatchObject({ kind: 'Refused' })
    for (const name of ['../x', '.', 'a/b', 'A', ''])
      expect(await p.create(request(name))).toMatchObject({ kind: 'Refused' })
    expect(await p.delete('process://../..')).toBe('Gone')
  })

  test('a newer token reaches an agent that has not joined yet, and none that has', async () => {
    const p = await provider()
    await p.create(request('m-1'))
    const newer = 'ghijkl.0123456789abcdef'
    await p.create(request('m-1', 'uid-m-1', newer))
    expect(JSON.parse(await readFile(node('m-1').join, 'utf8')).token).toBe(newer)
    await rm(node('m-1').join)
    await p.create(request('m-1', 'uid-m-1', 'mnopqr.0123456789abcdef'))
    expect(await stat(node('m-1').join).catch(() => 'absent')).toBe('absent')
  })

  test('a host that a person lets join again gets the new token, although its agent used up the first', async () => {
    const p = await provider()
    await p.create(request('m-1'))
    await rm(node('m-1').join)
    const newer = 'ghijkl.0123456789abcdef'
    await p.create({ ...request('m-1', 'uid-m-1', newer), joinsAgain: true })
    expect(JSON.parse(await readFile(node('m-1').join, 'utf8')).token).toBe(newer)
  })
})
