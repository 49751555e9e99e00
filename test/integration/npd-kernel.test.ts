// Real trouble of a real kernel, found: a line in its log, a process killed for memory, an error of a file system, a task that hangs. Needs root, and
// leaves nothing behind: whatever was frozen is thawed.
import { execFileSync, spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, rmdirSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { getuid } from 'node:process'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { parseDetect } from '#api/agent-config/detect-config.ts'
import { agentEvents } from '#agent/agent-events.ts'
import { Detection } from '#agent/detect/detection.ts'
import { ProblemBoard } from '#agent/detect/problem-board.ts'
import { realFiles } from '#agent/files/real.ts'
import { nodeDir } from '#agent/node-dir.ts'
import type { KubeClient } from '#kube/client.ts'
import { systemClock } from '#lib/system-clock.ts'
import { silentLogger } from '#lib/log.ts'
import { systemRandom } from '#lib/random.ts'
import type { KubeObject } from '#api/schema/object.ts'

const isRoot = getuid?.() === 0
const NO_ROOT = 'needs root'
const folder = mkdtempSync(join(tmpdir(), 'kubenode-kernel-'))
const name = basename(folder)
const events: string[] = []
let board: ProblemBoard
let detection: Detection | undefined

const rule = (reason: string, pattern: string) => ({ type: 'temporary', reason, pattern })
const monitor = {
  plugin: 'kmsg',
  logPath: '/dev/kmsg',
  lookback: '1s',
  source: 'kernel-monitor',
  conditions: [{ type: 'Announced', reason: 'Quiet', message: 'nothing was announced' }],
  rules: [
    { type: 'permanent', condition: 'Announced', reason: 'Announced', pattern: `${name}: trouble \\d+` },
    rule('OOMKilling', 'Killed process \\d+ (.+) total-vm:\\d+kB, anon-rss:\\d+kB, file-rss:\\d+kB.*'),
    rule('Ext4Error', 'EXT4-fs error .*'),
    rule('TaskHung', 'task [\\S ]+:\\w+ blocked for more than \\w+ seconds\\.'),
  ],
}

const off = ['disk', 'clock', 'crashLoops', 'certificates', 'kubelet', 'runtime']

beforeAll(async () => {
  if (!isRoot) return
  const client = {
    get: async () => undefined,
    create: async (_: unknown, o: KubeObject) => {
      events.push(`${String(o['reason'])}: ${String(o['note'])}`)
      return o
    },
    patch: async () => undefined,
  } as unknown as KubeClient
  const dir = nodeDir(folder, '/')
  const base = { files: realFiles, dir, clock: systemClock, random: systemRandom, log: silentLogger, bootId: 'b' }
  const components = () => new Map()
  const { detect, problems } = parseDetect({
    monitors: [{ config: monitor }],
    detectors: {
      ...Object.fromEntries(off.map((d) => [d, false])),
      readOnly: { everyMs: '200ms' },
      hungTasks: { everyMs: '200ms', afterMs: '1s' },
    },
  })
  expect(problems).toEqual([])
  board = new ProblemBoard({ ...base, sources: [], clearAfterMs: 10, components, onChange: () => undefined })
  detection = new Detection({
    ...base,
    environment: {},
    client,
    server: 'https://192.0.2.1',
    agentEvents: agentEvents({ client, clock: systemClock, machine: 'm', machineUid: () => undefined }),
    node: 'n',
    nodeUid: () => undefined,
    config: detect,
    board,
    machineClass: () => undefined,
    components,
  })
  await board.start()
  await detection.start()
})

afterAll(async () => {
  await detection?.close()
  await board?.close()
  rmSync(folder, { recursive: true, force: true })
})

async function until<T>(what: string, read: () => T | undefined, withinMs = 60_000): Promise<T> {
  const end = Date.now() + withinMs
  for (;;) {
    const value = read()
    if (value !== undefined) return value
    if (Date.now() > end) throw new Error(`${what} did not come; events: ${events.join(' | ')}`)
    await systemClock.sleep(20)
  }
}

const condition = (type: string, status: boolean): string | undefined => {
  const p = board.problem(type)
  return p?.isTrue === status ? p.message : undefined
}

test('a line that the kernel logs is a condition', async (context) => {
  if (!isRoot) return context.skip(NO_ROOT)
  writeFileSync('/dev/kmsg', `${name}: trouble 7\n`)
  expect(await until('the condition', () => condition('Announced', true))).toBe(`${name}: trouble 7`)
  return undefined
})

test('a process that the kernel kills for memory is reported', async (context) => {
  const group = `/sys/fs/cgroup/memory/${name}`
  if (!isRoot || !existsSync('/sys/fs/cgroup/memory'))
    return context.skip(`${NO_ROOT} and a memory cgroup of version 1`)
  mkdirSync(group)
  try {
    writeFileSync(join(group, 'memory.limit_in_bytes'), String(16 * 2 ** 20))
    // Reads a line without an end, and keeps it.
    const child = spawn('/bin/sh', ['-c', `echo $$ > ${group}/cgroup.procs && exec tail /dev/zero`], {
      stdio: 'ignore',
    })
    const [, signal] = (await once(child, 'exit')) as [number | null, string | null]
    expect(signal).toBe('SIGKILL')
    const told = await until('the event', () => events.find((e) => e.includes(`Killed process ${child.pid} (tail)`)))
    expect(told).toMatch(/^OOMKilling: /)
  } finally {
    rmdirSync(group)
  }
  return undefined
})

const run = (program: string, ...args: readonly string[]): string => execFileSync(program, args, { encoding: 'utf8' })

/** A small file system of this test; errors on it affect no other. */
async function withFileSystem(options: string, use: (mount: string, device: string) => Promise<void>): Promise<void> {
  const image = join(folder, 'image')
  const mount = join(folder, 'mount')
  mkdirSync(mount, { recursive: true })
  writeFileSync(image, Buffer.alloc(16 * 2 ** 20))
  run('mkfs.ext4', '-q', '-F', image)
  run('mount', '-o', `loop,${options}`, image, mount)
  try {
    const device = run('findmnt', '-n', '-o', 'SOURCE', mount).trim()
    await use(mount, device)
  } finally {
    run('umount', mount)
    rmSync(image, { force: true })
  }
}

test('an error of a file system is reported, and a read-only one becomes a condition', async (context) => {
  if (!isRoot) return context.skip(NO_ROOT)
  await withFileSystem('errors=remount-ro', async (mount, device) => {
    // A look while it is well.
    await systemClock.sleep(500)
    writeFileSync(`/sys/fs/ext4/${basename(device)}/trigger_fs_error`, name)
    await until('the event', () => events.find((e) => e.startsWith('Ext4Error: ') && e.includes(basename(device))))
    expect(await until('the condition', () => condition('FilesystemReadOnly', true))).toContain(mount)
  })
  await until('the end of the condition', () => condition('FilesystemReadOnly', false))
  return undefined
})

const HUNG = '/proc/sys/kernel/hung_task_timeout_secs'
const WARNINGS = '/proc/sys/kernel/hung_task_warnings'

test('a task that hangs in the kernel is reported by the kernel and found without it', async (context) => {
  if (!isRoot || !existsSync(HUNG)) return context.skip(`${NO_ROOT} and a kernel that watches for hung tasks`)
  const before = [HUNG, WARNINGS].map((path) => [path, readFileSync(path, 'utf8').trim()] as const)
  let child: ChildProcess | undefined
  try {
    await withFileSystem('errors=continue', async (mount) => {
      run('fsfreeze', '--freeze', mount)
      try {
        child = spawn('touch', [join(mount, 'x')], { stdio: 'ignore' })
        writeFileSync(HUNG, '1')
        writeFileSync(WARNINGS, '100')
        const { pid } = child
        await until('the event', () => events.find((e) => e.includes(`task touch:${pid} blocked`)), 30_000)
        expect(await until('the condition', () => condition('TasksHung', true))).toContain(`touch (${pid})`)
      } finally {
        run('fsfreeze', '--unfreeze', mount)
        if (child?.exitCode === null) await once(child, 'exit')
      }
    })
    await until('the end of the condition', () => condition('TasksHung', false))
  } finally {
    for (const [path, value] of before) writeFileSync(path, value)
  }
  return undefined
})
