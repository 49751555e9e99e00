import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { componentConditionType } from '#api/node-conditions.ts'
import { silentLogger } from '#lib/log.ts'
import { VirtualClock } from '#test/support/clocks/virtual-clock.ts'
import { realFiles } from '../files/real.ts'
import { nodeDir } from '../node-dir.ts'
import type { ComponentProblem } from './component-problems.ts'
import { ProblemBoard } from './problem-board.ts'

let folder = ''
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'kubenode-board-'))
  mkdirSync(join(folder, 'state'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

const CLEAR_MS = 3_000
const CRASHED: ComponentProblem = { reason: 'ComponentCrashed', message: 'ended with code 1' }

async function aBoard(clock: VirtualClock, problem: ComponentProblem | undefined, bootId = 'b') {
  const board = new ProblemBoard({
    files: realFiles,
    dir: nodeDir(folder),
    clock,
    log: silentLogger,
    bootId,
    sources: [],
    clearAfterMs: CLEAR_MS,
    components: () => new Map([['beacon', problem]]),
    onChange: () => undefined,
  })
  await board.start()
  const seen = () => {
    const found = board.problem(componentConditionType('beacon'))
    return found && { isTrue: found.isTrue, reason: found.reason }
  }
  return { board, seen }
}

test('an agent that is killed in a repair does not take the condition away that the repair waits for', async () => {
  const clock = new VirtualClock()
  const first = await aBoard(clock, CRASHED)
  expect(first.seen()).toEqual({ isTrue: true, reason: 'ComponentCrashed' })
  await first.board.close()
  const next = await aBoard(clock, undefined)
  expect(next.seen()).toEqual({ isTrue: true, reason: 'ComponentCrashed' })
  await clock.advance(CLEAR_MS + 100)
  expect(next.seen()).toEqual({ isTrue: false, reason: 'ComponentHealthy' })
  await next.board.close()
  const third = await aBoard(clock, undefined)
  expect(third.seen()).toEqual({ isTrue: false, reason: 'ComponentHealthy' })
  await third.board.close()
})

test('a boot ends it at once, unless the component is as unwell after it', async () => {
  const clock = new VirtualClock()
  await (await aBoard(clock, CRASHED)).board.close()
  const booted = await aBoard(clock, undefined, 'c')
  expect(booted.seen()).toEqual({ isTrue: false, reason: 'NodeBooted' })
  await booted.board.close()
  const unwell = await aBoard(clock, CRASHED, 'd')
  expect(unwell.seen()).toEqual({ isTrue: true, reason: 'ComponentCrashed' })
  await unwell.board.close()
})

const TRUE = { status: 'True', reason: 'Full', message: 'full', isKept: true } as const
const FALSE = { ...TRUE, status: 'False', reason: 'Fine' } as const
const owns = (type: string): boolean => type === 'DiskSpaceLow'

test('what each source found survives a restart, and a source that is gone no longer counts', async () => {
  const clock = new VirtualClock()
  const first = await aBoard(clock, undefined)
  first.board.open('log', { owns }).find('DiskSpaceLow', TRUE)
  first.board.open('disk', { owns }).find('DiskSpaceLow', FALSE)
  expect(first.board.problem('DiskSpaceLow')?.isTrue).toBe(true)
  const since = first.board.problem('DiskSpaceLow')?.since
  await first.board.close()
  await clock.advance(5_000)

  const second = await aBoard(clock, undefined)
  second.board.open('log', { owns })
  second.board.open('disk', { owns }).find('DiskSpaceLow', FALSE)
  second.board.dropUnopened()
  expect(second.board.problem('DiskSpaceLow')).toMatchObject({ isTrue: true, reason: 'Full', since })
  await second.board.close()

  const third = await aBoard(clock, undefined)
  third.board.open('disk', { owns })
  third.board.dropUnopened()
  expect(third.board.problem('DiskSpaceLow')).toMatchObject({ isTrue: false, reason: 'Fine' })
  await third.board.close()
})

test('what an agent kept that knew no sources counts until the source that may find it says otherwise', async () => {
  const kept = {
    type: 'DiskSpaceLow',
    isTrue: true,
    reason: 'Full',
    message: 'full',
    since: 5,
    seenAt: 1,
    isKept: true,
  }
  const problems = [kept, { ...kept, type: 'Forgotten' }]
  writeFileSync(join(folder, 'state/problems.json'), JSON.stringify({ bootId: 'b', problems }))
  const { board } = await aBoard(new VirtualClock(), undefined)
  const disk = board.open('disk', { owns })
  board.dropUnopened()
  expect(board.problem('DiskSpaceLow')).toMatchObject({ isTrue: true, reason: 'Full', since: 5 })
  expect(board.problem('Forgotten')).toBeUndefined()
  disk.find('DiskSpaceLow', FALSE)
  expect(board.problem('DiskSpaceLow')?.isTrue).toBe(false)
  await board.close()
})
