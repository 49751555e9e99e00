// `kubenode join --ssh` against a server with everything that is shipped: what it makes, what it refuses, how it follows the joins, and that it can be
// interrupted and repeated. The test reports the progress in place of the controllers.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { type Machine, type SshJoin, machine as machineType } from '#api/kinds/machine.ts'
import { ANNOTATIONS, SYSTEM_NAMESPACE } from '#api/names.ts'
import { run } from '#cli/program.ts'
import type { KubeClient } from '#kube/client.ts'
import { coreKind } from '#kube/core-kinds.ts'
import { HttpKubeClient } from '#kube/http/client.ts'
import { timestamp } from '#lib/clock.ts'
import { type RunningServer, startEmbedded } from '#test/support/servers/api-servers.ts'
import { installAll } from '#test/support/servers/installed.ts'
import { until } from '#test/support/tools/processes.ts'
import { hasPython, onTerminal, plainText } from '#test/support/tools/terminal.ts'

const KUBENODE = join(import.meta.dirname, '../../bin/kubenode')
const KEY = 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIEr6Xb1mZ2yTqkXo8v1C6lq0Jq5m0kZ1n8t0p3t2d5fQ'
const PATIENCE_MS = 120_000
const folder = mkdtempSync(join(tmpdir(), 'kubenode-join-hosts-'))
let server: RunningServer
let admin: KubeClient
let controllers: KubeClient

beforeAll(async () => {
  server = await startEmbedded()
  admin = new HttpKubeClient({
    server: server.url,
    ca: { data: server.ca },
    clientCertificate: { cert: { data: server.cert }, key: { data: server.key } },
  })
  await installAll(admin)
  controllers = new HttpKubeClient({
    server: server.url,
    ca: { data: server.ca },
    clientCertificate: { cert: { data: server.cert }, key: { data: server.key } },
    impersonate: { user: 'kubenode:controllers', groups: ['system:authenticated'] },
  })
  for (const [name, labels] of [
    ['hosts', { 'kubenode.io/for-ssh': 'true' }],
    ['other', {}],
  ] as const)
    await admin.create(coreKind('Secret'), {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { namespace: SYSTEM_NAMESPACE, name, labels },
      data: {},
    })
})
afterAll(async () => {
  await server?.stop()
  rmSync(folder, { recursive: true, force: true })
})
afterEach(async () => {
  for (const { metadata } of (await admin.list(machineType)).items)
    await admin.delete(machineType, { name: metadata.name ?? '' })
})

function fileOf(...names: readonly string[]): string {
  const file = join(folder, 'hosts.csv')
  writeFileSync(file, `name,host,hostKey\n${names.map((n) => `${n},${n}.example.org,${KEY}\n`).join('')}`)
  return file
}

async function kubenode(...argv: readonly string[]) {
  let [out, err] = ['', '']
  const io = {
    out: (t: string) => void (out += t),
    err: (t: string) => void (err += t),
    cwd: folder,
    env: { KUBECONFIG: server.kubeconfig },
    isTerminal: false,
  }
  return { code: await run(['join', '--ssh', 'hosts.csv', ...argv], io), out, err }
}

const byText = (a: string, b: string): number => (a < b ? -1 : 1)
const names = async () => (await admin.list(machineType)).items.map((m) => m.metadata.name ?? '').toSorted(byText)

async function report(name: string, more: Partial<SshJoin>): Promise<void> {
  const now = timestamp(Date.now())
  const value = { status: { join: { step: 'Reach', attempt: 1, began: now, since: now, request: 'r', ...more } } }
  await controllers.patch(machineType, { name }, { type: 'merge', value }, { subresource: 'status' })
}
const finish = (name: string) => report(name, { step: 'Certified', finished: timestamp(Date.now()) })
const made = (...of: readonly string[]) =>
  until('the Machines', async () => ((await names()).length === of.length ? true : undefined), PATIENCE_MS)

test('a dry run shows what would be made, and makes nothing', async () => {
  fileOf('a', 'b')
  const shown = await kubenode('--secret', 'hosts', '--dry-run')
  expect(shown).toMatchObject({
    code: 0,
    out: 'a: would join root@a.example.org:22\nb: would join root@b.example.org:22\n',
    err: expect.stringContaining('2 Machines would be created, 0 exist; nothing was changed'),
  })
  const { hosts } = JSON.parse((await kubenode('--secret', 'hosts', '--dry-run', '-o', 'json')).out)
  expect(hosts).toMatchObject([
    { machine: 'a', plan: 'Create' },
    { machine: 'b', plan: 'Create' },
  ])
  expect(await names()).toEqual([])
})

