import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { run } from './program.ts'
import { printable } from '#lib/printable.ts'
import { reportError } from '#lib/terminal/exit.ts'
import type { Io } from '#lib/terminal/io.ts'

let dir = ''
beforeEach(() => void (dir = mkdtempSync(join(tmpdir(), 'kubenode-cli-'))))
afterEach(() => rmSync(dir, { recursive: true, force: true }))

function recorder(): { io: Io; out: () => string; err: () => string } {
  let out = ''
  let err = ''
  const io: Io = { out: (t) => (out += t), err: (t) => (err += t), cwd: dir, env: {}, isTerminal: false }
  return { io, out: () => out, err: () => err }
}

async function kubenode(...argv: string[]) {
  const { io, out, err } = recorder()
  const code = await run(argv, io)
  return { code, out: out(), err: err() }
}

const write = (name: string, text: string) => {
  mkdirSync(join(dir, name, '..'), { recursive: true })
  writeFileSync(join(dir, name), text)
}

describe('the frame', () => {
  test('without arguments it prints the help and succeeds', async () => {
    const { code, out } = await kubenode()
    expect(code).toBe(0)
    expect(out).toContain('Usage: kubenode')
  })

  test('an unknown command is refused with a number and a suggestion', async () => {
    const { code, err } = await kubenode('versoin')
    expect(code).toBe(2)
    expect(err).toMatch(/^KN1002: unknown command 'versoin'\n\(Did you mean version\?\)/)
  })

  test('an unknown option is refused', async () => {
    expect((await kubenode('version', '--nope')).code).toBe(2)
  })

  test('help is no error', async () => {
    const { code, out } = await kubenode('lint', '--help')
    expect(code).toBe(0)
    expect(out).toContain('files, or folders')
  })

  test('a bug of ours is reported as one, with its stack', () => {
    const { io, err } = recorder()
    expect(reportError(io, new Error('boom'))).toBe(2)
    expect(err()).toMatch(/^KN1000: .*\nError: boom\n\s+at /)
  })

  test('what steers a terminal is taken out of what is printed (S20)', () => {
    expect(printable('a\u001b[2Jb\u202ec\nd')).toBe('a\ufffd[2Jb\ufffdc\nd')
  })
})

