// What a repair can do: one optional property per operation with typed arguments. A closed list, so that no object can run a shell command.
import * as s from '../build.ts'
import * as f from '../fields.ts'
import { ACCEPTANCE_NAMESPACE } from '../names.ts'

export const EVIDENCE = ['KernelLog', 'Journal', 'Processes', 'Disks', 'Network', 'Components', 'Devices'] as const

const component = () => f.componentName('The component.')

/** What detectors found, in terms for which vendors have forms. */
export const FAULT_CATEGORIES = ['Cpu', 'Memory', 'Disk', 'Network', 'Power', 'Accelerator', 'Hang', 'Other'] as const

/** A MachineComponent of type Script, which the agent downloads and verifies before each run. */
export const signedScript = {
  component: f.componentName('The script.'),
  version: f.componentVersion('Its version.'),
  args: s.optional(s.list('Further arguments.', s.str('One argument.', { max: 256 }), { max: 16 })),
}

export const acceptance = s.obj(
  'A signed MachineComponent of type Script that must pass on the node after the operations. If it fails, the repair has failed, and the cordon of the node stays.',
  signedScript,
)

/** Named, never inlined: who may write PodTemplates in that namespace decides what runs on nodes. */
export const acceptancePod = {
  template: f.objectName(`A PodTemplate in namespace ${ACCEPTANCE_NAMESPACE}.`),
}

export const podRef = (doc: string) =>
  s.optional(
    s.obj(doc, {
      name: f.objectName(`Its name, in namespace ${ACCEPTANCE_NAMESPACE}.`),
      uid: f.uid('Its UID. Another pod of the same name proves nothing.'),
      template: s.str('SHA-256 of the template that it was created from.', {
        min: 64,
        max: 64,
        pattern: '^[0-9a-f]{64}$',
        expects: '64 lower-case hexadecimal digits',
      }),
    }),
  )

