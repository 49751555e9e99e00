// A prediction's findings for a reviewer, as data: text, Markdown and the console draw them and compute nothing. Pure.
import { counted } from '#lib/counted.ts'
import type { NeededApproval } from '../approvals.ts'
import type { OneWay } from '../one-way.ts'
import type { KernelChange } from '../kernel-changes.ts'
import type { ClusterPrediction } from '../predict.ts'
import type { TemplateChange } from '../template-changes.ts'
import { minutesText } from './minutes.ts'
import { delayTexts, type Outlook, sourceHeldTexts, type StaleInventory, windowTexts } from './outlook.ts'
import { names, own, someTexts, text, type RichText, rich } from './rich-text.ts'

/** In reading order. */
const KINDS = [
  'Held',
  'Stale',
  'Delay',
  'Window',
  'Stuck',
  'Uncovered',
  'FullBudget',
  'Skipped',
  'Kernel',
  'Template',
  'Booked',
  'UnderWay',
  'Approval',
  'Untimed',
  'Assumed',
  'WayBack',
  'Earlier',
  'NoInventory',
] as const

export interface PlanFinding {
  readonly kind: (typeof KINDS)[number]
  /** `Stops`: the change does not reach everything. `Warns`: it may not do what its author expects. `Notes`: for information. */
  readonly level: 'Stops' | 'Warns' | 'Notes'
  readonly words: RichText
}

const MOST_NAMED = 5
/** Machines listed with the reason why they are skipped. */
const MOST_SKIPPED = 3

/** `oneWay`: what a revert does not undo; undefined if unknown. */
export function outlookFindings(outlook: Outlook, oneWay: readonly OneWay[] | undefined): readonly PlanFinding[] {
  const all = outlook.clusters.map((c) => c.prediction)
  const found: Readonly<Record<PlanFinding['kind'], readonly (readonly [PlanFinding['level'], RichText])[]>> = {
    Held: sourceHeldTexts(outlook).map((held) => ['Warns', text(held)]),
    Stale: (outlook.stale ?? []).map((s) => ['Warns', text(staleText(s))]),
    Delay: delayTexts(outlook).map((delay) => ['Warns', text(delay)]),
    Window: windowTexts(outlook).map((window) => ['Warns', text(window)]),
    Stuck: all.flatMap(({ cluster, stuck }) =>
      stuck.map(({ set, wait }) => {
        const ends = wait.unblock === '' ? [] : rich`; it continues when ${text(wait.unblock)}`
        return ['Stops', rich`${cluster}: set ${set} does not finish: ${text(wait.seen)}${ends}`] as const
      }),
    ),
    Uncovered: outlook.uncovered.map((u) => [
      'Warns',
      rich`hardware class ${u.class === '' ? '(none)' : u.class} (${own(counted(u.machines, 'machine'))} in ${u.cluster}) is in no machine of an earlier stage: first tried on ${u.first}`,
    ]),
    FullBudget: all.flatMap(({ cluster, fullBudgets }) =>
      fullBudgets.map(
        (b) =>
          [
            'Warns',
            rich`${cluster}: PodDisruptionBudget ${`${b.namespace}/${b.name}`} lets no pod go now: drains of ${own(counted(b.nodes.length, 'node'))} would wait`,
          ] as const,
      ),
    ),
    Skipped: all.filter(({ skipped }) => skipped.length > 0).map((p) => ['Stops', skippedText(p)]),
    Kernel: all.flatMap(({ cluster, kernels = [] }) =>
      kernels.slice(0, MOST_NAMED).map((k) => ['Notes', kernelText(cluster, k)] as const),
    ),
    Template: all.flatMap(({ cluster, templates = [] }) => templates.flatMap((t) => templateTexts(cluster, t))),
    Booked: all.filter(({ booked }) => booked.length > 0).map((p) => ['Notes', rich`${p.cluster}: ${bookedText(p)}`]),
    UnderWay: all
      .filter(({ underWay }) => underWay.length > 0)
      .map((p) => ['Notes', rich`${p.cluster}: on their way already: ${names(p.underWay, MOST_NAMED)}`]),
    Approval: approvalTexts(outlook.approvals).map((needed) => ['Warns', rich`needs ${needed}`]),
    Untimed: distinct(all.flatMap((p) => p.untimed)).map((component) => [
      'Notes',
      rich`no recorded duration of ${component}: five minutes a machine are assumed`,
    ]),
    Assumed: distinct(all.flatMap((p) => p.assumed)).map((assumed) => ['Notes', rich`assumed: ${text(assumed)}`]),
    WayBack: outlook.machines === 0 ? [] : [['Notes', wayBackText(outlook, oneWay)]],
    Earlier: earlierTexts(outlook).map((earlier) => ['Notes', text(earlier)]),
    NoInventory: outlook.unknown.map((cluster) => ['Warns', rich`unknown: no inventory of ${cluster} was given`]),
  }
  return KINDS.flatMap((kind) => found[kind].map(([level, of]) => ({ kind, level, words: of })))
}

