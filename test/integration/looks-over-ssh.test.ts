// What rounds over SSH see and do in one shell: files and listings that detectors ask for, looks, disks that are cleaned, evidence. The shell is this machine's.
import {
  closeSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { filesOverSsh } from '#agent/files/over-ssh.ts'
import { nodeDir } from '#agent/node-dir.ts'
import { lookAt } from '#agent/over-ssh/conditions/host-looks.ts'
import { NOTHING_ASKED, snapshotOf } from '#agent/over-ssh/conditions/host-snapshot.ts'
import { cleanDiskOverSsh } from '#agent/over-ssh/repairs/clean-disk.ts'
import { evidenceOverSsh } from '#agent/over-ssh/repairs/evidence.ts'
import type { Channel } from '#ssh/channel.ts'
import { localShell } from '#test/support/servers/local-shell.ts'

const folder = mkdtempSync('/var/tmp/kn-looks-')
const at = (...names: string[]): string => join(folder, ...names)
afterAll(() => rmSync(folder, { recursive: true, force: true }))

let asked = 0
let shell: Channel
const channel: Pick<Channel, 'ask'> = {
  ask: (ask) => {
    asked++
    return shell.ask(ask)
  },
}
beforeAll(async () => {
  shell = await localShell()
})
afterAll(() => shell.close())

test('what detectors ask is read in few snippets, and in two once it is known', async () => {
  mkdirSync(at('sys/parts/a'), { recursive: true })
  mkdirSync(at('sys/parts/b'))
  writeFileSync(at('sys/parts/a/count'), '7\n')
  writeFileSync(at('sys/parts/a/text'), `one\n\u001b[31mtwo`)
  symlinkSync('parts', at('sys/link'))
  writeFileSync(at(`sys/parts/bad name`), '')
  const ask = async (host: { list(p: string): readonly string[]; read(p: string): string | undefined }) =>
    host
      .list(at('sys/link'))
      .map((name) => [name, host.read(at('sys/parts', name, 'count')), host.read(at('sys/parts', name, 'text'))])
  const first = await snapshotOf(channel, NOTHING_ASKED, ask)
  expect(first && (await ask(first))).toEqual([
    ['a', '7\n', 'one\n\ufffd[31mtwo\n'],
    ['b', undefined, undefined],
  ])
  asked = 0
  expect(await snapshotOf(channel, first?.asked ?? NOTHING_ASKED, ask)).toBeDefined()
  expect(asked).toBe(2)
})

test('a host that answers in part, without end, or with ever more paths tells nothing', async () => {
  const answering = (text: string): Pick<Channel, 'ask'> => ({
    ask: async () => ({ code: 0, stdout: Buffer.from(text), stderr: '' }),
  })
  const ask = async (host: { read(p: string): string | undefined }) => host.read('/a')
  expect(await snapshotOf(answering('/a\0x\n'), NOTHING_ASKED, ask)).toBeUndefined()
  expect(await snapshotOf(answering(`/a\0${'x'.repeat(2 ** 20)}`), NOTHING_ASKED, ask)).toBeUndefined()
  let n = 0
  expect(await snapshotOf(answering('all\n'), NOTHING_ASKED, async (h) => h.read(`/${n++}`))).toBeUndefined()
  const lying = await snapshotOf(answering('/etc/shadow\0root\n/d\0../x\nall\n'), NOTHING_ASKED, async (host) => [
    host.read('/a'),
    host.list('/d'),
  ])
  expect(lying?.read('/etc/shadow')).toBeUndefined()
  expect(lying?.list('/d')).toEqual([])
})

test('a look tells the room, the clock and the tasks of the host, and nothing that it could not read', async () => {
  const looks = await lookAt(channel)
  expect(looks.spaces.map((s) => s.path)).toContain('/')
  expect(looks.spaces.find((s) => s.path === '/')?.blocks).toBeGreaterThan(0)
  expect(Math.abs((looks.nowMs ?? 0) - Date.now())).toBeLessThan(60_000)
  expect(looks.tasks).toBeDefined()
  const nothing = await lookAt({ ask: async () => ({ code: 1, stdout: Buffer.from(''), stderr: '' }) })
  expect(nothing).toMatchObject({ nowMs: undefined, spaces: [], tasks: undefined, boot: undefined, services: [] })
})

test('old files are removed, and none that is new, open, or reached through a link', async () => {
  const OLD = new Date(Date.now() - 10 * 86_400_000)
  const old = (...names: string[]): string => {
    const path = at(...names)
    writeFileSync(path, 'x'.repeat(10_000))
    utimesSync(path, OLD, OLD)
    return path
  }
  mkdirSync(at('cache/deep'), { recursive: true })
  mkdirSync(at('elsewhere'))
  const gone = [old('cache/a'), old('cache/deep', `b c\n'"`)]
  const kept = [old('elsewhere/secret'), old('cache/open')]
  writeFileSync(at('cache/new'), 'x')
  symlinkSync(at('elsewhere'), at('cache/way'))
  const fd = openSync(at('cache/open'), 'r')
  const clean = (dryRun: boolean) =>
    cleanDiskOverSsh(
      channel,
      { paths: [at('cache')], olderThan: '1d', untilFree: 100, dryRun, images: false, journal: false },
      new AbortController().signal,
    )
  expect((await clean(true)).output).toContain('it would remove up to 3 files')
  expect(gone.every((path) => existsSync(path))).toBe(true)
  const { output } = await clean(false)
  closeSync(fd)
  expect(output).toContain('removed 2 files')
  expect(gone.some((path) => existsSync(path))).toBe(false)
  expect([...kept, at('cache/new')].every((path) => existsSync(path))).toBe(true)
  const forbidden = await cleanDiskOverSsh(
    channel,
    { paths: ['/etc'], olderThan: '1d', untilFree: 100, dryRun: false, images: false, journal: false },
    new AbortController().signal,
  )
  expect(forbidden.output).toContain('/etc is not below one of')
})

test('evidence stays on the host, and what only an agent collects is said', async () => {
  const dir = nodeDir(at('node'), '/')
  const deps = { channel, files: filesOverSsh(channel), dir }
  const { output } = await evidenceOverSsh(deps, ['Disks', 'Devices'], 'job', new AbortController().signal)
  expect(output).toMatch(/^Disks: \S+\/disks\.txt \(\d+ bytes\)\nDevices: not collected: it needs an agent$/)
  expect(readFileSync(/(\/\S+disks\.txt)/.exec(output)?.[1] ?? '', 'utf8')).toContain('Filesystem')
})
