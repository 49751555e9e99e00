// MachineSet: a group of machines with replicas, created through an infra provider.
import { PHASE, text, whole, wide } from '../columns.ts'
import * as s from '../build.ts'
import * as f from '../fields.ts'
import { defineKind, type InputOf, type ObjectOf } from '../kind.ts'
import { machineTemplateProps, noticesRule } from './machine.ts'

const HOSTS_RULE = {
  cel: "has(self.ssh) ? has(self.provider) && self.provider.name == 'static' : !has(self.channel) || self.channel != 'SSH'",
  message:
    'channel SSH needs ssh with hosts, and ssh needs provider static: other providers do not tell which key a host of theirs has',
  fieldPath: '.ssh',
  holds: (t: {
    readonly ssh?: unknown
    readonly channel?: string
    readonly provider?: { readonly name: string }
  }): boolean => (t.ssh === undefined ? t.channel !== 'SSH' : t.provider?.name === 'static'),
}

/** The scale of one cluster. */
export const MAX_REPLICAS = 20_000

const template = s.obj('The template of the machines in the set.', {
  metadata: s.optional(
    s.obj('Metadata of the machines.', {
      labels: s.optional(f.labels('Labels; they must match the selector.')),
    }),
  ),
  spec: s.fallback(
    s.rule(
      s.rule(s.obj('The part of the Machine spec that the set determines.', machineTemplateProps), noticesRule),
      HOSTS_RULE,
    ),
    {},
  ),
})

const spec = s.obj('The desired state of the set.', {
  replicas: s.fallback(s.int('Number of desired machines.', { min: 0, max: MAX_REPLICAS }), 1),
  selector: s.immutable(f.selector('Selects the machines of the set.'), 'the selector of a MachineSet is immutable'),
  template,
  deleteOrder: s.fallback(
    s.choice('Which machines are removed first when scaling in.', ['Unhealthy', 'Newest', 'Oldest', 'Random']),
    'Unhealthy',
  ),
  maxUnavailable: s.fallback(
    s.intOrPercent(
      'Number of machines that may be unavailable during replacements; a percentage rounds down to at least one.',
      {
        min: 1,
        max: MAX_REPLICAS,
      },
    ),
    1,
  ),
})

const status = f.waitingStatus('The observed state of the set.', {
  phase: s.optional(f.phase('Set')),
  replicas: s.optional(f.count('Number of machines.')),
  readyReplicas: s.optional(f.count('Number of machines that are Ready.')),
  availableReplicas: s.optional(f.count('Number of machines that have been Ready for a minimum time.')),
  deletingReplicas: s.optional(f.count('Number of machines that are being removed.')),
  outdatedReplicas: s.optional(
    f.count(
      'Number of machines that differ from what the template would create. Labels, annotations and taints of their Nodes follow the template; its other changes apply to new machines only.',
    ),
  ),
  hostLosses: s.optional(
    s.list(
      'Machines of the last hour whose hosts the provider no longer had, and that were replaced.',
      s.obj('Losses of one minute.', { at: s.time('The minute.'), count: f.count('Number of machines.') }),
      { max: 100 },
    ),
  ),
  selector: s.optional(s.str('The selector as text, for the scale subresource.', { max: 4096 })),
})

export const machineSet = defineKind('MachineSet', 'kms', {
  doc: 'A group of machines with a replica count, created by an infrastructure provider.',
  spec,
  status,
  scale: {
    specReplicasPath: '.spec.replicas',
    statusReplicasPath: '.status.replicas',
    labelSelectorPath: '.status.selector',
  },
  columns: [
    whole('Desired', '.spec.replicas'),
    whole('Current', '.status.replicas'),
    whole('Ready', '.status.readyReplicas'),
    PHASE,
    wide(whole('Outdated', '.status.outdatedReplicas')),
    wide(text('Provider', '.spec.template.spec.provider.name')),
    wide(text('Waiting', '.status.waitingFor.predicate')),
  ],
  conditions: ['Ready', 'Reconciling', 'Stalled', 'Available', 'ScalingFrozen', 'Paused', 'UncommittedChange'],
  checks: [
    {
      name: 'the template has the labels that the selector requires',
      findings: (object) => {
        const { selector: wanted, template: made } = object.spec
        const carried = made.metadata?.labels ?? {}
        return Object.entries(wanted.matchLabels ?? {})
          .filter(([k, v]) => carried[k] !== v)
          .map(([k, v]) => ({
            pointer: 'spec/template/metadata/labels',
            message: `lacks ${k}=${v}, which spec.selector.matchLabels asks for`,
            allowed: `${k}=${v}`,
          }))
      },
    },
  ],
  example: {
    metadata: { name: 'workers' },
    spec: {
      replicas: 3,
      selector: { matchLabels: { 'kubenode.io/pool': 'workers' } },
      template: {
        metadata: { labels: { 'kubenode.io/pool': 'workers' } },
        spec: { provider: { name: 'process' }, pool: 'workers', zone: 'zone-a' },
      },
      deleteOrder: 'Unhealthy',
      maxUnavailable: '10%',
    },
  },
})

export type MachineSet = ObjectOf<typeof machineSet>
export type MachineTemplate = MachineSet['spec']['template']['spec']
/** A host that a set lists. */
export type SetHost = NonNullable<MachineTemplate['ssh']>['hosts'][number]
export type MachineSetInput = InputOf<typeof machineSet>
