// A webhook, a chat and the commit at its git server get the news of a release over real HTTP, each once, also after a restart; the record becomes a note of the commit.
import { createHmac } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { FleetSourceInput } from '#api/kinds/fleet-source.ts'
import { CLUSTERS_NAMESPACE, FIELD_MANAGERS, SYSTEM_NAMESPACE } from '#api/names.ts'
import { parsePlaces } from '#runtime/outbound/places.ts'
import { eventually, SECRET, syncBench, type SyncBench } from '#test/support/benches/sync-bench.ts'
import { SignedRepository } from '#test/support/fleets/signed-repository.ts'

interface Heard {
  readonly path: string
  readonly headers: IncomingMessage['headers']
  readonly text: string
}

let repository: SignedRepository
let bench: SyncBench | undefined
let server: Server
let heard: Heard[]
let answer: (path: string) => number
beforeEach(async () => {
  repository = new SignedRepository(['sync'])
  heard = []
  answer = () => 201
  server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const path = request.url ?? ''
      const status = answer(path)
      if (status < 300) heard.push({ path, headers: request.headers, text: Buffer.concat(chunks).toString() })
      response.writeHead(status).end('{}')
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
})
afterEach(async () => {
  await bench?.close()
  bench = undefined
  repository.remove()
  server.closeAllConnections()
  server.close()
})

const origin = () => `http://127.0.0.1:${(server.address() as AddressInfo).port}`
const HMAC_KEY = 'a-key-of-32-characters-or-so-1234'
const TOKEN = 'ghp-f4ke-t0ken'
const SLACK_PATH = '/services/T0/B0/sl4ck-s3cret'

const fleet = (version: string) => ({
  'fleet/main.ts': `
import { App, ApiObject } from 'cdk8s'
import { Cluster, ClusterChart, HubChart, ReleasePipeline } from 'kubenode/constructs'
const app = new App()
const hub = new HubChart(app, 'hub', { namespace: '${SYSTEM_NAMESPACE}' })
new ReleasePipeline(hub, 'standard', { spec: { stages: [{ name: 'test', clusters: { names: ['test'] }, minSuccessTime: '0s' }] } })
new Cluster(hub, 'test', { spec: { kubeconfigSecretRef: { name: 'cluster-test', key: 'kubeconfig' }, stage: 'test' } })
new ApiObject(new ClusterChart(app, 'test'), 'settings', { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'settings', namespace: 'default' }, data: { version: '${version}' } })
app.synth()
`,
})

async function start(spec: Partial<FleetSourceInput['spec']>): Promise<SyncBench> {
  const outbound = parsePlaces([origin()])
  const made = await syncBench(['test'], { url: repository.url, ...spec }, { outbound })
  bench = made
  const secret = (name: string, data: Readonly<Record<string, string>>) =>
    made.hub.client.apply(
      SECRET,
      {
        apiVersion: 'v1',
        kind: 'Secret',
        metadata: { name, namespace: CLUSTERS_NAMESPACE },
        data: Object.fromEntries(Object.entries(data).map(([k, v]) => [k, Buffer.from(v).toString('base64')])),
      },
      { fieldManager: FIELD_MANAGERS.cli, force: true },
    )
  await secret('hook', { 'hmac-key': HMAC_KEY })
  await secret('chat', { url: `${origin()}${SLACK_PATH}` })
  await secret('forge', { token: TOKEN })
  await secret('push', { 'signing-key': readFileSync(join(repository.folder, 'sync'), 'utf8') })
  return made
}

const releaseOf = async (b: SyncBench, commit: string) => (await b.releases()).find((r) => r.spec.commit === commit)
const to = (path: string) => heard.filter((h) => h.path === path)

