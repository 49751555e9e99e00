// S16 over a whole run: every secret that sync is given has a marker of its own, and none of them is in anything that is printed, stored, listed or left behind.
import { randomBytes } from 'node:crypto'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { basename, join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { fleetSource } from '#api/kinds/fleet-source.ts'
import { KINDS } from '#api/kinds.ts'
import { CLUSTERS_NAMESPACE, FIELD_MANAGERS, SYSTEM_NAMESPACE } from '#api/names.ts'
import { run } from '#cli/program.ts'
import { coreKind } from '#kube/core-kinds.ts'
import { listAll } from '#kube/list-all.ts'
import type { KubeClient } from '#kube/client.ts'
import { isObject } from '#lib/json.ts'
import { issueCertificate, newAuthority } from '#lib/x509/certificates.ts'
import { CONFIG_MAP, eventually, SECRET, syncBench, type SyncBench } from '#test/support/benches/sync-bench.ts'
import { syncProgram, type SyncProgram } from '#test/support/benches/sync-program.ts'
import { startGitServer, type GitServer } from '#test/support/servers/git-server.ts'
import { AGE_KEY, sopsObject, sopsText } from '#test/support/tools/sops-writer.ts'

const WITHIN_MS = 240_000
const by = { fieldManager: FIELD_MANAGERS.cli, force: true } as const
const FILE = 'fleet/secrets/db.sops.json'

const closes: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of closes.splice(0).toReversed()) await close()
})

/** New in each run: what an earlier run left somewhere is not found. */
const marker = (what: string): string => `marker-${what}-${randomBytes(9).toString('hex')}`
const TOKEN = marker('token')
const VALUES = [marker('first'), marker('second'), marker('tampered'), marker('last')] as const

/** As a program may show it: as it is, in base64 wherever it begins, in hexadecimal digits. */
function formsOf(secret: string): readonly string[] {
  const shifted = [0, 1, 2].map((n) =>
    Buffer.from(`${'x'.repeat(n)}${secret}`)
      .toString('base64')
      .slice(n === 0 ? 0 : 4, -4),
  )
  return [secret, encodeURIComponent(secret), Buffer.from(secret).toString('hex'), ...shifted]
}

const MARKERS = new Map([
  ['the token of git', TOKEN],
  ['the key of age', AGE_KEY],
  ...VALUES.map((value, i) => [`value ${i + 1} of the Secret`, value] as const),
])

/** Which of them are in the text. */
const markersIn = (text: string): readonly string[] =>
  [...MARKERS].filter(([, secret]) => formsOf(secret).some((form) => text.includes(form))).map(([name]) => name)

const fleet = {
  'fleet/main.ts': `
import { App } from 'cdk8s'
import { Cluster, ClusterChart, EncryptedSecret, HubChart, ReleasePipeline } from 'kubenode/constructs'
const app = new App()
const hub = new HubChart(app, 'hub', { namespace: '${SYSTEM_NAMESPACE}' })
new ReleasePipeline(hub, 'standard', { spec: { stages: [{ name: 'test', clusters: { names: ['test'] }, minSuccessTime: '0s', progressDeadline: '10m', offlineDeadline: '1h' }] } })
new Cluster(hub, 'test', { spec: { kubeconfigSecretRef: { name: 'cluster-test', key: 'kubeconfig' }, stage: 'test' } })
new EncryptedSecret(new ClusterChart(app, 'test'), 'db', { file: '${FILE}' })
app.synth()
`,
}
const document = (password: string) => ({
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { name: 'db', namespace: 'default' },
  type: 'Opaque',
  stringData: { password },
})

/** The file with one value moved to another place, so that its MAC does not hold. */
function tampered(password: string): string {
  const object = sopsObject(document(password)) as { metadata: { name: string } }
  object.metadata.name = 'other'
  return JSON.stringify(object)
}

const secretOf = (name: string, data: Readonly<Record<string, string>>) => ({
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { name, namespace: CLUSTERS_NAMESPACE },
  data: Object.fromEntries(Object.entries(data).map(([k, v]) => [k, Buffer.from(v).toString('base64')])),
})

