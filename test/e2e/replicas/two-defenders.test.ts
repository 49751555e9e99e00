// Two replicas of the Defender behind a Service while deletions are reviewed: a leader that is asked to end fails none, one that is killed at most those of the
// seconds in which it is still among the endpoints, and the standby takes over.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { API_GROUP, API_GROUP_VERSION } from '#api/kind.ts'
import { defenderLedger, LEDGER_NAME } from '#api/kinds/defender-ledger.ts'
import { machine, type Machine } from '#api/kinds/machine.ts'
import { SYSTEM_NAMESPACE } from '#api/names.ts'
import { webhookConfigurationType } from '#defender/webhook/registration.ts'
import { systemClock } from '#lib/system-clock.ts'
import { messageOf } from '#lib/errors.ts'
import { HttpKubeClient } from '#kube/http/client.ts'
import { install } from '#programs/local/install.ts'
import { type Lease, leaseType } from '#runtime/lease.ts'
import { freePort } from '#test/support/servers/free-port.ts'
import type { RunningServer } from '#test/support/servers/api-servers.ts'
import { serveWebhookAt, serviceServers } from '#test/support/servers/service-servers.ts'
import { inFull, isFull, ONLY_IN_FULL } from '#test/support/tools/full.ts'
import { sleep, until } from '#test/support/tools/processes.ts'
import { type Backend, Balancer } from './balancer.ts'
import { programFile } from '#test/support/tools/own-build.ts'

const ROOT = join(import.meta.dirname, '../../..')
const START_MS = 120_000
const PER_SECOND = inFull(100, 20)
/** By then an endpoint that does not answer is out. */
const OUT_MS = 10_000

interface Replica extends Backend {
  readonly process: ChildProcess
}

let server: RunningServer
let admin: HttpKubeClient
let folder: string
let balancer: Balancer
let replicas: Replica[] = []

