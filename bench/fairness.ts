// What the stolen key of one agent, and those of twenty service accounts without a right, do to all other clients, on an embedded server as it is installed, with a thousand Machines and three leaders. The thief is a
// process of its own with many connections. The figures:
//   admin_p99_idle_ms   of an administrator who reads a Machine and writes a ConfigMap in turn, without other clients.
//   admin_p99_<flood>_ms  the same under a flood of wide objects, events, watches, lists, slow bodies, and of accounts; each may be three times as long, or 50 ms.
//   admin_p99_ms        the longest of these.
//   lease_lost          terms of leaders that ended before they were asked to.
//   within              1 when all of that holds.
import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { issueCertificate } from '#lib/x509/certificates.ts'
import { API_GROUP_VERSION } from '#api/kind.ts'
import { AGENTS_GROUP, agentUser, programUser, SYSTEM_NAMESPACE } from '#api/names.ts'
import { machine, type Machine } from '#api/kinds/machine.ts'
import { HttpKubeClient } from '#kube/http/client.ts'
import { systemClock } from '#lib/system-clock.ts'
import { silentLogger } from '#lib/log.ts'
import { systemRandom } from '#lib/random.ts'
import { install } from '#programs/local/install.ts'
import { LeaderElection } from '#runtime/leader.ts'
import { agentFor, percentile, send, type Target, type Work } from './apiserver/load.ts'
import { startEmbedded, type Started } from './apiserver/servers.ts'
import { cpuSecondsOf } from './rollout/process-use.ts'
import { FLOODS, type Flood, type FloodOrder } from './fairness/flood-process.ts'
import { rounded, type BenchOptions, type BenchResult, type Figures } from './result.ts'

const MACHINES = 1_000
const SECONDS = 20
const CONNECTIONS = 100
/** Between two requests of the administrator: a person and a few controllers. */
const PACE_MS = 20
/** What the thief may run ahead is used up, and the server's code for it is compiled. */
const WARM_UP_S = 3
const LEADERS = ['sync', 'controllers', 'defender'] as const
const NO_LONGER_THAN = { times: 3, ms: 50 }
const MAP = '/api/v1/namespaces/default/configmaps'
/** Machines that the administrator reads in turn. */
const PROBED = 10
const STOLEN = 'machine-00000'
const ACCOUNTS = 20
/** Fifteen of them promise bodies: those of three accounts once took all memory for bodies. */
const CONNECTIONS_OF_ACCOUNT = 18

const nameOf = (i: number): string => `machine-${String(i).padStart(5, '0')}`

const clientOf = ({ host, port, ca, cert, key }: Target): HttpKubeClient =>
  new HttpKubeClient({
    server: `https://${host}:${port}`,
    ca: { data: ca },
    clientCertificate: { cert: { data: cert }, key: { data: key } },
  })

/** The same server with a certificate of its own authority. */
function identity({ target, data = '' }: Started, commonName: string, organizations: readonly string[]): Target {
  const pki = (file: string): string => readFileSync(join(data, 'pki', file), 'utf8')
  const authority = { certificate: pki('ca.crt'), key: pki('ca.key') }
  const subject = { commonName, organizations }
  const validity = { now: systemClock.now(), days: 1 }
  const { certificate: cert, key } = issueCertificate(authority, { subject, validity, usage: 'client' })
  return { ...target, cert, key }
}

async function furnish(target: Target, machines: number): Promise<void> {
  const client = clientOf(target)
  await install(client, join(import.meta.dirname, '../deploy'), systemClock)
  for (let i = 0; i < machines; i++)
    await client.create(machine, {
      apiVersion: API_GROUP_VERSION,
      kind: machine.kind,
      metadata: { name: nameOf(i) },
      spec: machine.example.spec as Machine['spec'],
    })
  const agent = agentFor(target, 1)
  const { status } = await send(target, agent, {
    method: 'POST',
    path: MAP,
    body: Buffer.from('{"metadata":{"name":"probe"}}'),
  })
  if (status !== 201) throw new Error(`POST ${MAP} answered ${status}`)
  agent.destroy()
  client.close()
}

/** Leaders as the programs have them: each with a client for its Lease alone. */
async function startLeaders(server: Started): Promise<{ readonly lost: () => number; stop(): Promise<void> }> {
  let lost = 0
  let isEnding = false
  const leaders = LEADERS.map((program) => {
    const client = clientOf(identity(server, programUser(program), []))
    const elected = Promise.withResolvers<void>()
    const election = new LeaderElection({
      client,
      clock: systemClock,
      random: systemRandom,
      log: silentLogger,
      lease: { namespace: SYSTEM_NAMESPACE, name: `kubenode-${program}` },
      identity: program,
      onElected: () => elected.resolve(),
      onLost: () => void (isEnding || lost++),
    })
    election.start()
    return { client, election, elected: elected.promise }
  })
  await Promise.all(leaders.map((l) => l.elected))
  return {
    lost: () => lost,
    stop: async () => {
      isEnding = true
      await Promise.all(leaders.map((l) => l.election.stop()))
      for (const { client } of leaders) client.close()
    },
  }
}

