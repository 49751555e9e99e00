// Model check of a repair: job, permit and steps, with an executor that may crash between any two moments.
import { describe, expect, test } from 'vitest'
import { explore, type Model, type Move } from '../../../test/support/protocol/explore.ts'
import { nextJobPhase, nextStepState, type JobPhase, type StepState } from './job.ts'
import { nextPermitPhase, type PermitPhase } from './permit.ts'

interface Step {
  readonly state: StepState
  /** Times that the work was really done. */
  readonly done: number
  readonly attempts: number
}

interface World {
  readonly job: JobPhase
  readonly fault: boolean
  readonly permit: PermitPhase | 'None'
  readonly steps: readonly Step[]
  /** The step the running executor is about to do or is doing; lost in a crash. */
  readonly holding: number
  readonly crashes: number
}

interface Bugs {
  /** The step runs before it is recorded. */
  readonly recordsAfter?: boolean
  /** A restarted executor repeats a step with an unknown result. */
  readonly repeatsUnknown?: boolean
}

const MAX_CRASHES = 2
const MAX_ATTEMPTS = 2

function repair(safeToRepeat: boolean, bugs: Bugs = {}): Model<World> {
  const withStep = (w: World, i: number, change: Partial<Step>): World => ({
    ...w,
    steps: w.steps.map((s, k) => (k === i ? { ...s, ...change } : s)),
  })

  function jobMoves(w: World): readonly Move<World>[] {
    const facts = {
      faultPresent: w.fault,
      sameNode: true,
      mayAct: true,
      permitGrantedNow: w.permit === 'Granted',
      stepsSucceeded: w.steps.every((s) => s.state === 'Succeeded'),
      noStepStarted: w.steps.every((s) => s.state !== 'Started'),
      outcomeKnown:
        !w.fault ||
        w.job === 'Verifying' ||
        w.steps.some((s) => s.state === 'Failed' || s.state === 'Unknown') ||
        (w.permit !== 'None' && w.permit !== 'Requested' && w.permit !== 'Granted'),
    }
    return (['ask', 'start', 'verify', 'finish'] as const).flatMap((event) => {
      const step = nextJobPhase(w.job, event, facts)
      if (!step.ok) return []
      return [
        {
          name: `job ${event}`,
          to: { ...w, job: step.state, permit: event === 'ask' ? ('Requested' as const) : w.permit },
        },
      ]
    })
  }

  function worldMoves(w: World): readonly Move<World>[] {
    const out: Move<World>[] = []
    if (w.fault) out.push({ name: 'fault vanishes', to: { ...w, fault: false } })
    if (w.holding !== -1 && w.crashes < MAX_CRASHES)
      out.push({ name: 'executor crashes', to: { ...w, holding: -1, crashes: w.crashes + 1 } })
    if (w.permit === 'None') return out
    const facts = { gatesPass: true, ledgerSwapped: true, refusedForGood: true, leaseExpired: true }
    for (const event of ['grant', 'deny', 'expire'] as const) {
      const step = nextPermitPhase(w.permit, event, facts)
      if (step.ok) out.push({ name: `permit ${event}`, to: { ...w, permit: step.state } })
    }
    return out
  }

  function executorMoves(w: World, s: Step, i: number): readonly Move<World>[] {
    if (w.job !== 'Running') return []
    const out: Move<World>[] = []
    const facts = {
      turn: w.steps.slice(0, i).every((b) => b.state === 'Succeeded'),
      permitGrantedNow: w.permit === 'Granted',
      recorded: true,
      doneWell: s.done > 0 && w.holding !== i,
      doneBadly: w.holding !== i,
      executorRestarted: w.holding !== i && s.done === 0,
      safeToRepeat: (safeToRepeat || bugs.repeatsUnknown === true) && s.attempts < MAX_ATTEMPTS,
    }
    const next = (event: 'begin' | 'succeed' | 'fail' | 'lose') =>
      nextStepState({ state: s.state, event, facts, executor: 'Agent', by: 'kubenode-agent' })
    const begin = next('begin')
    if (begin.ok && w.holding === -1) {
      if (bugs.recordsAfter === true) {
        const done = withStep(w, i, { done: s.done + 1, attempts: s.attempts + 1 })
        out.push(
          { name: `step ${i} done, then crash`, to: done },
          { name: `step ${i} done`, to: withStep(done, i, { state: begin.state }) },
        )
      } else {
        out.push({
          name: `step ${i} recorded`,
          to: { ...withStep(w, i, { state: begin.state, attempts: s.attempts + 1 }), holding: i },
        })
      }
    }
    if (s.state === 'Started' && w.holding === i) {
      const done = withStep(w, i, { done: s.done + 1 })
      out.push({ name: `step ${i} done`, to: { ...done, holding: -1 } })
      if (w.crashes < MAX_CRASHES) {
        // Crashed right after the operation: its result is unknown.
        out.push({
          name: `step ${i} done, executor crashes`,
          to: { ...withStep(done, i, { state: 'Unknown' }), holding: -1, crashes: w.crashes + 1 },
        })
      }
    }
    for (const event of ['succeed', 'fail', 'lose'] as const) {
      const step = next(event)
      if (step.ok) out.push({ name: `step ${i} ${event}`, to: withStep(w, i, { state: step.state }) })
    }
    return out
  }

  return {
    initial: {
      job: 'Pending',
      fault: true,
      permit: 'None',
      steps: [0, 1].map(() => ({ state: 'Waiting' as const, done: 0, attempts: 0 })),
      holding: -1,
      crashes: 0,
    },
    moves: (w) => [...jobMoves(w), ...worldMoves(w), ...w.steps.flatMap((s, i) => executorMoves(w, s, i))],
    broken: (w) => {
      if (!safeToRepeat && w.steps.some((s) => s.done > 1)) return 'a step that is not safe to repeat was done twice'
      return w.steps.some((s) => s.done > MAX_ATTEMPTS) ? 'a step was done more often than it may' : undefined
    },
    brokenMove: (from, { name, to }) => {
      if (from.job === 'Done' && to.job !== 'Done') return `${name} leaves Done`
      const begun = to.steps.some((s, i) => s.state === 'Started' && from.steps[i]?.state !== 'Started')
      if (begun && from.permit !== 'Granted') return `${name} without a Granted permit`
      return from.job === 'Done' && to.steps.some((s, i) => s.done !== from.steps[i]?.done)
        ? `${name} after Done`
        : undefined
    },
    isEnd: (w) => w.job === 'Done',
  }
}

describe('a repair', () => {
  test.each([
    ['whose steps are safe to repeat', true],
    ['whose steps are not safe to repeat', false],
  ])('%s never does a step more often than it may, and always ends', (_, safe) => {
    const { states, violation } = explore(repair(safe))
    expect(violation).toBeUndefined()
    expect(states.some((w) => w.job === 'Done' && w.steps.every((s) => s.state === 'Succeeded'))).toBe(true)
  })

  test.each([
    ['work before it is written down', { recordsAfter: true }],
    ['repeating what may have been done', { repeatsUnknown: true }],
  ])('is found broken by %s', (_, bug) => {
    expect(explore(repair(false, bug)).violation?.message).toBe('a step that is not safe to repeat was done twice')
  })
})
