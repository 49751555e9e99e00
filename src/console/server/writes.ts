// The two objects that a page may write, a Hold and an Approval, each with a reason and an end, created as the requesting user. A Hold may be lifted. Building
// them is pure.
import { API_GROUP, API_GROUP_VERSION } from '#api/kind.ts'
import { type Approval, approval } from '#api/kinds/approval.ts'
import { fleetSource } from '#api/kinds/fleet-source.ts'
import {
  HOLD_EFFECTS,
  HOLD_TARGETS,
  type HoldEffect,
  type OperationalHold,
  operationalHold,
} from '#api/kinds/operational-hold.ts'
import { operationPermit } from '#api/kinds/operation-permit.ts'
import { release } from '#api/kinds/release.ts'
import { countsOf, groupsAsked, groupsToName } from '#explain/approvers.ts'
import { type Approved, approversAsked } from '#explain/approvers-asked.ts'
import { type ApprovalRequest, requestsOf } from '#explain/approval-requests.ts'
import { shellWord } from '#lib/shell-word.ts'
import type { KubeClient } from '#kube/client.ts'
import { isAlreadyExists } from '#kube/errors.ts'
import { type Person, currentPerson } from '#kube/current-person.ts'
import { timestamp } from '#lib/clock.ts'
import { defined } from '#lib/defined.ts'
import { isObject } from '#lib/json.ts'
import { withoutEnd } from '#lib/without-ends.ts'
import type { ResourceType } from '#api/schema/resource.ts'
import type { Written } from '../protocol.ts'
import { Refused, wrong } from './request.ts'
import { sha256Hex } from '#lib/sha256.ts'

/** Same as the command line: anything needed longer belongs in git. */
const LONGEST_HOLD_MS = 30 * 86_400_000
const LONGEST_APPROVAL_MS = 7 * 86_400_000
const MOST_REASON = 512
/** Leaves room for a digest within an object name. */
const MOST_OF_A_NAME = 100

type Body = Readonly<Record<string, unknown>>

const textIn = (body: Body, key: string): string => {
  const value = body[key]
  if (typeof value !== 'string' || value.trim() === '') throw wrong(`${key} is missing`)
  return value
}

interface Target {
  readonly kind: string
  readonly name: string
  readonly namespace?: string
}

function targetIn(value: unknown, kinds: readonly string[]): Target {
  if (!isObject(value)) throw wrong('the object is missing')
  const { kind, name, namespace } = value
  if (typeof kind !== 'string' || !kinds.includes(kind)) throw wrong(`kind must be one of ${kinds.join(', ')}`)
  if (typeof name !== 'string' || !NAME.test(name)) throw wrong('name is not the name of an object')
  if (namespace !== undefined && (typeof namespace !== 'string' || !NAME.test(namespace)))
    throw wrong('namespace is not a name')
  return { kind, name, ...defined({ namespace }) }
}
const NAME = /^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$/

function reasonIn(body: Body): string {
  const reason = textIn(body, 'reason').trim()
  if (reason.length > MOST_REASON) throw wrong(`reason is longer than ${MOST_REASON} characters`)
  return reason
}

function untilIn(body: Body, longestMs: number, now: number): number {
  const { until } = body
  if (typeof until !== 'number' || !Number.isFinite(until)) throw wrong('until is missing: every write has an end')
  if (until <= now) throw wrong('until lies in the past')
  if (until > now + longestMs) throw wrong(`until is more than ${longestMs / 86_400_000} days ahead`)
  return until
}

const isEffect = (text: string): text is HoldEffect => HOLD_EFFECTS.some((e) => e === text)

export function holdFrom(body: Body, author: string, now: number): OperationalHold {
  const effect = textIn(body, 'effect')
  if (!isEffect(effect)) throw wrong(`effect must be one of ${HOLD_EFFECTS.join(', ')}`)
  const target = targetIn(body['target'], HOLD_TARGETS)
  const to = body['to'] === undefined ? undefined : textIn(body, 'to')
  const named = `console-${effect.toLowerCase()}-${target.kind.toLowerCase()}-${target.name.slice(0, MOST_OF_A_NAME)}`
  return {
    apiVersion: API_GROUP_VERSION,
    kind: 'OperationalHold',
    // A repeated request counts from its own time.
    metadata: { name: `${withoutEnd(named, /[.-]/)}-${Math.floor(now).toString(36)}` },
    spec: {
      target: target as OperationalHold['spec']['target'],
      effect,
      ...defined({ to }),
      reason: reasonIn(body),
      author,
      until: timestamp(untilIn(body, LONGEST_HOLD_MS, now)),
    },
  }
}

/** Effects offered by the page that hold commands support. */
const HELD_BY_COMMAND: Readonly<Partial<Record<HoldEffect, Readonly<Record<string, string>>>>> = {
  Pause: {
    Machine: 'pause machine/',
    MachineComponentSet: 'pause set/',
    RemedyOperationJob: 'pause job/',
    Release: 'pause release/',
  },
  Freeze: { Machine: 'freeze machine/', MachineComponentSet: 'freeze set/', Cluster: 'freeze cluster/' },
  Retry: { MachineComponentSet: 'rollout retry ' },
  Promote: { Release: 'release promote ' },
}

/** The terminal equivalent: its command or, for any effect, the Hold as an object to apply. */
export function holdCommand(hold: OperationalHold, cluster: string, now: number): string {
  const { target, effect, reason, until } = hold.spec
  const command = HELD_BY_COMMAND[effect]?.[target.kind]
  if (command === undefined || target.name === undefined)
    return `printf '%s' ${shellWord(JSON.stringify(hold))} | kubectl apply${contextOf(cluster)} -f -`
  return `kubenode ${command}${target.name} --reason ${shellWord(reason)} --for ${lengthOf(Date.parse(until) - now)}${contextOf(cluster)}`
}

