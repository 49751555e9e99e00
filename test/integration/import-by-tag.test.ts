// `kubenode import --provider --tag` as people run it: a providers file, a region of AWS that checks signatures, an API server, and a repository of `kubenode init`
// that the printed TypeScript is put into.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseAllDocuments } from 'yaml'
import type { Machine } from '#api/kinds/machine.ts'
import { machine as machineType } from '#api/kinds/machine.ts'
import { createValidator } from '#api/validate.ts'
import { initFleet, type InitWorld } from '#install/init/init.ts'
import { systemClock } from '#lib/system-clock.ts'
import type { KubeClient } from '#kube/client.ts'
import { HttpKubeClient } from '#kube/http/client.ts'
import { listAll } from '#kube/list-all.ts'
import { nodeType } from '#nodes/objects.ts'
import { findCage } from '#sync/render/cage.ts'
import { renderFolder } from '#sync/render/render.ts'
import { processRenderer } from '#sync/render/renderer.ts'
import { type FakeServer, serveFake } from '#test/doubles/clouds/answers.ts'
import type { FakeRegion } from '#test/doubles/clouds/region.ts'
import { CLUSTER, fakeRegion, KEY, VENDORS } from '#test/doubles/clouds/worlds.ts'
import { installAll } from '#test/support/servers/installed.ts'
import { type RunningServer, startEmbedded } from '#test/support/servers/api-servers.ts'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'

const ROOT = join(import.meta.dirname, '../..')
const KUBENODE = join(ROOT, 'bin/kubenode')
const PATIENCE_MS = 300_000
const [, AWS] = VENDORS

let server: RunningServer
let admin: KubeClient
let cloud: FakeServer
let region: FakeRegion
let folder: string

beforeAll(async () => {
  server = await startEmbedded()
  admin = new HttpKubeClient({
    server: server.url,
    ca: { data: server.ca },
    clientCertificate: { cert: { data: server.cert }, key: { data: server.key } },
  })
  await installAll(admin)
})
afterAll(() => server.stop())

beforeEach(async () => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'kubenode-import-')))
  region = fakeRegion(AWS, { clock: systemClock, pageSize: 2 })
  cloud = await serveFake(AWS.fake(region))
  const options = { region: AWS.region, cluster: CLUSTER, endpoint: cloud.url }
  writeFileSync(join(folder, 'providers.yaml'), JSON.stringify({ providers: [{ name: 'aws', options }] }))
})
afterEach(async () => {
  await cloud.close()
  rmSync(folder, { recursive: true, force: true })
  for (const type of [machineType, nodeType])
    for (const { metadata } of await listAll(admin, type)) await admin.delete(type, { name: metadata.name ?? '' })
})

/** An instance that KubeNode did not create. */
function instance(tag: string): string {
  const made = region.run({
    token: `${tag}-${region.instances.size}`,
    asked: '',
    zone: AWS.zones[0],
    type: AWS.type,
    isSpot: false,
    tags: new Map([['team', tag]]),
    userData: '',
    needsMetadataSession: true,
  })
  if (typeof made === 'string') throw new Error(made)
  return made.id
}

const node = (name: string, id: string) =>
  admin.create(nodeType, {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name, labels: { 'node.kubernetes.io/instance-type': AWS.type } },
    spec: { providerID: `aws:///${AWS.zones[0]}/${id}` },
  })

const env = { ...process.env, AWS_ACCESS_KEY_ID: KEY.id, AWS_SECRET_ACCESS_KEY: KEY.secret, AWS_ROLE_ARN: undefined }

/** Not in our own process: the region answers in it. */
async function kubenode(args: readonly string[], cwd = folder) {
  const child = spawn(KUBENODE, args, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] })
  const said = { out: '', err: '' }
  child.stdout.on('data', (part: Buffer) => (said.out += part.toString()))
  child.stderr.on('data', (part: Buffer) => (said.err += part.toString()))
  const [status] = (await once(child, 'close')) as [number | null]
  return { status, ...said }
}

