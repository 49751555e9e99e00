import { spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { machineComponent } from '#api/kinds/machine-component.ts'
import { run } from '../../program.ts'

const ROOT = resolve(import.meta.dirname, '../../../..')
let folder = ''

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'kubenode-rules-'))
  symlinkSync(join(ROOT, 'package.json'), join(folder, 'package.json'))
  writeFileSync(
    join(folder, 'poor.cases.ts'),
    `export const rule = {
      when: { any: [
        { fact: 'conditions', path: '/KernelDeadlok/status', operator: 'equal', value: 'True' },
        { fact: 'unschedulable', operator: 'equal', value: true },
      ] },
      ladder: [{ operations: [{ drain: {} }], verify: { stableFor: '0s' } }],
    }
    export const cases = [
      { name: 'broken', conditions: [{ type: 'KernelDeadlok', status: 'True' }], verdict: 'fires' },
      { name: 'thought to be well', conditions: [{ type: 'KernelDeadlok', status: 'True' }], verdict: 'does not fire' },
    ]`,
  )
  writeFileSync(
    join(folder, 'node.yaml'),
    `apiVersion: v1
kind: Node
metadata: { name: n1 }
status:
  conditions:
    - { type: Ready, status: "True", lastTransitionTime: "2026-01-01T00:00:00Z" }
    - { type: KernelDeadlock, status: "True", lastTransitionTime: "2026-01-01T00:00:00Z" }
`,
  )
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

async function cli(cwd: string, ...argv: readonly string[]) {
  let [out, err] = ['', '']
  const io = {
    out: (t: string) => void (out += t),
    err: (t: string) => void (err += t),
    cwd,
    env: {},
    isTerminal: false,
  }
  const code = await run(['rules', ...argv], io)
  // Only shown if it takes seconds, as on a loaded machine.
  return { code, out, err: err.replace(/^reading the rules of .*\n/m, '') }
}

describe('rules of this repository', () => {
  test('pass their cases, are covered to the last leaf, and nothing is wrong with them', async () => {
    for (const verb of ['test', 'coverage', 'lint']) {
      const { code, out, err } = await cli(ROOT, verb)
      expect([verb, code, verb === 'coverage' ? '' : out, err]).toEqual([verb, 0, '', err])
    }
  })

  test('say what they would do about a node in a file', async () => {
    const { code, out, err } = await cli(ROOT, 'simulate', '--node', join(folder, 'node.yaml'))
    expect(code).toBe(0)
    expect(err).toContain(
      'n1: rule storage/disk-pressure is unknown, no action: condition DiskPressure is not reported',
    )
    expect(err).toMatch(/^1 of \d+ answers true, \d+ unknown$/m)
    expect(out).toContain('n1: rule kernel/kernel-deadlock is true since 2026-01-01T00:00:00.000Z: begin rung 0')
    expect(out).not.toContain('disk-pressure')
  })

  test('say it as data', async () => {
    const { out } = await cli(ROOT, 'simulate', '--node', join(folder, 'node.yaml'), '--all', '-o', 'json')
    const all = JSON.parse(out) as readonly { readonly rule: string; readonly verdict: string }[]
    expect(all.filter((r) => r.verdict === 'true').map((r) => r.rule)).toEqual(['kernel/kernel-deadlock'])
  })
})

describe('a poor rule', () => {
  test('fails its test by the case that is wrong', async () => {
    const { code, out } = await cli(folder, 'test', '-d', '.')
    expect([code, out]).toEqual([1, 'poor: thought to be well: it should not fire, but it fires\n'])
  })

  test('is shown with the leaf that no case decides', async () => {
    const { code, out } = await cli(folder, 'coverage', '-d', '.')
    expect(code).toBe(1)
    expect(out).toContain('leaf /any/1 (unschedulable equal) is never true')
  })

  test('is linted: a mistyped condition, a drain without a cordon, a repair that is good at once', async () => {
    const { code, out } = await cli(folder, 'lint', '-d', '.')
    expect(code).toBe(2)
    for (const said of ['did you mean KernelDeadlock?', 'not cordoned', 'stableFor is 0s']) expect(out).toContain(said)
  })
})

