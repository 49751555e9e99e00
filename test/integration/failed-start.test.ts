// A local fleet that was killed leaves its nodes running. A start that fails leaves them as they are; one that a person ends switches them off.
import { spawn, type ChildProcess } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { DATA_FORMAT, layoutOf, writeState } from '#programs/local/layout.ts'
import { type UpOptions, up } from '#programs/local/up.ts'
import { nodeLayout } from '#providers/process/layout.ts'

const BOOT = '11111111-1111-4111-8111-111111111111\n'

let data = ''
let component: ChildProcess | undefined
beforeEach(() => {
  data = mkdtempSync(join(tmpdir(), 'kubenode-failed-'))
  const layout = layoutOf(data)
  mkdirSync(layout.root, { recursive: true, mode: 0o700 })
  writeState(layout, { format: DATA_FORMAT, ports: {} })
  const node = nodeLayout(layout.cluster('test').nodes, 'm-1')
  mkdirSync(node.root, { recursive: true })
  writeFileSync(node.bootId, BOOT)
  component = spawn('/bin/sleep', ['600'], { cwd: node.root, stdio: 'ignore', detached: true })
})
afterEach(() => {
  component?.kill('SIGKILL')
  rmSync(data, { recursive: true, force: true })
})

const bootId = () => readFileSync(nodeLayout(layoutOf(data).cluster('test').nodes, 'm-1').bootId, 'utf8')
const isRunning = () => component?.exitCode === null && component.signalCode === null

const options = (more: Partial<UpOptions>): UpOptions => ({
  root: join(import.meta.dirname, '../..'),
  data,
  own: undefined,
  program: undefined,
  reset: false,
  check: true,
  recordsRights: false,
  isReal: false,
  assets: undefined,
  path: process.env['PATH'] ?? '',
  node: process.execPath,
  compileCache: undefined,
  screen: { print: () => undefined, show: () => undefined, end: () => undefined } as unknown as UpOptions['screen'],
  pack: () => Promise.reject(new Error('not asked for')),
  debian: {} as UpOptions['debian'],
  buildTree: () => Promise.resolve(),
  console: () => Promise.reject(new Error('not asked for')),
  connect: () => Promise.reject(new Error('it is frozen')),
  signal: new AbortController().signal,
  ...more,
})

test.each([
  ['the folder is that of another driver', { driver: 'nspawn' }, 'KN1202'],
  ['the API server of the hub never answers', {}, 'KN1211'],
] as const)(
  'a start that fails because %s leaves the nodes as they are',
  async (_, more, code) => {
    await expect(up(options(more))).rejects.toMatchObject({ code })
    expect([isRunning(), bootId()]).toEqual([true, BOOT])
  },
  120_000,
)

test('a start that a person ends before that switches them off', async () => {
  const ended = AbortSignal.abort()
  await expect(up(options({ signal: ended }))).rejects.toThrow()
  expect(isRunning()).toBe(false)
  expect(bootId()).not.toBe(BOOT)
}, 120_000)
