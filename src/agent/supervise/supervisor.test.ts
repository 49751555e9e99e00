// The supervisor with small real processes.
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { execPath, geteuid, kill } from 'node:process'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { systemClock } from '#lib/system-clock.ts'
import { silentLogger } from '#lib/log.ts'
import { realFiles } from '../files/real.ts'
import { nodeDir, processFile, type NodeDir } from '../node-dir.ts'
import { livingStat, parseStat, readStat, type ProcessId } from './proc.ts'
import type { StartRequest } from './port.ts'
import { Supervisor } from './supervisor.ts'

let dir: NodeDir
let supervisors: Supervisor[]

beforeEach(() => {
  dir = nodeDir(mkdtempSync(join(tmpdir(), 'kubenode-supervisor-')))
  for (const folder of [dir.root, dir.state, dir.logs]) mkdirSync(folder, { recursive: true })
  supervisors = []
})

afterEach(async () => {
  await supervisors.at(-1)?.stop('c')
  for (const s of supervisors) s.close()
  rmSync(dir.path, { recursive: true, force: true })
})

async function supervisor(bootId = 'this'): Promise<Supervisor> {
  const made = new Supervisor({
    files: realFiles,
    dir,
    clock: systemClock,
    log: silentLogger,
    bootId,
    binFolder: dirname(execPath),
    environment: {},
    pollEveryMs: 20,
    frozenAfterMs: 60,
    graceMs: 200,
  })
  supervisors.push(made)
  await made.adopt()
  return made
}

/** A shell script; the service defines how it is restarted. */
function program(script: string, service: Partial<StartRequest['service']> = {}): StartRequest {
  writeFileSync(join(dir.root, 'run'), `#!/bin/sh\n${script}\n`, { mode: 0o755 })
  return { component: 'c', slot: 's', service: { exec: '/run', restart: 'Always', killMode: 'Group', ...service } }
}

const sleeper = (more: Partial<StartRequest['service']> = {}) => program('sleep 60', more)

const idOf = (): ProcessId => (JSON.parse(readFileSync(processFile(dir, 'c'), 'utf8')) as { id: ProcessId }).id

async function until(what: string, isTrue: () => boolean): Promise<void> {
  const end = Date.now() + 5_000
  while (!isTrue()) {
    if (Date.now() > end) throw new Error(`${what} did not come`)
    await systemClock.sleep(5)
  }
}

test('what it starts writes into its log and knows its node', async () => {
  const s = await supervisor()
  await s.start(program('echo "$KUBENODE_COMPONENT $KUBENODE_ROOT"; exec sleep 60'))
  const log = join(dir.logs, 'c.log')
  await until('the line', () => readFileSync(log, 'utf8').includes('\n'))
  expect([readFileSync(log, 'utf8'), s.reading('c')]).toEqual([`c ${dir.root}\n`, 'Running'])
})

test('starting what runs from that slot already does nothing', async () => {
  const s = await supervisor()
  await s.start(sleeper())
  const before = idOf()
  await s.start(sleeper())
  expect(idOf()).toEqual(before)
})

test('the next agent finds what runs and leaves it alone', async () => {
  await (await supervisor()).start(sleeper())
  const before = idOf()
  const next = await supervisor()
  await next.start(sleeper())
  expect([next.reading('c'), idOf()]).toEqual(['Running', before])
})

test('a process that was started right before a crash, and not written down, is found by its mark', async () => {
  await (await supervisor()).start(sleeper())
  const before = idOf()
  rmSync(processFile(dir, 'c'))
  const next = await supervisor()
  await next.start(sleeper())
  expect([next.reading('c'), idOf()]).toEqual(['Running', before])
})

test('a second process of a component is a stray and is killed', async () => {
  const first = await supervisor()
  await first.start(sleeper())
  const stray = idOf()
  const forgetful = new Supervisor({
    files: realFiles,
    dir,
    clock: systemClock,
    log: silentLogger,
    bootId: 'this',
    binFolder: '/bin',
    environment: {},
  })
  await forgetful.start({ ...sleeper(), slot: 'other' })
  forgetful.close()
  const kept = idOf()
  const next = await supervisor()
  await until('the end of the stray', () => livingStat(stray) === undefined)
  expect([next.reading('c'), livingStat(kept) !== undefined]).toEqual(['Running', true])
})

test('the last output is what was written since the last start', async () => {
  const s = await supervisor()
  await s.start(program('echo one; sleep 60'))
  await until('it wrote', () => readFileSync(join(dir.logs, 'c.log'), 'utf8') === 'one\n')
  expect(await s.lastOutput('c')).toBe('one\n')
  await s.stop('c')
  await s.start(program('sleep 60'))
  expect(await s.lastOutput('c')).toBe('')
})

test.each([
  ['exits with 3', 'exit 3', 'Always', 'Crashed', 'exited with code 3'],
  ['exits with 0 and must always run', 'exit 0', 'Always', 'Crashed', 'exited with code 0'],
  ['exits with 0 and may', 'exit 0', 'OnFailure', 'Ended', 'exited with code 0'],
  ['kills itself', 'kill -9 $$', 'OnFailure', 'Crashed', 'ended by SIGKILL'],
  ['fails and is never started again', 'exit 1', 'Never', 'Ended', 'exited with code 1'],
] as const)('what %s is seen', async (_what, script, restart, reading, why) => {
  const s = await supervisor()
  const seen: string[] = []
  s.onChange((component) => seen.push(`${component} ${s.reading(component)}`))
  await s.start(program(script, { restart }))
  await until('the end', () => s.reading('c') === reading)
  expect([s.describe('c'), seen.at(-1)]).toEqual([why, `c ${reading}`])
  expect(s.brakeMs('c') > 0).toBe(reading === 'Crashed')
})

