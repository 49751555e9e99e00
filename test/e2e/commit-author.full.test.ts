// An author pushes hostile commits, one after the other, to a git server with a password, which sync follows as a program of its own. Each of them is refused
// with a number; none reads or writes files of the machine, forges a line, or stops a later commit.
import { execFileSync, spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { chmodSync, existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { fleetSource } from '#api/kinds/fleet-source.ts'
import { SYSTEM_NAMESPACE } from '#api/names.ts'
import { CONFIG_MAP, eventually, syncBench, type SyncBench } from '#test/support/benches/sync-bench.ts'
import { followOverHttps } from '#test/support/benches/sync-over-https.ts'
import { inFullAll } from '#test/support/tools/full.ts'
import { RESTARTED, syncProgram } from '#test/support/benches/sync-program.ts'
import { filesBelow, readable, shown, stored } from '#test/support/benches/sync-traces.ts'

const WITHIN_MS = 240_000
const closes: (() => Promise<unknown> | void)[] = []
afterEach(async () => {
  for (const close of closes.splice(0).toReversed()) await close()
})

/** A file beside the repository that all users of the machine may read and replace. */
function bait() {
  const folder = mkdtempSync(join(tmpdir(), 'kubenode-bait-'))
  chmodSync(folder, 0o777)
  closes.push(() => rmSync(folder, { recursive: true, force: true }))
  const canary = `canary-${randomBytes(9).toString('hex')}`
  const [file, touched] = [join(folder, 'canary.json'), join(folder, 'touched')]
  writeFileSync(file, JSON.stringify({ canary }))
  return { folder, file, touched, canary }
}

const FORGED = 'all is well'

/** `code` runs where the fleet has its chart. */
const fleet = (version: string, code = '') => ({
  'fleet/main.ts': `import * as cdk8s from 'cdk8s'
import { Cluster, ClusterChart, HubChart, ReleasePipeline } from 'kubenode/constructs'
const app = new cdk8s.App()
const hub = new HubChart(app, 'hub', { namespace: '${SYSTEM_NAMESPACE}' })
new ReleasePipeline(hub, 'standard', { spec: { stages: [{ name: 'test', clusters: { names: ['test'] }, minSuccessTime: '0s', progressDeadline: '10m', offlineDeadline: '1h' }] } })
new Cluster(hub, 'test', { spec: { kubeconfigSecretRef: { name: 'cluster-test', key: 'kubeconfig' }, stage: 'test' } })
const chart = new ClusterChart(app, 'test')
const object = (kind: string, more: object = {}, apiVersion = 'v1') => new cdk8s.ApiObject(chart, kind, { apiVersion, kind, metadata: { name: 'evil', namespace: 'default' }, ...more })
new cdk8s.ApiObject(chart, 'settings', { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'settings', namespace: 'default' }, data: { version: '${version}' } })
${code}
app.synth()
`,
})

type Bait = ReturnType<typeof bait>
interface Attack {
  readonly name: string
  readonly code: (bait: Bait) => string
  readonly refused: RegExp
}
const attack = (name: string, refused: RegExp, code: Attack['code']): Attack => ({ name, refused, code })

const CODE: readonly Attack[] = [
  attack('imports a file by its path', /KN7103/, (b) => `export { default } from '${b.file}' with { type: 'json' }`),
  attack(
    'imports a file by a path that climbs',
    /KN7103/,
    (b) => `export { default } from '${'../'.repeat(20)}${b.file.slice(1)}' with { type: 'json' }`,
  ),
  attack(
    'imports a file by its URL',
    /KN7103/,
    (b) => `const url = 'file://${b.file}'; throw new Error(String(await import(url)))`,
  ),
  attack('imports fs', /KN7103/, (b) => `throw new Error((await import('node:fs')).readFileSync('${b.file}'))`),
  attack(
    'runs a program',
    /KN7103/,
    (b) => `(await import('node:child_process')).execSync('cp ${b.file} ${b.touched}')`,
  ),
  attack('has cdk8s read a file', /KN7102/, (b) => `throw new Error(JSON.stringify(cdk8s.Yaml.load('${b.file}')))`),
  attack('has cdk8s include a file', /KN7102/, (b) => `new cdk8s.Include(chart, 'x', { url: '${b.file}' })`),
  attack('has cdk8s write a file', /KN7102/, (b) => `cdk8s.Yaml.save('${b.touched}', [{}])`),
  attack(
    'has cdk8s run helm',
    /KN7102/,
    (b) => `new cdk8s.Helm(chart, 'x', { chart: '${b.folder}', helmExecutable: '/bin/cat', helmFlags: ['${b.file}'] })`,
  ),
  attack('calls a server', /KN7102/, () => `await fetch('https://169.254.169.254/latest/meta-data')`),
  attack('ends the program', /KN7102/, () => `(process as any).kill(1)`),
  attack(
    'shows what surrounds it',
    /KN7102/,
    () => `throw new Error('environment ' + JSON.stringify([process.env, process.argv, process.cwd()]))`,
  ),
  attack(
    'forges a line of the log, an end of the screen and a command of a CI runner',
    /KN7102/,
    () =>
      `throw new Error('x\\n{"level":"info","message":"${FORGED}"}\\n::add-path::/tmp\\n\\u001b[2J\\u001b[31m${FORGED}')`,
  ),
  attack('throws what throws when it is looked at', /KN7102/, () => `throw { get message() { throw this } }`),
  attack('prints without end', /KN7105/, () => `for (;;) console.log('x'.repeat(100_000))`),
  attack(
    'declares a permit that the Defender never gave',
    /KN3090/,
    () => `object('OperationPermit', { spec: {} }, 'kubenode.io/v1alpha1')`,
  ),
  attack('approves itself', /KN3090/, () => `object('Approval', { spec: {} }, 'kubenode.io/v1alpha1')`),
  attack(
    'names a forged owner',
    /KN3090/,
    () =>
      `object('ConfigMap', { metadata: { name: 'evil', namespace: 'default', annotations: { 'kubenode.io/source': 'a/b' } } })`,
  ),
  attack(
    'names an object in two lines',
    /KN7107/,
    () => `object('ConfigMap', { metadata: { name: 'a\\n${FORGED}' } })`,
  ),
  attack('climbs by the version of an object', /KN7107/, () => `object('Secret', {}, '../v1')`),
  attack(
    'declares more than any cluster has',
    /KN7107/,
    () =>
      `for (let i = 0; i < 20_001; i++) new cdk8s.ApiObject(chart, 'm' + i, { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'm' + i } })`,
  ),
]

/** A commit with this folder `fleet`, entry by entry, as no `git add` makes one. */
function commitOfEntries(
  { repository }: SyncBench,
  entries: readonly (readonly [mode: string, name: string, id: string])[],
) {
  const hash = (type: string, input: Buffer | string) =>
    execFileSync('git', ['hash-object', '-t', type, '-w', '--literally', '--stdin'], {
      cwd: repository.dir,
      input,
      encoding: 'utf8',
    }).trim()
  const tree = (of: typeof entries) =>
    hash(
      'tree',
      Buffer.concat(
        of.map(([mode, name, id]) => Buffer.concat([Buffer.from(`${mode} ${name}\0`), Buffer.from(id, 'hex')])),
      ),
    )
  const who = 't <t@example.org> 1700000000 +0000'
  const folder = tree(entries)
  const root = tree([['40000', 'fleet', folder]])
  const head = repository.git('rev-parse', 'HEAD')
  const id = hash('commit', `tree ${root}\nparent ${head}\nauthor ${who}\ncommitter ${who}\n\n${FORGED}\u001b[2J\n`)
  repository.git('update-ref', 'refs/heads/main', id)
  return { id, folder, back: () => repository.git('update-ref', 'refs/heads/main', head) }
}

const blobOf = (b: SyncBench, text: string): string =>
  execFileSync('git', ['hash-object', '-w', '--stdin'], { cwd: b.repository.dir, input: text, encoding: 'utf8' }).trim()

/** Whether one of the copies in the folder has the commit. */
const isIn = (copies: string, commit: string): boolean =>
  readdirSync(copies).some((copy) => {
    const args = ['--git-dir', join(copies, copy), 'cat-file', '-e', commit]
    return spawnSync('git', args, { stdio: 'ignore' }).status === 0
  })

/** What users of the hub read: which commit was fetched, and what is wrong with it. */
async function toldOf(bench: SyncBench, commit: string): Promise<string> {
  const source = await bench.hub.client.get(fleetSource, { namespace: SYSTEM_NAMESPACE, name: 'fleet' })
  const told = (source?.status?.conditions ?? []).filter((c) => c.type === 'Fetched' || c.status === 'False')
  const release = (await bench.releases()).find((r) => r.spec.commit === commit)
  return JSON.stringify([told.map((c) => c.message), release?.status ?? {}])
}

/** It is named, or the object in it that git itself refuses. */
const refusedAs = (bench: SyncBench, commit: string, refused: RegExp, object = commit) =>
  eventually(
    () => toldOf(bench, commit),
    (told) => refused.test(told) && [commit, object].some((id) => told.includes(id.slice(0, 12))),
    WITHIN_MS,
  )

const versionOf = async (bench: SyncBench) =>
  (
    (await bench.client('test').get(CONFIG_MAP, { namespace: 'default', name: 'settings' }))?.['data'] as
      | { readonly version?: string }
      | undefined
  )?.version

test(
  'S8 S15 S16 of many hostile commits each is refused with a number, none reads, writes or forges anything, and the next good one is applied',
  { timeout: 3 * WITHIN_MS },
  async () => {
    const b = bait()
    const bench = await syncBench(['test'])
    closes.push(bench.close)
    const password = `password-${randomBytes(9).toString('hex')}`
    const git = await followOverHttps(bench, password)
    closes.push(() => git.close())
    const sync = syncProgram(bench, ['--git-allow', `localhost:${git.port}`])
    closes.push(sync.close)
    const first = bench.repository.commit(fleet('1'))
    sync.start()
    await eventually(
      () => versionOf(bench),
      (v) => v === '1',
      WITHIN_MS,
    )

    for (const { code, refused } of inFullAll(CODE, 3)) {
      // One object that is refused delays no other of its commit.
      const version = refused.source.startsWith('KN309') ? '1' : '2'
      await refusedAs(bench, bench.repository.commit(fleet(version, code(b))), refused)
    }
    expect(await versionOf(bench)).toBe('1')

    const main = blobOf(bench, fleet('2')['fleet/main.ts'])
    const trees = [
      [/KN7005/, [['120000', 'main.ts', blobOf(bench, b.file)]]],
      [
        /KN7005/,
        [
          ['100644', 'main.ts', main],
          ['160000', 'module', first],
        ],
      ],
      // git itself refuses these, and names the object.
      ...['..', '.git', '.GIT', 'git~1'].map(
        (name) => [/KN7015: .*object [0-9a-f]{12}: has/, [['100644', name, main]]] as const,
      ),
      ...['main.ts\r', 'a\\b'].map((name) => [/KN7015/, [['100644', name, main]]] as const),
    ] as const
    for (const [refused, entries] of trees) {
      const { id, folder, back } = commitOfEntries(bench, entries)
      await refusedAs(bench, id, refused, folder)
      back()
    }
    expect(await versionOf(bench)).toBe('1')

    // The next one does not wait until it ends.
    const endless = bench.repository.commit(fleet('2', 'for (;;);'))
    await eventually(async () => isIn(join(sync.folder, 'git'), endless), Boolean, WITHIN_MS)
    const good = bench.repository.commit(fleet('3'))
    await eventually(
      () => versionOf(bench),
      (v) => v === '3',
      WITHIN_MS,
    )
    await eventually(
      async () => (await bench.releases()).find((r) => r.spec.commit === good)?.status?.phase,
      (p) => p === 'Succeeded',
      WITHIN_MS,
    )

    const text = await shown(bench, sync, first)
    const objects = [await stored(bench.hub.client), await stored(bench.client('test'))].join('\n')
    await sync.stop()
    const log = sync.printed()
    expect(text).toContain('settings')
    expect(log).toContain('fleetsource')
    expect(existsSync(b.touched)).toBe(false)
    expect(objects).not.toContain('"evil"')
    const hasSecret = (words: string) => [b.canary, password].filter((secret) => words.includes(secret))
    const files = filesBelow(sync.folder).filter((path) => !path.endsWith('hub.kubeconfig'))
    expect(files.length).toBeGreaterThan(3)
    expect([
      hasSecret(log),
      hasSecret(objects),
      hasSecret(text),
      files.filter((f) => hasSecret(readable(f)).length > 0),
    ]).toEqual([[], [], [], []])
    // Every line is an entry of the log, and none clears a screen or commands a runner.
    const lines = log.split('\n').filter((line) => line !== '' && !line.startsWith(RESTARTED))
    expect(lines.filter((line) => !line.startsWith('{"'))).toEqual([])
    expect(
      lines
        .map((line) => (JSON.parse(line) as { readonly message?: string }).message)
        .filter((message) => message?.includes(FORGED) === true),
    ).toEqual([])
    for (const words of [log, text]) expect(words).not.toContain('\u001b')
    expect(text.split('\n').filter((line) => line.startsWith('::') || line.startsWith(FORGED))).toEqual([])
  },
)