test('a wrong row, a Secret that may not be used and one that is not there: nothing is made', async () => {
  const file = fileOf('a', 'b')
  writeFileSync(file, `name,port,hostKey\na,22,${KEY}\nb,ssh,${KEY}\nc,22,\n`)
  const wrong = await kubenode('--secret', 'hosts')
  expect(wrong.code).toBe(2)
  expect(wrong.err).toMatch(
    /^hosts\.csv:3: column port is no number; use one from 1 to 65535\nhosts\.csv:4: no host key; [^\n]*\nKN1387: cannot join the hosts of hosts\.csv: 2 problems, see above; nothing was created/,
  )
  fileOf('a')
  expect((await kubenode('--secret', 'other')).err).toMatch(
    /KN1388: .*Secret other .*is not labeled kubenode.io\/for-ssh=true/,
  )
  expect((await kubenode('--secret', 'none')).err).toMatch(/KN1388: .*Secret none .*does not exist/)
  expect(await names()).toEqual([])
})

test('hosts are followed to their ends; the same command again makes nothing twice, retries on request, and says how to take the key away', async () => {
  fileOf('a', 'b')
  const first = kubenode('--secret', 'hosts')
  await made('a', 'b')
  await finish('a')
  await report('b', { reason: 'AuthRefused', message: 'Permission denied' })
  expect(await first).toMatchObject({
    code: 1,
    out: expect.stringMatching(/^(a: joined\nb: failed: AuthRefused: Permission denied\n|b: .*\na: joined\n)$/),
    err: expect.stringMatching(
      /2 Machines created, 0 existed\n[^]*1 of 2 hosts joined\n1 host failed; .*--retry-failed/,
    ),
  })
  const again = kubenode('--secret', 'hosts', '--retry-failed', '-o', 'json')
  const asked = await until(
    'the request',
    async () => (await admin.get(machineType, { name: 'b' }))?.metadata.annotations?.[ANNOTATIONS.joinAgain],
    PATIENCE_MS,
  )
  expect(Number.isNaN(Date.parse(asked))).toBe(false)
  await report('b', { step: 'Certified', finished: timestamp(Date.now()), request: 'r2' })
  const { code, out, err } = await again
  expect(code).toBe(0)
  expect(JSON.parse(out)).toMatchObject({
    joined: 2,
    of: 2,
    hosts: [{ machine: 'a', state: 'Joined' }, { machine: 'b' }],
  })
  expect(err).toMatch(/0 Machines created, 2 existed\n1 failed host tried again\n/)
  expect(err).toMatch(
    /delete its line from ~\/.ssh\/authorized_keys of root\n {2}kubectl -n kubenode-system delete secret hosts\n$/,
  )
})

test('ended with Ctrl-C, it leaves the Machines to the controllers, and the same command follows them', async () => {
  const file = fileOf('a', 'b', 'c')
  const argv = ['join', '--ssh', file, '--secret', 'hosts', '--kubeconfig', server.kubeconfig]
  const child = spawn(KUBENODE, argv, { stdio: ['ignore', 'pipe', 'pipe'] })
  let err = ''
  child.stderr.on('data', (text: Buffer) => void (err += text.toString()))
  await made('a', 'b', 'c')
  await finish('a')
  await once(child.stdout, 'data')
  child.kill('SIGINT')
  const [code] = await once(child, 'exit')
  expect([code, err]).toEqual([130, expect.stringContaining('the controllers continue to join these hosts')])
  await Promise.all([finish('b'), finish('c')])
  const { code: second, err: later } = await kubenode('--secret', 'hosts')
  expect([second, later]).toEqual([0, expect.stringMatching(/0 Machines created, 3 existed\n3 of 3 hosts joined\n/)])
})

test('on a terminal, one table moves: numbers, failed hosts, hosts in progress', async (context) => {
  if (!hasPython()) context.skip('python3 is not installed: it opens the pseudo-terminal')
  const file = fileOf('a', 'b')
  await kubenode('--secret', 'hosts', '--no-wait')
  await report('a', { reason: 'Full', message: '/opt has 3 MiB free', step: 'Preflight' })
  await report('b', { step: 'Fetch', attempt: 2 })
  const shown = onTerminal({
    argv: [KUBENODE, 'join', '--ssh', file, '--secret', 'hosts', '--kubeconfig', server.kubeconfig],
    steps: [{ wait: 'Fetch', send: '\u0003' }],
    cols: 90,
    cwd: folder,
  })
  const { code, shown: text } = await shown
  const plain = plainText(text)
  expect(code).toBe(130)
  expect(plain).toMatch(/joining: 0 of 1; 1 in progress, 1 failed, 1 settled before/)
  expect(plain).toMatch(
    /MACHINE +HOST +STEP +FOR +STATE +WHY\r\na +a\.example\.org:22 +Preflight +\d+s +failed +Full: \/opt has 3 MiB free\r\nb +b\.example\.org:22 +Fetch \(2\)/,
  )
})

test('a Machine that somebody else made is not touched', async () => {
  fileOf('a', 'b')
  const spec = { channel: 'Observe', provider: { name: 'static' } } as Machine['spec']
  await admin.create(machineType, {
    apiVersion: 'kubenode.io/v1alpha1',
    kind: 'Machine',
    metadata: { name: 'b' },
    spec,
  })
  const { code, err } = await kubenode('--secret', 'hosts')
  expect([code, err]).toEqual([2, expect.stringMatching(/hosts\.csv:3: machine\/b exists and is not joined over SSH/)])
  expect(await names()).toEqual(['b'])
})