test.each([
  ['has crashed when it was in this boot', 'this', 'Crashed'],
  ['has not crashed when the node booted since', 'next', 'Stopped'],
] as const)('what ended while no agent looked %s', async (_what, bootId, reading) => {
  const s = await supervisor()
  await s.start(sleeper())
  s.close()
  kill(idOf().pid, 'SIGKILL')
  await until('its end', () => livingStat(idOf()) === undefined)
  expect((await supervisor(bootId)).reading('c')).toBe(reading)
})

test('what is stopped by a signal is frozen, and runs again when it is continued', async () => {
  const s = await supervisor()
  await s.start(sleeper())
  kill(idOf().pid, 'SIGSTOP')
  await until('the freeze', () => s.reading('c') === 'Frozen')
  expect(s.brakeMs('c') > 1_000).toBe(true)
  kill(idOf().pid, 'SIGCONT')
  await until('the thaw', () => s.reading('c') === 'Running')
})

test.each([
  ['obeys TERM', 'exec sleep 60', false],
  ['ignores TERM', 'trap "" TERM; while :; do sleep 1; done', false],
  ['is frozen', 'exec sleep 60', true],
] as const)('what %s is stopped', async (_what, script, isFrozen) => {
  const s = await supervisor()
  await s.start(program(script))
  const id = idOf()
  if (isFrozen) kill(id.pid, 'SIGSTOP')
  await s.stop('c')
  expect([livingStat(id), s.reading('c')]).toEqual([undefined, 'Stopped'])
})

const childIds = (): readonly number[] => readFileSync(join(dir.logs, 'c.log'), 'utf8').trim().split(/\s+/).map(Number)

test.each([
  ['Process', 'stays in its group', 'sleep 60 & echo $!', false],
  ['Process', 'moved to a group of its own', 'setsid sh -c "echo \\$\\$; exec sleep 60" &', true],
  ['Group', 'stays in its group', 'sleep 60 & echo $!', false],
  ['Group', 'moved to a group of its own', 'setsid sh -c "echo \\$\\$; exec sleep 60" &', false],
] as const)('F33 with killMode %s a child that %s lives on: %#', async (killMode, _what, script, livesOn) => {
  const s = await supervisor()
  await s.start(program(`${script}\nwait; sleep 60`, { killMode }))
  await until('the child', () => childIds()[0] !== undefined && childIds()[0] !== 0)
  const [pid = 0] = childIds()
  const child = readStat(pid)
  if (child === undefined) throw new Error('the child is gone')
  // The next agent must not mistake it for a stray process either.
  s.close()
  await (await supervisor()).stop('c')
  expect(livingStat(child) !== undefined).toBe(livesOn)
  if (livesOn) kill(pid, 'SIGKILL')
})

test('F33 what a crashed component left behind in its group is gone before it is started again', async () => {
  const s = await supervisor()
  await s.start(program('sleep 60 & echo $!; exit 1', { killMode: 'Process' }))
  await until('the crash', () => s.reading('c') === 'Crashed')
  const [pid = 0] = childIds()
  // While it loads another program, its owner cannot be determined.
  await until('the child is a program of its own', () =>
    readFileSync(`/proc/${pid}/cmdline`, 'latin1').startsWith('sleep'),
  )
  const child = readStat(pid)
  await s.start(sleeper())
  expect([child !== undefined, child !== undefined && livingStat(child) !== undefined]).toEqual([true, false])
})

test('a user that the node does not have is refused, never replaced by root', async () => {
  const s = await supervisor()
  await expect(s.start(sleeper({ user: 'nobody-knows' }))).rejects.toThrow(
    /^KN8034: .*user nobody-knows does not exist/,
  )
})

test('a component runs as its user', async (context) => {
  if (geteuid?.() !== 0) context.skip('only root may change users')
  mkdirSync(join(dir.root, 'etc'))
  writeFileSync(join(dir.root, 'etc/passwd'), 'worker:x:4711:4712::/:/bin/sh\n')
  chmodSync(dir.path, 0o755)
  const s = await supervisor()
  await s.start(program('id -u; id -g; id -G; exec sleep 60', { user: 'worker' }))
  const log = join(dir.logs, 'c.log')
  await until('the lines', () => readFileSync(log, 'utf8').split('\n').length === 4)
  expect(readFileSync(log, 'utf8')).toBe('4711\n4712\n4712\n')
})

test('another process with the pid of an old one is not taken for it', async () => {
  const s = await supervisor()
  await s.start(sleeper())
  const id = idOf()
  expect([livingStat(id)?.pid, livingStat({ ...id, startTime: '1' })]).toEqual([id.pid, undefined])
})

test('a program that is not there is refused with the place of its log', async () => {
  const s = await supervisor()
  await expect(
    s.start({ ...sleeper(), service: { exec: '/nothing', restart: 'Always', killMode: 'Group' } }),
  ).rejects.toThrow(/^KN8030: cannot start c: .*ENOENT/)
})

test('a name with spaces and parentheses does not shift the fields of a process', () => {
  const fields = Array.from({ length: 40 }, (_, n) => String(n + 4)).join(' ')
  expect(parseStat(`42 (a) b (c) S 1 ${fields}`)).toEqual({
    pid: 42,
    state: 'S',
    group: 4,
    session: 5,
    startTime: '21',
  })
})
