// A host that joins over SSH with everything that is shipped: an embedded server with its rights and policies, the controllers and the approver, a real sshd, and
// an artifact server from which the host downloads join.sh. In place of the agent, join.sh keeps the bundle that it gets, and the test requests the certificate.
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir, userInfo } from 'node:os'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { parseJoinBundle } from '#agent/join/bundle.ts'
import { newKey, requestCertificate } from '#agent/join/request.ts'
import { RESCUE_PLACES } from '#agent/join/rescue-script.ts'
import { type ScriptPlaces, sshScript } from '#agent/join/ssh-scripts.ts'
import { type Machine, machine as machineType } from '#api/kinds/machine.ts'
import { SYSTEM_NAMESPACE } from '#api/names.ts'
import { planned } from '#artifacts/own-authority.ts'
import { ArtifactServer } from '#artifacts/server.ts'
import { machineModule } from '#controllers/machine/reconcile.ts'
import type { ControllerContext } from '#controllers/module.ts'
import { sshJoinModule } from '#controllers/sshjoin/reconcile.ts'
import type { KubeClient } from '#kube/client.ts'
import { coreKind } from '#kube/core-kinds.ts'
import { HttpKubeClient } from '#kube/http/client.ts'
import { silentLogger } from '#lib/log.ts'
import { systemClock } from '#lib/system-clock.ts'
import { systemRandom } from '#lib/random.ts'
import { StaticProvider, notesInMemory } from '#providers/static/provider.ts'
import { createInformers } from '#runtime/informers.ts'
import { createMetrics } from '#runtime/metrics.ts'
import { SshSessions } from '#ssh/ssh-sessions.ts'
import { type RunningServer, startEmbedded } from '#test/support/servers/api-servers.ts'
import { startApprover } from '#test/support/servers/approver.ts'
import { installAll } from '#test/support/servers/installed.ts'
import { type SshServer, missingSshServer, startSshServer } from '#test/support/servers/ssh-server.ts'
import { until } from '#test/support/tools/processes.ts'
import { sha256Hex } from '#lib/sha256.ts'

const whyNot =
  missingSshServer() ??
  (userInfo().uid === 0 ? undefined : 'hosts are joined as root, and this test does not run as root')
const PATIENCE_MS = 150_000
const folder = mkdtempSync(join(tmpdir(), 'kubenode-ssh-join-'))
const kept = join(folder, 'bundle')
const ARCHIVE = 'an archive'
const hex = (text: string) => sha256Hex(text)
const JOIN_SH = `#!/bin/sh
# amd64) sha=${hex(ARCHIVE)} ;;
# arm64) sha=${hex(ARCHIVE)} ;;
cat > ${kept}
cat agent-linux-*.tar.gz >> ${kept}.archive
`
let server: RunningServer
let admin: KubeClient
let ssh: SshServer
let places: ScriptPlaces
const stops: (() => unknown)[] = []

const connection = () => ({ server: server.url, ca: { data: server.ca } })
const as = (user?: string): KubeClient =>
  new HttpKubeClient({
    ...connection(),
    clientCertificate: { cert: { data: server.cert }, key: { data: server.key } },
    ...(user !== undefined && { impersonate: { user, groups: ['system:authenticated'] } }),
  })

async function startArtifacts(): Promise<{ readonly port: number; readonly ca: string }> {
  const served = join(folder, 'served')
  mkdirSync(served)
  writeFileSync(join(served, 'join.sh'), JOIN_SH)
  for (const arch of ['amd64', 'arm64']) writeFileSync(join(served, `agent-linux-${arch}.tar.gz`), ARCHIVE)
  const pair = planned({}, ['127.0.0.1'], Date.now())
  const artifacts = new ArtifactServer({
    folder: served,
    pair,
    host: '127.0.0.1',
    port: 0,
    clock: systemClock,
    log: silentLogger,
  })
  stops.push(() => artifacts.stop())
  return { port: await artifacts.start(), ca: pair.ca }
}

async function startControllers(): Promise<void> {
  const artifacts = await startArtifacts()
  const client = as('kubenode:controllers')
  const tools = { clock: systemClock, random: systemRandom, log: silentLogger }
  const informers = createInformers({ client, ...tools, startSpreadMs: 0 })
  const base64 = (text: string) => Buffer.from(text).toString('base64')
  const sessions = new SshSessions({ folder: join(folder, 'keys'), path: process.env['PATH'] ?? '', atOnce: 5 })
  const context: ControllerContext = {
    client,
    informers,
    ...tools,
    metrics: createMetrics(),
    events: { record: () => undefined, flush: async () => undefined },
    config: {
      cluster: 'test',
      providers: { static: new StaticProvider({ notes: notesInMemory(), clock: systemClock }) },
      join: {
        server: server.url,
        caData: base64(server.ca),
        artifactBase: `https://127.0.0.1:${artifacts.port}/`,
        artifactCaData: base64(artifacts.ca),
        joinScript: hex(JOIN_SH),
        trust: { sequence: 1, threshold: 1, keys: [] },
      },
      sshJoin: {
        sessions,
        scriptOf: (step, machine, token, now, rescue) => sshScript(step, machine, token, now, rescue, places),
      },
    },
  }
  for (const module of [machineModule, sshJoinModule])
    for (const c of module.setup(context).controllers) {
      c.start()
      stops.unshift(() => c.stop(1_000))
    }
  informers.start()
  await informers.synced()
  stops.push(() => informers.stop())
  const approver = await startApprover(as('kubenode:approver'), tools)
  stops.unshift(() => approver.stop(1_000))
}

