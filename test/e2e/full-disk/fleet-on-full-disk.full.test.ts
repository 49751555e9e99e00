// A whole fleet on a disk that fills up and stays full: nothing exits, killed processes restart, and work continues when there is room.
import { spawnSync } from 'node:child_process'
import { closeSync, mkdirSync, openSync, rmSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { until } from '#test/support/tools/processes.ts'
import { PATIENCE_MS, TestFleet } from '../whole-way/fleet.ts'

/** An agent installs nothing on a disk with less than 257 MiB of room. */
const DISK = 'size=600m'
const PIECE = Buffer.alloc(4_096, 1)
/** Several rounds of heartbeats, state files and log lines. */
const FULL_MS = 20_000

/** Pauses between restarts grow to ten seconds, those of agents to thirty. */
const RESTART_WITHIN_MS = 30_000

/** The end of each log, for the message of a failure. */
const logsIn = (data: string): string => {
  const { stdout } = spawnSync('sh', ['-c', `tail -n 4 ${data}/logs/*.log ${data}/*/nodes/*/logs/agent.log`], {
    encoding: 'utf8',
  })
  return stdout
}

let fleet: TestFleet | undefined
let filler: Filler | undefined
afterEach(async () => {
  filler?.free()
  await fleet?.end('SIGKILL')
  for (const { pid } of fleet?.processes() ?? []) process.kill(pid, 'SIGKILL')
  if (fleet !== undefined) spawnSync('umount', ['-l', fleet.data])
  await fleet?.dispose()
})

/** Takes all room there is. */
class Filler {
  readonly #path: string
  readonly #file: number

  constructor(path: string) {
    this.#path = path
    this.#file = openSync(path, 'w')
    this.fill()
  }

  fill(): void {
    for (;;) {
      try {
        writeSync(this.#file, PIECE)
      } catch {
        return
      }
    }
  }

  free(): void {
    closeSync(this.#file)
    rmSync(this.#path)
  }
}

test('F43 a fleet on a full disk', { timeout: 2 * PATIENCE_MS }, async (context) => {
  fleet = new TestFleet()
  const { data } = fleet
  mkdirSync(data)
  if (spawnSync('mount', ['-t', 'tmpfs', '-o', DISK, 'tmpfs', data]).status !== 0)
    context.skip('a small disk cannot be mounted here: no root')
  // Another file system than the checkout's, so this is also what `--data` there does.
  fleet.start('--nodes', '2')
  await fleet.settled()

  // In the middle.
  const found = (part: string) => fleet?.processes(part) ?? []
  const programs = () => [...found('/main.mjs'), ...found('agent-main')]
  const components = () => found('/root/opt/')
  const running = () =>
    [...programs(), ...components()].map(({ pid, command }) => `${pid} ${command}`).toSorted((a, b) => (a < b ? -1 : 1))
  const before = running()
  filler = new Filler(join(data, 'fill'))
  await new Promise((done) => setTimeout(done, FULL_MS))
  expect(running()).toEqual(before)
  await fleet.settled()

  // At the start.
  const killed = programs()
  // The API server of the hub, those of the clusters, approvers and the other roles have a program each; and two agents in each cluster.
  expect(killed.length).toBe(4 + 2 * 2)
  const isKilled = (pid: number) => killed.some((k) => k.pid === pid)
  for (const { pid } of killed) process.kill(pid, 'SIGKILL')
  // their space is free for a moment
  await until('they are gone', () => !programs().some((p) => isKilled(p.pid)) || undefined, 10_000)
  filler.fill()
  await until(
    'every program runs again',
    () => {
      const started = programs().filter((p) => !isKilled(p.pid))
      if (started.length === killed.length) return true
      const last = `${fleet?.said.slice(-2_000)}\n${logsIn(data)}`
      throw new Error(`${started.map((p) => p.command).join('\n')}\n${last}`)
    },
    RESTART_WITHIN_MS,
  )
  await fleet.settled()
  const again = running()
  await new Promise((done) => setTimeout(done, FULL_MS))
  expect(running()).toEqual(again)

  // There is room again.
  filler.free()
  filler = undefined
  fleet.setVersion('beacon', '1.1.0')
  await fleet.settled()
  expect(programs().filter(({ pid }) => !again.some((line) => line.startsWith(`${pid} `)))).toEqual([])

  // The terminal closes, which is signaled more than once.
  filler = new Filler(join(data, 'fill'))
  const ended = fleet.end('SIGHUP')
  await fleet.end('SIGHUP')
  // As a shell names the end by this signal.
  expect(await ended).toBe(129)
  expect(fleet.processes()).toEqual([])
})
