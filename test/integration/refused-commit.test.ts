// The hub refuses the newest commit: `why` of an object that git declares says so, and `local status --wait` does not wait for what no time brings.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { fleetSource } from '#api/kinds/fleet-source.ts'
import { machineComponentSet } from '#api/kinds/machine-component-set.ts'
import { SYSTEM_NAMESPACE } from '#api/names.ts'
import { run } from '#cli/program.ts'
import { findCondition } from '#kube/conditions.ts'
import { allContexts } from '#programs/local/all-contexts.ts'
import { DATA_FORMAT, layoutOf, writeState } from '#programs/local/layout.ts'
import { eventually, type SyncBench, syncBench } from '#test/support/benches/sync-bench.ts'
import { defined } from '#lib/defined.ts'

const FLEET = `
import { App } from 'cdk8s'
import { Cluster, ClusterChart, HubChart, MachineComponentSet, ReleasePipeline } from 'kubenode/constructs'
const app = new App()
const hub = new HubChart(app, 'hub', { namespace: '${SYSTEM_NAMESPACE}' })
new ReleasePipeline(hub, 'standard', { spec: { stages: [{ name: 'test', clusters: { names: ['test'] } }] } })
new Cluster(hub, 'test', { spec: { kubeconfigSecretRef: { name: 'cluster-test', key: 'kubeconfig' } } })
const chart = new ClusterChart(app, 'test')
new MachineComponentSet(chart, 'base', { spec: { selector: { matchLabels: { pool: 'w' } }, components: [{ name: 'beacon', version: '1.0.0' }] } })
app.synth()
`

let bench: SyncBench
let data = ''
let broken = ''

beforeAll(async () => {
  bench = await syncBench(['test'])
  data = mkdtempSync(join(tmpdir(), 'kubenode-refused-'))
  const layout = layoutOf(data, { repository: bench.repository.dir, path: '.', branch: 'main' })
  writeState(layout, {
    format: DATA_FORMAT,
    ports: {},
    ...defined({ follows: layout.follows }),
  })
  const kubeconfigs = new Map(
    [['hub', bench.hub] as const, ...bench.clusters].map(([name, { server }]) => [name, server.adminKubeconfig()]),
  )
  for (const [name, text] of kubeconfigs) {
    const file = layout.cluster(name).adminKubeconfig
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, text, { mode: 0o600 })
  }
  writeFileSync(layout.adminKubeconfig, allContexts(kubeconfigs), { mode: 0o600 })

  bench.repository.commit({ 'fleet/main.ts': FLEET })
  await bench.start()
  await eventually(
    () => bench.client('test').get(machineComponentSet, { name: 'base' }),
    (set) => set !== undefined,
  )
  broken = bench.repository.commit({ 'fleet/main.ts': `${FLEET}nonsense(` })
  await eventually(
    () => bench.hub.client.get(fleetSource, { namespace: SYSTEM_NAMESPACE, name: 'fleet' }),
    (source) => findCondition(source?.status?.conditions, 'Rendered')?.status === 'False',
  )
})

afterAll(async () => {
  await bench.close()
  rmSync(data, { recursive: true, force: true })
})

async function kubenode(...argv: readonly string[]) {
  let said = ''
  const tell = (t: string) => void (said += t)
  const env = { KUBECONFIG: join(data, 'admin.kubeconfig') }
  const code = await run(argv, { out: tell, err: tell, cwd: '/', env, isTerminal: false })
  return { code, said }
}

test('why of a set names the commit that is not followed, and where to ask', async () => {
  const { said } = await kubenode('why', 'set/base', '--context', 'test')
  expect(said).toContain(
    `the newest one is not followed: source/fleet refuses the newest commit: KN7102: cannot render commit ${broken.slice(0, 12)}`,
  )
  expect(said).toContain('kubenode why source/fleet --context hub')
  expect(said).toContain('the fleet fails at fleet/main.ts')
  expect(said).not.toContain('Up to date; nothing pending.')
})

test('local status --wait ends at once with 1 and why, however long it may wait', async () => {
  const { code, said } = await kubenode('local', 'status', '--wait', '--timeout', '24h', '--data', data)
  expect(code).toBe(1)
  expect(said).toContain(
    `no longer waiting: commit ${broken.slice(0, 12)} "change" by t is refused; a commit corrects it, or takes it back: git revert --no-edit ${broken.slice(0, 12)}`,
  )
  expect(said.match(/the fleet fails at fleet\/main\.ts/g)).toHaveLength(1)
  expect(said).toContain(
    `to do first: a commit corrects it, or takes it back: git revert --no-edit ${broken.slice(0, 12)}\n`,
  )
})
