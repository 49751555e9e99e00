// Real processes, observed through files of /proc that stay open.
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readlinkSync } from 'node:fs'
import { kill } from 'node:process'
import { afterEach, expect, test } from 'vitest'
import { readStat, type ProcessId } from './proc.ts'
import { ProcessStates } from './process-states.ts'

const children: ChildProcess[] = []
const states = new ProcessStates()
afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL')
  states.keepOnly([])
})

async function sleeper(): Promise<{ readonly child: ChildProcess; readonly id: ProcessId }> {
  const child = spawn('sleep', ['60'], { stdio: 'ignore' })
  children.push(child)
  await once(child, 'spawn')
  const stat = readStat(child.pid ?? 0)
  if (stat === undefined) throw new Error('the sleeper is gone')
  return { child, id: { pid: stat.pid, startTime: stat.startTime } }
}

/** How many of them are held open. */
const held = (...ids: readonly ProcessId[]): number =>
  readdirSync('/proc/self/fd').filter((fd) => {
    try {
      return ids.some(({ pid }) => readlinkSync(`/proc/self/fd/${fd}`) === `/proc/${pid}/stat`)
    } catch {
      // The descriptor that reads the folder.
      return false
    }
  }).length

test('a process sleeps, is stopped, goes on and ends', async () => {
  const { child, id } = await sleeper()
  await expect.poll(() => states.state(id)).toBe('S')
  kill(id.pid, 'SIGSTOP')
  await expect.poll(() => states.state(id)).toBe('T')
  kill(id.pid, 'SIGCONT')
  await expect.poll(() => states.state(id)).toBe('S')
  child.kill('SIGKILL')
  await once(child, 'exit')
  expect(states.state(id)).toBeUndefined()
  expect(states.state(id)).toBeUndefined()
})

test('another process of the same pid is not the one asked for', async () => {
  const { id } = await sleeper()
  expect(states.state({ ...id, startTime: '1' })).toBeUndefined()
})

test('one descriptor a process stays open, for as long as it is asked for', async () => {
  const [one, two] = [await sleeper(), await sleeper()]
  for (let n = 0; n < 3; n++) for (const { id } of [one, two]) states.state(id)
  expect(held(one.id, two.id)).toBe(2)
  states.keepOnly([one.id])
  expect(held(one.id, two.id)).toBe(1)
  one.child.kill('SIGKILL')
  await once(one.child, 'exit')
  states.state(one.id)
  expect(held(one.id, two.id)).toBe(0)
})
