// The MachineComponentSet controller: wires observe, plan, act and status, and the events that wake it.
import { componentCanary } from '#api/kinds/component-canary.ts'
import { type MachineComponentSet, machineComponentSet } from '#api/kinds/machine-component-set.ts'
import type { Machine } from '#api/kinds/machine.ts'
import { FIELD_MANAGERS } from '#api/names.ts'
import { isActiveIn } from '#api/protocol/part.ts'
import { jsonEqual } from '#lib/json.ts'
import { matchesSelector } from '#kube/selector.ts'
import { CommittedContents } from '#declared/committed.ts'
import type { Node } from '#nodes/objects.ts'
import { type ReadSelector, readSelector } from '#nodes/placement/selecting.ts'
import { EndedPermits } from '#permits/ended-for.ts'
import { SecretValues } from '#identity/secrets/secret-values.ts'
import { requireFresh } from '#runtime/informers.ts'
import type { Part } from '#runtime/manager.ts'
import { type ActionResult, type Notice, reconcileWith } from '#runtime/reconcile-with.ts'
import { refusedText } from '#runtime/refused-write.ts'
import { writeStatus } from '#runtime/write-status.ts'
import type { Controller } from '#runtime/controller.ts'
import { controllerIn, type RunningModule } from '#runtime/module.ts'
import type { ControllerContext, ControllerModule } from '../module.ts'
import { act } from './act.ts'
import type { SetAction } from './actions.ts'
import { ConfigSweep } from './revisions/config-sweep.ts'
import type { Inspector } from './inspection/inspections.ts'
import { createInspector } from './inspection/inspector.ts'
import { InspectionReads } from './inspection/inspection-reads.ts'
import { endsSlice } from './slices/ends-slice.ts'
import { ReadingMemo } from './members/members.ts'
import { type Caches, cachesOf, observe, requestingSet } from './observe.ts'
import { type SetPlan, plan } from './plan.ts'
import { type Rules, rolloutRules } from './slices/rules.ts'
import type { Seen, Status } from './seen.ts'
import { ServerVersion } from '#nodes/placement/server-version.ts'
import { rejectedStatus } from './reporting/rejected-status.ts'

const fieldManager = FIELD_MANAGERS.componentSet

/** Machines report in bursts. One reconcile of a set with thousands of machines takes tens of milliseconds and covers a burst. */
const GATHER_MS = 100
/** Events are gathered for this multiple of a reconcile's duration, so that a large set leaves most of the time to other sets. */
const GATHER_PER_RECONCILE = 20
/** The longest wait before a reconcile. */
const MOST_GATHER_MS = 1_000

interface Verdict {
  readonly status: Status
  readonly notices: readonly Notice[]
}

/** Tests replace the rules and the plan to plant bugs. */
export interface Parts {
  readonly rules?: Rules
  readonly plan?: typeof plan
  readonly act?: typeof act
  readonly inspector?: Inspector
}

export const componentSetModule: ControllerModule = { name: 'componentset', setup: (context) => setup(context) }

export function setup(context: ControllerContext, parts: Parts = {}): RunningModule {
  const { client, clock, log, events } = context
  const caches = cachesOf(context.informers)
  const tools = { client, now: () => clock.now() }
  const inspector = parts.inspector ?? createInspector(context.config.inspections ?? {})
  const inspections = new InspectionReads(inspector, clock, (set) => controller.enqueue(set))
  const serverVersion = new ServerVersion(client, () => clock.now())
  const secretValues = new SecretValues({ client, clock })
  const contents = CommittedContents.of(context.informers)
  const ended = new EndedPermits(clock)
  const observing = {
    caches,
    client,
    inspections,
    serverVersion,
    secretValues,
    contents,
    ended,
    now: () => clock.now(),
  }
  let gatherMs = GATHER_MS
  const planning: typeof plan = (...about) => {
    const from = clock.monotonic()
    const planned = (parts.plan ?? plan)(...about)
    gatherMs = gatherFor(clock.monotonic() - from)
    return planned
  }
  const acting = parts.act ?? act
  const memos = new Map<string, ReadingMemo>()
  const memoFor = (set: string): ReadingMemo => {
    const memo = memos.get(set) ?? new ReadingMemo()
    memos.set(set, memo)
    return memo
  }
  caches.sets.onChange((_, now) => void (now === undefined && memos.clear()))
  const controller = controllerIn(context, {
    name: 'componentset',
    allKeys: () => caches.sets.list().map((s) => s.metadata.name ?? ''),
    reconcile: reconcileWith<Seen, SetAction, Verdict, SetPlan>({
      clock,
      observe: (key, { signal }) => observe(observing, key, memoFor(key), signal),
      plan: (seen, now) => planning(seen, now, parts.rules ?? rolloutRules),
      act: (action, seen, reconcile) => acting(tools, action, seen, reconcile),
      status: (seen, planned, results, { failures }) => verdictAfter(seen, planned, { results, failures }, clock.now()),
      writeStatus: async ({ status, notices }, { set, isHeld, edit }, { signal }) => {
        if (isHeld === true && edit === undefined) return undefined
        const outcome = await writeStatus({
          client,
          type: machineComponentSet,
          cache: caches.sets,
          object: set,
          status,
          fieldManager,
          signal,
        })
        if (outcome?.kind !== 'Applied') return outcome
        for (const { reason, message, severity = 'Normal' } of notices)
          events.record(set, { type: severity, reason, action: 'RollOut', note: message })
        return outcome
      },
    }),
  })
  wakeOn(caches, controller, () => gatherMs)
  contents.onChange(() => caches.sets.list().forEach((s) => controller.enqueue(s.metadata.name ?? '')))
  const part: Part = { name: 'componentset-looker', start: () => undefined, stop: async () => inspections.stop() }
  const canaries = context.informers.of(componentCanary)
  const sweep = new ConfigSweep({
    client,
    clock,
    log,
    read: () => {
      requireFresh([...Object.values(caches), canaries])
      const { machines, sets, revisions, configs } = caches
      return {
        machines: machines.list(),
        sets: sets.list(),
        revisions: revisions.list(),
        canaries: canaries.list(),
        configs: configs.list(),
      }
    },
  })
  return { controllers: [controller], parts: [part, sweep] }
}

