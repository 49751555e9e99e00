// Turns recorded changes into lines for users, in the terms of the objects. Pure.
import { sliceName } from '#api/protocol/part.ts'
import { isObject } from '#lib/json.ts'
import type { Steps } from '#lib/steps.ts'
import { EXISTS } from '#history/facts/facts.ts'
import { isGoodWhenTrue, isNeutral, isWork, phaseMeaning } from '#history/ask/meaning.ts'
import type { Transition } from '#history/ask/reader.ts'

export interface Moment {
  readonly observed: number
  readonly reported: number | undefined
  /** `node/n-17`. */
  readonly object: string
  readonly text: string
  /** `Bad`: something failed. `Good`: it works again, or has finished. */
  readonly tone: 'Bad' | 'Good' | 'Plain'
}

/** Facts that only repeat others. */
const SILENT =
  /^(metadata\/|status\/(observedGeneration|conditions|components|stages|clusters|slices|steps|counts|coverage|consistency|versions|matching|nodeInfo|capacity|allocatable|verdicts|gates|granted|decidedAt|startedAt|finishedAt|phaseSince|verifyUntil|addons|machines|commit|message|waitingFor|healthySince|reachableSince|bootID|agent|platform|nodeRef|revisions|evidence|permitRef|nextJob|served|uid|endpoint|kubeconfigSecret|activeRevision|inServiceSince|approvals|approvedBy|refusedAlternates|endedAt|startAt|plannedFor|lead|drainStartedAt|provisioning|notices|fetchedAt|tracks|verified|signer|author|subject|rendered|renderedBefore)$|spec\/(renewTime|results|targets|components|jobs|alternates|requester|reason|leaseSeconds|commit|recovery|operations|taints)$)/
const labelOf = ({ subject }: Transition): string =>
  `${subject.kind.toLowerCase()}/${subject.namespace === '' ? '' : `${subject.namespace}/`}${subject.name}`

/** Undefined if it is not worth a line. `before` is the earlier value. */
function momentOf(row: Transition, before: string | undefined): Moment | undefined {
  const line = momentTextOf(row, before)
  if (line === undefined) return undefined
  return { observed: row.observed, reported: row.reported, object: labelOf(row), ...line }
}

type MomentText = Pick<Moment, 'text' | 'tone'>

function momentTextOf({ topic, value, subject }: Transition, before: string | undefined): MomentText | undefined {
  if (topic === EXISTS) return existence(value, before)
  const [section, key, item] = topic.split('/')
  const path = `${section}/${key}`
  if (path === 'status/conditions' && item !== undefined) return ofCondition(item, value, before)
  if (path === 'status/components' && item !== undefined) return ofComponent(item, value, before)
  if (path === 'spec/components' && item !== undefined) return ofOrder(item, value, before)
  if ((path === 'status/stages' || path === 'status/clusters') && item !== undefined)
    return ofPart(key === 'stages' ? 'stage' : 'cluster', value, before)
  if (path === 'status/slices' && item !== undefined) return ofSlice(value, before)
  if (path === 'status/steps' && item !== undefined) return ofStep(value, before)
  if (topic === 'spec')
    return before === undefined || value === undefined ? undefined : neutral(`new revision (generation changed)`)
  if (topic === 'spec/unschedulable') return neutral(value === 'true' ? 'cordoned' : 'uncordoned')
  if (topic === 'metadata/deletionTimestamp') return neutral('is being deleted')
  if (topic === 'status/phase') return ofPhase(value, before)
  if (topic === 'status/outcome' && value !== undefined)
    return { text: `outcome ${shown(value)}`, tone: toneOf(shown(value)) }
  if (subject.kind === 'Node' && topic === 'status/nodeInfo') return undefined
  if (SILENT.test(topic) || topic.startsWith('metadata/')) return undefined
  if (value === undefined) return neutral(`${key ?? topic} removed`)
  return neutral(`${key ?? topic}: ${shown(value)}`)
}

const neutral = (text: string): MomentText => ({ text, tone: 'Plain' })

function existence(value: string | undefined, before: string | undefined): MomentText | undefined {
  if (value === undefined) return neutral('deleted')
  return before === undefined ? neutral('created') : undefined
}

const parsed = (json: string | undefined): Readonly<Record<string, unknown>> => {
  const value: unknown = json === undefined ? undefined : JSON.parse(json)
  return isObject(value) ? value : {}
}
const text = (value: unknown): string =>
  typeof value === 'string' ? value : value === undefined ? '' : JSON.stringify(value)
const MAX_TEXT = 160
const shown = (json: string): string => {
  const value: unknown = JSON.parse(json)
  const whole = typeof value === 'string' ? value : json
  return whole.length > MAX_TEXT ? `${whole.slice(0, MAX_TEXT - 1)}…` : whole
}

