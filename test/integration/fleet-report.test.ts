// `kubenode report fleet` on a kubeconfig with a hub, two clusters of it, one that does not answer, a strange one, and two contexts of one cluster.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { inventory } from '#api/kinds/inventory.ts'
import { release } from '#api/kinds/release.ts'
import { HUB_TARGET } from '#api/names.ts'
import { run } from '#cli/program.ts'
import { HttpKubeClient } from '#kube/http/client.ts'
import { nodeType } from '#nodes/objects.ts'
import { allContexts } from '#programs/local/all-contexts.ts'
import { type RunningServer, startEmbedded } from '#test/support/servers/api-servers.ts'
import { shellBlocks } from '#test/support/tools/readme.ts'
import { installedStorage } from '#test/support/servers/installed.ts'

const servers: RunningServer[] = []
const folder = mkdtempSync(join(tmpdir(), 'kubenode-fleet-report-'))
const kubeconfig = join(folder, 'kubeconfig')

const clientOf = ({ url, ca, cert, key }: RunningServer) =>
  new HttpKubeClient({
    server: url,
    ca: { data: ca },
    clientCertificate: { cert: { data: cert }, key: { data: key } },
  })

/** What sync leaves in a cluster: the name that the fleet has for it. */
async function recordName(client: HttpKubeClient, target: 'Hub' | 'Member', cluster: string): Promise<void> {
  const { spec } = inventory.example as { readonly spec: object }
  const metadata = { name: `${cluster}-0` }
  await client.create(inventory, {
    apiVersion: 'kubenode.io/v1alpha1',
    kind: 'Inventory',
    metadata,
    spec: { ...spec, target, cluster },
  } as never)
}

async function withNode(server: RunningServer, cluster: string, ready: 'True' | 'False'): Promise<void> {
  const client = clientOf(server)
  await recordName(client, 'Member', cluster)
  await client.create(nodeType, { apiVersion: 'v1', kind: 'Node', metadata: { name: 'n-1' } })
  const conditions = [
    { type: 'Ready', status: ready, reason: 'T', message: 't', lastTransitionTime: new Date().toISOString() },
  ]
  await client.patch(
    nodeType,
    { name: 'n-1' },
    { type: 'merge', value: { status: { conditions } } },
    { subresource: 'status' },
  )
  client.close()
}

beforeAll(async () => {
  const start = async (storage?: Awaited<ReturnType<typeof installedStorage>>): Promise<RunningServer> => {
    const server = await startEmbedded(storage === undefined ? {} : { storage })
    servers.push(server)
    return server
  }
  const [hub, a, b, strange] = [
    await start(await installedStorage()),
    await start(await installedStorage(false)),
    await start(await installedStorage(false)),
    await start(),
  ]
  await withNode(a, 'test', 'False')
  await withNode(b, 'prod', 'True')
  const client = clientOf(hub)
  await recordName(client, 'Hub', HUB_TARGET)
  await client.create(release, {
    ...release.example,
    apiVersion: 'kubenode.io/v1alpha1',
    kind: 'Release',
    metadata: { name: 'r-1', namespace: 'default' },
  } as never)
  client.close()
  const textOfFile = ({ kubeconfig: file }: RunningServer): string => readFileSync(file, 'utf8')
  writeFileSync(
    kubeconfig,
    allContexts(
      new Map([
        ['hub', textOfFile(hub)],
        ['test', textOfFile(a)],
        ['test-again', textOfFile(a)],
        ['prod', textOfFile(b)],
        ['gone', textOfFile(a).replace(a.url, 'https://127.0.0.1:1')],
        ['strange', textOfFile(strange)],
      ]),
    ),
  )
})

afterAll(async () => {
  for (const server of servers) await server.stop()
  rmSync(folder, { recursive: true, force: true })
})

async function kubenode(...argv: readonly string[]) {
  let [out, err] = ['', '']
  const io = { out: (t: string) => void (out += t), err: (t: string) => void (err += t) }
  const code = await run(argv, { ...io, cwd: '/', env: { KUBECONFIG: kubeconfig }, isTerminal: false })
  return { code, out, err }
}

interface Shown {
  readonly cluster: string
  readonly clusters?: readonly string[]
  readonly sections: readonly { readonly title: string; readonly rows: readonly (readonly unknown[])[] }[]
  readonly unknown: readonly string[]
}
async function report(...argv: readonly string[]) {
  const { code, out, err } = await kubenode('report', 'fleet', '-o', 'json', ...argv)
  expect([code, err.replaceAll(/^context .*\n/gm, '')]).toEqual([0, ''])
  const shown = JSON.parse(out) as Shown
  const rows = (title: string) => shown.sections.find((s) => s.title === title)?.rows ?? []
  return { ...shown, rows, notes: err.trim().split('\n') }
}

test('all clusters: their sum, a line and a section of each, and one that does not answer is unknown, never none', async () => {
  const { clusters, rows, notes, unknown } = await report()
  expect(clusters).toEqual(['test', 'prod', 'gone'])
  const faults = rows('Clusters').map(([name, , , , , n]) => [name, n])
  expect(faults).toEqual([
    ['test', 1],
    ['prod', 0],
    ['gone', null],
    ['all', 1],
  ])
  const unmanaged = (title: string) => rows(title).find(([what]) => what === 'nodes without a Machine')?.[1]
  expect(['Is the fleet good?', 'Cluster test', 'Cluster prod'].map(unmanaged)).toEqual([2, 1, 1])
  expect(rows('Faults by kind')).toEqual([['NotReady', 1, 1, 1]])
  expect(rows('Delivery')[0]).toEqual(['releases that succeeded', 0, 'in every stage'])
  expect(unknown[0]).toMatch(/^everything of cluster gone, which is in no sum: /)
  expect(unknown).toContain('service levels: the controllers have not written any yet')
  expect(notes).toEqual([
    'context test-again is left out: it is the cluster of context test',
    'context strange is left out: it has no kind of KubeNode',
  ])
})

test('of several contexts those, and of one its own report', async () => {
  const two = await report('--context', 'prod', '--context', 'test')
  expect(two.clusters).toEqual(['prod', 'test'])
  const one = await report('--context', 'test')
  expect([one.cluster, one.clusters, one.rows('Clusters')]).toEqual(['test', undefined, []])
  const named = await report('--context', 'test', '--cluster', 'own')
  expect(named.cluster).toBe('own')
  const { code, err } = await kubenode('report', 'fleet', '--context', 'test', '--context', 'prod', '--cluster', 'own')
  expect(code).not.toBe(0)
  expect(err).toContain('cannot give 2 contexts the one name own')
})

test('a fleet that does not answer at all is an error', async () => {
  const { code, out } = await kubenode('report', 'fleet', '--context', 'gone')
  expect([code === 0, out]).toEqual([false, ''])
})

test('the commands of the page on reports, as they are printed', async () => {
  const all = shellBlocks('docs/tasks/report.md').flatMap((block) => block.trim().split('\n'))
  // `export KUBECONFIG=…` names the demo's file: this test has its own.
  const lines = all.filter((line) => !line.startsWith('export '))
  expect(lines.length).toBeGreaterThan(3)
  for (const line of lines) {
    const [command = ''] = line.split(' > ')
    const { code, out } = await kubenode(...command.split(' ').slice(1))
    expect([line, code, out === '']).toEqual([line, 0, false])
  }
})
