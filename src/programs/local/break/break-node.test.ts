import { spawn, type ChildProcess } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { nodeDir } from '#agent/node-dir.ts'
import { clockAheadMs, MACHINE_FAULTS, spaceAt } from '#agent/played-host.ts'
import { cleanDisk, leastFree } from '#agent/repair/clean-disk.ts'
import { readStat } from '#agent/supervise/proc.ts'
import { systemClock } from '#lib/system-clock.ts'
import { nodeLayout, type NodeLayout } from '#providers/process/layout.ts'
import { DATA_FORMAT, HUB, layoutOf, writeState } from '../layout.ts'
import { takeLock } from '../lock.ts'
import { breakNode, provoke, undo } from './break-node.ts'

let folder = ''
let node: NodeLayout
let child: ChildProcess
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'kubenode-break-'))
  node = nodeLayout(folder, 'n-1')
  child = spawn('sleep', ['600'], { stdio: 'ignore' })
  mkdirSync(join(node.state, 'components/scribe'), { recursive: true })
})
afterEach(() => {
  child.kill('SIGKILL')
  rmSync(folder, { recursive: true, force: true })
})

const pid = () => child.pid ?? 0
const startTime = () => readStat(pid())?.startTime ?? ''
const state = () => readStat(pid())?.state
const record = (started: string) =>
  writeFileSync(
    join(node.state, 'components/scribe/process.json'),
    JSON.stringify({ id: { pid: pid(), startTime: started }, bootId: 'b', slot: 's' }),
  )

test('a component hangs until it is undone', async () => {
  record(startTime())
  expect(provoke('hung', node, {})).toBe(`component scribe (pid ${pid()}) is frozen (SIGSTOP)`)
  await expect.poll(state).toBe('T')
  undo('hung', node, {})
  await expect.poll(state).toBe('S')
})

test('a node of the hub is found, and the command to watch it is complete', async () => {
  const layout = layoutOf(join(folder, 'my fleet'))
  const release = takeLock(layout)
  try {
    writeState(layout, { format: DATA_FORMAT, ports: {} })
    const { nodes, adminKubeconfig } = layout.cluster(HUB)
    const { pid: file } = nodeLayout(nodes, 'n-1')
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, `${pid()} d8db9019-114f-433c-8fc9-d91d087b7994/${startTime()}\n`)
    let text = ''
    const io = {
      out: (more: string) => void (text += more),
      err: () => undefined,
      cwd: folder,
      env: {},
      isTerminal: false,
    }
    await breakNode('network', 'n-1', { data: layout.root }, io)
    expect(text).toContain(`watch: kubenode why node/n-1 --kubeconfig '${adminKubeconfig}'\n`)
  } finally {
    release()
  }
})

test('an agent is cut off by the pid in its file', async () => {
  writeFileSync(node.pid, `${pid()} d8db9019-114f-433c-8fc9-d91d087b7994/${startTime()}\n`)
  provoke('network', node, {})
  await expect.poll(state).toBe('T')
})

test('a pid that belongs to another process by now is left alone', () => {
  record('1')
  expect(() => provoke('hung', node, {})).toThrow('its process has ended')
  expect(() => provoke('network', node, {})).toThrow('its process has ended')
  expect(() => provoke('hung', node, { component: 'beacon' })).toThrow('running: scribe')
  expect(state()).not.toBe('T')
})

test('a line is written that a rule of the node reads, or nothing', () => {
  expect(() => provoke('kernel-log', node, {})).toThrow('no log rule')
  const rule = (pattern: string) => ({ condition: 'LampDark', reason: 'NoLight', pattern })
  const config = { logs: [{ path: '/var/log/messages', rules: [rule('lamp .*'), rule('lamp: dark')] }] }
  writeFileSync(node.agentConfig, JSON.stringify(config))
  provoke('kernel-log', node, {})
  const written = readFileSync(join(node.root, 'var/log/messages'), 'utf8')
  expect(written).toBe('lamp: dark (provoked by kubenode local break)\n')
})

test('a part is broken as its kernel would say it, and well again when it is undone', () => {
  const memory = join(node.root, 'sys/devices/system/edac/mc/mc0/dimm0')
  provoke('memory', node, {})
  expect(readFileSync(join(memory, 'dimm_ue_count'), 'utf8')).toBe('1\n')
  expect(readFileSync(join(memory, 'dimm_label'), 'utf8')).toBe('DIMM_A1\n')
  undo('memory', node, {})
  expect(readFileSync(join(memory, 'dimm_ue_count'), 'utf8')).toBe('0\n')
  provoke('card', node, {})
  expect(existsSync(join(node.root, 'sys/bus/pci/devices/0000:3b:00.0/aer_dev_fatal'))).toBe(true)
})

test('a disk is full until its old files are cleaned, as the agent would, and is that of this machine again when undone', async () => {
  mkdirSync(node.root, { recursive: true })
  writeFileSync(join(node.root, 'program'), Buffer.alloc(1_000_000, 'x'))
  const dir = nodeDir(node.dir)
  const freePercent = async () => leastFree(await spaceAt(dir, node.root))
  const own = await freePercent()
  provoke('disk', node, {})
  expect(await freePercent()).toBeLessThan(10)
  const wanted = { olderThan: '168h', journal: false, images: true, untilFree: 20, dryRun: false }
  const cleaned = await cleanDisk({ dir, clock: systemClock }, wanted, new AbortController().signal)
  expect(cleaned.outcome).toBe('Succeeded')
  expect(await freePercent()).toBeGreaterThanOrEqual(20)
  undo('disk', node, {})
  expect(await freePercent()).toBe(own)
  expect(readdirSync(join(node.root, 'var/tmp'))).toEqual([])
})

test('a clock is ahead until it is undone, and never that of a whole host, unless that is a systemd machine of another one', () => {
  const dir = nodeDir(node.dir)
  expect(clockAheadMs(dir)).toBe(0)
  provoke('clock', node, {})
  expect(clockAheadMs(dir)).toBe(60_000)
  const host = nodeDir(node.dir, '/')
  expect(clockAheadMs(host, folder)).toBe(0)
  mkdirSync(join(folder, MACHINE_FAULTS), { recursive: true })
  writeFileSync(join(folder, MACHINE_FAULTS, 'clock'), '90000\n')
  expect(clockAheadMs(host, folder)).toBe(0)
  mkdirSync(join(folder, 'run/systemd'), { recursive: true })
  writeFileSync(join(folder, 'run/systemd/container'), 'systemd-nspawn\n')
  expect(clockAheadMs(host, folder)).toBe(90_000)
  writeFileSync(node.playedClock, 'soon')
  expect(clockAheadMs(dir)).toBe(0)
  undo('clock', node, {})
  expect(existsSync(node.playedClock)).toBe(false)
})