describe('a folder in which little is right', () => {
  let broken = ''
  const put = (name: string, text: string) => writeFileSync(join(broken, name), text)
  const good = `{ when: { all: [{ fact: 'unschedulable', operator: 'equal', value: true }] }, ladder: [{ operations: [{ cordon: {} }] }] }`

  beforeAll(() => {
    broken = mkdtempSync(join(tmpdir(), 'kubenode-broken-rules-'))
    symlinkSync(join(ROOT, 'package.json'), join(broken, 'package.json'))
    put('cut.ts', '\n\nexport const cut = {')
    put('cut.cases.ts', `import { cut } from './cut.ts'; export const rule = cut; export const cases = []`)
    put(
      'odd.cases.ts',
      `export const rule = ${good}; export const cases = [{ name: 'x', verdict: 'fire', condition: [] }, 7]`,
    )
    put(
      'never.ts',
      `export const never = ${good.replace('] }', ", { fact: 'unschedulable', operator: 'equal', value: false }] }")}`,
    )
    put(
      'never.cases.ts',
      `import { never } from './never.ts'; export const rule = never; export const cases = [{ name: 'x', verdict: 'nope' }]`,
    )
    put('bare.ts', `export const bare = ${good}`)
    put('none.cases.ts', 'export const rules = []')
    put(
      'noted.cases.ts',
      `export const rule = ${good.replace("fact: 'unschedulable', operator: 'equal', value: true", "fact: 'conditions', path: '/Ours/status', operator: 'equal', value: 'True'")}
      export const cases = [{ name: 'ours', conditions: [{ type: 'Ours', status: 'True' }], verdict: 'fires' }]`,
    )
  })
  afterAll(() => rmSync(broken, { recursive: true, force: true }))

  test('a condition that the agent.json of the fleet beside the rules reports is known', async () => {
    const [rules, machines] = [join(broken, 'mine/rules'), join(broken, 'mine/fleet/machines')]
    for (const path of [rules, machines]) mkdirSync(path, { recursive: true })
    cpSync(join(broken, 'noted.cases.ts'), join(rules, 'noted.cases.ts'))
    const notes = async () => (await cli(join(broken, 'mine'), 'lint', '-d', 'rules')).out
    expect(await notes()).toContain('no known detector reports condition Ours')
    writeFileSync(
      join(machines, 'agent.json'),
      '{"logs":[{"path":"/x","rules":[{"condition":"Ours","reason":"Bad","pattern":"x"}]}]}',
    )
    expect(await notes()).not.toContain('no known detector')
    // The same, installed by a signed component.
    const statement = structuredClone(machineComponent.example) as { spec: Record<string, unknown> }
    const template = '{"plugin":"kmsg","source":"s","conditions":[{"type":"Ours","reason":"Fine"}],"rules":[]}'
    statement.spec['files'] = [{ path: '/etc/ours/monitors/ours.json', format: 'json', template }]
    writeFileSync(join(machines, 'agent.json'), JSON.stringify(statement))
    expect(await notes()).not.toContain('no known detector')
    rmSync(join(broken, 'mine'), { recursive: true })
  })

  test('each file says what is wrong with it, and where; one that cannot be read hides none', async () => {
    const { code, out, err } = await cli(broken, 'lint', '-d', '.')
    expect([code, err]).toEqual([2, '6 rules, 8 problems\n'])
    for (const said of [
      /^cut\.ts: KN1014: [^]*cut\.ts:\d+/m,
      /^odd\.cases\.ts: case "x": unknown verdict "fire"; use one of "fires", "does not fire", "unknown"$/m,
      /^odd\.cases\.ts: case "x": unknown field condition, did you mean conditions\?/m,
      /^odd\.cases\.ts: case 1: not an object$/m,
      /^none\.cases\.ts: KN1341: /m,
      /^never\.ts: KN4001: the rule can never be true: unschedulable cannot be equal true and equal false/m,
      /^never\.cases\.ts: case "x": unknown verdict "nope"/m,
      /^bare\.ts: it has no cases: write bare\.cases\.ts beside it$/m,
      /^noted\.cases\.ts: note: no known detector reports condition Ours/m,
    ])
      expect(out).toMatch(said)
  })

  test('a file that is broken is blamed itself, not the cases that import it', () => {
    // In a separate process: the test runner loads TypeScript differently.
    const { stdout } = spawnSync(process.execPath, [join(ROOT, 'src/cli/main.ts'), 'rules', 'lint', '-d', '.'], {
      cwd: broken,
      encoding: 'utf8',
    })
    expect(stdout).toMatch(/^cut\.ts: KN1014: .*\(cut\.ts:3\)/m)
    expect(stdout).not.toMatch(/^cut\.cases\.ts/m)
  })

  test('a broken file that several rules import is one problem', () => {
    const shared = mkdtempSync(join(tmpdir(), 'kubenode-shared-rules-'))
    symlinkSync(join(ROOT, 'package.json'), join(shared, 'package.json'))
    writeFileSync(join(shared, 'cut.ts'), '\n\nexport const cut = {')
    for (const name of ['cut', 'one', 'two'])
      writeFileSync(
        join(shared, `${name}.cases.ts`),
        `import { cut } from './cut.ts'; export const rule = cut; export const cases = []`,
      )
    const { stdout, stderr } = spawnSync(
      process.execPath,
      [join(ROOT, 'src/cli/main.ts'), 'rules', 'lint', '-d', '.'],
      { cwd: shared, encoding: 'utf8' },
    )
    rmSync(shared, { recursive: true })
    expect(stdout.match(/cannot load cut\.ts/g)).toHaveLength(1)
    expect(stderr).toContain('3 rules, 1 problem\n')
  })

  test('what cannot be tested has failed its test', async () => {
    const { code, out, err } = await cli(broken, 'test', '-d', '.')
    expect([code, err]).toEqual([1, '1 of 6 cases passed\n'])
    expect(out).toMatch(/^bare: cannot be tested: it has no cases/m)
  })

  test.each([
    ['no-name.yaml', 'kind: Node\nmetadata: {}', /^KN1345: .*metadata\.name is missing/],
    [
      'odd.yaml',
      'kind: Node\nmetadata: {name: n}\nstatus: {conditions: oops}',
      /^KN1345: .*Node n: status\.conditions is not a list/,
    ],
    [
      'bare.yaml',
      'kind: Node\nmetadata: {name: n}\n---\nkind: Machine\nmetadata: {name: n}',
      /^node n: Ready is not reported; only rules about silence/,
    ],
  ])('a Node that was written by hand, %s, is answered in words', async (name, text, says) => {
    put(name, text)
    const { err } = await cli(broken, 'simulate', '-d', '.', '--node', name)
    expect(err).toMatch(says)
  })
})