beforeAll(async () => {
  if (whyNot !== undefined) return
  // Not in the folder for temporary files, which every user can write to.
  const rescue = { ...RESCUE_PLACES, program: '/dev/null/rescue' }
  places = { folder: mkdtempSync('/var/lib/kubenode-ssh-join-test-'), rescue }
  server = await startEmbedded()
  admin = as()
  await installAll(admin)
  ssh = await startSshServer({ authorized: (client) => `restrict ${client}` })
  await admin.create(coreKind('Secret'), {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { namespace: SYSTEM_NAMESPACE, name: 'hosts', labels: { 'kubenode.io/for-ssh': 'true' } },
    data: { 'ssh-privatekey': Buffer.from(ssh.client.secret).toString('base64') },
  })
  await startControllers()
})
afterAll(async () => {
  for (const stop of stops) await stop()
  await server?.stop()
  await ssh?.close()
  rmSync(folder, { recursive: true, force: true })
  if (places !== undefined) rmSync(places.folder, { recursive: true, force: true })
})
beforeEach((context) => {
  if (whyNot !== undefined) context.skip(whyNot)
})

const create = (name: string, more: object) =>
  admin.create(machineType, {
    apiVersion: 'kubenode.io/v1alpha1',
    kind: 'Machine',
    metadata: { name },
    spec: {
      channel: 'Agent',
      provider: { name: 'static' },
      ssh: { host: '127.0.0.1', port: ssh.port, secretRef: { name: 'hosts' }, ...more },
    },
  } as unknown as Machine)

const joinOf = async (name: string) => (await admin.get(machineType, { name }))?.status?.join

test('a host downloads join.sh and the agent itself, and gets a bundle with which its agent is let in', async () => {
  await create('db-1', { firstUse: true })
  await until(
    'the agent is started',
    async () => ((await joinOf('db-1'))?.step === 'Certified' ? true : undefined),
    PATIENCE_MS,
  )
  const text = gunzipSync(Buffer.from(readFileSync(kept, 'utf8'), 'base64')).toString('utf8')
  const bundle = parseJoinBundle(JSON.parse(text))
  expect([bundle.machine, readFileSync(`${kept}.archive`, 'utf8'), existsSync(places.folder)]).toEqual([
    'db-1',
    ARCHIVE,
    false,
  ])
  const hostKey = (await joinOf('db-1'))?.hostKey
  expect(ssh.host.line.startsWith(hostKey ?? 'none')).toBe(true)
  const client = new HttpKubeClient({ ...connection(), token: { data: bundle.token } })
  const uid = (await admin.get(machineType, { name: 'db-1' }))?.metadata.uid ?? ''
  const deps = { client, clock: systemClock, signal: AbortSignal.timeout(PATIENCE_MS) }
  await requestCertificate(deps, { machine: 'db-1', node: 'db-1', uid }, await newKey())
  client.close()
  // What the agent reports first.
  const value = { status: { agent: { version: '1.0.0' } } }
  await admin.patch(machineType, { name: 'db-1' }, { type: 'merge', value }, { subresource: 'status' })
  await until('the join is finished', async () => (await joinOf('db-1'))?.finished, PATIENCE_MS)
})

test('S36 a host with another key than the pinned one is not tried again, and the machine shows why', async () => {
  await create('db-2', { hostKey: ssh.strange.line })
  const join = await until(
    'a finding',
    async () => {
      const found = await joinOf('db-2')
      return found?.reason === undefined ? undefined : found
    },
    PATIENCE_MS,
  )
  expect(join).toMatchObject({ step: 'Reach', reason: 'HostKeyChanged', attempt: 1 })
  expect(join.retryAt).toBeUndefined()
})

test('a Secret without the label of its owner opens no host', async () => {
  await admin.create(coreKind('Secret'), {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { namespace: SYSTEM_NAMESPACE, name: 'other' },
    data: { 'ssh-privatekey': Buffer.from(ssh.client.secret).toString('base64') },
  })
  await create('db-3', { hostKey: ssh.host.line, secretRef: { name: 'other' } })
  const message = await until('a finding', async () => (await joinOf('db-3'))?.message, PATIENCE_MS)
  expect(message).toContain('is not labeled kubenode.io/for-ssh=true')
})

test('neither two kinds of trust nor a jump host without one is accepted', async () => {
  await create('db-4', { hostKey: ssh.host.line, firstUse: true })
  const message = await until('a finding', async () => (await joinOf('db-4'))?.message, PATIENCE_MS)
  expect(message).toMatch(/^exactly one of hostKey/)
  await expect(create('db-5', { hostKey: ssh.host.line, jump: { host: 'j' } })).rejects.toThrow(/jump host needs/)
})

test('a rescue key that cannot be installed is a finding, and no agent starts: its certificate would end the join', async () => {
  const type = coreKind('Secret')
  const [publicKey = ''] = ssh.other.line.split('\n')
  await admin.create(type, {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { namespace: SYSTEM_NAMESPACE, name: 'rescue', labels: { 'kubenode.io/for-ssh': 'true' } },
    data: {
      'ssh-privatekey': Buffer.from(ssh.other.secret).toString('base64'),
      'ssh-publickey': Buffer.from(publicKey).toString('base64'),
    },
  })
  rmSync(kept, { force: true })
  await create('db-6', { hostKey: ssh.host.line, rescue: { secretRef: { name: 'rescue' } } })
  const join = await until(
    'a finding',
    async () => {
      const found = await joinOf('db-6')
      return found?.reason === undefined ? undefined : found
    },
    PATIENCE_MS,
  )
  expect([join.step, join.reason, join.message]).toEqual(['Start', 'Full', '/dev/null/rescue cannot be written'])
  expect(existsSync(kept)).toBe(false)
})
