// What a repair can do, one optional property an operation with its typed arguments. A closed list: no free shell comes from an object.
import { bool, fallback, int, list, map, mapList, obj, optional, setOf, choice, str, union } from '../build.ts'
import { absolutePath, componentName, componentVersion, duration, secretRef, url } from '../fields.ts'

/** Property name of each operation, in the order in which a ladder usually climbs. */
export const OPERATIONS = [
  'collectEvidence',
  'cordon',
  'restartComponent',
  'reinstallComponent',
  'cleanDisk',
  'runScript',
  'drain',
  'reboot',
  'fence',
  'replace',
  'uncordon',
  'webhook',
] as const
export type OperationName = (typeof OPERATIONS)[number]

export const EVIDENCE = ['KernelLog', 'Journal', 'Processes', 'Disks', 'Network', 'Components'] as const

const component = () => componentName('The component.')

export const operation = union(
  obj('One thing to do; exactly one of these.', {
    collectEvidence: optional(
      obj('Keeps what a later step may destroy.', {
        kinds: fallback(setOf('What to keep.', choice('A kind of evidence.', EVIDENCE), { min: 1, max: 6 }), [
          'KernelLog',
          'Journal',
        ]),
      }),
    ),
    cordon: optional(obj('Keeps new pods off the node, with a taint of our own.', {})),
    restartComponent: optional(obj('Restarts the service of a component.', { component: component() })),
    reinstallComponent: optional(obj('Installs the same version of a component again.', { component: component() })),
    cleanDisk: optional(
      obj('Frees space by well-known safe means, then below the given paths.', {
        paths: optional(setOf('Directories whose old files may go.', absolutePath('A directory.'), { max: 8 })),
        olderThan: fallback(duration('Only files that were not changed for so long.'), '168h'),
        images: fallback(bool('Whether unused container images may go.'), true),
        untilFree: fallback(int('Stops at this percentage of free space.', { min: 1, max: 90 }), 20),
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
      obj('Moves pods away, as disruption budgets allow.', {
        timeout: fallback(duration('After this long the step has failed.'), '15m'),
        gracePeriod: optional(duration('Overrides the grace period of the pods.')),
        deleteEmptyDir: fallback(bool('Whether pods that keep data in emptyDir may go.'), false),
        namespaces: optional(
          mapList(
            'What happens to the pods of a namespace; absent: they are evicted.',
            obj('One namespace.', {
              name: str('The namespace; `*` stands for all others.', {
                min: 1,
                max: 63,
                pattern: '^(\\*|[a-z0-9]([-a-z0-9]*[a-z0-9])?)$',
                says: 'the name of a namespace, or *',
              }),
              pods: choice('Evict asks them to go; Wait lets them end by themselves; Leave does not look at them.', [
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
      obj('Reboots: by the agent, and by the provider once the agent is silent.', {
        timeout: fallback(duration('How long until the node must be back.'), '10m'),
        takeOverAfter: optional(
          duration(
            'So long after the agent began to reboot the provider cuts the power of a machine that has not booted anew; absent: after the timeout, where its agent is silent.',
          ),
        ),
      }),
    ),
    fence: optional(obj('Marks the node out of service, after the provider said that the machine is off.', {})),
    replace: optional(obj('Deletes the machine, so that its set makes another one.', {})),
    uncordon: optional(obj('Takes our own cordon back.', {})),
    webhook: optional(
      obj('Tells another system and waits for its answer.', {
        url: url('Where to; only places that the controllers were started with, by --call-allow.'),
        secretRef: optional(secretRef('Secret with the token to send, labelled kubenode.io/for-webhooks=true.')),
        headers: optional(map('Further headers, without secrets.', str('A value.', { max: 256 }), { max: 8 })),
        timeout: fallback(duration('How long the answer may take.'), '30s'),
      }),
    ),
  }),
  OPERATIONS,
)
