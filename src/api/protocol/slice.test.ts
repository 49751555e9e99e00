// Model check of a slice: slice, permit, slots, orders and agents together, in every order, with leases that expire at any moment and programs that pause
// between reading and acting.
import { describe, expect, test } from 'vitest'
import { explore, type Model, type Move } from '../../../test/support/protocol/explore.ts'
import { countsInBudgets, nextPermitPhase, nextSlotState, type PermitPhase, type SlotState } from './permit.ts'
import { isSwitching, nextComponentState, nextOrderState, type ComponentState, type OrderState } from './switch.ts'
import { nextSlicePhase, type SlicePhase } from './slice.ts'
import { isFull } from '#test/support/tools/full.ts'

interface Permit {
  readonly phase: PermitPhase
  readonly slots: readonly SlotState[]
  readonly results: readonly boolean[]
}

interface Machine {
  readonly state: ComponentState
  readonly order: OrderState
  /** Which permit the order names. */
  readonly permit: number
  /** The controller has read that permit as Granted and is about to write the order. */
  readonly ordering: number
  /** The requester has checked that nothing was started and is about to let the machine go; or that no order can come, and is about to free its slot. */
  readonly looked: 'No' | 'Idle' | 'Done'
  /** Permits under which it no longer gets orders. */
  readonly letGo: readonly number[]
  /** The permit of its last order. */
  readonly tried: number
  /** The agent has read the permit as Granted and is about to switch. */
  readonly cleared: boolean
  /** The agent has reported since the order was withdrawn. */
  readonly quiet: boolean
  readonly attempt: number
}

interface World {
  readonly slice: SlicePhase
  readonly permits: readonly Permit[]
  readonly machines: readonly Machine[]
}

/** Plausible bugs; the model must find each. */
interface Bugs {
  /** The Defender frees an orphan as soon as the node looks healthy. */
  readonly freesHealthyOrphans?: boolean
  /** The agent switches without reading the permit. */
  readonly trustsOrders?: boolean
  /** A permit counts as Granted for a machine whose result is already in. */
  readonly forgetsResults?: boolean
  /** An expired lease frees the slots. */
  readonly freesAtExpiry?: boolean
  /** The requester frees slots that had not started when it read them, without writing the release first. */
  readonly freesUntold?: boolean
  /** A slice makes a second attempt. */
  readonly ordersTwice?: boolean
  /** The controller writes the order over any version of the Machine. */
  readonly overwrites?: boolean
  /** The machine gets another target although its order is still in place. */
  readonly retargetsOrders?: boolean
}

interface Size {
  readonly machines: number
  readonly permits: number
  readonly attempts: number
}

const ENDED: readonly ComponentState[] = ['Healthy', 'RolledBack', 'Failed']

/** The full form walks every state by itself, without the merging of `mergedKey`: ten seconds a model, and two minutes beside twenty other programs. */
const TIMEOUT_MS = 600_000

const isOpen = (permit: Permit | undefined): boolean => permit?.phase === 'Requested' || permit?.phase === 'Granted'

/**
 * Merges states with the same future. Machines are interchangeable, so their order does not matter. Results only count while their permit is open, and so does
 * the requester's knowledge of a machine: a new permit resets it, and what was let go or tried under an older one is not used again.
 */
function mergedKey(w: World): string {
  const current = w.permits.length - 1
  const isCurrentOpen = isOpen(w.permits[current])
  const columns = w.machines.map((m, i) =>
    JSON.stringify([
      isCurrentOpen
        ? { ...m, letGo: m.letGo.filter((p) => p === current), tried: m.tried === current ? current : -1 }
        : { ...m, looked: 'No', letGo: [], tried: -1 },
      w.permits.map((p) => [p.slots[i], isOpen(p) && p.results[i]]),
    ]),
  )
  return JSON.stringify([w.slice, w.permits.map((p) => p.phase), columns.sort()])
}

const merged = (model: Model<World>): Model<World> => ({ ...model, key: mergedKey })

