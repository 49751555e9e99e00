// F17: a commit that reached half of the clusters when the program sync was killed (SIGKILL), a newer commit, and its revert: every cluster ends at the same content, no object is
// lost and none is written twice. Ten clusters, a hundred in the full run.
import { afterEach, expect, onTestFailed, test } from 'vitest'
import { inventory } from '#api/kinds/inventory.ts'
import { SYSTEM_NAMESPACE } from '#api/names.ts'
import { systemClock } from '#lib/system-clock.ts'
import { silentLogger } from '#lib/log.ts'
import { inParallel } from '#lib/pool.ts'
import { systemRandom } from '#lib/random.ts'
import { listAll } from '#kube/list-all.ts'
import { createInformers } from '#runtime/informers.ts'
import { CONFIG_MAP, eventually, syncBench, type SyncBench } from '#test/support/benches/sync-bench.ts'
import { syncProgram } from '#test/support/benches/sync-program.ts'
import { isFull, onlyInFull } from '#test/support/tools/full.ts'

const COUNT = isFull ? 100 : 10
const CLUSTERS = Array.from({ length: COUNT }, (_, i) => `c${i}`)
const OBJECTS = ['a', 'b', 'c']
/** Renders and hundreds of passes on a busy machine. */
const WITHIN_MS = isFull ? 1_200_000 : 240_000
const AT_ONCE = 16
/** Of what sync said, where a test failed. */
const MOST_PRINTED = 8_000

let bench: SyncBench | undefined
const stops: (() => Promise<unknown>)[] = []
afterEach(async () => {
  await Promise.all(stops.splice(0).map((stop) => stop()))
  await bench?.close()
  bench = undefined
})

const fleet = (version: string) => ({
  'fleet/main.ts': `
import { App, ApiObject } from 'cdk8s'
import { Cluster, ClusterChart, HubChart, ReleasePipeline } from 'kubenode/constructs'
import { version } from './version.ts'
const app = new App()
const hub = new HubChart(app, 'hub', { namespace: '${SYSTEM_NAMESPACE}' })
const stage = { name: 'all', clusters: { selector: {} }, maxConcurrency: ${Math.ceil(COUNT / 2)}, minSuccessTime: '0s', progressDeadline: '1h', offlineDeadline: '1h' }
new ReleasePipeline(hub, 'standard', { spec: { stages: [stage] } })
for (const name of ${JSON.stringify(CLUSTERS)}) {
  new Cluster(hub, name, { spec: { kubeconfigSecretRef: { name: \`cluster-\${name}\`, key: 'kubeconfig' }, stage: 'prod' } })
  const chart = new ClusterChart(app, name)
  for (const id of ${JSON.stringify(OBJECTS)})
    new ApiObject(chart, id, { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: id, namespace: 'default' }, data: { version } })
}
app.synth()
`,
  ...versionFile(version),
})
const versionFile = (version: string) => ({ 'fleet/version.ts': `export const version: string = '${version}'\n` })

/** By cluster and object, every version that was ever written, in order; two equal ones in a row are one write too many. */
async function recorded(b: SyncBench): Promise<ReadonlyMap<string, readonly string[]>> {
  const seen = new Map<string, string[]>()
  await inParallel(CLUSTERS, AT_ONCE, async (name) => {
    const own = { client: b.client(name), clock: systemClock, random: systemRandom, log: silentLogger }
    const informers = createInformers({ ...own, startSpreadMs: 0 })
    informers.of(CONFIG_MAP).onChange((_, now) => {
      const { name: object = '' } = now?.metadata ?? {}
      if (now === undefined || !OBJECTS.includes(object)) return
      const key = `${name}/${object}`
      seen.set(key, [...(seen.get(key) ?? []), (now['data'] as { readonly version: string }).version])
    })
    informers.start()
    stops.push(() => informers.stop())
    await informers.synced()
  })
  return seen
}

const versionsOf = (seen: ReadonlyMap<string, readonly string[]>): readonly string[] =>
  CLUSTERS.flatMap((c) => OBJECTS.map((o) => seen.get(`${c}/${o}`)?.at(-1) ?? 'none'))
const isAll = (version: string) => (versions: readonly string[]) => versions.every((v) => v === version)

const succeeded = (b: SyncBench, commit: string) =>
  eventually(
    async () => (await b.releases()).find((r) => r.spec.commit === commit)?.status?.phase,
    (phase) => phase === 'Succeeded',
    WITHIN_MS,
  )

