// The supervisor port, tested on both implementations: our own supervisor with processes of this machine, and systemd in a machine of its own.
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { execPath, kill } from 'node:process'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { realFiles } from '#agent/files/real.ts'
import { nodeDir, type NodeDir } from '#agent/node-dir.ts'
import type { Processes, Service, StartRequest } from '#agent/supervise/port.ts'
import { Supervisor } from '#agent/supervise/supervisor.ts'
import { createSystemctl } from '#agent/supervise/systemd/systemctl.ts'
import { kernelHere } from '#agent/supervise/systemd/kernel.ts'
import { Systemd } from '#agent/supervise/systemd/systemd.ts'
import { systemClock } from '#lib/system-clock.ts'
import { silentLogger } from '#lib/log.ts'
import { HostMachine, noMachines } from '../agent-host/machine.ts'

interface Subject {
  readonly dir: NodeDir
  /** Another agent on the same node. */
  next(): Processes
  signal(pid: number, signal: NodeJS.Signals): void
  remove(): Promise<void>
}

const common = {
  files: realFiles,
  clock: systemClock,
  log: silentLogger,
  environment: {},
}
/** Reading our own processes costs little. */
const OFTEN = { lookEveryMs: 50, frozenAfterMs: 150 }
/** Reading those of systemd starts a program. */
const SELDOM = { lookEveryMs: 200, frozenAfterMs: 600 }
/** Of what a busy machine may miss. */
const MOST_TRIES = 5
/** What comes at once on an idle machine. */
const PATIENCE_MS = 120_000

async function ownSupervisor(): Promise<Subject> {
  const dir = nodeDir(mkdtempSync(join(tmpdir(), 'kubenode-processes-')))
  return {
    dir,
    next: () =>
      new Supervisor({ ...common, ...OFTEN, dir, bootId: 'this', binFolder: dirname(execPath), graceMs: 500 }),
    signal: (pid, signal) => void kill(pid, signal),
    remove: async () => rmSync(dir.path, { recursive: true, force: true }),
  }
}

async function systemd(): Promise<Subject> {
  const machine = new HostMachine([])
  await machine.boot()
  const dir = nodeDir(join(machine.folder, 'node'), machine.root)
  const inside = ['nsenter', '-t', String(machine.leader()), '-a'] as const
  return {
    dir,
    next: () =>
      new Systemd({
        ...common,
        ...SELDOM,
        dir,
        systemctl: createSystemctl([...inside, 'systemctl']),
        kernel: kernelHere(`/proc/${machine.leader()}/root/proc`),
      }),
    signal: (pid, signal) => void machine.run('kill', `-${signal.slice(3)}`, String(pid)),
    remove: () => machine.remove(),
  }
}

const SUBJECTS: readonly [name: string, make: () => Promise<Subject>, missing: string | undefined][] = [
  ['our own supervisor', ownSupervisor, undefined],
  ['systemd', systemd, noMachines()],
]