describe('a rung with a script that accepts the node', () => {
  let scripts = ''
  const script = `verify: { script: { component: 'memtest', version: '1.0.0' } }`
  const cases: readonly (readonly [string, string, string])[] = [
    ['own', `{ operations: [{ cordon: {} }], ${script} }`, ''],
    ['earlier', `{ operations: [{ cordon: {} }] }, { operations: [{ reboot: {} }], ${script} }`, ''],
    ['none', `{ operations: [{ reboot: {} }], ${script} }`, 'rung 0 has a verify.script but no cordon, '],
    [
      'opened',
      `{ operations: [{ cordon: {} }, { uncordon: {} }] }, { operations: [{ reboot: {} }], ${script} }`,
      'rung 1 has a verify.script but no cordon, ',
    ],
    [
      'later',
      `{ operations: [{ reboot: {} }], ${script} }, { operations: [{ cordon: {} }] }`,
      'rung 0 has a verify.script but no cordon, ',
    ],
    [
      'replaced',
      `{ operations: [{ cordon: {} }, { replace: {} }], ${script} }`,
      'rung 0 has a verify.script after replace',
    ],
    [
      'fenced',
      `{ operations: [{ cordon: {} }, { fence: {} }], ${script} }`,
      'note: rung 0 has a verify.script after fence',
    ],
  ]
  let out = ''
  beforeAll(async () => {
    scripts = mkdtempSync(join(tmpdir(), 'kubenode-script-rules-'))
    symlinkSync(join(ROOT, 'package.json'), join(scripts, 'package.json'))
    for (const [name, ladder] of cases)
      writeFileSync(
        join(scripts, `${name}.cases.ts`),
        `const when = { all: [{ fact: 'unschedulable', operator: 'equal', value: true }] }
        export const rule = { when, ladder: [${ladder}] }
        export const cases = [{ name: 'x', unschedulable: true, verdict: 'fires' }]`,
      )
    out = (await cli(scripts, 'lint', '-d', '.')).out
  })
  afterAll(() => rmSync(scripts, { recursive: true, force: true }))

  test.each(cases)('%s: %s is linted: "%s"', (name, _, said) => {
    const lines = out.split('\n').filter((line) => line.startsWith(`${name}.cases.ts: `))
    expect(lines).toEqual(said === '' ? [] : [expect.stringContaining(said)])
  })
})

