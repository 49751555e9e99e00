// S16 over a whole run: every secret that sync is given has a marker of its own, and none of them is in anything that is printed, stored, listed or left behind.
import { randomBytes } from 'node:crypto'
import { readdirSync } from 'node:fs'
import { afterEach, expect, test } from 'vitest'
import { fleetSource } from '#api/kinds/fleet-source.ts'
import { FIELD_MANAGERS, SYSTEM_NAMESPACE } from '#api/names.ts'
import { isObject } from '#lib/json.ts'
import { eventually, SECRET, syncBench, type SyncBench } from '#test/support/benches/sync-bench.ts'
import { syncProgram, type SyncProgram } from '#test/support/benches/sync-program.ts'
import { filesBelow, readable, shown, stored } from '#test/support/benches/sync-traces.ts'
import { followOverHttps, gitSecret } from '#test/support/benches/sync-over-https.ts'
import type { GitServer } from '#test/support/servers/git-server.ts'
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

interface World {
  readonly bench: SyncBench
  readonly sync: SyncProgram
  readonly git: GitServer
}

/** A private repository over https, decrypted by sync, which runs as a program of its own. */
async function world(): Promise<World> {
  const bench = await syncBench(['test'], { decryption: { provider: 'sops', secretRef: { name: 'age' } } })
  closes.push(bench.close)
  const git = await followOverHttps(bench, TOKEN)
  closes.push(() => git.close())
  await bench.hub.client.apply(SECRET, gitSecret('age', { 'age.agekey': `${AGE_KEY}\n` }), by)
  const sync = syncProgram(bench, ['--git-allow', `localhost:${git.port}`])
  closes.push(sync.close)
  return { bench, sync, git }
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

const passwordOf = async ({ bench }: World): Promise<string> => {
  const found = await bench.client('test').get(SECRET, { namespace: 'default', name: 'db' })
  const data = isObject(found?.['data']) ? found['data'] : {}
  return Buffer.from(data['password'] ?? '', 'base64').toString()
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
  const text = await shown(bench, sync, 'HEAD~1')
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
