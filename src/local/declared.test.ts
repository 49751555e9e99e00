import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { packFolder } from '../cli/artifact/pack.ts'
import { DeclaredFiles } from './declared.ts'

let root = ''
const lines: string[] = []
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'kubenode-declared-'))
  lines.length = 0
  mkdirSync(join(root, 'artifacts'))
  git('init', '--quiet', '-b', 'main')
})
afterEach(() => rmSync(root, { recursive: true, force: true }))

const repository = () => join(root, 'fleet')
function git(...args: string[]): string {
  mkdirSync(repository(), { recursive: true })
  const named = ['-c', 'user.name=x', '-c', 'user.email=x@example.org']
  return execFileSync('git', ['-C', repository(), ...named, ...args])
    .toString()
    .trim()
}
function commit(files: Readonly<Record<string, string>>): string {
  for (const [name, text] of Object.entries(files)) {
    const path = join(repository(), 'fleet', name)
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, text)
  }
  git('add', '-A')
  git('commit', '--quiet', '-m', 'change')
  return git('rev-parse', 'HEAD')
}
const declared = () =>
  new DeclaredFiles({
    layout: { root, repository: repository(), artifacts: join(root, 'artifacts') },
    pack: packFolder,
    say: (line) => void lines.push(line),
  })
const served = (name: string) => readFileSync(join(root, 'artifacts', name), 'utf8')

test('what is served is what the commit holds, not the working tree, and follows the newest commit', async () => {
  const files = declared()
  const first = commit({ 'components/trust/trust.json': '1', 'machines/agent.json': '{"lease":"5s"}' })
  writeFileSync(join(repository(), 'fleet/machines/agent.json'), 'half an edit')
  expect(await files.serve(first)).toBe(0)
  expect([served('trust.json'), served('agent.json')]).toEqual(['1', '{"lease":"5s"}'])
  files.follow(first)
  await files.idle()
  expect(lines).toEqual([])
  files.follow(commit({ 'components/trust/trust.json': '2', 'machines/agent.json': '{"lease":"6s"}' }))
  await files.idle()
  expect([served('trust.json'), served('agent.json')]).toEqual(['2', '{"lease":"6s"}'])
  expect(readdirSync(root).filter((f) => f.startsWith('commit-'))).toEqual([])
})

test('an agent.json that is not a JSON object reaches no node', async () => {
  const files = declared()
  await files.serve(commit({ 'components/trust/trust.json': '1', 'machines/agent.json': '{"lease":"5s"}' }))
  files.follow(commit({ 'components/trust/trust.json': '2', 'machines/agent.json': '{ "logs": [' }))
  await files.idle()
  expect(lines).toEqual([expect.stringMatching(/KN1222: cannot give fleet\/machines\/agent\.json to agents/)])
  expect([served('trust.json'), served('agent.json')]).toEqual(['1', '{"lease":"5s"}'])
})

test('a commit that cannot be served is reported once, and what was served stays', async () => {
  const files = declared()
  await files.serve(commit({ 'components/trust/trust.json': '1' }))
  const broken = commit({ 'components/nope.json': '{"kind":"Pod"}', 'components/trust/trust.json': '2' })
  for (let i = 0; i < 3; i++) {
    files.follow(broken)
    await files.idle()
  }
  expect(lines).toEqual([expect.stringMatching(/^cannot serve the components of commit [0-9a-f]{8}: /)])
  expect(served('trust.json')).toBe('1')
})