const distinct = (all: readonly string[]): readonly string[] => [...new Set(all)]

function skippedText({ cluster, skipped }: ClusterPrediction): RichText {
  const each = skipped.map(({ machine, reason }) => rich`${machine} (${text(reason)})`)
  return rich`${cluster}: ${own(counted(skipped.length, 'machine is', 'machines are'))} skipped: ${someTexts(each, MOST_SKIPPED)}`
}

function kernelText(cluster: string, change: KernelChange): RichText {
  const { from, to, bootArguments, images, sharedWith, machines } = change
  const before = from === undefined ? own('unknown') : from
  const more = bootArguments.length === 0 ? [] : rich` with ${names(bootArguments, MOST_NAMED)}`
  const whole = images.length === 0 ? [] : rich` in image ${names(images, MOST_NAMED)}`
  const shared = sharedWith.length === 0 ? [] : rich`, shared with ${names(sharedWith, MOST_NAMED)}`
  const end =
    images.length === 0
      ? rich`a kernel that does not come up is followed by the one before`
      : rich`an image that does not come up is followed by the one before, and hosts whose GRUB does not count boots refuse it`
  return rich`${cluster}: Linux ${before} → ${to}${more}${whole} on ${own(counted(machines, 'machine'))}, one reboot each${shared}; ${end}`
}

type Found = readonly [PlanFinding['level'], RichText]

function templateTexts(cluster: string, t: TemplateChange): readonly Found[] {
  const evicts: readonly Found[] =
    t.evicts === 0
      ? []
      : [
          [
            'Warns',
            rich`${cluster}: a NoExecute taint of pool ${t.set} evicts pods of ${own(counted(t.evicts, 'machine'))}, one by one, each under a permit`,
          ],
        ]
  const keeps: readonly Found[] =
    t.keeping === 0
      ? []
      : [
          [
            'Warns',
            rich`${cluster}: ${own(counted(t.keeping, 'machine'))} of pool ${t.set} with values that were changed on the Machine, which stay: ${names(t.kept, MOST_NAMED)}`,
          ],
        ]
  return [
    [
      'Notes',
      rich`${cluster}: labels, annotations or taints of ${own(counted(t.machines, 'machine'))} of pool ${t.set} change in place: one first, the rest once that one is Ready`,
    ],
    ...evicts,
    ...keeps,
  ]
}

/** Bookings during the change, the first one by name. */
export function bookedText({ booked }: ClusterPrediction): RichText {
  const machines = new Set(booked.map((b) => b.machine)).size
  const each = booked.map(
    (b) =>
      rich`${b.machine} (${text(`${b.kind} by ${b.by}, from ${b.from}${b.until === undefined ? '' : ` to ${b.until}`}`)})`,
  )
  return rich`${own(counted(machines, 'machine is', 'machines are'))} away for work on hosts while it runs, and counted in every budget: ${someTexts(each, MOST_SKIPPED)}`
}

/** `2 approvals of group:sre for each of 9 batches (policy careful), 4 given`; nothing if all are given. */
export const approvalTexts = (approvals: readonly NeededApproval[]): readonly RichText[] =>
  approvals
    .filter(({ missing }) => missing > 0)
    .map(({ count, batches = 1, missing, from, asker }) => {
      const given = count * batches - missing
      const each = batches === 1 ? '' : ` for each of ${counted(batches, 'batch', 'batches')}`
      const done = given === 0 ? '' : `, ${given} given`
      return rich`${own(counted(count, 'approval'))} of ${names(from, from.length)}${own(each)} (${text(asker)})${own(done)}`
    })

function wayBackText({ wayBack }: Outlook, oneWay: readonly OneWay[] | undefined): RichText {
  const time = wayBack === undefined ? 'duration unknown' : `about ${minutesText(wayBack)}`
  return rich`way back: ${'git revert'}, ${own(`${time}${oneWay?.length === 0 ? '; nothing here is irreversible' : ''}`)}`
}

/** `earlier predictions: median error 18 % over the last 12 changes`; empty where no machine is predicted. */
export function earlierTexts({ earlier, machines }: Outlook): readonly string[] {
  if (earlier === undefined || machines === 0) return []
  const { changes, medianError } = earlier
  if (medianError === undefined) return ['no earlier prediction to compare with']
  const over = changes === 1 ? 'the last change' : `the last ${changes} changes`
  return [`earlier predictions: median error ${Math.round(medianError * 100)} % over ${over}`]
}

/** An outdated or missing inventory. */
const staleText = ({ cluster, takenAt, days }: StaleInventory): string =>
  days === undefined
    ? `the inventory of ${cluster} is of ${takenAt}, which is yet to come: its predictions are worth nothing`
    : `the inventory of ${cluster} is ${counted(days, 'day')} old (${takenAt}): what changed since is not predicted`
