// What a repair can do, one optional property an operation with its typed arguments. A closed list: no free shell comes from an object.
import { bool, fallback, int, list, map, mapList, obj, optional, setOf, choice, str, union } from '../build.ts'
import { absolutePath, componentName, componentVersion, duration, secretRef, url } from '../fields.ts'

export const EVIDENCE = ['KernelLog', 'Journal', 'Processes', 'Disks', 'Network', 'Components'] as const

const component = () => componentName('The component.')

/** In the usual order of a ladder. `protocol/operations.ts` holds the properties of each. */
const operations = {
  collectEvidence: optional(
    obj('Collects evidence that a later step may destroy.', {
      kinds: fallback(setOf('What to collect.', choice('A kind of evidence.', EVIDENCE), { min: 1, max: 6 }), [
        'KernelLog',
        'Journal',
      ]),
    }),
  ),
  cordon: optional(obj('Cordons the node with a KubeNode taint.', {})),
  restartComponent: optional(obj('Restarts the service of a component.', { component: component() })),
  reinstallComponent: optional(obj('Reinstalls the same version of a component.', { component: component() })),
  cleanDisk: optional(
    obj('Frees disk space by standard safe means, then in the given paths.', {
      paths: optional(setOf('Directories whose old files may be deleted.', absolutePath('A directory.'), { max: 8 })),
      olderThan: fallback(duration('Minimum age of files, by last modification.'), '168h'),
      images: fallback(bool('Whether unused container images may be deleted.'), true),
      untilFree: fallback(int('Stops when this percentage of disk space is free.', { min: 1, max: 90 }), 20),
    }),
  ),
  runScript: optional(
    obj('Runs a signed MachineComponent of type Script.', {
      component: componentName('The script.'),
      version: componentVersion('Its version.'),
      args: optional(list('Further arguments.', str('One argument.', { max: 256 }), { max: 16 })),
    }),
  ),
  drain: optional(
    obj('Drains the node within disruption budgets.', {
      timeout: fallback(duration('Timeout after which the step fails.'), '15m'),
      gracePeriod: optional(duration('Overrides the grace period of the pods.')),
      deleteEmptyDir: fallback(bool('Whether pods with emptyDir data may be evicted.'), false),
      namespaces: optional(
        mapList(
          'How the pods of each namespace are treated; pods of other namespaces are evicted.',
          obj('One namespace.', {
            name: str('The namespace, or `*` for all others.', {
              min: 1,
              max: 63,
              pattern: '^(\\*|[a-z0-9]([-a-z0-9]*[a-z0-9])?)$',
              says: 'the name of a namespace, or *',
            }),
            pods: choice('Evict evicts them; Wait waits until they finish; Leave ignores them.', [
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
  reboot: optional(
    obj('Reboots the machine: through the agent, or through the provider if the agent is silent.', {
      timeout: fallback(duration('How long the node may take to return.'), '10m'),
      takeOverAfter: optional(
        duration(
          'Time after the agent started the reboot at which the provider power-cycles a machine that has not rebooted. If absent: after the timeout, if its agent is silent.',
        ),
      ),
    }),
  ),
  fence: optional(obj('Taints the node as out of service, once the provider confirms that the machine is off.', {})),
  replace: optional(obj('Deletes the machine; its set creates a replacement.', {})),
  uncordon: optional(obj('Removes the KubeNode cordon.', {})),
  webhook: optional(
    obj('Calls another system and waits for its answer.', {
      url: url('URL to call; only URLs that the controllers allow with --call-allow.'),
      secretRef: optional(secretRef('Secret with the token to send, labeled kubenode.io/for-webhooks=true.')),
      headers: optional(map('Additional headers, without secrets.', str('A value.', { max: 256 }), { max: 8 })),
      timeout: fallback(duration('Timeout of the call.'), '30s'),
    }),
  ),
}

export type OperationName = keyof typeof operations
export const OPERATIONS = Object.keys(operations) as readonly OperationName[]

export const operation = union(obj('One operation; exactly one of these must be set.', operations), OPERATIONS)
