// Decides what a commit declares when a fleet is rehearsed on one machine: every cluster is embedded, every pool has machines on this machine, and waits
// are short. A changed object carries its git values in an annotation. Pure.
import { ANNOTATIONS } from '#api/names.ts'
import { type DesiredObject, type Targets } from '#delivery/desired.ts'
import { counted } from '#lib/counted.ts'
import { defined } from '#lib/defined.ts'
import { durationMs } from '#lib/duration.ts'
import { fieldsOf } from '#lib/fields.ts'
import { sha256OfJson } from '#lib/sha256.ts'
import type { KubeObject } from '#api/schema/object.ts'

export interface Rehearsal {
  /** The provider of the machines: process or nspawn. */
  readonly provider: string
  /** Machines in each pool; undefined: as declared, within the limits below. */
  readonly nodes?: number
}

/** A pool whose hosts have yet to join declares no machines in git; two are enough to show a rollout. */
const MACHINES_OF_EMPTY_POOL = 2
/** A pool of a thousand is not rehearsed with a thousand: each machine is an agent of 25 MB. */
const MOST_MACHINES = 5
/** Hours of soak time would defeat a rehearsal; each step and stage is still watched for this long. */
const LONGEST_WAIT = '5s'
/** The defaults of the kinds; a test compares them. */
export const DEFAULT_SOAK = '10m'
export const DEFAULT_SUCCESS = '15m'
/** Kubernetes version for clusters whose version git does not set. */
const VERSION = '1.36.0'
/** Machine fields that describe a host elsewhere. */
const OF_ELSEWHERE: readonly string[] = ['ssh', 'notices', 'channel']

type Fields = Readonly<Record<string, unknown>>
/** The object as rehearsed, and a short text about its git values; undefined: as declared. */
type Change = { readonly object: KubeObject; readonly was: string } | undefined

export const rehearsed = (targets: Targets, rehearsal: Rehearsal): Targets =>
  new Map(
    [...targets].map(([name, target]) => [
      name,
      { ...target, objects: target.objects.map((one) => rehearsedObject(one, rehearsal)) },
    ]),
  )

function rehearsedObject(one: DesiredObject, rehearsal: Rehearsal): DesiredObject {
  const change = changeOf(one, rehearsal)
  if (change === undefined) return one
  const { metadata } = change.object
  const annotations = { ...metadata.annotations, [ANNOTATIONS.rehearsalOf]: change.was }
  const object = { ...change.object, metadata: { ...metadata, annotations } }
  return { ...one, object, digest: sha256OfJson(object) }
}

function changeOf({ ref, object }: DesiredObject, rehearsal: Rehearsal): Change {
  if (ref.group !== 'kubenode.io') return undefined
  const spec = fieldsOf((object as { readonly spec?: unknown }).spec)
  const withSpec = (next: Fields, was: string): Change => ({ object: { ...object, spec: next }, was })
  switch (ref.kind) {
    case 'Cluster':
      return clusterHere(spec, withSpec)
    case 'MachineSet':
      return poolHere(spec, rehearsal, withSpec)
    case 'Machine': {
      const host = hostHere(spec, rehearsal)
      return host === undefined ? undefined : withSpec(host, `provider ${providerOf(spec)}`)
    }
    case 'MachineComponentSet': {
      const rollout = fieldsOf(spec['rollout'])
      const declared = rollout['soak'] ?? DEFAULT_SOAK
      const soak = shortened(declared)
      return soak === undefined
        ? undefined
        : withSpec({ ...spec, rollout: { ...rollout, soak } }, `soak ${shownValue(declared)}`)
    }
    case 'ReleasePipeline':
      return pipelineHere(spec, withSpec)
    default:
      return undefined
  }
}

type WithSpec = (spec: Fields, was: string) => Change

function clusterHere(spec: Fields, withSpec: WithSpec): Change {
  const plane = fieldsOf(spec['controlPlane'])
  if (plane['flavor'] === 'embedded') return undefined
  const { stage, version = VERSION } = spec
  const isRegistered = spec['controlPlane'] === undefined
  const here = { version, controlPlane: { flavor: 'embedded' }, deletionPolicy: 'Delete' }
  return withSpec(
    { ...here, ...defined({ stage }) },
    isRegistered ? 'registered cluster' : `control plane ${shownValue(plane['flavor'] ?? 'kubernetes')}`,
  )
}

function poolHere(spec: Fields, rehearsal: Rehearsal, withSpec: WithSpec): Change {
  const template = fieldsOf(spec['template'])
  const machine = fieldsOf(template['spec'])
  const host = hostHere(machine, rehearsal)
  const declared = typeof spec['replicas'] === 'number' ? spec['replicas'] : 1
  // A pool that git already declares with this machine's provider sets its own number, including zero.
  const few = declared === 0 && host !== undefined ? MACHINES_OF_EMPTY_POOL : Math.min(declared, MOST_MACHINES)
  const replicas = rehearsal.nodes ?? few
  if (host === undefined && replicas === declared) return undefined
  return withSpec(
    { ...spec, replicas, template: { ...template, spec: host ?? machine } },
    `${counted(declared, 'machine')} of provider ${providerOf(machine)}`,
  )
}

/** Undefined for a host on this machine. */
function hostHere(machine: Fields, { provider }: Rehearsal): Fields | undefined {
  if (providerOf(machine) === provider) return undefined
  const rest = Object.fromEntries(Object.entries(machine).filter(([name]) => !OF_ELSEWHERE.includes(name)))
  // As in the demo's pools: container runtimes need these rights.
  const params = provider === 'nspawn' ? { params: { privileged: 'true' } } : {}
  return { ...rest, provider: { name: provider, ...params } }
}

const providerOf = (machine: Fields): string => shownValue(fieldsOf(machine['provider'])['name'] ?? 'none')

function pipelineHere(spec: Fields, withSpec: WithSpec): Change {
  const stages = Array.isArray(spec['stages']) ? (spec['stages'] as readonly unknown[]).map(fieldsOf) : []
  const timeOf = (s: Fields): unknown => s['minSuccessTime'] ?? DEFAULT_SUCCESS
  const short = stages.map((s) => ({ ...s, minSuccessTime: shortened(timeOf(s)) ?? timeOf(s) }))
  const longer = stages.filter((s) => shortened(timeOf(s)) !== undefined)
  if (longer.length === 0) return undefined
  const was = longer.map((s) => `${shownValue(s['name'])} ${shownValue(timeOf(s))}`)
  return withSpec({ ...spec, stages: short }, `minSuccessTime ${was.join(', ')}`)
}

/** Undefined where nothing needs shortening; an invalid duration is refused as it is. */
function shortened(value: unknown): string | undefined {
  const ms = typeof value === 'string' ? durationMs(value) : undefined
  return ms === undefined || ms <= (durationMs(LONGEST_WAIT) ?? 0) ? undefined : LONGEST_WAIT
}

const shownValue = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value))