test(
  'F17 a commit that was half applied when sync was killed, the next commit and its revert reach all clusters, and no object is written twice or lost',
  async () => {
    const b = await syncBench(CLUSTERS, {}, { isDefended: false, withProxies: true })
    bench = b
    const seen = await recorded(b)
    const first = b.repository.commit(fleet('1'))
    const sync = syncProgram(b)
    stops.push(sync.close)
    onTestFailed(() => void process.stderr.write(sync.printed().slice(-MOST_PRINTED)))
    sync.start()
    await succeeded(b, first)

    // One that sync cannot reach: the commit is not whole when the kill comes, however quick the rest is.
    const away = b.proxy(CLUSTERS.at(-1) ?? '')
    away.refuse = true
    away.reset()
    b.repository.commit(versionFile('2'), 'two')
    const half = (COUNT * OBJECTS.length) / 2
    await eventually(
      async () => versionsOf(seen).filter((v) => v === '2').length,
      (n) => n >= half / 2,
      WITHIN_MS,
    )
    await sync.kill()
    expect(versionsOf(seen)).toContain('1')
    away.refuse = false
    // Without sync there is no one to finish it; the next commit arrives meanwhile.
    const third = b.repository.commit(versionFile('3'), 'three')
    sync.start()
    await succeeded(b, third)
    await eventually(async () => versionsOf(seen), isAll('3'), WITHIN_MS)

    b.repository.git('revert', '--no-edit', third)
    const fourth = b.repository.git('rev-parse', 'HEAD')
    await succeeded(b, fourth)
    await eventually(async () => versionsOf(seen), isAll('2'), WITHIN_MS)

    for (const [object, versions] of seen) {
      expect([object, versions.filter((v, i) => v === versions[i - 1])]).toEqual([object, []])
      expect(['1,3,2', '1,2,3,2']).toContain(versions.join(','))
    }
    expect(seen.size).toBe(COUNT * OBJECTS.length)
    await inParallel(CLUSTERS, AT_ONCE, async (name) => {
      const shards = await listAll(b.client(name), inventory)
      expect(shards.flatMap(({ spec }) => spec.refs.map((r) => r.name)).toSorted((x, y) => (x < y ? -1 : 1))).toEqual(
        OBJECTS,
      )
      expect(shards.map(({ spec }) => spec.commit)).toEqual([fourth])
    })
  },
  WITHIN_MS * 4,
)

test(
  'commits that change no file of the fleet, empty ones and merges make no release; of a burst of commits the last one counts',
  async (context) => {
    onlyInFull(context)
    const few = CLUSTERS.slice(0, 2)
    const b = await syncBench(CLUSTERS.slice(0, COUNT), {}, { isDefended: false })
    bench = b
    const first = b.repository.commit(fleet('1'))
    await b.start()
    await succeeded(b, first)
    b.repository.git('commit', '--quiet', '--allow-empty', '-m', 'empty')
    b.repository.git('checkout', '--quiet', '-b', 'side')
    b.repository.commit({ 'README.md': 'not of the fleet' }, 'readme')
    b.repository.git('checkout', '--quiet', 'main')
    b.repository.git('merge', '--quiet', '--no-ff', '--no-edit', 'side')
    const merged = b.repository.git('rev-parse', 'HEAD')
    const { fleetSource } = await import('#api/kinds/fleet-source.ts')
    await eventually(
      async () =>
        (await b.hub.client.get(fleetSource, { name: 'fleet', namespace: SYSTEM_NAMESPACE }))?.status?.rendered,
      (commit) => commit === merged,
      WITHIN_MS,
    )
    expect((await b.releases()).map((r) => r.spec.commit)).toEqual([first])

    const burst = isFull ? 60 : 6
    let last = ''
    for (let i = 0; i < burst; i++) {
      last = b.repository.commit(versionFile(`b${i}`), `burst ${i}`)
      // One a second in the full run: each commit is new while the one before is rendered or applied.
      if (isFull) await new Promise((resolve) => setTimeout(resolve, 1_000))
    }
    await succeeded(b, last)
    for (const name of few) {
      const found = await b.client(name).get(CONFIG_MAP, { name: 'a', namespace: 'default' })
      expect(found?.['data']).toEqual({ version: `b${burst - 1}` })
    }
    const open = (await b.releases()).filter((r) => r.spec.commit !== last)
    expect(open.every((r) => ['Succeeded', 'Superseded'].includes(r.status?.phase ?? ''))).toBe(true)
  },
  WITHIN_MS * 4,
)
