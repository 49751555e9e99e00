// A commit on its way from a git server, through a soak that a person ends, to a cluster whose window is closed and opens; a webhook gets the news.
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { fleetSource } from '#api/kinds/fleet-source.ts'
import type { Release } from '#api/kinds/release.ts'
import { CLUSTERS_NAMESPACE, FIELD_MANAGERS, SYSTEM_NAMESPACE } from '#api/names.ts'
import { run } from '#cli/program.ts'
import { parsePlaces } from '#runtime/outbound/places.ts'
import { CONFIG_MAP, SECRET, eventually, syncBench, type SyncBench } from '#test/support/benches/sync-bench.ts'
import { followOverHttps } from '#test/support/benches/sync-over-https.ts'
import type { GitServer } from '#test/support/servers/git-server.ts'

const HOUR_MS = 3_600_000
const HOURS_TO_WINDOW = 3

let bench: SyncBench | undefined
let git: GitServer | undefined
let hook: Server
let heard: string[]
let dir = ''
beforeEach(async () => {
  dir = mkdtempSync(join(tmpdir(), 'kubenode-promote-'))
  heard = []
  hook = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const { event, stage } = JSON.parse(Buffer.concat(chunks).toString()) as { event: string; stage?: string }
      heard.push(stage === undefined ? event : `${event} ${stage}`)
      response.writeHead(204).end()
    })
  })
  hook.listen(0, '127.0.0.1')
  await once(hook, 'listening')
})
afterEach(async () => {
  await bench?.close()
  await git?.close()
  hook.closeAllConnections()
  hook.close()
  rmSync(dir, { recursive: true, force: true })
})

/** The window of prod opens in some hours, for half an hour, each day. */
const fleet = (hour: number) => ({
  'fleet/main.ts': `
import { App, ApiObject } from 'cdk8s'
import { Cluster, ClusterChart, HubChart, ReleasePipeline } from 'kubenode/constructs'

const app = new App()
const hub = new HubChart(app, 'hub', { namespace: '${SYSTEM_NAMESPACE}' })
new ReleasePipeline(hub, 'standard', { spec: { stages: [
  { name: 'test', clusters: { names: ['test'] }, minSuccessTime: '12h' },
  { name: 'prod', clusters: { names: ['prod'] }, minSuccessTime: '0s', windows: [{ cron: '0 ${hour} * * *', duration: '30m', timeZone: 'UTC' }] },
] } })
for (const name of ['test', 'prod']) {
  new Cluster(hub, name, { spec: { kubeconfigSecretRef: { name: \`cluster-\${name}\`, key: 'kubeconfig' }, stage: name } })
  const chart = new ClusterChart(app, name)
  new ApiObject(chart, 'c', { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'settings', namespace: 'default' }, data: { version: '1' } })
}
app.synth()
`,
})

test('a soak is ended by promote, the next stage waits for its window, and a webhook gets the news once', async () => {
  const origin = `http://127.0.0.1:${(hook.address() as AddressInfo).port}`
  const b = (bench = await syncBench(['test', 'prod'], {}, { outbound: parsePlaces([origin]) }))
  const hour = new Date(Date.now() + HOURS_TO_WINDOW * HOUR_MS).getUTCHours()
  b.repository.commit(fleet(hour))
  const secret = { name: 'hook', namespace: CLUSTERS_NAMESPACE }
  const data = { 'hmac-key': Buffer.from('a-key-of-32-characters-or-so-1234').toString('base64') }
  await b.hub.client.apply(
    SECRET,
    { apiVersion: 'v1', kind: 'Secret', metadata: secret, data },
    { fieldManager: FIELD_MANAGERS.cli, force: true },
  )
  git = await followOverHttps(b, 'a-password')
  const notify = [
    {
      name: 'hook',
      events: ['Started', 'StageSucceeded', 'Waiting', 'Succeeded'],
      webhook: { url: `${origin}/hook`, secretRef: { name: 'hook' } },
    },
  ]
  const key = { namespace: SYSTEM_NAMESPACE, name: 'fleet' }
  await b.hub.client.patch(fleetSource, key, { type: 'merge', value: { spec: { notify } } })
  const kubeconfig = join(dir, 'hub.kubeconfig')
  writeFileSync(kubeconfig, b.hub.server.adminKubeconfig(), { mode: 0o600 })
  const kubenode = async (...argv: readonly string[]) => {
    let said = ''
    const print = (t: string) => void (said += t)
    const code = await run([...argv, '--kubeconfig', kubeconfig], {
      out: print,
      err: print,
      cwd: dir,
      env: {},
      isTerminal: false,
    })
    return { code, said }
  }
  const has = async (cluster: string) =>
    (await b.client(cluster).get(CONFIG_MAP, { namespace: 'default', name: 'settings' })) !== undefined
  const newest = async (): Promise<Release | undefined> => (await b.releases())[0]
  const stageIs = (phase: string, predicate: string) => (r: Release | undefined) =>
    r?.status?.stages?.some((s) => s.phase === phase && s.waitingFor?.predicate === predicate) === true
  await b.start()

  const soaking = await eventually(newest, stageIs('Soaking', 'MinSuccessTime'))
  const name = soaking?.metadata.name ?? ''
  expect([await has('test'), await has('prod')]).toEqual([true, false])
  expect((await kubenode('release', 'status', name)).said).toContain(`kubenode release promote ${name} --reason WHY`)
  const promoted = await kubenode('release', 'promote', name, '--reason', 'seen enough')
  expect(promoted).toMatchObject({ code: 0, said: expect.stringMatching(/^ending the soak of stage test/) as string })

  // The soak is over, so only the window holds it.
  await eventually(newest, (r) => r?.status?.waitingFor?.predicate === 'WaitingForWindow')
  expect(await has('prod')).toBe(false)
  expect((await kubenode('why', `release/${name}`)).said).toContain('no maintenance window of stage prod is open')
  const again = await kubenode('release', 'promote', name, '--reason', 'hurry')
  expect(again).toMatchObject({ code: 2, said: expect.stringMatching(/^KN1374: .*WaitingForWindow/) as string })
  expect(heard).not.toContain('Succeeded')

  const opens = new Date()
  opens.setUTCHours(hour, 1, 0, 0)
  const now = Date.now()
  b.pass(opens.getTime() > now ? opens.getTime() - now : opens.getTime() + 24 * HOUR_MS - now)
  await eventually(newest, (r) => r?.status?.phase === 'Succeeded')
  expect(await has('prod')).toBe(true)
  await eventually(
    () => Promise.resolve(heard),
    (all) => all.includes('Succeeded'),
  )
  expect(heard.filter((event) => event === 'Started')).toHaveLength(1)
})
