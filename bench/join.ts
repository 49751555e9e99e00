// How long the controllers take to join a thousand hosts over SSH, of which one never answers. Sessions are processes of a program in place of ssh that answers each
// script after a second; everything before it is real: the steps, the status writes, keys in folders, process groups, deadlines. The agents and the API server
// are in this process. The figures:
//   joined_s       from the creation of the Machines until each host but the stuck one has joined.
//   stuck_delay_s  longest time in which no session of another host ended, beyond the longest of these sessions: what a stuck host costs the others.
//   rss_mb         most memory of this process, with its API server and all Machines.
//   unfinished     hosts other than the stuck one that have not joined; joined_twice: hosts that were started more than once.
import { chmodSync, copyFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { KINDS } from '#api/kinds.ts'
import { type Machine, machine as machineType } from '#api/kinds/machine.ts'
import { SYSTEM_NAMESPACE } from '#api/names.ts'
import { HOSTS_AT_ONCE, sshJoinModule } from '#controllers/sshjoin/reconcile.ts'
import { silentLogger } from '#lib/log.ts'
import { seededRandom } from '#lib/random.ts'
import { systemClock } from '#lib/system-clock.ts'
import { secretType } from '#nodes/objects.ts'
import { createInformers } from '#runtime/informers.ts'
import { createMetrics } from '#runtime/metrics.ts'
import { type Session, SshSessions } from '#ssh/ssh-sessions.ts'
import { hostScript } from '#ssh/script.ts'
import { FakeKube } from '#test/doubles/kube/fake-kube.ts'
import { type BenchOptions, type BenchResult, type Figures, rounded } from './result.ts'

const HOSTS = 1_000
/** Of each of the four sessions of a host. */
const SESSION_MS = 1_000
const WITHIN_MS = 1_200_000
const KEY = 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIEr6Xb1mZ2yTqkXo8v1C6lq0Jq5m0kZ1n8t0p3t2d5fQ'
const STUCK = 'stuck'
const LOOK_MS = 100
const MB = 1024 * 1024

export const smoke: Figures = { hosts: 6, session_ms: 50 }

export async function run({ numbers }: BenchOptions): Promise<BenchResult> {
  const hosts = numbers['hosts'] ?? HOSTS
  const folder = mkdtempSync(join(tmpdir(), 'kubenode-bench-join-'))
  try {
    const program = join(folder, 'ssh')
    copyFileSync(join(import.meta.dirname, 'join/fake-ssh.sh'), program)
    chmodSync(program, 0o755)
    writeFileSync(join(folder, 'seconds'), String((numbers['session_ms'] ?? SESSION_MS) / 1_000))
    const sessions = new SshSessions({
      folder: join(folder, 'keys'),
      path: process.env['PATH'] ?? '',
      atOnce: HOSTS_AT_ONCE,
      program,
    })
    return { figures: { hosts, ...(await joined(hosts, sessions)) }, peer: null, ratio: {} }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

async function joined(hosts: number, sessions: SshSessions): Promise<Figures> {
  const random = seededRandom(1)
  const kinds = KINDS.map((k) => ({ type: k, schema: k.schema, status: k.definition.status !== undefined }))
  const fake = new FakeKube({ clock: systemClock, random, kinds })
  const names = [STUCK, ...Array.from({ length: hosts - 1 }, (_, i) => `h-${i}`)]
  plant(fake, names)
  const starts = new Map<string, number>()
  let [lastEnd, longestGap, longestSession] = [systemClock.monotonic(), 0, 0]
  const timed = async (session: Session, signal: AbortSignal) => {
    const { host } = session.target
    const began = systemClock.monotonic()
    const result = await sessions.run(session, signal)
    if (host === STUCK) return result
    const now = systemClock.monotonic()
    longestGap = Math.max(longestGap, now - lastEnd)
    longestSession = Math.max(longestSession, now - began)
    lastEnd = now
    if (result.kind === 'Done' && session.script.includes('step Start')) {
      starts.set(host, (starts.get(host) ?? 0) + 1)
      // What the agent reports first.
      fake.poke(machineType, { name: host }, { status: { agent: { version: '1.0.0' } } }, 'status')
    }
    return result
  }
  const stop = startControllers(fake, { run: timed, inTurn: sessions.inTurn.bind(sessions) })
  const began = systemClock.monotonic()
  let rss = 0
  const isJoined = (name: string) =>
    (fake.peek(machineType, { name }) as Machine | undefined)?.status?.join?.finished !== undefined
  const rest = new Set(names.slice(1))
  while (rest.size > 0 && systemClock.monotonic() - began < WITHIN_MS) {
    await systemClock.sleep(LOOK_MS)
    rss = Math.max(rss, process.memoryUsage.rss())
    for (const name of rest) if (isJoined(name)) rest.delete(name)
  }
  const joinedMs = systemClock.monotonic() - began
  await stop()
  return {
    joined_s: rounded(joinedMs / 1_000),
    stuck_delay_s: rounded(Math.max(0, longestGap - longestSession) / 1_000),
    longest_session_s: rounded(longestSession / 1_000),
    rss_mb: Math.round(rss / MB),
    unfinished: rest.size,
    joined_twice: [...starts.values()].filter((count) => count > 1).length,
  }
}

function plant(fake: FakeKube, names: readonly string[]): void {
  fake.plant(secretType, {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { namespace: SYSTEM_NAMESPACE, name: 'key', labels: { 'kubenode.io/for-ssh': 'true' } },
    data: { 'ssh-privatekey': Buffer.from('-----BEGIN OPENSSH PRIVATE KEY-----').toString('base64') },
  })
  for (const name of names)
    fake.plant(machineType, {
      apiVersion: 'kubenode.io/v1alpha1',
      kind: 'Machine',
      metadata: { name },
      spec: {
        channel: 'Agent',
        provider: { name: 'static' },
        ssh: { host: name, hostKey: KEY, secretRef: { name: 'key' } },
      },
    })
}

function startControllers(fake: FakeKube, sessions: Pick<SshSessions, 'run' | 'inTurn'>): () => Promise<void> {
  const random = seededRandom(2)
  const tools = { clock: systemClock, random, log: silentLogger }
  const client = fake.client({ actor: 'controllers' })
  const informers = createInformers({ client, ...tools })
  const { controllers } = sshJoinModule.setup({
    client,
    informers,
    ...tools,
    metrics: createMetrics(),
    events: { record: () => undefined, flush: async () => undefined },
    config: {
      cluster: 'bench',
      providers: {},
      join: { server: 's', caData: '', artifactBase: '', trust: { sequence: 1, threshold: 1, keys: [] } },
      sshJoin: { sessions, scriptOf: (step) => hostScript(`: step ${step}`) },
    },
  })
  for (const c of controllers) c.start()
  informers.start()
  return async () => {
    for (const c of controllers) await c.stop(0)
    await informers.stop()
  }
}
