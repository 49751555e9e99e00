// What `kubenode canary promote`, `rollback` and `rules enforce` prepare in a fleet of TypeScript: the line of the JSON that declares it, checked by a render.
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { componentCanary } from '#api/kinds/component-canary.ts'
import { inventory } from '#api/kinds/inventory.ts'
import { machine } from '#api/kinds/machine.ts'
import { machineComponentSet } from '#api/kinds/machine-component-set.ts'
import { nodeRemedier } from '#api/kinds/node-remedier.ts'
import { remedyOperationJob } from '#api/kinds/remedy-operation-job.ts'
import { SYSTEM_NAMESPACE } from '#api/names.ts'
import { revisionNameOf, writeSetRevision } from '#api/protocol/set-revision.ts'
import { coreKind } from '#kube/core-kinds.ts'
import { run } from '#cli/program.ts'
import { syncBench, type SyncBench } from '#test/support/benches/sync-bench.ts'

const V1 = 'kubenode.io/v1alpha1'

const FLEET = {
  'fleet/versions.json': '{\n  "beacon": "1.0.0",\n  "scribe": "1.0.0"\n}\n',
  'fleet/enforced.json': '{\n  "prod": []\n}\n',
  'fleet/rules.ts': `
export const looking = { 'lonely-rule': { mode: 'DryRun' } } as const
`,
  'fleet/main.ts': `
import { App } from 'cdk8s'
import { Cluster, ClusterChart, HubChart, MachineComponentSet, NodeRemedier, ReleasePipeline } from 'kubenode/constructs'
import versions from './versions.json' with { type: 'json' }
import enforced from './enforced.json' with { type: 'json' }
import { looking } from './rules.ts'
const app = new App()
const hub = new HubChart(app, 'hub', { namespace: '${SYSTEM_NAMESPACE}' })
new ReleasePipeline(hub, 'standard', { spec: { stages: ['test', 'prod'].map((name) => ({ name, clusters: { names: [name] }, minSuccessTime: '1s' })) } })
const when = { all: [{ fact: 'conditions', path: '/Ready/status', operator: 'equal', value: 'False', for: '5m' }] }
const ladder = [{ operations: [{ cordon: {} }], timeout: '5m', verify: { conditionCleared: 'Ready', stableFor: '5m' } }]
for (const name of ['test', 'prod']) {
  new Cluster(hub, name, { spec: { kubeconfigSecretRef: { name: \`cluster-\${name}\`, key: 'kubeconfig' }, stage: name } })
  const chart = new ClusterChart(app, name)
  const components = Object.entries(versions).map(([c, version]) => ({ name: c, version }))
  new MachineComponentSet(chart, 'base', { spec: { selector: { matchLabels: { pool: 'a' } }, components } })
  const isEnforced = (rule: string) => name !== 'prod' || (enforced.prod as readonly string[]).includes(rule)
  for (const rule of ['not-ready', 'silent'])
    new NodeRemedier(chart, rule, { spec: { when, ladder, mode: isEnforced(rule) ? 'Enforce' : 'DryRun' } })
  if (name === 'prod') new NodeRemedier(chart, 'lonely-rule', { spec: { when, ladder, ...looking['lonely-rule'] } })
}
app.synth()
`,
}

