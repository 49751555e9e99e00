// Files that are valid separately and conflict with each other, through the command.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { run } from '../../program.ts'

let dir = ''
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'kubenode-lint-'))
})
afterEach(() => rmSync(dir, { recursive: true, force: true }))

async function lint(files: Readonly<Record<string, string>>, ...argv: string[]) {
  for (const [name, text] of Object.entries(files)) writeFileSync(join(dir, name), text)
  let [out, err] = ['', '']
  const io = { out: (t: string) => (out += t), err: (t: string) => (err += t), cwd: dir, env: {}, isTerminal: false }
  return { code: await run(['lint', '.', ...argv], io), out: () => out, err: () => err }
}

const component = (version: string) => `apiVersion: kubenode.io/v1alpha1
kind: MachineComponent
metadata: { name: beacon.${version} }
spec:
  component: beacon
  version: ${version}
  disruption: None
  artifacts: [{ arch: any, url: x.tar, sha256: '${'0'.repeat(64)}', size: 1 }]
  install: { unpack: { path: /opt/beacon } }
`
const set = (version: string, selector = '{}') => `apiVersion: kubenode.io/v1alpha1
kind: MachineComponentSet
metadata: { name: base }
spec:
  selector: ${selector}
  components:
    - { name: beacon, version: ${version} }
`
const TRUST = JSON.stringify({
  document: {
    sequence: 1,
    expires: '2999-01-01T00:00:00Z',
    threshold: 1,
    keys: [{ keyId: 'k', publicKey: 'p' }],
    revoked: [],
    floors: {},
  },
  signatures: [],
})

test('a version that no file declares is an error in the file of the set, at its line', async () => {
  const { code, out } = await lint({ 'component.yaml': component('1.0.0'), 'set.yaml': set('1.1.0') })
  expect(code).toBe(2)
  expect(out()).toBe(
    'set.yaml:7:23: KN3062: MachineComponentSet/base: component beacon has no version 1.1.0 (declared: 1.0.0); declare the MachineComponent, or use a declared version\n',
  )
})

test('S27 what no commit may declare is an error at its line, and what people make by hand is a warning', async () => {
  const { code, out } = await lint({
    'forged.yaml': `apiVersion: kubenode.io/v1alpha1
kind: Inventory
metadata: { name: forged }
spec: { source: fleet/other, track: main, shard: 0, refs: [] }
---
apiVersion: v1
kind: ConfigMap
metadata: { name: a, namespace: default, finalizers: [example.org/never] }
---
apiVersion: v1
kind: "ConfigMap\\n::error::forged"
metadata: { name: b }
`,
    'hold.yaml': `apiVersion: kubenode.io/v1alpha1
kind: OperationalHold
metadata: { name: night }
spec: { target: { kind: Machine, name: m-1 }, effect: Freeze, reason: night, author: ada, until: '2999-01-01T00:00:00Z' }
`,
  })
  expect(code).toBe(2)
  expect(out().split('\n')).toEqual([
    'forged.yaml:2:1: KN3090: Inventory/forged: kind Inventory is written by KubeNode programs only; remove it from the fleet',
    'forged.yaml:8:42: KN3090: ConfigMap/a: metadata.finalizers decides when an object is deleted, which a commit may not; remove it',
    String.raw`forged.yaml:11:1: KN1020: ConfigMap�::error::forged/b: the object has an invalid kind "ConfigMap\n::error::forged"`.replace(
      String.raw`\ufffd`,
      '\ufffd',
    ),
    expect.stringMatching(/^hold\.yaml:2:1: warning: KN3090: /),
    '',
  ])
})

test('a placeholder is an error once a trust document is there', async () => {
  expect((await lint({ 'component.yaml': component('1.0.0') })).code).toBe(0)
  const { code, out } = await lint({ 'trust.json': TRUST })
  expect([code, out()]).toEqual([2, expect.stringMatching(/^component\.yaml:8:\d+: KN1108: /)])
})

test('a rule that can never be true is an error, and a condition that no known program reports a warning', async () => {
  const rule = (type: string, and: string) => `apiVersion: kubenode.io/v1alpha1
kind: NodeRemedier
metadata: { name: mend }
spec:
  when:
    all:
      - { fact: conditions, path: /${type}/status, operator: equal, value: 'True' }
      - { fact: conditions, path: /${type}/status, operator: equal, value: '${and}' }
  ladder: [{ operations: [{ cordon: {} }] }]
`
  const never = await lint({ 'rule.yaml': rule('Ready', 'False') })
  expect([never.code, never.out()]).toEqual([
    2,
    expect.stringMatching(/^rule\.yaml:7:\d+: KN4001: .*can never be true/),
  ])
  const ours = await lint({ 'rule.yaml': rule('KernelDeadlok', 'True') })
  expect([ours.code, ours.out()]).toEqual([
    0,
    expect.stringMatching(/^rule\.yaml:7:\d+: warning: KN3066: .*did you mean KernelDeadlock\?/),
  ])
  expect(ours.err()).toBe('1 file, 1 object, 0 problems, 1 warning\n')
})

test('agent.json is checked, with the place of each mistake, and rules know the conditions that it reports', async () => {
  const rule = `apiVersion: kubenode.io/v1alpha1
kind: NodeRemedier
metadata: { name: mend }
spec:
  when: { all: [{ fact: conditions, path: /DatabaseSlow/status, operator: equal, value: 'True' }] }
  ladder: [{ operations: [{ cordon: {} }] }]
`
  expect((await lint({ 'rule.yaml': rule })).out()).toMatch(/^rule\.yaml:5:\d+: warning: KN3066/)
  const config = (more: string, condition = 'DatabaseSlow') =>
    `{\n  "logs": [{ "path": "/var/log/db",\n    "rules": [\n      { "condition": "${condition}", "reason": "Slow", "pattern": "slow" }] }]${more}\n}\n`
  const good = await lint({ 'agent.json': config('') })
  expect([good.code, good.out()]).toEqual([0, ''])
  const typo = await lint({ 'agent.json': config(',\n  "leese": "5s"') })
  expect([typo.code, typo.out()]).toEqual([
    2,
    expect.stringMatching(/^agent\.json:5:\d+: KN3072: .*leese is not a known key \(did you mean lease\?\)/),
  ])
  const rules = await lint({ 'agent.json': config('', 'not a type') })
  expect(rules.out()).toMatch(/^agent\.json:4:\d+: KN3072: .*logs\[0\]\.rules\[0\]: condition/)
  // YAML permits this comma, agents do not.
  const comma = await lint({ 'agent.json': config(',') })
  expect([comma.code, comma.out()]).toEqual([2, expect.stringMatching(/^agent\.json:\d+:\d+: KN3072: .*is not JSON/)])
})