/** In a ladder's usual order. `protocol/operations.ts` has each one's properties. */
const operations = {
  collectEvidence: s.optional(
    s.obj('Collects evidence that a later step may destroy.', {
      kinds: s.fallback(
        s.setOf('What to collect.', s.choice('A kind of evidence.', EVIDENCE), { min: 1, max: EVIDENCE.length }),
        ['KernelLog', 'Journal'],
      ),
    }),
  ),
  cordon: s.optional(s.obj('Cordons the node with a KubeNode taint.', {})),
  isolateDevice: s.optional(
    s.obj(
      'Keeps new pods from the faulty accelerators that the conditions of the node name, with a DeviceTaintRule for each one of a driver of dynamic resource allocation. Skipped, with the reason, where the API server or the drivers know no such thing. Ends when the repair is verified.',
      {},
    ),
  ),
  restartComponent: s.optional(s.obj('Restarts the service of a component.', { component: component() })),
  reinstallComponent: s.optional(s.obj('Reinstalls the same version of a component.', { component: component() })),
  cleanDisk: s.optional(
    s.obj('Frees disk space by standard safe means, then in the given paths.', {
      paths: s.optional(
        s.setOf('Directories whose old files may be deleted.', f.absolutePath('A directory.'), { max: 8 }),
      ),
      olderThan: s.fallback(f.duration('Minimum age of files, by last modification.'), '168h'),
      directories: s.optional(
        s.list(
          'Directories with limits of their own, cleaned after `paths`. Without `paths`, only these are cleaned.',
          s.obj('A directory and what may be deleted in it.', {
            path: f.absolutePath('The directory.'),
            olderThan: s.optional(f.duration('Minimum age of its files. If absent: `olderThan` of the operation.')),
            keep: s.fallback(s.int('The newest files that stay, whatever their age.', { min: 0, max: 1_000 }), 0),
            maxShare: s.optional(
              s.int('Percentage of its file system that it may take; without it, old files go until enough is free.', {
                min: 0,
                max: 90,
              }),
            ),
          }),
          { max: 16 },
        ),
      ),
      journal: s.fallback(s.bool('Whether archived journals of systemd that are older may be deleted.'), false),
      images: s.fallback(s.bool('Whether unused container images may be deleted.'), true),
      untilFree: s.fallback(
        s.int('Stops when this percentage of the bytes and of the inodes is free.', { min: 1, max: 90 }),
        20,
      ),
      dryRun: s.fallback(
        s.bool('Deletes nothing. The output lists what would go; images and journals are not counted.'),
        false,
      ),
    }),
  ),
  runScript: s.optional(s.obj('Runs a signed MachineComponent of type Script.', signedScript)),
  runPod: s.optional(
    s.obj('Runs a pod on the node, whatever its taints. It must succeed. Needs no agent.', acceptancePod),
  ),
  drain: s.optional(
    s.obj('Drains the node within disruption budgets.', {
      timeout: s.fallback(f.duration('Timeout after which the step fails.'), '15m'),
      gracePeriod: s.optional(f.duration('Overrides the grace period of the pods.')),
      podWait: s.optional(
        f.duration(
          'The longest time that pods are left that ask for it with the annotation kubenode.io/drain-wait, until their work is saved. If absent: none are waited for.',
        ),
      ),
      usersOf: s.optional(
        s.choice(
          'Device moves only the pods that may use a faulty accelerator, by the conditions of the node and the evidence of this repair; all pods where that is not known. If absent: all pods.',
          ['Device'],
        ),
      ),
      deleteEmptyDir: s.fallback(s.bool('Whether pods with emptyDir data may be evicted.'), false),
      namespaces: s.optional(
        s.mapList(
          'How the pods of each namespace are treated; pods of other namespaces are evicted.',
          s.obj('One namespace.', {
            name: s.str('The namespace, or `*` for all others.', {
              min: 1,
              max: 63,
              pattern: '^(\\*|[a-z0-9]([-a-z0-9]*[a-z0-9])?)$',
              expects: 'the name of a namespace, or *',
            }),
            pods: s.choice('Evict evicts them; Wait waits until they finish; Leave ignores them.', [
              'Evict',
              'Wait',
              'Leave',
            ]),
          }),
          { keys: ['name'], max: 32 },
        ),
      ),
    }),
  ),
  rescue: s.optional(
    s.obj(
      'Logs in to a node whose agent is silent, with the rescue key of its Machine: reads the state of the host, saves evidence there, and restarts the agent. Skipped where the host has no rescue key.',
      { timeout: s.fallback(f.duration('How long the host may take to answer.'), '3m') },
    ),
  ),
  rescueReboot: s.optional(
    s.obj(
      'Reboots a node whose agent is silent, with the rescue key of its Machine. Each order is for one boot of the host, which refuses it afterwards. Skipped where the host has no rescue key.',
      { timeout: s.fallback(f.duration('How long the host may take to boot.'), '10m') },
    ),
  ),
  reboot: s.optional(
    s.obj('Reboots the machine: through the agent, or through the provider if the agent is silent.', {
      timeout: s.fallback(f.duration('How long the node may take to return.'), '10m'),
      takeOverAfter: s.optional(
        f.duration(
          'Time after the agent started the reboot at which the provider power-cycles a machine that has not rebooted. If absent: after the timeout, if its agent is silent.',
        ),
      ),
    }),
  ),
  fence: s.optional(
    s.obj(
      'Taints the node as out of service, once the provider has reported the machine as off for ten seconds and the node sends no heartbeats. A provider with power switches it off first, and on again once the pods of the node were given up.',
      {},
    ),
  ),
  replace: s.optional(s.obj('Deletes the machine; its set creates a replacement.', {})),
  uncordon: s.optional(s.obj('Removes the KubeNode cordon.', {})),
  webhook: s.optional(
    s.obj('Calls another system and waits for its answer.', {
      url: f.url('URL to call; only URLs that the controllers allow with --call-allow.'),
      secretRef: s.optional(f.secretRef('Secret with the token to send, labeled kubenode.io/for-webhooks=true.')),
      headers: s.optional(s.map('Additional headers, without secrets.', s.str('A value.', { max: 256 }), { max: 8 })),
      timeout: s.fallback(f.duration('Timeout of the call.'), '30s'),
    }),
  ),
  reportFault: s.optional(
    s.obj(
      'Reports the fault to the provider of the host, at most once per incident. Skipped where the provider takes no reports, and while a change or work on the host explains the fault.',
      {
        category: s.choice('The part of the host that is faulty.', FAULT_CATEGORIES),
        text: s.optional(f.sentence('The description for the provider. If absent: the conditions of the node.')),
      },
    ),
  ),
}

export type OperationName = keyof typeof operations
export const OPERATIONS = Object.keys(operations) as readonly OperationName[]

export const operation = s.union(s.obj('One operation; exactly one of these must be set.', operations), OPERATIONS)
