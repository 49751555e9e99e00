// Finds other projects' programs that repair nodes: they and KubeNode would reboot, drain or replace the same node. Pure.
import { isObject } from '#lib/json.ts'
import { objectsIn, textOf } from '#lib/fields.ts'
import type { KubeObject } from '#api/schema/object.ts'

/** By image name, or by the workload's name if a mirror renames images. */
const PROGRAMS: readonly {
  readonly name: string
  readonly image: RegExp
  readonly when?: (text: string) => boolean
}[] = [
  { name: 'draino', image: /(^|\/)draino\d*([:@]|$)/ },
  { name: 'kured', image: /(^|\/)kured([:@]|$)/ },
  // On its own it only reports; with a remedy next to it, it acts.
  {
    name: 'node-problem-detector with remedies',
    image: /(^|\/)node-problem-detector([:@]|$)/,
    when: (t) => /remed|reboot/i.test(t),
  },
  {
    name: 'Karpenter node repair',
    image: /(^|\/)karpenter(\/controller)?([:@]|$)|karpenter\/controller/,
    when: (t) => /NodeRepair=true/i.test(t),
  },
  {
    name: 'Medik8s remediation',
    image: /(^|\/)(self-node-remediation|node-healthcheck|fence-agents-remediation)[a-z-]*([:@]|$)/,
  },
  { name: 'NVSentinel', image: /(^|\/)nvsentinel[a-z-/]*([:@]|$)/ },
]

function containersOf(workload: KubeObject): readonly Readonly<Record<string, unknown>>[] {
  const spec = isObject(workload['spec']) ? workload['spec'] : {}
  const template = isObject(spec['template']) ? spec['template'] : {}
  return objectsIn(isObject(template['spec']) ? template['spec']['containers'] : [])
}

const wordsOf = (c: Readonly<Record<string, unknown>>): string =>
  [
    ...[c['command'], c['args']].flatMap((l): unknown[] => (Array.isArray(l) ? l : [])),
    ...objectsIn(c['env']).map((e) => `${textOf(e['name'])} ${textOf(e['value'])}`),
  ]
    .map(textOf)
    .join(' ')

/** `draino (deployment kube-system/draino)`. */
export function remediatorsIn(workloads: readonly KubeObject[]): readonly string[] {
  return workloads.flatMap((workload) => {
    const { name = '', namespace = '' } = workload.metadata
    const found = PROGRAMS.find(({ image, when }) =>
      containersOf(workload).some((c) => image.test(textOf(c['image'])) && (when === undefined || when(wordsOf(c)))),
    )
    return found === undefined ? [] : [`${found.name} (${workload.kind.toLowerCase()} ${namespace}/${name})`]
  })
}

/** Kinds of other projects whose objects request repairs. */
export const REPAIRING_KINDS = [
  { group: 'cluster.x-k8s.io', kind: 'MachineHealthCheck', plural: 'machinehealthchecks' },
  { group: 'machine.openshift.io', kind: 'MachineHealthCheck', plural: 'machinehealthchecks' },
  { group: 'remediation.medik8s.io', kind: 'NodeHealthCheck', plural: 'nodehealthchecks' },
] as const
