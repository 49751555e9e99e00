// A repository whose own settings name a program for every purpose that git knows: planning it, reading its log and copying it run none of them.
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  utimesSync,
  writeFileSync,
  appendFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { execFileSync } from 'node:child_process'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { openFleetHistory } from '#forecast/way-back/fleet-history.ts'
import { run } from '#cli/program.ts'
import { fetchMirror } from '#sync/git/mirror.ts'
import { GitFolder } from '#test/support/benches/sync-bench.ts'

let repository: GitFolder
let outside = ''
/** Exists once any of the programs ran, and holds their names. */
let trace = ''
beforeEach(() => {
  repository = new GitFolder()
  outside = mkdtempSync(join(tmpdir(), 'kubenode-evil-'))
  trace = join(outside, 'ran')
})
afterEach(() => {
  repository.remove()
  rmSync(outside, { recursive: true, force: true })
})

const FLEET = `import { App, ApiObject, Chart } from 'cdk8s'
const app = new App()
new ApiObject(new Chart(app, 'test'), 'x', { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'x', namespace: 'default' } })
app.synth()
`

const HOOKS = ['post-checkout', 'post-index-change', 'reference-transaction', 'pre-commit', 'fsmonitor-watchman']

/** Every key of git's config that names a program, each with a program that leaves a trace. */
function configEveryProgram(): void {
  const program = (name: string): string => {
    const path = join(outside, name)
    writeFileSync(path, `#!/bin/sh\necho ${name} >> '${trace}'\ncat\n`)
    chmodSync(path, 0o755)
    return path
  }
  const hooks = join(outside, 'hooks')
  mkdirSync(hooks, { recursive: true })
  for (const hook of HOOKS) {
    for (const folder of [hooks, join(repository.dir, '.git/hooks')]) {
      mkdirSync(folder, { recursive: true })
      writeFileSync(join(folder, hook), `#!/bin/sh\necho ${hook} >> '${trace}'\n`)
      chmodSync(join(folder, hook), 0o755)
    }
  }
  appendFileSync(
    join(repository.dir, '.git/config'),
    `[core]
	hooksPath = ${hooks}
	fsmonitor = ${program('fsmonitor')}
	pager = ${program('pager')}
	editor = ${program('editor')}
	askPass = ${program('askpass')}
	sshCommand = ${program('ssh')}
	gitProxy = ${program('proxy')}
	alternateRefsCommand = ${program('alternates')}
[pager]
	status = true
	log = ${program('pager-log')}
[alias]
	status = !${program('alias-status')}
	log = !${program('alias-log')}
[filter "evil"]
	clean = ${program('filter-clean')}
	smudge = ${program('filter-smudge')}
	process = ${program('filter-process')}
	required = false
[diff]
	external = ${program('diff-external')}
[diff "evil"]
	command = ${program('diff-command')}
	textconv = ${program('textconv')}
[merge "evil"]
	driver = ${program('merge-driver')}
[log]
	showSignature = true
[gpg]
	program = ${program('gpg')}
[credential]
	helper = !${program('credential')}
[uploadpack]
	packObjectsHook = ${program('pack-objects')}
[status]
	submoduleSummary = true
[include]
	path = ${join(outside, 'included')}
`,
  )
  writeFileSync(join(outside, 'included'), `[core]\n\tfsmonitor = ${program('included-fsmonitor')}\n`)
}

function hostile(): string {
  repository.commit({
    '.gitattributes': '* filter=evil diff=evil merge=evil\n',
    'fleet/main.ts': FLEET,
    'rules/a.ts': '1',
  })
  const commit = repository.commit({ 'fleet/main.ts': `${FLEET}// more\n` })
  configEveryProgram()
  // Git reads files again, through the filters, when their times differ from those in its index.
  utimesSync(join(repository.dir, 'fleet/main.ts'), new Date(1_000), new Date(1_000))
  utimesSync(join(repository.dir, 'rules/a.ts'), new Date(1_000), new Date(1_000))
  return commit
}

const PATH = { PATH: process.env['PATH'] ?? '' }

test('S28 git status itself would run programs of this repository', () => {
  hostile()
  execFileSync('git', ['status', '--porcelain'], { cwd: repository.dir, stdio: 'ignore' })
  expect(existsSync(trace)).toBe(true)
})

test('S28 kubenode plan runs no program that a repository names', async () => {
  hostile()
  const told: string[] = []
  const code = await run(['plan', '--weak-cage', 'allow'], {
    out: (text) => told.push(text),
    err: (text) => told.push(text),
    env: PATH,
    cwd: repository.dir,
    isTerminal: true,
  })
  expect([code, told.join('')]).toEqual([0, expect.stringContaining('test: 0 to add')])
  expect(existsSync(trace)).toBe(false)
})

test('S28 the log and the trial reverts of a rollback run none either', async () => {
  const commit = hostile()
  const history = await openFleetHistory(repository.dir, { ...PATH, HOME: outside })
  try {
    expect(history.commits[0]?.id).toBe(commit)
    const [newest] = history.commits
    const trial = newest === undefined ? undefined : await history.revert([newest])
    expect(await history.patchOf(trial ?? { commit, folder: '' })).toContain('-// more')
  } finally {
    await history.close()
  }
  expect(existsSync(trace)).toBe(false)
})

test('S28 a fetch from it runs none either', async () => {
  const commit = hostile()
  const copy = await fetchMirror(`file://${repository.dir}`, { branch: 'main' }, { cacheDir: outside, env: PATH })
  expect(await copy.resolve('refs/heads/main')).toBe(commit)
  expect(existsSync(trace)).toBe(false)
})

test('S34 an object that a repository replaces by another is fetched and read as its name says', async () => {
  const real = repository.commit({ 'fleet/main.ts': 'signed' })
  const other = repository.commit({ 'fleet/main.ts': 'planted' })
  repository.git('reset', '--quiet', '--hard', real)
  repository.git('replace', real, other)
  expect(repository.git('show', `${real}:fleet/main.ts`)).toBe('planted')
  const copy = await fetchMirror(`file://${repository.dir}`, { branch: 'main' }, { cacheDir: outside, env: PATH })
  const text = async () => Buffer.from((await copy.readTree(real, ['fleet'])).get('fleet/main.ts') ?? []).toString()
  expect([await copy.resolve('refs/heads/main'), await text()]).toEqual([real, 'signed'])
})
