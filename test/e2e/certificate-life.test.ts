// `kubenode run --certificate-life 1h`, with real programs whose clocks the test moves: agents renew after two thirds of the life, a warning is reported in the
// last third when they cannot, and expired certificates are refused. TLS judges by the real time, so the test's hours are chosen around it.
import { spawn, type ChildProcess } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { csrType } from '#agent/join/request.ts'
import { nodeDir, pairFile } from '#agent/node-dir.ts'
import { newPublisher } from '#test/doubles/node/release.ts'
import { API_GROUP_VERSION } from '#api/kind.ts'
import { machine as machineType, type Machine } from '#api/kinds/machine.ts'
import { agentLeaseName, SYSTEM_NAMESPACE } from '#api/names.ts'
import { BUNDLE_FIELD, handOverKey, tokenText } from '#identity/join-token.ts'
import { findCondition } from '#kube/conditions.ts'
import { isUnauthorized } from '#kube/errors.ts'
import { HttpKubeClient } from '#kube/http/client.ts'
import { installAll } from '#test/support/servers/installed.ts'
import { secretType } from '#nodes/objects.ts'
import { leaseType } from '#runtime/lease.ts'
import { startedApiServer, type ServerProcess } from '#test/support/servers/apiserver-process.ts'
import { sleep, until } from '#test/support/tools/processes.ts'
import { onlyInFull } from '#test/support/tools/full.ts'

const ROOT = join(import.meta.dirname, '../..')
const MINUTE = 60_000
const NAME = 'm-1'
const WITHIN_MS = 200_000

const folder = realpathSync(mkdtempSync(join(tmpdir(), 'kubenode-certificate-life-')))
const time = join(folder, 'minutes')
const node = join(folder, 'node')
const SHIFTED = [
  `NODE_OPTIONS=--import=${join(ROOT, 'test/support/clocks/shifted-time.ts')}`,
  `KUBENODE_TEST_TIME=${time}`,
]
const programs: { readonly child: ChildProcess; readonly text: () => string }[] = []
let server: ServerProcess
let admin: HttpKubeClient

/** All programs live so far from the real time, from the next moment on. */
function shift(ms: number): void {
  // Whole at once: they read it at any moment.
  writeFileSync(`${time}.new`, String(ms / MINUTE))
  renameSync(`${time}.new`, time)
}
const shiftTo = (moment: number): void => shift(moment - Date.now())

function start(...command: readonly string[]): ChildProcess {
  const child = spawn('env', [...SHIFTED, ...command], { stdio: ['ignore', 'pipe', 'pipe'], cwd: ROOT })
  let text = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (part: Buffer) => (text += part.toString()))
  programs.push({ child, text: () => text })
  return child
}

async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const end = new Promise((resolve) => child.once('close', resolve))
  child.kill('SIGTERM')
  await end
}

const role = (name: string, ...more: readonly string[]): ChildProcess =>
  start(
    join(ROOT, 'bin/kubenode'),
    'run',
    '--roles',
    name,
    '--kubeconfig',
    join(folder, 'data/admin.kubeconfig'),
    ...more,
  )

beforeAll(async () => {
  shift(-50 * MINUTE)
  server = await startedApiServer(join(folder, 'data'), 0, { under: ['env', ...SHIFTED] })
  const clientCertificate = { cert: { data: server.cert }, key: { data: server.key } }
  admin = new HttpKubeClient({ server: server.url, ca: { data: server.ca }, clientCertificate })
  await installAll(admin, false)
}, WITHIN_MS)

afterAll(async () => {
  await Promise.all(programs.map(({ child }) => ended(child)))
  admin?.close()
  await server?.end('SIGTERM')
  rmSync(folder, { recursive: true, force: true })
})

const ofMachine = async (): Promise<Machine | undefined> => admin.get(machineType, { name: NAME })
const life = async (): Promise<{ readonly from: number; readonly to: number } | undefined> => {
  const { issued, expires } = (await ofMachine())?.status?.agent?.certificate ?? {}
  return issued === undefined || expires === undefined
    ? undefined
    : { from: Date.parse(issued), to: Date.parse(expires) }
}
const heartbeatAt = async (): Promise<number> => {
  const lease = await admin.get(leaseType, { namespace: SYSTEM_NAMESPACE, name: agentLeaseName(NAME) })
  return Date.parse(lease?.spec?.renewTime ?? '') || 0
}
const alarm = async () => findCondition((await ofMachine())?.status?.conditions, 'CertificateExpiring')

