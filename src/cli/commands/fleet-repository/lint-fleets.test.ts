// Lints a fleet's TypeScript through the command: each problem at the line that created the object.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { run } from '../../program.ts'
import { fleetsIn } from '#forecast/lint/fleets.ts'

let dir = ''
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'kubenode-lint-fleet-'))
})
afterEach(() => rmSync(dir, { recursive: true, force: true }))

const write = (files: Readonly<Record<string, string>>) => {
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(join(dir, dirname(name)), { recursive: true })
    writeFileSync(join(dir, name), text)
  }
}

async function lint(...argv: string[]) {
  let [out, err] = ['', '']
  const io = { out: (t: string) => (out += t), err: (t: string) => (err += t), cwd: dir, env: {}, isTerminal: false }
  const code = await run(['lint', '--weak-cage', 'allow', ...argv], io)
  return { code, out, err }
}

const MAIN = (code: string) => `import { App, ApiObject } from 'cdk8s'
import { ClusterChart, MachineSet } from 'kubenode/constructs'
const app = new App()
const chart = new ClusterChart(app, 'test')
${code}
app.synth()
`

test('a path means a fleet when it is one, its main.ts or the repository around it', () => {
  write({ 'repo/fleet/main.ts': '', 'repo/fleet/machines/a.yaml': '', 'other/main.ts': '', 'rules/a.ts': '' })
  const root = join(dir, 'repo')
  for (const path of ['repo', 'repo/fleet', 'repo/fleet/', 'repo/fleet/main.ts'])
    expect(fleetsIn([path], dir), path).toEqual([root])
  for (const path of ['.', 'repo/fleet/machines', 'other', 'other/main.ts', 'rules', 'nowhere'])
    expect(fleetsIn([path], dir), path).toEqual([])
  expect(fleetsIn(['repo', 'repo/fleet'], dir)).toEqual([root])
})

test('what sync would refuse is found at its line, beside the problems of other files', async () => {
  write({
    'fleet/main.ts':
      MAIN(`new ApiObject(chart, 'a', { apiVersion: 'kubenode.io/v1alpha1', kind: 'Inventory', metadata: { name: 'a' } })
new ApiObject(chart, 'b', { apiVersion: 'kubenode.io/v1alpha1', kind: 'MachineSet', metadata: { name: 'b' }, spec: { replica: 1 } })`),
    'fleet/data.yaml': 'apiVersion: kubenode.io/v1alpha1\nkind: MachinSet\nmetadata: { name: a }\n',
  })
  const { code, out, err } = await lint('fleet')
  expect(code).toBe(2)
  expect(out).toMatch(/^fleet\/data\.yaml:2:1: KN1020: /m)
  expect(out).toMatch(/^fleet\/main\.ts:5:1: KN\d+: Inventory\.kubenode\.io\/a: /m)
  expect(out).toMatch(/^fleet\/main\.ts:6:1: KN50\d\d: MachineSet\.kubenode\.io\/b: /m)
  expect(err).toMatch(/1 file, 3 objects, \d+ problems/)
})

test('a prop that its kind refuses, and code that throws, are found at their line and column', async () => {
  write({ 'fleet/main.ts': MAIN(`new MachineSet(chart, 'a', { spec: { replicas: -1 } as never })`) })
  expect(await lint('-o', 'github', 'fleet')).toMatchObject({
    code: 2,
    out: expect.stringMatching(/^::error file=fleet\/main\.ts,line=5,col=1,title=KN7102::KN5000: .*replicas/),
  })
})

test('a problem of a rule names the field, since its line is that of the construct', async () => {
  const when = `{ all: [{ fact: 'conditions', path: '/Bad/status', operator: 'equal', value: 'True', for: '1 minute' }] }`
  write({
    'fleet/main.ts': MAIN(
      `new ApiObject(chart, 'a', { apiVersion: 'kubenode.io/v1alpha1', kind: 'NodeRemedier', metadata: { name: 'a' },
  spec: { when: ${when}, mode: 'DryRun', ladder: [{ operations: [{ cordon: {} }], timeout: '1m', verify: { stableFor: '1m' } }] } })`,
    ),
  })
  expect((await lint('fleet')).out).toMatch(
    /^fleet\/main\.ts:5:1: KN4001: NodeRemedier\.kubenode\.io\/a: at \/spec\/when\/all\/0\/for: not a duration/m,
  )
})

test('an import that leads nowhere is found at its place in the file that has it, however it is written', async () => {
  const first = (text: string) => `// what nodes run\n${text}`
  for (const [text, place, why] of [
    [first(`import { a } from './lampp.ts'\nconsole.log(a)`), '2:19', 'there is no file fleet/lampp.ts'],
    [first(`export const a = await import('./lampp' + '.ts')`), '1:1', 'there is no file fleet/lampp.ts'],
    [first(`import 'node:fs'`), '2:8', '"node:fs" may not be imported by a fleet'],
    [first(`import 'kubenode/nothing'`), '2:8', 'the release has no kubenode/nothing'],
  ] as const) {
    write({ 'fleet/main.ts': MAIN(`import './own.ts'`), 'fleet/own.ts': text })
    const { code, out } = await lint('fleet')
    expect([text, code, out]).toEqual([text, 2, expect.stringContaining(`fleet/own.ts:${place}: KN7103: ${why}`)])
  }
})

test('a file of the demo that clusters.json replaced is refused with what to write instead, unless code of the fleet reads it', async () => {
  write({
    'fleet/main.ts': MAIN(''),
    'fleet/clusters/clusters.json': '{}',
    'fleet/clusters/size.json': '{ "nodes": 3 }',
    'fleet/clusters/registered.json': '{}',
  })
  const { code, out } = await lint('.')
  expect(code).toBe(2)
  expect(out.trim().split('\n')).toEqual([
    expect.stringMatching(/^fleet\/clusters\/size\.json:1:1: KN1026: .* "nodes" .*git rm fleet\/clusters\/size\.json$/),
    expect.stringMatching(/^fleet\/clusters\/registered\.json:1:1: KN1026: .* "registered": true .*git rm /),
  ])
  write({ 'fleet/own.ts': "export { default as size } from '../clusters/size.json' with { type: 'json' }" })
  expect((await lint('fleet')).out).not.toContain('size.json')
})

test('a JSON file that names one key twice is refused, as is one that is no JSON, with its path and nothing of the cage', async () => {
  const main = `import clusters from './clusters.json' with { type: 'json' }\n${MAIN('')}\nvoid clusters\n`
  write({ 'fleet/main.ts': main, 'fleet/clusters.json': '{\n  "edge": { "stage": "test" },\n  "edge": {}\n}\n' })
  const twice = await lint('.')
  expect([twice.code, twice.out]).toEqual([
    2,
    expect.stringMatching(/^fleet\/clusters\.json:3:1: KN7102: the key "edge" is used twice; keep one$/m),
  ])
  write({ 'fleet/clusters.json': '{ "edge": ' })
  const broken = await lint('.')
  expect([broken.code, broken.out]).toEqual([2, expect.stringMatching(/^fleet\/clusters\.json:1:1: KN7102: .*JSON/m)])
  expect(broken.out).not.toContain('fleet:///')
})