test('a webhook, a chat and the commit get the news once, and nothing shows a secret', async () => {
  const first = repository.commit(fleet('1'), { key: undefined, message: 'settings 1\n\nbecause' })
  const b = await start({
    notify: [
      {
        name: 'hook',
        events: ['Started', 'Succeeded'],
        webhook: { url: `${origin()}/hook`, secretRef: { name: 'hook' } },
      },
      { name: 'chat', template: '{{track}} {{event}} {{subject}}', slack: { secretRef: { name: 'chat' } } },
      {
        name: 'github',
        commitStatus: { forge: 'GitHub', api: origin(), project: 'acme/fleet', secretRef: { name: 'forge' } },
      },
      {
        name: 'gitlab',
        commitStatus: { forge: 'GitLab', api: `${origin()}/api/v4`, project: '7', secretRef: { name: 'forge' } },
      },
      { name: 'elsewhere', webhook: { url: 'https://hooks.example.org/x', secretRef: { name: 'hook' } } },
    ],
  })
  let failures = 0
  // The chat is down at first.
  answer = (path) => (path === SLACK_PATH && failures++ < 1 ? 503 : 201)
  const stop = await b.start()
  await eventually(
    () => releaseOf(b, first),
    (r) => r?.status?.notified?.some((n) => n.name === 'chat' && n.problem !== undefined) === true,
  )
  const down = (await releaseOf(b, first))?.status?.notified ?? []
  expect(down.find((n) => n.name === 'chat')?.problem).toMatch(/^Succeeded: 127\.0\.0\.1:\d+ answered HTTP 503$/)
  b.pass(60_000)
  const states = (path: string) => to(path).map((h) => (JSON.parse(h.text) as { state: string }).state)
  await eventually(
    async () => [to('/hook').length, to(SLACK_PATH).length, states(`/repos/acme/fleet/statuses/${first}`).at(-1)],
    ([hook, chat, state]) => Number(hook) >= 1 && chat === 1 && state === 'success',
  )
  const hook = to('/hook').at(-1)
  const signature = createHmac('sha256', HMAC_KEY)
    .update(hook?.text ?? '')
    .digest('hex')
  expect(hook?.headers['x-kubenode-signature-256']).toBe(`sha256=${signature}`)
  expect(JSON.parse(hook?.text ?? '')).toMatchObject({
    event: 'Succeeded',
    commit: first,
    track: 'fleet',
    subject: 'settings 1',
    author: 'Ada',
  })
  expect(JSON.parse(to(SLACK_PATH)[0]?.text ?? '')).toEqual({ text: 'fleet Succeeded settings 1' })
  const github = to(`/repos/acme/fleet/statuses/${first}`)
  expect(github.at(-1)?.headers).toMatchObject({ authorization: `Bearer ${TOKEN}`, 'user-agent': 'kubenode' })
  await eventually(
    async () => states(`/api/v4/projects/7/statuses/${first}`).at(-1),
    (state) => state === 'success',
  )
  const told = await eventually(
    () => releaseOf(b, first),
    (r) => r?.status?.notified?.some((n) => n.name === 'chat' && n.problem === undefined) === true,
  )
  expect(told?.status?.notified?.find((n) => n.name === 'elsewhere')?.problem).toMatch(/among the places.*--call-allow/)
  const everything = JSON.stringify([await b.releases(), heard.map((h) => h.text)])
  for (const secret of [HMAC_KEY, TOKEN, 'sl4ck-s3cret']) expect(everything).not.toContain(secret)

  // A restart repeats nothing; the next commit is news.
  await stop()
  const before = heard.length
  await b.start()
  const second = repository.commit(fleet('2'), { key: undefined })
  await eventually(
    async () => states(`/repos/acme/fleet/statuses/${second}`).at(-1),
    (state) => state === 'success',
  )
  expect(heard.slice(before).filter((h) => h.text.includes(first) || h.path.includes(first))).toEqual([])

  // A commit that does not render is not followed, and its author learns it.
  const broken = repository.commit({ 'fleet/main.ts': 'throw new Error("no")' }, { key: undefined, message: 'oh no' })
  await eventually(
    async () => [states(`/repos/acme/fleet/statuses/${broken}`).at(-1), to(SLACK_PATH).at(-1)?.text],
    ([state, text]) => state === 'failure' && text === JSON.stringify({ text: ' Refused oh no' }),
  )
})

test('the record of each release is a note of its commit on the server, on top of notes that are there, and a source can leave them out', async () => {
  const first = repository.commit(fleet('1'), { key: undefined })
  const notes = 'refs/notes/kubenode'
  repository.git('notes', `--ref=${notes}`, 'add', '-m', 'of a person', first)
  repository.git('push', '--quiet', 'origin', notes)
  const b = await start({ push: { secretRef: { name: 'push' } } })
  await b.start()
  await eventually(
    () => releaseOf(b, first),
    (r) => r?.status?.notified?.some((n) => n.name === 'GitNotes' && n.sent !== undefined) === true,
  )
  expect(repository.inBare(['notes', `--ref=${notes}`, 'show', first])).toMatch(
    /^release kubenode-system\/fleet-[0-9a-f]+ of track fleet: Succeeded\n {2}\S+ to \S+\n {2}stage test: Succeeded, .*\n {4}cluster test: Healthy since \S+, sha256:[0-9a-f]{12}$/,
  )
  const second = repository.commit(fleet('2'), { key: undefined })
  await eventually(
    () => releaseOf(b, second),
    (r) => r?.status?.notified?.some((n) => n.name === 'GitNotes' && n.sent !== undefined) === true,
  )
  expect(repository.inBare(['notes', `--ref=${notes}`, 'list']).split('\n')).toHaveLength(2)
  expect(repository.inBare(['rev-list', '--count', notes])).toBe('3')
  expect(repository.inBare(['rev-parse', 'main'])).toBe(second)
})
