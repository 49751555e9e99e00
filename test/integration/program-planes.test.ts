// Control planes of the programs of Kubernetes on one machine, as `kubenode local up --real` runs them: with a real etcd, and a
// program in place of kube-apiserver.
import { execFileSync, fork } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { get } from 'node:https'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test, type TestContext } from 'vitest'
import { EmbeddedHost } from '#controlplanes/embedded/embedded-host.ts'
import type { PlaneEngine } from '#controlplanes/embedded/engine.ts'
import { programEngine } from '#controlplanes/embedded/programs/engine.ts'
import { CONFORMANCE, type ConformanceCase } from '#test/support/controlplanes/conformance.ts'
import type { ControlPlaneRequest } from '#controlplanes/port.ts'
import { embeddedEngine } from '#programs/planes/embedded-engine.ts'
import { systemClock } from '#lib/system-clock.ts'
import { programFile, whyNoPrograms } from '#test/support/servers/real/programs.ts'
import type { PutAnswer, PutMessage } from '#test/doubles/program-host.ts'
import { portsToKeep } from '#test/support/servers/free-port.ts'
import { planeClient } from '#test/support/servers/plane-client.ts'

const STAND_IN = join(import.meta.dirname, '../doubles/stand-in-apiserver.ts')
const PROGRAM_HOST = join(import.meta.dirname, '../doubles/program-host.ts')
const VERSION = '1.36.0'
const WITHIN_MS = 120_000

let folder: string
let programs: string
let root: string
let hosts: EmbeddedHost[]
/** Of all hosts of one test. */
let firstPort: number | undefined
const MOST_PLANES = 4

const etcdFile = ['/usr/bin/etcd', '/usr/local/bin/etcd', '/opt/bin/etcd'].find((path) => existsSync(path))

/** Programs end with their host where the system can do that. These do not, as where it cannot. */
const OUTLIVING = existsSync('/usr/bin/setpriv') ? '/usr/bin/setpriv --pdeathsig clear ' : ''

/** A folder as KUBEBUILDER_ASSETS names one. */
function madePrograms(): void {
  const script = (name: string, text: string): void => {
    writeFileSync(join(programs, name), `#!/bin/sh\n${text}\n`)
    chmodSync(join(programs, name), 0o700)
  }
  mkdirSync(programs)
  script('etcd', `exec ${OUTLIVING}'${etcdFile ?? ''}' "$@"`)
  script('kube-apiserver', `exec ${OUTLIVING}'${process.execPath}' '${STAND_IN}' "$@"`)
  script('kube-controller-manager', `exec ${OUTLIVING}'${process.execPath}' -e 'setInterval(() => {}, 1e9)' -- "$@"`)
}

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'kubenode-programs-'))
  programs = join(folder, 'programs')
  root = join(folder, 'planes')
  hosts = []
  firstPort = undefined
  mkdirSync(root)
})
afterEach(async () => {
  await Promise.all(hosts.map((h) => h.close()))
  rmSync(folder, { recursive: true, force: true })
})

const needsEtcd = ({ skip }: TestContext): void => {
  if (etcdFile === undefined) skip('no etcd on this machine: apt-get install etcd-server')
  madePrograms()
}

async function opened(engine?: PlaneEngine): Promise<EmbeddedHost> {
  firstPort ??= await portsToKeep(MOST_PLANES)
  const host = new EmbeddedHost({
    root,
    clock: systemClock,
    engine: engine ?? (await programEngine(programs)),
    firstPort,
  })
  hosts.push(host)
  await host.open()
  return host
}
const request = (name: string, more: Partial<ControlPlaneRequest> = {}): ControlPlaneRequest => ({
  id: `fleet.${name}`,
  owner: `uid-${name}`,
  version: VERSION,
  ...more,
})
/** Processes whose command names the folder. */
const commandOf = (pid: number): string => readFileSync(`/proc/${pid}/cmdline`, 'utf8')
const processes = (): readonly number[] =>
  readdirSync('/proc').flatMap((pid) => {
    try {
      return /^\d+$/.test(pid) && commandOf(Number(pid)).includes(`${root}/`) ? [Number(pid)] : []
    } catch {
      return []
    }
  })

const conforms = async (c: ConformanceCase, folder: string, version: string): Promise<void> => {
  const engine = await programEngine(folder)
  await c.run({
    host: await opened(engine),
    connect: planeClient,
    versions: [version, version],
    restarted: async () => {
      await Promise.all(hosts.map((h) => h.close()))
      return opened(engine)
    },
    leftovers: async (id) => [...readdirSync(root).filter((f) => f.includes(id)), ...processes().map(String)],
  })
}

describe('a host of programs conforms:', () => {
  test.for(CONFORMANCE)('$name', { timeout: WITHIN_MS }, async (c, context) => {
    needsEtcd(context)
    await conforms(c, programs, VERSION)
  })
})

