// What the controllers of a cluster serve: their leader tells it on its Lease with the rights that it is shipped with; an inventory has it, and check compares.
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { stringify } from 'yaml'
import { type MachineSet, machineSet } from '#api/kinds/machine-set.ts'
import { SYSTEM_NAMESPACE } from '#api/names.ts'
import { run } from '#cli/program.ts'
import type { Inventory } from '#forecast/inventory.ts'
import { freePort } from '#test/support/servers/free-port.ts'
import { programFile } from '#test/support/tools/own-build.ts'
import { until } from '#test/support/tools/processes.ts'
import { startInstallWorld, type InstallWorld } from '#test/support/worlds/install-world.ts'
import { wholeValues } from '../../deploy/charts/any-settings.ts'

const TEST_MS = 300_000
const READY_MS = 200_000
/** From a registry, artifacts need no volume. */
const ARTIFACTS = `oci.example.org/artifacts@sha256:${'b'.repeat(64)}`

let world: InstallWorld
let folder = ''
let controllers: ChildProcess | undefined

beforeAll(async () => {
  world = await startInstallWorld()
  // It renews its own Lease.
  world.double.programs.set('controllers', () => true)
  folder = mkdtempSync(join(tmpdir(), 'kubenode-served-'))
}, TEST_MS)

afterAll(async () => {
  controllers?.kill('SIGKILL')
  rmSync(folder, { recursive: true, force: true })
  await world.stop()
})

async function kubenode(...argv: readonly string[]) {
  let [out, err] = ['', '']
  const io = {
    out: (t: string) => void (out += t),
    err: (t: string) => void (err += t),
    cwd: folder,
    env: { KUBECONFIG: world.server.kubeconfig },
    isTerminal: false,
  }
  return { code: await run(argv, io), out, err }
}

async function startControllers(): Promise<ChildProcess> {
  const path = `/api/v1/namespaces/${SYSTEM_NAMESPACE}/serviceaccounts/kubenode-controllers/token`
  const body = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: {} }
  const { text } = await world.admin.raw({ method: 'POST', path, body })
  const { token } = (JSON.parse(text) as { readonly status: { readonly token: string } }).status
  const { url, ca } = world.server
  const cluster = { server: url, 'certificate-authority-data': Buffer.from(ca).toString('base64') }
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'c',
    clusters: [{ name: 'c', cluster }],
    users: [{ name: 'u', user: { token } }],
    contexts: [{ name: 'c', context: { cluster: 'c', user: 'u' } }],
  }
  writeFileSync(join(folder, 'controllers.kubeconfig'), JSON.stringify(config), { mode: 0o600 })
  mkdirSync(join(folder, 'nodes'), { mode: 0o700 })
  const providers = [{ name: 'process', options: { dir: 'nodes' } }]
  writeFileSync(join(folder, 'providers.json'), JSON.stringify({ providers }), { mode: 0o600 })
  const options = {
    roles: 'controllers',
    kubeconfig: 'controllers.kubeconfig',
    cluster: 'prod',
    providers: 'providers.json',
    'artifact-base': 'https://artifacts.example.org/',
    'health-listen': `127.0.0.1:${await freePort()}`,
  }
  const flags = Object.entries(options).flatMap(([name, value]) => [`--${name}`, value])
  const program = [programFile('main'), 'run', ...flags]
  return spawn(process.execPath, program, { stdio: ['ignore', 'ignore', 'inherit'], cwd: folder })
}

test(
  'controllers tell what they serve; an inventory has it, and check names a set whose provider they do not serve',
  async () => {
    const { version: _, ...all } = wholeValues
    const artifacts = { ...(all.artifacts as object), source: { oci: ARTIFACTS } }
    writeFileSync(join(folder, 'values.yaml'), stringify({ ...all, providerSecrets: [], artifacts }))
    const done = await kubenode('install', '--values', 'values.yaml', '--yes', '--no-wait')
    expect(done, done.err).toMatchObject({ code: 0 })
    const exported = async () => {
      const { code, out, err } = await kubenode('inventory', 'export', '--cluster', 'prod')
      expect(code, err).toBe(0)
      return (JSON.parse(out) as Inventory).providers
    }
    // Before any controllers led, it is not known, and nothing is concluded.
    expect(await exported()).toBeUndefined()

    controllers = await startControllers()
    await until('the leader tells it', async () => (await exported()) !== undefined || undefined, READY_MS)
    expect(await exported()).toEqual(['process', 'static'])
    const labels = { pool: 'workers' }
    await world.admin.create(machineSet, {
      apiVersion: 'kubenode.io/v1alpha1',
      kind: 'MachineSet',
      metadata: { name: 'workers' },
      spec: {
        replicas: 0,
        selector: { matchLabels: labels },
        template: { metadata: { labels }, spec: { channel: 'Agent', provider: { name: 'proces' } } },
      },
    } as unknown as MachineSet)
    const { out } = await kubenode('check')
    expect(out).toMatch(
      /^✗ providers: KN1451: these name a provider that the controllers do not serve, and get no host: machineset workers: proces; served: process, static/m,
    )
  },
  TEST_MS,
)

test('the file that init writes lists no provider that controllers lack without a providers file', () => {
  const file = readFileSync(join(import.meta.dirname, '../../template/fleet/providers.json'), 'utf8')
  expect(JSON.parse(file)).toEqual({ providers: [{ name: 'static' }] })
})
