// The node facts that remedy rules may use, and how they are read from the Node object. Maps are keyed by type or name, because a list index means
// nothing. A value that the node does not report stays undefined, which is unknown to every rule.
import { defined } from '#lib/defined.ts'
import { isObject, setOwn } from '#lib/json.ts'
import { fieldsOf } from '#lib/fields.ts'
import type { Facts } from './reading.ts'
import type { Shape, Vocabulary } from './vocabulary.ts'

const text = (doc: string): Shape => ({ type: 'string', doc })
const time = (doc: string): Shape => ({ type: 'time', doc })
const version = (doc: string): Shape => ({ type: 'version', doc })
const number = (doc: string): Shape => ({ type: 'number', doc })

/** The outcomes that repair jobs write. */
const JOB_OUTCOMES = ['Succeeded', 'Escalated', 'Transient', 'Permanent', 'Superseded', 'Cancelled'] as const

const condition: Shape = {
  type: 'object',
  fields: {
    status: {
      type: 'string',
      values: ['True', 'False', 'Unknown'],
      since: 'lastTransitionTime',
      unknownAs: 'Unknown',
      doc: 'The status; True means trouble, except for Ready.',
    },
    reason: text('The reason, one word for programs.'),
    message: text('The message, a sentence for people.'),
    lastTransitionTime: time('When the status last changed.'),
    lastHeartbeatTime: time('When the condition was last reported.'),
  },
}

const peerGroup: Shape = {
  type: 'map',
  of: { type: 'tally' },
  doc: 'By condition type: how many peers have the condition.',
}

export interface NodeVocabularyOptions {
  /** All condition types that detectors of this cluster report, so that a mistyped one is refused. */
  readonly conditionTypes?: readonly string[]
}

export const nodeVocabulary = ({ conditionTypes }: NodeVocabularyOptions = {}): Vocabulary => ({
  facts: {
    name: text('The name of the node.'),
    labels: { type: 'map', of: text('A label.') },
    annotations: { type: 'map', of: text('An annotation.') },
    taints: { type: 'list', items: text('The key of a taint.') },
    unschedulable: { type: 'boolean', doc: 'Whether a user cordoned the node.' },
    createdAt: time('When the node was registered.'),
    conditions: { type: 'map', of: condition, ...defined({ keys: conditionTypes }) },
    versions: {
      type: 'object',
      fields: {
        kubelet: version('The kubelet version.'),
        kernel: version('The kernel version.'),
        runtime: version('The version of the container runtime, without its name.'),
      },
    },
    system: {
      type: 'object',
      fields: {
        arch: text('amd64, arm64.'),
        os: text('linux.'),
        osImage: text('The Linux distribution.'),
        runtime: text('The container runtime: containerd or cri-o.'),
        bootID: text('The boot ID, which changes at each boot.'),
      },
    },
    machine: {
      type: 'object',
      fields: {
        phase: text('The phase of the Machine.'),
        pool: text('The pool of the machine.'),
        zone: text('The zone of the machine.'),
        rack: text('The rack of the machine.'),
        class: text('The hardware class of the machine.'),
        agentReachable: {
          type: 'string',
          values: ['True', 'False', 'Unknown'],
          since: 'agentReachableSince',
          unknownAs: 'Unknown',
          doc: 'Whether the agent renews its lease. Unknown while the machine reboots for a component.',
        },
        agentReachableSince: time('When that last changed.'),
      },
    },
    platform: {
      type: 'object',
      doc: 'The operating system below the components, as the agent reports it.',
      fields: {
        distribution: text('The ID of the distribution in os-release: debian, rhel.'),
        distributionVersion: version('The version of the distribution.'),
        bootArguments: {
          type: 'map',
          of: text('The value of a boot argument; empty for one without a value.'),
          doc: 'Arguments that the kernel was booted with, by name. Only those of a fixed list.',
        },
        bootDigest: text('Equal boots have equal digests.'),
      },
    },
    components: {
      type: 'map',
      of: {
        type: 'object',
        fields: {
          version: version('The running version.'),
          state: { type: 'string', since: 'since', doc: 'The state that the agent reports, such as Healthy.' },
          since: time('When the state last changed.'),
        },
      },
    },
    repairs: {
      type: 'object',
      doc: 'Earlier repairs of this node, by any rule; dry runs do not count.',
      fields: {
        lastDay: number('Repairs that began in the last 24 hours.'),
        lastRule: text('The rule of the last finished repair.'),
        lastOutcome: { type: 'string', values: JOB_OUTCOMES, doc: 'The outcome of the last finished repair.' },
        lastEndedAt: time('When the last repair ended.'),
      },
    },
    cluster: {
      type: 'object',
      doc: 'The health of the whole cluster.',
      fields: {
        nodes: number('All nodes.'),
        ready: number('Nodes that are Ready.'),
        notReady: number('Nodes that report NotReady.'),
        silent: number('Nodes without a recent heartbeat.'),
        readyPercent: number('Share of Nodes that are Ready, in percent, rounded down.'),
      },
    },
    peers: {
      type: 'object',
      doc: 'The other nodes of the same group, by condition type.',
      fields: { cluster: peerGroup, zone: peerGroup, rack: peerGroup, pool: peerGroup, cohort: peerGroup },
    },
  },
})