describe.each(SUBJECTS)('%s', (_name, make, missing) => {
  let subject: Subject
  let processes: Processes
  const others: Processes[] = []

  beforeAll(async () => {
    if (missing !== undefined) return
    subject = await make()
    for (const folder of [
      subject.dir.root,
      subject.dir.state,
      subject.dir.logs,
      join(subject.dir.state, 'components/c'),
    ])
      mkdirSync(folder, { recursive: true })
  })
  afterAll(async () => {
    if (missing === undefined) await subject.remove()
  })

  beforeEach(async (context) => {
    if (missing !== undefined) context.skip(missing)
    processes = await another()
  })
  afterEach(async () => {
    if (missing !== undefined) return
    await processes.stop('c')
    await processes.forget?.('c', program('').service)
    for (const p of others.splice(0)) p.close()
  })

  async function another(): Promise<Processes> {
    const made = subject.next()
    others.push(made)
    await made.adopt()
    return made
  }

  function program(script: string, service: Partial<Service> = {}, slot = 'one'): StartRequest {
    if (script !== '') writeFileSync(join(subject.dir.root, 'component'), `#!/bin/sh\n${script}\n`, { mode: 0o755 })
    return { component: 'c', slot, service: { exec: '/component', restart: 'Always', killMode: 'Group', ...service } }
  }
  const sleeper = (more: Partial<Service> = {}, slot?: string): StartRequest => program('sleep 1000', more, slot)

  async function until(what: string, isTrue: () => boolean): Promise<void> {
    const end = Date.now() + PATIENCE_MS
    while (!isTrue()) {
      if (Date.now() > end)
        throw new Error(`${what} did not come: ${processes.reading('c')} ${processes.describe('c') ?? ''}`)
      await systemClock.sleep(10)
    }
  }
  const reads = (reading: string, of = processes) => until(reading, () => of.reading('c') === reading)
  const pid = (of = processes): number => of.main?.('c') ?? 0

  test('runs what is started, and knows nothing else', async () => {
    expect([processes.reading('c'), processes.brakeMs('c')]).toEqual(['Stopped', 0])
    await processes.start(sleeper())
    expect([processes.reading('c'), pid() > 1, processes.describe('c')]).toEqual(['Running', true, undefined])
  })

  test('leaves alone what runs from that slot, restarts another slot, and keeps what it has to keep', async () => {
    await processes.start(sleeper())
    const first = pid()
    await processes.start(sleeper())
    expect(pid()).toBe(first)
    await processes.start({ ...sleeper({}, 'two'), keep: true })
    expect(pid()).toBe(first)
    await processes.start(sleeper({}, 'two'))
    expect(pid()).toBe(first)
    await processes.start(sleeper({}, 'three'))
    expect([pid() === first, processes.reading('c')]).toEqual([false, 'Running'])
  })

  test('is found by the next agent as it runs', async () => {
    await processes.start(sleeper())
    const first = pid()
    processes.close()
    const next = await another()
    await next.start(sleeper())
    expect([next.reading('c'), pid(next)]).toEqual(['Running', first])
  })

  test('tells of a crash', async () => {
    await processes.start(sleeper())
    const seen: string[] = []
    processes.onChange((c) => seen.push(`${c} ${processes.reading(c)}`))
    subject.signal(pid(), 'SIGKILL')
    await until('the crash', () => seen.includes('c Crashed'))
  })

  /** By a shell that kills itself, or by another program. */
  test.each([
    ['killed from outside', 'sleep 1000', 'SIGKILL', 'ended by SIGKILL', false],
    ['told to end from outside', 'exec sleep 1000', 'SIGTERM', 'ended by SIGTERM', false],
    ['exits with an error', 'exit 3', undefined, 'exited with code 3', true],
    ['gives up', 'kill -ABRT $$; sleep 1000', undefined, 'ended by SIGABRT', true],
    ['touches memory that is not its own', 'kill -SEGV $$; sleep 1000', undefined, 'ended by SIGSEGV', true],
  ] as const)('F42 tells whether an end is evidence: one that %s', async (_what, script, signal, how, isEvidence) => {
    // A machine that is busy for a second lets systemd start it again first, and how it ended is known no longer.
    for (let tries = 0; tries < MOST_TRIES; tries++) {
      await processes.stop('c')
      await processes.start(program(`sleep 0.2\n${script}`))
      if (signal !== undefined) subject.signal(pid(), signal)
      await reads('Crashed')
      if (processes.end('c')?.how !== 'ended') break
    }
    // A core dump is said where the machine keeps them.
    expect({ ...processes.end('c'), how: processes.end('c')?.how.replace(' with a core dump', '') }).toEqual({
      how,
      isEvidence,
    })
  })

  test('F42 an end that no agent observed is no evidence', async () => {
    await processes.start(sleeper())
    const main = pid()
    processes.close()
    subject.signal(main, 'SIGKILL')
    await systemClock.sleep(100)
    const next = await another()
    await reads('Crashed', next)
    expect(next.end('c')?.isEvidence).toBe(false)
  })

  test('tells an end that may be from a crash', async () => {
    await processes.start(program('exit 0', { restart: 'OnFailure' }))
    await reads('Ended')
  })

  test('sees what is frozen, and that it is not any more', async () => {
    await processes.start(sleeper())
    subject.signal(pid(), 'SIGSTOP')
    await reads('Frozen')
    expect(processes.brakeMs('c') > 0).toBe(true)
    subject.signal(pid(), 'SIGCONT')
    await reads('Running')
  })

  test('stops what ignores TERM, and what is frozen', async () => {
    await processes.start(program('trap "" TERM; while :; do sleep 1; done'))
    subject.signal(pid(), 'SIGSTOP')
    await processes.stop('c')
    expect(processes.reading('c')).toBe('Stopped')
    expect((await another()).reading('c')).toBe('Stopped')
  })

  test('passes a signal on', async () => {
    const told = join(subject.dir.root, 'told')
    // Paths of components are relative to their node; reports use the given name.
    const path = subject.dir.path === dirname(subject.dir.root) ? told : '/told'
    await processes.start(program(`trap "echo read >> ${path}" HUP; echo ready > ${path}; while :; do sleep 0.1; done`))
    const says = (text: string) => until(text, () => existsSync(told) && readFileSync(told, 'utf8') === text)
    await says('ready\n')
    processes.signal('c', 'SIGHUP')
    await says('ready\nread\n')
  })
})
