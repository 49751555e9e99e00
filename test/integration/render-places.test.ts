// A fleet that is refused names the TypeScript file and line of the construct, wherever the refusal comes from.
import { beforeAll, expect, test } from 'vitest'
import { CAGE_LEVELS, findCage, type Cage } from '#sync/render/cage.ts'
import { processRenderer } from '#sync/render/renderer.ts'
import { renderCommit } from '#sync/render/render.ts'
import { refText } from '#delivery/object-ref.ts'
import { inFullAll } from '#test/support/tools/full.ts'
import { builtCage } from '#test/support/tools/own-build.ts'
import type { GitRepository } from '#sync/git/repository.ts'

const COMMIT = '3f1c9e0a7b5d4c2e8f6a1b3c5d7e9f0a2b4c6d8e'

const holding = (files: Readonly<Record<string, string>>): GitRepository => ({
  name: 'memory',
  resolve: async () => COMMIT,
  commit: async (id) => ({ id, parents: [], time: 1_700_000_000, message: '', author: '' }),
  log: async () => [],
  idAt: async () => COMMIT,
  readTree: async () => new Map(Object.entries(files).map(([name, text]) => [name, Buffer.from(text)])),
})

let cage: Cage
beforeAll(async () => {
  // As programs have it; built-cage.test.ts compares the two.
  cage = await findCage('allow', CAGE_LEVELS, builtCage())
})

const render = (files: Readonly<Record<string, string>>) =>
  renderCommit(COMMIT, { repository: holding(files), renderer: processRenderer(cage), limits: { deadlineMs: 120_000 } })

const failure = async (files: Readonly<Record<string, string>>): Promise<string> =>
  render(files).then(
    () => 'rendered',
    (error: unknown) => (error instanceof Error ? error.message : String(error)),
  )

/** Six lines of types in front, so that a line of the code that runs differs from one of the file if they were cut out. */
const PART = `import { ApiObject, type Chart } from 'cdk8s'
import { MachineSet } from 'kubenode/constructs'
interface Options {
  readonly name: string
  readonly replicas: number
}
export const settings = (chart: Chart, name: string) =>
  new ApiObject(chart, name, { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace: 'default' } })
export function workers(chart: Chart, { name, replicas }: Options): MachineSet {
  const labels = { 'kubenode.io/pool': name }
  return new MachineSet(chart, name, {
    spec: { replicas, selector: { matchLabels: labels }, template: { metadata: { labels }, spec: { provider: { name: 'process' } } } },
  })
}
`

const main = (code: string) => `import { App, ApiObject, Chart, Lazy } from 'cdk8s'
import { Deployment } from 'cdk8s-plus-27'
import { ClusterChart } from 'kubenode/constructs'
import { settings, workers } from './machines/part.ts'
const app = new App()
const chart = new ClusterChart(app, 'test')
${code}
app.synth()
`
const fleet = (code: string) => ({ 'fleet/main.ts': main(code), 'fleet/machines/part.ts': PART })

test('every object knows the line with its new, in whatever file and through whatever class of a package', async () => {
  const { targets } = await render(
    fleet(`settings(chart, 'a')
workers(chart, { name: 'web', replicas: 1 })
new Deployment(chart, 'shop', { replicas: 1, containers: [{ image: 'shop' }] })
class Own extends ApiObject {}
for (const name of ['b', 'c'])
  new Own(chart, name, { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace: 'default' } })`),
  )
  const objects = targets.get('test')?.objects ?? []
  expect(Object.fromEntries(objects.map((o) => [refText(o.ref).replace(/shop-.*/, 'shop'), o.place]))).toEqual({
    'ConfigMap/default/a': 'fleet/machines/part.ts:8',
    'MachineSet.kubenode.io/web': 'fleet/machines/part.ts:11',
    'Deployment.apps/cluster-test-shop': 'fleet/main.ts:9',
    'ConfigMap/default/b': 'fleet/main.ts:10',
    'ConfigMap/default/c': 'fleet/main.ts:10',
  })
})

test('an object that lint refuses names it', async () => {
  const { targets } = await render(
    fleet(`new ApiObject(chart, 'own', { apiVersion: 'kubenode.io/v1alpha1', kind: 'Inventory', metadata: { name: 'own' } })
new ApiObject(chart, 'wrong', { apiVersion: 'kubenode.io/v1alpha1', kind: 'MachineSet', metadata: { name: 'wrong' }, spec: { replica: 1 } })`),
  )
  expect(targets.get('test')?.rejected).toMatchObject([
    { ref: { name: 'own' }, place: 'fleet/main.ts:7' },
    { ref: { name: 'wrong' }, place: 'fleet/main.ts:8' },
  ])
})

const REFUSED: readonly (readonly [string, string, RegExp])[] = [
  [
    'a prop that its kind refuses',
    `workers(chart, { name: 'web', replicas: -1 })`,
    /at fleet\/machines\/part\.ts:11:10: /,
  ],
  [
    'a construct that throws',
    `class Bad extends Chart { constructor() { super(chart, 'x'); throw new Error('no') } }\nnew Bad()`,
    /at fleet\/main\.ts:7:\d+: no/,
  ],
  [
    'a value that throws when it is written',
    `new ApiObject(chart, 'late', { apiVersion: 'v1', kind: 'ConfigMap', data: Lazy.any({ produce: () => { throw new Error('too late') } }) })`,
    /at fleet\/main\.ts:7: cluster-test\/late: .*too late/,
  ],
  [
    'a package that throws when it is written',
    `new Deployment(chart, 'empty', {})`,
    /at fleet\/main\.ts:7(:\d+)?: .*PodSpec must have at least 1 container/,
  ],
  [
    'a check of a construct that fails',
    `chart.node.addValidation({ validate: () => ['has no owner'] })`,
    /KN5011: .*cluster-test \(fleet\/main\.ts:6\): has no owner/,
  ],
  [
    'two constructs of one id',
    `settings(chart, 'a')\nnew Chart(chart, 'a')`,
    /at fleet\/main\.ts:8:\d+: There is already a Construct with name 'a'.*the first is at fleet\/machines\/part\.ts:8/,
  ],
  [
    'two objects of one name',
    `settings(chart, 'a')\nnew ApiObject(chart, 'b', { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a', namespace: 'default' } })`,
    /KN7109: .*ConfigMap\/default\/a is declared twice for test, at fleet\/machines\/part\.ts:8 and fleet\/main\.ts:8/,
  ],
  [
    'an object without an identity',
    `new ApiObject(chart, 'a', { apiVersion: 'v1', kind: 'Config Map' })`,
    /KN7107: .*object 1 of test \(fleet\/main\.ts:7\)/,
  ],
]

// A render takes seconds: the quick run tries what fails late, and what is compared after the render.
test.each(inFullAll(REFUSED, 3))('%s names it', async (_, code, expected) => {
  expect(await failure(fleet(code))).toMatch(expected)
})

test('a fleet that forges its places names no other file', async () => {
  const { targets } = await render(
    fleet(`import { Node } from 'constructs'
const { addChild } = Node.prototype as any
;(Node.prototype as any).addChild = new Function('a', 'f', 'return function (c, n) { return f.call(this, c, n) }\\n//# sourceURL=fleet:///../../etc/passwd')(0, addChild)
settings(chart, 'a')
eval('settings(chart, "b")\\n//# sourceURL=fleet:///fleet/nowhere.ts')`),
  )
  for (const { place } of targets.get('test')?.objects ?? [])
    expect(place).toMatch(/^fleet\/(main|machines\/part)\.ts:\d+$/)
})