const importing = (...more: readonly string[]) =>
  kubenode(
    ['import', '--provider', 'aws', '--tag', 'team=db', '--providers', 'providers.yaml']
      .concat(['--kubeconfig', server.kubeconfig])
      .concat(more),
  )
const machineNames = async () => (await listAll<Machine>(admin, machineType)).map((m) => m.metadata.name)

test(
  'the Nodes on the hosts with the tag are imported, hosts without a Node are named, and the region is only read',
  async () => {
    for (const name of ['db-1', 'db-2', 'db-3']) await node(name, instance('db'))
    await node('web-1', instance('web'))
    const stranger = instance('db')
    const before = JSON.stringify([...region.instances])
    const { status, err } = await importing()
    expect([status, err]).toEqual([0, expect.stringContaining(`${stranger} (`)])
    expect(err).toContain('not a Node here; left out')
    expect(new Set(await machineNames())).toEqual(new Set(['db-1', 'db-2', 'db-3']))
    expect([...region.calls.keys()]).toEqual(['DescribeInstances'])
    expect(JSON.stringify([...region.instances])).toBe(before)
  },
  PATIENCE_MS,
)

test(
  'nothing is imported when the list of hosts breaks off, and when the keys are wrong',
  async () => {
    for (const name of ['db-1', 'db-2', 'db-3']) await node(name, instance('db'))
    region.faults.breaksOnPage = 2
    expect(await importing()).toMatchObject({ status: 2, out: '' })
    region.faults.breaksOnPage = undefined
    region.keys.clear()
    expect(await importing()).toMatchObject({
      status: 2,
      out: '',
      err: expect.not.stringContaining(KEY.secret) as string,
    })
    expect(await machineNames()).toEqual([])
  },
  PATIENCE_MS,
)

/** init without its package, which takes a minute: kubenode is that of this checkout. */
async function starter(): Promise<string> {
  const pack: InitWorld['pack'] = async (to) => {
    mkdirSync(to, { recursive: true })
    writeFileSync(join(to, 'kubenode-1.tgz'), 'packed')
    return { file: join(to, 'kubenode-1.tgz'), bytes: 6, integrity: 'sha512-x', entries: {} }
  }
  const world = { cwd: folder, env: { HOME: folder, PATH: process.env['PATH'] }, now: Date.now(), pack }
  await initFleet({ dir: 'my-fleet', cluster: 'prod-1', force: false }, world)
  return join(folder, 'my-fleet')
}

test(
  'what -o ts prints is declared in a repository of init as it is, passes its checks, and declares what -o yaml prints',
  async () => {
    for (const name of ['db-1', 'db-2']) await node(name, instance('db'))
    const [ts, yaml] = [await importing('-o', 'ts'), await importing('-o', 'yaml')]
    expect([ts.status, yaml.status]).toEqual([0, 0])
    expect(await machineNames()).toEqual([])

    const fleet = await starter()
    writeFileSync(join(fleet, 'fleet/imported.ts'), ts.out)
    const main = join(fleet, 'fleet/main.ts')
    const text = readFileSync(main, 'utf8')
    const declared = text
      .replace('import { declareNodes }', "import { declareImported } from './imported.ts'\nimport { declareNodes }")
      .replace('declareNodes(hub, cluster)', 'declareNodes(hub, cluster)\ndeclareImported(hub)')
    expect(declared.length).toBeGreaterThan(text.length + 50)
    writeFileSync(main, declared)
    expect(await kubenode(['lint', 'fleet'], fleet)).toMatchObject({
      status: 0,
      err: expect.stringContaining(' 0 problems') as string,
    })
    const renderer = processRenderer(await findCage('allow'))
    const { targets } = await renderFolder(fleet, { renderer, validator: createValidator() })
    const rendered = [...targets.values()].flatMap((t) => t.objects.map((o) => o.object as unknown as Machine))
    const printed = parseAllDocuments(yaml.out).map((d) => d.toJS() as Machine)
    expect(printed.map((m) => m.metadata.name)).toEqual(['db-1', 'db-2'])
    expect(rendered.filter((o) => o.kind === 'Machine')).toMatchObject(printed)
  },
  PATIENCE_MS,
)