describe('a host of the programs of Kubernetes itself conforms:', () => {
  test.for(CONFORMANCE)('$name', { timeout: 5 * WITHIN_MS }, async (c, context) => {
    const why = whyNoPrograms(['etcd', 'kube-apiserver', 'kube-controller-manager'])
    if (why !== undefined) context.skip(why)
    const told = execFileSync(programFile('kube-apiserver'), ['--version'], { encoding: 'utf8' })
    await conforms(c, dirname(programFile('kube-apiserver')), /v([0-9.]+)/.exec(told)?.[1] ?? '')
  })
})

const read = async (host: EmbeddedHost): Promise<string | undefined> => {
  const client = planeClient((await host.kubeconfig('fleet.one', ADMIN)) ?? '')
  try {
    return await client.read('kept')
  } finally {
    client.close()
  }
}
const ADMIN = { user: 'ada', groups: ['system:masters'], lifeMs: 3_600_000 }
async function made(host: EmbeddedHost): Promise<void> {
  await host.put(request('one'))
  const client = planeClient((await host.kubeconfig('fleet.one', ADMIN)) ?? '')
  await client.write('kept', 'as it was')
  client.close()
}

test.for(['etcd', 'kube-apiserver', 'kube-controller-manager'])(
  'a killed %s ends the others, is reported with its name, and the next put starts all of them',
  { timeout: WITHIN_MS },
  async (name, context) => {
    needsEtcd(context)
    const host = await opened()
    await made(host)
    const flag = { etcd: '--data-dir=', 'kube-apiserver': '--etcd-servers=' }[name] ?? '--cluster-signing-key-file='
    const victim = processes().find((pid) => commandOf(pid).includes(flag))
    if (victim === undefined) throw new Error(`${name} does not run`)
    process.kill(victim, 'SIGKILL')
    await expect.poll(async () => (await host.get('fleet.one'))?.state).toBe('Failed')
    expect((await host.get('fleet.one'))?.message).toContain(`${name} ended (SIGKILL)`)
    expect(processes()).toEqual([])
    expect(await host.put(request('one'))).toMatchObject({ plane: { state: 'Running' } })
    expect(await read(host)).toBe('as it was')
  },
)

/** A host in a process of its own with control plane `one`, in which something is kept. */
async function inProcess(): Promise<{ readonly port: number | undefined; readonly kill: () => Promise<void> }> {
  const child = fork(PROGRAM_HOST, [root, programs])
  const next = async (): Promise<unknown> => ((await once(child, 'message')) as readonly unknown[])[0]
  await next()
  child.send({ put: request('one'), admin: ADMIN } satisfies PutMessage)
  const { state, port, kubeconfig = '' } = (await next()) as PutAnswer
  expect(state).toBe('Running')
  const client = planeClient(kubeconfig)
  await client.write('kept', 'as it was')
  client.close()
  return {
    port,
    kill: async () => {
      const exit = once(child, 'exit')
      child.kill('SIGKILL')
      await exit
    },
  }
}

test(
  'programs that a killed host left are ended by the next one, which serves at the same port',
  { timeout: WITHIN_MS },
  async (context) => {
    needsEtcd(context)
    const first = await inProcess()
    await first.kill()
    const before = processes()
    expect(before).toHaveLength(3)
    const second = await opened()
    expect(await second.get('fleet.one')).toMatchObject({ state: 'Running', port: first.port })
    expect(processes().filter((pid) => before.includes(pid))).toEqual([])
    expect(await read(second)).toBe('as it was')
  },
)

test('another user of the machine reads no object past the API server', { timeout: WITHIN_MS }, async (context) => {
  needsEtcd(context)
  const host = await opened()
  await made(host)
  const command = processes()
    .map(commandOf)
    .find((c) => c.includes('--data-dir='))
  const url = /--listen-client-urls=([^\0]+)/.exec(command ?? '')?.[1] ?? ''
  expect(url).toMatch(/^https:/)
  const { rejects } = expect(anonymous(`${url}/health`))
  await rejects.toThrow()
})

const anonymous = (url: string): Promise<number | undefined> =>
  new Promise((resolve, reject) => {
    get(url, { rejectUnauthorized: false }, (answer) => resolve(answer.statusCode)).once('error', reject)
  })

test('a folder without the programs, and one without a version, are refused with what is missing', async (context) => {
  await expect(programEngine(folder)).rejects.toThrow(
    /^KN1097: .*etcd, kube-apiserver, kube-controller-manager not found/,
  )
  needsEtcd(context)
  writeFileSync(join(programs, 'kube-apiserver'), '#!/bin/sh\necho hello\n')
  await expect(programEngine(programs)).rejects.toThrow(/^KN1097: .*prints no version of Kubernetes/)
})

test('a control plane of the embedded server is not taken over', async (context) => {
  needsEtcd(context)
  const embedded = new EmbeddedHost({ root, clock: systemClock, engine: embeddedEngine() })
  hosts.push(embedded)
  await embedded.put(request('one'))
  await embedded.close()
  const host = await opened()
  expect(await host.get('fleet.one')).toMatchObject({ state: 'Failed', message: expect.stringContaining('embedded') })
})