const own = (o: Record<string, unknown>, key: string): unknown => (Object.hasOwn(o, key) ? o[key] : undefined)

/** A Node object that was read before, with its facts. */
export interface KnownFacts {
  readonly node: unknown
  readonly facts: Facts
}

/** Facts from a Node object; a controller adds `machine`, `components`, `repairs`, `cluster` and `peers`. */
export function nodeFacts(node: unknown, before?: KnownFacts): Facts {
  const metadata = fieldsOf(own(fieldsOf(node), 'metadata'))
  const spec = fieldsOf(own(fieldsOf(node), 'spec'))
  const status = fieldsOf(own(fieldsOf(node), 'status'))
  const info = fieldsOf(own(status, 'nodeInfo'))
  const [runtime, runtimeVersion] = String(own(info, 'containerRuntimeVersion') ?? '').split('://', 2)
  return {
    name: own(metadata, 'name'),
    labels: own(metadata, 'labels') ?? null,
    annotations: own(metadata, 'annotations') ?? null,
    taints: taintKeys(own(spec, 'taints')),
    unschedulable: own(spec, 'unschedulable') ?? false,
    createdAt: own(metadata, 'creationTimestamp'),
    conditions: conditionsOf(own(status, 'conditions'), before),
    versions: { kubelet: own(info, 'kubeletVersion'), kernel: own(info, 'kernelVersion'), runtime: runtimeVersion },
    system: {
      arch: own(info, 'architecture'),
      os: own(info, 'operatingSystem'),
      osImage: own(info, 'osImage'),
      runtime: runtime === '' ? undefined : runtime,
      bootID: own(info, 'bootID'),
    },
  }
}

/** A node without taints has zero, and that is known. */
function taintKeys(taints: unknown): unknown {
  if (taints === undefined || taints === null) return []
  return Array.isArray(taints) ? taints.map((t) => own(fieldsOf(t), 'key')) : undefined
}

/**
 * The list as a map by type. A node that reported no conditions at all counts as not observed. Of a condition that is listed twice with different statuses,
 * only that it is reported is known.
 */
function byType(list: unknown): unknown {
  if (!Array.isArray(list)) return undefined
  const named = list.flatMap((item): readonly (readonly [string, unknown])[] => {
    const name = own(fieldsOf(item), 'type')
    return typeof name === 'string' ? [[name, item]] : []
  })
  // One call for the whole map: set key by key, a large one costs ten times as much to build and to copy.
  const map: Record<string, unknown> = Object.fromEntries(named)
  if (Object.keys(map).length === named.length) return map
  for (const [type, item] of named)
    if (own(fieldsOf(item), 'status') !== own(fieldsOf(own(map, type)), 'status')) setOwn(map, type, { type })
  return map
}

/** A node changes one condition at a time, of dozens: the map from before is copied, and that one is replaced. */
function conditionsOf(list: unknown, before: KnownFacts | undefined): unknown {
  const [was, known] = [before === undefined ? undefined : conditionListOf(before.node), before?.facts['conditions']]
  if (!Array.isArray(list) || !Array.isArray(was) || list.length !== was.length || !isObject(known)) return byType(list)
  let map: Record<string, unknown> | undefined
  for (let n = 0; n < list.length; n++) {
    if (list[n] === was[n]) continue
    const type = own(fieldsOf(list[n]), 'type')
    // Not the same members, or a type that is listed twice.
    if (typeof type !== 'string' || own(fieldsOf(was[n]), 'type') !== type || own(known, type) !== was[n])
      return byType(list)
    map ??= { ...known }
    setOwn(map, type, list[n])
  }
  return map ?? known
}

const conditionListOf = (node: unknown): unknown => own(fieldsOf(own(fieldsOf(node), 'status')), 'conditions')