describe('version', () => {
  test('json has the versions that a bug report needs', async () => {
    const { code, out } = await kubenode('version', '-o', 'json')
    expect(code).toBe(0)
    expect(Object.keys(JSON.parse(out) as object)).toEqual([
      'kubenode',
      'node',
      'platform',
      'apiVersion',
      'oldestKubernetes',
    ])
  })

  test('text is one line', async () =>
    expect((await kubenode('version')).out).toMatch(/^kubenode \S+ \(kubenode\.io\/v1alpha1, Node 26\./))

  test('an unknown form is refused', async () => expect((await kubenode('version', '-o', 'xml')).code).toBe(2))
})

describe('lint', () => {
  const machineSet = (extra = '') => `apiVersion: kubenode.io/v1alpha1
kind: MachineSet
metadata: {name: web}
spec:
  replicas: 3
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      provider: {name: process}
${extra}`

  test('a good object passes', async () => {
    write('a.yaml', machineSet())
    const { code, out, err } = await kubenode('lint', 'a.yaml')
    expect(out).toBe('')
    expect([code, err]).toEqual([0, '1 file, 1 object, 0 problems\n'])
  })

  test('without a path it checks the current folder', async () => {
    write('a.yaml', machineSet())
    expect((await kubenode('lint')).err).toBe('1 file, 1 object, 0 problems\n')
  })

  test('an unknown field is placed, named and corrected', async () => {
    write('a.yaml', machineSet().replace('replicas', 'replicsa'))
    const { code, out } = await kubenode('lint', 'a.yaml')
    expect(code).toBe(2)
    expect(out).toMatch(/^a\.yaml:5:3: KN5001: MachineSet\/web: .*replicsa.*did you mean "?replicas/m)
  })

  test('an unknown kind of ours is corrected', async () => {
    write('a.yaml', 'apiVersion: kubenode.io/v1alpha1\nkind: MachinSet\nmetadata: {name: a}\n')
    expect((await kubenode('lint', 'a.yaml')).out).toMatch(/^a\.yaml:2:1: KN1020: .*did you mean MachineSet\?/)
  })

  test.each(['kustomize.config.k8s.io/v1beta1', 'kubelet.config.k8s.io/v1beta1', 'kubeadm.k8s.io/v1beta4'])(
    'a configuration file of %s needs no name',
    async (apiVersion) => {
      write('a.yaml', `apiVersion: ${apiVersion}\nkind: Kustomization\n`)
      expect((await kubenode('lint', 'a.yaml')).code).toBe(0)
      write('a.yaml', `apiVersion: x.${apiVersion.replace('.', '-')}\nkind: Kustomization\n`)
      expect((await kubenode('lint', 'a.yaml')).out).toContain('KN1020')
    },
  )

  test('every problem of a folder is listed, and good documents beside broken ones are still read', async () => {
    write('x/a.yaml', 'a: [\n')
    write('x/b.json', '{"apiVersion":"v1","kind":"ConfigMap","metadata":{}}')
    write('x/c.yaml', '- 1\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: ok}\n')
    write('x/node_modules/d.yaml', 'a: [')
    const { code, out, err } = await kubenode('lint', 'x')
    expect(code).toBe(2)
    expect(out.split('\n').map((l) => l.split(': ').slice(0, 2).join(' '))).toEqual([
      'x/a.yaml:2:1 KN1014',
      'x/b.json:1:39 KN1020',
      'x/c.yaml:1:1 KN1020',
      '',
    ])
    expect(err).toBe('3 files, 3 objects, 3 problems\n')
  })

  test('a rule that names an unknown fact is refused', async () => {
    write('r.json', '{"all":[{"fact":"conditionz","path":"/Ready/status","operator":"equal","value":"False"}]}')
    const { code, out } = await kubenode('lint', 'r.json')
    expect(code).toBe(2)
    expect(out).toMatch(/^r\.json:1:\d+: KN4005: .*conditionz/)
  })

  const hostile: readonly (readonly [string, string | Buffer, RegExp])[] = [
    ['maps where words belong', 'apiVersion: {toString: 1}\nkind: {toString: 1}\nmetadata: {name: x}\n', /KN1020/],
    [
      'a kind of ours that is a map',
      'apiVersion: kubenode.io/v1alpha1\nkind: {toString: 1}\nmetadata: {name: x}\n',
      /KN1020/,
    ],
    ['a list whose kind is a map', 'apiVersion: v1\nkind: {toString: null}\nitems: [1]\n', /KN1020/],
    ['bytes that are no UTF-8', Buffer.from([0x61, 0x3a, 0x20, 0xff, 0x0a]), /^KN1014: cannot read h\.yaml: .*UTF-8/],
  ]
  test.each(hostile)('%s: a number, no stack', async (_name, text, want) => {
    writeFileSync(join(dir, 'h.yaml'), text)
    const { code, out, err } = await kubenode('lint', 'h.yaml')
    expect(code).toBe(2)
    expect(out + err).toMatch(want)
    expect(out + err).not.toMatch(/KN1000|^ +at /m)
  })

  test('a name with a line break adds no line of its own to the findings (S20)', async () => {
    write('a.yaml', 'apiVersion: kubenode.io/v1alpha1\nkind: MachinSet\nmetadata: {name: "a\\nok.yaml:1:1: KN1"}\n')
    expect((await kubenode('lint', 'a.yaml')).out.trimEnd().split('\n')).toHaveLength(1)
  })

  test('what is no regular file is refused, not waited for', async () => {
    expect(spawnSync('mkfifo', [join(dir, 'pipe.yaml')]).status).toBe(0)
    symlinkSync('/dev/zero', join(dir, 'zero.yaml'))
    for (const name of ['pipe.yaml', 'zero.yaml'])
      expect(await kubenode('lint', name)).toMatchObject({
        code: 2,
        err: expect.stringMatching(
          /^KN1011: cannot read .*: it is not a regular file; copy its contents into one\n$/,
        ) as string,
      })
  })

  test('a kubeconfig that runs a program is refused (S14)', async () => {
    write(
      'k.yaml',
      `apiVersion: v1
kind: Config
current-context: c
contexts: [{name: c, context: {cluster: c, user: u}}]
clusters: [{name: c, cluster: {server: 'https://127.0.0.1:1'}}]
users: [{name: u, user: {exec: {apiVersion: client.authentication.k8s.io/v1, command: evil}}}]
`,
    )
    const { code, out } = await kubenode('lint', 'k.yaml')
    expect(code).toBe(2)
    expect(out).toMatch(/^k\.yaml:6:\d+: KN2\d+: Config: it would run a program/)
  })

  test('a missing file is a numbered error that says what to do', async () => {
    expect(await kubenode('lint', 'nope.yaml')).toMatchObject({
      code: 2,
      out: '',
      err: expect.stringMatching(/^KN1011: cannot read nope\.yaml/) as string,
    })
  })

  test('links are not followed', async () => {
    symlinkSync('/', join(dir, 'root'))
    write('a.yaml', machineSet())
    expect((await kubenode('lint', '.')).code).toBe(0)
  })

  test('values that code beside them reads are data in a folder, and a broken object when named directly', async () => {
    write('size.json', '{"count": 3}')
    write('a.yaml', 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n')
    const folder = await kubenode('lint', '.')
    expect([folder.code, folder.err]).toEqual([0, '2 files, 1 object, 1 document skipped (plain data), 0 problems\n'])
    expect(await kubenode('lint', 'size.json')).toMatchObject({ code: 2, out: expect.stringContaining('KN1020') })
  })

  test('an object that lacks one of its first words is no data', async () => {
    write('a.yaml', 'kind: MachineSet\nmetadata: {name: a}\nspec: {}\n')
    expect(await kubenode('lint', '.')).toMatchObject({ code: 2, out: expect.stringContaining('KN1020') })
  })

  test('a folder without such files says where its rules and charts are looked at', async () => {
    write('rule.ts', 'export {}')
    expect((await kubenode('lint', '.')).err).toContain('kubenode rules lint')
  })

  test('json and github forms carry the same findings', async () => {
    write('a,b.yaml', 'kind: X\nmetadata: {name: a}\n')
    const json = JSON.parse((await kubenode('lint', '.', '-o', 'json')).out) as { findings: object[] }
    expect(json.findings).toEqual([
      {
        file: 'a,b.yaml',
        line: 1,
        column: 1,
        code: 'KN1020',
        message: 'every object names its apiVersion; this one does not',
        pointer: '/apiVersion',
        object: 'X/a',
      },
    ])
    expect((await kubenode('lint', '.', '-o', 'github')).out).toBe(
      '::error file=a%2Cb.yaml,line=1,col=1,title=KN1020::every object names its apiVersion; this one does not\n',
    )
  })
})
