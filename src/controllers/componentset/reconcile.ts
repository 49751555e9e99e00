// The MachineComponentSet controller: observe, plan, act, status, wired; and what wakes it.
import { type MachineComponentSet, machineComponentSet } from '#api/kinds/machine-component-set.ts'
import type { Machine } from '#api/kinds/machine.ts'
import { FIELD_MANAGERS } from '#api/names.ts'
import { jsonEqual } from '#lib/json.ts'
import { applyObject } from '#kube/apply.ts'
import { type Selector, matchesSelector, selectorOf } from '#kube/selector.ts'
import type { Node } from '#nodeops/objects.ts'
import { Controller } from '#runtime/controller.ts'
import { type ActionResult, type Notice, reconcileWith } from '#runtime/reconcile-with.ts'
import type { ControllerContext, ControllerModule, RunningModule } from '../module.ts'
import { act } from './act.ts'
import type { SetAction } from './actions.ts'
import { ReadingMemo } from './members.ts'
import { type Caches, cachesOf, observe, requestingSet } from './observe.ts'
import { type SetPlan, plan } from './plan.ts'
import { type Rules, rolloutRules } from './rules.ts'
import type { Seen, Status } from './seen.ts'

const fieldManager = FIELD_MANAGERS.componentSet

/** Machines report in bursts; one look at a set of thousands takes tens of milliseconds and answers them all. */
const GATHER_MS = 100

interface Verdict {
  readonly status: Status
  readonly notices: readonly Notice[]
}

/** The rules and the plan can be replaced, which is how bugs are planted. */
export interface Parts {
  readonly rules?: Rules
  readonly plan?: typeof plan
  readonly act?: typeof act
}

export const componentSetModule: ControllerModule = { name: 'componentset', setup: (context) => setup(context) }

export function setup(context: ControllerContext, parts: Parts = {}): RunningModule {
  const { client, clock, random, log, metrics, events } = context
  const caches = cachesOf(context.informers)
  const tools = { client, now: () => clock.now() }
  const planning = parts.plan ?? plan
  const acting = parts.act ?? act
  const memos = new Map<string, ReadingMemo>()
  const memoFor = (set: string): ReadingMemo => {
    const memo = memos.get(set) ?? new ReadingMemo()
    memos.set(set, memo)
    return memo
  }
  caches.sets.onChange((_, now) => void (now === undefined && memos.clear()))
  const controller = new Controller({
    name: 'componentset',
    clock,
    random,
    log,
    metrics: metrics.controller('componentset'),
    allKeys: () => caches.sets.list().map((s) => s.metadata.name ?? ''),
    reconcile: reconcileWith<Seen, Rules, SetAction, Verdict>({
      clock,
      config: () => parts.rules ?? rolloutRules,
      observe: (key, { signal }) => observe(caches, client, key, memoFor(key), signal),
      plan: planning,
      act: (action, seen, reconcile) => acting(tools, action, seen, reconcile),
      status: (_, planned, results) => verdictAfter(planned as SetPlan, results),
      writeStatus: async ({ status, notices }, { set }, { signal }) => {
        if (jsonEqual(set.status, status)) return undefined
        const { name, resourceVersion } = set.metadata
        // The version goes along: a status that was decided on another one must not overwrite its slices.
        const object = { apiVersion: set.apiVersion, kind: set.kind, metadata: { name, resourceVersion }, status }
        const outcome = await applyObject(client, machineComponentSet, object as never, {
          fieldManager,
          force: true,
          subresource: 'status',
          signal,
        })
        if (outcome.kind === 'Applied')
          for (const { reason, message, severity = 'Normal' } of notices)
            events.record(set, { type: severity, reason, action: 'RollOut', note: message })
        return outcome
      },
    }),
  })
  wakeOn(caches, controller)
  return { controllers: [controller] }
}

/** A status that rests on actions which did not happen would say what is not so. */
function verdictAfter({ status, notices }: SetPlan, results: readonly ActionResult<SetAction>[]): Verdict | undefined {
  return results.every((r) => r.outcome.kind === 'Applied') ? { status, notices } : undefined
}

function wakeOn(caches: Caches, controller: Controller): void {
  const selectors = new WeakMap<MachineComponentSet, Selector>()
  const selectorFor = (set: MachineComponentSet): Selector => {
    const known = selectors.get(set)
    if (known !== undefined) return known
    const selector = selectorOf(set.spec.selector)
    selectors.set(set, selector)
    return selector
  }
  const wake = (name: string | undefined) => name !== undefined && controller.enqueue(name)
  const wakeSoon = (set: MachineComponentSet) => controller.enqueueAfter(set.metadata.name ?? '', GATHER_MS)
  const wakeAll = () => caches.sets.list().forEach(wakeSoon)
  const speaksFor = (set: MachineComponentSet, m: Machine | undefined): boolean =>
    m !== undefined &&
    (matchesSelector(selectorFor(set), m.metadata.labels) ||
      (set.status?.waves ?? []).some((w) => w.machines.includes(m.metadata.name ?? '')))

  caches.sets.onChange((before, now) => {
    wake((now ?? before)?.metadata.name)
    // A set that comes, goes or changes may take components from others, or leave them.
    if (!jsonEqual(before?.spec, now?.spec)) wakeAll()
  })
  caches.machines.onChange((before, now) => {
    for (const set of caches.sets.list()) if (speaksFor(set, before) || speaksFor(set, now)) wakeSoon(set)
  })
  caches.nodes.onChange((before, now) => void (conditionsOf(before) !== conditionsOf(now) && wakeAll()))
  caches.permits.onChange((before, now) => {
    const permit = now ?? before
    if (permit !== undefined) wake(requestingSet(permit))
  })
  caches.revisions.onChange((before, now) => {
    for (const owner of (now ?? before)?.metadata.ownerReferences ?? []) wake(owner.name)
  })
  caches.holds.onChange(wakeAll)
  caches.components.onChange(wakeAll)
  caches.configs.onChange(wakeAll)
}

/** Heartbeats change times only. */
const conditionsOf = (node: Node | undefined): string =>
  `${node?.metadata.uid} ${(node?.status?.conditions ?? []).map((c) => `${c.type}=${c.status}`).join(',')}`