describe('S28 rules of a stranger', () => {
  let strange = ''
  const put = (text: string) =>
    writeFileSync(join(strange, 'a.cases.ts'), `${text}\nexport const [rule, cases] = [{}, []]`)
  beforeAll(() => {
    strange = mkdtempSync(join(tmpdir(), 'kubenode-strange-rules-'))
  })
  afterAll(() => rmSync(strange, { recursive: true, force: true }))

  test.each(['lint', 'test', 'coverage'])('run nothing here when they are given to %s', async (verb) => {
    Object.assign(globalThis, { kubenodeCanary: 'untouched' })
    put(`(globalThis as any).kubenodeCanary = 'reached'; (globalThis as any).process.env.KUBENODE_CANARY = 'reached'`)
    await cli(strange, verb, '-d', '.', '--weak-cage', 'allow')
    expect([Reflect.get(globalThis, 'kubenodeCanary'), process.env['KUBENODE_CANARY']]).toEqual([
      'untouched',
      undefined,
    ])
    Reflect.deleteProperty(globalThis, 'kubenodeCanary')
  })

  test.each([
    [
      'an import of files',
      `import { readFileSync } from 'node:fs'; console.log(readFileSync('/etc/passwd'))`,
      'node:fs',
    ],
    ['a builtin by the back door', `(process as any).getBuiltinModule('fs').readFileSync('/etc/passwd')`, 'KN1014'],
    ['an import from elsewhere', `import x from '/etc/hostname' with { type: 'text' }`, 'KN1014'],
    ['gigabytes of output', `for (;;) console.log('x'.repeat(1e6))`, 'KN7105'],
    ['an end of the process', `process.exit(0)`, 'KN1014'],
    ['a promise that nothing fulfils', `await new Promise(() => undefined)`, 'KN7106'],
  ])('%s is refused, with the error of a render', async (_, text, wanted) => {
    put(text)
    const { code, out, err } = await cli(strange, 'lint', '-d', '.', '--weak-cage', 'allow')
    expect([code, out + err]).toEqual([2, expect.stringContaining(wanted) as string])
    expect(out + err).not.toContain('root:')
  })

  test('a link out of the folder is not followed', async () => {
    symlinkSync('/etc/passwd', join(strange, 'secret.json'))
    put(`import secret from './secret.json' with { type: 'json' }; console.log(secret)`)
    const { out } = await cli(strange, 'lint', '-d', '.', '--weak-cage', 'allow')
    expect(out).toContain('there is no file')
  })
})

test.each([
  [['simulate', '--node', 'nowhere.yaml'], 'KN1345'],
  [['simulate', '--node', 'src'], 'KN1345'],
  [['test', '-d', 'nowhere'], 'KN1011'],
  [['test', '-d', 'docs'], 'KN1341'],
  [['simulate', '--node', 'package.json'], 'KN1345'],
])('%j is refused by number', async (argv, code) => {
  const { err } = await cli(ROOT, ...argv)
  expect(err).toContain(code)
})
