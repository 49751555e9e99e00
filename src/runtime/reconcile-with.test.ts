import { ApiError, failure } from '#kube/errors.ts'
import { KubeNodeError } from '#lib/errors.ts'
import { type LogFields, silentLogger } from '#lib/log.ts'
import { expect, test } from 'vitest'
import type { ReconcileContext } from './controller.ts'
import {
  type ActionOutcome,
  type ActionResult,
  type Plan,
  outdated,
  reconcileWith,
  waitingWhileBlind,
} from './reconcile-with.ts'
import { runtimeErrors } from './runtime-errors.ts'

type Step = { readonly kind: 'Create' | 'Delete'; readonly reason: string; readonly name: string }

const create = (name: string): Step => ({ kind: 'Create', reason: 'missing', name })
const applied: ActionOutcome = { kind: 'Applied', object: undefined }
const conflict: ActionOutcome = {
  kind: 'Conflict',
  error: new ApiError(failure(409, 'changed'), { action: 'update', target: 'nodes/a' }),
}

function setup(plan: Plan<Step>, outcomes: Readonly<Record<string, ActionOutcome>> = {}, written?: ActionOutcome) {
  const acted: string[] = []
  const statuses: (readonly ActionResult<Step>[])[] = []
  const abort = new AbortController()
  const context: ReconcileContext = { reconcileId: 'r', signal: abort.signal, failures: 0, log: silentLogger }
  const reconcile = reconcileWith<{ readonly at: number }, Step, string>({
    clock: { now: () => 42 },
    observe: async (key) => (key === 'absent' ? undefined : { at: 1 }),
    plan: (seen, now) => {
      expect([seen.at, now]).toEqual([1, 42])
      return plan
    },
    act: async (action) => {
      acted.push(action.name)
      if (action.name === 'abort') abort.abort()
      return outcomes[action.name] ?? applied
    },
    status: (_seen, _plan, results) => (statuses.push(results), 'status'),
    writeStatus: async () => written,
  })
  return { acted, statuses, run: (key = 'a') => reconcile(key, context) }
}

test('actions are carried out in order and the key is done', async () => {
  const { acted, run } = setup({ actions: [create('x'), create('y')], notices: [] })
  expect(await run()).toEqual({ kind: 'Done' })
  expect(acted).toEqual(['x', 'y'])
})

test('a plan that waits is looked at again when it says', async () => {
  const { run } = setup({ actions: [], notices: [], requeueAfter: 5_000 })
  expect(await run()).toEqual({ kind: 'Requeue', afterMs: 5_000 })
})

test('nothing follows an action that failed, and the status hears of both', async () => {
  const { acted, statuses, run } = setup({ actions: [create('x'), create('y')], notices: [] }, { x: conflict })
  expect(await run()).toMatchObject({ kind: 'Retry', error: { code: 'KN2409' } })
  expect(acted).toEqual(['x'])
  expect(statuses.map((results) => results.map((r) => r.outcome.kind))).toEqual([['Conflict', 'NotTried']])
})

test('an object that is gone needs no plan', async () => {
  const { acted, statuses, run } = setup({ actions: [create('x')], notices: [] })
  expect(await run('absent')).toEqual({ kind: 'Done' })
  expect([acted, statuses]).toEqual([[], []])
})

test('no action is begun after the signal', async () => {
  const { acted, run } = setup({ actions: [create('abort'), create('y')], notices: [] })
  expect(await run()).toMatchObject({ kind: 'Retry', error: { code: 'KN3001' } })
  expect(acted).toEqual(['abort'])
})

test('a status that was not written is tried again', async () => {
  const { run } = setup({ actions: [], notices: [], requeueAfter: 5_000 }, {}, conflict)
  expect(await run()).toMatchObject({ kind: 'Retry', error: { code: 'KN2409' } })
})

test('a decision whose reason is gone is made again', async () => {
  const { run } = setup({ actions: [create('x')], notices: [] }, { x: outdated('the node changed') })
  expect(await run()).toMatchObject({ kind: 'Retry', error: { code: 'KN3001', retry: 'now' } })
})

test('actions that do not rest on each other are all tried, some at once, and the first failure is retried', async () => {
  const [abort, released] = [new AbortController(), Promise.withResolvers<void>()]
  let [running, most] = [0, 0]
  let results: readonly ActionResult<Step, string>[] = []
  const reconcile = reconcileWith<object, Step, object, Plan<Step>, string>({
    clock: { now: () => 42 },
    observe: async () => ({}),
    plan: () => ({ actions: ['a', 'b', 'c', 'd'].map(create), notices: [] }),
    independentAtOnce: 2,
    logged: ({ name }) => (name === 'd' ? undefined : { name }),
    act: async ({ name }) => {
      most = Math.max(most, ++running)
      if (most === 2) released.resolve()
      await released.promise
      running--
      return name === 'b' ? conflict : { kind: 'Applied', object: name }
    },
    status: (_seen, _plan, all) => void (results = all),
  })
  const lines: unknown[] = []
  const log = { ...silentLogger, info: (_: string, fields?: LogFields) => void lines.push(fields?.['name']) }
  const context: ReconcileContext = { reconcileId: 'r', signal: abort.signal, failures: 0, log }
  expect(await reconcile('key', context)).toMatchObject({ kind: 'Retry', error: { code: 'KN2409' } })
  expect(results.map(({ action, outcome }) => [action.name, outcome.kind])).toEqual([
    ['a', 'Applied'],
    ['b', 'Conflict'],
    ['c', 'Applied'],
    ['d', 'Applied'],
  ])
  expect(most).toBe(2)
  // The last one brought nothing new.
  expect(new Set(lines)).toEqual(new Set(['a', 'b', 'c']))
  expect(lines).toHaveLength(3)
})

test('a reconcile that cannot see waits, which is no failure of its key', async () => {
  const context: ReconcileContext = {
    reconcileId: 'r',
    signal: new AbortController().signal,
    failures: 0,
    log: silentLogger,
  }
  const blind = waitingWhileBlind(async () => {
    throw new KubeNodeError(runtimeErrors.KN3050({ what: 'nodes' }), { retry: 'later' })
  })
  expect(await blind('key', context)).toMatchObject({ kind: 'Requeue' })
  await expect(waitingWhileBlind(() => Promise.reject(new Error('a bug')))('key', context)).rejects.toThrow('a bug')
})
