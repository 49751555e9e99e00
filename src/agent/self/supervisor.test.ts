// The agent's supervisor, with real processes instead of agents.
import {
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
  existsSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { execPath } from 'node:process'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { systemClock } from '#lib/system-clock.ts'
import { silentLogger } from '#lib/log.ts'
import { superviseAgent } from './supervisor.ts'
import { MAX_ENDS, REPORT_WITHIN_MS, judgeTrial, pauseMs } from './supervision.ts'
import {
  AGENT_PROGRAM,
  agentCurrentLink,
  agentSlotFolder,
  parseSwitch,
  reportedFile,
  switchFile,
} from './switch-file.ts'

const OLD = 'aaaaaaaaaaaaaaaa-0'
const NEW = 'bbbbbbbbbbbbbbbb-0'
let state: string
let running: { stop: AbortController; done: Promise<number> } | undefined

beforeEach(() => {
  state = mkdtempSync(join(tmpdir(), 'kubenode-self-'))
  writeFileSync(join(state, 'joined.mjs'), says('joined', 'setInterval(() => {}, 1000)'))
})
afterEach(async () => {
  running?.stop.abort()
  await running?.done
  running = undefined
  rmSync(state, { recursive: true, force: true })
})

/** An agent that records its start, then runs the given script. */
const says = (name: string, script: string): string =>
  `import fs from 'node:fs'\nfs.appendFileSync(${JSON.stringify(join(state, 'starts'))}, '${name} ' + process.argv.at(-1) + '\\n')\n${script}\n`

function put(slot: string, script: string): void {
  const path = join(agentSlotFolder(state, slot), AGENT_PROGRAM)
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, says(slot.slice(0, 1), script))
}

function point(slot: string): void {
  rmSync(agentCurrentLink(state), { force: true })
  symlinkSync(agentSlotFolder(state, slot), agentCurrentLink(state))
}

const starts = (): readonly string[] =>
  existsSync(join(state, 'starts')) ? readFileSync(join(state, 'starts'), 'utf8').split('\n').slice(0, -1) : []

function supervise(): void {
  const stop = new AbortController()
  const options = {
    state,
    node: execPath,
    program: join(state, 'joined.mjs'),
    args: [],
    clock: systemClock,
    log: silentLogger,
  }
  running = { stop, done: superviseAgent({ ...options, signal: stop.signal }) }
}

async function until(what: string, isTrue: () => boolean): Promise<void> {
  const end = Date.now() + 15_000
  while (!isTrue()) {
    if (Date.now() > end) throw new Error(`${what} did not come: ${starts().join(', ')}`)
    await systemClock.sleep(10)
  }
}

const stays = 'setInterval(() => {}, 1000)'
const switchTo = (from: string): string => JSON.stringify({ to: NEW, from })

test('starts the copy that the host was joined with, and what is current once there is such', async () => {
  supervise()
  await until('the first', () => starts().length === 1)
  running?.stop.abort()
  await running?.done
  put(OLD, stays)
  point(OLD)
  supervise()
  await until('the second', () => starts().length === 2)
  expect(starts()).toEqual(['joined ', `a ${OLD}`])
})

test('an agent that asks for a switch is followed by the new one at once', async () => {
  put(NEW, stays)
  put(
    OLD,
    `fs.writeFileSync(${JSON.stringify(switchFile(state))}, ${JSON.stringify(switchTo(OLD))})
     fs.rmSync(${JSON.stringify(agentCurrentLink(state))}); fs.symlinkSync(${JSON.stringify(agentSlotFolder(state, NEW))}, ${JSON.stringify(agentCurrentLink(state))})
     process.exit(76)`,
  )
  point(OLD)
  supervise()
  await until('the new one', () => starts().length === 2)
  expect(starts()).toEqual([`a ${OLD}`, `b ${NEW}`])
})

test.each([
  ['cannot start', OLD, 'process.exit(1)'],
  ['ends well again and again', OLD, 'process.exit(0)'],
  ['reports and then crashes', '', `fs.writeFileSync(${JSON.stringify('REPORTED')}, '${NEW}'); process.exit(1)`],
] as const)('a new agent that %s makes room for the one before', async (_what, from, script) => {
  put(NEW, script.replace('REPORTED', reportedFile(state)))
  put(OLD, stays)
  point(NEW)
  writeFileSync(switchFile(state), switchTo(from))
  supervise()
  await until('the one before', () => starts().length === MAX_ENDS + 1)
  expect(starts().at(-1)).toBe(from === '' ? 'joined ' : `a ${OLD}`)
  expect(parseSwitch(readFileSync(switchFile(state), 'utf8'))?.gaveUp).toMatch(/ended 3 times during its trial/)
  if (from !== '') expect(readlinkSync(agentCurrentLink(state))).toBe(agentSlotFolder(state, OLD))
})

test('what cannot be noted on a full disk is noted later, and the one before runs meanwhile', async () => {
  put(NEW, 'process.exit(1)')
  put(OLD, `setInterval(() => fs.existsSync(${JSON.stringify(join(state, 'end'))}) && process.exit(1), 10)`)
  point(NEW)
  writeFileSync(switchFile(state), switchTo(OLD))
  // blocks the file that is written
  mkdirSync(`${switchFile(state)}.back`)
  supervise()
  await until('the one before', () => starts().length === MAX_ENDS + 1)
  expect(starts().at(-1)).toBe(`a ${OLD}`)
  const gaveUp = () => parseSwitch(readFileSync(switchFile(state), 'utf8'))?.gaveUp
  expect(gaveUp()).toBeUndefined()
  rmSync(`${switchFile(state)}.back`, { recursive: true })
  writeFileSync(join(state, 'end'), '')
  await until('the note', () => gaveUp() !== undefined)
  await until('another start', () => starts().length > MAX_ENDS + 1)
  expect(starts().at(-1)).toBe(`a ${OLD}`)
})

test('an agent without a trial is started again and again', async () => {
  writeFileSync(join(state, 'joined.mjs'), says('joined', 'process.exit(1)'))
  supervise()
  await until('three starts', () => starts().length === 3)
})

const open = { to: NEW, from: OLD }
test.each([
  ['no trial', { open: undefined, reported: undefined, ends: 9, forMs: 1e9 }, 'None'],
  ['one that is given up', { open: { ...open, gaveUp: 'x' }, reported: undefined, ends: 9, forMs: 1e9 }, 'None'],
  ['a young one', { open, reported: OLD, ends: 0, forMs: 1 }, 'Wait'],
  ['one that reported', { open, reported: NEW, ends: 1, forMs: 1e9 }, 'Passed'],
  ['one that is silent for too long', { open, reported: undefined, ends: 0, forMs: REPORT_WITHIN_MS }, 'GoBack'],
  ['one that keeps ending', { open, reported: NEW, ends: MAX_ENDS, forMs: 1 }, 'GoBack'],
] as const)('the verdict on %s', (_what, trial, kind) => expect(judgeTrial(trial).kind).toBe(kind))

test('pauses grow and end', () => {
  expect([pauseMs(0, 1), pauseMs(3, 1), pauseMs(99, 1), pauseMs(99, 60_000)]).toEqual([500, 4_000, 30_000, 500])
})