let bench: SyncBench
let dir: string
beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), 'kubenode-prepared-edits-'))
  bench = await syncBench(['prod'])
  bench.repository.commit(FLEET, 'start')
  writeFileSync(join(dir, 'kubeconfig'), bench.clusters.get('prod')?.server.adminKubeconfig() ?? '', { mode: 0o600 })
  const client = bench.client('prod')
  const make = (type: Parameters<typeof client.create>[0], kind: string, name: string, spec: object) =>
    client.create(type, { apiVersion: V1, kind, metadata: { name, labels: { pool: 'a' } }, spec })
  const statusOf = (type: Parameters<typeof client.patch>[0], name: string, status: object) =>
    client.patch(type, { name }, { type: 'merge', value: { status } as never }, { subresource: 'status' })
  const refs = [{ group: 'kubenode.io', kind: 'MachineComponentSet', name: 'base' }]
  const source = `${SYSTEM_NAMESPACE}/fleet`
  await make(inventory, 'Inventory', 'i', { source, track: 'main', shard: 0, cluster: 'prod', refs })
  const components = ['beacon', 'scribe'].map((name) => ({ name, version: '1.0.0' }))
  await make(machineComponentSet, 'MachineComponentSet', 'base', {
    selector: { matchLabels: { pool: 'a' } },
    components,
  })
  await make(machine, 'Machine', 'm-1', { channel: 'Agent' })
  await make(componentCanary, 'ComponentCanary', 'both', {
    selector: { matchLabels: { pool: 'a' } },
    pick: { count: 1 },
    components: components.map((c) => ({ ...c, version: '1.1.0' })),
  })
  await statusOf(componentCanary, 'both', { phase: 'Passed', machines: ['m-1'] })
  const when = { all: [{ fact: 'conditions', path: '/Ready/status', operator: 'equal', value: 'False', for: '5m' }] }
  const ladder = [
    { operations: [{ cordon: {} }], timeout: '5m', verify: { conditionCleared: 'Ready', stableFor: '5m' } },
  ]
  for (const name of ['not-ready', 'lonely-rule'])
    await make(nodeRemedier, 'NodeRemedier', name, { when, ladder, mode: 'DryRun' })
  await statusOf(nodeRemedier, 'not-ready', {
    counts: { selected: 3, matching: 1, unknown: 0, inFlight: 0, lastHour: 0, lastDay: 0, inhibited: 0 },
  })
  for (const node of ['n-1', 'n-2'])
    await make(remedyOperationJob, 'RemedyOperationJob', `not-ready-${node}`, {
      node: { name: node, uid: `uid-${node}` },
      remedierRef: { name: 'not-ready', generation: 1 },
      incident: '4be0643f1d98573b97cdca98a65347dd',
      operations: [{ cordon: {} }, { reboot: {} }],
      dryRun: true,
    })
})
afterAll(async () => {
  await bench.close()
  rmSync(dir, { recursive: true, force: true })
})

async function kubenode(...argv: readonly string[]) {
  let [out, err] = ['', '']
  const code = await run([...argv, '--kubeconfig', join(dir, 'kubeconfig'), '--weak-cage', 'allow'], {
    out: (t) => void (out += t),
    err: (t) => void (err += t),
    cwd: bench.repository.dir,
    env: { PATH: process.env['PATH'] ?? '' },
    isTerminal: false,
  })
  return { code, out, err }
}

const file = (path: string): string => readFileSync(join(bench.repository.dir, path), 'utf8')
const restore = (): void => void bench.repository.git('checkout', '--quiet', '.')

test('canary promote proposes the lines of versions.json as a patch that git applies, and writes nothing', async () => {
  const { code, out, err } = await kubenode('canary', 'promote', 'both')
  expect(err).toContain('nothing else changes')
  expect(code).toBe(0)
  expect(file('fleet/versions.json')).toBe(FLEET['fleet/versions.json'])
  execFileSync('git', ['apply'], { cwd: bench.repository.dir, input: out })
  expect(JSON.parse(file('fleet/versions.json'))).toEqual({ beacon: '1.1.0', scribe: '1.1.0' })
  restore()
})

test('canary promote --write edits the file, and names the commit', async () => {
  const { code, out } = await kubenode('canary', 'promote', 'both', '--write')
  expect([code, out]).toEqual([0, "git commit -m 'beacon 1.1.0, scribe 1.1.0' -- fleet/versions.json\n"])
  expect(JSON.parse(file('fleet/versions.json'))).toEqual({ beacon: '1.1.0', scribe: '1.1.0' })
  restore()
})

test('a file with changes that are not committed is not overwritten', async () => {
  const mine = '{\n  "beacon": "1.0.0",\n  "scribe": "0.9.0"\n}\n'
  writeFileSync(join(bench.repository.dir, 'fleet/versions.json'), mine)
  const { code, err } = await kubenode('canary', 'promote', 'both', '--write')
  expect(code).toBe(2)
  expect(err).toMatch(/KN1385.*fleet\/versions\.json.*not committed/)
  expect(file('fleet/versions.json')).toBe(mine)
  restore()
})

