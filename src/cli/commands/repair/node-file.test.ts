import { existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { VIRTUAL_EPOCH_MS } from '#test/support/clocks/virtual-clock.ts'
import { run } from '../../program.ts'
import { freezeNode } from './node-file.ts'

let folder: string
beforeEach(() => void (folder = mkdtempSync(join(tmpdir(), 'kubenode-frozen-'))))
afterEach(() => rmSync(folder, { recursive: true, force: true }))

async function kubenode(...argv: string[]) {
  const said = { out: '', err: '' }
  const io = {
    out: (t: string) => void (said.out += t),
    err: (t: string) => void (said.err += t),
    cwd: folder,
    env: { USER: 'ada' },
    isTerminal: false,
  }
  return { code: await run(argv, io), ...said }
}

test('a node is frozen and thawed by a file in its folder, without a kubeconfig', async () => {
  mkdirSync(join(folder, 'state'))
  const frozen = await kubenode('freeze', '--node-folder', folder, '--reason', 'the hub is down')
  expect([frozen.code, frozen.out]).toEqual([0, `frozen: ${join(folder, 'frozen')}\n`])
  expect(readFileSync(join(folder, 'frozen'), 'utf8')).toMatch(/^the hub is down \(ada, 20.*Z\)\n$/)
  expect(readdirSync(folder)).toEqual(['frozen', 'state'])
  const thawed = await kubenode('thaw', '--node-folder', folder)
  expect([thawed.code, thawed.out]).toEqual([0, `thawed: ${join(folder, 'frozen')}\n`])
  expect(existsSync(join(folder, 'frozen'))).toBe(false)
  expect((await kubenode('thaw', '--node-folder', folder)).out).toBe('this node is not frozen by a file\n')
})

test('freezing twice says the newer reason', async () => {
  mkdirSync(join(folder, 'state'))
  for (const reason of ['one', 'two\nlines']) await freezeNode(folder, { reason, author: 'ada' }, VIRTUAL_EPOCH_MS)
  expect(readFileSync(join(folder, 'frozen'), 'utf8')).toBe('two lines (ada, 2026-01-05T00:00:00Z)\n')
})

test.each([
  ['a folder without an agent', ['freeze', '--reason', 'x'], /^KN1112: cannot freeze or thaw a node at /],
  ['a thing of the cluster', ['freeze', 'machine/m', '--reason', 'x'], /^KN1002: /],
  ['an end', ['freeze', '--reason', 'x', '--for', '1h'], /^KN1002: /],
  ['every freeze', ['thaw', '--all'], /^KN1002: /],
])('the file of a node together with %s is refused by number', async (_what, argv, says) => {
  const { code, err } = await kubenode(...argv, '--node-folder', folder)
  expect([code, err]).toEqual([2, expect.stringMatching(says)])
  expect(readdirSync(folder)).toEqual([])
})
