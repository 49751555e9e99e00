// A plan of the commit, or of the edits, that correct a commit whose code fails: a person needs it most then.
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { run } from '#cli/program.ts'

let folder = ''
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'kubenode-plan-'))
  mkdirSync(join(folder, 'fleet'))
  git('init', '-q', '-b', 'main')
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

const WHO = ['-c', 'user.name=t', '-c', 'user.email=t@example.org']
const git = (...args: readonly string[]) => execFileSync('git', [...WHO, ...args], { cwd: folder, encoding: 'utf8' })

const edit = (names: readonly string[], first = '') =>
  writeFileSync(
    join(folder, 'fleet/main.ts'),
    `${first}
import { App, ApiObject } from 'cdk8s'
import { HubChart } from 'kubenode/constructs'
const app = new App()
const hub = new HubChart(app, 'hub', { namespace: 'kubenode-system' })
for (const name of ${JSON.stringify(names)}) new ApiObject(hub, name, { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace: 'default' } })
app.synth()
`,
  )
function commit(title: string): void {
  git('add', '-A')
  git('commit', '-qm', title)
}

async function plan(...args: readonly string[]) {
  let [out, err] = ['', '']
  const io = {
    out: (text: string) => void (out += text),
    err: (text: string) => void (err += text),
    env: process.env,
    isTerminal: false,
    cwd: folder,
  }
  return { code: await run(['plan', '--weak-cage', 'allow', ...args], io), out, err }
}

test('the correction of broken commits is compared with the newest commit before them that renders', async () => {
  edit(['a'])
  commit('a')
  edit(['a'], "import './nowhere.json' with { type: 'json' }")
  commit('broken')
  edit(['a'], 'this is no code')
  commit('broken again')
  edit(['a', 'b'])
  for (const args of [['--dirty'], []]) {
    if (args.length === 0) commit('corrected')
    const { code, out, err } = await plan(...args)
    expect([code, err]).toEqual([
      0,
      expect.stringMatching(/"broken again".* fails; compared with \S+ "a" by t, the newest/),
    ])
    expect(out).toMatch(/hub: 1 to add, 0 to change, 0 to remove, 1 unchanged/)
  }
})

test('a base that is named is the one compared with, and an edit that fails is called an edit', async () => {
  edit(['a'], 'this is no code')
  commit('broken')
  edit(['a'])
  commit('corrected')
  const named = await plan('--base', 'HEAD~1')
  expect([named.code, named.err]).toEqual([2, expect.stringMatching(/KN7102: cannot render commit \S+ "broken"/)])
  // It was printed by that command.
  expect(named.err).not.toContain('kubenode plan')
  edit(['a'], 'this is no code')
  const dirty = await plan('--dirty')
  expect([dirty.code, dirty.err]).toEqual([2, expect.stringMatching(/KN7102: cannot render the work tree: /)])
})