test('rules enforce shows what the rule would have done, and adds it to the list of its stage', async () => {
  const { code, out, err } = await kubenode('rules', 'enforce', 'not-ready', '--stage', 'prod', '--write')
  expect(err).toContain('edited fleet/enforced.json')
  expect(code).toBe(0)
  expect(out).toMatch(/^remedier\/not-ready in \S.*: mode DryRun; true for 1 of 3 nodes now$/m)
  expect(out).toContain('dry runs on record: 2 on 2 nodes')
  expect(out).toContain('node n-1: would have run cordon, reboot (rung 0)')
  expect(out).toContain("git commit -m 'rules: enforce not-ready' -- fleet/enforced.json")
  expect(JSON.parse(file('fleet/enforced.json'))).toEqual({ prod: ['not-ready'] })
  restore()
})

test('rules enforce edits the mode beside the name of the rule where there is no list', async () => {
  const { code, out } = await kubenode('rules', 'enforce', 'lonely-rule')
  expect(code).toBe(0)
  expect(out).toContain("+export const looking = { 'lonely-rule': { mode: 'Enforce' } } as const")
})

test('rules enforce refuses a stage in which no single line enforces the rule', async () => {
  const { code, err } = await kubenode('rules', 'enforce', 'not-ready', '--stage', 'test')
  expect(code).toBe(2)
  expect(err).toMatch(/KN1384: .*not-ready.* in stage test/)
})

describe('rollback --write', () => {
  const versions = (beacon: string) =>
    ['beacon', 'scribe'].map((name) => ({ name, version: name === 'beacon' ? beacon : '1.0.0' }))
  const text = (beacon: string) => FLEET['fleet/versions.json'].replace('"beacon": "1.0.0"', `"beacon": "${beacon}"`)

  beforeAll(async () => {
    const client = bench.client('prod')
    const uid = (await client.get(machineComponentSet, { name: 'base' }))?.metadata.uid ?? ''
    for (const [number, beacon] of ['0.9.0', '1.0.0'].entries())
      await client.create(coreKind('ControllerRevision'), {
        apiVersion: 'apps/v1',
        kind: 'ControllerRevision',
        metadata: {
          name: revisionNameOf('base', versions(beacon)),
          namespace: SYSTEM_NAMESPACE,
          ownerReferences: [{ apiVersion: V1, kind: 'MachineComponentSet', name: 'base', uid }],
        },
        ...writeSetRevision(number + 1, versions(beacon)),
      })
    bench.repository.commit({ 'fleet/versions.json': text('1.1.0') }, 'beacon 1.1.0')
    const value = { spec: { components: versions('1.1.0') } }
    await client.patch(machineComponentSet, { name: 'base' }, { type: 'merge', value: value as never })
  })
  afterEach(() => void bench.repository.git('reset', '--quiet', '--hard'))

  test('reverts in the working copy and its index what came after the revision, commits nothing, and names the commit', async () => {
    const head = bench.repository.git('rev-parse', 'HEAD')
    const { code, out, err } = await kubenode('rollback', 'base', '--to', '2', '--write')
    expect([code, out]).toEqual([0, "git commit -m 'base: back to revision 2'\n"])
    expect(err).toContain('reverted in the working copy: 1 commit, not committed yet')
    expect(file('fleet/versions.json')).toBe(text('1.0.0'))
    expect(bench.repository.git('status', '--porcelain').trim()).toBe('M  fleet/versions.json')
    expect(bench.repository.git('rev-parse', 'HEAD')).toBe(head)
  })

  test('edits the file where no commit leads back', async () => {
    const { code, out } = await kubenode('rollback', 'base', '--to', '1', '--write', '--cluster', 'prod')
    expect([code, out]).toEqual([0, "git commit -m 'beacon 0.9.0' -- fleet/versions.json\n"])
    expect(file('fleet/versions.json')).toBe(text('0.9.0'))
  })

  test('refuses where the file has changes that are not committed, and keeps them', async () => {
    writeFileSync(join(bench.repository.dir, 'fleet/versions.json'), text('7.7.7'))
    const { code, err } = await kubenode('rollback', 'base', '--to', '2', '--write')
    expect([code, err]).toEqual([2, expect.stringMatching(/KN1385: .*git revert/)])
    expect(file('fleet/versions.json')).toBe(text('7.7.7'))
  })
})