/** What a person gets who joins a host: the agent runs by it. */
async function joinHost(machine: Machine): Promise<void> {
  const bundle = await until(
    'the bundle of the host',
    async () => {
      const token = await admin.get(secretType, handOverKey(machine.metadata.uid ?? ''))
      const text = token?.data?.[BUNDLE_FIELD]
      return token && text && { ...JSON.parse(Buffer.from(text, 'base64').toString()), token: tokenText(token) }
    },
    WITHIN_MS,
  )
  mkdirSync(node, { mode: 0o700 })
  writeFileSync(join(node, 'join.json'), JSON.stringify(bundle), { mode: 0o600 })
  start('KUBENODE_TEST_TIME_PASSES=1', process.execPath, join(ROOT, 'src/cli/agent-main.ts'), '--root', node)
}

async function readsAsAgent(): Promise<number> {
  const pem = readFileSync(pairFile(nodeDir(node)), 'utf8')
  const at = pem.indexOf('-----BEGIN CERT')
  const clientCertificate = { cert: { data: pem.slice(at) }, key: { data: pem.slice(0, at) } }
  const agent = new HttpKubeClient({ server: server.url, ca: { data: server.ca }, clientCertificate })
  const read = agent.get(machineType, { name: NAME }).then(
    () => 200,
    (error: unknown) => {
      if (isUnauthorized(error)) return 401
      throw error
    },
  )
  return read.finally(() => agent.close())
}

test('S26 certificates of one hour are renewed by two thirds, raise a condition in the last third, and are refused when they end', async (context) => {
  // More than a minute of real time; renewal, condition and end are each tested with a clock of their own.
  onlyInFull(context)
  const { onTestFailed } = context
  onTestFailed(() => void process.stderr.write(programs.map(({ text }) => text()).join('\n')))
  const publisher = newPublisher()
  writeFileSync(join(folder, 'trust.json'), JSON.stringify(publisher.trust()))
  const approver = role('approver', '--certificate-life', '1h', '--metrics-port', '0')
  const artifacts = ['--trust', join(folder, 'trust.json'), '--artifact-base', `file://${folder}/`]
  role('controllers', ...artifacts, '--metrics-port', '0')
  await joinHost(
    await admin.create(machineType, {
      apiVersion: API_GROUP_VERSION,
      kind: machineType.kind,
      metadata: { name: NAME },
      spec: { channel: 'Agent', provider: { name: 'static' } },
    }),
  )
  const first = await until('the first certificate', life, WITHIN_MS)
  // The signer dates it back by some minutes, for hosts whose clock is behind.
  expect((first.to - first.from) / MINUTE).toBeGreaterThanOrEqual(60)
  expect((first.to - first.from) / MINUTE).toBeLessThanOrEqual(70)
  const at = (share: number, { from, to } = first): number => from + (to - from) * share

  shiftTo(at(0.55))
  await until('a heartbeat', async () => (await heartbeatAt()) > at(0.54), WITHIN_MS)
  await sleep(500)
  expect((await admin.list(csrType)).items).toHaveLength(1)
  shiftTo(at(2 / 3))
  const second = await until(
    'the next one',
    async () => life().then((l) => (l && l.to > first.to ? l : undefined)),
    WITHIN_MS,
  )
  expect((second.to - second.from) / MINUTE).toBeLessThanOrEqual(70)
  expect(await alarm()).toBeUndefined()

  // The agent keeps working after the first certificate expired, without an approver to renew the second.
  await ended(approver)
  shiftTo(first.to + MINUTE)
  await until('a heartbeat with the next one', async () => (await heartbeatAt()) > first.to, WITHIN_MS)
  expect(await alarm()).toBeUndefined()
  shiftTo(at(0.68, second))
  const told = await until('somebody is told', alarm, WITHIN_MS)
  expect(told).toMatchObject({ status: 'True', message: expect.stringContaining('check that the approver runs') })
  expect(await readsAsAgent()).toBe(200)

  shiftTo(second.to + MINUTE)
  await until('it is refused', async () => (await readsAsAgent()) === 401, WITHIN_MS)
  const last = await heartbeatAt()
  await until(
    'the person reads what to do',
    async () => (await alarm())?.message?.includes('kubenode machine readmit') === true,
    WITHIN_MS,
  )
  expect(await heartbeatAt()).toBe(last)
})