interface World {
  readonly bench: SyncBench
  readonly sync: SyncProgram
  readonly git: GitServer
}

/** A private repository over https, decrypted by sync, which runs as a program of its own. */
async function world(): Promise<World> {
  const bench = await syncBench(['test'], { decryption: { provider: 'sops', secretRef: { name: 'age' } } })
  closes.push(bench.close)
  const authority = newAuthority('git', { now: Date.now(), days: 30 })
  const validity = { now: Date.now(), days: 2 }
  const hosts = ['localhost']
  const pair = issueCertificate(authority, { subject: { commonName: 'git' }, validity, usage: 'server', hosts })
  const git = await startGitServer(bench.repository.dir, pair)
  closes.push(() => git.close())
  const basic = `Basic ${Buffer.from(`fleet:${TOKEN}`).toString('base64')}`
  git.answer = (authorization) => (authorization === basic ? { kind: 'Repository' } : { kind: 'Refused', status: 401 })
  await bench.hub.client.apply(
    SECRET,
    secretOf('git', { username: 'fleet', password: TOKEN, 'ca.crt': authority.certificate }),
    by,
  )
  await bench.hub.client.apply(SECRET, secretOf('age', { 'age.agekey': `${AGE_KEY}\n` }), by)
  await bench.hub.client.patch(
    fleetSource,
    { namespace: SYSTEM_NAMESPACE, name: 'fleet' },
    {
      type: 'merge',
      value: {
        spec: {
          url: `https://localhost:${git.port}/${basename(bench.repository.dir)}/.git`,
          secretRef: { name: 'git' },
        },
      },
    },
  )
  const sync = syncProgram(bench, ['--git-allow', `localhost:${git.port}`])
  closes.push(sync.close)
  return { bench, sync, git }
}

const readable = (path: string): string => {
  try {
    return readFileSync(path, 'latin1')
  } catch {
    // It ended, was deleted, or belongs to another user.
    return ''
  }
}

/** Reads the arguments and the environment of every process again and again until it is ended. */
function watchProcesses(): { readonly end: () => { readonly looks: number; readonly found: ReadonlySet<string> } } {
  const found = new Set<string>()
  let looks = 0
  const timer = setInterval(() => {
    looks++
    for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name)))
      for (const what of ['cmdline', 'environ'])
        for (const name of markersIn(readable(`/proc/${pid}/${what}`))) found.add(`${name} in ${what}`)
  }, 20)
  return {
    end: () => {
      clearInterval(timer)
      return { looks, found }
    },
  }
}

const filesBelow = (dir: string): readonly string[] =>
  readdirSync(dir, { recursive: true, encoding: 'utf8' })
    .map((name) => join(dir, name))
    .filter((path) => statSync(path, { throwIfNoEntry: false })?.isFile() === true)

const NO_SECRETS = [CONFIG_MAP, coreKind('Event'), coreKind('Namespace'), ...KINDS]

/** Everything that is stored on a server. Of the Secrets all but their content, which is where it belongs. */
async function stored(client: KubeClient): Promise<string> {
  const objects = await Promise.all(NO_SECRETS.map((kind) => listAll(client, kind).catch(() => [])))
  const secrets = (await listAll(client, SECRET)).map((secret) => ({
    ...secret,
    data: Object.keys(secret['data'] ?? {}),
  }))
  return JSON.stringify([objects, secrets])
}

/** What the command line shows of everything, and of a plan between two commits. */
async function shown(bench: SyncBench, sync: SyncProgram): Promise<string> {
  const kubeconfig = join(sync.folder, 'hub.kubeconfig')
  let text = ''
  const io = {
    out: (t: string) => (text += t),
    err: (t: string) => (text += t),
    cwd: bench.repository.dir,
    env: { KUBECONFIG: kubeconfig },
    isTerminal: false,
  }
  for (const argv of [
    ['plan', '--weak-cage', 'allow', '--base', 'HEAD~1'],
    ['diff', '--weak-cage', 'allow', 'HEAD~1', 'HEAD'],
    ['get', 'sources', '-A', '-o', 'yaml'],
    ['get', 'releases', '-A', '-o', 'yaml'],
    ['describe', 'source/fleet', '-n', SYSTEM_NAMESPACE],
    ['why', 'source/fleet', '-n', SYSTEM_NAMESPACE],
    ['events', '-A'],
  ]) {
    text += `\n$ ${argv.join(' ')}\n`
    await run(argv, io)
  }
  return text
}