describe.each(serviceServers)('two Defenders on $name', ({ address, start: startServer }) => {
  beforeAll(async () => {
    replicas = []
    folder = mkdtempSync(join(tmpdir(), 'kubenode-replicas-'))
    server = await startServer()
    admin = new HttpKubeClient({
      server: server.url,
      ca: { data: server.ca },
      clientCertificate: { cert: { data: server.cert }, key: { data: server.key } },
    })
    await install(admin, join(ROOT, 'deploy'), systemClock)
    balancer = new Balancer()
    const port = await balancer.start(address)
    await serveWebhookAt(admin, address, port)
    await admin.create(machine, {
      apiVersion: API_GROUP_VERSION,
      kind: machine.kind,
      metadata: { name: 'm-1' },
      spec: { ...machine.example.spec, components: [] } as Machine['spec'],
    })
    writeFileSync(join(folder, 'kubeconfig'), await kubeconfig(), { mode: 0o600 })
  }, START_MS)

  afterAll(async () => {
    for (const { process: child } of replicas) child.kill('SIGKILL')
    await balancer.stop()
    admin.close()
    await server.stop()
    rmSync(folder, { recursive: true, force: true })
  })

  async function kubeconfig(): Promise<string> {
    const path = `/api/v1/namespaces/${SYSTEM_NAMESPACE}/serviceaccounts/kubenode-defender/token`
    const body = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: {} }
    const { text } = await admin.raw({ method: 'POST', path, body })
    const { token } = (JSON.parse(text) as { readonly status: { readonly token: string } }).status
    const ca = Buffer.from(server.ca).toString('base64')
    return JSON.stringify({
      apiVersion: 'v1',
      kind: 'Config',
      'current-context': 'c',
      clusters: [{ name: 'c', cluster: { server: server.url, 'certificate-authority-data': ca } }],
      users: [{ name: 'u', user: { token } }],
      contexts: [{ name: 'c', context: { cluster: 'c', user: 'u' } }],
    })
  }

  async function start(): Promise<Replica> {
    const [port, healthPort] = [await freePort(), await freePort()]
    const options = {
      roles: 'defender',
      kubeconfig: join(folder, 'kubeconfig'),
      cluster: 'edge',
      'webhook-service': `${SYSTEM_NAMESPACE}/kubenode-webhook`,
      'webhook-port': String(port),
      'health-listen': `127.0.0.1:${healthPort}`,
    }
    const flags = Object.entries(options).flatMap(([name, value]) => [`--${name}`, value])
    const child = spawn(process.execPath, [programFile('main'), 'run', ...flags], {
      stdio: 'ignore',
      cwd: folder,
    })
    const replica = { port, healthPort, process: child }
    replicas.push(replica)
    balancer.add(replica)
    await until('the replica is ready', () => balancer.ready.includes(replica) || undefined, START_MS)
    return replica
  }

  const leads = async ({ process: { pid } }: Replica): Promise<boolean> => {
    const lease: Lease | undefined = await admin.get(leaseType, {
      namespace: SYSTEM_NAMESPACE,
      name: 'kubenode-defender',
    })
    return lease?.spec?.holderIdentity?.includes(`-${pid}-`) === true
  }

  /** A deletion that is only tried: the webhook must answer it, and nothing is counted. */
  const tried = () => admin.delete(machine, { name: 'm-1' }, { dryRun: true }).then(() => undefined, messageOf)

  interface Failure {
    readonly at: number
    readonly why: string
  }

  /** Reviews at an even rate until told to stop; each that is not answered is a failure. */
  function reviews() {
    const failures: Failure[] = []
    const asked = new Set<Promise<void>>()
    let count = 0
    const timer = setInterval(() => {
      count++
      const at = performance.now()
      const one = tried().then((why) => {
        asked.delete(one)
        if (why !== undefined) failures.push({ at, why })
      })
      asked.add(one)
    }, 1_000 / PER_SECOND)
    const stop = async () => {
      clearInterval(timer)
      await Promise.all(asked)
      return { failures, count }
    }
    return { stop }
  }

  async function end({ process: child }: Replica, signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
    const ended = once(child, 'exit')
    child.kill(signal)
    await ended
  }

  test(
    'F49 a leader that is asked to end fails no review, and the standby takes over',
    async () => {
      const first = await start()
      await until(
        'the registration',
        async () => {
          const found = await admin.get(webhookConfigurationType, { name: API_GROUP })
          return found !== undefined || undefined
        },
        START_MS,
      )
      const ledger = {
        apiVersion: API_GROUP_VERSION,
        kind: 'DefenderLedger',
        metadata: { name: LEDGER_NAME },
        spec: { sequence: 1 },
      }
      if ((await admin.get(defenderLedger, { name: LEDGER_NAME })) === undefined)
        await admin.create(defenderLedger, ledger as never).catch(() => undefined)
      await until('a review is answered', async () => ((await tried()) === undefined ? true : undefined), START_MS)
      const second = await start()
      expect([await leads(first), await leads(second)]).toEqual([true, false])
      const load = reviews()
      await sleep(1_000)
      await end(first, 'SIGTERM')
      await until('the standby leads', async () => (await leads(second)) || undefined, START_MS)
      await sleep(inFull(5_000, 500))
      const { failures, count } = await load.stop()
      expect(failures).toEqual([])
      expect(count).toBeGreaterThan(PER_SECOND)
    },
    2 * START_MS,
  )

  test(
    'F49 a leader that is killed fails at most the reviews of the seconds until it is out',
    async (context) => {
      if (!isFull) context.skip(ONLY_IN_FULL)
      const second = replicas.at(-1)
      if (second === undefined) throw new Error('no replica is left')
      const third = await start()
      expect(await leads(second)).toBe(true)
      const load = reviews()
      await sleep(2_000)
      const killedAt = performance.now()
      await end(second, 'SIGKILL')
      await until('the standby leads', async () => (await leads(third)) || undefined, START_MS)
      await sleep(2_000)
      const { failures } = await load.stop()
      const lateMs = Math.max(0, ...failures.map((f) => f.at - killedAt))
      expect(lateMs).toBeLessThan(OUT_MS)
      expect(failures.every((f) => f.at > killedAt - 1_000)).toBe(true)
    },
    2 * START_MS,
  )
})
