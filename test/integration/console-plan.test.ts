// The plan on the page equals what `kubenode plan` prints, and what hubs recorded is there without a repository.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { SYSTEM_NAMESPACE } from '#api/names.ts'
import { run } from '#cli/program.ts'
import type { PlanAnswer } from '#console/plan.ts'
import { eventually, syncBench, type SyncBench } from '#test/support/benches/sync-bench.ts'
import { type FleetConsole, fleetConsole } from '#test/support/console/fleet-console.ts'

let bench: SyncBench
let page: FleetConsole
let first: string
let second: string

const fleet = (version: string, sets: readonly string[]) => ({
  'fleet/main.ts': `
import { App } from 'cdk8s'
import { Cluster, ClusterChart, HubChart, MachineComponentSet, MachineSet, ReleasePipeline } from 'kubenode/constructs'
const app = new App()
const hub = new HubChart(app, 'hub', { namespace: '${SYSTEM_NAMESPACE}' })
new ReleasePipeline(hub, 'standard', { spec: { stages: [{ name: 'test', clusters: { names: ['test'] }, minSuccessTime: '1s', maxNewFailures: 100 }] } })
new Cluster(hub, 'test', { spec: { kubeconfigSecretRef: { name: 'cluster-test', key: 'kubeconfig' }, stage: 'test' } })
const chart = new ClusterChart(app, 'test')
new MachineComponentSet(chart, 'base', { spec: { selector: { matchLabels: { pool: 'a' } }, components: [{ name: 'beacon', version: '${version}' }] } })
for (const name of ${JSON.stringify(sets)})
  new MachineSet(chart, name, { spec: { replicas: 2, selector: { matchLabels: { pool: name } }, template: { metadata: { labels: { pool: name } }, spec: { provider: { name: 'static', params: {} } } } } })
app.synth()
`,
})

beforeAll(async () => {
  bench = await syncBench(['test'])
  first = bench.repository.commit(fleet('1.0.0', ['a', 'b']), 'start')
  await bench.start()
  await eventually(
    () => bench.releases(),
    (all) => all.some((r) => r.spec.commit === first),
  )
  second = bench.repository.commit(fleet('1.1.0', ['a']), 'beacon 1.1.0\n\nfor the fix')
  await eventually(
    () => bench.releases(),
    (all) => all.some((r) => r.spec.commit === second),
  )
  page = await fleetConsole(bench)
})
afterAll(async () => {
  await page.stop()
  await bench.close()
})

async function printed(...args: readonly string[]): Promise<string> {
  let out = ''
  await run([...args], {
    out: (t) => (out += t),
    err: () => undefined,
    env: {},
    isTerminal: false,
    cwd: bench.repository.dir,
  })
  return out
}

const made = (answer: PlanAnswer) => {
  if (answer.certain.state !== 'Made') throw new Error(JSON.stringify(answer.certain))
  return answer.certain.value
}

test('the certain part has the digest, the objects and the lines that the terminal prints', async () => {
  const certain = made(await page.browser.json<PlanAnswer>(`/api/plan?commit=${second}`))
  const json = JSON.parse(await printed('plan', `${first}..${second}`, '--weak-cage', 'allow', '-o', 'json')) as {
    readonly digest: string
    readonly summary: string
  }
  expect(certain).toMatchObject({
    digest: json.digest,
    summary: json.summary,
    commit: second,
    base: first,
    subject: 'beacon 1.1.0',
  })
  expect(certain.red).toEqual([
    { text: 'test: deletes 2 machines: MachineSet b (2 of 2)' },
    { text: expect.stringContaining('whether the prune guard stops the deletions is unknown') as string },
  ])
  const [group] = certain.clusters
  expect(group).toMatchObject({ clusters: ['test'], changed: 1, removed: 1 })
  expect(group?.objects.map(({ change, object }) => `${change} ${object}`)).toEqual([
    'changed MachineComponentSet.kubenode.io/base',
    'removed MachineSet.kubenode.io/b',
  ])
  const lines = await printed('diff', `${first}..${second}`, '--weak-cage', 'allow')
  expect(`${group?.lines.map(({ text }) => text).join('\n')}\n`).toBe(lines)
})

test('what hubs recorded names the clusters that the release changes', async () => {
  const { record } = await page.browser.json<PlanAnswer>(`/api/plan?commit=${second.slice(0, 12)}`)
  expect(record).toMatchObject([{ track: 'fleet', after: first, changed: ['test'], object: { cluster: 'hub' } }])
})

test('the prediction reads the clusters only when it is asked for', async () => {
  const without = await page.browser.json<PlanAnswer>(`/api/plan?commit=${second}`)
  expect(without.predicted).toEqual({ state: 'Unasked' })
  const { predicted } = await page.browser.json<PlanAnswer>(`/api/plan?commit=${second}&predict=1`)
  expect(predicted).toMatchObject({
    state: 'Made',
    value: { sentence: 'no machine is touched by a rollout', clusters: [] },
  })
})

test('a branch that no hub follows has a plan, and a commit that is not there has its reason', async () => {
  bench.repository.git('branch', 'idea', first)
  expect(made(await page.browser.json<PlanAnswer>('/api/plan?commit=idea&base=main')).base).toBe(second)
  const { certain, record } = await page.browser.json<PlanAnswer>('/api/plan?commit=0123456789ab')
  expect(certain).toMatchObject({ state: 'Absent', why: expect.stringContaining('KN1664') as string })
  expect(record).toEqual([])
  for (const commit of ['--upload-pack=x', 'a..b', '-h', 'a b', ''])
    expect((await page.browser.ask(`/api/plan?commit=${encodeURIComponent(commit)}`)).status, commit).toBe(400)
})

test('without a repository the page has what is recorded, and the command for the rest', async () => {
  const other = await fleetConsole(bench, { hasRepository: false })
  const answer = await other.browser.json<PlanAnswer>(`/api/plan?commit=${second}`)
  expect(answer.certain).toMatchObject({ state: 'Absent', why: expect.stringContaining('--repo') as string })
  expect(answer.record).toHaveLength(1)
  expect(answer.commands[0]).toBe(`kubenode plan ${second}~1..${second}`)
  await other.stop()
})