/** A status must not assume actions that did not happen. If an action is refused for longer, only that is reported. */
function verdictAfter(
  { set }: Seen,
  { status, notices }: SetPlan,
  { results, failures }: { readonly results: readonly ActionResult<SetAction>[]; readonly failures: number },
  now: number,
): Verdict | undefined {
  const failed = results.find((r) => r.outcome.kind !== 'Applied')
  if (failed === undefined) return { status, notices }
  const { outcome, action } = failed
  const message = refusedText(outcome, failures)
  return message === undefined ? undefined : { status: rejectedStatus(set, { action, message }, now), notices: [] }
}

const gatherFor = (reconcileMs: number): number =>
  Math.min(MOST_GATHER_MS, Math.max(GATHER_MS, reconcileMs * GATHER_PER_RECONCILE))

function wakeOn(caches: Caches, controller: Controller, gatherMs: () => number): void {
  const selectors = new WeakMap<MachineComponentSet, ReadSelector>()
  const selectorFor = (set: MachineComponentSet): ReadSelector => {
    const known = selectors.get(set) ?? readSelector(set.spec.selector)
    selectors.set(set, known)
    return known
  }
  const isSelected = (set: MachineComponentSet, m: Machine): boolean => {
    const read = selectorFor(set)
    return read.kind === 'Selector' && matchesSelector(read.selector, m.metadata.labels)
  }
  const wake = (name: string | undefined) => name !== undefined && controller.enqueue(name)
  const wakeSoon = (set: MachineComponentSet) => controller.enqueueAfter(set.metadata.name ?? '', gatherMs())
  const wakeAll = () => caches.sets.list().forEach(wakeSoon)
  const speaksFor = (set: MachineComponentSet, m: Machine | undefined): boolean =>
    m !== undefined &&
    (isSelected(set, m) || (set.status?.slices ?? []).some((w) => isActiveIn(w, m.metadata.name ?? '')))

  caches.sets.onChange((before, now) => {
    // Ignore status changes, which this controller writes itself. Machines, permits and time trigger all later changes.
    if (before !== undefined && now !== undefined && jsonEqual(before.spec, now.spec)) return wakeSoon(now)
    wake((now ?? before)?.metadata.name)
    // When a set is created, deleted or changed, it may take components from other sets or leave them.
    wakeAll()
  })
  caches.machines.onChange((before, now) => {
    for (const set of caches.sets.list()) {
      if (!speaksFor(set, before) && !speaksFor(set, now)) continue
      if (now !== undefined && endsSlice(set, before, now, (name) => caches.machines.get(name))) wake(set.metadata.name)
      else wakeSoon(set)
    }
  })
  caches.nodes.onChange((before, now) => void (conditionsOf(before) !== conditionsOf(now) && wakeAll()))
  caches.permits.onChange((before, now) => {
    const permit = now ?? before
    const name = permit && requestingSet(permit)
    const set = name === undefined ? undefined : caches.sets.get(name)
    // With an equal status, the change is our own request or result, and can wait. A new status is a decision that the set waits for.
    if (set !== undefined && now !== undefined && jsonEqual(before?.status, now.status)) wakeSoon(set)
    else wake(name)
  })
  caches.revisions.onChange((before, now) => {
    for (const owner of (now ?? before)?.metadata.ownerReferences ?? []) wake(owner.name)
  })
  caches.holds.onChange(wakeAll)
  caches.policies.onChange((before, now) => {
    if (before?.metadata.generation !== now?.metadata.generation) wakeAll()
  })
  caches.components.onChange(wakeAll)
  caches.configs.onChange(wakeAll)
}

/** Heartbeats only change timestamps. */
const conditionsOf = (node: Node | undefined): string =>
  `${node?.metadata.uid} ${(node?.status?.conditions ?? []).map((c) => `${c.type}=${c.status}`).join(',')}`