/** In order of time; any answer but 200 is a failure of the server, not a figure. */
async function adminTimes(target: Target, forMs: number): Promise<readonly number[]> {
  const agent = agentFor(target, 1)
  const times: number[] = []
  const ends = systemClock.monotonic() + forMs
  for (let i = 0; systemClock.monotonic() < ends; i++) {
    const body = Buffer.from(JSON.stringify({ data: { round: String(i) } }))
    const work: Work =
      i % 2 === 0
        ? { method: 'GET', path: `/apis/kubenode.io/v1alpha1/machines/${nameOf(i % PROBED)}` }
        : { method: 'PATCH', path: `${MAP}/probe`, body, contentType: 'application/merge-patch+json' }
    const began = systemClock.monotonic()
    const { status } = await send(target, agent, work)
    if (status !== 200) throw new Error(`${work.method} ${work.path} answered ${status}`)
    times.push(systemClock.monotonic() - began)
    await systemClock.sleep(PACE_MS)
  }
  agent.destroy()
  return times
}

const p99 = (times: readonly number[]): number =>
  percentile(
    times.toSorted((a, b) => a - b),
    0.99,
  )

async function startFlood(order: FloodOrder): Promise<ChildProcess> {
  const child = fork(join(import.meta.dirname, 'fairness/flood-process.ts'), {
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  })
  child.send(order)
  await once(child, 'message')
  return child
}

interface Flooded {
  readonly p99Ms: number
  /** Of one processor, that the server used. */
  readonly cpu: number
}

async function underFlood(
  target: Target,
  order: FloodOrder,
  { seconds, warmUpS }: { readonly seconds: number; readonly warmUpS: number },
): Promise<Flooded> {
  const child = await startFlood(order)
  try {
    await systemClock.sleep(warmUpS * 1_000)
    const [server = 0] = target.pids
    const [used, began] = [cpuSecondsOf(server) ?? 0, systemClock.monotonic()]
    const p99Ms = p99(await adminTimes(target, seconds * 1_000))
    const cpu = ((cpuSecondsOf(server) ?? 0) - used) / ((systemClock.monotonic() - began) / 1_000)
    return { p99Ms, cpu }
  } finally {
    const ended = once(child, 'exit')
    child.kill('SIGKILL')
    await ended
  }
}

export const smoke: Figures = { machines: 10, seconds: 1, connections: 4, warm_up_s: 0.2 }

export async function run({ numbers }: BenchOptions): Promise<BenchResult> {
  const { machines = MACHINES, seconds = SECONDS, connections = CONNECTIONS, warm_up_s: warmUpS = WARM_UP_S } = numbers
  const server = await startEmbedded()
  try {
    await furnish(server.target, machines)
    const leaders = await startLeaders(server)
    await adminTimes(server.target, warmUpS * 1_000)
    const idle = p99(await adminTimes(server.target, seconds * 1_000))
    const thief = identity(server, agentUser(STOLEN), [AGENTS_GROUP])
    const accounts = Array.from({ length: ACCOUNTS }, (_, i) =>
      identity(server, `system:serviceaccount:default:thief-${i}`, ['system:serviceaccounts']),
    )
    const ofEach = (flood: Flood): number => (flood === 'accounts' ? CONNECTIONS_OF_ACCOUNT : connections)
    const floods: (readonly [Flood, Flooded])[] = []
    for (const flood of FLOODS) {
      const order = { flood, target: thief, machine: STOLEN, connections: ofEach(flood), accounts }
      floods.push([flood, await underFlood(server.target, order, { seconds, warmUpS })])
      const { p99Ms = 0, cpu = 0 } = floods.at(-1)?.[1] ?? {}
      console.error(`${flood}: ${p99Ms.toFixed(1)} ms, ${(cpu * 100).toFixed(0)}% of a processor`)
    }
    const lost = leaders.lost()
    await leaders.stop()
    const worst = Math.max(...floods.map(([, { p99Ms }]) => p99Ms))
    const most = Math.max(NO_LONGER_THAN.times * idle, NO_LONGER_THAN.ms)
    return {
      figures: {
        admin_p99_idle_ms: rounded(idle),
        ...Object.fromEntries(floods.map(([flood, { p99Ms }]) => [`admin_p99_${flood}_ms`, rounded(p99Ms)])),
        admin_p99_ms: rounded(worst),
        lease_lost: lost,
        within: lost === 0 && worst <= most ? 1 : 0,
      },
      peer: null,
      ratio: {},
    }
  } finally {
    await server.stop()
  }
}