function ofCondition(type: string, value: string | undefined, before: string | undefined): MomentText | undefined {
  if (value === undefined) return neutral(`${type} is no longer reported`)
  const [now, old] = [parsed(value), parsed(before)]
  if (now['status'] === old['status'] && now['reason'] === old['reason']) return undefined
  const status = text(now['status'])
  const isGood = isGoodWhenTrue(type) ? status === 'True' : status === 'False'
  const isPlain = isNeutral(type) || (!isGood && isWork(now['reason']))
  // A healthy first value is not worth a line.
  if (before === undefined && isGood && !isGoodWhenTrue(type)) return undefined
  const why = [text(now['reason']), text(now['message'])].filter((t) => t !== '').join(': ')
  return {
    text: `${type} ${status}${why === '' ? '' : ` (${why})`}`,
    tone: isPlain ? 'Plain' : isGood ? 'Good' : 'Bad',
  }
}

function ofComponent(name: string, value: string | undefined, before: string | undefined): MomentText | undefined {
  if (value === undefined) return neutral(`${name} is gone`)
  const [now, old] = [parsed(value), parsed(before)]
  if (now['state'] === old['state'] && now['version'] === old['version']) return undefined
  const state = text(now['state'])
  const message = text(now['message'])
  return {
    text: `${name} ${text(now['version'])} ${state}${message === '' ? '' : `: ${message}`}`.replace('  ', ' '),
    tone: toneOf(state),
  }
}

function ofOrder(name: string, value: string | undefined, before: string | undefined): MomentText | undefined {
  const [now, old] = [parsed(value), parsed(before)]
  if (now['version'] === old['version']) return undefined
  return value === undefined
    ? neutral(`${name} is no longer wanted`)
    : neutral(
        `wants ${name} ${text(now['version'])}${old['version'] === undefined ? '' : ` (was ${text(old['version'])})`}`,
      )
}

function ofPart(what: string, value: string | undefined, before: string | undefined): MomentText | undefined {
  if (value === undefined) return undefined
  const [now, old] = [parsed(value), parsed(before)]
  if (now['phase'] === old['phase']) return undefined
  const message = text(now['message'])
  return {
    text: `${what} ${text(now['name'])} ${text(now['phase'])}${message === '' ? '' : `: ${message}`}`,
    tone: toneOf(text(now['phase'])),
  }
}

function ofSlice(value: string | undefined, before: string | undefined): MomentText | undefined {
  if (value === undefined) return undefined
  const [now, old] = [parsed(value), parsed(before)]
  if (now['phase'] === old['phase']) return undefined
  const machines = Array.isArray(now['machines']) ? now['machines'].length : 0
  const slice = {
    component: text(now['component']),
    version: text(now['version']),
    step: Number(now['step']),
    number: Number(now['number']),
  }
  return {
    text: `${sliceName(slice)} ${text(now['phase'])}${machines === 0 ? '' : ` (${machines} machine${machines === 1 ? '' : 's'})`}`,
    tone: toneOf(text(now['phase'])),
  }
}

function ofStep(value: string | undefined, before: string | undefined): MomentText | undefined {
  if (value === undefined) return undefined
  const [now, old] = [parsed(value), parsed(before)]
  const outcome = text(now['outcome'])
  if (outcome === text(old['outcome']) && now['startedAt'] === old['startedAt']) return undefined
  return {
    text: `step ${text(now['operation'])} ${outcome === '' ? 'started' : outcome}`,
    tone: toneOf(outcome),
  }
}

function ofPhase(value: string | undefined, before: string | undefined): MomentText | undefined {
  if (value === undefined) return undefined
  const phase = shown(value)
  return { text: `phase ${before === undefined ? '' : `${shown(before)} → `}${phase}`, tone: toneOf(phase) }
}

/** Phases and outcomes. What is in progress or over without a result is plain. */
function toneOf(phase: string): Moment['tone'] {
  const meaning = phaseMeaning(phase)
  return meaning === 'Good' || meaning === 'Bad' ? meaning : 'Plain'
}

/** Some milliseconds of work. */
const ROWS_OF_STEP = 500

/** The lines of these rows, in order. The row before with the same object and topic gives the earlier value. */
export function* momentsOf(rows: readonly Transition[], from = 0): Steps<readonly Moment[]> {
  const last = new Map<string, string | undefined>()
  const out: Moment[] = []
  for (const [n, row] of rows.entries()) {
    if (n % ROWS_OF_STEP === 0) yield
    const key = `${row.subject.id} ${row.topic}`
    const moment = row.observed < from ? undefined : momentOf(row, last.get(key))
    last.set(key, row.value)
    if (moment !== undefined) out.push(moment)
  }
  return out
}
