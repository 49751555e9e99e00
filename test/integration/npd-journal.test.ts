// A journal written by a real systemd-journald, in a mount namespace of its own, followed by the agent's monitors and counted by its log counter.
import { execFileSync, spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { getuid } from 'node:process'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { JournalHub, type JournalPosition } from '#agent/detect/npd/journal-hub.ts'
import { JournalReader, type JournalEntry } from '#agent/detect/npd/journal.ts'
import { countLines, countOptions, type CountOptions } from '#agent/detect/npd/log-count.ts'
import { systemClock } from '#lib/system-clock.ts'
import { eventually } from './agent-bench.ts'

const JOURNALD = '/lib/systemd/systemd-journald'
const canRun = getuid?.() === 0 && existsSync(JOURNALD)
const CANNOT = 'needs root and systemd-journald'

let daemon: ChildProcess | undefined
const inside = (path: string): string => `/proc/${daemon?.pid ?? 0}/root${path}`
const journal = (): string => inside('/run/log/journal')

beforeAll(async () => {
  if (!canRun) return
  const start = `mount -t tmpfs tmpfs /run && mkdir -p /run/systemd/journal /run/log/journal && exec ${JOURNALD}`
  daemon = spawn('unshare', ['--mount', '/bin/sh', '-c', start], { stdio: 'ignore' })
  const socket = (): boolean => existsSync(inside('/run/systemd/journal/dev-log'))
  await eventually('the journal', socket, Boolean)
  await eventually(
    'its first entry',
    () => write('start', 'here'),
    () => existsSync(journal()),
  )
})

afterAll(async () => {
  if (daemon === undefined) return
  daemon.kill('SIGKILL')
  await once(daemon, 'exit')
})

/** Written inside: only root may reach through /proc into its mounts. */
const write = (identifier: string, message: string, uid = 0): void => {
  const enter = [`--mount=/proc/${daemon?.pid ?? 0}/ns/mnt`, 'setpriv', `--reuid=${uid}`, '--clear-groups']
  const socket = '/run/systemd/journal/dev-log'
  execFileSync('nsenter', [
    ...enter,
    'logger',
    '--socket-errors=on',
    '--socket',
    socket,
    '--tag',
    identifier,
    '--',
    message,
  ])
}

const follow = (after: string | undefined, entries: JournalEntry[]): JournalReader => {
  const reader = new JournalReader({
    path: journal(),
    identifiers: ['dockerd'],
    clock: systemClock,
    sinceMs: Date.now() - 60_000,
    after,
    onEntry: (e) => entries.push(e),
    onProblem: () => undefined,
  })
  reader.start()
  return reader
}

test('entries of the identifier come as they are written, and after a restart those since', async (context) => {
  if (!canRun) return context.skip(CANNOT)
  const entries: JournalEntry[] = []
  const said = (): readonly string[] => entries.map((e) => e.message)
  write('dockerd', 'before the first start')
  const first = follow(undefined, entries)
  await eventually('the entry from before', said, (m) => m.length === 1)
  write('other', 'somebody else')
  write('dockerd', 'one')
  await eventually('an entry', said, (m) => m.at(-1) === 'one')
  const { cursor } = first
  first.close()
  write('dockerd', 'while the agent was stopped')
  const second = follow(cursor, entries)
  write('dockerd', 'two')
  await eventually('the last entry', said, (m) => m.at(-1) === 'two')
  second.close()
  expect(said()).toEqual(['before the first start', 'one', 'while the agent was stopped', 'two'])
  return undefined
})

test('S1 a line of a local user under the name of a daemon is neither read nor counted', async (context) => {
  if (!canRun) return context.skip(CANNOT)
  const entries: JournalEntry[] = []
  const reader = follow(undefined, entries)
  write('dockerd', 'forged by a user', 65_534)
  write('dockerd', 'true')
  await eventually(
    'the entry of root',
    () => entries.map((e) => e.message),
    (m) => m.at(-1) === 'true',
  )
  reader.close()
  expect(entries.map((e) => e.message)).not.toContain('forged by a user')
  expect(execFileSync('journalctl', ['--directory', journal(), '--output=cat'], { encoding: 'utf8' })).toContain(
    'forged',
  )
  return undefined
})

test('one reader serves all, each with its own identifier and from its own place', async (context) => {
  if (!canRun) return context.skip(CANNOT)
  write('a', 'a1')
  write('b', 'b1')
  const said: string[] = []
  const open = (after: JournalPosition | undefined, sinceMs: number): JournalHub => {
    const hub = new JournalHub(journal(), systemClock)
    for (const identifier of ['a', 'b'])
      hub.join({
        identifier,
        sinceMs,
        after: identifier === 'a' ? after : undefined,
        onEntry: (e) => said.push(e.message),
        onProblem: () => undefined,
      })
    hub.start()
    return hub
  }
  const first = open(undefined, Date.now() - 60_000)
  await eventually(
    'both',
    () => [...said],
    (s) => s.length === 2,
  )
  await eventually(
    'the place',
    () => first.position,
    (p) => p !== undefined,
  )
  first.close()
  write('a', 'a2')
  // a reads on; b is new and looks back.
  const second = open(first.position, Date.now() - 60_000)
  await eventually(
    'the rest',
    () => [...said],
    (s) => s.includes('a2') && s.length === 4,
  )
  second.close()
  expect([...said].sort()).toEqual(['a1', 'a2', 'b1', 'b1'])
  return undefined
})

test('lines of a journal are counted', async (context) => {
  if (!canRun) return context.skip(CANNOT)
  for (const text of ['Started x.', 'Started x.', 'Stopping x...', 'Started x.', 'unrelated']) write('systemd', text)
  const options = (count: number): CountOptions =>
    countOptions([
      '--journald-source=systemd',
      `--log-path=${journal()}`,
      `--count=${count}`,
      '--pattern=Started x.',
      '--revert-pattern=Stopping x...',
    ]) as CountOptions
  const ask = (count: number) => countLines(options(count), Date.now() - 60_000, 10_000)
  await eventually(
    'the lines',
    () => ask(2),
    (r) => r.status === 'NonOk',
  )
  expect(await ask(2)).toEqual({ status: 'NonOk', message: 'Found 2 matching logs, which meets the threshold of 2' })
  expect(await ask(3)).toEqual({ status: 'Ok', message: '' })
  return undefined
})
