// `kubenode check` on an installed cluster whose Defender alone is killed: it passes before, then names what is missing, what to read, and ends with 1. The commands
// are those that docs/operations/three-in-the-morning.md prints for it.
import type { KubeObject } from '#api/schema/object.ts'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { SYSTEM_NAMESPACE } from '#api/names.ts'
import { run } from '#cli/program.ts'
import { coreKind } from '#kube/core-kinds.ts'
import { onlyInFull } from '#test/support/tools/full.ts'
import { freePort } from '#test/support/servers/free-port.ts'
import { chapterOf } from '#test/support/tools/page.ts'
import { until } from '#test/support/tools/processes.ts'
import { startInstallWorld, type InstallWorld } from '#test/support/worlds/install-world.ts'
import { stringify } from 'yaml'
import { wholeValues } from '../../deploy/charts/any-settings.ts'
import { programFile } from '#test/support/tools/own-build.ts'

const ROOT = join(import.meta.dirname, '../..')
const TEST_MS = 180_000
const READY_MS = 120_000
const LEASE = `/apis/coordination.k8s.io/v1/namespaces/${SYSTEM_NAMESPACE}/leases/kubenode-defender`
/** From a registry, artifacts need no volume. */
const ARTIFACTS = `oci.example.org/artifacts@sha256:${'b'.repeat(64)}`

let world: InstallWorld
let folder = ''
let defender: ChildProcess

beforeAll(async () => {
  world = await startInstallWorld()
  folder = mkdtempSync(join(tmpdir(), 'kubenode-check-'))
  const nodes = coreKind<'Node', KubeObject>('Node')
  for (const name of ['n-1', 'n-2']) {
    const made = await world.admin.create(nodes, { apiVersion: 'v1', kind: 'Node', metadata: { name } })
    const status = { conditions: [{ type: 'Ready', status: 'True', reason: 'KubeletReady', message: '' }] }
    const ready = await world.admin.update(nodes, { ...made, status }, { subresource: 'status' })
    await world.admin.update(nodes, { ...ready, spec: {} })
  }
}, TEST_MS)

afterAll(async () => {
  defender?.kill('SIGKILL')
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

/** With the rights that it is shipped with. */
async function startDefender(): Promise<ChildProcess> {
  const path = `/api/v1/namespaces/${SYSTEM_NAMESPACE}/serviceaccounts/kubenode-defender/token`
  const body = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: {} }
  const { text } = await world.admin.raw({ method: 'POST', path, body })
  const { token } = (JSON.parse(text) as { readonly status: { readonly token: string } }).status
  const { url, ca } = world.server
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'c',
    clusters: [
      { name: 'c', cluster: { server: url, 'certificate-authority-data': Buffer.from(ca).toString('base64') } },
    ],
    users: [{ name: 'u', user: { token } }],
    contexts: [{ name: 'c', context: { cluster: 'c', user: 'u' } }],
  }
  const kubeconfig = join(folder, 'defender.kubeconfig')
  writeFileSync(kubeconfig, JSON.stringify(config), { mode: 0o600 })
  const options = {
    roles: 'defender',
    kubeconfig,
    cluster: 'hub',
    'webhook-host': '127.0.0.1',
    'webhook-port': String(await freePort()),
    'health-listen': `127.0.0.1:${await freePort()}`,
  }
  const flags = Object.entries(options).flatMap(([name, value]) => [`--${name}`, value])
  const program = [programFile('main'), 'run', '--hub', ...flags]
  return spawn(process.execPath, program, { stdio: 'ignore', cwd: folder })
}

const PAGE = 'docs/operations/three-in-the-morning.md'
/** Of the page for the night, without their comments. */
const printedCommands = (): readonly string[] =>
  chapterOf(PAGE, 'The Defender is away').flatMap(({ commands }) =>
    commands.split('\n').map((line) => line.replace(/ +#.*/, '').trim()),
  )
const pageText = readFileSync(join(ROOT, PAGE), 'utf8')

const lines = (out: string) => new Map(out.split('\n').map((l) => [/^. ([a-z-]+):/.exec(l)?.[1] ?? l, l]))

test(
  'check passes while the Defender runs; once it alone is killed, check names it, what to read, and ends with 1',
  async (context) => {
    onlyInFull(context)
    const { version: _, ...all } = wholeValues
    const artifacts = { ...(all.artifacts as object), source: { oci: ARTIFACTS } }
    const values = { ...all, providerSecrets: [], artifacts }
    writeFileSync(join(folder, 'values.yaml'), stringify(values))
    const done = await kubenode('install', '--values', 'values.yaml', '--yes', '--no-wait')
    expect(done, done.err).toMatchObject({ code: 0 })
    let isRunning = true
    world.double.programs.set('defender', () => isRunning)
    defender = await startDefender()
    let well = await kubenode('check')
    await until(
      'check finds the Defender at work',
      async () => {
        well = await kubenode('check')
        return /^✔ leaders/m.test(well.out) && /^✔ webhook/m.test(well.out) && /^✔ workloads/m.test(well.out)
      },
      READY_MS,
    )
    expect(well.out).toMatch(/^✔ leaders: each role has one$/m)
    expect(well, well.out).toMatchObject({ code: 0 })

    const exited = once(defender, 'exit')
    defender.kill('SIGKILL')
    await exited
    isRunning = false
    const [read, asked] = printedCommands()
    expect(read).toBe('kubectl -n kubenode-system get lease kubenode-defender')
    const { text: lease } = await world.admin.raw({ method: 'GET', path: LEASE })
    expect(JSON.parse(lease)).toMatchObject({ spec: { holderIdentity: expect.stringMatching(/./) as string } })
    // The page describes pods by a label; the Defender's have it.
    const [, key = '', value] = /`kubectl -n kubenode-system describe pods -l (\S+)=(\S+)`/.exec(pageText) ?? []
    const path = `/apis/apps/v1/namespaces/${SYSTEM_NAMESPACE}/deployments/kubenode-defender`
    const { text } = await world.admin.raw({ method: 'GET', path })
    expect(JSON.parse(text)).toMatchObject({ spec: { template: { metadata: { labels: { [key]: value } } } } })
    const { code, out } = await kubenode(...(asked ?? '').split(' ').slice(1))
    const found = lines(out)
    expect(code).toBe(1)
    expect(found.get('leaders')).toMatch(
      /^✗ leaders: KN1430: no program leads for defender; .*kubectl logs -n kubenode-system deployment\/kubenode-defender/,
    )
    expect(found.get('webhook')).toMatch(/^✗ webhook: KN1431: the webhook of the Defender does not answer: /)
    expect(out.split('\n').filter((l) => l.startsWith('✗')).length).toBeLessThanOrEqual(3)
  },
  TEST_MS,
)
