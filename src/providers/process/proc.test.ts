import { describe, expect, test } from 'vitest'
import { type ProcessInfo, identify, isAlive, parseStat, processesOf, signalExactly } from './proc.ts'

const proc = (p: Partial<ProcessInfo> & { readonly pid: number }): ProcessInfo => ({
  startTime: 'boot/1',
  parent: 1,
  group: p.pid,
  hasTerminal: false,
  args: ['/usr/bin/x'],
  env: [],
  cwd: '/',
  exe: '/usr/bin/x',
  ...p,
})
const DIR = '/data/nodes/m-1'

describe('which processes belong to a node', () => {
  test.each<[string, Partial<ProcessInfo>, boolean]>([
    ['one that carries the mark', { env: [`KUBENODE_NODE_DIR=${DIR}`] }, true],
    ['one that carries the mark of another node', { env: [`KUBENODE_NODE_DIR=${DIR}0`] }, false],
    ['a component that an agent marked', { env: [`KUBENODE_INSTANCE=${DIR}#beacon#a`], hasTerminal: true }, true],
    ['one that speaks of the folder in words of its own', { env: [`OLDPWD=${DIR}`] }, false],
    ['one that runs a program of the node', { exe: `${DIR}/root/opt/a` }, true],
    ['one whose interpreter runs a script of the node', { args: ['/usr/bin/node', `${DIR}/root/opt/a.js`] }, true],
    ['one that works in its folder', { cwd: `${DIR}/root` }, true],
    ['a shell of a person in its folder', { cwd: `${DIR}/root`, hasTerminal: true }, false],
    ['one that reads a file of the node', { args: ['/usr/bin/tail', '-f', `${DIR}/logs/agent.log`] }, false],
    ['one of a node whose name begins the same', { cwd: `${DIR}0/root` }, false],
  ])('%s', (_, p, belongs) => {
    expect(processesOf(DIR, [proc({ pid: 10, ...p })], 999)).toHaveLength(belongs ? 1 : 0)
  })

  test('what they started belongs to it too, and never we ourselves', () => {
    const all = [
      proc({ pid: 12, parent: 11 }),
      proc({ pid: 11, parent: 10 }),
      proc({ pid: 10, cwd: DIR }),
      proc({ pid: 999, parent: 10, cwd: DIR }),
      proc({ pid: 50 }),
    ]
    expect(processesOf(DIR, all, 999).map((p) => p.pid)).toEqual([12, 11, 10])
  })
})

test('a command with spaces and parentheses in its name does not shift the fields', () => {
  const stat = `7 (a ) b (c) S 3 4 5 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 98765 10 11`
  expect(parseStat(stat)).toEqual({ state: 'S', parent: 3, group: 4, terminal: 0, ticks: '98765' })
})

test('a pid that another process has now is neither alive nor signalled', async () => {
  const self = await identify(process.pid)
  expect(self && (await isAlive(self))).toBe(true)
  const before = { pid: process.pid, startTime: 'another' }
  expect(await isAlive(before)).toBe(false)
  expect(await signalExactly(before, 'SIGKILL')).toBe(false)
})