function slice({ machines, permits, attempts }: Size, bugs: Bugs = {}): Model<World> {
  const start: Machine = {
    state: 'Fetching',
    order: 'Absent',
    permit: -1,
    ordering: -1,
    looked: 'No',
    letGo: [],
    tried: -1,
    cleared: false,
    quiet: true,
    attempt: 1,
  }
  const grantedFor = (w: World, p: number, m: number): boolean => {
    const permit = w.permits[p]
    return permit?.phase === 'Granted' && (bugs.forgetsResults === true || permit.results[m] !== true)
  }
  const withMachine = (w: World, m: number, change: Partial<Machine>): World => ({
    ...w,
    machines: w.machines.map((x, i) => (i === m ? { ...x, ...change } : x)),
  })
  /** A write to the Machine by any program: a write decided on an older version is rejected. */
  const written = (m: Machine, change: Partial<Machine>): Partial<Machine> => ({
    ...(bugs.overwrites !== true && { ordering: -1 }),
    // What comes after the machine was let go is no order under this permit, and is not asked about; the result itself names no version of the Machine.
    ...(m.looked === 'Idle' && bugs.freesUntold !== true && { looked: 'No' as const }),
    ...change,
  })
  const withPermit = (w: World, p: number, change: Partial<Permit>): World => ({
    ...w,
    permits: w.permits.map((x, i) => (i === p ? { ...x, ...change } : x)),
  })

  function sliceMoves(w: World): readonly Move<World>[] {
    const current = w.permits.length - 1
    const phase = w.permits[current]?.phase
    const idle = w.machines.every((m) => m.order === 'Absent' && !isSwitching(m.state))
    const failed = w.machines.some((m) => m.state === 'RolledBack' || m.state === 'Failed')
    const facts = {
      stepOpen: true,
      windowOpen: true,
      notHeld: true,
      withinUnavailable: w.permits.length < permits,
      permitGrantedNow: phase === 'Granted',
      permitEnded: phase !== undefined && phase !== 'Requested' && phase !== 'Granted',
      noMachineSwitching: idle,
      machinesReported: w.machines.every((m) => ENDED.includes(m.state)),
      failuresWithin: !failed,
      failuresAbove: failed,
      deadlinePassed: true,
      stepSettled: true,
      inspectionsHold: true,
      inspectionFailed: true,
      soakOver: true,
      givenUp: true,
    }
    const events = ['ask', 'begin', 'replan', 'withdraw', 'settle', 'fail', 'stall', 'soak', 'pass', 'abort'] as const
    return events.flatMap((event) => {
      const step = nextSlicePhase(w.slice, event, facts)
      if (!step.ok) return []
      const asked: Permit = {
        phase: 'Requested',
        slots: w.machines.map(() => 'Waiting'),
        results: w.machines.map(() => false),
      }
      return [
        {
          name: `slice ${event}`,
          // Knowledge about machines belongs to the previous permit, and its results are refused once it has ended.
          to:
            event === 'ask'
              ? {
                  slice: step.state,
                  permits: [...w.permits, asked],
                  machines: w.machines.map((m) => ({ ...m, looked: 'No' as const })),
                }
              : { ...w, slice: step.state },
        },
      ]
    })
  }

  function defenderMoves(w: World): readonly Move<World>[] {
    return w.permits.flatMap((permit, p) => [
      ...phaseMoves(w, permit, p),
      ...w.machines.flatMap((m, i) => slotMoves(w, permit, p, m, i)),
    ])
  }

  function phaseMoves(w: World, permit: Permit, p: number): readonly Move<World>[] {
    const facts = {
      gatesPass: true,
      ledgerSwapped: true,
      refusedForGood: true,
      allResultsIn: permit.results.every((r) => r) || (permit.phase === 'Requested' && w.slice === 'Aborted'),
      leaseExpired: true,
      revocationWanted: true,
    }
    return (['grant', 'deny', 'release', 'expire', 'revoke'] as const).flatMap((event) => {
      const step = nextPermitPhase(permit.phase, event, facts)
      if (!step.ok) return []
      const ends = event === 'expire' || event === 'revoke'
      const slots = permit.slots.map((s) => {
        if (event === 'grant') return 'Held' as const
        if (ends && bugs.freesAtExpiry === true && s === 'Held') return 'Freed' as const
        return event === 'release' || event === 'deny' ? ('Freed' as const) : s
      })
      return [{ name: `permit ${p} ${event}`, to: withPermit(w, p, { phase: step.state, slots }) }]
    })
  }

  function slotMoves(w: World, permit: Permit, p: number, m: Machine, i: number): readonly Move<World>[] {
    const slot = permit.slots[i] ?? 'Waiting'
    const healthy = !isSwitching(m.state)
    const facts = {
      resultIn: permit.results[i] === true && permit.phase === 'Granted',
      permitEnded: permit.phase === 'Expired' || permit.phase === 'Revoked',
      targetIdle: healthy && (bugs.freesHealthyOrphans === true || (m.order === 'Absent' && m.quiet)),
      targetDeleted: false,
    }
    return (['result', 'orphan', 'settle'] as const).flatMap((event) => {
      const step = nextSlotState(slot, event, facts)
      if (!step.ok) return []
      const slots = permit.slots.map((s, k) => (k === i ? step.state : s))
      return [{ name: `slot ${p}/${i} ${event}`, to: withPermit(w, p, { slots }) }]
    })
  }

  function controllerMoves(w: World, m: Machine, i: number): readonly Move<World>[] {
    const current = w.permits.length - 1
    const out: Move<World>[] = []
    // Reading the permit and writing the order are separate moments.
    if (
      m.order === 'Absent' &&
      m.ordering === -1 &&
      w.slice === 'Switching' &&
      m.state === 'Staged' &&
      !m.letGo.includes(current) &&
      // One attempt for each machine of a slice.
      (m.tried !== current || bugs.ordersTwice === true) &&
      grantedFor(w, current, i)
    )
      out.push({ name: `controller ${i} reads permit`, to: withMachine(w, i, { ordering: current }) })
    if (m.ordering !== -1) {
      const facts = { staged: m.state === 'Staged', permitGrantedNow: true, notLetGo: true, drained: true }
      const step = nextOrderState(m.order, 'order', facts)
      const change = step.ok
        ? written(m, { order: step.state, permit: m.ordering, tried: m.ordering, quiet: false, ordering: -1 })
        : {}
      out.push({ name: `controller ${i} writes order`, to: withMachine(w, i, { ordering: -1, ...change }) })
    }
    const phase = w.permits[m.permit]?.phase
    const facts = {
      ended: ENDED.includes(m.state),
      // A permit with a result for the machine no longer covers it; its orders are withdrawn like those of an ended permit.
      permitEnded: m.permit !== -1 && (phase !== 'Granted' || w.permits[m.permit]?.results[i] === true),
    }
    for (const event of ['clear', 'withdraw'] as const) {
      const step = nextOrderState(m.order, event, facts)
      if (step.ok)
        out.push({
          name: `controller ${i} ${event}s order`,
          to: withMachine(w, i, written(m, { order: step.state, permit: -1 })),
        })
    }
    if (bugs.retargetsOrders === true && m.order === 'Present')
      out.push({
        name: `controller ${i} retargets`,
        to: withMachine(w, i, written(m, { order: 'Absent', permit: -1, quiet: true })),
      })
    return out
  }

  /** The requester frees what has ended, and what did not begin; looking, letting go and freeing are three moments. */
  function requesterMoves(w: World, m: Machine, i: number): readonly Move<World>[] {
    const out: Move<World>[] = []
    const current = w.permits.length - 1
    const permit = w.permits[current]
    if (permit?.phase !== 'Granted' || permit.results[i] === true) return out
    const freed = withPermit(w, current, { results: permit.results.map((r, k) => (k === i ? true : r)) })
    if (m.order === 'Absent' && m.looked === 'No' && !isSwitching(m.state)) {
      const isOver = m.letGo.includes(current) || (m.tried === current && ENDED.includes(m.state))
      const looked = isOver ? ('Done' as const) : ('Idle' as const)
      out.push({ name: `requester looks at ${i}`, to: withMachine(w, i, { looked }) })
    }
    if (m.looked === 'Idle' && bugs.freesUntold !== true) {
      const letGo = written(m, { letGo: [...m.letGo, current], looked: 'Done' })
      out.push({ name: `requester lets ${i} go`, to: withMachine(w, i, letGo) })
    }
    if (m.looked === 'Done' || (m.looked === 'Idle' && bugs.freesUntold === true))
      out.push({ name: `result ${i}`, to: withMachine(freed, i, { looked: 'No' }) })
    return out
  }

  function agentMoves(w: World, m: Machine, i: number): readonly Move<World>[] {
    const out: Move<World>[] = []
    if (
      m.order === 'Present' &&
      m.state === 'Staged' &&
      !m.cleared &&
      (bugs.trustsOrders === true || grantedFor(w, m.permit, i))
    )
      out.push({ name: `agent ${i} reads permit`, to: withMachine(w, i, { cleared: true }) })
    if (m.order === 'Absent' && !m.quiet && !isSwitching(m.state))
      out.push({ name: `agent ${i} reports`, to: withMachine(w, i, { cleared: false, quiet: true }) })
    const facts = {
      verified: true,
      orderForAttempt: m.cleared,
      permitGrantedNow: m.cleared,
      versionRuns: true,
      probesHeld: true,
      probeFails: false,
      previousRuns: true,
      hostFailed: true,
      nothingRuns: true,
      desiredChanged: m.attempt < attempts && ENDED.includes(m.state) && m.order === 'Absent',
      notTriedInAttempt: true,
    }
    for (const event of [
      'stage',
      'switch',
      'started',
      'commit',
      'rollBack',
      'postpone',
      'break',
      'retarget',
    ] as const) {
      const step = nextComponentState(m.state, event, facts)
      if (!step.ok) continue
      // What it has read of a permit counts once, also where it gives up instead.
      const isUsed = event === 'switch' || event === 'rollBack'
      const more = isUsed ? { cleared: false } : event === 'retarget' ? { attempt: m.attempt + 1 } : {}
      out.push({ name: `agent ${i} ${event}`, to: withMachine(w, i, written(m, { state: step.state, ...more })) })
    }
    return out
  }

  return {
    initial: { slice: 'Planned', permits: [], machines: Array.from({ length: machines }, () => start) },
    moves: (w) => [
      ...sliceMoves(w),
      ...defenderMoves(w),
      ...w.machines.flatMap((m, i) => [
        ...controllerMoves(w, m, i),
        ...requesterMoves(w, m, i),
        ...agentMoves(w, m, i),
      ]),
    ],
    broken: (w) => {
      const uncounted = w.machines.findIndex(
        (m, i) => isSwitching(m.state) && !w.permits.some((p) => countsInBudgets(p.slots[i] ?? 'Waiting')),
      )
      return uncounted === -1 ? undefined : `machine ${uncounted} is between two versions and no budget counts it`
    },
    brokenMove: (from, { name, to }) => {
      const begun = to.machines.findIndex((m, i) => m.state === 'Switching' && from.machines[i]?.state === 'Staged')
      if (begun !== -1 && from.machines[begun]?.cleared !== true) return `${name} without having read a Granted permit`
      const ended = from.permits.findIndex(
        (p, i) => ['Denied', 'Released', 'Expired', 'Revoked'].includes(p.phase) && to.permits[i]?.phase !== p.phase,
      )
      return ended === -1 ? undefined : `${name} leaves the end of permit ${ended}`
    },
    isEnd: (w) =>
      ['Passed', 'Failed', 'Aborted'].includes(w.slice) &&
      w.machines.every((m) => m.order === 'Absent' && !isSwitching(m.state)) &&
      w.permits.every((p) => !p.slots.some(countsInBudgets)),
  }
}