const passwordOf = async ({ bench }: World): Promise<string> => {
  const found = await bench.client('test').get(SECRET, { namespace: 'default', name: 'db' })
  const data = isObject(found?.['data']) ? found['data'] : {}
  return Buffer.from(String(data['password'] ?? ''), 'base64').toString()
}

const conditionOf = async ({ bench }: World, type: string) =>
  (await bench.hub.client.get(fleetSource, { namespace: SYSTEM_NAMESPACE, name: 'fleet' }))?.status?.conditions?.find(
    (c) => c.type === type,
  )

test('every form of a marker is found where one is, so that nothing below passes by itself', () => {
  for (const [name, secret] of MARKERS) {
    for (const around of ['', 'a', 'ab', 'abc'])
      expect(markersIn(Buffer.from(`${around}${secret}${around}`).toString('base64'))).toContain(name)
    expect(markersIn(`https://fleet:${encodeURIComponent(secret)}@localhost/`)).toContain(name)
    expect(markersIn(Buffer.from(secret).toString('hex'))).toContain(name)
  }
})

test('S16 the secrets of a run with a good commit, a tampered one, a refused token and a kill are in no log, object, event, plan, file or list of processes', async () => {
  const w = await world()
  const { bench, sync, git } = w
  const processes = watchProcesses()
  const [first, second, moved, last] = VALUES
  bench.repository.commit({ ...fleet, [FILE]: sopsText(document(first)) })
  sync.start()
  await eventually(
    () => passwordOf(w),
    (p) => p === first,
    WITHIN_MS,
  )
  bench.repository.commit({ [FILE]: tampered(moved) })
  await eventually(
    () => conditionOf(w, 'Rendered'),
    (c) => c?.status === 'False',
    WITHIN_MS,
  )
  const refusing = git.answer
  git.answer = () => ({ kind: 'Refused', status: 401, text: `no access with ${TOKEN}` })
  await eventually(
    () => conditionOf(w, 'Fetched'),
    (c) => c?.status === 'False',
    WITHIN_MS,
  )
  git.answer = refusing
  bench.repository.commit({ [FILE]: sopsText(document(second)) })
  await eventually(
    () => passwordOf(w),
    (p) => p === second || p === first,
    WITHIN_MS,
  )
  await sync.kill()
  // Only the next program can bring it, with a fetch of its own.
  bench.repository.commit({ [FILE]: sopsText(document(last)) })
  sync.start()
  await eventually(
    () => passwordOf(w),
    (p) => p === last,
    WITHIN_MS,
  )
  const text = await shown(bench, sync)
  // Keys are in a folder while git runs; the folder of the killed program was removed by the next one.
  await sync.stop()
  const { looks, found } = processes.end()
  const files = filesBelow(sync.folder).filter((path) => !path.endsWith('hub.kubeconfig'))
  // No place is empty.
  expect(looks).toBeGreaterThan(20)
  expect(files.length).toBeGreaterThan(3)
  expect(sync.printed()).toContain('fleetsource')
  expect(text).toMatch(/\*\*\* \([0-9a-f]{8}\)/)
  expect(text).toContain('db')
  expect({
    processes: [...found],
    log: markersIn(sync.printed()),
    hub: markersIn(await stored(bench.hub.client)),
    cluster: markersIn(await stored(bench.client('test'))),
    shown: markersIn(text),
    files: files.filter((path) => markersIn(readable(path)).length > 0),
  }).toEqual({ processes: [], log: [], hub: [], cluster: [], shown: [], files: [] })
})