const MINUTE_MS = 60_000

/** People choose an end by the minute. */
function lengthOf(ms: number): string {
  const minutes = Math.max(1, Math.round(ms / MINUTE_MS))
  return minutes % 60 === 0 ? `${minutes / 60}h` : `${minutes}m`
}

/** The page shows several clusters; a terminal has its own context. */
const contextOf = (cluster: string): string => (cluster === '' ? '' : ` --context ${shellWord(cluster)}`)

export const approvalCommand = (noun: string, name: string, reason: string, cluster: string): string =>
  `kubenode approve ${noun}/${name} --reason ${shellWord(reason)}${contextOf(cluster)}`

const APPROVABLE = { OperationPermit: operationPermit, Release: release, FleetSource: fleetSource } as const
type ApprovableKind = keyof typeof APPROVABLE

export interface WriteRequest {
  readonly client: KubeClient
  readonly cluster: string
  readonly body: Body
  readonly now: number
}

export const personOf = async (client: KubeClient): Promise<Person> => {
  const person = await currentPerson(client)
  if (person === undefined) throw new Refused(502, 'Api', 'the API server does not report who you are')
  return person
}

export async function writeHold({ client, cluster, body, now }: WriteRequest): Promise<Written> {
  // Finds mistakes before any request.
  holdFrom(body, 'unknown', now)
  const hold = holdFrom(body, (await personOf(client)).name, now)
  const made = await client.create(operationalHold, hold)
  return { kind: 'OperationalHold', name: made.metadata.name ?? '', command: holdCommand(hold, cluster, now) }
}

/** Ends a hold early: deletes the version that was read, so that a newer one with the same name stays. */
export async function liftHold({ client, cluster, body }: Omit<WriteRequest, 'now'>): Promise<Written> {
  const name = textIn(body, 'name')
  if (!NAME.test(name)) throw wrong('name is not the name of an object')
  const hold = await client.get(operationalHold, { name })
  if (hold === undefined) throw new Refused(404, 'NotFound', `hold ${name} does not exist; it was lifted already`)
  const { uid, resourceVersion } = hold.metadata
  const preconditions = defined({ uid, resourceVersion })
  await client.delete(operationalHold, { name }, { preconditions })
  const command = `kubectl delete ${operationalHold.plural}.${API_GROUP} ${shellWord(name)}${contextOf(cluster)}`
  return { kind: 'OperationalHold', name, command }
}

function approvalFrom(body: Body, of: Target, { name, groups }: Person, now: number): Approval {
  const digest = textIn(body, 'digest')
  const until = timestamp(untilIn(body, LONGEST_APPROVAL_MS, now))
  const own = sha256Hex([name, digest, until].join('\n')).slice(0, 10)
  return {
    apiVersion: API_GROUP_VERSION,
    kind: 'Approval',
    metadata: { name: `${withoutEnd(of.name.slice(0, MOST_OF_A_NAME), /[.-]/)}-${own}` },
    spec: {
      digest,
      by: name,
      ...(groups.length > 0 && { groups }),
      of: of as Target & { readonly kind: ApprovableKind },
      reason: reasonIn(body),
      until,
    },
  }
}

/** Only what the object requests now: what a page showed earlier may have changed. */
export async function readRequested(
  client: KubeClient,
  named: unknown,
  digest: unknown,
): Promise<{ readonly object: Approved; readonly request: ApprovalRequest }> {
  const of = targetIn(named, Object.keys(APPROVABLE))
  const type: ResourceType = APPROVABLE[of.kind as ApprovableKind]
  const found = await client.get(type, { name: of.name, ...defined({ namespace: of.namespace }) })
  if (found === undefined) throw new Refused(404, 'NotFound', `${of.kind.toLowerCase()} "${of.name}" not found`)
  const object = { ...found, kind: of.kind } as Approved
  const request = requestsOf(object).find((each) => each.digest === digest)
  if (request === undefined)
    throw new Refused(
      409,
      'Stale',
      `${of.kind.toLowerCase()}/${of.name} no longer asks for this approval; look at it again`,
    )
  return { object, request }
}

export async function writeApproval({ client, cluster, body, now }: WriteRequest): Promise<Written> {
  const of = targetIn(body['of'], Object.keys(APPROVABLE))
  approvalFrom(body, of, { name: 'unknown', groups: [] }, now)
  const { object, request } = await readRequested(client, of, body['digest'])
  const askers = await approversAsked(client, object, request.digest)
  const person = await personOf(client)
  const groups = groupsToName(person.groups, groupsAsked(askers ?? []))
  const wanted = approvalFrom(body, of, { ...person, groups }, now)
  const made = await client.create(approval, wanted).catch((e: unknown) => {
    if (!isAlreadyExists(e)) throw e
    throw new Refused(409, 'Stale', `you approved this already, in approval/${wanted.metadata.name ?? ''}`)
  })
  const noun = of.kind === 'FleetSource' ? 'source' : of.kind.toLowerCase()
  const { by, reason = '' } = made.spec
  const command = `${approvalCommand(noun, of.name, reason, cluster)} --for ${lengthOf(untilIn(body, LONGEST_APPROVAL_MS, now) - now)}`
  const { lines } = countsOf(askers ?? [], { name: by, groups }, `kubenode approve ${noun}/${of.name}`)
  return { kind: 'Approval', name: made.metadata.name ?? '', command, ...(lines.length > 0 && { warnings: lines }) }
}