describe('a slice', { timeout: TIMEOUT_MS }, () => {
  test.each([
    ['one machine, two permits, two attempts', { machines: 1, permits: 2, attempts: 2 }],
    ['two machines, one permit', { machines: 2, permits: 1, attempts: 1 }],
  ])('never has a machine between versions that no budget counts, and always ends: %s', (_, size) => {
    const { states, violation } = explore(isFull ? slice(size) : merged(slice(size)))
    expect(violation).toBeUndefined()
    expect(states.length).toBeGreaterThan(500)
    // The good end is reachable, so the checks above do not hold just because nothing ever happens.
    expect(states.some((w) => w.slice === 'Passed' && w.machines.every((m) => m.state === 'Healthy'))).toBe(true)
  })

  test.each([
    ['an orphan freed while its agent is about to switch', { freesHealthyOrphans: true }, 'no budget counts it'],
    ['an agent that trusts the order alone', { trustsOrders: true }, 'no budget counts it'],
    ['a permit used again after its result', { forgetsResults: true, ordersTwice: true }, 'no budget counts it'],
    ['slots that go with the lease', { freesAtExpiry: true }, 'no budget counts it'],
    ['a second attempt under the same permit', { ordersTwice: true }, 'no budget counts it'],
    ['a machine that is let go and not told', { freesUntold: true }, 'no budget counts it'],
    ['an order over an unobserved version', { overwrites: true }, 'no budget counts it'],
    ['another target while an order stands', { retargetsOrders: true }, 'no budget counts it'],
  ])('is found broken by %s', (_, bug, message) => {
    const model = slice({ machines: 1, permits: 1, attempts: 2 }, bug)
    expect(explore(merged(model)).violation?.message).toContain(message)
    if (isFull) expect(explore(model).violation?.message).toContain(message)
  })

  test.each([
    ['one machine', { machines: 1, permits: 1, attempts: 2 }],
    ...(isFull
      ? [
          ['two permits', { machines: 1, permits: 2, attempts: 2 }] as const,
          ['two machines', { machines: 2, permits: 1, attempts: 1 }] as const,
        ]
      : []),
  ] as const)('reaches the same states when those that are alike are merged: %s', (_, size) => {
    const keys = (model: Model<World>) => new Set(explore(model).states.map(mergedKey))
    const all = keys(slice(size))
    expect(all.size).toBeGreaterThan(500)
    expect(keys(merged(slice(size)))).toEqual(all)
  })
})
